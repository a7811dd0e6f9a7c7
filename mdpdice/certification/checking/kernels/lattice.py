# Passages of this text are replaced by tests/certification/checking/test_lattice_mutated.py: change both together.
"""The compiled loops of `mdpdice.certification.checking.lattice`; the solvers' loops are others.

Points are taken in blocks of `LANES`, and a block in one go: every core node is a row of numbers, one per
point (*lane*), and what is true of some lanes only is a word of bits.  The numbers in lanes that play cannot
come to mean nothing.

Arguments come in groups:

core
    ``order, kind, indptr, arg, weight, guard, flip, reward, number, payoff, simple``: the nodes, successors
    first, and the edges that have a probability.  ``arg`` is the row that an edge reads, the successor's or, from n
    on, that of a port; ``number`` its place among all edges of the node, or -1 where it stands for all options of
    the decision that it leads to, of which there may be none.  A node is *simple* if its edges have no guard, and
    add nothing to the row that they read.
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
rooms
    Arrays to work with, from plain Python, where zeros of many types need no compiling.
"""

from __future__ import annotations

import numpy as np

from mdpdice.certification.checking.kernels import lattice_lanes as loops
from mdpdice.certification.checking.kernels.lattice_lanes import LANES
from mdpdice.compilation import nested, njit
from mdpdice.networks.network import Kind

__all__ = ["LANES", "inner_reads", "passes", "residuals", "rooms_of_passes", "rooms_of_residuals"]

ULP = 2.0**-52
NORMAL = 2.0**-1022

END, MAX, MIN, CHANCE = int(Kind.END), int(Kind.MAX), int(Kind.MIN), int(Kind.CHANCE)


# --- one block ----------------------------------------------------------------------------------


def rooms_of_residuals(core, ports, reads, claim, tables):
    """Room for what is known about one block, see `_look` and `_block`, and for what `residuals` adds up."""
    n, q, r = len(core[1]), len(ports[0]), len(reads[0])
    guards, rewards = len(tables[3]), len(tables[4])
    rows = np.zeros((n + q + 1, LANES)), np.zeros((r, LANES)), np.zeros((rewards, LANES))
    truth = np.zeros((guards + 2, LANES), dtype=np.bool_)
    words = (
        np.zeros(n + q, dtype=np.uint64),
        np.zeros((2, n + q), dtype=np.uint64),
        np.zeros(q, dtype=np.uint64),
        np.zeros((3, r), dtype=np.uint64),
        np.zeros(rewards, dtype=np.uint64),
        np.zeros(guards + 1, dtype=np.uint64),
    )
    sizes = np.zeros(r), np.zeros(rewards), np.zeros(r), np.zeros(rewards)
    bounds = np.zeros(n + q), np.zeros(n + q), np.zeros((2, n + q)), np.zeros(LANES), np.zeros(n)
    return (rows, truth, words), sizes, bounds, np.zeros(len(claim[0]), dtype=np.bool_)


@nested
def _look(first, lanes, core, ports, reads, claim, tables, room, size_read, size_reward):
    """Read what a block of points needs, and make the rows of the ports of it.

    Bits of `word_guard` are lanes where a guard holds (the last word is for edges without one), of `there` those
    where a row may be used and, in its second line, where a decision has an option, of `bad` those where a row says
    nothing, of `inside` those where it was read in the same layer.  Sizes are the largest ones met so far.  Returns
    whether some row says nothing, and whether the layer was read.
    """
    (best, row_read, row_reward), row_guard, (bad, there, inside, word_read, word_reward, word_guard) = room
    _, total, values, layer, _, _ = claim
    points, _, targets, guards, rewards = tables
    n, one = len(core[1]), np.uint64(1)
    held = ~np.uint64(0) >> np.uint64(LANES - lanes)
    wide = loops.wide(lanes)
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
        loops.copy(best, i, row_read, r, wide)
        if flip[q]:
            loops.turn(best, i, total, wide)
        if reward[q] >= 0:
            loops.pay(best, i, row_reward, reward[q], wide)
            unknown |= word_reward[reward[q]]
        if turn[q] == 0:
            # A mean needs all that it is made of.
            there[0, i], bad[i] = held, held & (unknown | ~free)
        else:
            live = free & word_guard[guard[q] if guard[q] >= 0 else len(guards)]
            there[0, i], bad[i] = live, live & unknown
            if live != held:
                some = guard[q]
                if some < 0 or live != word_guard[some]:
                    some = len(row_guard) - 1
                    loops.spell(live, row_guard)
                loops.leave(best, i, row_guard, some, -turn[q] * np.inf, wide)
        inside[q] = there[0, i] & within
        spoilt |= bad[i]
        itself |= inside[q]
    return spoilt != 0, itself != 0


