"""The commands ``info`` and ``new``: the size and structure of a game, and the first file of one."""

from __future__ import annotations

import json

import click

from mdpdice.cli.commands import main
from mdpdice.cli.shared import GameCommand, failures, game_argument

__all__ = ["info", "new"]


@main.command(cls=GameCommand)
@game_argument
@click.option(
    "-p",
    "pairs",
    metavar="KEY=VALUE",
    multiple=True,
    help="A parameter of the game; may be repeated. 'mdpdice info NAME --help' describes them.",
)
@click.option(
    "--before", is_flag=True, help="Tell only what is known before exploring: counters, grid, and a bound."
)
@click.option(
    "--max-states",
    type=click.IntRange(min=1),
    default=1_000_000,
    show_default=True,
    metavar="N",
    help="Stop exploring after so many states.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def info(
    ctx: click.Context, name: str, pairs: tuple[str, ...], before: bool, max_states: int, as_json: bool
) -> None:
    """Tell how large a game is, what its network is like, and which solvers can do it.

    For a game with counters the grid and a bound of the memory are known before it is explored. It is not
    explored where it is so large that it is solved on its lattice.

    Exit status: 0 told, 1 it could not be explored within the limits, 2 wrong usage.
    """
    with failures():
        from mdpdice.cli.answers import open_case
        from mdpdice.cli.informed import informed, informed_text

        case = open_case(name, pairs, None, 1e-6)
        data = informed(case, max_states, explores=not before)
        click.echo(json.dumps(data) if as_json else informed_text(case, data))
    ctx.exit(data["refused"] is not None)


@main.command()
@click.argument("name")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, writable=True),
    default=".",
    show_default=True,
    help="Where to write.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def new(name: str, folder: str, as_json: bool) -> None:
    """Write a small game to start from, and its test: NAME.py and test_NAME.py.

    Both run as they are. Files that are there already are never written over.

    Exit status: 0 written, 1 not, 2 wrong usage.
    """
    from mdpdice.cli.templates import write_game

    paths, target = write_game(name, folder)
    if as_json:
        click.echo(json.dumps({"files": [str(path) for path in paths], "game": target}))
        return
    for path in paths:
        click.echo(f"{path} is written")
    click.echo(f"Try:\n  mdpdice solve {target}\n  pytest {paths[1]}")
