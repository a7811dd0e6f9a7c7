"""The values of an answer on a lattice: some are stored, and everything else is computed where it is asked for.

Only the values of some core nodes are stored (`mdpdice.lattices.program`), and no decision is.  The value of
any other state, the value of every action and the best action follow from the stored values by one
pass through the core at the point of the grid that is asked about.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from mdpdice.answers.grid_lookup import Lookup, resolved
from mdpdice.errors import GameError, HorizonRangeError, UnknownStateError
from mdpdice.lattices.digest import digest
from mdpdice.lattices.grid_tables import Tables
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.modelling.counters import At
from mdpdice.networks.network import Floats, Kind

__all__ = ["GridValues"]


@attrs.frozen(eq=False, repr=False, slots=False)
class GridValues:
    """The stored values of a lattice.  States are `mdpdice.At` values: a core state and the counters."""

    layers: Layers  # what was solved; with ``sense="min"`` the players have changed sides in it
    stored: Floats  # shape (entries, points of the grid), NaN where play cannot come
    widths: Floats  # how far optimal value and value of the policy may be from them, shape (layers,)
    sense: str = "max"  # what the player to move wants

    @property
    def lattice(self) -> Lattice:
        """What was solved."""
        return self.layers.lattice

    @cached_property
    def lookup(self) -> Lookup:
        """Where the states are, and what is worth what at a point."""
        return Lookup(self.layers, self.stored)

    @property
    def digest(self) -> str:
        """Digest of the lattice."""
        return digest(self.lattice)

    @property
    def start(self) -> At[Any]:
        """State where a play starts."""
        lattice = self.lattice
        return At(lattice.states[int(lattice.node_state[lattice.start])], **lattice.counters(lattice.start_point))

    @property
    def n_states(self) -> int:
        """Number of states that play can reach."""
        return self.layers.states

    @property
    def n_edges(self) -> int:
        """Number of edges between them."""
        return self.layers.edges

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was repaired while the lattice was made."""
        return self.lattice.warnings

    def nearest(self, state: Hashable) -> list[Any]:
        """The start, for who asks about a state that does not exist."""
        return [self.start]

    @property
    def size(self) -> str:
        """How large the lattice is, in words."""
        axes = ", ".join(f"{axis.name} ({len(axis.values):,} values)" for axis in self.lattice.axes)
        return f"{self.lattice.size:,} points of {axes}, {self.lattice.n_nodes:,} core nodes"

    def value(self, state: Hashable, steps_left: int | None) -> float:
        """Value of a state; an `UnknownStateError` if play cannot come there, so that nothing is known of it."""
        if steps_left is not None:
            msg = f"steps_left={steps_left!r} needs a solution with a horizon, and lattices have none"
            raise HorizonRangeError(msg, value=steps_left)
        node, point = self.lookup.place(state)
        rows, _ = self.lookup.rows(point)
        value = float(rows[self.layers.program.row[node]])
        if not np.isfinite(value) or not self.lookup.reaches(node, point):
            shown = self.start if state is None else state
            raise UnknownStateError(f"state {shown!r} cannot be reached in this game", value=shown)
        return value

    def interval(self, state: Hashable, steps_left: int | None) -> tuple[float, float]:
        """Lower and upper end of the interval of a state."""
        value, width = self.value(state, steps_left), self._width(state)
        return value - width, value + width

    def _width(self, state: Hashable) -> float:
        return float(self.widths[int(self.layers.ranks.layer[self.lookup.place(state)[1]])])

    def kind(self, state: Hashable) -> Kind:
        """What happens in a state."""
        self.value(state, None)
        node, point = self.lookup.place(state)
        kind = Kind(int(self.lattice.kind[self._resolved(node, self.lookup.rows(point)[1])]))
        if self.sense == "min" and kind in (Kind.MAX, Kind.MIN):
            return Kind.MIN if kind == Kind.MAX else Kind.MAX
        return kind

    def _resolved(self, node: int, tables: Tables) -> int:
        """The node that a node stands for at a point."""
        return next((at for at, _ in resolved(self.lattice, node, tables, np.zeros(1, dtype=np.intp))), node)

    def reaches(self, state: Hashable) -> bool:
        """Whether play can come to a state."""
        return self.lookup.reaches(*self.lookup.place(state))

    def action(self, state: Hashable, steps_left: int | None) -> Any:
        """The first of the best actions of a decision state."""
        minimise, found = self.options(state, steps_left, self.sense)
        choose = min if minimise else max
        return choose(found, key=lambda option: option[1])[0]

    def options(
        self, state: Hashable, steps_left: int | None, sense: str
    ) -> tuple[bool, list[tuple[Any, float, float, float]]]:
        """Whether the player minimises, and every action that is there, with its value and interval."""
        self.value(state, steps_left)
        node, point = self.lookup.place(state)
        rows, tables = self.lookup.rows(point)
        node = self._resolved(node, tables)
        kind = int(self.lattice.kind[node])
        if kind not in (Kind.MAX, Kind.MIN):
            msg = "nobody decides in this state; ask value() instead"
            raise GameError(msg, state=self.start if state is None else state)
        width = self._width(state)
        worth = ((action, float(rows[row])) for action, row in self.lookup.options(node, tables).items())
        return kind == Kind.MIN, [(action, value, value - width, value + width) for action, value in worth]
