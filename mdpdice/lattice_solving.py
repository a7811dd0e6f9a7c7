"""The values of a lattice, layer by layer from the last to the first.

For an entry ``k`` (a core node whose value is stored) and a point ``g`` the store holds
``V(k, g)``.  At a point, all core nodes are computed from the store, successors first::

    V(i, g) = max, min or mean over the edges e of i of  r_e(g) + q_e,
    q_e = V(dst(e), g)              if e has no update, from the table of this point
        = V(dst(e), u_e(g))         if it has one, from the store
        = total - that              if the sides change

A layer that does not lead to itself is done with one such pass.  The others are swept
until nothing changes any more, part by part; within a sweep points are taken against the
order in which they are played, so that a change travels through a part in one sweep.  What stopped
iterating is no proof of anything: `mdpdice.checking_lattice` finds out how far off the result is.

Blocks of points are independent, so they are shared out to all processors.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from mdpdice.backend import Run
from mdpdice.errors import NotConvergedError, UnsupportedError
from mdpdice.grid_tables import Tables
from mdpdice.lattice import Lattice
from mdpdice.lattice_program import Program
from mdpdice.layers import Layer, Layers, in_parallel, slabs, threads, workers
from mdpdice.network import Floats, Ints, Kind

__all__ = [
    "kernel_arguments",
    "known_rows",
    "refuse_averaged",
    "second_moments",
    "solve_layers",
    "table_rows",
]

SWEEPS = 64
"""Sweeps between two looks at the clock."""
SMALLEST = 2.0**-47
"""Change, relative to the largest value, that is not worth another sweep: rounding alone comes to some of it."""
CHUNK_BYTES = 32 << 20
"""Size of the tables for one group of parts."""


def solve_layers(layers: Layers, run: Run, *, max_sweeps: int = 100_000) -> tuple[Floats, int]:
    """Values of all entries at all points that play can reach.

    Parameters
    ----------
    layers : Layers
        What to solve.
    run : Run
        Its deadline and cancel flag are looked at between pieces of a layer.
    max_sweeps : int
        Largest number of sweeps over one part of a layer that leads to itself.

    Returns
    -------
    values : ndarray of float64, shape (entries, points of the grid)
        NaN where nothing is stored.
    sweeps : int
        Largest number of sweeps that a layer took.

    Raises
    ------
    NotConvergedError
        The sweeps did not suffice.
    SolveInterrupted
        The solve was cancelled or is out of time.
    """
    lattice = layers.lattice
    values = np.full(layers.reached.shape, np.nan)
    most = 1
    with workers() as pool:
        for done, layer in enumerate(reversed(layers.layers)):
            if layer.part is None:
                pieces = slabs(lattice, len(layer.points))
                jobs = [(layers, layer, at, piece, values, run) for at, piece in enumerate(pieces)]
                for _ in in_parallel(pool, _settle, jobs):
                    run.check()
            else:
                groups = [(layers, columns, values, run, max_sweeps) for columns in _groups(layers, layer)]
                for sweeps in in_parallel(pool, _iterate, groups):
                    most = max(most, sweeps)
            run.check()
            run.tell("solve", layers=done + 1, of=len(layers.layers))
    return values, most


def kernel_arguments(program: Program, tables: Tables, values: Floats) -> tuple[Any, ...]:
    """Arguments of the kernels: rows, columns and the store."""
    kernels = _kernels()
    lattice = program.lattice
    rows = kernels.Rows(
        kind=program.kind,
        indptr=program.indptr,
        arg=program.arg,
        weight=program.weight,
        source=program.source,
        entry=program.entry,
        update=np.where(program.update < 0, len(lattice.updates), program.update),
        reward=program.reward,
        flip=program.flip,
        guard=program.guard,
        neutral=program.neutral,
        entry_row=program.entry_row,
        total=float(lattice.total),
    )
    return rows, kernels.Columns(**attrs.asdict(tables, recurse=False)), values


def _kernels() -> Any:
    from mdpdice.numerics import lattice_kernels

    return lattice_kernels


def _settle(job: tuple[Layers, Layer, int, tuple[int, int], Floats, Run]) -> None:
    kernels = _kernels()
    layers, layer, at, (first, last), values, run = job
    run.check()
    tables = layers.kept.get((layer.number, at))
    if tables is None:
        tables = layers.tables.at(layer.points[first:last])
    length = len(tables.points)
    blocks = np.append(np.arange(0, length, kernels.WIDTH), length)
    table = np.zeros((layers.program.n_rows, kernels.WIDTH))
    arguments = kernel_arguments(layers.program, tables, values)
    fresh = np.empty((len(layers.reached), length))
    kernels.sweep(*arguments, layers.reached, blocks, np.arange(len(blocks)), table, fresh)


def _groups(layers: Layers, layer: Layer) -> list[Tables]:
    """The tables of groups of parts, with the points in the order of a sweep."""
    tables = layers.kept.get((layer.number, 0))
    if tables is None:
        tables = layers.tables.at(layer.points)
    assert layer.part is not None
    inner = layers.ranks.inner[layer.points]
    _, part, size = np.unique(layer.part, return_inverse=True, return_counts=True)
    pieces = max(-(-tables.nbytes // CHUNK_BYTES), min(threads(), len(size)))
    # Parts are put together in their order until a group has its share of the points.
    before = np.cumsum(size) - size
    group = (before * pieces // len(layer.points))[part]
    order = np.lexsort((layer.points, -inner.astype(np.int64), group))
    cuts = np.flatnonzero(np.diff(group[order])) + 1
    return [tables.take(columns) for columns in np.split(order, cuts)]


def _iterate(job: tuple[Layers, Tables, Floats, Run, int]) -> int:
    kernels = _kernels()
    layers, tables, values, run, max_sweeps = job
    reached = layers.reached[:, tables.points]
    # An endless play is worth half of the total to both sides, and what it collected without pass_to.
    values[:, tables.points] = np.where(reached, float(layers.lattice.total) / 2, np.nan)
    inner = layers.ranks.inner[tables.points]
    blocks, runs = _blocks(inner, kernels.WIDTH)
    table = np.zeros((layers.program.n_rows, kernels.WIDTH))
    arguments = kernel_arguments(layers.program, tables, values)
    fresh, kept, moves = np.empty((3, *reached.shape))
    done, tolerance, change = 0, 0.0, np.inf
    while done < max_sweeps:
        run.check()
        change, sweeps = kernels.iterate(
            *arguments,
            layers.reached,
            blocks,
            runs,
            table,
            fresh,
            kept,
            moves,
            tolerance,
            1 if done == 0 else min(SWEEPS, max_sweeps - done),
        )
        done += sweeps
        if change <= tolerance and done > 1:
            return int(done)
        # After the first sweep the size of the values is known.
        size = float(np.abs(values[:, tables.points]).max(initial=0.0, where=reached))
        tolerance = SMALLEST * size if np.isfinite(size) else 0.0
    msg = (
        f"a layer of the lattice still changes by {change:.3g} after {max_sweeps:,} sweeps; solve the flat network, "
        "solve(explore(game)), or declare a progress() that splits the layers"
    )
    raise NotConvergedError(msg, iterations=done, width=float(change))


def _blocks(inner: Ints, width: int) -> tuple[Ints, Ints]:
    """Starts of blocks of at most `width` points of equal order, and the first blocks of every order."""
    starts = np.concatenate(([0], np.flatnonzero(np.diff(inner)) + 1, [len(inner)]))
    count = -(-np.diff(starts) // width)
    runs = np.concatenate(([0], np.cumsum(count)))
    blocks = np.repeat(starts[:-1] - runs[:-1] * width, count) + np.arange(runs[-1]) * width
    return np.append(blocks, len(inner)), runs


def refuse_averaged(lattice: Lattice) -> None:
    """Refuse a lattice with means of rewards that differ, for questions about more than the mean total."""
    if lattice.averaged:
        msg = (
            "this lattice holds means of rewards that differ, so the distribution of totals is lost; "
            "solve(compile_lattice(game, merge=False)) keeps it"
        )
        raise UnsupportedError(msg)


def second_moments(layers: Layers, values: Floats) -> Floats:
    """Second moments of what a play is still worth, for everything that is stored, if all follow the values.

    Raises
    ------
    UnsupportedError
        A layer leads to itself, or the lattice holds means of rewards that differ.
    """
    if layers.cyclic:
        msg = "second moments are computed for lattices without cycles; use outcomes(explore(game), policy)"
        raise UnsupportedError(msg)
    refuse_averaged(layers.lattice)
    squares = np.full(values.shape, np.nan)
    with workers() as pool:
        for layer in reversed(layers.layers):
            pieces = slabs(layers.lattice, len(layer.points))
            jobs = [(layers, layer, at, piece, values, squares) for at, piece in enumerate(pieces)]
            for _ in in_parallel(pool, _square, jobs):
                pass
    return squares


def _square(job: tuple[Layers, Layer, int, tuple[int, int], Floats, Floats]) -> None:
    kernels = _kernels()
    layers, layer, at, (first, last), values, squares = job
    tables = layers.kept.get((layer.number, at))
    if tables is None:
        tables = layers.tables.at(layer.points[first:last])
    length = len(tables.points)
    blocks = np.append(np.arange(0, length, kernels.WIDTH), length)
    table, second = np.zeros((2, layers.program.n_rows, kernels.WIDTH))
    kernels.moments(
        *kernel_arguments(layers.program, tables, values),
        layers.reached,
        blocks,
        table,
        squares,
        second,
    )


def known_rows(program: Program, tables: Tables, values: Floats) -> Floats:
    """What `table_rows` gives; NaN where it depends on something that is not in the store.

    The compiled loops pass over NaN in a maximum or minimum, which no play that stays where play can come ever
    meets.  Whoever asks about any point may: an option that leads elsewhere might be the best one.
    """
    rows = table_rows(program, tables, values)
    if np.isnan(rows).any():
        decides = (program.kind == Kind.MAX) | (program.kind == Kind.MIN)
        # Sums over all options, in which those that are closed count 0: NaN is not lost.
        summed = attrs.evolve(
            program,
            kind=np.where(decides, np.uint8(Kind.CHANCE), program.kind),
            neutral=np.zeros_like(program.neutral),
        )
        rows[np.isnan(table_rows(summed, tables, values))] = np.nan
    return rows


def table_rows(program: Program, tables: Tables, values: Floats) -> Floats:
    """Value of every row of the program at the points of some tables, from the store; shape (rows, points)."""
    kernels = _kernels()
    arguments = kernel_arguments(program, tables, values)
    length = len(tables.points)
    rows, table = np.empty((program.n_rows, length)), np.zeros((program.n_rows, kernels.WIDTH))
    for first in range(0, length, kernels.WIDTH):
        last = min(first + kernels.WIDTH, length)
        kernels.rows_at(*arguments, first, last, table)
        rows[:, first:last] = table[:, : last - first]
    return rows
