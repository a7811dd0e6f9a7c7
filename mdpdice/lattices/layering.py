"""What never decreases while a lattice is played, and the layers of the grid that follow from it.

A *progress* is a tuple of expressions over the counters, compared like words in a dictionary, that
no edge decreases.  Points of equal progress form a layer, and a layer can be solved once
all later ones are known.  A game may declare its progress (`Game.progress`).  Otherwise it is looked for
among simple candidates: the number of set flags, a counter up or down, the sum of two
counters (which two sides of a race swap), and the sum of all.  A candidate is tried on a sample of points, and
the sample proves nothing: every edge that play can take is compared with the layers later
(`mdpdice.lattices.reachable_layers`).

Within a layer the points are ordered by one more candidate, the one that most of the
edges inside the layer increase.  That order is only for speed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations, islice
from typing import Any

import attrs
import numpy as np

from mdpdice.errors import GameError
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.counters import CounterValue, FlagsValue
from mdpdice.modelling.expressions import Expr, as_expr
from mdpdice.networks.network import Bools, Ints

SAMPLE = 4096
"""Points on which candidates are tried."""
CANDIDATES = 200
PIECE = 1 << 20
"""Points of a layer that are listed together, about."""


@attrs.frozen(eq=False)
class Ranks:
    """The layers of a grid.

    Parameters
    ----------
    lattice : Lattice
        The lattice.
    progress : tuple of Expr
        What never decreases; empty if there is nothing.
    declared : bool
        Whether the game says so.
    order : tuple of Expr
        What orders the points within a layer.
    strict : bool
        Whether every edge of the sample led to a later layer.
    """

    lattice: Lattice
    progress: tuple[Expr, ...]
    declared: bool
    order: tuple[Expr, ...]
    strict: bool

    @cached_property
    def count(self) -> int:
        """Number of layers."""
        return int(self._rank.max()) + 1

    @cached_property
    def layer(self) -> Any:
        """Layer of every point, uint16 if there are not too many; increases with the progress."""
        return np.broadcast_to(self._rank, self.lattice.shape).flatten()  # which can always be written to

    @cached_property
    def inner(self) -> Any:
        """Order of the points within a layer."""
        rank, lattice = _ranked(self.lattice, self.order), self.lattice
        rank = rank if rank.size > 1 else rank.reshape(-1)
        return np.broadcast_to(rank, lattice.shape if rank.ndim > 1 else lattice.size).reshape(-1)

    @property
    def combinations(self) -> int:
        """How many combinations the values of the counters have that the progress depends on."""
        names = {name for expr in self.progress for name in expr.names}
        return math.prod(len(axis.values) for axis in self.lattice.axes if axis.name in names)

    def length(self, number: int) -> int:
        """Count the points of a layer."""
        _, rest, starts = self._listed
        return int(starts[number + 1] - starts[number]) * len(rest)

    def points(self, number: int) -> Iterator[Ints]:
        """Yield the points of a layer, of type `Lattice.point_type`, some at a time."""
        first, rest, starts = self._listed
        end, step = int(starts[number + 1]), max(1, PIECE // len(rest))
        for at in range(int(starts[number]), end, step):
            yield (first[at : min(at + step, end), None] + rest).reshape(-1)

    @cached_property
    def _rank(self) -> Any:
        """Layers by the counters that the progress depends on; the axes of the others have length 1."""
        return _ranked(self.lattice, self.progress)

    @cached_property
    def _listed(self) -> tuple[Ints, Ints, Ints]:
        """Points with the first values of all other counters, by layer; what other values add; starts of layers."""
        lattice, rank = self.lattice, self._rank
        order = np.argsort(rank, axis=None, kind="stable")
        starts = np.searchsorted(rank.reshape(-1)[order], np.arange(self.count + 2))
        free = [length if one == 1 else 1 for length, one in zip(lattice.shape, rank.shape, strict=True)]
        return _points(lattice, rank.shape)[order], _points(lattice, free), starts


def rank_points(lattice: Lattice, *, infer: bool = True) -> Ranks:
    """Layers by the declared progress, or by one that fits a sample of the edges.

    Parameters
    ----------
    lattice : Lattice
        The lattice.
    infer : bool
        With ``False`` and no declared progress the whole grid is one layer.

    Raises
    ------
    GameError
        The declared progress is not a number at some point.
    """
    moves = _Moves(lattice)
    candidates = list(islice(_candidates(lattice), CANDIDATES))
    declared = lattice.progress is not None
    chosen: list[Expr] = []
    left = np.ones(len(moves.begin), dtype=bool)
    if lattice.progress is not None:
        chosen = [as_expr(part) for part in lattice.progress]
        for expr in chosen:
            left &= moves.difference(expr) == 0
    elif infer:
        exprs = [expr for expr in candidates if moves.never_decreases(expr)]
        while left.any():
            gains = [int((left & (moves.difference(expr) > 0)).sum()) for expr in exprs]
            if not any(gains):
                break
            # Few layers: of candidates that increase equally often, the one with the fewest values.
            best = max(range(len(exprs)), key=lambda at: (gains[at], -moves.distinct(exprs[at])))
            chosen.append(exprs[best])
            left &= moves.difference(exprs[best]) == 0
    inner: list[Expr] = []
    if left.any() and candidates:
        rises = [moves.rising(expr, left) for expr in candidates]
        best = max(range(len(candidates)), key=rises.__getitem__)
        inner = [candidates[best]] if rises[best] > (0, 0) else []
    return Ranks(lattice, tuple(chosen), declared, tuple(inner), strict=not left.any())


def _candidates(lattice: Lattice) -> Iterator[Expr]:
    """Expressions that may be a progress."""
    counters = []
    for axis in lattice.axes:
        if axis.boxes:
            flags = FlagsValue(axis.name, axis.boxes)
            yield flags.count()
            yield -flags.count()
        else:
            counters.append(CounterValue(axis.name))
    # Simple ones first: of two that serve as well the first one is taken.
    for counter in counters:
        yield counter
        yield -counter
    for first, second in combinations(counters, 2):
        yield first + second
        yield -(first + second)
    if len(counters) > 2:
        whole = as_expr(sum(counters[1:], start=counters[0]))
        yield whole
        yield -whole


class _Moves:
    """A sample of the moves on the grid: where edges lead that change counters, and where they are there."""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        rng = np.random.default_rng(0)
        size = lattice.size
        points = np.arange(size) if size <= SAMPLE else np.sort(rng.choice(size, SAMPLE, replace=False))
        self.points: Ints = points.astype(np.int64)
        self.values = lattice.values(self.points)
        used = (lattice.update >= 0) & (lattice.weight > 0)
        pairs = sorted(set(zip(lattice.guard[used].tolist(), lattice.update[used].tolist(), strict=True)))
        begin, finish = [], []
        targets = {update: lattice.targets(update, self.points) for update in {pair[1] for pair in pairs}}
        guards = {guard: lattice.guard_at(guard, self.points) for guard in {pair[0] for pair in pairs}}
        for guard, update in pairs:
            there = np.flatnonzero(guards[guard] & (targets[update] >= 0))
            # The same move for another edge tells nothing new; a few dozen of each are enough.
            there = there[:: max(1, len(there) // 256)]
            begin.append(there)
            finish.append(targets[update][there])
        self.sorts = len(pairs)
        self.sort = np.repeat(np.arange(len(pairs)), [len(part) for part in begin])
        self.begin = np.concatenate(begin) if begin else np.zeros(0, dtype=np.int64)
        self.finish = lattice.values(np.concatenate(finish) if finish else self.begin)
        self._found: dict[int, Ints] = {}

    def difference(self, expr: Expr) -> Ints:
        """By how much an expression changes along the moves."""
        found = self._found.get(id(expr))
        if found is None:
            shape = (len(self.begin),)
            before = _numbers(expr, self.values, self.points.shape)[self.begin]
            found = self._found[id(expr)] = _numbers(expr, self.finish, shape) - before
        return found

    def never_decreases(self, expr: Expr) -> bool:
        """Whether no move of the sample decreases an expression."""
        return bool((self.difference(expr) >= 0).all())

    def rising(self, expr: Expr, among: Bools) -> tuple[int, int]:
        """How many kinds of moves always increase an expression; and, negated, how many do so sometimes."""
        up = np.bincount(self.sort, self.difference(expr) > 0, minlength=self.sorts)
        there = np.bincount(self.sort, minlength=self.sorts)
        kinds = np.bincount(self.sort, among, minlength=self.sorts) > 0
        always = (up == there) & kinds & (there > 0)
        return int(always.sum()), -int((kinds & (up > 0) & ~always).sum())

    def distinct(self, expr: Expr) -> int:
        """How many values an expression has."""
        return len(np.unique(_numbers(expr, self.values, self.points.shape)))


def _numbers(expr: Expr, values: dict[str, Ints], shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(_computed(expr, values), shape)


def _computed(expr: Expr, values: dict[str, Ints]) -> Any:
    found = np.asarray(expr.evaluate(values))
    if found.dtype == bool:
        found = found.astype(np.int64)
    if found.dtype.kind not in "iuf":
        msg = f"progress() returned {expr!r}, which is not a number"
        raise GameError(msg, value=expr)
    return found


def _ranked(lattice: Lattice, exprs: tuple[Expr, ...]) -> Any:
    """Ranks of the points of the grid by some expressions, the first one most significant.

    An axis that they do not look at has length 1.
    """
    rank: Any = np.zeros([1] * len(lattice.axes), dtype=np.int32)
    values = {
        axis.name: np.arange(axis.values.start, axis.values.stop, axis.values.step).reshape(
            [-1 if at == number else 1 for at in range(len(lattice.axes))]
        )
        for number, axis in enumerate(lattice.axes)
    }
    for at, expr in enumerate(exprs):
        # Of all counters it would fill the whole grid.
        index = _compressed(_computed(expr, {name: values[name] for name in expr.names}))
        rank = _compressed(rank.astype(np.int64) * (int(index.max()) + 1) + index) if at else rank + index
    return rank.astype(np.uint16 if int(rank.max()) < 1 << 16 else np.int32)


def _points(lattice: Lattice, lengths: Sequence[int]) -> Ints:
    """Return the points where each counter has one of its first values, as many as `lengths` says."""
    axes = np.ogrid[tuple(map(slice, lengths))]
    found = sum(stride * axis for stride, axis in zip(lattice.strides, axes, strict=True))
    return np.reshape(found, -1).astype(lattice.point_type)


def _compressed(numbers: Any) -> Any:
    """Place of every number among the different ones in increasing order."""
    if numbers.dtype.kind in "iu":
        low = int(numbers.min())
        span = int(numbers.max()) - low + 1
        if span <= 4 * numbers.size:
            there, at = np.zeros(span, dtype=bool), numbers - low
            there[at] = True
            return (np.cumsum(there, dtype=np.int32) - 1)[at]
    return np.unique(numbers, return_inverse=True)[1].reshape(numbers.shape)
