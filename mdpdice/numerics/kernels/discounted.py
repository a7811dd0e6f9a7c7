"""Compiled sweeps over discounted networks in which decisions and chance take turns.

See `mdpdice.numerics.kernels.bellman` for the conventions.  Every edge of a decision leads to a decision (a
step) or to a chance node, whose edges all lead to decisions (a step each).  So one sweep reads the probabilities
once, in their order, and needs no array beside those of the network but `base`, the mean reward of every chance node.
"""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import Bools, Floats, Ints, Kinds, Number, nested, njit
from mdpdice.numerics.kernels.bellman import CHANCE, END, MIN, Problem

SLOW = 0.9
"""Share of the distance between moves that a sweep has to take off, or it is not worth its price."""


@njit
def alternates(
    kind: Kinds, indptr: Ints, dst: Ints, weight: Floats, reward: Floats, sign: Ints, step: Bools,
    base: Floats, ptr: Ints,
) -> tuple[int, Number, int]:  # fmt: skip
    """Whether decisions of the maximiser and chance take turns, as the module says, and few edges share a node.

    A sweep comes to chance nodes by the options that lead to them, so some option has to lead to each.

    Returns the number of decisions, or 0 if the network is of another kind, the largest absolute reward, and the most
    edges of a node.  Writes the mean reward of every chance node into `base`, and into `ptr` where the rows of a policy
    start: each decision has room for the longest one.
    """
    one = np.uint64(1)
    entered = np.zeros(len(kind), dtype=np.bool_)
    shared, chances, count, size = 0, 0, 0, 0.0
    most: Number = 0
    for i in range(len(kind)):
        if kind[i] == END or kind[i] == MIN:
            return 0, size, most
        first, last = indptr[np.uint64(i)], indptr[np.uint64(i) + one]
        most = max(most, np.int64(last - first))
        mean = 0.0
        if kind[i] == CHANCE:
            chances += 1
            for e in range(first, last):
                if sign[e] != 1 or not step[e] or kind[dst[e]] == CHANCE:
                    return 0, size, most
                if reward[e] != 0.0:
                    mean += weight[e] * reward[e]
                    size = max(size, abs(reward[e]))
            base[i] = mean
            continue
        longest: Number = 1
        for e in range(first, last):
            to = dst[e]
            chance = kind[to] == CHANCE
            if sign[e] != 1 or step[e] == chance:
                return 0, size, most
            if chance:
                entered[to] = True
                shared += 1
                longest = max(longest, np.int64(indptr[to + one] - indptr[to]))
            size = max(size, abs(reward[e]))
        ptr[count + 1] = ptr[count] + longest
        count += 1
    for i in range(len(kind)):
        if kind[i] == CHANCE and not entered[i]:
            return 0, size, most
    return (count if shared <= 2 * chances else 0), size, most


@nested
def read_ahead(to: Ints, value: Floats, first: Number, last: Number) -> Number:
    """Return 0, or NaN, after a look at the values of some edges, which are at hand then.

    All of them are on their way together.  A sum of products waits for every few of them, if they come from far away.
    """
    nothing = 0.0
    for at in range(first, last):
        nothing += 0.0 * value[to[at]]
    return nothing


