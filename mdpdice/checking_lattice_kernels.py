"""The compiled loops of `mdpdice.checking_lattice`; the solvers' loops are others.

Points are taken in blocks of `LANES`, and a block in one go: every core node is a row of numbers, one per
point (*lane*), and what is true of some lanes only is a word of bits.  The numbers in lanes that play cannot
come to mean nothing.

Arguments come in groups:

core
    ``order, kind, indptr, arg, weight, guard, flip, reward, number, payoff, simple``: the nodes, successors
    first, and the edges that have a probability.  ``arg`` is the row that an edge reads, the successor's or, from n
    on, that of a port; ``number`` its place among all edges of the node.  A node is *simple* if its edges have no
    guard, and add nothing to the row that they read.
ports
    ``read, flip, reward, guard, turn``: what is read from the store, and what an edge adds to that.  The guard is
    part of a port where an option reads it: ``turn`` is 1 for those of a maximum, -1 for those of a minimum and 0
    for the ports of means.
reads
    ``entry, update``: what is read from the store, and where.
claim
    ``entries, total, values, layer, choices, following``.
tables
    ``points, blocks, targets, guards, rewards``.
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


# --- loops over lanes ---------------------------------------------------------------------------
#
# Loops in functions of their own, with all numbers as arguments, are what the compiler makes the best of;
# they go over whole vectors, beyond the lanes that there are.


@njit
def _wide(lanes):
    return (lanes + 7) // 8 * 8


@njit
def _fill(best, i, number, wide):
    for j in range(wide):
        best[i, j] = number


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
def _leave(best, i, there, some, number, wide):
    """Put a number where something is not there."""
    for j in range(wide):
        best[i, j] = best[i, j] if there[some, j] else number


@njit
def _spell(word, row_guard):
    """Write the bits of a word as booleans, into the last row."""
    for j in range(LANES):
        row_guard[-1, j] = (word >> np.uint64(j)) & np.uint64(1) != 0


@njit
def _add(best, i, w, one, wide):
    for j in range(wide):
        best[i, j] += w * best[one, j]


@njit
def _mean_of_six(best, i, more, u, v, w, x, y, z, one, two, three, four, five, six, wide):
    for j in range(wide):
        first = (u * best[one, j] + v * best[two, j]) + (w * best[three, j] + x * best[four, j])
        best[i, j] = (best[i, j] if more else 0.0) + (first + (y * best[five, j] + z * best[six, j]))


@njit
def _mean_of_two(best, i, more, w, x, one, two, wide):
    for j in range(wide):
        best[i, j] = (best[i, j] if more else 0.0) + (w * best[one, j] + x * best[two, j])


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
def _better(turn, one, two):
    # Written so that a lane without a number spoils no other row: it loses every comparison.
    if turn > 0:
        return one if one > two else two
    return one if one < two else two


@njit
def _improve_two(best, i, turn, one, two, wide):
    if turn > 0:
        for j in range(wide):
            best[i, j] = _better(1, best[two, j], _better(1, best[one, j], best[i, j]))
    else:
        for j in range(wide):
            best[i, j] = _better(-1, best[two, j], _better(-1, best[one, j], best[i, j]))


@njit
def _improve_six(best, i, turn, one, two, three, four, five, six, wide):
    if turn > 0:
        for j in range(wide):
            first = _better(1, best[two, j], _better(1, best[one, j], best[i, j]))
            second = _better(1, best[four, j], _better(1, best[three, j], first))
            best[i, j] = _better(1, best[six, j], _better(1, best[five, j], second))
    else:
        for j in range(wide):
            first = _better(-1, best[two, j], _better(-1, best[one, j], best[i, j]))
            second = _better(-1, best[four, j], _better(-1, best[three, j], first))
            best[i, j] = _better(-1, best[six, j], _better(-1, best[five, j], second))


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


# --- one block ----------------------------------------------------------------------------------


@njit
def _rooms(core, ports, reads, tables):
    """Room for what is known about one block: see `_look` and `_block`."""
    n, q, r = len(core[1]), len(ports[0]), len(reads[0])
    guards, rewards = len(tables[3]), len(tables[4])
    rows = np.zeros((n + q + 1, LANES)), np.zeros((r, LANES)), np.zeros((rewards, LANES))
    truth = np.zeros((guards + 2, LANES), dtype=np.bool_)
    words = (
        np.zeros(n + q, dtype=np.uint64),
        np.zeros(n + q, dtype=np.uint64),
        np.zeros(q, dtype=np.uint64),
        np.zeros((3, r), dtype=np.uint64),
        np.zeros(rewards, dtype=np.uint64),
        np.zeros(guards + 1, dtype=np.uint64),
    )
    return rows, truth, words


@njit
def _look(first, lanes, core, ports, reads, claim, tables, room, size_read, size_reward):
    """Read what a block of points needs, and make the rows of the ports of it.

    Bits of `word_guard` are lanes where a guard holds (the last word is for edges without one), of `there` those
    where a row may be used, of `bad` those where it says nothing, of `inside` those where it was read in the same
    layer.  Sizes are the largest ones met so far.  Returns whether some row says nothing, and whether the layer
    was read.
    """
    (best, row_read, row_reward), row_guard, (bad, there, inside, word_read, word_reward, word_guard) = room
    _, total, values, layer, _, _ = claim
    points, _, targets, guards, rewards = tables
    n, one = len(core[1]), np.uint64(1)
    held = ~np.uint64(0) >> np.uint64(LANES - lanes)
    wide = _wide(lanes)
    for g in range(len(guards)):
        word = np.uint64(0)
        for j in range(LANES):
            row_guard[g, j] = j < lanes and guards[g, first + j]
            word |= np.uint64(row_guard[g, j]) << np.uint64(j)
        word_guard[g] = word
    word_guard[len(guards)] = held
    for j in range(LANES):
        row_guard[len(guards), j] = j < lanes
    for r in range(len(rewards)):
        word, size = np.uint64(0), size_reward[r]
        for j in range(lanes):
            row_reward[r, j] = rewards[r, first + j]
            number = abs(rewards[r, first + j])
            if number < np.inf:
                size = max(size, number)
            else:
                word |= one << np.uint64(j)
        word_reward[r], size_reward[r] = word, size
    for r in range(len(reads[0])):
        unknown, free, within, size = np.uint64(0), np.uint64(0), np.uint64(0), size_read[r]
        k, u = reads[0][r], reads[1][r]
        for j in range(lanes):
            lane = one << np.uint64(j)
            to = targets[u, first + j]
            row_read[r, j] = 0.0
            if to == -1:
                continue
            free |= lane
            # Outside the grid, or in an earlier layer, which proves nothing.
            if to < 0 or layer[to] < layer[points[first + j]] or not abs(values[k, to]) < np.inf:
                unknown |= lane
                continue
            row_read[r, j] = values[k, to]
            size = max(size, abs(values[k, to]))
            if layer[to] == layer[points[first + j]]:
                within |= lane
        word_read[0, r], word_read[1, r], word_read[2, r], size_read[r] = unknown, free, within, size
    spoilt, itself = np.uint64(0), np.uint64(0)
    read, flip, reward, guard, turn = ports
    for q in range(len(read)):
        i, r = n + q, read[q]
        unknown, free, within = word_read[0, r], word_read[1, r], word_read[2, r]
        _copy(best, i, row_read, r, wide)
        if flip[q]:
            _turn(best, i, total, wide)
        if reward[q] >= 0:
            _pay(best, i, row_reward, reward[q], wide)
            unknown |= word_reward[reward[q]]
        if turn[q] == 0:
            # A mean needs all that it is made of.
            there[i], bad[i] = held, held & (unknown | ~free)
        else:
            live = free & word_guard[guard[q] if guard[q] >= 0 else len(guards)]
            there[i], bad[i] = live, live & unknown
            if live != held:
                some = guard[q]
                if some < 0 or live != word_guard[some]:
                    some = len(row_guard) - 1
                    _spell(live, row_guard)
                _leave(best, i, row_guard, some, -turn[q] * np.inf, wide)
        inside[q] = there[i] & within
        spoilt |= bad[i]
        itself |= inside[q]
    return spoilt != 0, itself != 0


@njit
def _worth(e, core, total, best, row_reward, wide):
    """Put what an edge is worth into the last row of `best`, whether it is there or not."""
    last, r = len(best) - 1, core[7][e]
    _copy(best, last, best, core[3][e], wide)
    if core[6][e]:
        _turn(best, last, total, wide)
    if r >= 0:
        _pay(best, last, row_reward, r, wide)


@njit
def _simple(i, begin, finish, mean, turn, arg, weight, best, wide):
    """The row of a simple node."""
    e = begin
    if mean:
        while e + 5 < finish:
            _mean_of_six(
                best, i, e > begin,
                weight[e], weight[e + 1], weight[e + 2], weight[e + 3], weight[e + 4], weight[e + 5],
                arg[e], arg[e + 1], arg[e + 2], arg[e + 3], arg[e + 4], arg[e + 5], wide,
            )  # fmt: skip
            e += 6
        while e + 1 < finish:
            _mean_of_two(best, i, e > begin, weight[e], weight[e + 1], arg[e], arg[e + 1], wide)
            e += 2
        if e == begin:
            _fill(best, i, 0.0, wide)
        if e < finish:
            _add(best, i, weight[e], arg[e], wide)
    else:
        _fill(best, i, -turn * np.inf, wide)
        while e + 5 < finish:
            _improve_six(
                best, i, turn, arg[e], arg[e + 1], arg[e + 2], arg[e + 3], arg[e + 4], arg[e + 5], wide
            )
            e += 6
        while e + 1 < finish:
            _improve_two(best, i, turn, arg[e], arg[e + 1], wide)
            e += 2
        if e < finish:
            _improve(best, i, turn, arg[e], wide)


@njit
def _block(first, lanes, core, claim, tables, room, found, whole, defect):
    """Compute every core node at the points of a block, and the words of lanes where they say nothing.

    `defect` gets by how much the weights of a mean miss 1, at most.  `found` is what `_look` returned.
    Returns whether the layer is read.
    """
    (best, _, row_reward), row_guard, (bad, there, inside, _, word_reward, word_guard) = room
    order, kind, indptr, arg, weight, guard, flip, reward, number, payoff, simple = core
    _, total, _, _, choices, following = claim
    points = tables[0]
    n, none, wide = len(kind), len(word_guard) - 1, _wide(lanes)
    held = ~np.uint64(0) >> np.uint64(LANES - lanes)
    spoilt, inner = found
    itself = False
    for i in order:
        begin, finish = indptr[i], indptr[i + 1]
        there[i] = held
        if kind[i] == END:
            bad[i] = held & word_reward[payoff[i]] if payoff[i] >= 0 else np.uint64(0)
            if payoff[i] >= 0:
                _copy(best, i, row_reward, payoff[i], wide)
            else:
                _fill(best, i, 0.0, wide)
            spoilt |= bad[i] != 0
            continue
        mean = kind[i] == CHANCE
        turn = -1.0 if kind[i] == MIN else 1.0
        wrong, covered = np.uint64(0), np.uint64(0)
        if simple[i] and (mean or not following):
            _simple(i, begin, finish, mean, turn, arg, weight, best, wide)
            for e in range(begin, finish):
                covered |= there[arg[e]]
                if covered == held:
                    break
            if spoilt:
                for e in range(begin, finish):
                    wrong |= bad[arg[e]]
            if inner:
                for e in range(begin, finish):
                    itself |= arg[e] >= n and inside[arg[e] - n] != 0
        else:
            _fill(best, i, 0.0 if mean else -turn * np.inf, wide)
            for j in range(LANES):
                whole[j] = 0.0
            common = 0.0
            for e in range(begin, finish):
                one, some = arg[e], guard[e] if guard[e] >= 0 else none
                chosen = word_guard[some] & there[one]
                unknown = bad[one] | (word_reward[reward[e]] if reward[e] >= 0 else np.uint64(0))
                if following and not mean:
                    for j in range(lanes):
                        if choices[i, points[first + j]] != number[e]:
                            chosen &= ~(np.uint64(1) << np.uint64(j))
                wrong |= chosen & unknown
                covered |= chosen
                if one >= n and chosen & inside[one - n]:
                    itself = True
                if chosen == 0:
                    continue
                if flip[e] or reward[e] >= 0:
                    _worth(e, core, total, best, row_reward, wide)
                    one = len(best) - 1
                if chosen == held and mean:
                    common += weight[e]
                    _add(best, i, weight[e], one, wide)
                elif chosen == held:
                    _improve(best, i, turn, one, wide)
                else:
                    if chosen != word_guard[some]:
                        some = none + 1
                        _spell(chosen, row_guard)
                    if mean:
                        _add_some(best, i, weight[e], best, one, row_guard, some, wide)
                        for j in range(LANES):
                            whole[j] += weight[e] if row_guard[some, j] else 0.0
                    else:
                        _improve_some(best, i, turn, best, one, row_guard, some, wide)
            if mean:
                for j in range(lanes):
                    if covered >> np.uint64(j) & np.uint64(1):
                        defect[i] = max(defect[i], abs(1.0 - (common + whole[j])))
        bad[i] = wrong | (held & ~covered)
        spoilt |= bad[i] != 0
    return itself


@njit
def _defects(core):
    """By how much the weights of means miss 1, where they are the same everywhere."""
    _, kind, indptr, _, weight, _, _, _, _, _, simple = core
    defect = np.zeros(len(kind))
    for i in range(len(kind)):
        if kind[i] == CHANCE and simple[i]:
            whole = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                whole += weight[e]
            defect[i] = abs(1.0 - whole)
    return defect


@njit
def _rounding(core, ports, claim, size_read, size_reward, defect, size, room, slack):
    """How large the rows may be, how far rounding may have moved them, and what rounded choices may lose."""
    order, kind, indptr, arg, _, _, flip, reward, _, payoff, _ = core
    total, following, n = abs(claim[1]), claim[5], len(kind)
    for q in range(len(ports[0])):
        near = size_read[ports[0][q]]
        if ports[1][q]:
            near += total
        if ports[2][q] >= 0:
            near += size_reward[ports[2][q]]
        size[n + q], room[n + q], slack[n + q] = near, 4 * ULP * near, 0.0
    for i in order:
        if kind[i] == END:
            size[i] = size_reward[payoff[i]] if payoff[i] >= 0 else 0.0
            room[i], slack[i] = 4 * ULP * size[i], 0.0
            continue
        largest, rooms, slacks = 0.0, 0.0, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            near, added = size[arg[e]], room[arg[e]]
            if flip[e] or reward[e] >= 0:
                if flip[e]:
                    near += total
                if reward[e] >= 0:
                    near += size_reward[reward[e]]
                added += 4 * ULP * near
            largest, rooms, slacks = max(largest, near), max(rooms, added), max(slacks, slack[arg[e]])
        size[i], slack[i] = largest, slacks
        if kind[i] == CHANCE:
            terms = indptr[i + 1] - indptr[i]
            # A mean is off by no more than the worst of its arguments, and its own rounding.
            room[i] = (1.0 + defect[i]) * rooms + ((2 * terms + 8) * ULP + defect[i]) * largest
        else:
            room[i] = rooms
            slack[i] += 0.0 if following else 2 * rooms


# --- pieces of a layer --------------------------------------------------------------------------


@njit
def residuals(core, ports, reads, claim, tables):
    """Largest residual, room for rounding, slack of choices; and 1 if the layer was read, else 0."""
    entries, _, values = claim[:3]
    points, blocks, _, _, rewards = tables
    rooms = _rooms(core, ports, reads, tables)
    best, bad = rooms[0][0], rooms[2][0]
    size_read, size_reward = np.zeros(len(reads[0])), np.zeros(len(rewards))
    whole, defect = np.zeros(LANES), _defects(core)
    used = np.zeros(len(entries), dtype=np.bool_)
    off, itself = 0.0, 0.0
    for b in range(len(blocks) - 1):
        first = blocks[b]
        lanes = blocks[b + 1] - first
        found = _look(first, lanes, core, ports, reads, claim, tables, rooms, size_read, size_reward)
        if _block(first, lanes, core, claim, tables, rooms, found, whole, defect):
            itself = 1.0
        for k in range(len(entries)):
            i = entries[k]
            for j in range(lanes):
                value = values[k, points[first + j]]
                if np.isnan(value):
                    continue
                used[k] = True
                distance = abs(best[i, j] - value)
                if bad[i] >> np.uint64(j) & np.uint64(1) or not distance < np.inf:
                    distance = np.inf
                off = max(off, distance)
    size, room, slack = np.zeros(len(bad)), np.zeros(len(bad)), np.zeros(len(bad))
    _rounding(core, ports, claim, size_read, size_reward, defect, size, room, slack)
    most_room, most_slack = 0.0, 0.0
    for k in range(len(entries)):
        if used[k]:
            i = entries[k]
            most_room = max(most_room, room[i] + 2 * ULP * size[i])
            most_slack = max(most_slack, slack[i])
    return off, most_room, most_slack, itself


@njit
def passes(core, ports, reads, claim, tables, inner, before, after):
    """Compute ``1 + P w`` of both sides into `after`; by how much it exceeds ``w``, and its maximum."""
    order, kind, indptr, arg, weight, guard, flip, reward, number, _, _ = core
    entries, total, values, layer, choices, following = claim
    points, blocks, targets, guards, rewards = tables
    n, n_reads, none = len(kind), len(reads[0]), len(guards)
    rooms = _rooms(core, ports, reads, tables)
    (best, _, row_reward), row_guard, (bad, there, _, _, _, word_guard) = rooms
    size, room, slack = np.zeros(len(bad)), np.zeros(len(bad)), np.zeros(len(bad))
    size_read, size_reward = np.zeros(n_reads), np.zeros(len(rewards))
    whole, defect = np.zeros(LANES), _defects(core)
    back, ahead = np.zeros((2 * n, LANES)), np.zeros((2 * n_reads, LANES))
    grown, longest = 0.0, 0.0
    for b in range(len(blocks) - 1):
        first = blocks[b]
        lanes = blocks[b + 1] - first
        wide = _wide(lanes)
        size_read[:], size_reward[:] = 0.0, 0.0
        found = _look(first, lanes, core, ports, reads, claim, tables, rooms, size_read, size_reward)
        _block(first, lanes, core, claim, tables, rooms, found, whole, defect)
        _rounding(core, ports, claim, size_read, size_reward, defect, size, room, slack)
        for r in range(n_reads):
            k, u = reads[0][r], reads[1][r]
            for j in range(lanes):
                here, to = points[first + j], targets[u, first + j]
                ahead[r, j] = ahead[n_reads + r, j] = 0.0
                if to >= 0 and layer[to] == layer[here]:
                    onward = inner[to] > inner[here]
                    ahead[r, j] = after[0, k, to] if onward else before[0, k, to]
                    ahead[n_reads + r, j] = after[1, k, to] if onward else before[1, k, to]
        for i in order:
            mean = kind[i] == CHANCE
            turn = -1.0 if kind[i] == MIN else 1.0
            # The side that is free in its choices here; the other one is as good as free at chance nodes.
            free = 1 if kind[i] == MAX else 0
            limit = 2 * room[i]
            _fill(back, i, 0.0, LANES)
            _fill(back, n + i, 0.0, LANES)
            for e in range(indptr[i], indptr[i + 1]):
                q, some = arg[e] - n, guard[e] if guard[e] >= 0 else none
                live = word_guard[some] & there[arg[e]]
                if live == 0:
                    continue
                if live != word_guard[some]:
                    some = none + 1
                    _spell(live, row_guard)
                turned = ports[1][q] if q >= 0 else flip[e]
                for side in range(2):
                    other = 1 - side if turned else side
                    to = side * n + i
                    if mean and q >= 0:
                        _add_some(
                            back, to, weight[e], ahead, other * n_reads + ports[0][q], row_guard, some, wide
                        )
                    elif mean:
                        _add_some(back, to, weight[e], back, other * n + arg[e], row_guard, some, wide)
                    elif side == free and q >= 0:
                        _improve_some(
                            back, to, 1.0, ahead, other * n_reads + ports[0][q], row_guard, some, wide
                        )
                    elif side == free:
                        _improve_some(back, to, 1.0, back, other * n + arg[e], row_guard, some, wide)
                if mean:
                    continue
                # The other side does what it does, or what rounding may make it do.
                if following:
                    for j in range(LANES):
                        chosen = j < lanes and choices[i, points[first + min(j, lanes - 1)]] == number[e]
                        row_guard[none + 1, j] = row_guard[some, j] & chosen
                else:
                    one = arg[e]
                    if flip[e] or reward[e] >= 0:
                        _worth(e, core, total, best, row_reward, wide)
                        one = len(best) - 1
                    _near(row_guard, none + 1, some, best, one, i, turn, limit, wide)
                side = 1 - free
                other = 1 - side if turned else side
                if q >= 0:
                    one = other * n_reads + ports[0][q]
                    _improve_some(back, side * n + i, 1.0, ahead, one, row_guard, none + 1, wide)
                else:
                    _improve_some(
                        back, side * n + i, 1.0, back, other * n + arg[e], row_guard, none + 1, wide
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
