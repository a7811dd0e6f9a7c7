"""The compiled loops over lattices: which pairs of core node and grid point play can reach, and their values.

The conventions are those of `mdpdice.numerics.kernels`.  Points are taken in blocks of at
most `WIDTH`.  `spread` goes forward and keeps one bit per core node and point, so that a
block is one word; `sweep` and `iterate` go backward and keep one float per row of a
`mdpdice.lattice_program.Program` and point, in a table that stays in the cache.

Tables are given for the points of a list, one column per point: `targets` (one row per
update, then one for no update at all; int32, negative where there is none), `guards` and
`rewards`.  The store `values` and the marks `reached` have one row per entry and a column
for every point of the grid.
"""

from __future__ import annotations

import numpy as np

from mdpdice.numerics.kernels import Bools, Floats, Ints, Kinds, Number, njit

__all__ = ["WIDTH", "iterate", "moments", "rows_at", "spread", "sweep"]

WORTH = 2.0**17
"""Moves as many times larger than the tolerance are extrapolated."""

WIDTH = 64
"""Points of a block; `spread` keeps a block in one word."""

END, MAX, MIN, CHANCE, TERM = 0, 1, 2, 3, 4
FORBIDDEN, OUTSIDE = -1, -2
ONE = np.uint64(1)

# What `spread` found wrong.
NO_OPTION, LEAVES_GRID, GOES_BACK, UNDEFINED, NO_PAYOFF = 1, 2, 3, 4, 5


@njit
def _root(parent: Ints, at: Number) -> Number:
    while parent[at] != at:
        parent[at] = parent[parent[at]]
        at = parent[at]
    return at


