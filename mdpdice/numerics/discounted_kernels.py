"""Compiled sweeps over discounted networks in which decisions and chance take turns.

See `mdpdice.numerics.kernels` for the conventions.  Every edge of a decision leads to a decision (a step) or to a
chance node, whose edges all lead to decisions (a step each).  So one sweep reads the probabilities once, in their
order, and needs no array beside those of the network but `base`, the mean reward of every chance node.
"""

from __future__ import annotations

import numpy as np

from mdpdice.numerics.kernels import CHANCE, END, MIN, Bools, Floats, Ints, Kinds, Number, inlined, njit

__all__ = [
    "alternates",
    "expect",
    "gather",
    "improve",
    "means",
    "path_lengths",
    "row_sizes",
    "sweep_policy",
    "sweep_repeatedly",
]

SLOW = 0.9
"""Share of the distance between moves that a sweep has to take off, or it is not worth its price."""


@njit
def alternates(kind: Kinds, indptr: Ints, dst: Ints, sign: Ints, step: Bools) -> bool:
    """Whether decisions of the maximiser and chance take turns, as the module says, and few edges share a node.

    A sweep comes to chance nodes by the options that lead to them, so some option has to lead to each.
    """
    one = np.uint64(1)
    entered = np.zeros(len(kind), dtype=np.bool_)
    shared: Number = 0
    for i in range(len(kind)):
        if kind[i] == END or kind[i] == MIN:
            return False
        for e in range(indptr[i], indptr[np.uint64(i) + one]):
            chance = kind[dst[e]] == CHANCE
            if sign[e] != 1 or step[e] == chance or (chance and kind[i] == CHANCE):
                return False
            entered[dst[e]] |= chance
            shared += chance
    chances: Number = 0
    for i in range(len(kind)):
        if kind[i] == CHANCE:
            if not entered[i]:
                return False
            chances += 1
    return bool(shared <= 2 * chances)


@njit
def means(kind: Kinds, indptr: Ints, weight: Floats, reward: Floats, base: Floats) -> None:
    """Write the mean reward of every chance node."""
    one = np.uint64(1)
    for i in range(len(kind)):
        if kind[i] == CHANCE:
            x = 0.0
            for e in range(indptr[i], indptr[np.uint64(i) + one]):
                x += weight[e] * reward[e]
            base[i] = x


@inlined
def expect(indptr: Ints, dst: Ints, weight: Floats, node: Number, value: Floats) -> Number:
    """Mean value of the successors of a chance node."""
    one = np.uint64(1)
    x = 0.0
    for e in range(indptr[node], indptr[node + one]):
        x += weight[e] * value[dst[e]]
    return x


@njit
def improve(
    kind: Kinds,
    indptr: Ints,
    dst: Ints,
    weight: Floats,
    reward: Floats,
    base: Floats,
    discount: Number,
    decisions: Ints,
    value: Floats,
    new: Floats,
    policy: Ints,
) -> tuple[Number, Number, Number, Number, Number]:
    """One backup of some decisions, and of chance nodes ahead of them, from `value` into `new`.

    Returns the smallest and the largest move of a decision, how many changed their edge, the smallest absolute value
    of a decision, and the largest of any node.
    """
    one = np.uint64(1)
    low, high = np.inf, -np.inf
    nearest, farthest = np.inf, 0.0
    changed = 0
    for node in decisions:
        first, last = indptr[node], indptr[node + one]
        best, top = first, -np.inf
        for e in range(first, last):
            to = dst[e]
            if kind[to] == CHANCE:
                ahead = base[to] + discount * expect(indptr, dst, weight, np.uint64(to), value)
                new[to] = ahead
                farthest = max(farthest, abs(ahead))
                x = reward[e] + ahead
            else:
                x = reward[e] + discount * value[to]
            # Written so that NaN is found.
            if not x <= top:
                top = x
                best = e
        new[node] = top
        nearest, farthest = min(nearest, abs(top)), max(farthest, abs(top))
        changed += policy[node] != np.int64(best)
        policy[node] = np.int64(best)
        move = top - value[node]
        if not move >= low:
            low = move
        if not move <= high:
            high = move
    return low, high, changed, nearest, farthest


