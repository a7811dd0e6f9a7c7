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
from mdpdice.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.operator import Operator, bellman, unsigned

__all__ = ["Verdict", "certify"]

EDGES_LIMIT = 2_000_000_000
"""Edges that may be read in search of a witness, a few seconds; slow chains need more and stay uncertified."""
SWEEP_COST = 20_000
"""What starting a sweep costs, in edges."""


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
    operator = bellman(problem).plays()
    found = _enclose(problem, operator, value, policy)
    if found.reason and problem.horizon is None and problem.two_player:
        found = _enclose_two_sides(problem, operator, value, policy)
    lower, upper = np.nextafter(value - found.below, -np.inf), np.nextafter(value + found.above, np.inf)
    # A node whose value is known exactly keeps it.
    lower[found.below == 0], upper[found.above == 0] = value[found.below == 0], value[found.above == 0]
    relative = (upper - lower) / np.maximum(1.0, np.abs(value))
    width = float(relative.max(initial=0.0))
    reason = found.reason
    if not reason and not width <= epsilon:
        worst = int(np.unravel_index(int(np.argmax(relative)), relative.shape)[-1])
        reason = f"the interval of {problem.describe(worst)!r} has relative width {width:.3g}, more than {epsilon:.3g}"
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


def _enclose(problem: Network, operator: Operator, value: Floats, policy: Ints) -> checking.Enclosure:
    """The interval by witnesses that serve every option."""
    w, e0 = np.zeros(value.shape), np.zeros(value.shape)
    ones = np.ones(problem.n_nodes)
    if problem.horizon is None and not _stops(problem, operator):
        return checking.enclose(problem, value, policy, w[None], e0[None])
    if problem.horizon is None:
        errors = _errors(problem, value, value, policy)
        parts = _parts(operator, None)
        _longest(operator, ones, parts, w)
        _longest(operator, errors, parts, e0)
        return checking.enclose(problem, value, policy, w[None], e0[None])
    # Stages: decisions look at the stage before, chance nodes at their own.
    parts = _parts(operator, problem.kind == Kind.CHANCE)
    decisions = np.flatnonzero(problem.decides)
    for k in range(problem.horizon + 1):
        before = max(k - 1, 0)
        errors = _errors(problem, value[k], value[before], policy[k])
        for target, costs in ((w, ones), (e0, errors)):
            if k > 0:
                _sweep(_with_costs(operator, costs), decisions, target[before], target[k])
            _longest(operator, costs, parts, target[k])
    return checking.enclose(problem, value, policy, w[None], e0[None])


def _enclose_two_sides(
    problem: Network, operator: Operator, value: Floats, policy: Ints
) -> checking.Enclosure:
    """The interval by two best responses: on each side one player keeps to the policy.

    Both sides are one network: node ``i`` of side 1 is node ``N + i``, and `pass_to` edges cross.
    """
    n, source = problem.n_nodes, problem.source
    kept, entered, sides = [], [], np.repeat([0, 1], n)
    for side in (0, 1):
        fixed = problem.decides & ((problem.kind == Kind.MAX) == (side == 0))
        usable = ~fixed[source]
        usable[policy[fixed]] = True
        kept.append(np.flatnonzero(usable))
        other = np.where(problem.sign[kept[side]] < 0, 1 - side, side)
        entered.append(problem.dst[kept[side]] + n * other)
    old = np.concatenate(kept)
    count = np.concatenate([np.bincount(source[edges], minlength=n) for edges in kept])
    doubled = attrs.evolve(
        operator,
        kind=np.tile(operator.kind, 2),
        indptr=unsigned(np.concatenate(([0], np.cumsum(count)))),
        dst=unsigned(np.concatenate(entered)),
        gain=np.ones(len(old)),
        coef=operator.coef[old],
        base=np.tile(operator.base, 2),
    )
    edges = checking.edge_values(problem, value, value)
    best, own = (np.abs(checking.operator(problem, edges, s) - value) for s in (None, policy))
    maximises = problem.kind == Kind.MAX
    off = np.where(
        np.tile(problem.decides, 2) & (np.tile(maximises, 2) == (sides == 0)),
        np.tile(own, 2),
        np.tile(best, 2),
    )
    errors = off + np.tile(_errors(problem, value, value, policy) - np.maximum(best, own), 2)
    errors[np.tile(problem.kind == Kind.END, 2)] = 0.0
    w, e0 = np.zeros(2 * n), np.zeros(2 * n)
    if _stops(problem, doubled):
        parts = _parts(doubled, None)
        _longest(doubled, np.ones(2 * n), parts, w)
        _longest(doubled, np.maximum(errors, 0.0), parts, e0)
    return checking.enclose(problem, value, policy, w.reshape(2, n), e0.reshape(2, n))


