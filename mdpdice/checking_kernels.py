"""The checks of `mdpdice.checking` for large flat problems, edge by edge in compiled code.

They are the inequalities of `mdpdice.checking`, with the same terms for rounding, for bounds without groups; they
read the problem itself instead of writing its network of best replies.  Tests compare both.  No back-end uses this
loop, and it uses none of theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from mdpdice.network import Kind

__all__ = ["holds"]

F = TypeVar("F", bound=Callable[..., Any])

ULP = 2.0**-52
END, MAX, CHANCE = int(Kind.END), int(Kind.MAX), int(Kind.CHANCE)

BOUNDS, ENDLESS = 1, 2


def njit(function: F) -> F:
    """`numba.njit` with the options of this module."""
    return cast("F", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


@njit
def holds(
    kind, indptr, dst, weight, reward, sign, step, discount, payoff, room, policy, bounds, rank, ranked
):  # fmt: skip
    """Whether ``-bounds[:N] <= V_s <= V* <= bounds[N:]`` was shown: 0, or `BOUNDS`, or `ENDLESS` for the ranks.

    `room` is how far payoffs may be off, and `ranked` whether ranks have to fall, which they must where there is
    no discount.
    """
    n = len(kind)
    one = np.uint64(1)
    for side in range(2):
        view = 1.0 if side == 1 else -1.0
        here_at, there_at = np.uint64(side * n), np.uint64((1 - side) * n)
        for i in range(n):
            node = np.uint64(i)
            here = bounds[here_at + node]
            if kind[node] == END:
                if not here >= view * payoff[node] + room[node]:
                    return BOUNDS
                continue
            first, last = indptr[node], indptr[node + one]
            chance = kind[node] == CHANCE
            if not chance and (kind[node] == MAX) == (side == 0):
                if not np.int64(first) <= policy[node] < np.int64(last):
                    return BOUNDS
                first = np.uint64(policy[node])
                last = first + one
            mean, total, spread, usable, falls = 0.0, 0.0, 0.0, 0, False
            for e in range(first, last):
                if not weight[e] > 0:
                    continue
                usable += 1
                to = (here_at if sign[e] > 0 else there_at) + dst[e]
                gain = view * reward[e]
                factor = discount if step[e] else 1.0
                value = gain + factor * bounds[to]
                size = abs(gain) + factor * abs(bounds[to])
                lower = ranked and (kind[dst[e]] == END or rank[to] < rank[here_at + node])
                if chance:
                    mean += weight[e] * value
                    spread += weight[e] * size
                    total += weight[e]
                    falls |= lower
                else:
                    slack = 0.0 if gain == 0.0 and factor == 1.0 else 4 * ULP * size
                    if not here >= value + slack:
                        return BOUNDS
                    if ranked and not lower:
                        return ENDLESS
            if chance:
                slack = ((2 * usable + 8) * ULP + abs(1.0 - total)) * spread
                if not here >= mean + slack:
                    return BOUNDS
                if ranked and not falls:
                    return ENDLESS
    return 0
