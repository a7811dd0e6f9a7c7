"""Howard's policy iteration: solve the equations of a policy, improve it wherever that helps, until nothing does.

The first policy takes shortest ways to an end, so its equations have a solution, and so have those of every
better policy.

R. A. Howard, *Dynamic Programming and Markov Processes*, MIT Press 1960.
"""

import itertools
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import splu

from mdpdice import Candidate, Feature, Kind, Network, Run
from mdpdice.backend import traced

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@attrs.frozen
class Howard:
    """Policy iteration with sparse factorisations.

    Parameters
    ----------
    slack : float
        How much better another option must be, relative to the numbers that are added.
    """

    name: ClassVar[str] = "howard"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.CYCLIC, Feature.DISCOUNT})

    slack: float = 1e-12

    @classmethod
    def available(cls) -> bool:
        return True

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        source, dst, decides = problem.source, problem.dst, problem.decides
        factor = np.where(problem.step, float(problem.discount), 1.0)
        policy = shortest_ways(problem)
        for rounds in itertools.count(1):
            run.check()
            value = self.evaluate(problem, policy)
            worth = problem.reward + factor * value[dst]
            room = self.slack * (1.0 + np.abs(problem.reward) + np.abs(value[dst]) + np.abs(value[source]))
            better = decides[source] & (worth > value[source] + room)
            if not better.any():
                # Ends are left as they are, to the last bit.
                ends = problem.kind == Kind.END
                return Candidate(np.where(ends, problem.payoff, value), policy, iterations=rounds)
            # Of several better options the best; among equals the first, which is written last.
            edges = np.flatnonzero(better)
            edges = edges[np.lexsort((-edges, worth[edges]))]
            policy = policy.copy()
            for edge in edges.tolist():
                policy[source[edge]] = edge
        raise AssertionError  # itertools.count does not end

    def evaluate(self, problem: Network, policy: Ints) -> Floats:
        """Value of every node under a policy."""
        source, decides = problem.source, problem.decides
        used = ~decides[source]
        used[policy[decides]] = True
        factor = np.where(problem.step, float(problem.discount), 1.0)
        shape = (problem.n_nodes, problem.n_nodes)
        moves = csc_array(((problem.weight * factor)[used], (source[used], problem.dst[used])), shape=shape)
        gain = np.bincount(source[used], (problem.weight * problem.reward)[used], minlength=problem.n_nodes)
        found: Floats = splu(csc_array(eye_array(problem.n_nodes) - moves)).solve(problem.payoff + gain)
        return found


def shortest_ways(problem: Network) -> Ints:
    """The policy that takes, in every decision, an edge on a way to an end with as few edges as possible."""
    policy = np.where(problem.decides, problem.indptr[:-1], -1)
    near = problem.kind == Kind.END
    while True:
        steps = np.flatnonzero((problem.weight > 0) & near[problem.dst] & ~near[problem.source])[::-1]
        if not len(steps):
            return policy
        chosen = problem.decides[problem.source[steps]]
        policy[problem.source[steps[chosen]]] = steps[chosen]
        near = near.copy()
        near[problem.source[steps]] = True
