"""The compiled loops of the Bellman operator, and what all compiled loops share.

A kernel is compiled when it is first called on a machine; later processes load it
from numba's cache.  Those that are `brief` do without where the arrays are small.

Conventions
-----------
Arrays are C-contiguous.  The loops over edges take their indices as uint64:
numba then leaves out the test for negative indices, which costs about a third
of the time of a sweep.  ``np.uint64(1)`` stands where a plain ``1`` would turn
the sum into a signed number.  Nothing is compiled with `fastmath`, which would
reorder sums and drop the NaN checks that certificates rely on.

Kernels that may run long take a `budget` of edges, keep their place in the
arrays `at` and `numbers`, and return when the budget is spent: the caller
reports progress, looks for cancellation and calls again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdpdice.compilation import Bools, Floats, Ints, Kinds, Number, brief, inlined, njit
from mdpdice.networks.arrays import ULP

__all__ = ["ULP"]

END, MAX, MIN, CHANCE = 0, 1, 2, 3
"""Values of `mdpdice.networks.network.Kind`, as plain numbers that numba can take as constants."""


PARALLEL = 0.98
"""Square of the cosine from which two moves count as parallel."""


class Rows(NamedTuple):
    """The arrays of a `mdpdice.numerics.operator.Operator`."""

    kind: Kinds
    indptr: Ints
    dst: Ints
    gain: Floats
    coef: Floats
    base: Floats


class Problem(NamedTuple):
    """The arrays of a `mdpdice.networks.network.Network`, rows unsigned, and its discount as a float."""

    kind: Kinds
    indptr: Ints
    dst: Ints
    weight: Floats
    reward: Floats
    sign: Ints
    step: Bools
    discount: float


@inlined
def choose(
    kind: Number, gain: Floats, coef: Floats, dst: Ints, first: Number, last: Number, value: Floats,
    incumbent: Number,
) -> tuple[Number, Number]:  # fmt: skip
    """Best edge of a decision and its worth; a tie leaves the incumbent (-1: none, then the first)."""
    best = np.uint64(incumbent) if incumbent >= 0 else first
    top = gain[best] + coef[best] * value[dst[best]]
    # One loop for both players: with two of them a sweep takes three times as long.
    view = 1.0 if kind == MAX else -1.0
    for e in range(first, last):
        x = gain[e] + coef[e] * value[dst[e]]
        if view * (x - top) > 0:
            top = x
            best = e
    return best, top


@brief
def backup(rows: Rows, nodes: Ints, source: Floats, value: Floats, policy: Ints) -> None:
    """Back up `nodes` once, in their order, reading `source` and writing `value` and `policy`.

    With `source` and `value` the same array this is one Gauss-Seidel sweep, exact when every
    successor of a node has its value already; with two arrays it is one stage of a horizon.
    """
    kind, indptr, dst, gain, coef, base = rows
    one = np.uint64(1)
    for i in nodes:
        first, last = indptr[i], indptr[i + one]
        if kind[i] == CHANCE:
            x = base[i]
            for e in range(first, last):
                x += coef[e] * source[dst[e]]
            value[i] = x
        elif first == last:
            value[i] = base[i]
        else:
            edge, x = choose(kind[i], gain, coef, dst, first, last, source, policy[i])
            value[i] = x
            policy[i] = np.int64(edge)


@njit
def backup_stages(
    rows: Rows, decisions: Ints, chance: Ints, values: Floats, policies: Ints, begin: int, end: int
) -> None:
    """Back up stages of a horizon one after the other: decisions read the stage before, chance nodes their own."""
    for k in range(begin, end):
        if k > 0:
            backup(rows, decisions, values[k - 1], values[k], policies[k])
        backup(rows, chance, values[k], values[k], policies[k])


@brief
def sweep_averages(
    rows: Rows, between: Ints, visited: Ints, place: Ints, share: Floats, tolerance: float, limit: int, bias: Floats,
    moved: Floats, gain: Floats, pace: Floats, policy: Ints,
) -> bool:  # fmt: skip
    """Sweep at most `limit` times, until all `visited` nodes of a place move alike, by its `gain`; `between` go first.

    `pace` holds the share of the other moves that is taken, which is all until they hardly get shorter, as where plays
    go in rounds, and their longest; `share` is 1 over the number of visited nodes of every place.
    """
    for _ in range(limit):
        backup(rows, between, bias, bias, policy)
        backup(rows, visited, bias, moved, policy)
        gain[:] = 0.0
        for i in visited:
            gain[place[i]] += share[place[i]] * (moved[i] - bias[i])
        longest = 0.0
        for i in visited:
            moved[i] -= bias[i] + gain[place[i]]
            longest = max(longest, abs(moved[i]) / max(1.0, abs(gain[place[i]])))
        if longest <= tolerance:
            return True
        pace[0], pace[1] = 0.75 if longest > 0.9 * pace[1] else pace[0], longest
        for i in visited:
            bias[i] += pace[0] * moved[i]
    return False


@njit
def write_in_order(
    problem: Problem, payoff: Floats, order: Ints, place: Ints, new_indptr: Ints, new_dst: Ints, gain: Floats,
    coef: Floats, base: Floats,
) -> None:  # fmt: skip
    """Write the operator of a network node by node in another order; `place` is its inverse."""
    kind, indptr, dst, weight, reward, sign, step, discount = problem
    one = np.uint64(1)
    at = np.uint64(0)
    for k in range(len(order)):
        node = order[k]
        total = 0.0
        for e in range(indptr[node], indptr[node + one]):
            new_dst[at] = place[dst[e]]
            gain[at] = weight[e] * reward[e]
            coef[at] = weight[e] * sign[e] * (discount if step[e] else 1.0)
            total += gain[at]
            at += one
        new_indptr[np.uint64(k) + one] = at
        if kind[node] == CHANCE:
            base[k] = total
        elif kind[node] == END:
            base[k] = payoff[node]


@njit
def measure(rows: Rows, nodes: Ints, source: Floats, value: Floats, policy: Ints) -> tuple[Number, Number, Number]:
    """How far `value` is from the backup of `source`, rounding included; sets the greedy `policy`.

    Returns the largest ``T v - v + rho``, the smallest ``T v - v - rho`` and the largest ``rho``, where
    ``rho = (k + 8) 2^-52 (|v| + sum |gain| + sum |coef v|)`` bounds the rounding of one row of k edges:
    of this sum, of `gain` and `coef`, and of the weights.
    """
    kind, indptr, dst, gain, coef, base = rows
    one = np.uint64(1)
    most, least, noise = -np.inf, np.inf, 0.0
    for i in nodes:
        first, last = indptr[i], indptr[i + one]
        rho = 0.0
        if kind[i] == CHANCE:
            x = base[i]
            size = abs(value[i])
            for e in range(first, last):
                part = coef[e] * source[dst[e]]
                x += part
                size += abs(part) + abs(gain[e])
            rho = (8.0 + np.float64(last - first)) * ULP * size
        elif first == last:
            x = base[i]
        else:
            edge, x = choose(kind[i], gain, coef, dst, first, last, source, -1)
            policy[i] = np.int64(edge)
            for e in range(first, last):
                rho = max(rho, abs(gain[e]) + abs(coef[e] * source[dst[e]]))
            rho = 12.0 * ULP * (rho + abs(value[i]))
        # Written so that a NaN stays one.
        if not x - value[i] + rho <= most:
            most = x - value[i] + rho
        if not x - value[i] - rho >= least:
            least = x - value[i] - rho
        noise = max(noise, rho)
    return most, least, noise


@njit
def extrapolate(
    nodes: Ints, value: Floats, anchor: Floats, drift: Floats, move: Number, at: Ints, number: Floats
) -> None:
    """Make the jumps of `settle`, after a sweep of `nodes` whose longest move was `move`."""
    if at[7] == 1:
        at[7] = 0
        at[4] = 0
        if move > number[1]:
            for i in nodes:
                value[i] = anchor[i]
            at[5] = min(2 * at[5], 4096)
        else:
            at[5] = max(at[5] // 2, 1)
    else:
        at[4] += 1
        if at[1] > 1 and at[4] < at[5]:
            return
        at[4] = 0
        at[6] += 1
        dot, norm = 0.0, 0.0
        for i in nodes:
            d = value[i] - anchor[i]
            dot += d * drift[i]
            norm += d * d
            drift[i] = d
            anchor[i] = value[i]
        before = number[2]
        number[2] = norm
        if at[6] < 2 or not norm > 0:
            return
        factor = dot / before
        if -1 < factor < 1 and dot * dot >= PARALLEL * norm * before:
            for i in nodes:
                value[i] += factor / (1 - factor) * drift[i]
            number[1] = move
            at[6] = 0
            at[7] = 1
        elif at[6] >= 8:
            at[5] = min(2 * at[5], 4096)
            at[6] = 1
        return
    for i in nodes:
        anchor[i] = value[i]


@njit
def settle(
    rows: Rows, order: Ints, ptr: Ints, cyclic: Bools, stops: Bools, value: Floats, policy: Ints,
    absolute: float, relative: float, limit: int, budget: int, at: Ints, number: Floats, anchor: Floats,
    drift: Floats,
) -> None:  # fmt: skip
    """Solve component after component, the cyclic ones by Gauss-Seidel sweeps, until `budget` is spent.

    A cyclic component is settled when no value moved by more than ``absolute + relative |v|`` in a
    sweep, or by more than rounding; it is left unsettled after `limit` sweeps.

    Where every play stops (`stops`), the fixed point is unique and sweeps may be shortened.  The moves of
    two successive windows of sweeps are compared: once they are parallel, ``move' = f move``, the rest of
    the geometric series, ``f / (1 - f) move'``, is added at once (Aitken 1926).  A jump that makes the
    next sweep move the values farther is taken back.  Windows grow while jumps fail: the slower a
    component mixes, the more sweeps it takes to tell ``f`` from 1.  Elsewhere the sweeps must stay below
    the smallest fixed point, so nothing is added.

    In and out go `at`: component, its sweeps, most sweeps of any component, components left unsettled, sweeps in the
    window, length of windows, windows since the last jump, whether a jump waits for its test, sweep of the shortest
    move; `number`: longest move, longest move before the jump, square norm of the last window's move, shortest longest
    move of the component; `anchor` and `drift`, shape (N,): values at the start of the window, moves of the one before.
    """
    kind, indptr, dst, gain, coef, base = rows
    one = np.uint64(1)
    spent: Number = 0
    while at[0] < len(cyclic) and spent < budget:
        c = at[0]
        begin, end = ptr[c], ptr[c + 1]
        if not cyclic[c]:
            i = order[begin]
            spent += 1 + np.int64(indptr[i + one] - indptr[i])
            backup(rows, order[begin:end], value, value, policy)
            at[0] += 1
            at[2] = max(at[2], 1)
            continue
        if at[1] == 0:
            at[4], at[5], at[6], at[7], at[8] = 0, 1, 0, 0, 0
            number[3] = np.inf
        move, excess, size = 0.0, 0.0, 0.0
        for i in order[begin:end]:
            first, last = indptr[i], indptr[i + one]
            if kind[i] == CHANCE:
                x = base[i]
                for e in range(first, last):
                    x += coef[e] * value[dst[e]]
            else:
                edge, x = choose(kind[i], gain, coef, dst, first, last, value, policy[i])
                policy[i] = np.int64(edge)
            d = abs(x - value[i])
            value[i] = x
            move = max(move, d)
            size = max(size, abs(x))
            excess = max(excess, d - relative * abs(x))
            spent += 4 + np.int64(last - first)
        spent += 16
        at[1] += 1
        at[2] = max(at[2], at[1])
        if move < number[3]:
            number[3] = move
            at[8] = at[1]
        idle = at[1] - at[8] > 1000 + 16 * at[5] and move <= 1e-9 * size
        settled = excess <= absolute or move <= 4 * ULP * size or idle
        if stops[c] and not settled:
            extrapolate(order[begin:end], value, anchor, drift, move, at, number)
        number[0] = move
        if settled or at[1] >= limit:
            if not settled:
                at[3] += 1
            at[0] += 1
            at[1] = 0
