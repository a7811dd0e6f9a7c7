"""``mdpdice export``: a game as a file of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import mdpdice
from mdpdice.cli import options
from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.text import named
from mdpdice.errors import StateLimitError

SEAT = "For a page (.html): a named policy of the game to play against, such as hold-at:25."


@command()
@options.game_argument
@options.parameters_option()
@options.to_option("The file to write; its ending chooses the format.", required=True)
@options.format_option
@click.option("--horizon", type=click.IntRange(min=0), metavar="N", help="At most N decisions in a play.")
@options.sense_option
@click.option("--policy", is_flag=True, help="For a drawing (.dot): solve the game and mark the best actions.")
@click.option("--seat", "seats", multiple=True, metavar="NAME", help=SEAT)
@options.cache_options
@options.json_option
def export(name: str, path: str, form: str | None, horizon: int | None, policy: bool, **asked: Any) -> Answer:
    """Write a game to a file of another tool, or as a page to play it on.

    NAME is a game, or a file that 'mdpdice import' reads.

    With --to game.html the game is solved, and the page gives advice: one file, which needs no network.

    Formats: html, npz, drn, prism-explicit, umb, prism, petsc, dot, lp, mps.
    In prism, the counters of a game are variables, so its size does not matter.

    Exit status: 0 written, 1 not, 2 wrong usage.
    """
    if (form or Path(path).suffix.lower().lstrip(".")) in ("html", "htm"):
        if horizon is not None or policy:
            raise click.UsageError("a page knows the whole game; leave out --horizon and --policy")
        return _page(name, path, **asked)
    if asked["seats"]:
        raise click.UsageError("--seat is for pages: write a .html file")
    from mdpdice.formats import find_format, write_dot, write_file

    with named():
        found = find_format(path, form, writing=True)
    if policy and found.name != "dot":
        raise click.UsageError("--policy marks actions in a drawing: write a .dot file")
    # Counters stay variables where the format has variables; a horizon is one of networks.
    source, points = _source(name, asked["pairs"], counters=found.lattices and horizon is None)
    if asked["sense"] is not None:
        import attrs

        source = attrs.evolve(source, sense=asked["sense"])
    if horizon is not None:
        source = mdpdice.Horizon(horizon).apply(source)
    if policy:
        write_dot(source, path, policy=mdpdice.solve(source))
    else:
        write_file(source, path, found.name)
    size = {"states": len(source.states), "nodes": source.n_nodes, "edges": source.n_edges}
    core, more = "", ""
    if points is not None:
        size["points"] = points
        core, more = "core ", f", {points:,} points of the counters"
    text = f"{size['states']:,} {core}states, {size['nodes']:,} nodes, {size['edges']:,} edges{more}"
    data = {"game": name, "file": path, "format": found.name, **size}
    return Answer(data, [f"{path}: {found.about}; {text}"])


def _page(name: str, path: str, *, seats: tuple[str, ...], **asked: Any) -> Answer:
    """Write the page of a game, which is kept as its answer is."""
    from mdpdice.cli.case import open_case
    from mdpdice.cli.progress_bars import ProgressBars
    from mdpdice.spelling import title

    with ProgressBars() as progress:
        case = open_case(name, as_json=False, progress=progress, **asked)
        case.refuse_infinite("there is no best play to advise")
        given = {"game": name, "parameters": case.given} | ({} if ":" in name else {"title": title(name)})

        def made() -> dict[str, Any]:
            import attrs

            from mdpdice.cli.values import value_data
            from mdpdice.web.page import page_text

            solution = case.answer()
            text, page = page_text(solution, seats, given)
            return {**value_data(solution), "text": text, "page": attrs.asdict(page)}

        try:
            found = case.findings(made, page=given, seats=list(seats))
        except StateLimitError as error:
            msg = f"{error.message}; 'mdpdice serve' plays it in the browser, with a player who looks ahead"
            raise click.ClickException(msg) from error
        Path(path).write_text(found["text"], encoding="utf-8")
    page = found["page"]
    data = {"game": name, "file": path, "format": "html", **page, "proof": found["proof"]}
    exact = f"{page['values']:,} values, rounded by at most {page['rounding']:.1e}"
    return Answer(data, [f"{path}: a page to play {name} on, {page['bytes']:,} bytes; {exact}"])


def _source(name: str, pairs: tuple[str, ...], *, counters: bool) -> tuple[Any, int | None]:
    """Return the network of a game or file, and None; with `counters` the lattice, if any, and its points."""
    from mdpdice.formats import FORMATS, Model, read_file
    from mdpdice.modelling.counters import axes

    suffixes = [suffix for found in FORMATS if found.read for suffix in found.suffixes]
    if Path(name).suffix.lower() in suffixes and Path(name).is_file():
        if pairs:
            raise click.UsageError(f"{name} is a file, which has no parameters")
        read = read_file(name)
        return (read.network() if isinstance(read, Model) else read), None
    from mdpdice.cli.catalogue import find_game
    from mdpdice.cli.game_parameters import build_game

    game, _ = build_game(name, find_game(name), pairs)
    if counters and axes(game):
        lattice = mdpdice.compile_lattice(game)
        return lattice, lattice.size
    return mdpdice.explore(game), None
