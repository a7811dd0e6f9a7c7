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
from mdpdice.errors import NotConvergedError
from mdpdice.networks.arrays import ULP, read_only
from mdpdice.networks.network import Floats, Kind, Network
from mdpdice.numerics.kernels import policy as kernels
from mdpdice.numerics.linear import compiled_bicgstab
from mdpdice.numerics.operator import unsigned
from mdpdice.numerics.regions import FAST_PATH_FROM_EDGES, components, ending_ranks, largest_component

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
    """Value, policy and the expected lengths of plays; None if the problem is not of this kind, or too hard."""
    if (
        problem.discount != 1
        or problem.horizon is not None
        or problem.n_edges < FAST_PATH_FROM_EDGES
        or problem.n_nodes >= 1 << 32
        or not kernels.takes_turns(problem.kind, unsigned(problem.indptr), unsigned(problem.dst), problem.sign)
        or ending_ranks(problem) is None
        or largest_component(problem) < KRYLOV_FROM_SHARE * problem.n_nodes
    ):
        return None
    return _Search(problem, run).solve(max_iterations)


class _Search:
    """The arrays of one solve."""

    def __init__(self, problem: Network, run: Run) -> None:
        self.problem, self.run = problem, run
        self.rows = problem.kind, unsigned(problem.indptr), unsigned(problem.dst), problem.weight, problem.reward
        decisions = np.flatnonzero(problem.decides)
        self.decisions = unsigned(decisions)
        self.value = np.where(problem.kind == Kind.END, problem.payoff, 0.0)
        self.policy = np.where(problem.decides, problem.indptr[:-1], -1)
        count = len(decisions)
        local = np.zeros(problem.n_nodes, dtype=np.uint32)
        local[decisions] = np.arange(count, dtype=np.uint32)
        self.local = read_only(local)
        self.gain, self.scale, self.rest = np.empty(count), np.empty(count), np.empty(count)
        self.ptr = np.empty(count + 1, dtype=np.int64)
        self.to, self.share = np.empty(0, dtype=np.uint32), np.empty(0)
        self.iterations = 0

    def solve(self, max_iterations: int) -> Candidate | None:
        self.run.offer(self.proposed)
        decides = self.problem.decides
        nodes = components(self.problem)[1]
        order = unsigned(nodes[decides[nodes]])
        for _ in range(START):
            kernels.switch(*self.rows, order, self.value, self.policy, BETTER, True)
        x = self.value[decides]
        switched = 1
        while True:
            self.iterations += 1
            if self.iterations > max_iterations:
                done = f"policy iteration was not done after max_iterations={max_iterations}"
                msg, partial = f"{done}; raise it, or use solver='exact'", self.proposed()
                raise NotConvergedError(msg, iterations=self.iterations, width=np.inf, partial=partial)
            self.gather()
            if (found := self.evaluate(self.gain, x, rough=ROUGH if switched else 0.0)) is None:
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

    def proposed(self, **details: Any) -> Candidate:
        return Candidate(self.value, self.policy, max(1, self.iterations), details)

    def gather(self) -> None:
        """Write the rows of the policy side by side."""
        problem = self.problem
        to = problem.dst[self.policy[problem.decides]]
        room = int(np.where(problem.kind[to] == Kind.CHANCE, np.diff(problem.indptr)[to], 1).sum())
        if room > len(self.to):
            self.to, self.share = np.empty(room, dtype=np.uint32), np.empty(room)
        kernels.gather_rows(
            *self.rows, self.decisions, self.policy, self.local, self.value,
            self.ptr, self.to, self.share, self.gain, self.scale,
        )  # fmt: skip

    def residual(self, gain: Floats, x: Floats) -> tuple[float, float]:
        most, size = kernels.residual(self.ptr, self.to, self.share, gain, self.scale, x, self.rest)
        return float(most), float(size)

    def evaluate(
        self, gain: Floats, x: Floats, *, rough: float = 0.0, target: float = 0.0
    ) -> tuple[Floats, bool] | None:
        """Value of the policy at its decisions, and whether it is as exact as floats allow; None if none was found.

        The residual need only come down to `target`, or to a share `rough` of what it was.
        """
        left, size = self.residual(gain, x)
        target = max(target, rough * left)
        # What a residual is multiplied by, its rounding is too.
        ulp = 4 * ULP * float(self.scale.max())
        for _ in range(ROUNDS):
            finest = ulp * max(size, float(np.abs(gain).max()), 1e-300)
            if left <= max(target, finest):
                return x, left <= 4 * finest
            rows = self.ptr, self.to[: self.ptr[-1]], self.share[: self.ptr[-1]]
            aim = 0.5 * max(target, finest)
            found = compiled_bicgstab(rows, self.scale, x, self.rest, aim, STEPS, self.run.check)
            now, size = self.residual(gain, found)
            if not now < left:
                # Rounding keeps the residual from coming down further.
                return (x, True) if left <= 4 * finest else None
            x, left = found, now
        return None

    def lengths(self) -> dict[str, Floats]:
        """Return the expected number of nodes before the end under the policy, roughly."""
        problem = self.problem
        w = np.where(problem.kind == Kind.END, 0.0, 1.0)
        base = 1.0 + (problem.kind[problem.dst[self.policy[problem.decides]]] == Kind.CHANCE)
        if (found := self.evaluate(base, base * self.scale, target=0.2)) is None:
            return {}
        w[problem.decides] = found[0]
        kernels.mean_lengths(*self.rows[:4], w)
        return {"lengths": w}
