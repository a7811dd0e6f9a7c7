"""What the edges of a lattice do at many points: targets of updates, guards and rewards, as arrays.

`Lattice.targets`, `guard_at` and `reward_at` evaluate an expression at every point that they are asked
about.  Most expressions look at one or two counters only, so they are evaluated here once for all values of
these, and looked up afterwards.  Both ways give the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.lattices.lattice import OUTSIDE, Lattice
from mdpdice.modelling.expressions import Expr

Part: TypeAlias = tuple[tuple[int, ...], NDArray[Any], bool]
"""The counters that a change depends on, what it adds for all their values, and whether it ever fails."""

TABULATE_UP_TO_ENTRIES = 1 << 16
"""Combinations of counters up to which an expression is tabulated beforehand instead of evaluated point by point."""


@attrs.frozen(eq=False)
class Tables:
    """What the edges do at some points.

    Parameters
    ----------
    points : ndarray of int64, shape (L,)
        The points.
    targets : ndarray of `Lattice.point_type`, shape (updates + 1, L)
        Point after every update, `mdpdice.lattices.lattice.FORBIDDEN` or `OUTSIDE`; the last row is no update at all.
    guards : ndarray of bool, shape (guards, L)
        Whether every guard holds; where it is undefined, it does not.
    unknown : ndarray of bool, shape (guards, L) or (0, L)
        Where guards are undefined, if there is such a place on the grid.
    rewards : ndarray of float64, shape (rewards, L)
        Rewards and payoffs; NaN where they are not defined.
    """

    points: NDArray[np.int64]
    targets: NDArray[Any]
    guards: NDArray[np.bool_]
    unknown: NDArray[np.bool_]
    rewards: NDArray[np.float64]

    @property
    def nbytes(self) -> int:
        """Memory that the tables take."""
        return self.points.nbytes + self.targets.nbytes + self.guards.nbytes + self.rewards.nbytes

    def take(self, columns: NDArray[np.int64]) -> Tables:
        """Take the tables at some points, by their place in the list; rows stay contiguous for the kernels."""
        return Tables(
            self.points[columns],
            self.targets.take(columns, axis=1),
            self.guards.take(columns, axis=1),
            self.unknown.take(columns, axis=1),
            self.rewards.take(columns, axis=1),
        )


@attrs.frozen(eq=False, slots=False)
class GridTables:
    """The tables of one lattice.

    Parameters
    ----------
    lattice : Lattice
        Whose edges these are.
    """

    lattice: Lattice

    def at(self, points: NDArray[np.int64]) -> Tables:
        """Tables for some points, whole numbers of shape (L,)."""
        lattice, points = self.lattice, points.astype(np.int64, copy=False)
        places = _Places(lattice, points)
        targets = np.empty((len(lattice.updates) + 1, len(points)), dtype=lattice.point_type)
        found = np.empty(len(points), dtype=lattice.point_type)
        for update, (axes, parts) in enumerate(self._updates):
            if parts is None:
                targets[update] = lattice.targets(update, points)
                continue
            target, fault = targets[update], None
            target[:] = places.without(axes)
            for names, table, fails in parts:
                places.look_up(table, names, found)
                target += found
                if fails and found.min(initial=0) < 0:
                    # The first change that fails says how.
                    fault = np.minimum(found, 0) if fault is None else np.where(fault < 0, fault, found)
            if fault is not None:
                np.copyto(target, fault, where=fault < 0)
        targets[-1] = points
        guards = np.empty((len(lattice.guards), len(points)), dtype=np.bool_)
        unknown = np.empty((len(guards) if self._undefined else 0, len(points)), dtype=np.bool_)
        for guard, (names, table, defined) in enumerate(self._guards):
            if table is None or defined is None:
                guards[guard] = lattice.guard_at(guard, points)
                if len(unknown):
                    unknown[guard] = ~lattice.guard_defined_at(guard, points)
            else:
                places.look_up(table, names, guards[guard])
                if len(unknown):
                    places.look_up(defined, names, unknown[guard])
                    np.logical_not(unknown[guard], out=unknown[guard])
        rewards = np.empty((len(lattice.rewards), len(points)))
        for reward, (names, table) in enumerate(self._rewards):
            if table is None:
                rewards[reward] = lattice.reward_at(reward, points)
            else:
                places.look_up(table, names, rewards[reward])
        return Tables(points, targets, guards, unknown, rewards)

    @cached_property
    def _updates(self) -> list[tuple[tuple[int, ...], list[Part] | None]]:
        """For every update the axes that it changes, and for each of them what is added to the point."""
        lattice = self.lattice
        found: list[tuple[tuple[int, ...], list[Part] | None]] = []
        number = {axis.name: at for at, axis in enumerate(lattice.axes)}
        for changes in lattice.updates:
            axes = tuple(number[change.name] for change in changes)
            parts: list[Part] = []
            for change in changes:
                names, points = self._all(change.value)
                if points is None:
                    break
                wanted, defined = change.value.evaluate_where_defined(lattice.values(points))
                at = number[change.name]
                position = lattice.axes[at].positions(wanted)
                position = np.where(defined, position, OUTSIDE)
                table = np.where(position < 0, position, position * lattice.strides[at]).astype(lattice.point_type)
                parts.append((names, table, bool((position < 0).any())))
            found.append((axes, parts if len(parts) == len(changes) else None))
        return found

    @cached_property
    def _guards(self) -> list[tuple[tuple[int, ...], Any, Any]]:
        return [
            self._tabulated(guard, partial(self.lattice.guard_at, at), partial(self.lattice.guard_defined_at, at))
            for at, guard in enumerate(self.lattice.guards)
        ]

    @cached_property
    def _undefined(self) -> bool:
        """Return whether some guard may read an entry that its table does not have."""
        for guard, (_, _, defined) in zip(self.lattice.guards, self._guards, strict=True):
            if _looks_up(guard) and (defined is None or not defined.all()):
                return True
        return False

    @cached_property
    def _rewards(self) -> list[tuple[tuple[int, ...], Any]]:
        return [
            self._tabulated(reward, partial(self.lattice.reward_at, at))
            for at, reward in enumerate(self.lattice.rewards)
        ]

    def ranges(self, points: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the least and the greatest of every reward, at these points if it has no table; at the end 0."""
        found = [
            self.lattice.reward_at(at, points) if own is None else own for at, (_, own) in enumerate(self._rewards)
        ]
        ends = [(np.fmin.reduce(one, initial=np.inf), np.fmax.reduce(one, initial=-np.inf)) for one in found]
        return np.array([*ends, (0.0, 0.0)]).T

    def _tabulated(self, expr: Expr, *functions: Callable[[NDArray[np.int64]], Any]) -> Any:
        """Return the counters of an expression, and a table of each function; None for tables that were too large."""
        names, points = self._all(expr)
        return names, *(None if points is None else function(points) for function in functions)

    def _all(self, expr: Expr) -> tuple[tuple[int, ...], NDArray[np.int64] | None]:
        """Return the counters of an expression, and points with all their combinations; None if too many."""
        lattice = self.lattice
        names = tuple(at for at, axis in enumerate(lattice.axes) if axis.name in expr.names)
        if math.prod(lattice.shape[at] for at in names) > TABULATE_UP_TO_ENTRIES:
            return names, None
        points = np.zeros(1, dtype=np.int64)
        for at in names:
            points = (points[:, None] + np.arange(lattice.shape[at]) * lattice.strides[at]).reshape(-1)
        return names, points