@nested
def _worth(e, core, total, best, row_reward, wide):
    """Put what an edge is worth into the last row of `best`, whether it is there or not."""
    last, r = len(best) - 1, core[7][e]
    loops.copy(best, last, best, core[3][e], wide)
    if core[6][e]:
        loops.turn(best, last, total, wide)
    if r >= 0:
        loops.pay(best, last, row_reward, r, wide)


@nested
def _simple(i, begin, finish, mean, turn, arg, weight, best, wide):
    """Return the row of a simple node."""
    e = begin
    if mean:
        while e + 5 < finish:
            loops.mean_of_six(
                best, i, e > begin,
                weight[e], weight[e + 1], weight[e + 2], weight[e + 3], weight[e + 4], weight[e + 5],
                arg[e], arg[e + 1], arg[e + 2], arg[e + 3], arg[e + 4], arg[e + 5], wide,
            )  # fmt: skip
            e += 6
        while e + 1 < finish:
            loops.mean_of_two(best, i, e > begin, weight[e], weight[e + 1], arg[e], arg[e + 1], wide)
            e += 2
        if e == begin:
            loops.fill(best, i, 0.0, wide)
        if e < finish:
            loops.add(best, i, weight[e], arg[e], wide)
    else:
        loops.fill(best, i, -turn * np.inf, wide)
        final = finish - 1
        for e in range(begin, finish, 4):
            # Where there are fewer, the last one counts more than once.
            two, three, four = arg[min(e + 1, final)], arg[min(e + 2, final)], arg[min(e + 3, final)]
            loops.improve(best, i, turn, arg[e], two, three, four, wide)


@nested
def _block(first, lanes, core, claim, tables, room, found, whole, defect):
    """Compute every core node at the points of a block, and the words of lanes where they say nothing.

    `defect` gets by how much the weights of a mean miss 1, at most.  `found` is what `_look` returned.
    Returns whether the layer is read.
    """
    (best, _, row_reward), row_guard, (bad, there, inside, _, word_reward, word_guard) = room
    order, kind, indptr, arg, weight, guard, flip, reward, number, payoff, simple = core
    _, total, _, _, choices, following = claim
    points = tables[0]
    n, none, wide = len(kind), len(word_guard) - 1, loops.wide(lanes)
    held = ~np.uint64(0) >> np.uint64(LANES - lanes)
    spoilt, inner = found
    itself = False
    for i in order:
        begin, finish = indptr[i], indptr[i + 1]
        there[0, i] = held
        if kind[i] == END:
            bad[i] = held & word_reward[payoff[i]] if payoff[i] >= 0 else np.uint64(0)
            if payoff[i] >= 0:
                loops.copy(best, i, row_reward, payoff[i], wide)
            else:
                loops.fill(best, i, 0.0, wide)
            spoilt |= bad[i] != 0
            continue
        mean = kind[i] == CHANCE
        turn = -1.0 if kind[i] == MIN else 1.0
        wrong, covered = np.uint64(0), np.uint64(0)
        if simple[i] and (mean or not following):
            _simple(i, begin, finish, mean, turn, arg, weight, best, wide)
            for e in range(begin, finish):
                covered |= there[int(number[e] < 0), arg[e]]
                if covered == held:
                    break
            if spoilt:
                for e in range(begin, finish):
                    wrong |= bad[arg[e]] & there[int(number[e] < 0), arg[e]]
            if inner:
                for e in range(begin, finish):
                    itself |= arg[e] >= n and inside[arg[e] - n] != 0
        else:
            loops.fill(best, i, 0.0 if mean else -turn * np.inf, wide)
            for j in range(LANES):
                whole[j] = 0.0
            common = 0.0
            for e in range(begin, finish):
                one, some = arg[e], guard[e] if guard[e] >= 0 else none
                chosen = word_guard[some] & there[0, one]
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
                    loops.add(best, i, weight[e], one, wide)
                else:
                    if chosen != word_guard[some]:
                        some = none + 1
                        loops.spell(chosen, row_guard)
                    if mean:
                        loops.add_some(best, i, weight[e], best, one, row_guard, some, wide)
                        for j in range(LANES):
                            whole[j] += weight[e] if row_guard[some, j] else 0.0
                    else:
                        loops.improve_some(best, i, turn, best, one, row_guard, some, wide)
            if mean:
                for j in range(lanes):
                    if covered >> np.uint64(j) & np.uint64(1):
                        defect[i] = max(defect[i], abs(1.0 - (common + whole[j])))
        there[1, i], bad[i] = covered, wrong | (held & ~covered)
        spoilt |= bad[i] != 0
    return itself


