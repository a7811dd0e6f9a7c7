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
the free side, and at nodes of the other one the maximum over the choices that ``s`` might make. Points are taken
against the order of the layer, and reads of points that were taken before use ``w'`` already. If ``w' - w <= d`` with
``0 <= d < 1`` wherever ``w`` was read, then ``w' / (1 - d)`` will do: all that was read is at least ``w' - d``.

The bounds hold at all core nodes that play can come to, since their values are made of the stored ones in
the same way: where the layer reads itself, with ``1 + max w`` in place of ``w``.

Rounding is bounded per node and block of points: with ``m`` for the largest size of what a node adds up, a
mean of ``k`` numbers is off by at most ``(2 k + 8) 2^-52 m + |1 - s| m``, where ``s`` is the float sum of
the weights, next to what its arguments are off; ``2^-1022`` is added to each ``m`` that is not 0, for what falls
below the range of floats. A choice by such numbers may lose twice that. Everything is written so that NaN fails.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.certification.checking.kernels import lattice as kernels
from mdpdice.lattices.grid_tables import GridTables
from mdpdice.lattices.lattice import Lattice
from mdpdice.networks.network import Kind

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
_Words: TypeAlias = tuple[NDArray[np.bool_], NDArray[np.uint64], NDArray[np.uint64]]
"""Blocks that have words, and for every block and edge the lanes where it is there, and where it may be taken."""
_Job: TypeAlias = tuple[list[int], Ints, bool]
"""Numbers of layers, the bounds of their points, and whether these are all of them."""
_Edge: TypeAlias = tuple[int, float, int, bool, int, int]
"""What it reads (from -1 downward: a port), weight, guard, whether the sides change, reward and number."""
_Found: TypeAlias = tuple[int, list[tuple[float, float, float, float]], bool, float | None]
"""Number of a layer, residuals of best and of stored choices, whether it reads itself, and how long plays stay."""

