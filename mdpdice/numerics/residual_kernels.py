"""Compiled passes that find how far a value is from one backup of itself, for bounds on large networks.

See `mdpdice.numerics.kernels` for the conventions.
"""

from __future__ import annotations

import numpy as np

from mdpdice.numerics.kernels import CHANCE, MAX, ULP, Bools, Floats, Ints, Kinds, Number, njit

__all__ = ["add_up", "checksum", "excess", "lengthen", "scale"]


@njit
def checksum(words: Ints) -> Number:
    """A sum that changes with every single word, and when two change places."""
    total, one, two = np.uint64(0), np.uint64(1), np.uint64(2)
    for i in range(np.uint64(len(words))):
        total += words[i] * (two * i + one)
    return total


@njit
def excess(
    kind: Kinds,
    indptr: Ints,
    dst: Ints,
    weight: Floats,
    reward: Floats,
    sign: Ints,
    step: Bools,
    discount: Number,
    value: Floats,
    policy: Ints,
    low: Floats,
    high: Floats,
) -> Number:
    """What one backup of `value` falls below it under the policy, into `low`, and rises above it, into `high`.

    A maximiser follows the policy in `low` and is free in `high`, a minimiser the other way round.  Both hold room for
    the rounding that `mdpdice.checking` allows for.  Returns the largest.
    """
    one = np.uint64(1)
    most = 0.0
    for i in range(len(kind)):
        node = np.uint64(i)
        first, last = indptr[node], indptr[node + one]
        low[node], high[node] = 0.0, 0.0
        if first == last:
            continue
        here = value[node]
        if kind[node] == CHANCE:
            mean, spread, total, count = 0.0, 0.0, 0.0, 0
            for e in range(first, last):
                ahead = (discount if step[e] else 1.0) * value[dst[e]]
                if sign[e] < 0:
                    ahead = -ahead
                mean += weight[e] * (reward[e] + ahead)
                spread += weight[e] * (abs(reward[e]) + abs(ahead))
                total += weight[e]
                count += 1
            slack = 1.5 * ((2 * count + 10) * ULP + abs(1.0 - total)) * (spread + abs(here))
            high[node] = max(mean - here, 0.0) + slack
            low[node] = max(here - mean, 0.0) + slack
        else:
            best, worst = -np.inf, -np.inf
            for e in range(first, last):
                ahead = (discount if step[e] else 1.0) * value[dst[e]]
                if sign[e] < 0:
                    ahead = -ahead
                move = reward[e] + ahead - here
                slack = 7 * ULP * (abs(reward[e]) + abs(ahead) + abs(here))
                mine = np.int64(e) == policy[node]
                if mine or kind[node] == MAX:
                    best = max(best, move + slack)
                if mine or kind[node] != MAX:
                    worst = max(worst, slack - move)
            high[node], low[node] = max(best, 0.0), max(worst, 0.0)
        # Written so that a NaN stays one.
        if not max(high[node], low[node]) <= most:
            most = max(high[node], low[node])
    return most


@njit
def scale(
    kind: Kinds,
    indptr: Ints,
    dst: Ints,
    weight: Floats,
    step: Bools,
    discount: Number,
    w: Floats,
    follow: Ints,
    cost: Floats,
) -> Number:
    """The smallest ``d`` with ``d (w - P w) >= cost`` along the edges of `follow`, infinite if there is none."""
    one = np.uint64(1)
    d = 0.0
    for i in range(len(kind)):
        node = np.uint64(i)
        first, last = indptr[node], indptr[node + one]
        if first == last:
            continue
        if kind[node] != CHANCE:
            first = np.uint64(follow[node])
            last = first + one
        ahead = 0.0
        for e in range(first, last):
            ahead += weight[e] * (discount if step[e] else 1.0) * w[dst[e]]
        # Written so that NaN fails.
        if not w[node] - ahead > 0.0:
            return np.inf
        d = max(d, cost[node] / (w[node] - ahead))
    return d


@njit
def lengthen(
    kind: Kinds,
    indptr: Ints,
    dst: Ints,
    reward: Floats,
    step: Bools,
    discount: Number,
    value: Floats,
    w: Floats,
    d: Number,
    follow: Ints,
) -> int:
    """Follow the options that ``value + d w`` does not cover, at each node the worst; how many there were.

    For one player, who maximises.
    """
    one = np.uint64(1)
    count = 0
    for i in range(len(kind)):
        node = np.uint64(i)
        if kind[node] != MAX:
            continue
        here, worst = value[node], 0.0
        for e in range(indptr[node], indptr[node + one]):
            factor = discount if step[e] else 1.0
            ahead = factor * value[dst[e]]
            cost = reward[e] + ahead - here + 7 * ULP * (abs(reward[e]) + abs(ahead) + abs(here))
            lack = cost - d * (w[node] - factor * w[dst[e]])
            if lack > worst:
                worst = lack
                follow[node] = np.int64(e)
        count += worst > 0.0
    return count


@njit
def add_up(
    kind: Kinds,
    indptr: Ints,
    dst: Ints,
    weight: Floats,
    reward: Floats,
    value: Floats,
    policy: Ints,
    order: Ints,
    low: Floats,
    high: Floats,
    below: Floats,
    above: Floats,
) -> None:
    """Sums of the errors along plays, successors first: of `low` under the policy, and the largest of `high`.

    For one player, who maximises, on an acyclic network without a discount.  An option that is worse than `value` has
    what it loses taken off, so that it adds less.
    """
    one = np.uint64(1)
    for node in order:
        first, last = indptr[node], indptr[node + one]
        below[node], above[node] = 0.0, 0.0
        if kind[node] == CHANCE:
            down, up = low[node], high[node]
            for e in range(first, last):
                down += weight[e] * below[dst[e]]
                up += weight[e] * above[dst[e]]
            below[node], above[node] = down, up
        elif first < last:
            here, most = value[node], 0.0
            for e in range(first, last):
                to = dst[e]
                cost = reward[e] + value[to] - here + 7 * ULP * (abs(reward[e]) + abs(value[to]) + abs(here))
                most = max(most, cost + above[to])
            below[node] = low[node] + below[dst[np.uint64(policy[node])]]
            above[node] = most