@njit
def row_sizes(kind: Kinds, indptr: Ints, dst: Ints, decisions: Ints, policy: Ints, ptr: Ints) -> None:
    """Where the rows of a policy start that `gather` writes."""
    one = np.uint64(1)
    ptr[0] = 0
    for k in range(len(decisions)):
        to = np.uint64(dst[np.uint64(policy[decisions[k]])])
        size = indptr[to + one] - indptr[to] if kind[to] == CHANCE else one
        ptr[k + 1] = ptr[k] + np.int64(size)


@njit
def gather(
    kind: Kinds,
    indptr: Ints,
    dst: Ints,
    weight: Floats,
    reward: Floats,
    base: Floats,
    decisions: Ints,
    policy: Ints,
    ptr: Ints,
    to: Ints,
    share: Floats,
    gain: Floats,
    first: int,
    last: int,
) -> None:
    """Write the probabilities of a policy side by side: what a sweep reads then is in one place."""
    one = np.uint64(1)
    for k in range(first, last):
        e = np.uint64(policy[decisions[k]])
        node = np.uint64(dst[e])
        at = np.uint64(ptr[k])
        gain[k] = reward[e]
        if kind[node] == CHANCE:
            gain[k] += base[node]
            for f in range(indptr[node], indptr[node + one]):
                to[at] = dst[f]
                share[at] = weight[f]
                at += one
        else:
            to[at] = dst[e]
            share[at] = 1.0


@njit
def sweep_policy(
    ptr: Ints,
    to: Ints,
    share: Floats,
    gain: Floats,
    discount: Number,
    decisions: Ints,
    value: Floats,
    new: Floats,
    shift: Number,
    first: int,
    last: int,
) -> tuple[Number, Number]:
    """One backup along the rows of `gather`, with `shift` added to all values before; the moves."""
    low, high = np.inf, -np.inf
    for k in range(first, last):
        x = 0.0
        for at in range(np.uint64(ptr[k]), np.uint64(ptr[k + 1])):
            x += share[at] * value[to[at]]
        node = decisions[k]
        x = gain[k] + discount * (x + shift)
        new[node] = x
        move = x - (value[node] + shift)
        if not move >= low:
            low = move
        if not move <= high:
            high = move
    return low, high


@njit
def sweep_repeatedly(
    ptr: Ints,
    to: Ints,
    share: Floats,
    gain: Floats,
    discount: Number,
    decisions: Ints,
    value: Floats,
    new: Floats,
    below: Number,
    above: Number,
    closer: Number,
    limit: int,
) -> tuple[int, Number, Number, bool]:
    """Sweeps of `sweep_policy` from one array into the other, each after the middle of the moves before is added.

    They end when the moves are `closer` together, or hardly come closer.  Returns their number, the moves of the last
    one, and whether they ended before the limit.
    """
    ahead = discount / (1.0 - discount)
    for k in range(limit):
        last = above - below
        shift = 0.5 * ahead * (below + above)
        below, above = sweep_policy(
            ptr, to, share, gain, discount, decisions, value, new, shift, 0, len(decisions)
        )
        value, new = new, value
        if above - below <= closer or above - below > SLOW * last:
            return k + 1, below, above, True
    return limit, below, above, False


@njit
def path_lengths(kind: Kinds, indptr: Ints, dst: Ints, step: Bools, length: Ints) -> bool:
    """One sweep towards the most nodes in a row that a play can visit without a step, ends not counted.

    Returns whether `length` is final.
    """
    one = np.uint64(1)
    final = True
    for i in range(len(kind) - 1, -1, -1):
        node = np.uint64(i)
        if kind[node] == END:
            continue
        most: Number = 1
        for e in range(indptr[node], indptr[node + one]):
            if not step[e]:
                most = max(most, 1 + length[dst[e]])
        if most != length[node]:
            length[node] = most
            final = False
    return final
