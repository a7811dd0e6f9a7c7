"""Backward induction: one sweep, successors first.

The page "How the solvers work" of the reference (``docs/reference/methods.rst``) has the problem, the method, what it
guarantees, and the literature.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from mdpdice.backend import AlwaysAvailable, Candidate, Feature, Run, traced
from mdpdice.networks.cycles import cycle_error
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.kernels import bellman as kernels
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
    """

    name: ClassVar[str] = "backward-induction"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.DISCOUNT, Feature.TWO_PLAYER, Feature.HORIZON, Feature.CHECKPOINT}
    )

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        """Propose the value and the policy of an acyclic problem, or of one with a horizon."""
        if problem.horizon is not None:
            return _stages(problem, problem.horizon, run)
        order = _backward_order(problem)
        value, policy = np.zeros(problem.n_nodes), np.full(problem.n_nodes, -1, dtype=np.int64)
        run.offer(lambda: Candidate(value, policy))
        done = 0
        for step in run.steps():
            nodes = order[done : done + CHUNK]
            value[nodes], policy[nodes] = step["value"], step["policy"]
            done += CHUNK
        _sweep(bellman(problem), order[done:], value, value, policy, run, keep=True)
        return Candidate(value, policy, iterations=1)


def _stages(problem: Network, horizon: int, run: Run) -> Candidate:
    # Within one stage only chance nodes read each other; the decisions they lead to are known before.
    order = _backward_order(problem, (problem.kind == Kind.CHANCE)[problem.source])
    chance = order[problem.kind[order] == Kind.CHANCE]
    decisions = np.flatnonzero(problem.decides)
    operator = bellman(problem)
    value = np.zeros((horizon + 1, problem.n_nodes))
    value[:, problem.kind == Kind.END] = problem.payoff[problem.kind == Kind.END]
    policy = np.full((horizon + 1, problem.n_nodes), -1, dtype=np.int64)
    run.offer(lambda: Candidate(value, policy))
    # Stages of few nodes are many, and calling a kernel for each takes longer than they do.
    at_once = max(1, CHUNK // (1 + problem.n_nodes))
    done = 0
    for step in run.steps():
        value[done : done + at_once], policy[done : done + at_once] = step["value"], step["policy"]
        done += at_once
    for first in range(done, horizon + 1, at_once):
        run.check()
        after = min(first + at_once, horizon + 1)
        if problem.n_nodes < CHUNK:
            kernels.backup_stages(operator.rows, unsigned(decisions), unsigned(chance), value, policy, first, after)
        else:
            if first > 0:
                _sweep(operator, decisions, value[first - 1], value[first], policy[first], run)
            _sweep(operator, chance, value[first], value[first], policy[first], run)
        run.step(_rows, value, policy, slice(first, after))
        run.tell("solve", done=after - 1, total=horizon)
    return Candidate(value, policy, iterations=horizon + 1)


def _sweep(
    operator: Operator, nodes: Ints, source: Floats, value: Floats, policy: Ints, run: Run, *, keep: bool = False
) -> None:
    for first in range(0, len(nodes), CHUNK):
        run.check()
        these = nodes[first : first + CHUNK]
        kernels.backup(operator.rows, unsigned(these), source, value, policy)
        if keep:
            run.step(_rows, value, policy, these)
        run.tell("solve", nodes=min(first + CHUNK, len(nodes)), of=len(nodes))


def _rows(value: Floats, policy: Ints, at: Any) -> dict[str, Any]:
    return {"value": value[at], "policy": policy[at]}


def _backward_order(problem: Network, keep: Bools | None = None) -> Ints:
    """Nodes with every successor (by the edges in `keep`) before them."""
    label, order, _ = graph.ordered_components(problem.indptr, problem.dst, keep)
    if graph.cyclic_components(problem.indptr, problem.dst, label, keep).any():
        raise cycle_error("backward induction", problem, graph.find_cycle(problem.indptr, problem.dst, keep))
    return order