@nested
def _defects(core, defect):
    """By how much the weights of means miss 1, where they are the same everywhere."""
    _, kind, indptr, _, weight, _, _, _, _, _, simple = core
    for i in range(len(kind)):
        if kind[i] == CHANCE and simple[i]:
            whole = 0.0
            for e in range(indptr[i], indptr[i + 1]):
                whole += weight[e]
            defect[i] = abs(1.0 - whole)


@nested
def _least(size):
    """Add room for what falls below the range of floats to a size; nothing does where all numbers are 0."""
    return size + NORMAL if size > 0.0 else 0.0


@nested
def _rounding(core, ports, claim, size_read, size_reward, defect, size, room, slack):
    """How large the rows may be, how far rounding may have moved them, and what rounded choices may lose."""
    order, kind, indptr, arg, _, _, flip, reward, number, payoff, _ = core
    total, following, n = abs(claim[1]), claim[5], len(kind)
    for q in range(len(ports[0])):
        near = size_read[ports[0][q]]
        if ports[1][q]:
            near += total
        if ports[2][q] >= 0:
            near += size_reward[ports[2][q]]
        size[n + q], room[n + q], slack[0, n + q] = near, 4 * ULP * _least(near), 0.0
    for i in order:
        if kind[i] == END:
            size[i] = size_reward[payoff[i]] if payoff[i] >= 0 else 0.0
            room[i], slack[0, i] = 4 * ULP * _least(size[i]), 0.0
            continue
        largest, rooms, slacks = 0.0, 0.0, 0.0
        for e in range(indptr[i], indptr[i + 1]):
            near, added = size[arg[e]], room[arg[e]]
            if flip[e] or reward[e] >= 0:
                if flip[e]:
                    near += total
                if reward[e] >= 0:
                    near += size_reward[reward[e]]
                added += 4 * ULP * _least(near)
            largest, rooms, slacks = (
                max(largest, near),
                max(rooms, added),
                max(slacks, slack[int(number[e] < 0), arg[e]]),
            )
        size[i], slack[:, i] = largest, slacks
        if kind[i] == CHANCE:
            terms = indptr[i + 1] - indptr[i]
            # A mean is off by no more than the worst of its arguments, and its own rounding.
            room[i] = (1.0 + defect[i]) * rooms + ((2 * terms + 8) * ULP + defect[i]) * _least(largest)
        else:
            room[i] = rooms
            slack[0, i] += 0.0 if following else 2 * rooms


# --- pieces of a layer --------------------------------------------------------------------------


