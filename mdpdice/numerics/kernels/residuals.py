"""Compiled passes that find how far a value is from one backup of itself, for bounds on large networks.

With a horizon one pass finds the bounds of one stage.

See `mdpdice.numerics.kernels.bellman` for the conventions.
"""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import Floats, Ints, Number, nested, njit
from mdpdice.numerics.kernels.bellman import CHANCE, MAX, ULP, Problem, Rows, backup

NORMAL = 2.0**-1022


@nested
def tiny(whole: Number) -> Number:
    """Return what `mdpdice.certification.checking.inequalities` adds to sizes for numbers below the range of floats."""
    return NORMAL * (whole + 1.0) if whole > 0.0 else 0.0


@njit
def excess(problem: Problem, value: Floats, policy: Ints, low: Floats, high: Floats) -> Number:
    """Return what one backup of `value` falls below it under the policy, into `low`, and rises above it, into `high`.

    A maximiser follows the policy in `low` and is free in `high`, a minimiser the other way round.  Both hold room for
    the rounding that `mdpdice.certification.checking.inequalities` allows for.  Returns the largest.
    """
    kind, indptr, dst, weight, reward, sign, step, discount = problem
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
            mean, spread, whole, total, count = 0.0, 0.0, abs(here), 0.0, 0
            for e in range(first, last):
                ahead = sign[e] * ((discount if step[e] else 1.0) * value[dst[e]])
                mean += weight[e] * (reward[e] + ahead)
                spread += weight[e] * (abs(reward[e]) + abs(ahead))
                whole += abs(reward[e]) + abs(value[dst[e]])
                total += weight[e]
                count += 1
            slack = 1.5 * ((2 * count + 10) * ULP + abs(1.0 - total)) * (spread + abs(here) + tiny(whole))
            high[node] = max(mean - here, 0.0) + slack
            low[node] = max(here - mean, 0.0) + slack
        else:
            best, worst = -np.inf, -np.inf
            for e in range(first, last):
                ahead = sign[e] * ((discount if step[e] else 1.0) * value[dst[e]])
                move = reward[e] + ahead - here
                whole = abs(reward[e]) + abs(value[dst[e]]) + abs(here)
                slack = 7 * ULP * (abs(reward[e]) + abs(ahead) + abs(here) + tiny(whole))
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
def scale(problem: Problem, w: Floats, follow: Ints, cost: Floats) -> Number:
    """Return the smallest ``d`` with ``d (w - P w) >= cost`` along the edges of `follow`, infinite if there is none.

    For networks without a discount.
    """
    kind, indptr, dst, weight = problem[:4]
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
            ahead += weight[e] * w[dst[e]]
        # Written so that NaN fails.
        if not w[node] - ahead > 0.0:
            return np.inf
        d = max(d, cost[node] / (w[node] - ahead))
    return d


@nested
def cost(reward: Number, ahead: Number, here: Number) -> Number:
    """Return what an option without a discount is worth more than its decision, with room for rounding."""
    size = abs(reward) + abs(ahead) + abs(here)
    return reward + ahead - here + 7 * ULP * (size + tiny(size))


@njit
def lengthen(problem: Problem, value: Floats, w: Floats, d: Number, follow: Ints) -> int:
    """Follow the options that ``value + d w`` does not cover, at each node the worst; how many there were.

    For one player, who maximises, without a discount.
    """
    kind, indptr, dst, _, reward = problem[:5]
    one = np.uint64(1)
    count = 0
    for i in range(len(kind)):
        node = np.uint64(i)
        if kind[node] != MAX:
            continue
        here, worst = value[node], 0.0
        for e in range(indptr[node], indptr[node + one]):
            lack = cost(reward[e], value[dst[e]], here) - d * (w[node] - w[dst[e]])
            if lack > worst:
                worst = lack
                follow[node] = np.int64(e)
        count += worst > 0.0
    return count


@njit
def add_up(
    problem: Problem, value: Floats, policy: Ints, order: Ints, low: Floats, high: Floats, below: Floats,
    above: Floats,
) -> None:  # fmt: skip
    """Sum the errors along plays, successors first: of `low` under the policy, and the largest of `high`.

    For one player, who maximises, on an acyclic network without a discount.  An option that is worse than `value` has
    what it loses taken off, so that it adds less.
    """
    kind, indptr, dst, weight, reward = problem[:5]
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
                most = max(most, cost(reward[e], value[to], here) + above[to])
            below[node] = low[node] + below[dst[np.uint64(policy[node])]]
            above[node] = most


