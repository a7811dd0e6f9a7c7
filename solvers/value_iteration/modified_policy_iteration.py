r"""Modified policy iteration with MacQueen's bounds, for `value-iteration` where decisions and chance take turns.

One backup of a discounted problem in which every move takes a step is :math:`Tv`.  With :math:`a` and
:math:`b` the smallest and the largest :math:`Tv - v` of a decision,

.. math::  Tv + \tfrac{\gamma}{1 - \gamma} a \;\le\; v^* \;\le\; Tv + \tfrac{\gamma}{1 - \gamma} b

(MacQueen 1966).  This holds at chance nodes too, which are backed up ahead of the decisions: what follows them is at
least :math:`a / (1 - \gamma)` above :math:`v` and a step away.  So the whole of a common move is taken at once, and
what is left shrinks as fast as the chain mixes.  Between two backups the policy is swept alone, which reads its own
probabilities only (Puterman and Shin 1978), as long as that brings the moves closer together.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdpdice.backend import Candidate, Run
from mdpdice.networks.arrays import ULP, read_only
from mdpdice.networks.network import Floats, Ints, Network
from mdpdice.numerics.kernels import discounted as kernels
from mdpdice.numerics.operator import unsigned
from mdpdice.numerics.threads import threads

PLAIN_AFTER_BACKUPS = 100
"""Backups after which a chain that mixes slowly is left to plain value iteration."""
SWEEPS = 60
"""Most sweeps of one policy between two backups."""
CLOSER = ((0.01, 0.2), (0.0, 0.01))
"""While a share of the decisions changes its edge in a backup, sweeps bring the spread of the moves down to a share."""
TWO_THREADS_FROM_EDGES = 2_000_000
"""Edges from which two threads share a sweep: below, to start them takes longer."""
READ_AHEAD_FROM_DECISIONS = 500_000
"""Decisions from which sweeps read the values of many rows ahead, since no cache near the processor holds them all."""
AT_ONCE = 4_000_000
"""Edges between two checks of the time: some hundredths of a second."""


def propose(problem: Network, run: Run, max_sweeps: int) -> tuple[Candidate, bool] | None:
    """Value, policy and bounds, and whether they are narrow enough; None if the problem is not of this kind.

    What is not narrow enough is a guess to start from.
    """
    kind = recognise(problem)
    if kind is None:
        return None
    workers = min(2, threads()) if problem.n_edges > TWO_THREADS_FROM_EDGES else 1
    if workers == 1:
        return Sweeps(problem, kind, run, None, 1).solve(max_sweeps)
    with ThreadPoolExecutor(workers) as pool:
        return Sweeps(problem, kind, run, pool, 2 * workers).solve(max_sweeps)


def recognise(problem: Network) -> Kind | None:
    """Return what the sweeps have to know about a network, or None if it is not of this kind."""
    if problem.discount == 1 or problem.horizon is not None or problem.exact_rewards:
        return None
    base, ptr = np.zeros(problem.n_nodes), np.zeros(problem.n_nodes + 1, dtype=np.int64)
    count, size, degree = kernels.alternates(
        problem.kind, unsigned(problem.indptr), unsigned(problem.dst), problem.weight, problem.reward,
        problem.sign, problem.step, base, ptr,
    )  # fmt: skip
    return Kind(read_only(base), read_only(ptr[: count + 1].copy()), size, degree) if count else None


class Kind(NamedTuple):
    """What `alternates` finds out about a network."""

    base: Floats  # mean reward of every chance node
    ptr: Ints  # room for the rows of a policy, by decision
    size: float  # the largest absolute reward
    degree: int  # most edges of a node


class Moves(NamedTuple):
    """What one backup says."""

    low: float  # the smallest move of a decision
    high: float  # and the largest
    changed: int  # decisions that changed their edge
    nearest: float  # the smallest absolute value
    size: float  # the size of the numbers that are added
    rounding: float  # what a value may be off by for that reason


class Sweeps:
    """The arrays of one solve, and the two kinds of sweeps."""

    def __init__(self, problem: Network, kind: Kind, run: Run, pool: ThreadPoolExecutor | None, pieces: int) -> None:
        self.kernels = kernels
        self.problem, self.run, self.pool = problem, run, pool
        self.discount = problem.factor
        n = problem.n_nodes
        self.value, self.new = np.zeros(n), np.zeros(n)
        self.policy = np.full(n, -1, dtype=np.int64)
        self.sweeps = 0
        self.scale = max(1.0, kind.size)
        self.degree = kind.degree
        # Half the width of an index is a third less to read.
        dst = read_only(problem.dst.astype(np.uint32)) if n < 1 << 32 else unsigned(problem.dst)
        self.rows = (problem.kind, unsigned(problem.indptr), dst, problem.weight, problem.reward, kind.base)
        self.decisions = unsigned(np.flatnonzero(problem.decides))
        # A slice, as most networks have it, is read faster than a list of positions.
        count = len(self.decisions)
        self.ahead = 128 if count >= READ_AHEAD_FROM_DECISIONS else 0
        together = int(self.decisions[-1]) + 1 == count
        self.mine: slice | NDArray[np.uint64] = slice(count) if together else self.decisions
        pieces = max(pieces, -(-problem.n_edges // AT_ONCE))
        self.parts = list(pairwise(count * k // pieces for k in range(pieces + 1)))
        # The rows of the policy, side by side: the probabilities of a decision start at `ptr` and stop at `end`.
        self.ptr, self.end, room = kind.ptr, np.zeros(count, dtype=np.int64), int(kind.ptr[-1])
        # What is read ahead may be room that no row has filled: there it is node 0.
        self.taken = (self.ptr, self.end, np.zeros(room, dtype=dst.dtype), np.empty(room), np.zeros(count))

    def each(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Do the work for every part of the decisions, and check the time before each."""

        def checked(part: tuple[int, int]) -> Any:
            self.run.check()
            return work(*part)

        if self.pool is None:
            return [checked(part) for part in self.parts]
        jobs = [self.pool.submit(checked, part) for part in self.parts]
        try:
            return [job.result() for job in jobs]
        finally:
            for job in jobs:
                job.cancel()

    def improve(self) -> Moves:
        """One backup."""
        found = self.each(lambda first, last: self.backup(self.new, first, last))
        self.value, self.new = self.new, self.value
        self.sweeps += 1
        return self.moves(found)

    def backup(self, new: Floats, first: int, last: int) -> Any:
        """Back up a part of the decisions into `new`."""
        # At first all values are 0, and nothing is gained by reading them.
        discount, ahead = (self.discount, self.ahead) if self.sweeps else (0.0, 0)
        arguments = *self.rows, discount, self.decisions, self.value, new, self.policy, *self.taken, ahead
        return self.kernels.improve(*arguments, first, last)

    def moves(self, found: list[Any]) -> Moves:
        """Return what the parts of a backup say together."""
        low, high, changed, nearest, farthest = zip(*found, strict=True)
        size = max(self.scale, *farthest)
        rounding = (4 * self.degree + 40) * ULP * size / (1.0 - self.discount)
        return Moves(min(low), max(high), sum(changed), min(nearest), size, rounding)

    def sweep(self, below: float, above: float, closer: float, limit: int) -> tuple[float, float]:
        """Sweep the policy until the smallest and the largest move are close together; what they are then."""
        while limit > 0:
            if self.pool is None:
                self.run.check()
                at_once = min(limit, max(1, AT_ONCE // int(self.ptr[-1])))
                done, below, above, enough = self.kernels.sweep_repeatedly(
                    *self.taken, self.discount, self.decisions,
                    self.value, self.new, self.ahead, below, above, closer, at_once,
                )  # fmt: skip
            else:
                last = above - below
                below, above = self.sweep_shared(below, above)
                done, enough = 1, above - below <= closer or above - below > self.kernels.SLOW * last
            if done % 2:
                self.value, self.new = self.new, self.value
            self.sweeps += done
            if enough:
                break
            limit -= done
        return below, above

    def sweep_shared(self, below: float, above: float) -> tuple[float, float]:
        """One sweep of all threads."""
        shift = 0.5 * self.discount / (1.0 - self.discount) * (below + above)

        def work(first: int, last: int) -> tuple[float, float]:
            moves: tuple[float, float] = self.kernels.sweep_policy(
                *self.taken, self.discount, self.decisions,
                self.value, self.new, self.ahead, shift, first, last,
            )  # fmt: skip
            return moves

        low, high = zip(*self.each(work), strict=True)
        return min(low), max(high)

    def solve(self, max_sweeps: int) -> tuple[Candidate, bool]:
        """Improve and sweep until the bounds meet, or it takes too long."""
        self.run.offer(self.partial)
        moves, done = self.iterate(max_sweeps)
        return self.bounded(self.value, self.policy, moves), done

    def iterate(self, max_sweeps: int) -> tuple[Moves, bool]:
        """Return the moves of the last backup, and whether they are close enough together."""
        ahead = self.discount / (1.0 - self.discount)
        before, stuck, left = np.inf, 0, PLAIN_AFTER_BACKUPS
        while True:
            left -= 1
            moves = self.improve()
            spread = moves.high - moves.low
            self.run.tell("solve", sweeps=self.sweeps, move=spread)
            finest = 4 * ULP * moves.size
            aim = (self.run.tolerance * max(1.0, moves.nearest) - 2 * moves.rounding) / ahead
            if spread <= max(aim, finest):
                return moves, True
            stuck = stuck + 1 if spread > self.kernels.SLOW * before else 0
            if stuck > 3 or not left or self.sweeps >= max_sweeps or not np.isfinite(spread):
                return moves, False
            before = spread
            restless = [share for change, share in CLOSER if moves.changed > change * len(self.decisions)]
            closer = max(0.4 * aim, finest, *(share * spread for share in restless[:1]))
            limit = min(SWEEPS, max_sweeps - self.sweeps - 1)
            below, above = self.sweep(moves.low, moves.high, closer, limit)
            self.value[self.mine] += 0.5 * ahead * (below + above)

    def partial(self) -> Candidate:
        """Return the candidate so far; one more backup gives its bounds."""
        value = np.zeros(len(self.value))
        found = self.backup(value, 0, len(self.decisions))
        return self.bounded(value, self.policy.copy(), self.moves([found]))

    def bounded(self, value: Floats, policy: Ints, moves: Moves) -> Candidate:
        """Return the middle between MacQueen's bounds, written into `value`, and the bounds."""
        ahead = self.discount / (1.0 - self.discount)
        value += 0.5 * ahead * (moves.low + moves.high)
        error = 0.5 * ahead * (moves.high - moves.low) + moves.rounding
        lower, upper = np.subtract(value, error, out=self.new), value + error
        # The certificate adds what one move rounds, and tries these bounds.
        more = error + 16 * ULP * moves.size
        lower[self.mine], upper[self.mine] = value[self.mine] - more, value[self.mine] + more
        return Candidate(value, policy, max(1, self.sweeps), {"lower": lower, "upper": upper})
