"""Some of the states of a lattice that was solved, as a small network of their own.

A grid has too many states to list them all, and its decisions are not stored.  Where a part of it is wanted as a table
or a picture, the values at the points of this part are computed from the store, all points at once, and written
down as a network: every decision keeps its options, and behind each option is an end that is worth what the option
is worth.  So values, actions, ties and intervals are those of the lattice, and everything that takes the values of a
network takes these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdpdice.answers.grid_values import GridValues, open_edges, resolved
from mdpdice.answers.node_values import NodeValues
from mdpdice.errors import GameError, StateLimitError
from mdpdice.lattices.grid_tables import Tables
from mdpdice.lattices.point_states import PointStates, RepeatedActions
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.modelling.text import fields_of
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network

CHUNK_BYTES = 64 << 20
"""Size of the table of values at the points that are computed together."""


class _Part(NamedTuple):
    """States that agree in the core node that they stand for, at some points."""

    core: Ints
    point: Ints
    value: Floats
    kind: NDArray[np.uint8]
    options: Ints  # how many
    best: Ints  # which of them, -1 without a decision
    worth: Floats  # of the options, state by state
    action: Ints  # of the options, -1 without a decision


def excerpt(table: GridValues, where: Mapping[str, Any], max_states: int) -> NodeValues:
    """Return the states of a lattice that have given counters and fields; see `Solution.excerpt`."""
    layers = table.layers
    lattice, program = layers.lattice, layers.program
    cores, points = _chosen(layers, where)
    if len(cores) * len(points) > max_states:
        how = f"fix more counters by where=, of {', '.join(axis.name for axis in lattice.axes)}, or raise the limit"
        size = f"{len(cores):,} core states at {len(points):,} points"
        msg = f"{size} may be more than max_states={max_states:,} states; {how}"
        raise StateLimitError(msg, explored=0, frontier=[], value=len(cores) * len(points), limit=max_states)
    parts: list[_Part] = []
    chunk = max(64, CHUNK_BYTES // (8 * program.n_rows))
    for first in range(0, len(points), chunk):
        tables = layers.tables.at(points[first : first + chunk])
        rows, reached = table.known.at(tables), layers.nodes_at(tables)
        for core in cores.tolist():
            parts += _parts(layers, core, tables, rows, reached)
    if not parts:
        raise GameError(f"play reaches no state with {dict(where)!r}", value=dict(where))

    core, point, value, kind, options, best, worth, action = map(np.concatenate, zip(*parts, strict=True))
    if table.sense == "min":
        # The lattice that was solved has the sides changed.
        kind = np.select([kind == Kind.MAX, kind == Kind.MIN], [Kind.MIN, Kind.MAX], kind)
    n, e = len(value), len(worth)
    indptr = np.concatenate(([0], np.cumsum(options), np.full(e, e)))
    network = Network(
        kind=np.concatenate((kind, np.full(e, Kind.END))).astype(np.uint8),
        indptr=indptr,
        dst=n + np.arange(e),
        weight=np.ones(e),
        reward=np.zeros(e),
        sign=np.ones(e, dtype=np.int8),
        step=np.zeros(e, dtype=bool),
        payoff=np.concatenate((np.where(kind == Kind.END, value, 0.0), worth)),
        start=int(np.argmax((core == lattice.node_state[lattice.start]) & (point == lattice.start_point))),
        states=PointStates(lattice, core, point),
        state_node=np.arange(n),
        node_state=np.concatenate((np.arange(n), np.full(e, -1))),
        actions=RepeatedActions(lattice.actions, action[action >= 0].astype(np.int32)),
        sense="min" if table.sense == "min" else "max",
        warnings=lattice.warnings,
    )
    values, half = np.concatenate((value, worth)), table.widths[layers.ranks.layer[point]]
    half = np.concatenate((half, np.repeat(half, options)))
    choice = np.concatenate((np.where(best < 0, -1, indptr[:n] + best), np.full(e, -1)))
    return NodeValues(network, values, values - half, values + half, choice)


def _chosen(layers: Layers, where: Mapping[str, Any]) -> tuple[Ints, Ints]:
    """Core states, and points that play can reach, with the values that are wanted."""
    lattice = layers.lattice
    counters = {axis.name for axis in lattice.axes}
    points = np.sort(np.concatenate([layer.points for layer in layers.layers]))
    values = lattice.values(points)
    keep = np.ones(len(points), dtype=bool)
    fields = [fields_of(state) for state in lattice.states]
    cores = np.ones(len(fields), dtype=bool)
    for name, wanted in where.items():
        if name in counters:
            keep &= values[name] == wanted
            continue
        if not any(name in one for one in fields):
            known = dict.fromkeys([*counters, *(field for one in fields for field in one)])
            msg = f"{name!r} is neither a counter nor a field of a state; they are: {', '.join(sorted(known))}"
            raise GameError(msg, value=name)
        cores &= [name in one and bool(one[name] == wanted) for one in fields]
    return np.flatnonzero(cores), points[keep]


def _parts(layers: Layers, core: int, tables: Tables, rows: Floats, reached: Bools) -> Iterator[_Part]:
    """Yield the states of one core state, by the node that they stand for where there is a switch."""
    lattice, program = layers.lattice, layers.program
    own = int(lattice.state_node[core])
    value = rows[program.row[own]]
    for node, columns in resolved(lattice, own, tables, np.flatnonzero(np.isfinite(value) & reached[own])):
        kind, length = int(lattice.kind[node]), len(columns)
        best, action = np.full(length, -1), np.full(0, -1)
        options, worth = np.zeros(length, dtype=np.int64), np.zeros(0)
        if kind == Kind.CHANCE:
            options, worth, action = options + 1, value[columns], np.full(length, -1)
        elif kind != Kind.END:
            edges = np.arange(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
            there = open_edges(lattice, edges[:, None], columns, tables)
            each = rows[program.edge_row[edges]][:, columns]
            turn = -1.0 if kind == Kind.MIN else 1.0
            first = np.argmax(np.where(there, turn * each, -np.inf), axis=0)
            best = np.cumsum(there, axis=0)[first, np.arange(length)] - 1
            options, worth = there.sum(axis=0), each.T[there.T]
            number = program.lattice.first_action(node) + np.arange(len(edges))
            action = np.broadcast_to(number, (length, len(edges)))[there.T]
        kinds = np.full(length, kind, dtype=np.uint8)
        points = tables.points[columns]
        yield _Part(np.full(length, core), points, value[columns], kinds, options, best, worth, action)
