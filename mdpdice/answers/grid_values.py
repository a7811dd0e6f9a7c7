"""The values of an answer on a lattice: some are stored, and everything else is computed where it is asked for.

Only the values of some core nodes are stored (`mdpdice.lattices.program`), and no decision is.  The value of
any other state, the value of every action and the best action follow from the stored values by one
pass through the core at the point of the grid that is asked about.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from mdpdice.answers.passed_on import PassedOn
from mdpdice.answers.plain_rows import PlainRows
from mdpdice.errors import GameError, HorizonRangeError, UnknownStateError
from mdpdice.lattices.digest import digest
from mdpdice.lattices.grid_tables import Tables
from mdpdice.lattices.lattice import FORBIDDEN, Lattice
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.modelling.counters import At, full_state
from mdpdice.modelling.equality import same_kind
from mdpdice.networks.network import Bools, Floats, Ints, Kind

WIDTH = 64
"""Most points in a row whose values are computed when one of them is asked for."""
LOOKED_AT = 1 << 16
"""Most numbers that are computed for that."""


@attrs.frozen(eq=False, repr=False, slots=False)
class GridValues:
    """The stored values of a lattice.  States are `mdpdice.At` values: a core state and the counters."""

    layers: Layers  # what was solved; with ``sense="min"`` the players have changed sides in it
    stored: Floats  # shape (entries, points of the grid), NaN where play cannot come
    widths: Floats  # how far optimal value and value of the policy may be from them, shape (layers,)
    sense: str = "max"  # what the player to move wants
    _reached: dict[tuple[int, int], Bools] = attrs.field(factory=dict, init=False)
    _last: dict[tuple[int, int], tuple[Floats, Tables]] = attrs.field(factory=dict, init=False)

    lattice = PassedOn[Lattice]("layers.lattice", "What was solved.")

    @property
    def digest(self) -> str:
        """Digest of the lattice."""
        return digest(self.lattice)

    @property
    def start(self) -> At[Any]:
        """State where a play starts."""
        lattice = self.lattice
        return At(lattice.states[int(lattice.node_state[lattice.start])], **lattice.counters(lattice.start_point))

    n_states = PassedOn[int]("layers.states", "Number of states that play can reach.")
    n_edges = PassedOn[int]("layers.edges", "Number of edges between them.")
    warnings = PassedOn[tuple[str, ...]]("lattice.warnings", "What was repaired while the lattice was made.")

    def nearest(self, state: Hashable) -> list[Any]:
        """Return the start, for who asks about a state that does not exist."""
        return [self.start]

    @property
    def size(self) -> str:
        """How large the lattice is, in words."""
        axes = ", ".join(f"{axis.name} ({len(axis.values):,} values)" for axis in self.lattice.axes)
        return f"{self.lattice.size:,} points of {axes}, {self.lattice.n_nodes:,} core nodes"

    def value(self, state: Hashable, steps_left: int | None) -> float:
        """Value of a state; an `UnknownStateError` if play cannot come there, so that nothing is known of it."""
        return self._known(state, steps_left)[2]

    def interval(self, state: Hashable, steps_left: int | None) -> tuple[float, float]:
        """Lower and upper end of the interval of a state."""
        _, point, value = self._known(state, steps_left)
        width = self._width(point)
        return value - width, value + width

    def _known(self, state: Hashable, steps_left: int | None) -> tuple[int, int, float]:
        """Core node and point of a state that play can come to, and its value."""
        if steps_left is not None:
            msg = f"steps_left={steps_left!r} needs a solution with a horizon, and lattices have none"
            raise HorizonRangeError(msg, value=steps_left)
        node, point = self._place(state)
        rows, _, column = self.rows(point)
        value = float(rows[self.layers.program.row[node], column])
        if not np.isfinite(value) or not self._comes_to(node, point):
            shown = self.start if state is None else state
            raise UnknownStateError(f"state {shown!r} cannot be reached in this game", value=shown)
        return node, point, value

    def _width(self, point: int) -> float:
        return float(self.widths[int(self.layers.ranks.layer[point])])

    def kind(self, state: Hashable) -> Kind:
        """Return the node of a state."""
        node, point, _ = self._known(state, None)
        kind = Kind(int(self.lattice.kind[self._resolved(node, point)]))
        if self.sense == "min" and kind in (Kind.MAX, Kind.MIN):
            return Kind.MIN if kind == Kind.MAX else Kind.MAX
        return kind

    def reaches(self, state: Hashable) -> bool:
        """Whether play can come to a state."""
        return self._comes_to(*self._place(state))

    def action(self, state: Hashable, steps_left: int | None) -> Any:
        """Return the first of the best actions of a decision state."""
        minimise, found = self.options(state, steps_left, self.sense)
        choose = min if minimise else max
        return choose(found, key=lambda option: option[1])[0]

    def options(
        self, state: Hashable, steps_left: int | None, sense: str
    ) -> tuple[bool, list[tuple[Any, float, float, float]]]:
        """Whether the player minimises, and every action that is there, with its value and interval."""
        node, point, _ = self._known(state, steps_left)
        lattice, width = self.lattice, self._width(point)
        node, (rows, tables, column) = self._resolved(node, point), self.rows(point)
        kind = int(lattice.kind[node])
        if kind not in (Kind.MAX, Kind.MIN):
            state = self.start if state is None else state
            raise GameError("this state has no decision; ask value() instead", state=state)
        edges = np.arange(lattice.indptr[node], lattice.indptr[node + 1])
        first, worth = lattice.first_action(node), rows[self.layers.program.edge_row[edges], column].tolist()
        there = np.flatnonzero(open_edges(lattice, edges, np.intp(column), tables)).tolist()
        # An action whose edge depends on a condition has several.
        values = {lattice.actions[first + at]: worth[at] for at in there}
        return kind == Kind.MIN, [(action, value, value - width, value + width) for action, value in values.items()]

    @cached_property
    def known(self) -> PlainRows:
        """The value of every row of the program at some points."""
        return PlainRows(self.layers.program, self.stored)

    # --- places ---------------------------------------------------------------

    @cached_property
    def _numbers(self) -> dict[Hashable, int]:
        return {state: at for at, state in enumerate(self.lattice.states)}

    def _place(self, state: Hashable) -> tuple[int, int]:
        """Core node and point of a state, by default of the start; an `UnknownStateError` if the game has it not."""
        lattice = self.lattice
        return (lattice.start, lattice.start_point) if state is None else place_of(lattice, self._numbers, state)

    def _resolved(self, node: int, point: int) -> int:
        """Return the node that a node stands for at a point."""
        _, tables, column = self.rows(point)
        return next((at for at, _ in resolved(self.lattice, node, tables, np.array([column]))), node)

    def rows(self, point: int) -> tuple[Floats, Tables, int]:
        """Values of all rows of the program at some points, NaN where not known, their tables, and which is `point`."""
        # Whoever asks for the action asks for its value next, and then about a neighbour: looking at some
        # points in a row takes hardly longer than looking at one.
        width = 1 if self.known.few else max(1, min(WIDTH, LOOKED_AT // self.layers.program.n_rows))
        first = point - point % width
        found = self._last.get((first, width))
        if found is None:
            if width > 1 or len(self._last) > WIDTH:
                self._last.clear()
            tables = self.layers.tables.at(np.arange(first, min(first + width, self.lattice.size)))
            found = self._last[first, width] = self.known.at(tables), tables
        return *found, point - first

    def _comes_to(self, node: int, point: int) -> bool:
        """Tell whether play comes to a core node at a point; what is worked out for others there proves nothing."""
        layers = self.layers
        if layers.reached[layers.program.entries == node, point].any():
            return True
        _, tables, column = self.rows(point)
        key = point - column, len(tables.points)
        if key not in self._reached:
            self._reached.clear()
            self._reached[key] = layers.nodes_at(tables)
        return bool(self._reached[key][node, column])


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
    """Yield the nodes that a node stands for, and at which of some points: others than itself if it is a switch."""
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
