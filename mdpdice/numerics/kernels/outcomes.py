"""The compiled loops of `mdpdice.policies.lattice_distribution`: how mass moves on a lattice.

The conventions are those of `mdpdice.numerics.kernels.lattice`.  A *move* goes from one stored value to another, or to
the end of play.  A *histogram* is a stretch of one long array: mass on successive totals from `lowest` on; that of
number ``d`` is at ``start[d] .. start[d + 1] - 1``.
"""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import Floats, Ints, Number, nested, njit
from mdpdice.numerics.kernels.lattice import CHANCE, END, TERM, Columns, Rows, block

WIDTH = 128
"""Points of a block: more than in a sweep, since these loops do less for each of them."""


@nested
def _some(mass, r):
    found = False
    for j in range(WIDTH):
        found |= mass[r, j] != 0.0
    return found


@nested
def _share(mass, r, to, chance):
    for j in range(WIDTH):
        mass[to, j] += chance * mass[r, j]


@nested
def _first_of_four(choice, table, r, one, two, three, four):
    for j in range(WIDTH):
        best = table[r, j]
        at = four if table[four, j] == best else choice[j]
        at = three if table[three, j] == best else at
        at = two if table[two, j] == best else at
        choice[j] = one if table[one, j] == best else at


@njit
def moves(
    rows: Rows, columns: Columns, values: Floats, size: int, unit: float, first_row: int, table: Floats,
    mass: Floats, begin: Ints, finish: Ints, paid: Ints, chance: Floats,
) -> int:  # fmt: skip
    """Return what plays do from one entry, at `first_row`, at the points of a list, if all follow the stored values.

    The moves are written into `begin`, the place in the list, `finish`, the entry times `size` (points of the grid)
    plus the point, or -1 for the end of play, `paid`, the reward in parts of which `unit` make 1, and `chance`; their
    number is returned.  `table` and `mass`, shape (rows, WIDTH), are room; `mass` is zero before and after.
    """
    kind, indptr, arg, weight, source, entry, update, reward, _, guard, _, _, _ = rows
    points, targets, guards, _, rewards = columns
    length, count = len(points), 0
    choice = np.empty(WIDTH, dtype=np.int64)
    for first in range(0, length, WIDTH):
        last = min(first + WIDTH, length)
        width = last - first
        block(rows, columns, values, first, last, table)
        for j in range(width):
            mass[first_row, j] = 1.0
        for r in range(first_row, -1, -1):
            if not _some(mass, r):
                continue
            start, end = indptr[r], indptr[r + 1]
            if kind[r] == CHANCE:
                for e in range(start, end):
                    _share(mass, r, arg[e], weight[e])
            elif kind[r] == END or (kind[r] == TERM and entry[r] >= 0):
                for j in range(width):
                    if mass[r, j] == 0.0 or (guard[r] >= 0 and not guards[guard[r], first + j]):
                        continue
                    to = -1
                    if kind[r] == TERM:
                        to = targets[update[r], first + j]
                        if to < 0:
                            continue
                        to += entry[r] * size
                    begin[count], finish[count], chance[count] = first + j, to, mass[r, j]
                    paid[count] = round(rewards[reward[r], first + j] * unit) if reward[r] >= 0 else 0
                    count += 1
            elif kind[r] == TERM:
                for j in range(width):
                    if guard[r] < 0 or guards[guard[r], first + j]:
                        mass[source[r], j] += mass[r, j]
            else:
                choice[:] = arg[end - 1]
                # The first of the best ones, as everywhere: it is found last.
                for e in range(end - 4, start - 4, -4):
                    one, two, three = arg[max(e, start)], arg[max(e + 1, start)], arg[max(e + 2, start)]
                    _first_of_four(choice, table, r, one, two, three, arg[e + 3])
                for j in range(width):
                    mass[choice[j], j] += mass[r, j]
            for j in range(width):
                mass[r, j] = 0.0
    return count


@njit
def limits(
    begin: Ints, finish: Ints, paid: Ints, place: Ints, lowest: Ints, start: Ints, new_lowest: Ints, new_highest: Ints
) -> None:
    """Widen the ranges of totals of new histograms, whose numbers are in `place`, to what moves from old ones bring."""
    for t in range(len(begin)):
        s, d = begin[t], place[finish[t]]
        low, length = lowest[s] + paid[t], start[s + 1] - start[s]
        if length > 0:
            new_lowest[d] = min(new_lowest[d], low)
            new_highest[d] = max(new_highest[d], low + length - 1)


@njit
def add(
    begin: Ints, finish: Ints, paid: Ints, chance: Floats, place: Ints, lowest: Ints, start: Ints, mass: Floats,
    new_lowest: Ints, new_start: Ints, new_mass: Floats, first: int, last: int,
) -> None:  # fmt: skip
    """Add what moves bring to the new histograms `first` to `last` - 1."""
    for t in range(len(begin)):
        s, d, p = begin[t], place[finish[t]], chance[t]
        if first <= d < last:
            length = start[s + 1] - start[s]
            at = new_start[d] + lowest[s] + paid[t] - new_lowest[d]
            # Indices into views are not negative, and so the loop is vectorised.
            here, there = mass[start[s] : start[s] + length], new_mass[at : at + length]
            for j in range(length):
                there[j] += p * here[j]


@njit
def trim(lowest: Ints, start: Ints, mass: Floats, least: float) -> tuple[Ints, Number]:
    """Cut ends of histograms that weigh less than `least` each, in place; the new `start`, and what was cut off."""
    kept = np.zeros(len(start), dtype=np.int64)
    lost: Number = 0.0
    for d in range(len(lowest)):
        first, last = start[d], start[d + 1]
        while first < last and mass[first] < least:
            lost += mass[first]
            first += 1
        while first < last and mass[last - 1] < least:
            last -= 1
            lost += mass[last]
        lowest[d] += first - start[d]
        kept[d + 1] = kept[d] + last - first
        for j in range(last - first):
            mass[kept[d] + j] = mass[first + j]
    return kept, lost