PIECE, PIECES = 8192, 32
"""Most points of a layer that is looked at in one piece, and pieces of one that has fewer than `PIECES` times as many.

Whatever the number of threads and processes, room for rounding is found for the same pieces, so it has the same bits.
"""
LISTED = 1 << 20
"""Points that are put in the order of layers together."""
BATCHES, BATCH = 16, 32768
"""Thin layers are checked in `BATCHES` batches or more, each of at most `BATCH` points with tables made at once."""
GUESS, TRIES = 64.0, 4
"""The first ``w``, and how many are tried that are the same everywhere, each four times as large."""
KEPT = 1 << 28
"""Most bytes that are kept of one layer: what is not kept is computed again in every pass."""
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
    layer, inner : ndarray of whole numbers from 0 on, shape (points of the grid,)
        Layer of every point, and its place in the order of the layer.
    choices : ndarray of int16, shape (core nodes, points of the grid), optional
        Which of its edges a decision takes, counted from 0.
    """

    entries: Ints
    values: Floats
    layer: NDArray[Any]
    inner: NDArray[Any]
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


@attrs.define(eq=False)
class Found:
    """What is known of the layers so far."""

    off: Floats  # shape (4, layers): residuals of best and of stored choices, room for rounding and for rounded choices
    longest: Floats  # how long plays stay in a layer; NaN where it reads itself and this is not known yet
    done: int = 0  # points that were looked at, in the order of layers


class Share(NamedTuple):
    """How several processes look at layers together; all results but those of `joined` are about the own share.

    ``takes(number, points)`` is the turn in which this process looks at the points of a job: 0 if it does not; in any
    turn but the first not at how long plays stay.  ``joined(found)`` are the largest numbers that any process found,
    NaN where one found that.
    """

    takes: Callable[[int, Ints], int]
    joined: Callable[[Floats], Floats]


def verify_lattice(
    lattice: Lattice,
    claim: Claim,
    check: Callable[[], None] | None = None,
    found: Found | None = None,
    share: Share | None = None,
) -> Widths:
    """Find out how far the claimed values can be off.

    Parameters
    ----------
    lattice : Lattice
        The lattice, undiscounted.
    claim : Claim
        The claim.
    check : callable, optional
        Called now and then; it may raise to stop the work.
    found : Found, optional
        What is known of the same claim already; the rest is filled in.
    share : Share, optional
        How several processes, with the same claim, do this together.
    """
    count = int(claim.layer.max(initial=0)) + 1
    nothing = np.full(count, np.inf)
    shape = (len(claim.entries), lattice.size)
    flat = (claim.layer, claim.inner)
    if claim.values.shape != shape or any(array.shape != shape[1:] or array.min() < 0 for array in flat):
        return Widths(nothing, nothing, "the claim does not fit the lattice")
    if 0 < abs(lattice.total) < kernels.NORMAL:
        return Widths(nothing, nothing, "the total of both sides is below the range of floats")
    start = np.flatnonzero(claim.entries == lattice.start)
    if len(start) != 1 or np.isnan(claim.values[start[0], lattice.start_point]):
        return Widths(nothing, nothing, "nothing is claimed about the start")
    core = _Core.of(lattice, claim)
    if core is None:
        return Widths(nothing, nothing, "a cycle of the core does not pass through a stored value")
    points, ends = _in_layers(claim, count, lattice.point_type)
    found = Found(np.zeros((4, count)), np.ones(count)) if found is None else found
    core.look(points, ends, check, found, share)
    optimal, policy = nothing.copy(), nothing.copy()
    best = follow = 0.0
    for number in range(count - 1, -1, -1):
        best, follow = best + core.optimal[number], follow + core.policy[number]
        optimal[number], policy[number] = best, follow
        if not (best < np.inf and follow < np.inf):
            what = f"the values of layer {number} are not what one pass makes of them, or its plays may not end"
            return Widths(optimal, policy, what)
    return Widths(optimal, policy)


def _in_layers(claim: Claim, count: int, kind: np.dtype[Any]) -> tuple[Ints, Ints]:
    """Points where something is claimed by layer, the last in its order first; where layers begin, and the end."""
    values, size = claim.values, len(claim.layer)
    parts = [np.flatnonzero(~np.isnan(values[:, at : at + LISTED]).all(axis=0)) + at for at in range(0, size, LISTED)]
    points = np.concatenate([part.astype(kind) for part in parts])
    inner = claim.inner[points]
    if (inner != inner[0]).any():
        points = points[np.argsort(inner.max() - inner, kind="stable")]
    # Points keep their order within a layer, and nothing is as long as the list but the list.
    pieces = [points[at : at + LISTED] for at in range(0, len(points), LISTED)]
    counts = np.array([np.bincount(claim.layer[piece], minlength=count) for piece in pieces])
    ends = np.concatenate(([0], np.cumsum(counts.sum(axis=0))))
    found, begin = np.empty_like(points), ends[:-1].copy()
    for piece, own in zip(pieces, counts, strict=True):
        order = np.argsort(claim.layer[piece], kind="stable")
        found[np.repeat(begin - np.cumsum(own) + own, own) + np.arange(len(piece))] = piece[order]
        begin += own
    return found, ends


def _workers() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@attrs.frozen(eq=False)
class _Core:
    """The core with its nodes in an order with successors first, and which edges read the store.

    Parameters
    ----------
    core, ports, reads : tuple of ndarray
        As `mdpdice.certification.checking.kernels.lattice` takes them.
    place : ndarray of `Lattice.point_type`, one per point of the grid
        Place of the points of a layer that reads itself, among them.
    """

    lattice: Lattice
    claim: Claim
    tables: GridTables
    core: tuple[Any, ...]
    ports: tuple[Ints, ...]
    reads: tuple[Ints, ...]
    place: NDArray[Any]
    optimal: list[float] = attrs.field(factory=list)
    policy: list[float] = attrs.field(factory=list)

    @classmethod
    def of(cls, lattice: Lattice, claim: Claim) -> _Core | None:
        n = lattice.n_nodes
        number = np.full(n, -1)
        number[claim.entries] = np.arange(len(claim.entries))
        source = np.repeat(np.arange(n), np.diff(lattice.indptr))
        possible = lattice.weight > 0
        stays = possible & (lattice.update < 0)
        if (number[lattice.dst[possible & ~stays]] < 0).any():
            return None
        inside = stays
        if (order := _successors_first(n, source, lattice.dst, inside)) is None:
            from scipy.sparse import csr_array
            from scipy.sparse.csgraph import connected_components

            graph = csr_array((np.ones(int(stays.sum())), (source[stays], lattice.dst[stays])), shape=(n, n))
            _, label = connected_components(graph, connection="strong")
            # An edge that stays at its point is read from the store only where it closes a cycle.
            inside = stays & ((label[source] != label[lattice.dst]) | (number[lattice.dst] < 0))
            order = _successors_first(n, source, lattice.dst, inside)
        if order is None:
            return None
        reads = np.where(possible & ~inside, number[lattice.dst], -1)
        core, ports, pairs = _arranged(lattice, order, source, reads, claim.choices is None)
        place = np.empty(lattice.size, dtype=lattice.point_type)
        return cls(lattice, claim, GridTables(lattice), core, ports, pairs, place)

    def look(
        self, points: Ints, ends: Ints, check: Callable[[], None] | None, so_far: Found, share: Share | None
    ) -> None:
        """Find out by how much the error of each layer exceeds that of the later ones.

        Layer ``i`` has the points ``ends[i] .. ends[i + 1] - 1``, in the order in which passes take them.
        """
        # Layers are looked at side by side, since no check of one needs the result of another.
        off, (room, slack), longest = so_far.off[:2], so_far.off[2:], so_far.longest
        share = Share(lambda *_: 1, lambda found: found) if share is None else share
        order, nonempty = self.claim.inner[points], np.flatnonzero(np.diff(ends))
        loops = set(nonempty[order[ends[nonempty]] != order[ends[nonempty + 1] - 1]].tolist())
        jobs = [(share.takes(at, points[job[1][0] : job[1][-1]]), job) for at, job in enumerate(_jobs(ends, loops))]
        jobs = [(turn, job) for turn, job in jobs if turn and job[1][-1] > so_far.done]
        with ThreadPoolExecutor(_workers()) as pool:
            looks = pool.map(self._look, ((points, job, turn > 1) for turn, job in jobs))
            for (_, job), batch in zip(jobs, looks, strict=True):
                for number, residuals, itself, steps in batch:
                    for at, result in enumerate(residuals):
                        off[at, number] = max(off[at, number], result[0])
                        room[number] = max(room[number], result[1])
                        slack[number] = max(slack[number], result[2])
                    if steps is not None or itself:
                        longest[number] = np.nan if steps is None else steps
                so_far.done = int(job[1][-1])
                if check is not None:
                    check()
            told = share.joined(np.vstack((so_far.off, longest)))
            so_far.off[:], longest[:] = told[:4], told[4]
            cyclic = np.flatnonzero(np.isnan(longest))
            turns = [points[ends[number] : ends[number + 1]] for number in cyclic.tolist()]
            mine = [at for at, turn in enumerate(turns) if share.takes(at, turn) == 1]
            longest[np.delete(cyclic, mine)] = 0.0
            for at, steps in zip(mine, pool.map(self._longest_of, (turns[at] for at in mine)), strict=True):
                longest[cyclic[at]] = steps
                if check is not None:
                    check()
            longest[:] = share.joined(longest)
        longest = longest * (1.0 + 1e-9)
        # Nobody who decides by rounded numbers loses more than the slack; stored choices are looked at as they are.
        # Where plays may go on for ever nothing is proved, however small the residual (0 times inf is no number).
        endless = np.isinf(longest)
        finite = np.where(endless, 1.0, longest)
        self.optimal[:] = np.where(endless, np.inf, (off[0] + room + slack) * finite).tolist()
        stored = self.claim.choices is not None
        self.policy[:] = np.where(endless, np.inf, (off[1] + room) * finite).tolist() if stored else self.optimal

    def _look(self, job: tuple[Ints, _Job, bool]) -> list[_Found]:
        """Residuals of some layers or of a piece of one, and how long plays stay in those that are whole."""
        every, (numbers, bounds, whole), again = job
        points = every[bounds[0] : bounds[-1]]
        tables = self._tables(points)
        cuts = np.searchsorted(tables[1], bounds - bounds[0])
        found: list[_Found] = []
        stored = self.claim.choices is not None
        # One room for all layers: allocating that much memory again for each takes longer than using it.
        room = self._words(int(np.diff(cuts).max())) if whole else _words(0, 0)
        shape: Floats | None = np.zeros((2, 1, 1))
        for number, begin, finish in zip(numbers, cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
            if begin == finish:
                continue
            here = (tables[0], tables[1][begin : finish + 1], *tables[2:])
            words = room[0][: finish - begin], room[1][: finish - begin], room[2][: finish - begin]
            words[0][:] = False
            arguments = self._arguments(here, following=False)
            residuals = [_residuals(arguments, *(_words(0, 0) if stored else words))]
            if stored:
                # The policy is that of the stored choices.
                arguments = self._arguments(here, following=True)
                residuals.append(_residuals(arguments, *words))
            itself = not again and any(result[3] for result in residuals)
            steps, shape = self._longest(arguments, words, shape) if itself and whole else (None, shape)
            found.append((number, residuals, itself, steps))
        return found

    def _longest_of(self, points: Ints) -> float:
        tables = self._tables(points)
        arguments = self._arguments(tables, self.claim.choices is not None)
        words = self._words(len(tables[1]) - 1)
        _residuals(arguments, *words)
        return self._longest(arguments, words, None)[0]

    def _longest(self, arguments: tuple[Any, ...], words: _Words, shape: Floats | None) -> tuple[float, Floats | None]:
        """Largest ``1 + w`` of a layer that reads itself, inf if there is none; and what to begin the next one with."""
        points, blocks, targets, _, _ = arguments[-1]
        first, last = int(blocks[0]), int(blocks[-1])
        size = (len(self.claim.entries), last - first)
        self.place[points[first:last]] = np.arange(last - first)
        ahead = np.empty((len(self.reads[0]), last - first), dtype=self.place.dtype)
        early = np.zeros(size, dtype=np.bool_)
        kernels.inner_reads(self.reads, self.claim.layer, points, blocks, targets, self.place, ahead, early)
        w = np.empty((2, *size))
        for k in range(-1 if shape is not None and shape.any() else 0, 2 * TRIES):
            # A player who may stay as long as they like needs more than the others; the first pass shows how much.
            guess: Any = shape if k < 0 else GUESS * 4.0 ** (k // 2)
            np.maximum(w, guess, out=w) if k > 0 and k % 2 else np.copyto(w, guess)
            tried = w.max(axis=2, keepdims=True)
            grown, longest = _pass(arguments, words, first, ahead, early, w)
            if grown <= 0.5 and longest < 1e9:
                # The next layer is likely to be alike, unless this one needed more, or was not like the one before.
                alike = k < 0 or (k < 2 and shape is not None and not shape.any())
                return _and_one_more(grown, longest), tried if alike else None
        w.fill(GUESS)
        found: list[Floats] = []
        for k in range(PASSES):
            grown, longest = _pass(arguments, words, first, ahead, early, w)
            if not longest < 1e9:
                return np.inf, None
            if grown <= 0.5:
                return _and_one_more(grown, longest), None
            found.append(w.copy())
            if k == 1:
                # By now both sides had their turn, and the shape is about right.
                w *= 2.0
                found.clear()
            elif len(found) == 5:
                w[:] = _limit(found)
                found.clear()
        return np.inf, None

    def _words(self, blocks: int) -> _Words:
        """Return room for the words of this many blocks, or of as many as fit."""
        edges = len(self.core[3])
        return _words(min(blocks, max(1, KEPT // (16 * max(1, edges)))), edges)

    def _tables(self, points: Ints) -> tuple[Any, ...]:
        tables, claim = self.tables.at(points), self.claim
        cuts = (np.diff(claim.inner[points]) != 0) | (np.diff(claim.layer[points]) != 0)
        starts = np.concatenate(([0], np.flatnonzero(cuts) + 1, [len(points)]))
        return tables.points, _cut(starts, kernels.LANES), tables.targets, tables.guards, tables.rewards

    def _arguments(self, tables: tuple[Any, ...], following: bool) -> tuple[Any, ...]:
        claim = self.claim
        choices = np.full((1, 1), -1, dtype=np.int16) if claim.choices is None else claim.choices
        told = (claim.entries, float(self.lattice.total), claim.values, claim.layer, choices, following)
        return self.core, self.ports, self.reads, told, tables


def _jobs(ends: Ints, loops: set[int]) -> Iterator[_Job]:
    """Thin layers together, and pieces of those that are not; in pieces one of `loops` takes more passes."""
    count, total = len(ends) - 1, int(ends[-1])
    size = min(BATCH, total // BATCHES)
    first = 0
    while first < count:
        last = first + 1
        while last < count and ends[last + 1] - ends[first] <= (size if last in loops else min(PIECE, size)):
            last += 1
        length = int(ends[last] - ends[first])
        if length > (max(PIECE, size) if first in loops else PIECE):
            step = min(PIECE, max(8 * kernels.LANES, -(-length // PIECES // kernels.LANES) * kernels.LANES))
            for begin in range(int(ends[first]), int(ends[last]), step):
                yield [first], np.array([begin, min(begin + step, int(ends[last]))]), False
        elif length:
            yield list(range(first, last)), ends[first : last + 1], True
        first = last


def _cut(starts: Ints, length: int) -> Ints:
    """Cut stretches into pieces of at most some length; starts of pieces, and the end."""
    count = -(-np.diff(starts) // length)
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    return np.append(np.repeat(starts[:-1], count) + length * within, starts[-1])


def _words(blocks: int, edges: int) -> _Words:
    live, near = np.zeros((2, blocks, edges), dtype=np.uint64)
    return np.zeros(blocks, dtype=np.bool_), live, near


def _residuals(arguments: tuple[Any, ...], *words: Any) -> tuple[float, float, float, float]:
    given: Any = (*arguments, kernels.rooms_of_residuals(*arguments), *words)
    found: Any = kernels.residuals(*given)
    result: tuple[float, float, float, float] = found
    return result


def _pass(
    arguments: tuple[Any, ...], words: _Words, start: int, ahead: Any, early: Any, w: Floats
) -> tuple[float, float]:
    """Make one pass over the blocks of a layer; words that do not fit are noted again in every pass."""
    points, blocks, *rest = arguments[-1]
    size = len(words[0])
    if size == len(blocks) - 1:
        return _passes(arguments, start, ahead, early, *words, w)
    grown = longest = 0.0
    for begin in range(0, len(blocks) - 1, size):
        here = blocks[begin : begin + size + 1]
        some = (*arguments[:-1], (points, here, *rest))
        noted, live, near = (array[: len(here) - 1] for array in words)
        noted[:] = False
        _residuals(some, noted, live, near)
        found = _passes(some, start, ahead, early, noted, live, near, w)
        grown, longest = max(grown, found[0]), max(longest, found[1])
    return grown, longest


def _passes(arguments: tuple[Any, ...], *rest: Any) -> tuple[float, float]:
    given: Any = (*arguments, kernels.rooms_of_passes(arguments[0], arguments[2]), *rest)
    result: tuple[float, float] = kernels.passes(*given)
    return result


def _and_one_more(grown: float, longest: float) -> float:
    """Return the largest ``1 + w``, since one pass more reaches the nodes that are not stored, too."""
    return 1.0 + longest * (1.0 + 1e-9) / (1.0 - grown)


def _limit(found: list[Floats]) -> Floats:
    """Where five passes lead to, and a little more: after two passes the same side is to move again."""
    first, second = found[2] - found[0], np.maximum(found[4] - found[2], 0.0)
    ratio = np.divide(second, first, out=np.zeros_like(first), where=first > 0)
    ratio = np.minimum(ratio, 0.999)
    limit: Floats = 1.0 + 1.05 * (found[4] + second * ratio / (1.0 - ratio))
    return limit


def _arranged(
    lattice: Lattice, order: Ints, source: Ints, reads: Ints, share: bool
) -> tuple[tuple[Any, ...], tuple[Ints, ...], tuple[Ints, ...]]:
    """Return the edges as the loops take them, see `mdpdice.certification.checking.kernels.lattice`.

    Parameters
    ----------
    order : ndarray of int64, shape (N,)
        Core nodes, successors first.
    source : ndarray of int64, shape (E,)
        Where edges begin.
    reads : ndarray of int64, shape (E,)
        Entry that an edge reads from the store; -1 for those that read none.
    share : bool
        Whether options that decisions have in common are to be looked at once.
    """
    sides, place = lattice.sign < 0, np.arange(lattice.n_edges) - lattice.indptr[source]
    columns = source, lattice.dst, reads, lattice.update, lattice.weight, lattice.guard, sides, lattice.reward, place
    pairs: dict[tuple[int, int], int] = {}
    ports: dict[tuple[int, ...], int] = {}
    terms: dict[tuple[int, ...], int] = {}
    after: dict[int, list[int]] = defaultdict(list)
    kinds: list[int] = lattice.kind.tolist()
    rows: list[list[_Edge]] = [[] for _ in kinds]
    for edge in zip(*(column[lattice.weight > 0].tolist() for column in columns), strict=True):
        node, dst, entry, update, weight, guard, flip, reward, number = edge
        turn = {Kind.MAX: 1, Kind.MIN: -1}.get(kinds[node], 0)
        if entry >= 0:
            read = pairs.setdefault((entry, update if update >= 0 else len(lattice.updates)), len(pairs))
            port = ports.setdefault((read, flip, reward, guard if turn else -1, turn), len(ports))
            # What is part of a port is not done again by the edges that read it.
            rows[node].append((-1 - port, weight, -1 if turn else guard, False, -1, number))
        elif share and turn and (guard >= 0 or flip or reward >= 0):
            # What decisions ask of an edge, or add to it, gets a node of its own, with one option.
            term = terms.setdefault((dst, turn, guard, flip, reward), len(rows))
            if term == len(rows):
                rows.append([(dst, 1.0, guard, flip, reward, 0)])
                kinds.append(kinds[node])
                after[dst].append(term)
            rows[node].append((term, weight, -1, False, -1, -1))
        else:
            rows[node].append((dst, weight, guard, flip, reward, number))
    if share:
        _fold(order.tolist(), kinds, rows)
    table = np.array(list(chain(*rows))).reshape(-1, 6).T
    arg, guard, flip, reward, number = table[[0, 2, 3, 4, 5]].astype(np.int64)
    indptr = np.cumsum([0] + [len(own) for own in rows])
    asks = np.concatenate(([0], np.cumsum((flip > 0) | (reward >= 0) | (guard >= 0))))[indptr]
    core = (
        np.array([each for node in order.tolist() for each in (node, *after[node])]),
        np.array(kinds, dtype=np.uint8),
        indptr,
        np.where(arg < 0, len(rows) - 1 - arg, arg),
        table[1].copy(),
        guard,
        flip > 0,
        reward,
        number,
        np.append(lattice.payoff, np.full(len(rows) - lattice.n_nodes, -1)),
        np.diff(asks) == 0,
    )
    made, wanted = (np.array(list(each), dtype=np.int64) for each in (ports, pairs))
    return core, tuple(made.reshape(-1, 5).T.copy()), tuple(wanted.reshape(-1, 2).T.copy())


def _fold(order: list[int], kinds: list[int], rows: list[list[_Edge]]) -> None:
    """Put in place of options of a decision the earlier decisions that have nothing but options of these."""
    known: dict[tuple[int, int], list[int]] = defaultdict(list)
    options: dict[int, set[int]] = {}
    for node in order:
        if kinds[node] in (Kind.MAX, Kind.MIN) and rows[node]:
            own = options[node] = {edge[0] for edge in rows[node]}
            left, folded = own, list[_Edge]()
            within = [one for arg in own for one in known[kinds[node], arg] if options[one] <= own]
            for one in sorted(within, key=lambda one: -len(options[one])):
                if len(options[one] & left) > 1:
                    left = left - options[one]
                    folded.append((one, 1.0, -1, False, -1, -1))
            known[kinds[node], max(own)].append(node)
            rows[node] = folded + [edge for edge in rows[node] if edge[0] in left]


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
