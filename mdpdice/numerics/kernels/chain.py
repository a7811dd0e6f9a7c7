"""Compiled loops of `mdpdice.numerics.linear`: small cyclic components, one after the other.

A race of two players has a cycle at every pair of scores, tens of thousands in all, each
of a handful of knots.  Solving one takes a few microseconds, less than calling a function
of numpy, so they are walked through here; those of many knots are left to the caller.
See `mdpdice.numerics.kernels.bellman` for the conventions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mdpdice.compilation import Bools, Floats, Ints, Number, brief, inlined, nested, njit


class Chain(NamedTuple):
    """A chain: its rows, signed, coefficients and constants."""

    indptr: Ints
    dst: Ints
    coef: Floats
    base: Floats


@inlined
def _worth(chain: Chain, node: Number, value: Floats) -> Number:
    total = chain.base[node]
    for e in range(chain.indptr[node], chain.indptr[node + 1]):
        total += chain.coef[e] * value[chain.dst[e]]
    return total


@brief
def solve_components(
    chain: Chain, order: Ints, ptr: Ints, cyclic: Ints, at: int, most: int, few: int, spread: int,
    stochastic: bool, value: Floats, place: Ints,
) -> int:  # fmt: skip
    """Solve components from the cyclic one `at` on, up to the first cyclic one with too many knots, which is returned.

    The nodes stand in `order` by component, those to be solved first in front, and components begin at `ptr`.  Solved
    here are components of up to `most` knots; those of more than `few` have to have `spread` nodes for each.
    The solution is written into `value`, shape (N,); `place`, of the same shape, is filled with -1, before and after.
    ``len(cyclic)`` is returned if all were solved, and then everything behind the last one was solved, too.
    """
    for which in range(at, len(cyclic) + 1):
        # What lies between two cyclic components is acyclic.
        start = ptr[cyclic[which - 1] + 1] if which > 0 else 0
        stop = ptr[cyclic[which]] if which < len(cyclic) else len(order)
        for i in range(start, stop):
            value[order[i]] = _worth(chain, order[i], value)
        if which == len(cyclic):
            break
        block = order[ptr[cyclic[which]] : ptr[cyclic[which] + 1]]
        for i in range(len(block)):
            place[block[i]] = i
        # A sweep in this order has not come by these nodes when it reads them.
        knot = np.zeros(len(block), dtype=np.bool_)
        for i in range(len(block)):
            for e in range(chain.indptr[block[i]], chain.indptr[block[i] + 1]):
                to = place[chain.dst[e]]
                if to >= i:
                    knot[to] = True
        # A counter that starts at a constant has `_solve_knots` compiled twice.
        tied, knots = np.zeros(len(block), dtype=np.int64), np.int64(0)
        for i in range(len(block)):
            if knot[i]:
                tied[knots] = i
                knots += 1
        here = knots <= most and (knots <= few or spread * knots <= len(block))
        if here:
            _solve_knots(chain, block, knot, tied[:knots], stochastic, value, place)
        for i in range(len(block)):
            place[block[i]] = -1
        if not here:
            return which
    return len(cyclic)


@njit
def _solve_knots(
    chain: Chain, block: Ints, knot: Bools, tied: Ints, stochastic: bool, value: Floats, place: Ints
) -> None:
    """Solve one component as a system in its knots, whose places in it are `tied`."""
    knots = len(tied)
    ahead = np.zeros(len(block))
    matrix = np.zeros((knots, knots))
    leave, right = np.zeros(knots), np.zeros(knots)
    for column in range(knots + 1):
        # One sweep per knot, worth 1 with nothing else; the last one is for the chance to leave.
        outside = 1.0 if column == knots else 0.0
        for t in range(knots):
            ahead[tied[t]] = 1.0 if t == column else 0.0
        for i in range(len(block)):
            if not knot[i]:
                ahead[i] = _bare(chain, block[i], ahead, outside, place)
        for t in range(knots):
            found = _bare(chain, block[tied[t]], ahead, outside, place)
            if column == knots:
                leave[t] = found
            else:
                matrix[t, column] = found
    for t in range(knots):
        value[block[tied[t]]] = 0.0
    _sweep(chain, block, knot, value)
    for t in range(knots):
        right[t] = _worth(chain, block[tied[t]], value)
    if stochastic:
        _eliminate(matrix, leave, right)
    else:
        _refine(matrix, right)
    for t in range(knots):
        value[block[tied[t]]] = right[t]
    _sweep(chain, block, knot, value)


@nested
def _bare(chain: Chain, node: Number, ahead: Floats, outside: float, place: Ints) -> float:
    """Value of a node without constants, when all that lies outside the component is worth the same."""
    total = 0.0
    for e in range(chain.indptr[node], chain.indptr[node + 1]):
        to = place[chain.dst[e]]
        total += chain.coef[e] * (ahead[to] if to >= 0 else outside)
    return total


@nested
def _sweep(chain: Chain, block: Ints, knot: Bools, value: Floats) -> None:
    """Back up the nodes of a component that are not knots."""
    for i in range(len(block)):
        if not knot[i]:
            value[block[i]] = _worth(chain, block[i], value)


@nested
def _eliminate(matrix: Floats, leave: Floats, right: Floats) -> None:
    """Solve ``x = right + matrix @ x`` into `right`, as `mdpdice.numerics.linear` does without subtractions."""
    size = len(right)
    for k in range(size - 1, -1, -1):
        away = leave[k]
        for j in range(k):
            away += matrix[k, j]
        for j in range(k):
            matrix[k, j] /= away
        leave[k] /= away
        right[k] /= away
        for i in range(k):
            into = matrix[i, k]
            for j in range(k):
                matrix[i, j] += into * matrix[k, j]
            leave[i] += into * leave[k]
            right[i] += into * right[k]
    for k in range(1, size):
        for j in range(k):
            right[k] += matrix[k, j] * right[j]


@nested
def _refine(matrix: Floats, right: Floats) -> None:
    """Solve ``x = right + matrix @ x`` into `right`, with one step of refinement."""
    size = len(right)
    # Element by element: for whole arrays numba compiles texts of errors, which takes longer than all of this.
    system, first = matrix.copy(), right.copy()
    for i in range(size):
        for j in range(size):
            system[i, j] = 1.0 - matrix[i, j] if i == j else -matrix[i, j]
    gauss(system.copy(), first, size, 0.0)
    for i in range(size):
        for j in range(size):
            right[i] -= system[i, j] * first[j]
    gauss(system, right, size, 0.0)
    for i in range(size):
        right[i] += first[i]


@nested
def gauss(system: Floats, right: Floats, size: int | np.int64, least: float) -> bool:
    """Gaussian elimination with partial pivoting, in place; NaN, and False, where a pivot is no larger than `least`."""
    for k in range(size):
        best = k
        for i in range(k + 1, size):
            if abs(system[i, k]) > abs(system[best, k]):
                best = i
        if not abs(system[best, k]) > least:
            right[:] = np.nan
            return False
        if best != k:
            for j in range(k, size):
                system[k, j], system[best, j] = system[best, j], system[k, j]
            right[k], right[best] = right[best], right[k]
        for i in range(k + 1, size):
            factor = system[i, k] / system[k, k]
            if factor != 0.0:
                for j in range(k + 1, size):
                    system[i, j] -= factor * system[k, j]
                right[i] -= factor * right[k]
    for k in range(size - 1, -1, -1):
        for j in range(k + 1, size):
            right[k] -= system[k, j] * right[j]
        right[k] /= system[k, k]
    return True
