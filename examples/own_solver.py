"""A solver of your own: policy iteration in twenty-five lines, used by passing an instance.

Howard's algorithm: solve the linear equations of a policy, then change every decision whose best option
is better than its value; stop when there is none.  The solver only proposes; `solve` certifies what
it gets, so a mistake below costs the certificate and never the truth.
"""

import itertools
from typing import ClassVar

import attrs
import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from mdpdice import Candidate, ClassicMDP, Dist, Feature, Network, Run, cross_check, solve
from mdpdice.backend import traced
from mdpdice.errors import ConformanceError
from mdpdice.testing import check_solver


@attrs.frozen
class PolicyIteration:
    """Howard's policy iteration, from the policy that takes the first option everywhere.

    Parameters
    ----------
    slack : float
        How much better another option must be.
    """

    name: ClassVar[str] = "howard"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.CYCLIC, Feature.DISCOUNT})

    slack: float = 1e-10

    @classmethod
    def available(cls) -> bool:
        return True

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        source, dst, decides = problem.source, problem.dst, problem.decides
        gain = problem.weight * problem.reward
        coef = problem.weight * np.where(problem.step, float(problem.discount), 1.0)
        policy = np.where(decides, problem.indptr[:-1], -1)
        for rounds in itertools.count(1):
            run.check()
            used = ~decides[source]
            used[policy[decides]] = True
            shape = (problem.n_nodes, problem.n_nodes)
            moves = csc_array((coef[used], (source[used], dst[used])), shape=shape)
            paid = problem.payoff + np.bincount(source[used], gain[used], minlength=problem.n_nodes)
            value = splu(csc_array(eye_array(problem.n_nodes) - moves)).solve(paid)
            options = np.where(decides[source], gain + coef * value[dst], -np.inf)
            best = np.maximum.reduceat(np.append(options, -np.inf), problem.indptr[:-1])
            better = (options == best[source]) & (options > value[source] + self.slack)
            if not better.any():
                return Candidate(value, policy, iterations=rounds)
            policy[source[better]] = np.flatnonzero(better)
        raise AssertionError  # itertools.count does not end


@attrs.frozen
class Hasty(PolicyIteration):
    """The same with a mistake: it stops after the first round."""

    name: ClassVar[str] = "hasty"

    slack: float = np.inf


@attrs.frozen
class Machine(ClassicMDP[int, str]):
    """Replace a machine that wears out: the state is its wear, costs are negative rewards."""

    worst: int = 5
    discount: float = 0.95

    def initial(self) -> int:
        return 0

    def actions(self, wear: int) -> list[str]:
        return ["keep", "replace"]

    def transition(self, wear: int, action: str) -> Dist[int]:
        before = 0 if action == "replace" else wear
        return Dist({before: 3, min(before + 1, self.worst): 2})

    def reward(self, wear: int, action: str, target: int) -> int:
        return -10 if action == "replace" else -wear * wear


def main() -> None:
    solution = solve(Machine(), solver=PolicyIteration())
    print(solution, f"after {solution.iterations} rounds")
    print("replace from wear", min(wear for wear in range(6) if solution.action(wear) == "replace"))
    print()
    print(cross_check(Machine(), solvers=["value-iteration", PolicyIteration()]))
    print()
    print(solve(Machine(), solver=Hasty()))
    print(cross_check(Machine(), solvers=["value-iteration", Hasty()]))
    print()
    # What a machine that wears out does not show: the kit has a model for it.
    try:
        check_solver(PolicyIteration())
    except ConformanceError as error:
        print(error)


if __name__ == "__main__":
    main()
