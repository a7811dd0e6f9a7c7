"""The certificate of a lattice: how far stored values, and the policy that follows them, can be off.

This module trusts nobody, and shares no code with what solves lattices. It takes a `Lattice`, which core
nodes (*entries*) have stored values ``v(k, g)`` at which points ``g`` of the grid, and a number of
witnesses: the layer of every point, and its order within the layer. Any witness may be wrong; then it
proves nothing.

Let ``T v`` be what one pass through the core makes of the stored values: at every point the nodes are
computed successors first, and an edge that changes counters (or that closes a cycle of the core) reads
``v``. Let ``T_s`` be the same with the choices of the policy ``s``: the stored ones, or, if none are
stored, those that are best by the stored values, however whoever evaluates them rounds.

Theorem. Number the layers so that every read leads to an equal or later one. Let ``E`` bound the error of
all later layers, and ``D >= |T v - v|, |T_s v - v|`` at all points of this one, with room for rounding.

* If the layer does not read itself, ``|V* - v| <= E + D`` and ``|V_s - v| <= E + D`` there.
* If it does, let one side be free in its choices and the other one play ``s``, and let ``w >= 1 + P w``
  whatever the free side does, where ``P`` is one pass through the core followed by a read inside the layer.
  Then both errors are at most ``E + D w``.

Proof. Max, min and means are nonexpansive: whoever changes what they are applied to by at most ``x``
changes the result by at most ``x``. An error ``E`` of the reads that leave the layer is such a change. In a
layer that reads itself, let the free side play its best reply to ``s``, whose value is above ``V*`` for the
one side and, for the other, below ``V_s <= V*``. Since ``w`` bounds the expected number of passes, plays
leave the layer, and ``E + D w >= D + P (E + D w) + (1 - P) E`` adds up along them.

To find ``w``, passes of the same kind compute ``w' = 1 + P w`` from any ``w``, with the maximum at nodes of
the free side, and at nodes of the other one the maximum over the choices that ``s`` might make. Reads that
lead forward in the order of the layer use ``w'`` already. If ``w' - w <= d < 1`` everywhere,
``w' / (1 - d)`` will do.

The bounds hold at all core nodes that play can come to, since their values are made of the stored ones in
the same way: where the layer reads itself, with ``1 + max w`` in place of ``w``.

Rounding is bounded per node and block of points: with ``m`` for the largest size of what a node adds up, a
mean of ``k`` numbers is off by at most ``(2 k + 8) 2^-52 m + |1 - s| m``, where ``s`` is the float sum of
the weights, next to what its arguments are off. A choice by such numbers may lose twice that. Everything is
written so that NaN fails.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice import checking_lattice_kernels as kernels
from mdpdice.grid_tables import GridTables
from mdpdice.lattice import Lattice
from mdpdice.network import Kind

__all__ = ["Claim", "Widths", "verify_lattice"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

PIECE = 8192
"""Points whose tables are made at once."""
GUESS = 64.0
"""The first ``w``."""
KEPT = 1 << 25
"""Most bytes that are kept of one layer."""
PASSES = 200
"""Most passes that are made to find ``w``."""


@attrs.frozen(eq=False)
class Claim:
    """What is claimed, and the witnesses.

    Parameters
    ----------
    entries : ndarray of int64, shape (K,)
        Core nodes with stored values.
    values : ndarray of float64, shape (K, points of the grid)
        The values; NaN where nothing is claimed.
    layer, inner : ndarray of int32, shape (points of the grid,)
        Layer of every point, and its place in the order of the layer.
    choices : ndarray of int16, shape (core nodes, points of the grid), optional
        Which of its edges a decision takes, counted from 0.
    """

    entries: Ints
    values: Floats
    layer: NDArray[np.int32]
    inner: NDArray[np.int32]
    choices: NDArray[np.int16] | None = None


@attrs.frozen(eq=False)
class Widths:
    """What was proved.

    Parameters
    ----------
    optimal, policy : ndarray of float64, shape (number of layers,)
        How far the optimal value, and the value of the policy, are from the claimed values at
        most, anywhere in the layer.
    reason : str
        Empty, or what could not be proved.
    """

    optimal: Floats
    policy: Floats
    reason: str = ""


def verify_lattice(lattice: Lattice, claim: Claim, check: Callable[[], None] | None = None) -> Widths:
    """Find out how far the claimed values can be off.

    Parameters
    ----------
    lattice : Lattice
        The lattice, undiscounted.
    claim : Claim
        The claim.
    check : callable, optional
        Called now and then; it may raise to stop the work.
    """
    count = int(claim.layer.max(initial=0)) + 1
    nothing = np.full(count, np.inf)
    stored = ~np.isnan(claim.values)
    shape = (len(claim.entries), lattice.size)
    flat = (claim.layer, claim.inner)
    if claim.values.shape != shape or any(array.shape != shape[1:] for array in flat):
        return Widths(nothing, nothing, "the claim does not fit the lattice")
    start = np.flatnonzero(claim.entries == lattice.start)
    if len(start) != 1 or not stored[start[0], lattice.start_point]:
        return Widths(nothing, nothing, "nothing is claimed about the start")
    core = _Core.of(lattice, claim)
    if core is None:
        return Widths(nothing, nothing, "a cycle of the core does not pass through a stored value")
    points = np.flatnonzero(stored.any(axis=0))
    points = points[np.lexsort((points, -claim.inner[points], claim.layer[points]))]
    ends = np.searchsorted(claim.layer[points], np.arange(count + 1))
    layers = [points[ends[number] : ends[number + 1]] for number in range(count)]
    core.look(layers, check)
    optimal, policy = nothing.copy(), nothing.copy()
    best = follow = 0.0
    for number in range(count - 1, -1, -1):
        best, follow = best + core.optimal[number], follow + core.policy[number]
        optimal[number], policy[number] = best, follow
        if not (best < np.inf and follow < np.inf):
            what = (
                f"the values of layer {number} are not what one pass makes of them, or its plays may not end"
            )
            return Widths(optimal, policy, what)
    return Widths(optimal, policy)


def _workers() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@attrs.frozen(eq=False)
class _Core:
    """The core with its nodes in an order with successors first, and which edges read the store.

    Parameters
    ----------
    core, ports, reads : tuple of ndarray
        As `mdpdice.checking_lattice_kernels` takes them.
    """

    lattice: Lattice
    claim: Claim
    tables: GridTables
    core: tuple[Any, ...]
    ports: tuple[Ints, ...]
    reads: tuple[Ints, ...]
    scratch: list[Floats] = attrs.field(factory=list)
    optimal: list[float] = attrs.field(factory=list)
    policy: list[float] = attrs.field(factory=list)

    @classmethod
    def of(cls, lattice: Lattice, claim: Claim) -> _Core | None:
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        n = lattice.n_nodes
        number = np.full(n, -1)
        number[claim.entries] = np.arange(len(claim.entries))
        source = np.repeat(np.arange(n), np.diff(lattice.indptr))
        possible = lattice.weight > 0
        stays = possible & (lattice.update < 0)
        if (number[lattice.dst[possible & ~stays]] < 0).any():
            return None
        graph = csr_array((np.ones(int(stays.sum())), (source[stays], lattice.dst[stays])), shape=(n, n))
        _, label = connected_components(graph, connection="strong")
        # An edge that stays at its point is read from the store only where it closes a cycle.
        closes = stays & (label[source] == label[lattice.dst]) & (number[lattice.dst] >= 0)
        reads = np.where(possible & (closes | ~stays), number[lattice.dst], -1)
        order = _successors_first(n, source, lattice.dst, stays & ~closes)
        if order is None:
            return None
        core, ports, pairs = _arranged(lattice, order, source, reads)
        return cls(lattice, claim, GridTables(lattice), core, ports, pairs)

    def look(self, layers: list[Ints], check: Callable[[], None] | None) -> None:
        """Find out by how much the error of each layer exceeds that of the later ones."""
        # Layers are looked at side by side, since none needs to know what was found out about another one.
        stored = self.claim.choices is not None
        jobs = [
            (number, piece, following)
            for number, points in enumerate(layers)
            for piece in self._pieces(points)
            for following in ((False, True) if stored else (False,))
        ]
        off = np.zeros((2, len(layers)))
        room, slack, itself = np.zeros((3, len(layers)))
        with ThreadPoolExecutor(_workers()) as pool:
            for (number, _, following), found in zip(jobs, pool.map(self._residuals, jobs), strict=True):
                if check is not None:
                    check()
                at = int(following)
                off[at, number] = max(off[at, number], found[0])
                room[number], slack[number] = max(room[number], found[1]), max(slack[number], found[2])
                itself[number] = max(itself[number], found[3])
            cyclic = np.flatnonzero(itself)
            if len(cyclic):
                shape = (2, len(self.claim.entries), self.lattice.size)
                self.scratch.extend((np.zeros(shape), np.zeros(shape)))
            longest = np.ones(len(layers))
            turns = [layers[number] for number in cyclic.tolist()]
            for number, found_longest in zip(cyclic.tolist(), pool.map(self._longest, turns), strict=True):
                if check is not None:
                    check()
                # One pass more reaches the nodes that are not stored, too.
                longest[number] = 1.0 + found_longest
        longest *= 1.0 + 1e-9
        # Nobody who decides by rounded numbers loses more than the slack; stored choices are looked at as they are.
        # Where plays may go on for ever nothing is proved, however small the residual (0 times inf is no number).
        endless = np.isinf(longest)
        finite = np.where(endless, 1.0, longest)
        self.optimal[:] = np.where(endless, np.inf, (off[0] + room + slack) * finite).tolist()
        self.policy[:] = (
            np.where(endless, np.inf, (off[1] + room) * finite).tolist() if stored else self.optimal
        )

    def _pieces(self, points: Ints) -> list[Ints]:
        """Pieces of a layer."""
        size = max(kernels.LANES, min(PIECE, -(-len(points) // _workers())))
        return [points[first : first + size] for first in range(0, len(points), size)]

    def _longest(self, points: Ints) -> float:
        """Largest ``w`` of a layer that reads itself; inf if there is none."""
        before, after = self.scratch
        before[:, :, points] = GUESS
        found: list[Floats] = []
        stored = self.claim.choices is not None
        arguments = self._arguments(points, stored)
        shape = (len(arguments[-1][1]) - 1, len(self.core[3]))
        # What does not change from pass to pass is kept, where there is room.
        kept = 16 * math.prod(shape) <= KEPT
        words = np.zeros((2, shape[0] if kept else 1, shape[1]), dtype=np.uint64)
        for k in range(PASSES):
            grown, longest = _passes(arguments, self.claim.inner, *words, kept and k > 0, before, after)
            if not longest < 1e9:
                return np.inf
            if grown <= 0.5:
                return longest * (1.0 + 1e-9) / (1.0 - grown)
            found.append(after[:, :, points])
            if k == 1:
                # By now both sides had their turn, and the shape is about right.
                after[:, :, points] *= 2.0
                found.clear()
            elif len(found) == 5:
                after[:, :, points] = _limit(found)
                found.clear()
            before, after = after, before
        return np.inf

    def _residuals(self, job: tuple[int, Ints, bool]) -> tuple[float, float, float, float]:
        _, points, following = job
        result = kernels.residuals(*self._arguments(points, following))
        return cast("tuple[float, float, float, float]", result)

    def _arguments(self, points: Ints, following: bool) -> tuple[Any, ...]:
        lattice, claim = self.lattice, self.claim
        tables = self.tables.at(points)
        starts = np.concatenate(([0], np.flatnonzero(np.diff(claim.inner[points])) + 1, [len(points)]))
        choices = np.full((1, 1), -1, dtype=np.int16) if claim.choices is None else claim.choices
        return (
            self.core,
            self.ports,
            self.reads,
            (claim.entries, float(lattice.total), claim.values, claim.layer, choices, following),
            (
                points,
                _cut(starts, kernels.LANES),
                tables.targets,
                tables.guards,
                tables.rewards,
            ),
        )


def _cut(starts: Ints, length: int) -> Ints:
    """Cut stretches into pieces of at most some length; starts of pieces, and the end."""
    count = -(-np.diff(starts) // length)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.append(np.repeat(starts[:-1], count) + length * within, starts[-1])


def _passes(arguments: tuple[Any, ...], *more: Any) -> tuple[float, float]:
    result: tuple[float, float] = kernels.passes(*arguments, *more)
    return result


def _limit(found: list[Floats]) -> Floats:
    """Where five passes lead to, and a little more: after two passes the same side is to move again."""
    first, second = found[2] - found[0], np.maximum(found[4] - found[2], 0.0)
    ratio = np.divide(second, first, out=np.zeros_like(first), where=first > 0)
    ratio = np.minimum(ratio, 0.999)
    limit: Floats = 1.0 + 1.05 * (found[4] + second * ratio / (1.0 - ratio))
    return limit


def _arranged(
    lattice: Lattice, order: Ints, source: Ints, reads: Ints
) -> tuple[tuple[Any, ...], tuple[Ints, ...], tuple[Ints, ...]]:
    """The edges as the loops take them, see `mdpdice.checking_lattice_kernels`.

    Parameters
    ----------
    order : ndarray of int64, shape (N,)
        Core nodes, successors first.
    source : ndarray of int64, shape (E,)
        Where edges begin.
    reads : ndarray of int64, shape (E,)
        Entry that an edge reads from the store; -1 for those that read none.
    """
    possible = np.flatnonzero(lattice.weight > 0)
    source, reads = source[possible], reads[possible]
    kind, guard = lattice.kind[source], lattice.guard[possible].astype(np.int64)
    reward, flip = lattice.reward[possible].astype(np.int64), lattice.sign[possible] < 0
    update = np.where(lattice.update < 0, len(lattice.updates), lattice.update)[possible]
    stored = reads >= 0
    pairs, read = _distinct(np.stack((reads, update), axis=1)[stored])
    turn = np.where(kind == Kind.MAX, 1, np.where(kind == Kind.MIN, -1, 0))
    folded = np.where(turn != 0, guard, -1)
    made, port = _distinct(
        np.stack((read, flip[stored].astype(np.int64), reward[stored], folded[stored], turn[stored]), axis=1)
    )
    arg = lattice.dst[possible].astype(np.int64)
    arg[stored] = lattice.n_nodes + port
    # What is part of a port is not done again by the edges that read it.
    guard[stored & (turn != 0)] = -1
    flip[stored] = False
    reward[stored] = -1
    indptr = np.searchsorted(possible, lattice.indptr)
    plain = ~flip & (reward < 0) & (guard < 0)
    simple = np.bincount(source[~plain], minlength=lattice.n_nodes) == 0
    core = (
        order,
        lattice.kind,
        indptr,
        arg,
        lattice.weight[possible],
        guard,
        flip,
        reward,
        possible - lattice.indptr[source],
        lattice.payoff,
        simple,
    )
    return core, made, pairs


def _distinct(rows: Ints) -> tuple[tuple[Ints, ...], Ints]:
    """The columns of the different rows, and which of them every row is."""
    unique, index = np.unique(rows, axis=0, return_inverse=True)
    columns = tuple(np.ascontiguousarray(column, dtype=np.int64) for column in unique.T)
    return columns, index.reshape(-1)


def _successors_first(n: int, source: Ints, dst: Ints, keep: NDArray[np.bool_]) -> Ints | None:
    """Nodes in an order in which the kept edges lead to earlier ones; None if there is a cycle."""
    waits = np.bincount(source[keep], minlength=n)
    back = np.flatnonzero(keep)
    back = back[np.argsort(dst[back], kind="stable")]
    into = np.searchsorted(dst[back], np.arange(n + 1))
    ready = np.flatnonzero(waits == 0)
    order = []
    while len(ready):
        order.append(ready)
        size = into[ready + 1] - into[ready]
        edges = back[np.repeat(into[ready] - np.cumsum(size) + size, size) + np.arange(int(size.sum()))]
        waits = waits - np.bincount(source[edges], minlength=n)
        known = np.unique(source[edges])
        ready = known[waits[known] == 0]
    found = np.concatenate(order) if order else np.zeros(0, dtype=np.int64)
    return found if len(found) == n else None
