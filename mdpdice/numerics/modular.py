"""Sparse triangular factors modulo a prime: the compiled part of exact linear systems.

A residue is an int64 in ``0 .. PRIME - 1``.  The product of two residues needs 100 bits; only its low 64
bits are computed, and the quotient by `PRIME` in floats gives the multiple to subtract from them.
"""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import Ints, Number, njit

PRIME = 2**50 - 27
"""The largest prime below 2**50: a quotient of two such numbers is exact to within 1 in float64."""


@njit
def product(a: Number, b: Number) -> Number:
    """Return ``a * b`` modulo `PRIME`."""
    quotient = np.int64(np.float64(a) * np.float64(b) / np.float64(PRIME))
    rest = a * b - quotient * PRIME  # both wrap around, their difference is small
    while rest < 0:
        rest += PRIME
    while rest >= PRIME:
        rest -= PRIME
    return int(rest)


@njit
def inverse(a: Number) -> Number:
    """``1 / a`` modulo `PRIME`, by Fermat's theorem."""
    result, power, left = 1, a, PRIME - 2
    while left > 0:
        if left & 1:
            result = product(result, power)
        power = product(power, power)
        left >>= 1
    return result


@njit
def factorise(
    lower_ptr: Ints, lower_col: Ints, lower: Ints, diagonal: Ints, upper_ptr: Ints, upper_col: Ints,
    upper: Ints,
) -> bool:  # fmt: skip
    """Factorise a matrix in place, without pivoting, row by row; False if a pivot is 0.

    The rows hold places for all the numbers that elimination fills in, and columns in ascending order.  Afterwards
    ``lower`` holds the multipliers, ``upper`` the rows above, ``diagonal`` the inverse pivots.
    """
    n = len(diagonal)
    row = np.zeros(n, dtype=np.int64)
    for i in range(n):
        for e in range(lower_ptr[i], lower_ptr[i + 1]):
            row[lower_col[e]] = lower[e]
        for e in range(upper_ptr[i], upper_ptr[i + 1]):
            row[upper_col[e]] = upper[e]
        row[i] = diagonal[i]
        for e in range(lower_ptr[i], lower_ptr[i + 1]):
            k = lower_col[e]
            factor = product(row[k], diagonal[k])
            lower[e] = factor
            if factor != 0:
                for u in range(upper_ptr[k], upper_ptr[k + 1]):
                    rest = row[upper_col[u]] - product(factor, upper[u])
                    row[upper_col[u]] = rest + PRIME if rest < 0 else rest
            row[k] = 0
        for e in range(upper_ptr[i], upper_ptr[i + 1]):
            upper[e] = row[upper_col[e]]
            row[upper_col[e]] = 0
        if row[i] == 0:
            return False
        diagonal[i] = inverse(row[i])
        row[i] = 0
    return True


@njit
def substitute(
    lower_ptr: Ints, lower_col: Ints, lower: Ints, diagonal: Ints, upper_ptr: Ints, upper_col: Ints,
    upper: Ints, rhs: Ints,
) -> None:  # fmt: skip
    """Solve with the factors of `factorise`, in place."""
    n = len(diagonal)
    for i in range(n):
        x = rhs[i]
        for e in range(lower_ptr[i], lower_ptr[i + 1]):
            x -= product(lower[e], rhs[lower_col[e]])
            if x < 0:
                x += PRIME
        rhs[i] = x
    for i in range(n - 1, -1, -1):
        x = rhs[i]
        for e in range(upper_ptr[i], upper_ptr[i + 1]):
            x -= product(upper[e], rhs[upper_col[e]])
            if x < 0:
                x += PRIME
        rhs[i] = product(x, diagonal[i])
