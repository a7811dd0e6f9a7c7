"""Values in fixed point: those from which all others follow in a step or a turn.

On a lattice these are the stored ones, where play can come.  Of a network every other state is left out, as far as
none of the states that a state leads to is left out, too; what is left out follows from its options.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from mdpdice.answers.grid_values import GridValues
from mdpdice.answers.solution import Solution
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.program import compile_program
from mdpdice.networks.network import Floats, Network
from mdpdice.web.packing import packed, packed_bits
from mdpdice.web.rules import GO, PASS, Rules, too_large

FINEST = 2.0**-20
"""Step of the fixed point: values are off by half of it, in proportion to values of more than 1."""
BLOCK = 64
"""Values of a network that have a step in common."""
MOST_POINTS = 1 << 29
"""Stored core states times points of the grid."""


def stored_values(solution: Solution, rules: Rules) -> tuple[dict[str, Any], float]:
    """Return the values as data, and how far they are off at most, over max(1, abs(value))."""
    if rules.axes:
        keep, marks, values = _on_grid(solution, rules)
    else:
        keep, values = _of_network(solution.network, solution.nodes.values, rules)
        marks = np.ones(len(values), dtype=bool)
    if not np.isfinite(values).all():
        raise too_large("some of its values are infinite")
    length = len(rules.axes[-1].values) if rules.axes else BLOCK
    block = np.flatnonzero(marks.ravel()) // length
    number = -(-marks.size // length)
    # Every block has the unit that its smallest value asks for, and its largest one allows.
    least, most = np.full(number, np.inf), np.zeros(number)
    np.minimum.at(least, block, np.abs(values))
    np.maximum.at(most, block, np.abs(values))
    finest = np.floor(np.log2(np.maximum(1, np.where(np.isfinite(least), least, 1))))
    scale = np.maximum(finest, np.ceil(np.log2(np.maximum(most, 1e-300))) - 32).astype(np.int64)
    unit = np.ldexp(FINEST, scale)[block]
    fixed = np.rint(values / unit).astype(np.int64)
    row = np.full(len(rules.states), -1)
    row[keep] = np.arange(len(keep))
    off = np.abs(fixed * unit - values) / np.maximum(1, np.abs(values))
    data = {"row": packed(row), "marks": packed_bits(marks), "block": length, "finest": FINEST}
    return {**data, "scale": packed(scale), "values": packed(fixed)}, float(off.max(initial=0))


def _of_network(network: Network, values: Floats, rules: Rules) -> tuple[NDArray[Any], Floats]:
    """States whose values are kept, and the values."""
    leads: list[set[int]] = [set() for _ in rules.states]
    rows = list(rules.nodes)
    for at, root in enumerate(rules.roots):
        todo = [root]
        while todo:
            kind, *numbers = rows[todo.pop()]
            if kind in (GO, PASS):
                leads[at].add(numbers[0])
            else:
                todo += numbers[3:]
    entered = np.zeros(len(leads), dtype=np.int64)
    for to in leads:
        for one in to:
            entered[one] += 1
    left_out = np.zeros(len(leads), dtype=bool)
    barred = np.zeros(len(leads), dtype=bool)  # leads to one that is left out, or is led to by one
    for at in np.argsort(entered, kind="stable").tolist():
        if not barred[at] and at not in leads[at] and not any(left_out[to] for to in leads[at]):
            left_out[at] = True
            barred[list(leads[at])] = True
    keep = np.flatnonzero(~left_out)
    states = list(rules.states)
    nodes = [network.value_node_of(states[at]) for at in keep.tolist()]
    return keep, values[nodes]


def _on_grid(solution: Solution, rules: Rules) -> tuple[NDArray[Any], NDArray[Any], Floats]:
    """Core states whose values are kept, where they are on the grid, and the values."""
    grid = solution.table if isinstance(solution.table, GridValues) else None
    program = compile_program(compile_lattice(rules.game)) if grid is None else grid.layers.program
    lattice: Lattice = program.lattice
    if len(program.entries) * lattice.size > MOST_POINTS:
        raise too_large(f"its counters have {lattice.size:,} values together")
    core = [lattice.states[int(lattice.node_state[node])] for node in program.entries.tolist()]
    keep = np.array([rules.states[state] for state in core])
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