@nested
def moved(reward: Number, factor: Number, bound: Number) -> Number:
    """Return a bound one move ahead, with room for rounding where something is rounded."""
    ahead = factor * bound
    if reward == 0.0 and factor == 1.0:
        return ahead + reward
    return ahead + reward + 5 * ULP * (abs(ahead) + abs(reward) + tiny(abs(bound) + abs(reward)))


@njit
def stage(
    problem: Problem, payoff: Floats, room: Floats, order: Ints, value: Floats, policy: Ints, before: Floats,
    here: Floats, cut: bool,
) -> bool:  # fmt: skip
    """Bounds of one stage of a horizon, into `here`: of ``-value`` and then of `value`, node by node.

    Each is the claimed number itself, or one backup of the bounds where that is larger, with the room that
    `mdpdice.certification.checking.inequalities` wants.  Decisions read the bounds `before`, of one decision
    less, and are worth 0 where plays are cut off (`cut`); chance nodes read `here`, so that `order` has their
    successors first.  In the first half a maximiser follows the policy and a minimiser is free, in the second half
    the other way round.

    Returns whether the policy takes edges of the nodes that it decides.
    """
    kind, indptr, dst, weight, reward, sign, step, discount = problem
    one, other = np.uint64(1), np.uint64(len(kind))
    for node in order:
        first, last = indptr[node], indptr[node + one]
        below, above = -value[node], value[node]
        if kind[node] == CHANCE:
            low, high, low_size, high_size, total, count = 0.0, 0.0, 0.0, 0.0, 0.0, 0
            low_whole, high_whole = 0.0, 0.0
            for e in range(first, last):
                p = weight[e]
                near, far = dst[e], dst[e] + other
                if sign[e] < 0:
                    near, far = far, near
                factor = discount if step[e] else 1.0
                minus, plus = factor * here[near], factor * here[far]
                low += p * (minus - reward[e])
                high += p * (plus + reward[e])
                low_size += p * (abs(minus) + abs(reward[e]))
                high_size += p * (abs(plus) + abs(reward[e]))
                low_whole += abs(here[near]) + abs(reward[e])
                high_whole += abs(here[far]) + abs(reward[e])
                total += p
                count += 1
            slack = 1.5 * ((2 * count + 10) * ULP + abs(1.0 - total))
            below = max(below, low + slack * (low_size + tiny(low_whole)))
            above = max(above, high + slack * (high_size + tiny(high_whole)))
        elif first == last or cut:
            paid = payoff[node] if first == last else 0.0
            below, above = max(below, room[node] - paid), max(above, room[node] + paid)
        else:
            chosen = policy[node]
            if not np.int64(first) <= chosen < np.int64(last):
                return False
            for e in range(first, last):
                mine = np.int64(e) == chosen
                near, far = dst[e], dst[e] + other
                if sign[e] < 0:
                    near, far = far, near
                factor = discount if step[e] else 1.0
                if mine or kind[node] != MAX:
                    below = max(below, moved(-reward[e], factor, before[near]))
                if mine or kind[node] == MAX:
                    above = max(above, moved(reward[e], factor, before[far]))
        here[node], here[node + other] = below, above
    return True


@njit
def stages(
    problem: Problem, payoff: Floats, room: Floats, order: Ints, values: Floats, policies: Ints,
    bounds: Floats, begin: int, end: int,
) -> bool:  # fmt: skip
    """Bounds of the stages from `begin` to `end`, as in `stage`."""
    for k in range(begin, end):
        before, here = bounds[max(k - 1, 0)], bounds[k]
        if not stage(problem, payoff, room, order, values[k], policies[k], before, here, k == 0):
            return False
    return True


@njit
def rise(rows: Rows, nodes: Ints, value: Floats, policy: Ints, least: Floats, sweeps: int) -> tuple[int, Number]:
    """Sweep over `nodes` until none of them rises by more than its `least`, or for `sweeps` sweeps.

    Returns how often, and whether one still rises.
    """
    before = np.empty(len(nodes))
    for done in range(1, sweeps + 1):
        for k in range(len(nodes)):
            before[k] = value[nodes[k]]
        backup(rows, nodes, value, value, policy)
        rises = False
        for k in range(len(nodes)):
            rises |= value[nodes[k]] - before[k] > least[nodes[k]]
        if not rises:
            return done, False
    return sweeps, True
