"""Witnesses for the certificate, and the verdict on a candidate.

`mdpdice.checking` verifies inequalities about two functions of the nodes, ``w`` and
``e0``; this module finds such functions.  Both are longest plays in a network where
every decision is made to last: ``w`` counts nodes, ``e0`` adds up the errors of one
backup.  They are found by sweeps in component order, as exactly as floats allow;
how exactly does not matter, since the checker measures what is missing.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import numpy as np

from mdpdice import checking
from mdpdice.lowerings import Lowering
from mdpdice.network import Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.operator import Operator, bellman, unsigned

__all__ = ["Verdict", "certify"]

EDGES_PER_SWEEP_LIMIT = 2_000_000_000
"""Edges that may be read in search of a witness, a few seconds; slow chains need more and stay uncertified."""


@attrs.frozen(eq=False)
class Verdict:
    """What a certificate says of a candidate.

    Parameters
    ----------
    certified : bool
        Whether every interval is narrow enough.
    lower, upper : ndarray of float64
        Interval of every node of the canonical problem, in payoff units; it
        holds the optimal value and the value of the policy.
    width : float
        Largest ``(upper - lower) / max(1, |value|)``.
    reason : str
        Why not, where it is not certified.
    """

    certified: bool
    lower: Floats
    upper: Floats
    width: float
    reason: str = ""


def certify(problem: Network, value: Floats, policy: Ints, epsilon: float) -> Verdict:
    """Judge a candidate's value and policy on a canonical problem.

    Parameters
    ----------
    problem : Network
        The canonical problem.
    value, policy : ndarray, shape (N,) or (horizon + 1, N)
        The candidate.
    epsilon : float
        Relative width that is narrow enough.
    """
    w, e0 = _witnesses(problem, value, policy)
    found = checking.enclose(problem, value, policy, w, e0)
    lower, upper = np.nextafter(value - found.radius, -np.inf), np.nextafter(value + found.radius, np.inf)
    # A node whose value is known exactly keeps it.
    sure = found.radius == 0
    lower[sure], upper[sure] = value[sure], value[sure]
    relative = (upper - lower) / np.maximum(1.0, np.abs(value))
    width = float(relative.max(initial=0.0))
    reason = found.reason
    if not reason and not width <= epsilon:
        worst = int(np.unravel_index(int(np.argmax(relative)), relative.shape)[-1])
        reason = (
            f"the interval of {problem.describe(worst)!r} has relative width {width:.3g}, more than {epsilon:.3g}"
        )
    return Verdict(not reason and width <= epsilon, lower, upper, width, reason)


def check_infinities(network: Network, lowerings: Sequence[Lowering]) -> bool:
    """Have every claim of an infinite value in a chain of reductions verified by graph look-ups."""
    for lowering in lowerings:
        if lowering.infinite is not None and not checking.check_infinite(
            network, lowering.node < 0, lowering.infinite
        ):
            return False
        network = lowering.network
    return True


def _witnesses(problem: Network, value: Floats, policy: Ints) -> tuple[Floats, Floats]:
    operator = bellman(problem).plays()
    if problem.horizon is None:
        edges = checking.edge_values(problem, value, value)
        errors = _errors(problem, value, edges, policy)
        label, order, ptr = graph.ordered_components(problem.indptr, problem.dst)
        cyclic = graph.cyclic_components(problem.indptr, problem.dst, label)
        parts = (order, ptr, cyclic)
        ones = np.ones(problem.n_nodes)
        w = _longest(problem, operator, ones, parts, None)
        e0 = _longest(problem, operator, errors, parts, None)
        return w, e0
    # Stages: decisions look at the stage before, chance nodes at their own.
    chance = problem.kind == Kind.CHANCE
    keep = chance[problem.source]
    label, order, ptr = graph.ordered_components(problem.indptr, problem.dst, keep)
    cyclic = graph.cyclic_components(problem.indptr, problem.dst, label, keep)
    decisions = np.flatnonzero(problem.decides)
    w, e0 = np.zeros(value.shape), np.zeros(value.shape)
    for k in range(problem.horizon + 1):
        before = max(k - 1, 0)
        edges = checking.edge_values(problem, value[before], value[k])
        errors = _errors(problem, value[k], edges, policy[k])
        for target, costs in ((w, np.ones(problem.n_nodes)), (e0, errors)):
            if k > 0:
                _sweep(_with_costs(operator, problem, costs), decisions, target[before], target[k])
            target[k] = _longest(problem, operator, costs, (order, ptr, cyclic), target[k])
    return w, e0


def _errors(problem: Network, value: Floats, edges: Floats, policy: Ints) -> Floats:
    """Error of one backup of every node, with room for what rounding adds."""
    off = np.abs(checking.operator(problem, edges) - value)
    off_policy = np.abs(checking.operator(problem, edges, policy) - value)
    ahead = np.abs(problem.reward) + np.abs(edges)
    pad = np.append(ahead * problem.weight, 0.0)
    chance = problem.kind == Kind.CHANCE
    starts = problem.indptr[:-1]
    mean = np.add.reduceat(pad, starts) if problem.n_edges else pad[:1]
    scale = np.abs(value) + np.where(chance, mean, np.maximum.reduceat(np.append(ahead, 0.0), starts))
    degree = np.where(chance, np.diff(problem.indptr), 1)
    errors = np.maximum(off, off_policy) + 2.5 * (degree + 4) * checking.ULP * scale
    return np.where((problem.kind == Kind.END) | ~np.isfinite(errors), 0.0, errors)


def _with_costs(operator: Operator, problem: Network, costs: Floats) -> Operator:
    """The operator of plays, where a visit to node ``i`` costs ``costs[i]`` instead of 1."""
    base = np.where(problem.kind == Kind.CHANCE, costs, 0.0)
    return attrs.evolve(operator, gain=costs[problem.source], base=base)


def _sweep(operator: Operator, nodes: Ints, source: Floats, target: Floats) -> None:
    from mdpdice.numerics import kernels

    policy = np.full(len(target), -1, dtype=np.int64)
    kernels.backup(*operator.edges, unsigned(nodes), source, target, policy)


def _longest(
    problem: Network,
    operator: Operator,
    costs: Floats,
    parts: tuple[Ints, Ints, Floats],
    fixed: Floats | None,
) -> Floats:
    """Largest expected cost of a play from every node; `fixed` gives the decisions of a stage."""
    order, ptr, cyclic = parts
    operator = _with_costs(operator, problem, costs)
    result = np.zeros(problem.n_nodes) if fixed is None else fixed
    enough = 0.01 * float(costs.max(initial=0.0))
    budget = EDGES_PER_SWEEP_LIMIT
    nodes = order if fixed is None else order[problem.kind[order] == Kind.CHANCE]
    if not cyclic.any():
        _sweep(operator, nodes, result, result)
        return result
    degree = np.diff(problem.indptr)
    start = 0
    for c in np.flatnonzero(cyclic).tolist():
        # Everything between two cyclic components is acyclic: one sweep.
        _sweep(operator, order[start : ptr[c]], result, result)
        block = order[ptr[c] : ptr[c + 1]]
        start = int(ptr[c + 1])
        size = int(degree[block].sum()) + 1
        while budget > 0:
            before = result[block].copy()
            _sweep(operator, block, result, result)
            budget -= size
            if not np.abs(result[block] - before).max() > enough:
                break
    _sweep(operator, order[start:], result, result)
    return result
