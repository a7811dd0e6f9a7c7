"""The compiled loop over lattices, forward: which pairs of core node and grid point play can reach.

The conventions are those of `mdpdice.numerics.kernels.bellman`.  Points are taken in blocks of `WIDTH`, with
one bit per core node and point, so that a block is one word.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdpdice.compilation import Bools, Ints, Kinds, Number, nested, njit
from mdpdice.numerics.kernels.lattice import END, Columns

WIDTH = 64
"""Points of a block."""

OUTSIDE = -2
ONE = np.uint64(1)

# What `spread` found wrong.
NO_OPTION, LEAVES_GRID, GOES_BACK, UNDEFINED, NO_PAYOFF = 1, 2, 3, 4, 5


class Core(NamedTuple):
    """The core of a lattice.

    What is -1 there for none is the number of guards, updates or rewards here.  A node is *plain* if its edges
    are all there, wherever play is, lead to the same point and pay nothing.  Nodes that play comes to at the
    same points, because plain nodes of one group are the only way to them, are a *group*, which is known by the
    first of its nodes.  Edges that are there at the same points are of one *sort*.
    """

    kind: Kinds
    group: Ints  # first node of the group of every node
    named: Ints  # by the first node of a group: how many of its nodes have a state
    edges: Ints  # by the first node of a group: how many edges its plain nodes have
    onward_ptr: Ints
    onward: Ints  # groups that the plain nodes of a group lead to, by its first node
    plain: Bools
    indptr: Ints
    order: Ints  # first nodes of groups, and nodes that are not plain; predecessors first
    into: Ints  # node that an edge leads to or, from the number of nodes on, the pair of entry and update that it reads
    sort: Ints
    possible: Ints  # by sort: 1 for edges of positive probability, else 0
    chance: Ints  # by sort: 1 for edges of chance nodes, else 0
    guard: Ints  # by sort, as the next two are
    update: Ints
    reward: Ints
    payoff: Ints
    port_entry: Ints
    port_update: Ints
    entries: Ints  # core nodes whose values are stored


@nested
def _root(parent: Ints, at: Number) -> Number:
    while parent[at] != at:
        parent[at] = parent[parent[at]]
        at = parent[at]
    return at


@njit
def spread(
    core: Core, columns: Columns, reached: Bools, done: Bools, rank: Ints, place: Ints, parent: Ints,
    fault: Ints, counts: Ints,
) -> bool:  # fmt: skip
    """Mark everything that play can reach from the marks at some points of one layer; whether it leads to itself.

    `reached`, shape (K, points of the grid), are the marks, and `done`, shape (K, number of points), those whose
    consequences were drawn.  Every grid point has its layer in `rank`, and those of this layer their position in the
    list in `place`, or all have -1 there if the layer is not expected to lead to itself; if none is, `place` is empty.
    `parent` becomes a forest of the parts of the layer that do not lead to each other; `fault` says what is wrong (0:
    nothing), edge or node, point and target; and to `counts` states and edges of the flat network are added.
    """
    kind, group, named, edges, onward_ptr, onward, plain = core[:7]
    indptr, order, into, sort, possible, chance, guard, update, reward, payoff = core[7:17]
    port_entry, port_update, entries = core[17:]
    points, targets, guards, unknown, rewards = columns
    n, length = len(kind), len(points)
    # The last words are those of ports.
    words, fresh = np.zeros(n + len(port_entry), dtype=np.uint64), np.zeros(n, dtype=np.uint64)
    seen = np.zeros((n, length // WIDTH + 1), dtype=np.uint64)
    there, undefined, leaving = np.zeros((3, len(guard)), dtype=np.uint64)
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
            for s in range(len(guard)):
                if possible[s]:
                    live, u = guard_word[guard[s]], update[s]
                    undefined[s] = unknown_word[guard[s]] | (live & unpaid[reward[s]] & free[u])
                    leaving[s] = live & (~free[u] if chance[s] else outside[u])
                    there[s] = live & free[u]
            for node in order:
                if group[node] == node:
                    here = words[node] & ~seen[node, first // WIDTH]
                    words[node], fresh[node] = np.uint64(0), here
                    if here != 0:
                        seen[node, first // WIDTH] |= here
                        count = np.int64(_bits(here))
                        counts[0] += count * named[node]
                        counts[1] += count * edges[node]
                        for e in range(onward_ptr[node], onward_ptr[node + 1]):
                            words[onward[e]] |= here
                here = fresh[group[node]]
                if plain[node] or here == 0:
                    continue
                covered = np.uint64(0)
                wrong = here & unpaid[payoff[node]]
                if wrong != 0:
                    fault[0], fault[1], fault[2] = NO_PAYOFF, node, points[first + _lowest(wrong)]
                    return itself
                for e in range(indptr[node], indptr[node + 1]):
                    wrong, what = here & undefined[sort[e]], UNDEFINED
                    if wrong == 0:
                        wrong, what = here & leaving[sort[e]], LEAVES_GRID
                    if wrong != 0:
                        fault[0], fault[1], fault[2] = what, e, points[first + _lowest(wrong)]
                        return itself
                    live = here & there[sort[e]]
                    covered |= live
                    counts[1] += np.int64(_bits(live))
                    words[into[e]] |= live
                if kind[node] != END and covered != here:
                    fault[0], fault[1], fault[2] = NO_OPTION, node, points[first + _lowest(here & ~covered)]
                    return itself
            for q in range(len(port_entry)):
                word = words[n + q]
                words[n + q] = np.uint64(0)
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
                            if len(place) > 0 and place[to] >= 0:
                                a, b = _root(parent, j), _root(parent, np.int64(place[to]))
                                if a != b:
                                    parent[max(a, b)] = min(a, b)
                                if not reached[k, to]:
                                    again = True
                        reached[k, to] = True
                    word >>= ONE
    return itself


@nested
def _bits(word):
    """Count the bits that are set, by adding up neighbours, then pairs, then fours of them."""
    word -= (word >> ONE) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


@nested
def _lowest(word):
    """Position of the lowest bit that is set."""
    at = 0
    while not word & ONE:
        word >>= ONE
        at += 1
    return at
