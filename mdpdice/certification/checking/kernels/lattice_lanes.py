# Passages of this text are replaced by tests/certification/checking/test_lattice_mutated.py: change both together.
"""The innermost loops of `mdpdice.certification.checking.kernels.lattice`: over the lanes of a block.

Loops in functions of their own, with all numbers as arguments, are what the compiler handles best;
they go over whole vectors, beyond the lanes in use.
"""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import nested

__all__ = ["LANES"]

LANES = 64
"""Most lanes of a block."""


@nested
def wide(lanes):
    """Lanes of whole vectors."""
    return (lanes + 7) // 8 * 8


@nested
def fill(best, i, number, wide):
    for j in range(wide):
        best[i, j] = number


@nested
def copy(best, i, source, one, wide):
    for j in range(wide):
        best[i, j] = source[one, j]


@nested
def turn(best, i, total, wide):
    for j in range(wide):
        best[i, j] = total - best[i, j]


@nested
def pay(best, i, source, one, wide):
    for j in range(wide):
        best[i, j] += source[one, j]


@nested
def leave(best, i, there, some, number, wide):
    """Put a number where something is not there."""
    for j in range(wide):
        best[i, j] = best[i, j] if there[some, j] else number


@nested
def spell(word, row_guard):
    """Write the bits of a word as booleans, into the last row."""
    for j in range(LANES):
        row_guard[-1, j] = (word >> np.uint64(j)) & np.uint64(1) != 0


@nested
def add(best, i, w, one, wide):
    for j in range(wide):
        best[i, j] += w * best[one, j]


@nested
def mean_of_six(best, i, more, u, v, w, x, y, z, one, two, three, four, five, six, wide):
    for j in range(wide):
        first = (u * best[one, j] + v * best[two, j]) + (w * best[three, j] + x * best[four, j])
        best[i, j] = (best[i, j] if more else 0.0) + (first + (y * best[five, j] + z * best[six, j]))


@nested
def mean_of_two(best, i, more, w, x, one, two, wide):
    for j in range(wide):
        best[i, j] = (best[i, j] if more else 0.0) + (w * best[one, j] + x * best[two, j])


@nested
def add_some(best, i, w, source, one, there, some, wide):
    for j in range(wide):
        best[i, j] += w * source[one, j] if there[some, j] else 0.0


@nested
def improve(best, i, turn, one, wide):
    if turn > 0:
        for j in range(wide):
            best[i, j] = max(best[i, j], best[one, j])
    else:
        for j in range(wide):
            best[i, j] = min(best[i, j], best[one, j])


@nested
def better(turn, one, two):
    # Written so that a lane without a number spoils no other row: it loses every comparison.
    if turn > 0:
        return max(two, one)
    return min(two, one)


@nested
def improve_two(best, i, turn, one, two, wide):
    if turn > 0:
        for j in range(wide):
            best[i, j] = better(1, best[two, j], better(1, best[one, j], best[i, j]))
    else:
        for j in range(wide):
            best[i, j] = better(-1, best[two, j], better(-1, best[one, j], best[i, j]))


@nested
def improve_six(best, i, turn, one, two, three, four, five, six, wide):
    if turn > 0:
        for j in range(wide):
            first = better(1, best[two, j], better(1, best[one, j], best[i, j]))
            second = better(1, best[four, j], better(1, best[three, j], first))
            best[i, j] = better(1, best[six, j], better(1, best[five, j], second))
    else:
        for j in range(wide):
            first = better(-1, best[two, j], better(-1, best[one, j], best[i, j]))
            second = better(-1, best[four, j], better(-1, best[three, j], first))
            best[i, j] = better(-1, best[six, j], better(-1, best[five, j], second))


@nested
def improve_some(best, i, turn, source, one, there, some, wide):
    for j in range(wide):
        better = source[one, j] > best[i, j] if turn > 0 else source[one, j] < best[i, j]
        best[i, j] = source[one, j] if there[some, j] & better else best[i, j]


@nested
def near(best, one, i, turn, limit, lanes):
    """Lanes in which a choice is as good as the best one, but for a limit."""
    word = np.uint64(0)
    for j in range(lanes):
        word |= np.uint64(not turn * best[one, j] < turn * best[i, j] - limit) << np.uint64(j)
    return word
