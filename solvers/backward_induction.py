"""Backward induction: one sweep, successors first.

The page "How the solvers work" of the reference (``docs/reference/methods.rst``) has the problem, the method, what it
guarantees, and the literature.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from mdpdice.backend import AlwaysAvailable, Candidate, Feature, Run, traced
from mdpdice.networks.cycles import cycle_error
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.operator import Operator, bellman, unsigned

CHUNK = 1 << 18
"""Nodes between two checks of the time."""


@attrs.frozen
class BackwardInduction(AlwaysAvailable):
    """One sweep in reverse order of play; with a horizon, one per stage.

    Raises
    ------
    CycleError
        The network has a cycle and no horizon, or a cycle of chance nodes alone.

    Examples
    --------
    Stop with 2, or go on for a fair chance of 6:

    >>> import numpy as np
    >>> from mdpdice.backend import Run
    >>> from mdpdice.networks.network import Network
    >>> game = Network(
    ...     kind=[1, 3, 0, 0, 0], indptr=[0, 2, 4, 4, 4, 4], dst=[2, 1, 3, 4], weight=[1, 1, 0.5, 0.5],
    ...     reward=np.zeros(4), sign=np.ones(4), step=np.zeros(4), payoff=[0, 0, 2, 6, 0], start=0)
    >>> answer = BackwardInduction().solve(game, Run())
    >>> float(answer.value[0]), int(answer.policy[0])
    (3.0, 1)
    """

    name: ClassVar[str] = "backward-induction"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.DISCOUNT, Feature.TWO_PLAYER, Feature.HORIZON})

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        """Propose the value and the policy of an acyclic problem, or of one with a horizon."""
        if problem.horizon is not None:
            return _stages(problem, problem.horizon, run)
        order = _backward_order(problem)
        value, policy = np.zeros(problem.n_nodes), np.full(problem.n_nodes, -1, dtype=np.int64)
        run.offer(lambda: Candidate(value, policy))
        _sweep(bellman(problem), order, value, value, policy, run)
        return Candidate(value, policy, iterations=1)


def _stages(problem: Network, horizon: int, run: Run) -> Candidate:
    from mdpdice.numerics.kernels import bellman as kernels

    # Within one stage only chance nodes read each other; the decisions they lead to are known before.
    order = _backward_order(problem, (problem.kind == Kind.CHANCE)[problem.source])
    chance = order[problem.kind[order] == Kind.CHANCE]
    decisions = np.flatnonzero(problem.decides)
    operator = bellman(problem)
    value = np.zeros((horizon + 1, problem.n_nodes))
    value[:, problem.kind == Kind.END] = problem.payoff[problem.kind == Kind.END]
    policy = np.full((horizon + 1, problem.n_nodes), -1, dtype=np.int64)
    run.offer(lambda: Candidate(value, policy))
    if problem.n_nodes >= CHUNK:
        for k in range(horizon + 1):
            if k > 0:
                _sweep(operator, decisions, value[k - 1], value[k], policy[k], run)
            _sweep(operator, chance, value[k], value[k], policy[k], run)
            run.tell("solve", done=k, total=horizon)
        return Candidate(value, policy, iterations=horizon + 1)
    # Stages of few nodes are many, and calling a kernel for each takes longer than they do.
    at_once = CHUNK // (1 + problem.n_nodes)
    for first in range(0, horizon + 1, at_once):
        run.check()
        after = min(first + at_once, horizon + 1)
        kernels.backup_stages(*operator.edges, unsigned(decisions), unsigned(chance), value, policy, first, after)
        run.tell("solve", done=after - 1, total=horizon)
    return Candidate(value, policy, iterations=horizon + 1)


def _sweep(operator: Operator, nodes: Ints, source: Floats, value: Floats, policy: Ints, run: Run) -> None:
    from mdpdice.numerics.kernels import bellman as kernels

    for first in range(0, len(nodes), CHUNK):
        run.check()
        kernels.backup(*operator.edges, unsigned(nodes[first : first + CHUNK]), source, value, policy)
        run.tell("solve", nodes=min(first + CHUNK, len(nodes)), of=len(nodes))


def _backward_order(problem: Network, keep: Bools | None = None) -> Ints:
    """Nodes with every successor (by the edges in `keep`) before them."""
    label, order, _ = graph.ordered_components(problem.indptr, problem.dst, keep)
    if graph.cyclic_components(problem.indptr, problem.dst, label, keep).any():
        raise cycle_error("backward induction", problem, graph.find_cycle(problem.indptr, problem.dst, keep))
    return order
