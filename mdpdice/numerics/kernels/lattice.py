"""The compiled loops over lattices, backward: the values of core nodes at grid points, and their moments.

The conventions are those of `mdpdice.numerics.kernels.bellman`.  Points are taken in blocks of at most `WIDTH`; there
is one float per row of a `mdpdice.lattices.program.Program` and point of a block, in a table that stays in
the cache.  The store `values` and the marks `reached` have one row per entry and a column for every point of the grid.

Within a sweep, points of equal order read each other as they were before it.  If some of them saw new values, depending
on how points are shared out to blocks and threads, the moves of a sweep would not be geometric, and an
extrapolation would miss.  Rows, columns and core come as named tuples of arrays in C order, whoever calls, so each
loop is compiled once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdpdice.compilation import Bools, Floats, Ints, Kinds, nested, njit

SMALLEST = 2.0**-47
"""Change, relative to the largest value, that is not worth another sweep: rounding alone comes to some of it."""

WORTH = 2.0**17
"""Moves as many times larger than the tolerance are extrapolated."""

WIDTH = 64
"""Points of a block."""

END, MAX, MIN, CHANCE, TERM = 0, 1, 2, 3, 4


class Rows(NamedTuple):
    """What is computed at every point, as a `mdpdice.lattices.program.Program` has it.

    Where a row has no update, `update` is the number of updates.
    """

    kind: Kinds
    indptr: Ints
    arg: Ints
    weight: Floats
    source: Ints
    entry: Ints
    update: Ints
    reward: Ints
    flip: Ints
    guard: Ints
    neutral: Floats
    entry_row: Ints
    total: float


class Columns(NamedTuple):
    """The points of a list, and what depends on them: see `mdpdice.lattices.grid_tables.Tables`."""

    points: Ints
    targets: Ints
    guards: Bools
    unknown: Bools
    rewards: Floats


class Sweep(NamedTuple):
    """What a sweep reads and writes.

    Block ``b`` has the points ``blocks[b] .. blocks[b + 1] - 1`` of the list, and run ``g`` the blocks
    ``runs[g] .. runs[g + 1] - 1``.  `marks`, with one row per entry and one column per point of the list, says
    what is stored in `values`, `table` is room for a block, and `fresh` as much room for numbers as there are marks.
    """

    rows: Rows
    columns: Columns
    values: Floats
    marks: Bools
    blocks: Ints
    runs: Ints
    table: Floats
    fresh: Floats


# --- loops over a block ------------------------------------------------------------------------
# Rows are named by their numbers, since a view of a row costs as much as the work on a short one.


@nested
def _add_six(table, r, more, u, v, w, x, y, z, one, two, three, four, five, six, wide):
    for j in range(wide):
        first = (u * table[one, j] + v * table[two, j]) + (w * table[three, j] + x * table[four, j])
        table[r, j] = (table[r, j] if more else 0.0) + (first + (y * table[five, j] + z * table[six, j]))


@nested
def _add_two(table, r, more, w, x, one, two, wide):
    for j in range(wide):
        table[r, j] = (table[r, j] if more else 0.0) + (w * table[one, j] + x * table[two, j])


@nested
def _add_one(table, r, more, w, one, wide):
    for j in range(wide):
        table[r, j] = (table[r, j] if more else 0.0) + w * table[one, j]


@nested
def _most(one, two):
    return max(two, one)


@nested
def _most_of_four(table, r, more, one, two, three, four, wide):
    for j in range(wide):
        first = _most(_most(table[one, j], table[two, j]), _most(table[three, j], table[four, j]))
        table[r, j] = _most(first, table[r, j] if more else first)


@nested
def _least_of_two(table, r, one, wide):
    for j in range(wide):
        table[r, j] = min(table[r, j], table[one, j])


@nested
def _copy(table, r, one, wide):
    for j in range(wide):
        table[r, j] = table[one, j]


@nested
def _fill(table, r, number, wide):
    for j in range(wide):
        table[r, j] = number


@nested
def _read(table, r, values, entry, targets, update, first, width):
    """Read the store; whether some update leads nowhere."""
    nowhere = False
    for j in range(width):
        to = targets[update, first + j]
        nowhere |= to < 0
        table[r, j] = values[entry, to] if to >= 0 else np.nan
    return nowhere


@nested
def _turn(table, r, total, width):
    for j in range(width):
        table[r, j] = total - table[r, j]


@nested
def _pay(table, r, rewards, reward, first, width):
    for j in range(width):
        table[r, j] += rewards[reward, first + j]


@nested
def _leave(table, r, guards, guard, first, none, width):
    for j in range(width):
        table[r, j] = table[r, j] if guards[guard, first + j] else none


@nested
def _leave_outside(table, r, targets, update, first, none, width):
    for j in range(width):
        table[r, j] = table[r, j] if targets[update, first + j] >= 0 else none


# --- blocks and sweeps --------------------------------------------------------------------------


@nested
def block(rows: Rows, columns: Columns, values: Floats, first: int, last: int, table: Floats) -> None:
    """Fill the table for the points `first` to `last` of the list.

    The table has `WIDTH` columns, or fewer for shorter blocks; what stands in those without a point means nothing.
    """
    kind, indptr, arg, weight, source, entry, update, reward, flip, guard, neutral, _, total = rows
    _, targets, guards, _, rewards = columns
    width = last - first
    # Loops over whole vectors are faster than shorter ones with a rest.
    wide = (width + 15) // 16 * 16
    for r in range(len(kind)):
        begin, end = indptr[r], indptr[r + 1]
        what = kind[r]
        if what == CHANCE:
            e = begin
            while e + 5 < end:
                _add_six(
                    table, r, e > begin,
                    weight[e], weight[e + 1], weight[e + 2], weight[e + 3], weight[e + 4], weight[e + 5],
                    arg[e], arg[e + 1], arg[e + 2], arg[e + 3], arg[e + 4], arg[e + 5], wide,
                )  # fmt: skip
                e += 6
            while e + 1 < end:
                _add_two(table, r, e > begin, weight[e], weight[e + 1], arg[e], arg[e + 1], wide)
                e += 2
            if e < end:
                _add_one(table, r, e > begin, weight[e], arg[e], wide)
        elif what == MAX:
            e, final = begin, end - 1
            while e < end:
                # Where there are fewer, the last one counts more than once.
                two, three, four = arg[min(e + 1, final)], arg[min(e + 2, final)], arg[min(e + 3, final)]
                _most_of_four(table, r, e > begin, arg[e], two, three, four, wide)
                e += 4
        elif what == MIN:
            _copy(table, r, arg[begin], wide)
            for e in range(begin + 1, end):
                _least_of_two(table, r, arg[e], wide)
        elif what == END:
            # Whatever is added to -0.0 stays what it is, 0.0 too.
            _fill(table, r, -0.0 if reward[r] >= 0 else 0.0, wide)
            if reward[r] >= 0:
                _pay(table, r, rewards, reward[r], first, width)
        else:
            nowhere = False
            if entry[r] >= 0:
                nowhere = _read(table, r, values, entry[r], targets, update[r], first, width)
            else:
                _copy(table, r, source[r], wide)
            if flip[r]:
                _turn(table, r, total, width)
            if reward[r] >= 0:
                _pay(table, r, rewards, reward[r], first, width)
            if guard[r] >= 0:
                _leave(table, r, guards, guard[r], first, neutral[r], width)
            if nowhere:
                _leave_outside(table, r, targets, update[r], first, neutral[r], width)


@njit
def sweep(work: Sweep) -> float:
    """One sweep over blocks of points, the last run of them first; the largest change of a stored value.

    Values are stored when a run of blocks is done, so it does not matter how its points are shared out to blocks.
    """
    rows, columns, values, marks, blocks, runs, table, fresh = work
    points, entry_row = columns.points, rows.entry_row
    change = 0.0
    for g in range(len(runs) - 2, -1, -1):
        for b in range(runs[g], runs[g + 1]):
            first, last = blocks[b], blocks[b + 1]
            block(rows, columns, values, first, last, table)
            for k in range(len(entry_row)):
                r = entry_row[k]
                for j in range(last - first):
                    fresh[k, first + j] = table[r, j]
        for k in range(len(entry_row)):
            for j in range(blocks[runs[g]], blocks[runs[g + 1]]):
                if marks[k, j]:
                    to = points[j]
                    off = abs(fresh[k, j] - values[k, to])
                    # Written so that NaN counts as a change.
                    if not off <= change:
                        change = off
                    values[k, to] = fresh[k, j]
    return change


def iterate(work: Sweep, tolerance: float, sweeps: int) -> tuple[float, int]:
    """Sweep until nothing changes by more than `tolerance`; the last change, and the number of sweeps.

    Where the choices no longer change and two sides take turns, the values of one of them depend on what
    they were two sweeps before, and move by the same fraction of their last move again and again.  The
    sum of all these moves is known, and after every fourth sweep the values go there (Aitken's
    extrapolation).
    """
    points, values = work.columns.points, work.values
    change, kept, moves = np.inf, values[:, points], np.zeros_like(work.fresh)
    with np.errstate(all="ignore"):
        for k in range(sweeps):
            change = sweep(work)
            if change <= tolerance:
                return change, k + 1
            if k % 2 == 0:
                continue
            here = values[:, points]
            new = here - kept
            if k % 4 == 3:
                # Less than that is partly rounding; and whoever moves further each time is not near a limit.
                far = (np.abs(moves) > WORTH * tolerance) & (np.abs(new) < 0.99 * np.abs(moves))
                ratio = new[far] / moves[far]
                here[far] += new[far] * ratio / (1.0 - ratio)
                values[:, points] = here
            kept, moves = here, new
    return change, sweeps


@njit
def moments(
    rows: Rows, columns: Columns, values: Floats, reached: Bools, blocks: Ints, table: Floats, squares: Floats,
    second: Floats,
) -> None:  # fmt: skip
    """Compute second moments of what a play is still worth, into `squares`, when all players follow the stored values.

    With first moments ``m`` and second ones ``s``, an edge with reward ``r`` has ``s + 2 r m + r**2``, and
    ``total**2 - 2 total m + s`` where the sides change.  `second` is a table as `table` is.
    """
    kind, indptr, arg, weight, source, entry, update, reward, flip, guard, _, entry_row, total = rows
    points, targets, guards, _, rewards = columns
    for b in range(len(blocks) - 1):
        first, last = blocks[b], blocks[b + 1]
        block(rows, columns, values, first, last, table)
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
