"""Policy iteration where decisions and chance take turns in one large component, and plays are long.

The method is that of `mdpdice.solvers.policy_iteration`: policies are evaluated by BiCGSTAB, roughly as long as they
change.  Rows of a policy are written straight from the arrays of the network, in compiled code, instead of
being taken out of a matrix of all options.  The last system gives the expected length of plays, which
certificates need.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mdpdice.backend import Candidate, Run
from mdpdice.errors import NotConvergedError, SolveInterrupted
from mdpdice.networks.arrays import ULP, read_only
from mdpdice.networks.network import Floats, Kind, Network
from mdpdice.numerics.linear import compiled_bicgstab
from mdpdice.numerics.operator import unsigned
from mdpdice.numerics.regions import FAST_PATH_FROM_EDGES, components, ending_ranks, largest_component

__all__ = ["propose"]

KRYLOV_FROM_SHARE = 0.5
"""Share of the nodes in the largest component from which BiCGSTAB takes all of it, not component by component."""
BETTER = 1e-13
"""Relative difference from which an option counts as strictly better."""
START = 3
"""Sweeps that carry what ends are worth into the component: a policy to start from."""
ROUGH = 0.1
"""What the residual comes down to before the next switch, as a share."""
STEPS, ROUNDS = 150, 6
"""Steps of BiCGSTAB in one round, and rounds, after which a system is left to others."""


def propose(problem: Network, run: Run, max_iterations: int) -> Candidate | None:
    """Value, policy and the expected lengths of plays; None if the problem is not of this kind, or too hard.

    Raises
    ------
    NotConvergedError
        The policy still changed after `max_iterations` systems.
    """
    from mdpdice.numerics.kernels import policy as kernels

    if problem.discount != 1 or problem.horizon is not None or problem.n_edges < FAST_PATH_FROM_EDGES:
        return None
    if problem.n_nodes >= 1 << 32 or problem.total != 0:
        return None
    if (
        not kernels.takes_turns(problem.kind, unsigned(problem.indptr), unsigned(problem.dst), problem.sign)
        or ending_ranks(problem) is None
    ):
        return None
    if largest_component(problem) < KRYLOV_FROM_SHARE * problem.n_nodes:
        return None
    return _Search(problem, run).solve(max_iterations)


class _Search:
    """The arrays of one solve."""

    def __init__(self, problem: Network, run: Run) -> None:
        from mdpdice.numerics.kernels import policy as policy_kernels

        self.kernels = policy_kernels
        self.problem, self.run = problem, run
        n = problem.n_nodes
        self.rows = (
            problem.kind,
            unsigned(problem.indptr),
            unsigned(problem.dst),
            problem.weight,
            problem.reward,
        )
        decisions = np.flatnonzero(problem.decides)
        self.decisions = unsigned(decisions)
        self.value = np.where(problem.kind == Kind.END, problem.payoff, 0.0)
        self.policy = np.where(problem.decides, problem.indptr[:-1], -1)
        count = len(decisions)
        local = np.zeros(n, dtype=np.uint32)
        local[decisions] = np.arange(count, dtype=np.uint32)
        self.local = read_only(local)
        self.gain, self.scale, self.rest = np.empty(count), np.empty(count), np.empty(count)
        self.ptr = np.empty(count + 1, dtype=np.int64)
        self.to, self.share = np.empty(0, dtype=np.uint32), np.empty(0)
        self.iterations = 0

    def solve(self, max_iterations: int) -> Candidate | None:
        self.run.offer(self.proposed)
        try:
            return self.iterate(max_iterations)
        except SolveInterrupted as stop:
            stop.partial = self.proposed()
            raise

    def proposed(self, **details: Any) -> Candidate:
        return Candidate(self.value, self.policy, max(1, self.iterations), details)

    def iterate(self, max_iterations: int) -> Candidate | None:
        kernels, decides = self.kernels, self.problem.decides
        nodes = components(self.problem)[1]
        order = unsigned(nodes[decides[nodes]])
        for _ in range(START):
            kernels.switch(*self.rows, order, self.value, self.policy, BETTER, True)
        x = self.value[decides]
        switched = 1
        while True:
            self.iterations += 1
            if self.iterations > max_iterations:
                msg = (
                    f"policy iteration was not done after max_iterations={max_iterations}; "
                    "raise it, or use solver='exact'"
                )
                raise NotConvergedError(
                    msg, iterations=self.iterations, width=np.inf, partial=self.proposed()
                )
            self.gather()
            found = self.evaluate(x, ROUGH if switched else 0.0)
            if found is None:
                return None
            x, exact = found
            self.value[decides] = x
            self.run.check()
            switched = kernels.switch(*self.rows, self.decisions, self.value, self.policy, BETTER, False)
            self.run.tell("solve", iterations=self.iterations, switched=switched)
            if not switched and exact:
                break
        kernels.mean_values(*self.rows, self.value)
        return self.proposed(**self.lengths())

    def gather(self) -> None:
        """Write the rows of the policy side by side."""
        self.kernels.row_sizes(*self.rows[:3], self.decisions, self.policy, self.ptr)
        if self.ptr[-1] > len(self.to):
            room = int(self.ptr[-1])
            self.to, self.share = np.empty(room, dtype=np.uint32), np.empty(room)
        self.kernels.gather_rows(
            *self.rows, self.decisions, self.policy, self.local, self.value,
            self.ptr, self.to, self.share, self.gain, self.scale,
        )  # fmt: skip

    def residual(self, gain: Floats, x: Floats) -> tuple[float, float]:
        most, size = self.kernels.residual(self.ptr, self.to, self.share, gain, self.scale, x, self.rest)
        return float(most), float(size)

    def evaluate(self, x: Floats, rough: float) -> tuple[Floats, bool] | None:
        """Value of the policy at its decisions, and whether it is as exact as floats allow; None if none was found."""
        left, size = self.residual(self.gain, x)
        target = rough * left
        # What a residual is multiplied by, its rounding is too.
        ulp = 4 * ULP * float(self.scale.max())
        for _ in range(ROUNDS):
            finest = ulp * max(size, float(np.abs(self.gain).max()), 1e-300)
            if left <= max(target, finest):
                return x, left <= 4 * finest
            found = self.improve(x, max(target, finest))
            now, size = self.residual(self.gain, found)
            if not now < left:
                # Rounding keeps the residual from coming down further.
                return (x, True) if left <= 4 * finest else None
            x, left = found, now
        return None

    def improve(self, x: Floats, target: float) -> Floats:
        rows = self.ptr, self.to[: self.ptr[-1]], self.share[: self.ptr[-1]]
        return compiled_bicgstab(rows, self.scale, x, self.rest, 0.5 * target, STEPS, self.run.check)

    def lengths(self) -> dict[str, Floats]:
        """Expected number of nodes before the end under the policy, roughly."""
        problem = self.problem
        w = np.where(problem.kind == Kind.END, 0.0, 1.0)
        to = problem.dst[self.policy[problem.decides]]
        base = 1.0 + (problem.kind[to] == Kind.CHANCE)
        start = base * self.scale
        left, _ = self.residual(base, start)
        x = start
        for _ in range(ROUNDS):
            if left <= 0.2:
                break
            found = self.improve(x, 0.2)
            now, _ = self.residual(base, found)
            if not now < left:
                return {}
            x, left = found, now
        w[problem.decides] = x
        self.kernels.mean_lengths(*self.rows[:4], w)
        return {"lengths": w}
