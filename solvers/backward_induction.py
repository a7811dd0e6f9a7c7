r"""Backward induction: one sweep, successors first.

Problem
-------
A network with end nodes :math:`Z`, decisions :math:`D` and chance nodes :math:`C`.
An edge :math:`e` from :math:`i` to :math:`j` is worth

.. math::  q_e(v) = r_e + \gamma^{s_e} \sigma_e v(j),

with reward :math:`r_e`, discount :math:`\gamma` where the edge takes a step
(:math:`s_e = 1`) and sign :math:`\sigma_e = -1` where the players change sides.  The
value is the solution of Bellman's equation

.. math::
    v(i) = \text{payoff}(i),\ i \in Z; \qquad
    v(i) = \max_e q_e(v) \text{ or } \min_e q_e(v),\ i \in D; \qquad
    v(i) = \sum_e w_e q_e(v),\ i \in C.

Without cycles the equation is an explicit formula once the successors of a node
are known (Zermelo 1913; Bellman 1957).  So the nodes are taken in the order of
their strong components and each is computed once, in time linear in the edges.

Horizon
-------
With a horizon of :math:`n` decisions, :math:`v_k` is the value with :math:`k`
decisions left: :math:`v_0 = 0` at decisions, where the play is cut off; for
:math:`k \ge 1` a decision reads :math:`v_{k-1}` and a chance node reads
:math:`v_k`.  Cycles through decisions are then no obstacle, and one run stores
every stage :math:`0, \dots, n` with its policy.

Lattices
--------
A game with counters is swept layer by layer, see `mdpdice.lattices.layer_solver`.

Stopping rule and guarantee
---------------------------
The sweep ends after the last node.  Apart from rounding, of the order of
:math:`2^{-52}` per node of the longest play and relative to the largest value met
on it, the result is the value.  A tie goes to the first edge.

References
----------
R. Bellman, *Dynamic Programming*, Princeton University Press 1957.

M. L. Puterman, *Markov Decision Processes*, Wiley 1994, chapter 4.
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

__all__ = ["BackwardInduction"]

CHUNK = 1 << 18
"""Nodes between two looks at the clock."""


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
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.DISCOUNT, Feature.TWO_PLAYER, Feature.HORIZON}
    )

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
        kernels.backup_stages(
            *operator.edges, unsigned(decisions), unsigned(chance), value, policy, first, after
        )
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
