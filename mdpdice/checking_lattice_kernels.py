"""The compiled loops of `mdpdice.checking_lattice`; the solvers' loops are others.

Points are taken in blocks of `LANES`, and a block in one go: every core node is a row of numbers, one per
point (*lane*), and what is true of some lanes only is a word of bits.  The numbers in lanes that play cannot
come to mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

from mdpdice.network import Kind

__all__ = ["LANES", "passes", "residuals"]

F = TypeVar("F", bound=Callable[..., Any])

ULP = 2.0**-52
LANES = 64

END, MAX, MIN, CHANCE = int(Kind.END), int(Kind.MAX), int(Kind.MIN), int(Kind.CHANCE)


def njit(function: F) -> F:
    """`numba.njit` with the options of this module."""
    return cast("F", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


@njit
def _look(
    first, lanes, port_entry, port_update, points, targets, guards, rewards, values, layer, held,
    row_guard, word_guard, row_reward, word_reward, size_reward,
    row_port, word_port, free_port, inside_port, size_port,
):  # fmt: skip
    """Read what a block of points needs: values through every port, and words that tell lanes apart.

    Bits of `word_guard` are lanes where a guard holds (the last word is for edges without one), of `free_port`
    those where the update is possible, of `inside_port` those where it stays in the layer, and of `word_reward`
    and `word_port` those where what is read says nothing.
    """
    one = np.uint64(1)
    for g in range(len(guards)):
        word = np.uint64(0)
        for j in range(LANES):
            row_guard[g, j] = j < lanes and guards[g, first + j]
            if row_guard[g, j]:
                word |= one << np.uint64(j)
        word_guard[g] = word
    word_guard[len(guards)] = held
    for j in range(LANES):
        row_guard[len(guards), j] = j < lanes
    for r in range(len(rewards)):
        word, size = np.uint64(0), 0.0
        for j in range(lanes):
            row_reward[r, j] = rewards[r, first + j]
            number = abs(rewards[r, first + j])
            if number < np.inf:
                size = max(size, number)
            else:
                word |= one << np.uint64(j)
        word_reward[r], size_reward[r] = word, size
    for q in range(len(port_entry)):
        bad, free, inside, size = np.uint64(0), np.uint64(0), np.uint64(0), 0.0
        k, u = port_entry[q], port_update[q]
        for j in range(lanes):
            lane = one << np.uint64(j)
            to = targets[u, first + j]
            row_port[q, j] = 0.0
            if to == -1:
                continue
            free |= lane
            # Outside the grid, or in an earlier layer, which proves nothing.
            if to < 0 or layer[to] < layer[points[first + j]] or not abs(values[k, to]) < np.inf:
                bad |= lane
                continue
            row_port[q, j] = values[k, to]
            size = max(size, abs(values[k, to]))
            if layer[to] == layer[points[first + j]]:
                inside |= lane
        word_port[q], free_port[q], inside_port[q], size_port[q] = bad, free, inside, size


@njit
def _worth(e, port, dst, sign, reward, total, row_reward, row_port, best, wide):
    """Put what an edge is worth into the last row of `best`, whether it is there or not."""
    last, q, r = len(best) - 1, port[e], reward[e]
    if q >= 0:
        _copy(best, last, row_port, q, wide)
    else:
        _copy(best, last, best, dst[e], wide)
    if sign[e] < 0:
        _turn(best, last, total, wide)
    if r >= 0:
        _pay(best, last, row_reward, r, wide)


# Loops in functions of their own, with all numbers as arguments, are what the compiler makes the best of;
# they go over whole vectors, beyond the lanes that there are.


@njit
def _wide(lanes):
    return (lanes + 7) // 8 * 8


@njit
def _copy(best, i, source, one, wide):
    for j in range(wide):
        best[i, j] = source[one, j]


@njit
def _turn(best, i, total, wide):
    for j in range(wide):
        best[i, j] = total - best[i, j]


@njit
def _pay(best, i, source, one, wide):
    for j in range(wide):
        best[i, j] += source[one, j]


@njit
def _spell(word, row_guard):
    """Write the bits of a word as booleans, into the last row."""
    for j in range(LANES):
        row_guard[-1, j] = (word >> np.uint64(j)) & np.uint64(1) != 0


# All lanes are computed, even where a block has fewer points: loops of a fixed length are the fastest.


@njit
def _add(best, i, w, one, wide):
    for j in range(wide):
        best[i, j] += w * best[one, j]


@njit
def _add_some(best, i, w, source, one, there, some, wide):
    for j in range(wide):
        best[i, j] += w * source[one, j] if there[some, j] else 0.0


@njit
def _improve(best, i, turn, one, wide):
    if turn > 0:
        for j in range(wide):
            best[i, j] = best[one, j] if best[one, j] > best[i, j] else best[i, j]
    else:
        for j in range(wide):
            best[i, j] = best[one, j] if best[one, j] < best[i, j] else best[i, j]


@njit
def _improve_some(best, i, turn, source, one, there, some, wide):
    for j in range(wide):
        better = source[one, j] > best[i, j] if turn > 0 else source[one, j] < best[i, j]
        best[i, j] = source[one, j] if there[some, j] & better else best[i, j]


@njit
def _near(row_guard, into, some, best, one, i, turn, limit, wide):
    """Lanes of a guard in which a choice is as good as the best one, but for a limit."""
    if turn > 0:
        for j in range(wide):
            row_guard[into, j] = row_guard[some, j] & (not best[one, j] < best[i, j] - limit)
    else:
        for j in range(wide):
            row_guard[into, j] = row_guard[some, j] & (not best[one, j] > best[i, j] + limit)


@njit
def _block(
    order, kind, indptr, dst, weight, sign, guard, reward, payoff, port, total, points, first, lanes, held,
    choices, following, row_guard, word_guard, row_reward, word_reward, size_reward,
    row_port, word_port, free_port, inside_port, size_port, best, bad, size, room, slack, whole,
):  # fmt: skip
    """Compute every core node at the points of a block, and bounds that hold for all of them.

    `best` gets the values, `bad` a word of the lanes where they say nothing, and `size`, `room` and `slack` how
    large they are, how far rounding may have moved them, and what rounded choices may lose.  Returns whether
    the layer is read.
    """
    none = len(word_guard) - 1
    wide = _wide(lanes)
    itself = False
    for i in order:
        begin, finish = indptr[i], indptr[i + 1]
        if kind[i] == END:
            bad[i], size[i], room[i], slack[i] = 0, 0.0, 0.0, 0.0
            for j in range(LANES):
                best[i, j] = row_reward[payoff[i], j] if payoff[i] >= 0 else 0.0
            if payoff[i] >= 0:
                bad[i], size[i] = word_reward[payoff[i]], size_reward[payoff[i]]
                room[i] = 4 * ULP * size[i]
            continue
        mean = kind[i] == CHANCE
        turn = -1.0 if kind[i] == MIN else 1.0
        for j in range(LANES):
            best[i, j] = 0.0 if mean else -turn * np.inf
            whole[j] = 0.0
        wrong, covered = np.uint64(0), np.uint64(0)
        largest, rooms, slacks, common, terms = 0.0, 0.0, 0.0, 0.0, 0
        for e in range(begin, finish):
            w = weight[e]
            if not w > 0:
                continue
            live = word_guard[guard[e] if guard[e] >= 0 else none]
            q = port[e]
            if q >= 0:
                near, added, lost, unknown = size_port[q], 0.0, 0.0, word_port[q]
                if mean:
                    unknown |= ~free_port[q]
                else:
                    live &= free_port[q]
            else:
                near, added, lost, unknown = size[dst[e]], room[dst[e]], slack[dst[e]], bad[dst[e]]
            plain = q < 0 and reward[e] < 0 and sign[e] > 0
            if not plain:
                if sign[e] < 0:
                    near += abs(total)
                if reward[e] >= 0:
                    near += size_reward[reward[e]]
                    unknown |= word_reward[reward[e]]
                added += 4 * ULP * near
            chosen = live
            if following and not mean:
                chosen = np.uint64(0)
                for j in range(lanes):
                    if choices[i, points[first + j]] == e - begin:
                        chosen |= np.uint64(1) << np.uint64(j)
                chosen &= live
            wrong |= chosen & unknown
            covered |= chosen
            if q >= 0 and chosen & inside_port[q]:
                itself = True
            if chosen == 0:
                continue
            terms += 1
            largest, rooms, slacks = max(largest, near), max(rooms, added), max(slacks, lost)
            one = dst[e]
            if not plain:
                one = len(best) - 1
                _worth(e, port, dst, sign, reward, total, row_reward, row_port, best, wide)
            if chosen == held:
                if mean:
                    common += w
                    _add(best, i, w, one, wide)
                else:
                    _improve(best, i, turn, one, wide)
                continue
            some = guard[e]
            if some < 0 or chosen != word_guard[some]:
                some = len(row_guard) - 1
                _spell(chosen, row_guard)
            if mean:
                _add_some(best, i, w, best, one, row_guard, some, wide)
                for j in range(LANES):
                    whole[j] += w if row_guard[some, j] else 0.0
            else:
                _improve_some(best, i, turn, best, one, row_guard, some, wide)
        bad[i] = wrong | (held & ~covered)
        size[i], slack[i] = largest, slacks
        if mean:
            defect = 0.0
            for j in range(lanes):
                if covered >> np.uint64(j) & np.uint64(1):
                    defect = max(defect, abs(1.0 - (common + whole[j])))
            # A mean is off by no more than the worst of its arguments, and its own rounding.
            room[i] = (1.0 + defect) * rooms + ((2 * terms + 8) * ULP + defect) * largest
        else:
            room[i] = rooms
            slack[i] += 0.0 if following else 2 * rooms
    return itself


@njit
def residuals(
    order, kind, indptr, dst, weight, sign, guard, reward, payoff, port, port_entry, port_update, entries, total,
    points, blocks, targets, guards, rewards, values, layer, choices, following,
):  # fmt: skip
    """Largest residual, room for rounding, slack of choices; and 1 if the layer was read, else 0."""
    n, ports = len(kind), len(port_entry)
    best = np.zeros((n + 1, LANES))
    bad = np.zeros(n, dtype=np.uint64)
    size, room, slack = np.zeros(n), np.zeros(n), np.zeros(n)
    whole = np.zeros(LANES)
    row_guard = np.zeros((len(guards) + 2, LANES), dtype=np.bool_)
    row_reward = np.zeros((len(rewards), LANES))
    word_guard = np.zeros(len(guards) + 1, dtype=np.uint64)
    word_reward, size_reward = np.zeros(len(rewards), dtype=np.uint64), np.zeros(len(rewards))
    row_port, size_port = np.zeros((ports, LANES)), np.empty(ports)
    word_port, free_port = np.zeros(ports, dtype=np.uint64), np.zeros(ports, dtype=np.uint64)
    inside_port = np.zeros(ports, dtype=np.uint64)
    off, most_room, most_slack, itself = 0.0, 0.0, 0.0, 0.0
    for b in range(len(blocks) - 1):
        first = blocks[b]
        lanes = blocks[b + 1] - first
        held = ~np.uint64(0) >> np.uint64(LANES - lanes)
        _look(
            first, lanes, port_entry, port_update, points, targets, guards, rewards, values, layer, held,
            row_guard, word_guard, row_reward, word_reward, size_reward,
            row_port, word_port, free_port, inside_port, size_port,
        )  # fmt: skip
        if _block(
            order, kind, indptr, dst, weight, sign, guard, reward, payoff, port, total, points, first, lanes, held,
            choices, following, row_guard, word_guard, row_reward, word_reward, size_reward,
            row_port, word_port, free_port, inside_port, size_port, best, bad, size, room, slack, whole,
        ):  # fmt: skip
            itself = 1.0
        for k in range(len(entries)):
            i = entries[k]
            some = False
            for j in range(lanes):
                value = values[k, points[first + j]]
                if np.isnan(value):
                    continue
                some = True
                distance = abs(best[i, j] - value)
                if bad[i] >> np.uint64(j) & np.uint64(1) or not distance < np.inf:
                    distance = np.inf
                off = max(off, distance)
            if some:
                most_room = max(most_room, room[i] + 2 * ULP * size[i])
                most_slack = max(most_slack, slack[i])
    return off, most_room, most_slack, itself


@njit
def passes(
    order, kind, indptr, dst, weight, sign, guard, reward, payoff, port, port_entry, port_update, entries, total,
    points, blocks, targets, guards, rewards, values, layer, choices, following, inner, before, after,
):  # fmt: skip
    """Compute ``1 + P w`` of both sides into `after`; by how much it exceeds ``w``, and its maximum."""
    n, ports = len(kind), len(port_entry)
    best, back = np.zeros((n + 1, LANES)), np.zeros((2 * n, LANES))
    bad = np.zeros(n, dtype=np.uint64)
    size, room, slack = np.zeros(n), np.zeros(n), np.zeros(n)
    whole = np.zeros(LANES)
    row_guard = np.zeros((len(guards) + 2, LANES), dtype=np.bool_)
    row_reward = np.zeros((len(rewards), LANES))
    word_guard = np.zeros(len(guards) + 1, dtype=np.uint64)
    word_reward, size_reward = np.zeros(len(rewards), dtype=np.uint64), np.zeros(len(rewards))
    row_port, size_port = np.zeros((ports, LANES)), np.empty(ports)
    word_port, free_port = np.zeros(ports, dtype=np.uint64), np.zeros(ports, dtype=np.uint64)
    inside_port = np.zeros(ports, dtype=np.uint64)
    ahead = np.zeros((2 * ports, LANES))
    none = len(guards)
    grown, longest = 0.0, 0.0
    for b in range(len(blocks) - 1):
        first = blocks[b]
        lanes = blocks[b + 1] - first
        held = ~np.uint64(0) >> np.uint64(LANES - lanes)
        _look(
            first, lanes, port_entry, port_update, points, targets, guards, rewards, values, layer, held,
            row_guard, word_guard, row_reward, word_reward, size_reward,
            row_port, word_port, free_port, inside_port, size_port,
        )  # fmt: skip
        _block(
            order, kind, indptr, dst, weight, sign, guard, reward, payoff, port, total, points, first, lanes, held,
            choices, following, row_guard, word_guard, row_reward, word_reward, size_reward,
            row_port, word_port, free_port, inside_port, size_port, best, bad, size, room, slack, whole,
        )  # fmt: skip
        for q in range(ports):
            k, u = port_entry[q], port_update[q]
            for j in range(lanes):
                here, to = points[first + j], targets[u, first + j]
                ahead[q, j] = ahead[ports + q, j] = 0.0
                if to >= 0 and layer[to] == layer[here]:
                    onward = inner[to] > inner[here]
                    ahead[q, j] = after[0, k, to] if onward else before[0, k, to]
                    ahead[ports + q, j] = after[1, k, to] if onward else before[1, k, to]
        wide = _wide(lanes)
        for i in order:
            mean = kind[i] == CHANCE
            turn = -1.0 if kind[i] == MIN else 1.0
            # The side that is free in its choices here; the other one is as good as free at chance nodes.
            free = 1 if kind[i] == MAX else 0
            limit = 2 * room[i]
            for j in range(LANES):
                back[i, j] = back[n + i, j] = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                if not weight[e] > 0:
                    continue
                some = guard[e] if guard[e] >= 0 else none
                live = word_guard[some]
                q = port[e]
                if q >= 0 and not mean and live & ~free_port[q]:
                    live &= free_port[q]
                    some = none + 1
                    _spell(live, row_guard)
                if live == 0:
                    continue
                for side in range(2):
                    other = 1 - side if sign[e] < 0 else side
                    to = side * n + i
                    if mean and q >= 0:
                        _add_some(back, to, weight[e], ahead, other * ports + q, row_guard, some, wide)
                    elif mean:
                        _add_some(back, to, weight[e], back, other * n + dst[e], row_guard, some, wide)
                    elif side == free and q >= 0:
                        _improve_some(back, to, 1.0, ahead, other * ports + q, row_guard, some, wide)
                    elif side == free:
                        _improve_some(back, to, 1.0, back, other * n + dst[e], row_guard, some, wide)
                if mean:
                    continue
                # The other side does what it does, or what rounding may make it do.
                if following:
                    for j in range(LANES):
                        chosen = j < lanes and choices[i, points[first + min(j, lanes - 1)]] == e - indptr[i]
                        row_guard[none + 1, j] = row_guard[some, j] & chosen
                elif q < 0 and reward[e] < 0 and sign[e] > 0:
                    _near(row_guard, none + 1, some, best, dst[e], i, turn, limit, wide)
                else:
                    _worth(e, port, dst, sign, reward, total, row_reward, row_port, best, wide)
                    _near(row_guard, none + 1, some, best, n, i, turn, limit, wide)
                side = 1 - free
                other = 1 - side if sign[e] < 0 else side
                if q >= 0:
                    _improve_some(
                        back, side * n + i, 1.0, ahead, other * ports + q, row_guard, none + 1, wide
                    )
                else:
                    _improve_some(
                        back, side * n + i, 1.0, back, other * n + dst[e], row_guard, none + 1, wide
                    )
        for k in range(len(entries)):
            for j in range(lanes):
                to = points[first + j]
                for side in range(2):
                    if np.isnan(values[k, to]):
                        after[side, k, to] = 0.0
                        continue
                    steps = 1.0 + back[side * n + entries[k], j]
                    after[side, k, to] = steps
                    # Written so that NaN counts as large.
                    if not steps - before[side, k, to] <= grown:
                        grown = steps - before[side, k, to]
                    if not steps <= longest:
                        longest = steps
    return grown, longest
