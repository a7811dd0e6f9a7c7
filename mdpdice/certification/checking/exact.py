"""The exact certificate: Bellman's equation in rational arithmetic.

With ``V = T V`` and ``V = T_s V`` exactly, ``V`` and ``-V`` satisfy the inequalities of the
theorem of `mdpdice.certification.checking.inequalities` on the two sides of the network of best replies without
any room for rounding.  What is left to check is that endless plays cannot escape
it; then the policy is optimal, and worth exactly ``V``.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import attrs
import numpy as np

from mdpdice.certification.checking.inequalities import Witness, best_replies, endless_plays_lose
from mdpdice.networks.network import Ints, Kind, Network

Pair: TypeAlias = tuple[int, int]
"""Numerator and positive denominator."""


def verify_exact(problem: Network, values: Sequence[Sequence[Fraction]], policy: Ints, witness: Witness) -> str:
    """Verify that the values are exactly optimal and that the policy attains them.

    Parameters
    ----------
    problem : Network
        The canonical problem.
    values : sequence of sequences of Fraction
        One row of N values, or one per stage with a horizon.
    policy : ndarray of int64, shape (rows, N)
        The claimed policy.
    witness : Witness
        As for `mdpdice.certification.checking.inequalities.verify`.

    Returns
    -------
    str
        Empty if the claims hold, else what does not.
    """
    flat = problem.horizon is None
    if len(values) != (1 if flat else problem.horizon + 1) or problem.total != 0:  # type: ignore[operator]
        return "the exact values do not fit the problem"
    numbers = _Numbers.of(problem)
    ahead: list[Pair] = []
    for k, row in enumerate(values):
        if len(row) != problem.n_nodes:
            return "the exact values do not fit the problem"
        here = [_pair(value) for value in row]
        before = here if flat or k == 0 else ahead
        bad = _first_wrong(problem, numbers, here, before, policy[k], cut=not flat and k == 0)
        if bad is not None:
            return f"Bellman's equation does not hold exactly in {problem.describe(bad)!r}"
        ahead = here
        if problem.discount == 1:
            replies = best_replies(problem, policy[k], last=not flat and k == 0)
            live = ~replies.end if flat else replies.chance
            # As floats some would be 0 that are not.
            exact = np.array([*row, None], dtype=object)[:-1]
            if not endless_plays_lose(replies, live, np.concatenate((-exact, exact)), witness):
                return "some play may never end"
    return ""


@attrs.frozen(eq=False)
class _Numbers:
    """The numbers of a problem as whole numbers.

    `weight` is in proportion to the probabilities of a chance node, `reward` numerator and denominator, and
    `factor` numerator and denominator of the signed discount of an edge.
    """

    weight: list[int]
    reward: list[Pair]
    factor: list[Pair]

    @staticmethod
    def of(problem: Network) -> _Numbers:
        parts = _pairs(problem.numerator.tolist())
        if not all(denominator == 1 for _, denominator in parts):
            bounds = problem.indptr.tolist()
            for first, last in itertools.pairwise(bounds):
                whole = math.lcm(*[d for _, d in parts[first:last]])
                parts[first:last] = [(n * (whole // d), 1) for n, d in parts[first:last]]
        reward = _pairs(problem.reward.tolist())
        for edge, exact in problem.exact_rewards.items():
            reward[edge] = _pair(exact)
        up, down = problem.discount.as_integer_ratio()
        pairs = zip(problem.sign.tolist(), problem.step.tolist(), strict=True)
        factor = [(sign * up, down) if step else (sign, 1) for sign, step in pairs]
        return _Numbers([n for n, _ in parts], reward, factor)

    def worth(self, edge: int, ahead: Pair) -> Pair:
        """Reward and what comes after it, not reduced: a common factor would cost more than it saves."""
        (r, rd), (f, fd), (n, d) = self.reward[edge], self.factor[edge], ahead
        return (r * fd * d + f * n * rd, rd * fd * d) if r else (f * n, fd * d)


def _pair(number: Any) -> Pair:
    n, d = number.as_integer_ratio()
    return int(n), int(d)


def _pairs(numbers: list[Any]) -> list[Pair]:
    """Return the pairs of numbers of which many are equal."""
    known = {number: _pair(number) for number in set(numbers)}
    return [known[number] for number in numbers]


def _first_wrong(
    problem: Network, numbers: _Numbers, here: list[Pair], before: list[Pair], policy: Ints, *, cut: bool
) -> int | None:
    """First node whose value is not exactly one backup, or whose chosen edge is not worth it; `cut` ends decisions."""
    kind, dst = problem.kind.tolist(), problem.dst.tolist()
    indptr, chosen = problem.indptr.tolist(), policy.tolist()
    for node in range(problem.n_nodes):
        decides = kind[node] in (Kind.MAX, Kind.MIN)
        value, scale = here[node]
        if kind[node] == Kind.END or (cut and decides):
            truth = _pair(problem.exact_payoff(node)) if kind[node] == Kind.END else (0, 1)
            if (value, scale) != truth:
                return node
            continue
        edges = range(indptr[node], indptr[node + 1])
        ahead = before if decides else here
        worth = [numbers.worth(edge, ahead[dst[edge]]) for edge in edges]
        if decides:
            wanted = 1 if kind[node] == Kind.MAX else -1
            if any(wanted * (n * scale - value * d) > 0 for n, d in worth):
                return node
            if chosen[node] not in edges:
                return node
            n, d = worth[chosen[node] - edges.start]
            if n * scale != value * d:
                return node
            continue
        # Over one denominator: mostly the largest is one already.
        whole = scale
        for _, d in worth:
            if whole % d:
                whole = math.lcm(whole, d)
        weights = numbers.weight[edges.start : edges.stop]
        mean = sum([w * n * (whole // d) for w, (n, d) in zip(weights, worth, strict=True)])
        if mean != sum(weights) * value * (whole // scale):
            return node
    return None
