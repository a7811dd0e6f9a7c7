"""Where the states of a lattice are, and what is worth what at one point of the grid."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from mdpdice.errors import UnknownStateError
from mdpdice.lattices.grid_tables import Tables
from mdpdice.lattices.lattice import FORBIDDEN, Lattice
from mdpdice.lattices.layer_solver import known_rows
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.modelling.counters import At, full_state
from mdpdice.modelling.equality import same_kind
from mdpdice.networks.network import Bools, Floats, Ints

__all__ = ["Lookup", "open_edges", "place_of", "resolved"]

WIDTH = 64
"""Most points in a row whose values are computed when one of them is asked for."""
LOOKED_AT = 1 << 16
"""Most numbers that are computed for that."""


@attrs.frozen(eq=False, slots=False)
class Lookup:
    """What a solution of a lattice is asked about."""

    layers: Layers  # what was solved
    stored: Floats  # the stored values, shape (entries, points of the grid)
    _reached: dict[int, Bools] = attrs.field(factory=dict, init=False)
    _last: dict[int, tuple[Floats, Tables]] = attrs.field(factory=dict, init=False)
    _here: dict[int, tuple[Floats, Tables]] = attrs.field(factory=dict, init=False)

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {state: at for at, state in enumerate(self.layers.lattice.states)}

    def place(self, state: Hashable) -> tuple[int, int]:
        """Core node and point of a state, by default of the start; an `UnknownStateError` if the game has it not."""
        lattice = self.layers.lattice
        if state is None:
            return lattice.start, lattice.start_point
        return place_of(lattice, self._numbers, state)

    def rows(self, point: int) -> tuple[Floats, Tables]:
        """Value of every row of the program at a point, NaN where it is not known, and the tables of the point."""
        # Whoever asks for the action asks for its value next, and then about a neighbour: looking at some
        # points in a row takes hardly longer than looking at one.
        here = self._here.get(point)
        if here is not None:
            return here
        program = self.layers.program
        width = max(1, min(WIDTH, LOOKED_AT // program.n_rows))
        first = point - point % width
        found = self._last.get(first)
        if found is None:
            self._last.clear()
            tables = self.layers.tables.at(np.arange(first, min(first + width, self.layers.lattice.size)))
            found = self._last[first] = known_rows(program, tables, self.stored), tables
        rows, tables = found
        self._here.clear()
        here = self._here[point] = rows[:, point - first], tables.take(np.array([point - first]))
        return here

    def reaches(self, node: int, point: int) -> bool:
        """Tell whether play comes to a core node at a point; what is worked out for others there proves nothing."""
        layers = self.layers
        if layers.reached[layers.program.entries == node, point].any():
            return True
        if point not in self._reached:
            self._reached.clear()
            self._reached[point] = layers.nodes_at(self.rows(point)[1])[:, 0]
        return bool(self._reached[point][node])

    def options(self, node: int, tables: Tables) -> dict[Any, int]:
        """The actions of a decision that are there at a point, and the rows with what they are worth."""
        lattice, program = self.layers.lattice, self.layers.program
        edges = np.arange(lattice.indptr[node], lattice.indptr[node + 1])
        open_ones = np.flatnonzero(open_edges(lattice, edges, np.intp(0), tables)).tolist()
        first, rows = lattice.first_action(node), program.edge_row[edges].tolist()
        return {lattice.actions[first + at]: rows[at] for at in open_ones}


def place_of(lattice: Lattice, numbers: Mapping[Hashable, int], state: Hashable) -> tuple[int, int]:
    """Core node and point of a state, given the numbers of the core states."""
    full = state if isinstance(state, At) else full_state(state, lattice.axes)
    index = numbers.get(full.state)
    if index is None or not same_kind(lattice.states[index], full.state):
        first = list(lattice.states[:3])
        msg = f"state {full.state!r} is not in the core of this game; its first states are {first!r}"
        raise UnknownStateError(msg, value=state)
    return int(lattice.state_node[index]), full.point(lattice.axes)


def open_edges(lattice: Lattice, edges: Ints, columns: Any, tables: Tables) -> Bools:
    """Whether edges are there, each at its columns of the tables; the two broadcast."""
    guard = lattice.guard[edges]
    # What leaves the grid where it may not is an error, and not for `forbid` to take away.
    there: Bools = tables.targets[lattice.update[edges], columns] != FORBIDDEN
    return there & ((guard < 0) | tables.guards[guard, columns]) if len(tables.guards) else there


def resolved(lattice: Lattice, node: int, tables: Tables, columns: Ints) -> Iterator[tuple[int, Ints]]:
    """The nodes that a node stands for, and at which of some points: others than itself if it is a switch."""
    todo = [(node, columns)]
    while todo:
        at, where = todo.pop()
        if not len(where):
            continue
        if not lattice.switch[at]:
            yield at, where
            continue
        for edge in range(int(lattice.indptr[at]), int(lattice.indptr[at + 1])):
            guard = int(lattice.guard[edge])
            live = where if guard < 0 else where[tables.guards[guard][where]]
            if lattice.update[edge] < 0 and lattice.node_state[lattice.dst[edge]] < 0:
                todo.append((int(lattice.dst[edge]), live))
            elif len(live):
                yield at, live
