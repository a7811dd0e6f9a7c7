"""``mdpdice export``: a game as a file of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import click

import mdpdice
from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.model_files import format_of, size_text, sizes
from mdpdice.cli.options import (
    NewFile,
    format_option,
    game_argument,
    json_option,
    parameters_option,
    sense_option,
)

__all__ = ["export"]


@command()
@game_argument
@parameters_option()
@click.option(
    "--to",
    "path",
    metavar="FILE",
    type=NewFile(),
    required=True,
    help="The file to write; its ending tells the format.",
)
@format_option
@click.option("--horizon", type=click.IntRange(min=0), metavar="N", help="At most N decisions in a play.")
@sense_option
@click.option(
    "--policy", is_flag=True, help="For a drawing (.dot): solve the game and mark the best actions."
)
@json_option
def export(
    name: str,
    pairs: tuple[str, ...],
    path: str,
    form: str | None,
    horizon: int | None,
    sense: Any,
    policy: bool,
) -> Answer:
    """Write a game to a file of another tool.

    NAME is a game, or a file that 'mdpdice import' reads.

    Formats: npz, drn, prism-explicit, prism, petsc, dot, lp, mps.
    In prism, the counters of a game are variables, so its size does not matter.

    Exit status: 0 written, 1 not, 2 wrong usage.
    """
    from mdpdice.formats import write_dot, write_file

    found = format_of(path, form, writing=True)
    if policy and found.name != "dot":
        raise click.UsageError("--policy marks actions in a drawing: write a .dot file")
    # Counters stay variables where the format has variables; a horizon is one of networks.
    source = _source(name, pairs, counters=found.lattices and horizon is None)
    source = source if sense is None else attrs.evolve(source, sense=sense)
    if isinstance(source, mdpdice.Lattice):
        write_file(source, path, found.name)
        size, text = _core_sizes(source), _core_text(source)
    else:
        network = source if horizon is None else mdpdice.Horizon(horizon).apply(source)
        if policy:
            write_dot(network, path, policy=mdpdice.solve(network))
        else:
            write_file(network, path, found.name)
        size, text = sizes(network), size_text(network)
    data = {"game": name, "file": path, "format": found.name, **size}
    return Answer(data, [f"{path}: {found.about}; {text}"])


def _source(name: str, pairs: tuple[str, ...], *, counters: bool) -> mdpdice.Network | mdpdice.Lattice:
    """The network of a game, or of a file of a format that can be read; with `counters` the lattice if it has any."""
    from mdpdice.formats import FORMATS, Model, read_file
    from mdpdice.modelling.counters import axes

    suffixes = [suffix for found in FORMATS if found.read for suffix in found.suffixes]
    if Path(name).suffix.lower() in suffixes and Path(name).is_file():
        if pairs:
            raise click.UsageError(f"{name} is a file, which has no parameters")
        read = read_file(name)
        return read.network() if isinstance(read, Model) else read
    from mdpdice.cli.catalogue import find_game
    from mdpdice.cli.game_parameters import build_game

    game, _ = build_game(name, find_game(name), pairs)
    if counters and axes(game):
        return mdpdice.compile_lattice(game)
    return mdpdice.explore(game)


def _core_sizes(lattice: mdpdice.Lattice) -> dict[str, Any]:
    return {
        "states": len(lattice.states),
        "nodes": lattice.n_nodes,
        "edges": lattice.n_edges,
        "points": lattice.size,
    }


def _core_text(lattice: mdpdice.Lattice) -> str:
    return (
        f"{len(lattice.states):,} core states, {lattice.n_nodes:,} nodes, {lattice.n_edges:,} edges, "
        f"{lattice.size:,} points of the counters"
    )