@njit
def improve(
    kind: Kinds, indptr: Ints, dst: Ints, weight: Floats, reward: Floats, base: Floats, discount: Number,
    decisions: Ints, value: Floats, new: Floats, policy: Ints, ptr: Ints, end: Ints, to: Ints, share: Floats,
    gain: Floats, ahead: int, begin: int, stop: int,
) -> tuple[Number, Number, Number, Number, Number]:  # fmt: skip
    """One backup of the decisions from `begin` to `stop`, and of chance nodes ahead of them, from `value` into `new`.

    A decision that changes its edge has the row of the new one written, while it is at hand: the probabilities of a
    policy lie side by side then, which `sweep_policy` reads.  With a discount of 0 the values are not looked at.  The
    values of `ahead` decisions in a row are read together, if their chance nodes follow each other; of none if it is 0.

    Returns the smallest and the largest move of a decision, how many changed their edge, the smallest absolute value
    of a decision, and the largest of any node.
    """
    one = np.uint64(1)
    low, high = np.inf, -np.inf
    nearest, farthest = np.inf, 0.0
    changed, nothing = 0, 0.0
    for k in range(begin, stop):
        node = decisions[k]
        first, last = indptr[node], indptr[node + one]
        if ahead > 0 and (k - begin) % ahead == 0:
            near = indptr[np.uint64(dst[first])]
            far = indptr[np.uint64(dst[indptr[decisions[min(k + ahead, stop) - 1]]])]
            if near < far < near + np.uint64(64 * ahead):
                nothing += read_ahead(dst, value, near, far)
        best, top = first, -np.inf
        for e in range(first, last):
            succ = np.uint64(dst[e])
            if kind[succ] == CHANCE:
                then = base[succ]
                if discount > 0.0:
                    mean = 0.0
                    for f in range(indptr[succ], indptr[succ + one]):
                        mean += weight[f] * value[dst[f]]
                    then += discount * mean
                new[succ] = then
                farthest = max(farthest, abs(then))
                x = reward[e] + then
            else:
                x = reward[e] + discount * value[succ]
            # Written so that NaN is found.
            if not x <= top:
                top = x
                best = e
        new[node] = top
        nearest, farthest = min(nearest, abs(top)), max(farthest, abs(top))
        move = top - value[node]
        if not move >= low:
            low = move
        if not move <= high:
            high = move
        if policy[node] != np.int64(best):
            changed += 1
            policy[node] = np.int64(best)
            succ = np.uint64(dst[best])
            gain[k] = reward[best]
            at = np.uint64(ptr[k])
            if kind[succ] == CHANCE:
                gain[k] += base[succ]
                for f in range(indptr[succ], indptr[succ + one]):
                    to[at] = dst[f]
                    share[at] = weight[f]
                    at += one
            else:
                to[at] = dst[best]
                share[at] = 1.0
                at += one
            end[k] = np.int64(at)
    return low + nothing, high, changed, nearest, farthest


@njit
def sweep_policy(
    ptr: Ints, end: Ints, to: Ints, share: Floats, gain: Floats, discount: Number, decisions: Ints,
    value: Floats, new: Floats, ahead: int, shift: Number, first: int, last: int,
) -> tuple[Number, Number]:  # fmt: skip
    """One backup along the rows of `improve`, with `shift` added to all values before; the moves."""
    low, high, nothing = np.inf, -np.inf, 0.0
    for k in range(first, last):
        if ahead > 0 and (k - first) % ahead == 0:
            nothing += read_ahead(to, value, np.uint64(ptr[k]), np.uint64(end[min(k + ahead, last) - 1]))
        x = 0.0
        for at in range(np.uint64(ptr[k]), np.uint64(end[k])):
            x += share[at] * value[to[at]]
        node = decisions[k]
        x = gain[k] + discount * (x + shift)
        new[node] = x
        move = x - (value[node] + shift)
        if not move >= low:
            low = move
        if not move <= high:
            high = move
    return low + nothing, high


@njit
def sweep_repeatedly(
    ptr: Ints, end: Ints, to: Ints, share: Floats, gain: Floats, discount: Number, decisions: Ints,
    value: Floats, new: Floats, ahead: int, below: Number, above: Number, closer: Number, limit: int,
) -> tuple[int, Number, Number, bool]:  # fmt: skip
    """Sweeps of `sweep_policy` from one array into the other, each after the middle of the moves before is added.

    They end when the moves are `closer` together, or hardly come closer.  Returns their number, the moves of the last
    one, and whether they ended before the limit.
    """
    later = discount / (1.0 - discount)
    for k in range(limit):
        last = above - below
        shift = 0.5 * later * (below + above)
        below, above = sweep_policy(
            ptr, end, to, share, gain, discount, decisions, value, new, ahead, shift, 0, len(decisions)
        )
        value, new = new, value
        if above - below <= closer or above - below > SLOW * last:
            return k + 1, below, above, True
    return limit, below, above, False


@njit
def path_lengths(problem: Problem, length: Ints) -> bool:
    """One sweep towards the most nodes in a row that a play can visit without a step, ends not counted.

    Returns whether `length` is final.
    """
    kind, indptr, dst, _, _, _, step, _ = problem
    one = np.uint64(1)
    changed, ahead = False, True
    for i in range(len(kind) - 1, -1, -1):
        node = np.uint64(i)
        if kind[node] == END:
            continue
        most: Number = 1
        for e in range(indptr[node], indptr[node + one]):
            if not step[e]:
                most = max(most, 1 + length[dst[e]])
                ahead &= dst[e] > node
        if most != length[node]:
            length[node] = most
            changed = True
    # Where all of these edges lead to later nodes, one sweep from the last node on knows all successors.
    return ahead or not changed