@njit
def residuals(core, ports, reads, claim, tables, own, noted, live, near):
    """Largest residual, room for rounding, slack of choices; and 1 if the layer was read, else 0.

    For the blocks that read their layer this notes down what `passes` needs to know of them, where there is room for
    all of them.
    """
    entries, _, values = claim[:3]
    points, blocks = tables[:2]
    rooms, (size_read, size_reward, most_read, most_reward), (size, room, slack, whole, defect), used = own
    best, bad = rooms[0][0], rooms[2][0]
    _defects(core, defect)
    keep = len(live) == len(blocks) - 1
    off, itself = 0.0, 0.0
    for b in range(len(blocks) - 1):
        first = blocks[b]
        lanes = blocks[b + 1] - first
        size_read[:], size_reward[:] = 0.0, 0.0
        found = _look(first, lanes, core, ports, reads, claim, tables, rooms, size_read, size_reward)
        if _block(first, lanes, core, claim, tables, rooms, found, whole, defect):
            itself = 1.0
        if keep and found[1]:
            _rounding(core, ports, claim, size_read, size_reward, defect, size, room, slack)
            _taken(first, lanes, core, claim, tables, rooms, room, live[b], near[b])
            noted[b] = True
        for r in range(len(size_read)):
            most_read[r] = max(most_read[r], size_read[r])
        for r in range(len(size_reward)):
            most_reward[r] = max(most_reward[r], size_reward[r])
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
    _rounding(core, ports, claim, most_read, most_reward, defect, size, room, slack)
    most_room, most_slack = 0.0, 0.0
    for k in range(len(entries)):
        if used[k]:
            i = entries[k]
            most_room = max(most_room, room[i] + 2 * ULP * _least(size[i]))
            most_slack = max(most_slack, slack[0, i])
    return off, most_room, most_slack, itself


@nested
def _taken(first, lanes, core, claim, tables, rooms, room, live, near):
    """Lanes in which edges are there, and those in which the policy may take them, whoever rounds how."""
    order, kind, indptr, arg, _, guard, flip, reward, number, _, _ = core
    _, total, _, _, choices, following = claim
    (best, _, row_reward), _, (_, there, _, _, _, word_guard) = rooms
    points, none, wide = tables[0], len(word_guard) - 1, loops.wide(lanes)
    for i in order:
        turn = -1.0 if kind[i] == MIN else 1.0
        limit = 2 * room[i]
        for e in range(indptr[i], indptr[i + 1]):
            one, some = arg[e], guard[e] if guard[e] >= 0 else none
            live[e] = near[e] = word_guard[some] & there[int(number[e] < 0), one]
            if kind[i] == CHANCE or live[e] == 0:
                continue
            if following:
                chosen = np.uint64(0)
                for j in range(lanes):
                    chosen |= np.uint64(choices[i, points[first + j]] == number[e]) << np.uint64(j)
            else:
                if flip[e] or reward[e] >= 0:
                    _worth(e, core, total, best, row_reward, wide)
                    one = len(best) - 1
                chosen = loops.near(best, one, i, turn, limit, wide)
            near[e] &= chosen


@njit
def inner_reads(reads, layer, points, blocks, targets, place, ahead, early):
    """Where in a layer something is read, into `ahead`, with -1 if it is elsewhere; and what is read `early`.

    That is what `passes` read before they have computed it.  `place` gives the number of a point among
    those in the blocks, and is arbitrary for other points.
    """
    start, end = blocks[0], blocks[-1]
    number = layer[points[start]]
    for b in range(len(blocks) - 1):
        for r in range(len(reads[0])):
            k, u = reads[0][r], reads[1][r]
            for j in range(blocks[b], blocks[b + 1]):
                to, p = targets[u, j], -1
                if to >= 0 and layer[to] == number:
                    p = place[to]
                    if p < 0 or p >= end - start or points[start + p] != to:
                        p = -1
                    elif start + p >= blocks[b]:
                        early[k, p] = True
                ahead[r, j - start] = p