@njit
def spread(
    kind: Kinds,
    named: Bools,
    plain: Bools,
    indptr: Ints,
    order: Ints,
    dst: Ints,
    possible: Bools,
    guard: Ints,
    update: Ints,
    reward: Ints,
    payoff: Ints,
    port: Ints,
    port_entry: Ints,
    port_update: Ints,
    entries: Ints,
    points: Ints,
    targets: Ints,
    guards: Bools,
    unknown: Bools,
    rewards: Floats,
    reached: Bools,
    done: Bools,
    rank: Ints,
    place: Ints,
    parent: Ints,
    fault: Ints,
    counts: Ints,
) -> bool:
    """Mark everything that play can reach from the marks at some points of one layer.

    Parameters
    ----------
    named : ndarray of bool
        Which core nodes have a state.
    plain : ndarray of bool
        Core nodes whose edges are all there, wherever play is, lead to the same point and pay nothing.
    order : ndarray of int64
        Core nodes, predecessors first.
    port : ndarray of int64, shape (E,)
        Pair of entry and update of an edge that reads the store, -1 for the others.
    done : ndarray of bool, shape (K, number of points)
        Marks whose consequences were drawn.
    rank : ndarray of int32, one per grid point
        Number of the layer.
    place : ndarray of int32, one per grid point
        Position in `points`, for points of this layer; -1 if this layer is not expected to lead to itself.
    parent : ndarray of int64, one per point of the list
        Forest of the parts of the layer that do not lead to each other.
    fault : ndarray of int64, shape (4,)
        What is wrong, edge or node, point, target; kind 0 is nothing.
    counts : ndarray of int64, shape (2,)
        States and edges of the flat network are added up here.

    Returns
    -------
    bool
        Whether the layer leads to itself.
    """
    n, length = len(kind), len(points)
    words = np.zeros(n, dtype=np.uint64)
    seen = np.zeros((n, length // WIDTH + 1), dtype=np.uint64)
    ports = np.zeros(len(port_entry), dtype=np.uint64)
    guard_word = np.zeros(len(guards) + 1, dtype=np.uint64)
    free = np.zeros(len(targets), dtype=np.uint64)
    outside = np.zeros(len(targets), dtype=np.uint64)
    # The last word is that of edges without a guard, or a reward.
    unknown_word = np.zeros(len(guards) + 1, dtype=np.uint64)
    unpaid = np.zeros(len(rewards) + 1, dtype=np.uint64)
    itself = False
    again = True
    while again:
        again = False
        for first in range(0, length, WIDTH):
            last = min(first + WIDTH, length)
            some = np.uint64(0)
            for k in range(len(entries)):
                word = np.uint64(0)
                for j in range(first, last):
                    if reached[k, points[j]] and not done[k, j]:
                        done[k, j] = True
                        word |= ONE << np.uint64(j - first)
                words[entries[k]] = word
                some |= word
            if some == 0:
                continue
            for g in range(len(guards)):
                word = np.uint64(0)
                for j in range(first, last):
                    if guards[g, j]:
                        word |= ONE << np.uint64(j - first)
                guard_word[g] = word
            guard_word[len(guards)] = ~np.uint64(0)
            for g in range(len(unknown)):
                word = np.uint64(0)
                for j in range(first, last):
                    if unknown[g, j]:
                        word |= ONE << np.uint64(j - first)
                unknown_word[g] = word
            for r in range(len(rewards)):
                word = np.uint64(0)
                for j in range(first, last):
                    if not abs(rewards[r, j]) < np.inf:
                        word |= ONE << np.uint64(j - first)
                unpaid[r] = word
            for u in range(len(targets)):
                word, off = np.uint64(0), np.uint64(0)
                for j in range(first, last):
                    if targets[u, j] >= 0:
                        word |= ONE << np.uint64(j - first)
                    elif targets[u, j] == OUTSIDE:
                        off |= ONE << np.uint64(j - first)
                free[u], outside[u] = word, off
            for node in order:
                here = words[node] & ~seen[node, first // WIDTH]
                words[node] = np.uint64(0)
                if here == 0:
                    continue
                seen[node, first // WIDTH] |= here
                if named[node]:
                    counts[0] += np.int64(_bits(here))
                if plain[node]:
                    for e in range(indptr[node], indptr[node + 1]):
                        words[dst[e]] |= here
                    counts[1] += np.int64(_bits(here)) * (indptr[node + 1] - indptr[node])
                    continue
                covered = np.uint64(0)
                wrong = here & unpaid[payoff[node]]
                if wrong != 0:
                    fault[0], fault[1], fault[2] = NO_PAYOFF, node, points[first + _lowest(wrong)]
                    return itself
                for e in range(indptr[node], indptr[node + 1]):
                    if not possible[e]:
                        continue
                    live = here & guard_word[guard[e]]
                    wrong = (here & unknown_word[guard[e]]) | (live & unpaid[reward[e]] & free[update[e]])
                    if wrong != 0:
                        fault[0], fault[1], fault[2] = UNDEFINED, e, points[first + _lowest(wrong)]
                        return itself
                    wrong = live & (outside[update[e]] if kind[node] != CHANCE else ~free[update[e]])
                    if wrong != 0:
                        fault[0], fault[1], fault[2] = LEAVES_GRID, e, points[first + _lowest(wrong)]
                        return itself
                    live &= free[update[e]]
                    covered |= live
                    counts[1] += np.int64(_bits(live))
                    if port[e] >= 0:
                        ports[port[e]] |= live
                    else:
                        words[dst[e]] |= live
                if kind[node] != END and covered != here:
                    fault[0], fault[1], fault[2] = NO_OPTION, node, points[first + _lowest(here & ~covered)]
                    return itself
            for q in range(len(ports)):
                word = ports[q]
                ports[q] = np.uint64(0)
                k, u = port_entry[q], port_update[q]
                for j in range(first, last):
                    if word == 0:
                        break
                    if word & ONE:
                        to = targets[u, j]
                        if rank[to] <= rank[points[j]]:
                            if rank[to] < rank[points[j]]:
                                fault[0], fault[1], fault[2], fault[3] = GOES_BACK, q, points[j], to
                                return itself
                            itself = True
                            if place[to] >= 0:
                                a, b = _root(parent, j), _root(parent, place[to])
                                if a != b:
                                    parent[max(a, b)] = min(a, b)
                                if not reached[k, to]:
                                    again = True
                        reached[k, to] = True
                    word >>= ONE
    return itself


@njit
def _bits(word):
    """Count the bits that are set, by adding up neighbours, then pairs, then fours of them."""
    word -= (word >> ONE) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit
def _lowest(word):
    """Position of the lowest bit that is set."""
    at = 0
    while not word & ONE:
        word >>= ONE
        at += 1
    return at


@njit
def _block(
    kind: Kinds,
    indptr: Ints,
    arg: Ints,
    weight: Floats,
    source: Ints,
    entry: Ints,
    update: Ints,
    reward: Ints,
    flip: Ints,
    guard: Ints,
    neutral: Floats,
    total: float,
    targets: Ints,
    guards: Bools,
    rewards: Floats,
    values: Floats,
    first: int,
    last: int,
    table: Floats,
) -> None:
    """Fill the table for the points `first` to `last` of the list."""
    width = last - first
    for r in range(len(kind)):
        row = table[r]
        begin, end = indptr[r], indptr[r + 1]
        if kind[r] == CHANCE:
            e = begin
            if (end - begin) & 1:
                w, one = weight[e], table[arg[e]]
                for j in range(width):
                    row[j] = w * one[j]
                e += 1
            else:
                for j in range(width):
                    row[j] = 0.0
            while e + 3 < end:
                w, x, y, z = weight[e], weight[e + 1], weight[e + 2], weight[e + 3]
                one, two = table[arg[e]], table[arg[e + 1]]
                three, four = table[arg[e + 2]], table[arg[e + 3]]
                for j in range(width):
                    row[j] += (w * one[j] + x * two[j]) + (y * three[j] + z * four[j])
                e += 4
            while e + 1 < end:
                w, x = weight[e], weight[e + 1]
                one, two = table[arg[e]], table[arg[e + 1]]
                for j in range(width):
                    row[j] += w * one[j] + x * two[j]
                e += 2
        elif kind[r] == MAX:
            one = table[arg[begin]]
            for j in range(width):
                row[j] = one[j]
            e = begin + 1
            while e + 1 < end:
                one, two = table[arg[e]], table[arg[e + 1]]
                for j in range(width):
                    best = one[j] if one[j] > two[j] else two[j]
                    row[j] = best if best > row[j] else row[j]
                e += 2
            if e < end:
                one = table[arg[e]]
                for j in range(width):
                    row[j] = one[j] if one[j] > row[j] else row[j]
        elif kind[r] == MIN:
            one = table[arg[begin]]
            for j in range(width):
                row[j] = one[j]
            for e in range(begin + 1, end):
                one = table[arg[e]]
                for j in range(width):
                    row[j] = one[j] if one[j] < row[j] else row[j]
        elif kind[r] == END:
            for j in range(width):
                row[j] = rewards[reward[r], first + j] if reward[r] >= 0 else 0.0
        else:
            if entry[r] >= 0:
                there = targets[update[r]]
                stored = values[entry[r]]
                for j in range(width):
                    to = there[first + j]
                    row[j] = stored[to] if to >= 0 else np.nan
            else:
                one = table[source[r]]
                for j in range(width):
                    row[j] = one[j]
            if flip[r]:
                for j in range(width):
                    row[j] = total - row[j]
            if reward[r] >= 0:
                paid = rewards[reward[r]]
                for j in range(width):
                    row[j] += paid[first + j]
            none = neutral[r]
            if guard[r] >= 0:
                there_is = guards[guard[r]]
                for j in range(width):
                    row[j] = row[j] if there_is[first + j] else none
            if entry[r] >= 0:
                there = targets[update[r]]
                for j in range(width):
                    row[j] = row[j] if there[first + j] >= 0 else none


@njit
def sweep(
    kind: Kinds,
    indptr: Ints,
    arg: Ints,
    weight: Floats,
    source: Ints,
    entry: Ints,
    update: Ints,
    reward: Ints,
    flip: Ints,
    guard: Ints,
    neutral: Floats,
    total: float,
    targets: Ints,
    guards: Bools,
    rewards: Floats,
    values: Floats,
    entry_row: Ints,
    points: Ints,
    reached: Bools,
    blocks: Ints,
    table: Floats,
) -> float:
    """One sweep over blocks of points, in their order; the largest change of a stored value."""
    change = 0.0
    for b in range(len(blocks) - 1):
        first, last = blocks[b], blocks[b + 1]
        _block(
            kind,
            indptr,
            arg,
            weight,
            source,
            entry,
            update,
            reward,
            flip,
            guard,
            neutral,
            total,
            targets,
            guards,
            rewards,
            values,
            first,
            last,
            table,
        )
        for k in range(len(entry_row)):
            row = table[entry_row[k]]
            for j in range(first, last):
                to = points[j]
                if reached[k, to]:
                    off = abs(row[j - first] - values[k, to])
                    # Written so that NaN counts as a change.
                    if not off <= change:
                        change = off
                    values[k, to] = row[j - first]
    return change


@njit
def iterate(
    kind: Kinds,
    indptr: Ints,
    arg: Ints,
    weight: Floats,
    source: Ints,
    entry: Ints,
    update: Ints,
    reward: Ints,
    flip: Ints,
    guard: Ints,
    neutral: Floats,
    total: float,
    targets: Ints,
    guards: Bools,
    rewards: Floats,
    values: Floats,
    entry_row: Ints,
    points: Ints,
    reached: Bools,
    blocks: Ints,
    table: Floats,
    kept: Floats,
    moves: Floats,
    tolerance: float,
    sweeps: int,
) -> tuple[float, int]:
    """Sweep until nothing changes by more than `tolerance`; the last change, and the number of sweeps.

    Where the choices no longer change and two sides take turns, the values of one of them depend on what
    they were two sweeps before, and move by the same fraction of their last move again and again.  The
    sum of all these moves is known, and after every fourth sweep the values go there (Aitken's
    extrapolation).  `kept` and `moves`, with one row per entry and one column per point of the list, are room for that.
    """
    change = np.inf
    for k in range(sweeps):
        if k % 4 == 0:
            for m in range(len(kept)):
                for j in range(len(points)):
                    kept[m, j] = values[m, points[j]]
        change = sweep(
            kind,
            indptr,
            arg,
            weight,
            source,
            entry,
            update,
            reward,
            flip,
            guard,
            neutral,
            total,
            targets,
            guards,
            rewards,
            values,
            entry_row,
            points,
            reached,
            blocks,
            table,
        )
        if change <= tolerance:
            return change, k + 1
        if k % 4 == 1:
            for m in range(len(kept)):
                for j in range(len(points)):
                    moves[m, j] = values[m, points[j]] - kept[m, j]
                    kept[m, j] = values[m, points[j]]
        elif k % 4 == 3:
            for m in range(len(kept)):
                for j in range(len(points)):
                    old, new = moves[m, j], values[m, points[j]] - kept[m, j]
                    # Less than that is partly rounding; and whoever moves further each time is not near a limit.
                    if abs(old) > WORTH * tolerance and abs(new) < 0.99 * abs(old):
                        ratio = new / old
                        values[m, points[j]] += new * ratio / (1.0 - ratio)
    return change, sweeps


@njit
def moments(
    kind: Kinds,
    indptr: Ints,
    arg: Ints,
    weight: Floats,
    source: Ints,
    entry: Ints,
    update: Ints,
    reward: Ints,
    flip: Ints,
    guard: Ints,
    neutral: Floats,
    total: float,
    targets: Ints,
    guards: Bools,
    rewards: Floats,
    values: Floats,
    entry_row: Ints,
    points: Ints,
    reached: Bools,
    blocks: Ints,
    table: Floats,
    squares: Floats,
    second: Floats,
) -> None:
    """Second moments of what a play is still worth, into `squares`, when everybody follows the stored values.

    With first moments ``m`` and second ones ``s``, an edge with reward ``r`` has ``s + 2 r m + r**2``, and
    ``total**2 - 2 total m + s`` where the sides change.  `second` is a table as `table` is.
    """
    for b in range(len(blocks) - 1):
        first, last = blocks[b], blocks[b + 1]
        _block(
            kind,
            indptr,
            arg,
            weight,
            source,
            entry,
            update,
            reward,
            flip,
            guard,
            neutral,
            total,
            targets,
            guards,
            rewards,
            values,
            first,
            last,
            table,
        )
        for r in range(len(kind)):
            for j in range(last - first):
                if kind[r] == END:
                    second[r, j] = table[r, j] * table[r, j]
                elif kind[r] == CHANCE:
                    mean = 0.0
                    for e in range(indptr[r], indptr[r + 1]):
                        mean += weight[e] * second[arg[e], j]
                    second[r, j] = mean
                elif kind[r] != TERM:
                    at = indptr[r]
                    # The first of the best ones, as everywhere.
                    while table[arg[at], j] != table[r, j] and at + 1 < indptr[r + 1]:
                        at += 1
                    second[r, j] = second[arg[at], j]
                elif guard[r] >= 0 and not guards[guard[r], first + j]:
                    second[r, j] = 0.0
                else:
                    if entry[r] >= 0:
                        to = targets[update[r], first + j]
                        m = values[entry[r], to] if to >= 0 else np.nan
                        s = squares[entry[r], to] if to >= 0 else np.nan
                    else:
                        m, s = table[source[r], j], second[source[r], j]
                    if flip[r]:
                        m, s = total - m, total * total - 2 * total * m + s
                    paid = rewards[reward[r], first + j] if reward[r] >= 0 else 0.0
                    second[r, j] = s + 2 * paid * m + paid * paid
        for k in range(len(entry_row)):
            for j in range(first, last):
                if reached[k, points[j]]:
                    squares[k, points[j]] = second[entry_row[k], j - first]


rows_at = _block
