"""Compiled passes of policy iteration over networks in which decisions and chance take turns, without a discount.

See `mdpdice.numerics.kernels.bellman` for the conventions.  Every edge of a decision leads to a decision, to
an end, or to a chance node, whose edges all lead to decisions and ends.  So a policy is one row per decision, which
is written straight from the arrays of the network.
"""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import Floats, Ints, Kinds, Number, njit
from mdpdice.numerics.kernels.bellman import CHANCE, END, MIN


@njit
def takes_turns(kind: Kinds, indptr: Ints, dst: Ints, sign: Ints) -> bool:
    """Whether decisions of the maximiser and chance take turns, as the module says, and few edges share a node."""
    one = np.uint64(1)
    shared: Number = 0
    chances: Number = 0
    for i in range(len(kind)):
        if kind[i] == MIN:
            return False
        inner = kind[i] == CHANCE
        chances += inner
        for e in range(indptr[i], indptr[np.uint64(i) + one]):
            chance = kind[dst[e]] == CHANCE
            if sign[e] != 1 or (chance and inner):
                return False
            shared += chance
    return bool(shared <= 2 * chances)


@njit
def mean_values(kind: Kinds, indptr: Ints, dst: Ints, weight: Floats, reward: Floats, value: Floats) -> None:
    """Back up every chance node."""
    one = np.uint64(1)
    for i in range(len(kind)):
        if kind[i] == CHANCE:
            x = 0.0
            for e in range(indptr[i], indptr[np.uint64(i) + one]):
                x += weight[e] * (reward[e] + value[dst[e]])
            value[i] = x


@njit
def mean_lengths(kind: Kinds, indptr: Ints, dst: Ints, weight: Floats, length: Floats) -> None:
    """Write the expected number of nodes from every chance node on."""
    one = np.uint64(1)
    for i in range(len(kind)):
        if kind[i] == CHANCE:
            x = 1.0
            for e in range(indptr[i], indptr[np.uint64(i) + one]):
                x += weight[e] * length[dst[e]]
            length[i] = x


@njit
def switch(
    kind: Kinds, indptr: Ints, dst: Ints, weight: Floats, reward: Floats, decisions: Ints, value: Floats,
    policy: Ints, better: float, assign: bool,
) -> int:  # fmt: skip
    """Switch decisions to options that are better by a share of the numbers that are added; how many did.

    With `assign` they take over the value of their best option, so that this is a Gauss-Seidel sweep.
    """
    one = np.uint64(1)
    count = 0
    for node in decisions:
        first, last = indptr[node], indptr[node + one]
        best, top, best_size = first, -np.inf, 0.0
        kept, kept_size = -np.inf, 0.0
        for e in range(first, last):
            to = np.uint64(dst[e])
            x, size = reward[e], abs(reward[e])
            if kind[to] == CHANCE:
                for f in range(indptr[to], indptr[to + one]):
                    ahead = reward[f] + value[dst[f]]
                    x += weight[f] * ahead
                    size += weight[f] * abs(ahead)
            else:
                x += value[to]
                size += abs(value[to])
            if x > top:
                best, top, best_size = e, x, size
            if np.int64(e) == policy[node]:
                kept, kept_size = x, size
        if top - kept > better * max(best_size, kept_size):
            policy[node] = np.int64(best)
            count += 1
        if assign:
            value[node] = top
    return count


@njit
def gather_rows(
    kind: Kinds, indptr: Ints, dst: Ints, weight: Floats, reward: Floats, decisions: Ints, policy: Ints,
    local: Ints, value: Floats, ptr: Ints, to: Ints, share: Floats, gain: Floats, scale: Floats,
) -> None:  # fmt: skip
    """Write the rows of a policy, the value of ends in what they gain, and ``1 / (1 - P)`` of the diagonal.

    `local` numbers the decisions.
    """
    one = np.uint64(1)
    at = np.uint64(0)
    ptr[0] = 0
    for k in range(len(decisions)):
        e = np.uint64(policy[decisions[k]])
        node = np.uint64(dst[e])
        x, stay = reward[e], 0.0
        if kind[node] == CHANCE:
            for f in range(indptr[node], indptr[node + one]):
                x += weight[f] * reward[f]
                if kind[dst[f]] == END:
                    x += weight[f] * value[dst[f]]
                    continue
                to[at] = local[dst[f]]
                share[at] = weight[f]
                if to[at] == k:
                    stay += weight[f]
                at += one
        elif kind[node] == END:
            x += value[node]
        else:
            to[at] = local[node]
            share[at] = 1.0
            at += one
        gain[k] = x
        scale[k] = 1.0 / max(1.0 - stay, 1e-300)
        ptr[k + 1] = np.int64(at)


@njit
def residual(
    ptr: Ints, to: Ints, share: Floats, gain: Floats, scale: Floats, x: Floats, out: Floats
) -> tuple[Number, Number]:
    """``scale * (gain + P x - x)`` into `out`; its largest component, and that of `x`."""
    most, size = 0.0, 0.0
    for k in range(len(x)):
        y = gain[k] - x[k]
        for at in range(np.uint64(ptr[k]), np.uint64(ptr[k + 1])):
            y += share[at] * x[to[at]]
        out[k] = scale[k] * y
        # Written so that a NaN stays one.
        if not abs(out[k]) <= most:
            most = abs(out[k])
        if not abs(x[k]) <= size:
            size = abs(x[k])
    return most, size
