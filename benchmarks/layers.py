"""What the layers of games hold, and what their owners would read from each other if nobody held all values.

For every game: core nodes whose values are stored, points of the grid, bytes per point of values and of all else that a
process holds, and the largest layer, shared by points among owners: the values that each of them reads elsewhere.
`--thresholds` counts what the chance of at least T points in Yahtzee takes for every T at once, with a counter of the
points that are still needed: a point for every number of them that can still be had.

    python benchmarks/layers.py [--owners 2] [--thresholds] [NAME ...]
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import attrs
import numpy as np

from mdpdice import PayoffAtLeast, Total
from mdpdice.backend import Run
from mdpdice.cli.catalogue import find_game
from mdpdice.lattices.layer_solver import solve_layers
from mdpdice.lattices.reachable_layers import Layers, find_layers
from mdpdice.networks.network import Kind
from mdpdice.objectives.on_lattices import lower_lattice
from mdpdice.solving.lattice_route import compile_for

CHUNK = 1 << 16
"""Points whose targets are looked at together."""


def held(name: str, owners: int) -> None:
    """Print what a game holds, and what owners of its largest layer read."""
    lattice, _ = lower_lattice(compile_for(find_game(name)(), None), Total())
    layers = find_layers(lattice)
    entries, size = layers.reached.shape
    lengths = [len(layer.points) for layer in layers.layers]
    at = int(np.argmax(lengths))
    largest = layers.layers[at]
    alive, width = sum(lengths), lattice.point_type.itemsize
    grid, listed = (2, 3 * width) if layers.ranks.strict else (6 + 2 * width, 3 * width + 16)
    print(f"{name}: {entries} stored, {size:,} points, of which play reaches {alive:,}")
    print(f"  {8 * entries} bytes of values and {grid + entries} of other arrays each, and {listed} if it is reached")
    print(f"  layer {at + 1} of {len(lengths)} has {lengths[at]:,} points, the next one {(*lengths, 0)[at + 1]:,}")
    for part in np.array_split(largest.points, owners):
        elsewhere = read(layers, part)
        print(f"  an owner of {len(part):,} reads {elsewhere:,} others: {8e-6 * entries * elsewhere:.2f} MB")


def read(layers: Layers, own: np.ndarray) -> int:
    """Count the points outside of `own` that play can reach and that updates at `own` lead to."""
    there = np.zeros(layers.lattice.size, dtype=np.bool_)
    for first in range(0, len(own), CHUNK):
        targets = layers.tables.at(own[first : first + CHUNK]).targets
        there[targets[targets >= 0]] = True
    there &= layers.reached.any(axis=0)
    there[own] = False
    return int(there.sum())


def thresholds() -> None:
    """Print the points of every layer of Yahtzee with the sums that are still needed, and of a single threshold."""
    lattice = compile_for(find_game("yahtzee")(), PayoffAtLeast(250))
    moves = (lattice.kind != Kind.END) & (lattice.indptr[1:] > lattice.indptr[:-1])
    greedy = attrs.evolve(
        lattice,
        kind=np.where(moves, np.uint8(Kind.MAX), lattice.kind),
        switch=np.zeros_like(lattice.switch),
        actions=(),
    )
    layers = find_layers(greedy)
    most, _ = solve_layers(layers, Run())
    counts = [int(most[0, layer.points].sum()) for layer in layers.layers]
    both = max(one + other for one, other in pairwise(counts))
    last = int(most[0, lattice.start_point])
    print(f"yahtzee, at least 1 to {last:,}: {sum(counts):,} points, the largest layer {max(counts):,}")
    print(f"  values: {8e-9 * sum(counts):.1f} GB, of two layers {8e-9 * both:.1f} GB")
    whole = lattice.size * (last + 1)
    other = 3 * whole + 12 * sum(counts)
    print(f"  the grid has {whole:,} points: {8e-9 * whole:.0f} GB of values, {1e-9 * other:.1f} GB of other arrays")
    lowered, _ = lower_lattice(lattice, PayoffAtLeast(250))
    tables = lowered.point_type.itemsize * (len(lowered.updates) + 1) + len(lowered.guards)
    size = lowered.size
    print(f"  at least 250 alone: {size:,} points, {8e-9 * size:.1f} GB of values")
    print(f"  and {tables} bytes of tables at each point while it is looked at")


def main() -> None:
    """Print all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", default=["yahtzee", "yatzy", "pig-race", "farkle-race"])
    parser.add_argument("--owners", type=int, default=2)
    parser.add_argument("--thresholds", action="store_true")
    asked = parser.parse_args()
    for name in asked.names:
        held(name, asked.owners)
    if asked.thresholds:
        thresholds()


if __name__ == "__main__":
    main()