def _stops(problem: Network, operator: Operator) -> bool:
    """Whether every play of an operator stops or is discounted; else no witness exists, and sweeps would not end."""
    if problem.discount < 1:
        return True
    indptr, dst = operator.indptr.astype(np.int64), operator.dst.astype(np.int64)
    return not (graph.end_components(indptr, dst, operator.kind == Kind.CHANCE) >= 0).any()


def _errors(problem: Network, value: Floats, before: Floats, policy: Ints) -> Floats:
    """Error of one backup of every node, with room for what rounding adds."""
    edges = checking.edge_values(problem, before, value)
    off = np.abs(checking.operator(problem, edges) - value)
    off_policy = np.abs(checking.operator(problem, edges, policy) - value)
    size = np.abs(problem.reward) + np.abs(edges)
    chance = problem.kind == Kind.CHANCE
    scale = np.abs(value)
    if problem.n_edges:
        mean = np.add.reduceat(np.append(size * problem.weight, 0.0), problem.indptr[:-1])
        scale += np.where(chance, mean, np.maximum.reduceat(np.append(size, 0.0), problem.indptr[:-1]))
    degree = np.where(chance, np.diff(problem.indptr), 1)
    errors = np.maximum(off, off_policy) + 2.5 * (degree + 4) * checking.ULP * scale
    return np.where((problem.kind == Kind.END) | ~np.isfinite(errors), 0.0, errors)


def _with_costs(operator: Operator, costs: Floats) -> Operator:
    """The operator of plays, where a visit to node ``i`` costs ``costs[i]`` instead of 1."""
    indptr = operator.indptr.astype(np.int64)
    source = np.repeat(np.arange(len(costs)), indptr[1:] - indptr[:-1])
    return attrs.evolve(operator, gain=costs[source], base=np.where(operator.kind == Kind.CHANCE, costs, 0.0))


def _sweep(operator: Operator, nodes: Ints, source: Floats, target: Floats) -> None:
    from mdpdice.numerics import kernels

    policy = np.full(len(target), -1, dtype=np.int64)
    kernels.backup(*operator.edges, unsigned(nodes), source, target, policy)


def _parts(operator: Operator, among: Bools | None) -> tuple[Ints, Ints, Bools]:
    """Nodes by component, successors first, and which components are cyclic; only the nodes `among`."""
    indptr, dst = operator.indptr.astype(np.int64), operator.dst.astype(np.int64)
    keep = None if among is None else among[np.repeat(np.arange(len(among)), np.diff(indptr))] & among[dst]
    label, order, ptr = graph.ordered_components(indptr, dst, keep)
    cyclic = graph.cyclic_components(indptr, dst, label, keep)
    if among is not None:
        # Nodes left out are components of their own; here they shrink to nothing.
        inside = among[order]
        order, ptr = order[inside], np.concatenate(([0], np.cumsum(inside)))[ptr]
    return order, ptr, cyclic


def _longest(operator: Operator, costs: Floats, parts: tuple[Ints, Ints, Bools], result: Floats) -> None:
    """Write the largest expected cost of a play from every node of `parts` into `result`."""
    order, ptr, cyclic = parts
    operator = _with_costs(operator, costs)
    degree = np.diff(operator.indptr.astype(np.int64))
    enough = 0.01 * float(costs.max(initial=0.0))
    budget = EDGES_LIMIT
    start = 0
    for c in np.flatnonzero(cyclic).tolist():
        # Everything between two cyclic components is acyclic: one sweep.
        _sweep(operator, order[start : ptr[c]], result, result)
        block = order[ptr[c] : ptr[c + 1]]
        start = int(ptr[c + 1])
        size = int(degree[block].sum()) + SWEEP_COST
        while budget > 0:
            before = result[block].copy()
            _sweep(operator, block, result, result)
            budget -= size
            if not np.abs(result[block] - before).max() > enough:
                break
    _sweep(operator, order[start:], result, result)