class _Places:
    """Where some points lie on the axes."""

    def __init__(self, lattice: Lattice, points: NDArray[np.int64]) -> None:
        self.lattice = lattice
        self.points = points
        self._positions: dict[int, NDArray[np.int64]] = {}
        self._found: dict[tuple[str, tuple[int, ...]], NDArray[np.int64]] = {}

    def position(self, axis: int) -> NDArray[np.int64]:
        """Positions on one axis."""
        found = self._positions.get(axis)
        if found is None:
            # Divisions are slow, and the first and the last counter need one each.
            found, stride = self.points, self.lattice.strides[axis]
            if stride > 1:
                found = found // stride
            if axis > 0:
                found = found % self.lattice.shape[axis]
            self._positions[axis] = found
        return found

    def index(self, names: tuple[int, ...]) -> NDArray[np.int64]:
        """Index of the combination of the values of some counters."""
        found = self._found.get(("index", names))
        if found is None:
            found = self.position(names[0])
            for axis in names[1:]:
                found = found * self.lattice.shape[axis] + self.position(axis)
            self._found["index", names] = found
        return found

    def look_up(self, table: NDArray[Any], names: tuple[int, ...], out: NDArray[Any]) -> None:
        """Write entries of a table over some counters into an array with one element per point."""
        if names:
            # Positions are inside the table, and without "raise" nothing is copied on the way.
            np.take(table, self.index(names), out=out, mode="clip")
        else:
            out[...] = table[0]

    def without(self, axes: tuple[int, ...]) -> NDArray[np.int64]:
        """Points with some counters at the first of their values."""
        found = self._found.get(("without", axes))
        if found is None:
            found = self.points
            for axis in axes:
                found = found - self.position(axis) * self.lattice.strides[axis]
            self._found["without", axes] = found
        return found


def _looks_up(expr: Expr) -> bool:
    """Whether an expression looks something up in a table."""
    parts = [arg for arg in expr.args if isinstance(arg, Expr)]
    return expr.op == "table" or any(map(_looks_up, parts))
