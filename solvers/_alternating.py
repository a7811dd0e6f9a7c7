r"""Modified policy iteration with MacQueen's bounds, for `value-iteration` where decisions and chance take turns.

One backup of a discounted problem in which every move takes a step is :math:`Tv`.  With :math:`a` and
:math:`b` the smallest and the largest :math:`Tv - v`,

.. math::  Tv + \tfrac{\gamma}{1 - \gamma} a \;\le\; v^* \;\le\; Tv + \tfrac{\gamma}{1 - \gamma} b

(MacQueen 1966).  So the whole of a common move is taken at once, and what is left shrinks as fast as the chain
mixes.  Between two backups the policy is swept alone, which reads its own probabilities only (Puterman and
Shin 1978), as long as that brings the moves closer together.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdpdice.backend import Candidate, Run
from mdpdice.layers import threads
from mdpdice.network import Network
from mdpdice.numerics.operator import locked, unsigned

__all__ = ["propose"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

ULP = 2.0**-52
BACKUPS = 100
"""Backups after which a chain mixes too slowly for this, and is left to others."""
SWEEPS = 60
"""Most sweeps of one policy between two backups."""
CLOSER = ((0.01, 0.2), (0.0, 0.01))
"""While a share of the decisions changes its edge in a backup, sweeps bring the spread of the moves down to a share."""
SHARED = 2_000_000
"""Edges from which a sweep is shared among threads: below it, to start them takes longer."""


def propose(problem: Network, run: Run) -> tuple[Candidate, bool] | None:
    """Value, policy and bounds, and whether they are narrow enough; None if the problem is not of this kind.

    What is not narrow enough is a guess to start from.
    """
    from mdpdice.numerics import discounted_kernels as kernels

    if problem.discount == 1 or problem.horizon is not None or problem.exact_rewards:
        return None
    rows = (problem.kind, unsigned(problem.indptr), unsigned(problem.dst))
    if not kernels.alternates(*rows, problem.sign, problem.step):
        return None
    count = min(2, threads()) if problem.n_edges > SHARED else 1
    if count == 1:
        return _Sweeps(problem, None, count).run(run)
    with ThreadPoolExecutor(count) as pool:
        return _Sweeps(problem, pool, count).run(run)


class _Sweeps:
    """The arrays of one solve, and the two kinds of sweeps."""

    def __init__(self, problem: Network, pool: ThreadPoolExecutor | None, count: int) -> None:
        from mdpdice.numerics import discounted_kernels as kernels

        self.kernels = kernels
        self.problem, self.pool = problem, pool
        self.discount = float(problem.discount)
        n = problem.n_nodes
        self.value, self.new = np.zeros(n), np.zeros(n)
        self.policy = np.full(n, -1, dtype=np.int64)
        base = np.zeros(n)
        indptr = unsigned(problem.indptr)
        if problem.reward.any():
            kernels.means(problem.kind, indptr, problem.weight, problem.reward, base)
        # Half the width of an index is a third less to read.
        dst = locked(problem.dst.astype(np.uint32)) if n < 1 << 32 else unsigned(problem.dst)
        self.rows = (problem.kind, indptr, dst, problem.weight, problem.reward, locked(base))
        self.decisions = unsigned(np.flatnonzero(problem.decides))
        cuts = [len(self.decisions) * k // count for k in range(count + 1)]
        self.parts = list(pairwise(cuts))
        self.ptr = np.zeros(len(self.decisions) + 1, dtype=np.int64)
        self.gain = np.zeros(len(self.decisions))
        self.to, self.share = np.zeros(0, dtype=dst.dtype), np.zeros(0)

    def each(self, work: Callable[[int, int], Any]) -> list[Any]:
        """Have every part of the decisions done."""
        if self.pool is None:
            return [work(*self.parts[0])]
        return [job.result() for job in [self.pool.submit(work, *part) for part in self.parts]]

    def improve(self) -> tuple[float, float, int]:
        """One backup; the smallest and the largest move, and how many decisions changed."""

        def work(first: int, last: int) -> tuple[float, float, int]:
            moves: tuple[float, float, int] = self.kernels.improve(
                *self.rows, self.discount, self.decisions[first:last], self.value, self.new, self.policy
            )
            return moves

        found = self.each(work)
        self.value, self.new = self.new, self.value
        low, high, changed = zip(*found, strict=True)
        return min(low), max(high), sum(changed)

    def gather(self) -> None:
        """Write the rows of the policy side by side."""
        self.kernels.row_sizes(*self.rows[:3], self.decisions, self.policy, self.ptr)
        if self.ptr[-1] > len(self.to):
            self.to = np.empty(int(self.ptr[-1]), dtype=self.to.dtype)
            self.share = np.empty(int(self.ptr[-1]))
        self.each(
            lambda first, last: self.kernels.gather(
                *self.rows, self.decisions, self.policy, self.ptr, self.to, self.share, self.gain, first, last
            )
        )

    def sweep(self, shift: float) -> tuple[float, float]:
        """One sweep of the policy, after adding `shift` to all values; the smallest and the largest move."""

        def work(first: int, last: int) -> tuple[float, float]:
            moves: tuple[float, float] = self.kernels.sweep_policy(
                self.ptr, self.to, self.share, self.gain, self.discount, self.decisions,
                self.value, self.new, shift, first, last,
            )  # fmt: skip
            return moves

        found = self.each(work)
        self.value, self.new = self.new, self.value
        low, high = zip(*found, strict=True)
        return min(low), max(high)

    def run(self, run: Run) -> tuple[Candidate, bool]:
        """Improve and sweep until the bounds meet, or it takes too long."""
        problem, discount = self.problem, self.discount
        decides, ahead = problem.decides, discount / (1.0 - discount)
        count = len(self.decisions)
        # A slice, as most networks have it, is read faster than a list of positions.
        together = int(self.decisions[-1]) + 1 == count
        mine = slice(count) if together else self.decisions
        degree = int(np.diff(problem.indptr).max())
        done, sweeps, before, stuck = False, 0, np.inf, 0
        low = high = rounding = 0.0
        for _ in range(BACKUPS):
            run.check()
            low, high, changed = self.improve()
            spread = high - low
            sweeps += 1
            run.tell("solve", sweeps=sweeps, move=spread)
            values = np.abs(self.value[mine])
            size = max(1.0, float(values.max()))
            rounding = (2 * degree + 20) * ULP * size / (1.0 - discount)
            aim = (run.tolerance * max(1.0, float(values.min())) - 2 * rounding) / ahead
            done = bool(spread <= max(aim, 4 * ULP * size))
            stuck = stuck + 1 if spread > 0.9 * before else 0
            if done or stuck > 3 or not np.isfinite(spread):
                break
            before = spread
            restless = [share for change, share in CLOSER if changed > change * count]
            closer = max(0.4 * aim, 4 * ULP * size, *(share * spread for share in restless[:1]))
            below, above = low, high
            self.gather()
            for _ in range(SWEEPS):
                last = above - below
                below, above = self.sweep(0.5 * ahead * (below + above))
                sweeps += 1
                if above - below <= closer or above - below > 0.9 * last:
                    break
            self.value[mine] += 0.5 * ahead * (below + above)
        shift = 0.5 * ahead * (low + high)
        value = self.value + np.where(decides, shift, discount * shift)
        error = 0.5 * ahead * (high - low) + rounding
        details = {"lower": value - error, "upper": value + error}
        return Candidate(value, self.policy, sweeps, details), done
