"""Values, rounded: those from which all others follow in a step or a turn.

On a lattice these are the stored ones, where play can come.  Of a network every other state is left out, as far as
none of the states that a state leads to is left out, too; what is left out follows from its options.

Values of more than 1 count by their logarithm, so that all are rounded in proportion.  Places of the grid form rows.  A
row changes much as rows with a box or a point less do: kept is how each step differs from the sum of the steps at the
same place of those rows, with the rows behind them taken off, in groups by the size of that sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mdpdice.answers.grid_values import GridValues
from mdpdice.answers.solution import Solution
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.program import compile_program
from mdpdice.modelling.grid import Axis
from mdpdice.networks.network import Floats, Network
from mdpdice.web.packing import packed, packed_bits, packed_steps
from mdpdice.web.rules import GO, PASS, Rules, too_large

STEP = 1.8e-6
"""Step of the rounding: values are off by half of it, in proportion to values of more than 1."""
FEW = 100_000  # values up to which steps are finer: an option that costs much may be worth little
MOST_BASES = 4
"""Rows with a box or a point less that a row is compared with."""
GROUPS = 22
"""By the bits of the sum; the last one holds all that are larger."""
MOST_POINTS = 1 << 29
"""Stored core states times points of the grid."""
Ints: TypeAlias = NDArray[np.int64]


def stored_values(solution: Solution, rules: Rules) -> tuple[dict[str, Any], float]:
    """Return the values as data, and how far they are off at most, over max(1, abs(value))."""
    if rules.axes:
        keep, marks, values = _on_grid(solution, rules)
    else:
        keep, values = _of_network(solution.network, solution.nodes.values, rules)
        marks = np.ones(len(values), dtype=bool)
    if not np.isfinite(values).all():
        raise too_large("some of its values are infinite")
    length, bases = _rows(rules.axes, marks.size)
    size = np.abs(values)
    bent = np.where(size > 1, np.copysign(1 + np.log(np.maximum(size, 1)), values), values)
    step = STEP if len(values) > FEW else STEP / 8
    whole = np.rint(bent / step).astype(np.int64)
    place = np.flatnonzero(marks.ravel())
    fresh = (np.diff(place // length, prepend=-1) > 0) | (np.diff(whole, prepend=0) != 0)
    news = marks.flatten()
    news[place[~fresh]] = False
    steps, expected = _steps(place[fresh], whole[fresh], length, bases)
    group = np.minimum(np.frexp(np.abs(expected))[1], GROUPS - 1).astype(np.uint8)
    by_group = (steps - expected)[np.argsort(group, kind="stable")]
    ends = np.cumsum(np.bincount(group, minlength=GROUPS))[:-1]
    groups = [packed_steps(one) for one in np.split(by_group, ends)]
    row = np.full(len(rules.states), -1)
    row[keep] = np.arange(len(keep))
    off = np.expm1(np.abs(whole * step - bent))
    data: dict[str, Any] = {"row": packed(row), "marks": packed_bits(marks), "fresh": packed_bits(news), "step": step}
    data |= {"groups": groups, "length": length, "bases": bases, "most": MOST_BASES, "values": len(values)}
    return data, float(off.max(initial=0))


def _rows(axes: Sequence[Axis], places: int) -> tuple[int, list[tuple[int, int]]]:
    """Return the places of a row, and what may be less outside of it: how far away it is, and its number of values."""
    each = [(axis, math.prod(len(one.values) for one in axes[at + 1 :])) for at, axis in enumerate(axes)]
    last = len(axes[-1].values) if axes else places
    length = min((far for axis, far in each if axis.boxes), default=last)
    found = [(far << box, 2) for axis, far in each for box in reversed(range(len(axis.boxes)))]
    return length, found + [(far, len(axis.values)) for axis, far in each if far >= length and not axis.boxes]


def _steps(place: Ints, whole: Ints, length: int, bases: Sequence[tuple[int, int]]) -> tuple[Ints, Ints]:
    """Return the steps in the rows, and what those of the rows behind them add up to."""
    rows, row = np.unique(place // length, return_inverse=True)
    steps = np.where(np.diff(row, prepend=-1) > 0, whole, np.diff(whole, prepend=0))
    expected, used = np.zeros_like(steps), np.zeros_like(rows)
    back = np.zeros((MOST_BASES, len(rows)), dtype=np.int32)
    for far, size in bases:
        there = np.flatnonzero((rows * length // far % size > 0) & (used < MOST_BASES))
        back[used[there], there] = far
        used[there] += 1
    known = np.zeros(place.max(initial=0) + 1, dtype=np.int64)
    known[place] = steps
    for count in range(1, MOST_BASES + 1):
        some = np.flatnonzero(used[row] == count)
        there, behind = row[some], [(-1, place[some].astype(np.int32))]
        for far in back[:count, there]:
            behind += [(-sign, at - far) for sign, at in behind]
        expected[some] = sum(sign * known[at] for sign, at in behind[1:])
    return steps, expected


def _of_network(network: Network, values: Floats, rules: Rules) -> tuple[NDArray[Any], Floats]:
    """States whose values are kept, and the values."""
    leads: list[set[int]] = [set() for _ in rules.states]
    rows = list(rules.nodes)
    for to, root in zip(leads, rules.roots, strict=True):
        todo = [root]
        while todo:
            row = rows[todo.pop()]
            if row[0] in (GO, PASS):
                to.add(row[1])
            else:
                todo += row[4:]
    entered = np.bincount(np.fromiter((one for to in leads for one in to), int), minlength=len(leads))
    left_out, barred = bytearray(len(leads)), bytearray(len(leads))  # barred is what one that is left out leads to
    for at in np.argsort(entered, kind="stable").tolist():
        if not barred[at] and at not in leads[at] and not any(left_out[to] for to in leads[at]):
            left_out[at] = True
            for to in leads[at]:
                barred[to] = True
    keep = np.flatnonzero(np.frombuffer(left_out, dtype=np.uint8) == 0)
    nodes = [network.node_of(rules.states[at]) for at in keep.tolist()]
    return keep, values[nodes]


def _on_grid(solution: Solution, rules: Rules) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Core states whose values are kept, where they are on the grid, and the values."""
    grid = solution.table if isinstance(solution.table, GridValues) else None
    program = compile_program(compile_lattice(rules.game)) if grid is None else grid.layers.program
    lattice: Lattice = program.lattice
    if len(program.entries) * lattice.size > MOST_POINTS:
        raise too_large(f"its counters have {lattice.size:,} values together")
    core = [lattice.states[int(lattice.node_state[node])] for node in program.entries.tolist()]
    keep = np.array([rules.state(state) for state in core])
    if grid is not None:
        return keep, grid.layers.reached, grid.stored[grid.layers.reached]
    network, place = solution.network, {state: at for at, state in enumerate(core)}
    marks = np.zeros((len(keep), lattice.size), dtype=bool)
    every = np.zeros(marks.shape)
    for state, node in zip(cast("Any", network.states), network.state_node.tolist(), strict=True):
        if (at := place.get(state.state)) is not None:
            point = state.point(rules.axes)
            marks[at, point], every[at, point] = True, solution.nodes.values[node]
    return keep, marks, every[marks]
