"""Lattices: a core network times the grid of its counters.

A game with counters is compiled once per *core* state; the values of the counters
are the points of a grid, and what depends on them is kept as expressions:
whether an edge is there (guard), where on the grid it leads (update), what it pays
(reward) and what an end is worth (payoff).  A node of the whole game is a pair of
core node and point.  `mdpdice.exploration.expansion` writes the reachable pairs out as a
`mdpdice.networks.network.Network`; larger lattices are solved without ever storing their edges.

Points are numbered in C order: the last counter runs fastest.  The position of a
counter on its axis is ``(value - range.start) // range.step``.

At every point

* of the edges of a decision those are options whose guard holds and whose
  update stays on the grid, where a counter has ``outside="forbid"``;
* of the edges of a chance node those count whose guard holds.  Guards come in
  complementary sets (`when` with an alternative), so the weights of the others sum to one;
* a *switch* is a chance node for a conditional node at the top level of a state.
  Exactly one of its edges is there, and where that leads to a node without a
  state, the switch stands for this node.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.modelling.counters import Axis, Update
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.sense import Sense
from mdpdice.networks.network import Bools, Floats, Ints, Kind

FORBIDDEN = -1
"""Instead of a point: the update leaves the grid, so the option is not there."""

OUTSIDE = -2
"""Instead of a point: the update leaves the grid, which is an error where play comes there."""


@attrs.frozen(eq=False, repr=False, slots=False)
class Lattice:
    """A core network and the grid of its counters.

    Use `compile_lattice` to make one.

    Parameters
    ----------
    axes : tuple of Axis
        The counters, in the order of their declaration.
    kind : ndarray of uint8, shape (N,)
        `mdpdice.networks.network.Kind` of every core node.
    switch : ndarray of bool, shape (N,)
        Whether a chance node is a switch (see the module's text).
    indptr : ndarray of int64, shape (N + 1,)
        Start of the edges of every core node.
    dst : ndarray of int64, shape (E,)
        Core node that an edge leads to.
    weight : ndarray of float64, shape (E,)
        Probability on the edges of chance nodes, 1 elsewhere.
    numerator : ndarray of int64 or object, shape (E,)
        Exact weights: the probability of an edge is its numerator over the sum of
        those edges of its node whose guard holds.
    sign : ndarray of int8, shape (E,)
        -1 where the players change sides (`pass_to`), else 1.
    guard : ndarray of int32, shape (E,)
        Index into `guards`, -1 for an edge that is always there.
    update : ndarray of int32, shape (E,)
        Index into `updates`, -1 where the counters stay as they are.
    reward : ndarray of int32, shape (E,)
        Index into `rewards`, -1 for 0.
    payoff : ndarray of int32, shape (N,)
        Index into `rewards` for END nodes (-1 for 0), -1 elsewhere.
    guards : tuple of Expr
        Conditions over the counters.
    updates : tuple of tuple of Update
        Simultaneous changes of counters.
    rewards : tuple of Expr
        Rewards and payoffs, constants among them.
    start, start_point : int
        Core node and point where a play starts.
    states : sequence
        The user's core states.
    state_node : ndarray of int64, shape (number of states,)
        Core node of every state.
    node_state : ndarray of int64, shape (N,)
        Index of the state of a core node, -1 for nodes that are part of another one.
    actions : sequence
        Actions of the edges of decision nodes, in the order of the edges.  An
        action whose edge depends on a condition stands there once per case.
    total, discount, sense
        As in `mdpdice.networks.network.Network`.
    progress : tuple of Expr or None
        What never decreases along an edge, most significant first; None if the game does not say.
    warnings : tuple of str
        What was repaired while the lattice was made.
    averaged : bool
        Whether parallel edges with different rewards were merged into one with their mean.
    """

    axes: tuple[Axis, ...]
    kind: NDArray[np.uint8]
    switch: Bools
    indptr: Ints
    dst: Ints
    weight: Floats
    numerator: NDArray[Any]
    sign: NDArray[np.int8]
    guard: NDArray[np.int32]
    update: NDArray[np.int32]
    reward: NDArray[np.int32]
    payoff: NDArray[np.int32]
    guards: tuple[Expr, ...]
    updates: tuple[tuple[Update, ...], ...]
    rewards: tuple[Expr, ...]
    start: int
    start_point: int
    states: Sequence[Hashable]
    state_node: Ints
    node_state: Ints
    actions: Sequence[Hashable]
    total: Fraction = Fraction(0)
    discount: Fraction = Fraction(1)
    sense: Sense = "max"
    progress: tuple[Expr, ...] | None = None
    warnings: tuple[str, ...] = ()
    averaged: bool = False

    @property
    def n_nodes(self) -> int:
        """Number of core nodes."""
        return len(self.kind)

    @property
    def n_edges(self) -> int:
        """Number of core edges."""
        return len(self.dst)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Length of every axis of the grid."""
        return tuple(len(axis.values) for axis in self.axes)

    @cached_property
    def size(self) -> int:
        """Number of points of the grid."""
        return math.prod(self.shape)

    @cached_property
    def nature(self) -> Bools:
        """Core nodes where nature picks a distribution: decisions inside an option or a roll, shape (N,)."""
        inside = ((self.kind == Kind.MAX) | (self.kind == Kind.MIN)) & (self.node_state < 0)
        inside[self.dst[np.repeat(self.switch, np.diff(self.indptr))]] = False
        for node in np.flatnonzero(inside).tolist():
            # Decisions that an objective made have no state either.
            inside[node] = self.actions[self.first_action(node)] == "die 1"
        return cast("Bools", inside)

    @cached_property
    def pays(self) -> bool:
        """Whether some edge has a reward."""
        return bool((self.reward >= 0).any())

    @cached_property
    def payoffs(self) -> set[Any]:
        """Different payoffs of the ends; None stands for one that depends on the counters."""
        places = np.unique(self.payoff[self.kind == Kind.END]).tolist()
        return {0 if at < 0 else self.rewards[at].value for at in places}

    @property
    def point_type(self) -> np.dtype[Any]:
        """Type that is large enough for the numbers of points, and that kernels index by."""
        return np.dtype(np.int32 if self.size < 1 << 31 else np.int64)

    @cached_property
    def strides(self) -> tuple[int, ...]:
        """By how much a point changes when a counter moves one position up its axis."""
        return tuple(math.prod(self.shape[at + 1 :]) for at in range(len(self.shape)))

    @cached_property
    def _first_action(self) -> list[int]:
        decides = (self.kind == Kind.MAX) | (self.kind == Kind.MIN)
        before: list[int] = np.cumsum(np.where(decides, np.diff(self.indptr), 0)).tolist()
        return [0, *before]

    def first_action(self, node: int) -> int:
        """Place of the actions of a decision node in `actions`."""
        return self._first_action[node]

    def __repr__(self) -> str:
        grid = " x ".join(f"{axis.name} {len(axis.values):,}" for axis in self.axes)
        return (
            f"<Lattice: {len(self.states):,} core states, {self.n_nodes:,} nodes, {self.n_edges:,} edges; "
            f"{grid} = {self.size:,} points>"
        )

    # --- the grid -----------------------------------------------------------

    def values(self, points: Ints) -> dict[str, Ints]:
        """Values of the counters at some points, int64 of the shape of `points`."""
        points = np.asarray(points, dtype=np.int64)
        found = {}
        for axis, length, stride in zip(self.axes, self.shape, self.strides, strict=True):
            position = points // stride % length
            found[axis.name] = axis.values.start + axis.values.step * position
        return found

    def counters(self, point: int) -> dict[str, int]:
        """Values of the counters at one point."""
        return {name: int(value) for name, value in self.values(np.array(point)).items()}

    def targets(self, update: int, points: Ints) -> Ints:
        """Points after an update.

        Parameters
        ----------
        update : int
            Index into `updates`; -1 leaves the counters as they are.
        points : ndarray of int64

        Returns
        -------
        ndarray of int64
            `FORBIDDEN` (-1) where the option is not there, `OUTSIDE` (-2) where
            the update is an error.
        """
        points = np.asarray(points, dtype=np.int64)
        result = points.copy()
        if update < 0:
            return result
        values = self.values(points)
        by_name = {axis.name: at for at, axis in enumerate(self.axes)}
        fault = np.zeros(points.shape, dtype=np.int64)
        for one in self.updates[update]:
            at = by_name[one.name]
            stride = self.strides[at]
            wanted, defined = one.value.evaluate_where_defined(values)
            position = np.where(defined, self.axes[at].positions(wanted), OUTSIDE)
            # The first update that fails says how, as it does where updates are done one by one.
            fault = np.where((fault == 0) & (position < 0), position, fault)
            result += (position - points // stride % self.shape[at]) * stride
        return np.where(fault == 0, result, fault)

    def guard_at(self, guard: int, points: Ints) -> Bools:
        """Whether a guard holds at some points; -1 always does.

        Where it reads an entry that its `table` does not have, it does not hold; see `guard_defined_at`.
        """
        if guard < 0:
            return np.ones(np.shape(points), dtype=bool)
        found, defined = self.guards[guard].evaluate_where_defined(self.values(points))
        return cast("Bools", found & defined)

    def guard_defined_at(self, guard: int, points: Ints) -> Bools:
        """Return whether a guard is defined at some points: play must not come to others."""
        if guard < 0:
            return np.ones(np.shape(points), dtype=bool)
        return cast("Bools", self.guards[guard].evaluate_where_defined(self.values(points))[1])

    def reward_at(self, reward: int, points: Ints) -> Floats:
        """Return a reward or payoff at some points, the nearest floats; -1 is 0.

        NaN where it reads an entry that its `table` does not have.
        """
        if reward < 0:
            return np.zeros(np.shape(points))
        found, defined = self.rewards[reward].evaluate_where_defined(self.values(points))
        return np.where(defined, found, np.nan)

    def exact_reward_at(self, reward: int, point: int) -> int | float | Fraction:
        """Return a reward or payoff at one point, in Python's own numbers.

        Raises
        ------
        GameError
            It reads an entry that its `table` does not have.
        """
        if reward < 0:
            return 0
        found: int | float | Fraction = self.rewards[reward].evaluate(self.counters(point))
        return found