def rooms_of_passes(core, reads):
    """Room for one block, nodes whose edges have nothing of their own, and what the nodes of both sides take."""
    n, n_reads, arg, weight = len(core[1]), len(reads[0]), core[3], core[4]
    words = np.zeros(n_reads, dtype=np.bool_), np.zeros((1, LANES), dtype=np.bool_), core[10].copy()
    both = np.concatenate((arg, arg + n)), np.concatenate((weight, weight))
    return np.zeros((2 * n, LANES)), np.zeros((2 * n_reads, LANES)), *words, *both


@njit
def passes(core, ports, reads, claim, tables, room, start, ahead, early, noted, live, near, w):
    """Replace ``w`` of both sides by ``1 + P w``; by how much that exceeds it where it is read early, and its maximum.

    The points of the layer begin at `start` of the list.  `noted`, `live` and `near` are what `residuals` has noted
    down of these blocks: where nothing was, the layer is not read.
    """
    order, kind, indptr, arg, weight, _, flip = core[:7]
    entries, _, values = claim[:3]
    points, blocks = tables[:2]
    n, n_reads = len(kind), len(reads[0])
    back, later, empty, row_guard, inner, twice, weights = room
    grown, longest = 0.0, 0.0
    # Nodes whose rows are made of others of the same side, as they are.
    for i in range(n):
        for e in range(indptr[i], indptr[i + 1]):
            inner[i] &= arg[e] < n
    for b in range(len(blocks) - 1):
        first = blocks[b]
        lanes = blocks[b + 1] - first
        wide = loops.wide(lanes)
        for r in range(n_reads):
            k, empty[r] = reads[0][r], True
            for j in range(lanes):
                p = ahead[r, first + j - start]
                later[r, j] = w[0, k, p] if p >= 0 else 0.0
                later[n_reads + r, j] = w[1, k, p] if p >= 0 else 0.0
                empty[r] &= p < 0
        spelt = np.uint64(0)
        for i in order:
            mean = kind[i] == CHANCE
            # The side that is free in its choices here; the other one is as good as free at chance nodes.
            free = 1 if kind[i] == MAX else 0
            for side in range(2):
                to, begin, finish = side * n + i, indptr[i], indptr[i + 1] if noted[b] else indptr[i]
                if inner[i] and begin < finish and (mean or side == free):
                    # Rows are 0 where there is nothing.
                    more = side * len(arg)
                    _simple(to, begin + more, finish + more, mean, 1.0, twice, weights, back, wide)
                    continue
                loops.fill(back, to, 0.0, wide)
                for e in range(begin, finish):
                    q = arg[e] - n
                    # Who is not free does what the policy does, or what rounding may make it do.
                    word = live[b, e] if mean or side == free else near[b, e]
                    if word == 0 or (q >= 0 and empty[ports[0][q]]):
                        continue
                    if word != spelt:
                        loops.spell(word, row_guard)
                        spelt = word
                    turned = ports[1][q] if q >= 0 else flip[e]
                    other = 1 - side if turned else side
                    if q >= 0:
                        one = other * n_reads + ports[0][q]
                        if mean:
                            loops.add_some(back, to, weight[e], later, one, row_guard, 0, wide)
                        else:
                            loops.improve_some(back, to, 1.0, later, one, row_guard, 0, wide)
                    elif mean:
                        loops.add_some(back, to, weight[e], back, other * n + arg[e], row_guard, 0, wide)
                    else:
                        loops.improve_some(back, to, 1.0, back, other * n + arg[e], row_guard, 0, wide)
        for k in range(len(entries)):
            for j in range(lanes):
                to = first + j - start
                for side in range(2):
                    if np.isnan(values[k, points[first + j]]):
                        w[side, k, to] = 0.0
                        continue
                    steps = 1.0 + back[side * n + entries[k], j]
                    # Written so that NaN counts as infinite.
                    rise = steps - w[side, k, to]
                    if early[k, to] and not rise <= grown:
                        grown = min(np.inf, rise)
                    if not steps <= longest:
                        longest = min(np.inf, steps)
                    w[side, k, to] = steps
    return grown, longest
