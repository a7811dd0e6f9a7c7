"""Newton's method for networks whose components plays come back to through one node, for `value-iteration`.

A race in turns is of this kind, and every acyclic network: a component is the scores, and a play comes back to it when
a turn has earned nothing.  Sweeps would bring the value of that one node closer and closer to its limit.  Here the
sweep also finds how much of a change of it comes back, and so, after two or three sweeps, the limit itself.

The bounds are those of `mdpdice.solvers.value_iteration`, made of the length of the longest play.
"""

from __future__ import annotations

import numpy as np

from mdpdice.backend import Candidate, Run
from mdpdice.networks.network import Network
from mdpdice.numerics.graph import SEARCH_ORDER_UP_TO_NODES
from mdpdice.numerics.operator import unsigned
from mdpdice.numerics.regions import FAST_PATH_FROM_EDGES, components, ending_ranks, largest_component

BUDGET = 1 << 23
"""Work between two checks of the time, in edges: less than a tenth of a second."""
SLACK = 1.07
"""Widens the bounds a little, for the rounding of their own computation."""


def propose(problem: Network, run: Run) -> tuple[Candidate, float] | None:
    """Value, policy and bounds, and how wide they are; None if the problem is not of this kind."""
    from mdpdice.numerics.kernels import newton as kernels

    if problem.discount != 1 or problem.horizon is not None or problem.n_edges < FAST_PATH_FROM_EDGES:
        return None
    if ending_ranks(problem) is None or largest_component(problem) > SEARCH_ORDER_UP_TO_NODES:
        return None
    n = problem.n_nodes
    _, order, ptr = components(problem)
    rows = (
        problem.kind, unsigned(problem.indptr), unsigned(problem.dst), problem.weight, problem.reward, problem.sign,
        problem.payoff, unsigned(order), unsigned(ptr),
    )  # fmt: skip
    # Side by side, since what is read of a node is read together.
    state = np.full(4 * n, -1.0)
    policy = np.full(n, -1, dtype=np.int64)
    at, number = np.zeros(2, dtype=np.int64), np.array([-np.inf, np.inf, -np.inf, 0.0, 0.0])

    run.offer(lambda: Candidate(np.where(state[2::4] < 0, 0.0, state[0::4]), policy, max(1, int(at[1]))))
    while at[0] < len(ptr) - 1:
        run.check()
        if not kernels.returns(*rows, BUDGET, state, policy, at, number):
            return None
        run.tell("solve", components=int(at[0]), of=len(ptr) - 1, sweeps=int(at[1]))
    most, least, stretch = number[:3].tolist()
    if not stretch <= 0.98:
        return None
    # Payoffs that no float equals are rounded, and every value is off by no more than they are.
    room = 2.0**-53 * float(np.abs(problem.payoff).max()) if problem.exact_payoffs else 0.0
    scale = max(0.0, most, -least) / (1.0 - stretch)
    value, lengths = state[0::4].copy(), state[2::4].copy()
    error = SLACK * scale * lengths + SLACK * room
    details = {"lower": value - error, "upper": value + error, "lengths": lengths}
    width = ((details["upper"] - details["lower"]) / np.maximum(1.0, np.abs(value))).max(initial=0.0)
    return Candidate(value, policy, max(1, int(at[1])), details), float(width)
