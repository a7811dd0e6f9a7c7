"""Where the states of a lattice are, and what is worth what at one point of the grid."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from mdpdice.errors import UnknownStateError
from mdpdice.lattices.grid_tables import Tables
from mdpdice.lattices.layer_solver import known_rows
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.modelling.counters import At, full_state
from mdpdice.modelling.equality import same_kind
from mdpdice.networks.network import Bools, Floats

__all__ = ["Lookup"]

WIDTH = 64
"""Most points in a row whose values are computed when one of them is asked for."""
LOOKED_AT = 1 << 16
"""Most numbers that are computed for that."""


@attrs.frozen(eq=False, slots=False)
class Lookup:
    """What a solution of a lattice is asked about.

    Parameters
    ----------
    layers : Layers
        What was solved.
    stored : ndarray of float64, shape (entries, points of the grid)
        The stored values.
    """

    layers: Layers
    stored: Floats
    _reached: dict[int, Bools] = attrs.field(factory=dict, init=False)
    _last: dict[int, tuple[Floats, Tables]] = attrs.field(factory=dict, init=False)
    _here: dict[int, tuple[Floats, Tables]] = attrs.field(factory=dict, init=False)
    _options: dict[int, list[tuple[Any, int, int, int]]] = attrs.field(factory=dict, init=False)

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {state: at for at, state in enumerate(self.layers.lattice.states)}

    def place(self, state: Hashable) -> tuple[int, int]:
        """Core node and point of a state, by default of the start.

        Raises
        ------
        UnknownStateError
            It is no state of this game.
        """
        lattice = self.layers.lattice
        if state is None:
            return lattice.start, lattice.start_point
        full = state if isinstance(state, At) else full_state(state, lattice.axes)
        index = self._numbers.get(full.state)
        if index is None or not same_kind(lattice.states[index], full.state):
            first = list(lattice.states[:3])
            msg = f"state {full.state!r} is not in the core of this game; its first states are {first!r}"
            raise UnknownStateError(msg, value=state)
        return int(lattice.state_node[index]), full.point(lattice.axes)

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
        known = layers.reached[layers.program.entries == node, point]
        if known.any():
            return True
        if point not in self._reached:
            self._reached.clear()
            self._reached[point] = layers.nodes_at(self.rows(point)[1])[:, 0]
        return bool(self._reached[point][node])

    def options(self, node: int, tables: Tables) -> dict[Any, int]:
        """The actions of a decision that are there at a point, and the rows with what they are worth."""
        listed = self._options.get(node)
        if listed is None:
            lattice, first = self.layers.lattice, self.layers.lattice.first_action(node)
            edges = slice(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
            columns = (lattice.guard, lattice.update, self.layers.program.edge_row)
            actions = lattice.actions[first : first + edges.stop - edges.start]
            listed = list(zip(actions, *(column[edges].tolist() for column in columns), strict=True))
            self._options[node] = listed
        guards, targets = tables.guards, tables.targets
        return {
            action: row
            for action, guard, update, row in listed
            if (guard < 0 or guards[guard, 0]) and (update < 0 or targets[update, 0] >= 0)
        }

    def resolved(self, node: int, tables: Tables) -> int:
        """The node that a switch stands for at a point."""
        lattice = self.layers.lattice
        while lattice.switch[node]:
            live = [
                edge
                for edge in range(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
                if lattice.guard[edge] < 0 or tables.guards[lattice.guard[edge], 0]
            ]
            if (
                len(live) != 1
                or lattice.update[live[0]] >= 0
                or lattice.node_state[lattice.dst[live[0]]] >= 0
            ):
                break
            node = int(lattice.dst[live[0]])
        return node
