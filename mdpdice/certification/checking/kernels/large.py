# Passages of this text are replaced by tests/certification/checking/test_large_mutated.py: change both together.
"""The checks of `mdpdice.certification.checking.inequalities` for large problems, edge by edge in compiled code.

They are the inequalities of `mdpdice.certification.checking.inequalities`, with the same terms for rounding,
for bounds without groups; they
read the problem itself instead of writing its network of best replies.  Tests compare both.  No solver uses this
loop, and it uses none of theirs.
"""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import nested, njit
from mdpdice.networks.network import Kind

ULP = 2.0**-52
NORMAL = 2.0**-1022
END, MAX, CHANCE = int(Kind.END), int(Kind.MAX), int(Kind.CHANCE)

BOUNDS, ENDLESS = 1, 2
AHEAD = 64
"""Nodes whose successors are read together: to wait for one after the other takes twice as long or more."""


@nested
def tiny(whole):
    """Return what is added to sizes for numbers below the range of floats."""
    return NORMAL * (whole + 1.0) if whole > 0.0 else 0.0


@njit
def holds(
    begin, end, kind, indptr, dst, weight, reward, sign, step, discount, payoff, room, policies, rows, before,
    rank, ranked, cut,
):  # fmt: skip
    """Whether ``-here[:N] <= V_s <= V* <= here[N:]`` was shown of all `rows`: 0, `BOUNDS`, or `ENDLESS` for the ranks.

    That is, for the nodes from `begin` to `end`.  `room` is how far payoffs may be off, and `ranked` whether ranks have
    to fall, which they must where there is no discount.  With a horizon there is a row for each stage, decisions look
    at the bounds `before`, of one decision less, and where none is left (`cut`) they end plays with 0; without one
    `before` is the only row.  With a horizon only chance needs ranks, which is the same at every stage: the one without
    decisions.
    """
    n = len(kind)
    one = np.uint64(1)
    other = np.uint64(n)
    for k in range(len(rows)):
        policy, here = policies[k], rows[k]
        if k > 0:
            before, ranked, cut = rows[k - 1], False, False
        for i in range(begin, end):
            node = np.uint64(i)
            first, last = indptr[node], indptr[node + one]
            decides = kind[node] != END and kind[node] != CHANCE
            if kind[node] == END or (cut and decides):
                paid = 0.0 if decides else payoff[node]
                if not (here[node] >= room[node] - paid and here[other + node] >= paid + room[node]):
                    return BOUNDS
            elif kind[node] == CHANCE:
                # Both sides at once: what they share is read once.
                low, high, low_size, high_size, low_whole, high_whole, total = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                low_falls, high_falls = False, False
                for e in range(first, last):
                    p = weight[e]
                    near, far = dst[e], other + dst[e]
                    if sign[e] < 0:
                        near, far = far, near
                    factor = discount if step[e] else 1.0
                    low += p * (factor * here[near] - reward[e])
                    high += p * (factor * here[far] + reward[e])
                    low_size += p * (factor * abs(here[near]) + abs(reward[e]))
                    high_size += p * (factor * abs(here[far]) + abs(reward[e]))
                    low_whole += abs(here[near]) + abs(reward[e])
                    high_whole += abs(here[far]) + abs(reward[e])
                    total += p
                    if ranked:
                        ends = kind[dst[e]] == END or (cut and kind[dst[e]] != CHANCE)
                        low_falls |= ends or rank[near] < rank[node]
                        high_falls |= ends or rank[far] < rank[other + node]
                slack = (2 * float(last - first) + 8) * ULP + abs(1.0 - total)
                below = low + slack * (low_size + tiny(low_whole))
                above = high + slack * (high_size + tiny(high_whole))
                if not (here[node] >= below and here[other + node] >= above):
                    return BOUNDS
                if ranked and not (low_falls and high_falls):
                    return ENDLESS
            else:
                for side in range(2):
                    view = 1.0 if side == 1 else -1.0
                    here_at, there_at = (other, np.uint64(0)) if side == 1 else (np.uint64(0), other)
                    bound = here[here_at + node]
                    some, rest = first, last
                    if (kind[node] == MAX) == (side == 0):
                        if not np.int64(first) <= policy[node] < np.int64(last):
                            return BOUNDS
                        some = np.uint64(policy[node])
                        rest = some + one
                    for e in range(some, rest):
                        to = (here_at if sign[e] > 0 else there_at) + dst[e]
                        gain = view * reward[e]
                        factor = discount if step[e] else 1.0
                        value = gain + factor * before[to]
                        size = abs(gain) + factor * abs(before[to]) + tiny(abs(gain) + abs(before[to]))
                        slack = 0.0 if gain == 0.0 and factor == 1.0 else 4 * ULP * size
                        if not bound >= value + slack:
                            return BOUNDS
                        if ranked and not (kind[dst[e]] == END or rank[to] < rank[here_at + node]):
                            return ENDLESS
    return 0


@nested
def finite(here, dst, first, last, other):
    """Whether what some edges lead to has finite bounds, which are at hand from then on."""
    nothing = 0.0
    for e in range(first, last):
        # 0 times infinity is NaN.
        nothing += 0.0 * here[dst[e]]
        nothing += 0.0 * here[other + dst[e]]
    return nothing == 0.0


@njit
def holds_far(begin, end, claims):
    """Say what `holds` does, of many nodes, whose bounds come from far away: they are read ahead."""
    indptr, dst, rows = claims[1], claims[2], claims[11]
    for first in range(begin, end, AHEAD):
        last = min(first + AHEAD, end)
        if not finite(rows[0], dst, indptr[first], indptr[last], np.uint64(len(indptr) - 1)):
            return BOUNDS
        found = holds(first, last, *claims)
        if found != 0:
            return found
    return 0
