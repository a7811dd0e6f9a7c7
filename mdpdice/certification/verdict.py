"""The verdict on a candidate: bounds and witnesses are found, and verified by code that trusts neither.

Bounds come from `mdpdice.certification.residual_bounds` for large problems, and from
`mdpdice.certification.summed_bounds` where those are too wide and for all others.
`mdpdice.certification.checking.inequalities` and the modules beside it verify them, and claims of infinite values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np

from mdpdice.certification import residual_bounds, summed_bounds
from mdpdice.certification.checking import exact as checking_exact
from mdpdice.certification.checking import inequalities
from mdpdice.certification.checking import infinite as checking_infinite
from mdpdice.certification.checking import large as checking_large
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics.graph import attract, reachable
from mdpdice.numerics.regions import can_reach, settling_ranks
from mdpdice.objectives.reductions import Lowering

AT_ONCE = 1 << 14
"""Nodes that are looked at together: what was just read is at hand."""


@attrs.frozen(eq=False)
class Verdict:
    """What a certificate says of a candidate.

    `lower` and `upper` are the interval of every node of the canonical problem, in payoff units; it holds the optimal
    value, and the policy is worth at least `lower`.
    """

    certified: bool  # every interval is narrow enough
    lower: Floats
    upper: Floats
    width: float  # largest (upper - lower) / max(1, |value|)
    reason: str = ""  # why not, where it is not certified


def certify(
    problem: Network,
    value: Floats,
    policy: Ints,
    epsilon: float,
    check: Callable[[], None] = lambda: None,
    details: Mapping[str, Any] = MappingProxyType({}),
) -> Verdict:
    """Judge a candidate's value and policy, of shape (N,) or (horizon + 1, N), on a canonical problem.

    `epsilon` is the relative width that is narrow enough; `check` is called before every sweep, and may raise to give
    up.  `details` are what a solver returns with its candidate: its bounds, "lower" and "upper", and expected
    "lengths" of plays are tried in large problems; nothing rests on them.
    """
    reason, bounds = "", None
    if residual_bounds.is_large(problem):
        bounds = _large(problem, value, policy, epsilon, check, details)
    if bounds is None:
        bounds, witness = summed_bounds.find_bounds(problem, value, policy, check)
        reason = inequalities.verify(problem, policy, bounds, witness)
    if reason:
        nothing = np.full(value.shape, np.inf)
        return Verdict(False, -nothing, nothing, np.inf, reason)
    # They are nobody else's, so the lower ones need no array of their own.
    lower, upper = bounds[..., : problem.n_nodes], bounds[..., problem.n_nodes :]
    # Subtracted from 0, so that no -0.0 comes out.
    np.subtract(0.0, lower, out=lower)
    width, worst = 0.0, 0
    for first, claimed, low, high in _pieces(value, lower, upper):
        nodes = claimed.shape[-1]
        # The returned value must lie in its own interval; written so that NaN fails.
        outside = ~((low <= claimed) & (claimed <= high))
        if outside.any():
            where = problem.describe(first + int(np.argmax(outside)) % nodes)
            reason = f"the value of {where!r} is not in its interval"
            return Verdict(False, lower, upper, np.inf, reason)
        relative = (high - low) / np.maximum(1.0, np.abs(claimed))
        if relative.max(initial=0.0) > width:
            worst = int(np.argmax(relative))
            width, worst = float(relative.flat[worst]), first + worst % nodes
    if not width <= epsilon:
        where = problem.describe(worst)
        reason = f"the interval of {where!r} has relative width {width:.3g}, more than {epsilon:.3g}"
    return Verdict(not reason, lower, upper, width, reason)


def _pieces(*arrays: Floats) -> Iterator[tuple[Any, ...]]:
    """Yield the arrays piece by piece, each with its first node: some of one stage, or of several small ones all."""
    tables = [np.atleast_2d(array) for array in arrays]
    stages, n = tables[0].shape
    at_once = 1 + AT_ONCE // (1 + n)
    for stage in range(0, stages, at_once):
        for first in range(0, n, AT_ONCE):
            yield first, *(table[stage : stage + at_once, first : first + AT_ONCE] for table in tables)


def _large(
    problem: Network, value: Floats, policy: Ints, epsilon: float, check: Callable[[], None], details: Mapping[str, Any]
) -> Floats | None:
    """Bounds of a large problem, the cheapest that `checking.large` verified; None if there are none."""
    finders: list[Callable[[], tuple[Floats, inequalities.Witness] | None]]
    if problem.horizon is None:
        lower, upper, lengths = (details.get(name) for name in ("lower", "upper", "lengths"))
        finders = [
            lambda: residual_bounds.claimed_bounds(problem, value, lower, upper, epsilon),
            lambda: residual_bounds.find_bounds(problem, value, policy, epsilon, check, lengths),
        ]
    else:
        finders = [lambda: residual_bounds.find_stages(problem, value, policy, check)]
    for find in finders:
        found = find()
        if found is not None and not checking_large.verify_large(problem, policy, *found):
            return found[0]
    return None


def certify_exact(
    problem: Network, values: Sequence[Any], value: Floats, policy: Ints, check: Callable[[], None] = lambda: None
) -> Verdict:
    """Judge a candidate that claims exact `values`, fractions (with a horizon by stage), in rational arithmetic.

    Its floats, `value`, must be neighbours of them; `check` is called before every pass, and may raise to give up.
    """
    flat = problem.horizon is None
    rows = [values] if flat else list(values)
    choices = np.atleast_2d(policy)
    witness = summed_bounds.find_witness(problem, choices[-1])
    lower, upper = np.atleast_2d(value).copy(), np.atleast_2d(value).copy()
    check()
    try:
        reason = checking_exact.verify_exact(problem, rows, choices, witness)
        if not reason:
            for row, low, high in zip(rows, lower, upper, strict=True):
                enclose_exactly(row, low, high)
    except (TypeError, IndexError, ValueError, AttributeError, OverflowError) as error:
        reason = f"the exact values are not numbers of the problem: {error}"
    if flat:
        lower, upper = lower[0], upper[0]
    if not reason and not ((lower <= value) & (value <= upper)).all():
        reason = "the floats are not those of the exact values"
    width = float(((upper - lower) / np.maximum(1.0, np.abs(value))).max(initial=0.0))
    return Verdict(not reason, lower, upper, width, reason)


def enclose_exactly(row: Sequence[Fraction], low: Floats, high: Floats) -> None:
    """Write the floats next to exact values on both sides, the same float where it is exact."""
    for at, exact in enumerate(row):
        near = float(exact)
        (n, d), (numerator, denominator) = near.as_integer_ratio(), exact.as_integer_ratio()
        difference = n * denominator - numerator * d
        low[at] = near if difference <= 0 else math.nextafter(near, -math.inf)
        high[at] = near if difference >= 0 else math.nextafter(near, math.inf)


def check_infinities(network: Network, lowerings: Sequence[Lowering]) -> bool:
    """Have every claim of an infinite value in a chain of reductions verified by graph look-ups."""
    for lowering in lowerings:
        if lowering.infinite is not None:
            claimed = lowering.node < 0
            if lowering.because in ("collects", "postpones"):
                trap, rank = _collecting(network, claimed, lowering.infinite)
                confirmed = checking_infinite.check_infinite(network, claimed, lowering.infinite, trap, rank)
            elif lowering.because == "pays":
                chance = network.kind == Kind.CHANCE
                losing = _losing(network.source, network.dst, network.reward, chance, claimed)
                confirmed = checking_infinite.check_lost(network, claimed, losing)
            elif lowering.because == "won":
                lost = np.zeros_like(claimed) if lowering.lost is None else lowering.lost
                claim = claimed & ~lost, claimed & lost, lowering.infinite
                losing = _losing(*checking_infinite.losing_side(network, *claim))
                confirmed = checking_infinite.check_won(network, *claim, losing)
            elif lowering.because == "missed by all":
                ranks = settling_ranks(network.indptr, network.dst, network.kind == Kind.CHANCE, ~claimed)
                confirmed = checking_infinite.check_missed_by_all(network, claimed, *ranks)
            else:
                confirmed = checking_infinite.check_missed(network, claimed, lowering.infinite)
            if not confirmed:
                return False
        network = lowering.network
    return True


def _collecting(network: Network, infinite: Bools, policy: Ints) -> tuple[Bools, Ints]:
    """Where the policy stays for ever and never pays, and the distance of every node from where it collects there."""
    source, dst = network.source, network.dst
    taken = ~network.decides[source]
    taken[policy[network.decides & (policy >= 0)]] = True
    taken &= infinite[source]
    pays = np.zeros(network.n_nodes, dtype=bool)
    pays[source[taken & (network.reward < 0)]] = True
    trap = infinite & ~can_reach(network, ~infinite | pays, taken)
    rank = np.full(network.n_nodes, -1)
    rank[source[taken & trap[source] & (network.reward > 0)]] = 0
    # One successor is enough for a rank, whatever the kind of the node.
    attract(source, dst, np.ones(network.n_nodes, dtype=bool), rank, taken)
    return trap, rank


def _losing(source: Ints, dst: Ints, reward: Floats, chance: Bools, lost: Bools) -> checking_infinite.Losing:
    """Return what shows that plays from some nodes pay without end and never collect without end."""
    n = len(lost)
    indptr = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=n))))
    misses = settling_ranks(indptr, dst, chance, ~lost)
    gathers, gathered = settling_ranks(indptr, dst, chance, np.zeros(n, dtype=bool))
    gathers = np.where(reachable(indptr, dst, np.flatnonzero(lost)), gathers, -1)
    free = lost[source] & (reward >= 0)
    pays_now = np.zeros(n, dtype=bool)
    pays_now[source[reward < 0]] = True
    waits = np.zeros(n, dtype=bool)
    waits[source[free]] = True
    pays = np.where(lost & pays_now & (chance | ~waits), 0, -1)
    attract(source, dst, chance, pays, free)
    return checking_infinite.Losing(*misses, pays, gathers, gathered)
