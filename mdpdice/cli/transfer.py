"""The commands ``export`` and ``import``: models to and from the files of other tools."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from mdpdice.cli.commands import main
from mdpdice.cli.shared import NewFile, failures, game_argument

if TYPE_CHECKING:
    from mdpdice.formats.by_suffix import FileFormat
    from mdpdice.lattices.lattice import Lattice
    from mdpdice.networks.network import Network
    from mdpdice.objectives.objective import Objective

__all__ = ["export", "import_"]


@main.command()
@game_argument
@click.option(
    "-p", "pairs", metavar="KEY=VALUE", multiple=True, help="A parameter of the game; may be repeated."
)
@click.option(
    "--to",
    "path",
    metavar="FILE",
    type=NewFile(),
    required=True,
    help="The file to write; its ending tells the format.",
)
@click.option("--format", "form", metavar="FORMAT", help="The format, where the ending does not tell it.")
@click.option("--horizon", type=click.IntRange(min=0), metavar="N", help="At most N decisions in a play.")
@click.option(
    "--policy", is_flag=True, help="For a drawing (.dot): solve the game and mark the best actions."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def export(
    name: str,
    pairs: tuple[str, ...],
    path: str,
    form: str | None,
    horizon: int | None,
    policy: bool,
    as_json: bool,
) -> None:
    """Write a game to a file of another tool.

    NAME is a game, or a file that 'mdpdice import' reads.

    Formats: npz, drn, prism-explicit, prism, petsc, dot, lp, mps.
    In prism, the counters of a game are variables, so its size does not matter.

    Exit status: 0 written, 1 not, 2 wrong usage.
    """
    with failures():
        from mdpdice.formats import write_dot, write_file
        from mdpdice.lattices.lattice import Lattice
        from mdpdice.objectives.objective import Horizon

        found = _format(path, form, writing=True)
        if policy and found.name != "dot":
            raise click.UsageError("--policy marks actions in a drawing: write a .dot file")
        # Counters stay variables where the format has variables; a horizon is one of networks.
        source = _source(name, pairs, counters=found.lattices and horizon is None)
        if isinstance(source, Lattice):
            write_file(source, path, found.name)
            data = {"game": name, "file": path, "format": found.name, **_core_sizes(source)}
            click.echo(json.dumps(data) if as_json else f"{path}: {found.about}; {_core_text(source)}")
            return
        network = source if horizon is None else Horizon(horizon).apply(source)
        if policy:
            from mdpdice.solving.pipeline import solve

            write_dot(network, path, policy=solve(network))
        else:
            write_file(network, path, found.name)
        data = {"game": name, "file": path, "format": found.name, **_sizes(network)}
        click.echo(json.dumps(data) if as_json else f"{path}: {found.about}; {_size_text(network)}")


@main.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--format", "form", metavar="FORMAT", help="The format, where the ending does not tell it.")
@click.option("--reward", metavar="NAME", help="The reward structure, where the file has several.")
@click.option("--discount", metavar="X", help="Factor per step, as 0.99 or 99/100.")
@click.option(
    "--to",
    "target",
    metavar="FILE",
    type=NewFile(),
    help="Write the network to this file, by custom .npz.",
)
@click.option("--solve", "solves", is_flag=True, help="Solve it and prove the answer.")
@click.option("--reach", metavar="LABEL", help="With --solve: the probability of reaching this label.")
@click.option(
    "--until", metavar="LABEL", help="With --solve: the expected reward until this label is reached."
)
@click.option(
    "--sense", type=click.Choice(["max", "min"]), default="max", show_default=True, help="What is wanted."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def import_(
    ctx: click.Context,
    file: str,
    form: str | None,
    reward: str | None,
    discount: str | None,
    target: str | None,
    solves: bool,
    reach: str | None,
    until: str | None,
    sense: str,
    as_json: bool,
) -> None:
    """Read a model from a file of another tool, and tell what it holds.

    Formats: npz, drn, prism-explicit (.tra), petsc.

    Exit status: 0 read (and, with --solve, proved), 1 not, 2 wrong usage.
    """
    if (reach or until) and not solves:
        raise click.UsageError("--reach and --until go with --solve")
    if reach and until:
        raise click.UsageError("--reach and --until are two questions; ask one")
    with failures():
        from mdpdice.formats import Model, read_file, write_file
        from mdpdice.objectives.objective import Discounted

        found = _format(file, form)
        if discount is not None:
            with _named():
                Discounted(discount)
        into = None if target is None else _format(target, writing=True)
        read = read_file(file, found.name)
        data: dict[str, Any] = {"file": file, "format": found.name}
        if isinstance(read, Model):
            if reward is not None and reward not in read.rewards:
                there = ", ".join(map(repr, read.rewards)) or "none"
                raise click.UsageError(f"{file} has no reward structure {reward!r}; it has: {there}")
            data |= {"kind": read.kind, "rewards": list(read.rewards), "labels": list(read.labels)}
            # What does not ask for rewards needs none.
            unpaid = (
                len(read.rewards) > 1 and reward is None and (reach is not None or not (solves or target))
            )
            network = read.network(
                reward or (next(iter(read.rewards)) if unpaid else None), discount=discount or 1
            )
        else:
            network = _with(read, reward, discount)
        data |= _sizes(network)
        if into is not None and target is not None:
            write_file(network, target, into.name)
            data["written"] = target
        if solves:
            data |= _solved(network, _objective(read, reach, until, sense))
        click.echo(json.dumps(data) if as_json else _text(data, network))
    ctx.exit(solves and data["value"] is None)


@contextlib.contextmanager
def _named() -> Iterator[None]:
    """What somebody named and there is not is wrong usage."""
    from mdpdice.errors import DiscountRangeError, GameError, UnknownStateError, UnsupportedError

    try:
        yield
    except (DiscountRangeError, GameError, UnknownStateError, UnsupportedError) as error:
        raise click.UsageError(error.message) from error


def _format(path: str, form: str | None = None, *, writing: bool = False) -> FileFormat:
    from mdpdice.formats import find_format

    with _named():
        return find_format(path, form, writing=writing)


def _source(name: str, pairs: tuple[str, ...], *, counters: bool) -> Network | Lattice:
    """The network of a game, or of a file of a format that can be read; with `counters` the lattice if it has any."""
    from pathlib import Path

    from mdpdice.exploration.to_lattice import compile_lattice
    from mdpdice.exploration.to_network import explore
    from mdpdice.formats import FORMATS, Model, read_file
    from mdpdice.modelling.counters import axes

    suffixes = [suffix for found in FORMATS if found.read for suffix in found.suffixes]
    if Path(name).suffix.lower() in suffixes and Path(name).is_file():
        if pairs:
            raise click.UsageError(f"{name} is a file, which has no parameters")
        read = read_file(name)
        return read.network() if isinstance(read, Model) else read
    from mdpdice.cli.catalogue import find_game
    from mdpdice.cli.parameters import build_game

    game, _ = build_game(name, find_game(name), pairs)
    if counters and axes(game):
        return compile_lattice(game)
    return explore(game)


def _with(network: Network, reward: str | None, discount: str | None) -> Network:
    from mdpdice.objectives.objective import Discounted

    if reward is not None:
        raise click.UsageError("this format has no named rewards")
    return network if discount is None else Discounted(discount).apply(network)


def _objective(read: Any, reach: str | None, until: str | None, sense: Any) -> Objective:
    from mdpdice.objectives.objective import Reach, Total, UntilReward

    label = reach or until
    if label is None:
        return Total(sense)
    if not hasattr(read, "labelled"):
        raise click.UsageError("this format has no labels")
    with _named():
        targets = read.labelled(label)
    return Reach(targets, sense=sense) if reach else UntilReward(targets, sense=sense)


def _sizes(network: Network) -> dict[str, Any]:
    return {"states": network.n_states, "nodes": network.n_nodes, "edges": network.n_edges}


def _core_sizes(lattice: Lattice) -> dict[str, Any]:
    return {
        "states": len(lattice.states),
        "nodes": lattice.n_nodes,
        "edges": lattice.n_edges,
        "points": lattice.size,
    }


def _core_text(lattice: Lattice) -> str:
    return (
        f"{len(lattice.states):,} core states, {lattice.n_nodes:,} nodes, {lattice.n_edges:,} edges, "
        f"{lattice.size:,} points of the counters"
    )


def _size_text(network: Network) -> str:
    return f"{network.n_states:,} states, {network.n_nodes:,} nodes, {network.n_edges:,} edges"


def _solved(network: Network, objective: Objective) -> dict[str, Any]:
    from mdpdice.cli.answers import figures
    from mdpdice.solving.pipeline import solve

    solution = solve(network, objective)
    return figures(solution)


def _text(data: dict[str, Any], network: Network) -> str:
    from mdpdice.cli.answers import value_rows
    from mdpdice.cli.text import aligned

    rows: list[tuple[str, str]] = [("file", f"{data['file']} ({data['format']})")]
    if "kind" in data:
        rows += [
            ("kind", data["kind"]),
            ("rewards", ", ".join(data["rewards"]) or "none"),
            ("labels", ", ".join(data["labels"]) or "none"),
        ]
    rows.append(("size", _size_text(network)))
    if "written" in data:
        rows.append(("written", data["written"]))
    if "value" in data:
        rows += [*value_rows(data), ("solver", data["solver"])]
    return "\n".join([aligned(rows), *(f"note: {warning}" for warning in network.warnings)])
