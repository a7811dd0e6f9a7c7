"""The exact certificate: Bellman's equation in rational arithmetic.

With ``V = T V`` and ``V = T_s V`` exactly, ``V`` and ``-V`` satisfy the inequalities of the
theorem of `mdpdice.checking` on the two sides of the network of best replies without
any room for rounding.  What is left to check is that endless plays cannot escape
it; then the policy is optimal, and worth exactly ``V``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from mdpdice.checking import Witness, best_replies, endless_plays_lose
from mdpdice.network import Ints, Kind, Network

__all__ = ["verify_exact"]


def verify_exact(
    problem: Network, values: Sequence[Sequence[Fraction]], policy: Ints, witness: Witness
) -> str:
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
        As for `mdpdice.checking.verify`.

    Returns
    -------
    str
        Empty if the claims hold, else what does not.
    """
    flat = problem.horizon is None
    if len(values) != (1 if flat else problem.horizon + 1) or problem.total != 0:  # type: ignore[operator]
        return "the exact values do not fit the problem"
    rows = [problem.row(node) for node in range(problem.n_nodes)]
    rewards = [problem.exact_reward(edge) for edge in range(problem.n_edges)]
    for k, here in enumerate(values):
        before = here if flat else values[max(k - 1, 0)]
        bad = _first_wrong(problem, rows, rewards, here, before, policy[k], cut=not flat and k == 0)
        if bad is not None:
            return f"Bellman's equation does not hold exactly in {problem.describe(bad)!r}"
        if problem.discount == 1:
            replies = best_replies(problem, policy[k], last=not flat and k == 0)
            live = ~replies.end if flat else replies.chance
            floats = np.array([float(value) for value in here])
            if not endless_plays_lose(replies, live, np.concatenate((-floats, floats)), witness):
                return "some play may never end"
    return ""


def _first_wrong(
    problem: Network,
    rows: list[list[Fraction]],
    rewards: list[Fraction],
    here: Sequence[Fraction],
    before: Sequence[Fraction],
    policy: Ints,
    *,
    cut: bool,
) -> int | None:
    """First node whose value is not exactly one backup, or whose chosen edge is not worth it; `cut` ends decisions."""
    kind, discount = problem.kind.tolist(), problem.discount
    dst, sign, step = problem.dst.tolist(), problem.sign.tolist(), problem.step.tolist()
    indptr, chosen = problem.indptr.tolist(), policy.tolist()
    for node in range(problem.n_nodes):
        decides = kind[node] in (Kind.MAX, Kind.MIN)
        if kind[node] == Kind.END or (cut and decides):
            truth = problem.exact_payoff(node) if kind[node] == Kind.END else Fraction(0)
            if here[node] != truth:
                return node
            continue
        edges = range(indptr[node], indptr[node + 1])
        ahead = before if decides else here
        worth = [
            rewards[edge] + (discount if step[edge] else 1) * sign[edge] * ahead[dst[edge]] for edge in edges
        ]
        if decides:
            best = max(worth) if kind[node] == Kind.MAX else min(worth)
            if here[node] != best or worth[chosen[node] - edges.start] != best:
                return node
        elif here[node] != sum((p * x for p, x in zip(rows[node], worth, strict=True)), Fraction(0)):
            return node
    return None
