"""The value of a chain: linear systems solved component by component.

A chain is an `Operator` without decisions.  Its value solves ``v = base + sum of
coef * v[dst]`` over the edges of each node.  Components of the graph are solved from
the last to the first, so what is acyclic takes one sweep, and only the cycles need a
linear system, each with the unknowns of its own component.

A cyclic component of at most `DENSE` nodes is solved by elimination; if its
coefficients are probabilities, in the form that never subtracts, so that even chances
of 1e-300 to leave come out with full relative accuracy.  Larger ones are solved by BiCGSTAB
with iterative refinement, and by a sparse factorisation where that fails.

References
----------
W. K. Grassmann, M. I. Taksar and D. P. Heyman, "Regenerative analysis and steady state
distributions for Markov chains", Operations Research 33 (1985) 1107-1116 (elimination without
subtractions).
H. A. van der Vorst, "Bi-CGSTAB", SIAM J. Sci. Stat. Comput. 13 (1992) 631-644.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from mdpdice.numerics import graph
from mdpdice.numerics.operator import Operator, unsigned

__all__ = ["DENSE", "solve_chain"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

DENSE = 400
"""Largest component that is solved by dense elimination."""
FACTORISED = 20_000
"""Largest component that is factorised when the iteration fails: fill-in can need its square in memory."""
ROUNDS = 6
"""Rounds of iterative refinement."""


def solve_chain(operator: Operator, *, stochastic: bool = False) -> Floats:
    """The value of every node of a chain.

    Parameters
    ----------
    operator : Operator
        Without decisions, and such that every play stops or is discounted.
    stochastic : bool
        Whether the coefficients of a node are probabilities that sum to 1.

    Returns
    -------
    ndarray of float64, shape (N,)
        As exact as floats allow; NaN or wrong where a component is too close to
        singular, so have it certified.
    """
    from mdpdice.numerics import kernels

    indptr, dst = operator.indptr.astype(np.int64), operator.dst.astype(np.int64)
    value = np.zeros(len(indptr) - 1)
    policy = np.full(len(value), -1)
    label = graph.strong_components(indptr, dst)
    order, ptr = graph.component_order(label)
    cyclic = np.flatnonzero(graph.cyclic_components(indptr, dst, label))
    place = np.full(len(value), -1)
    start = 0
    for c in cyclic.tolist():
        # Everything between two cyclic components is acyclic: one sweep.
        kernels.backup(*operator.edges, unsigned(order[start : ptr[c]]), value, value, policy)
        block = order[ptr[c] : ptr[c + 1]]
        place[block] = np.arange(len(block))
        value[block] = _solve_block(operator, indptr, dst, block, place, value, stochastic=stochastic)
        place[block] = -1
        start = int(ptr[c + 1])
    kernels.backup(*operator.edges, unsigned(order[start:]), value, value, policy)
    return value


def _solve_block(
    operator: Operator, indptr: Ints, dst: Ints, block: Ints, place: Ints, value: Floats, *, stochastic: bool
) -> Floats:
    degree = indptr[block + 1] - indptr[block]
    row = np.repeat(np.arange(len(block)), degree)
    edges = np.arange(len(row)) + np.repeat(indptr[block] - np.cumsum(degree) + degree, degree)
    column, coef = place[dst[edges]], operator.coef[edges]
    inside = column >= 0
    out = ~inside
    size = len(block)
    ahead = coef[out] * value[dst[edges[out]]]
    right = operator.base[block] + np.bincount(row[out], weights=ahead, minlength=size)
    leave = np.bincount(row[out], weights=coef[out], minlength=size).astype(np.float64)
    row, column, coef = row[inside], column[inside], coef[inside]
    if size > DENSE:
        return _solve_large(row, column, coef, right)
    matrix = np.zeros((size, size))
    np.add.at(matrix, (row, column), coef)
    if stochastic:
        return _eliminate(matrix, leave, right)
    system = np.eye(size) - matrix
    try:
        solved = np.linalg.solve(system, right)
        solved = solved + np.linalg.solve(system, right - system @ solved)
    except np.linalg.LinAlgError:
        return np.full(size, np.nan)
    return cast("Floats", solved)


def _eliminate(matrix: Floats, leave: Floats, right: Floats) -> Floats:
    """Solve ``x = right + matrix @ x``, where a row of `matrix` and its entry of `leave` sum to 1.

    ``1 - matrix[k, k]`` is taken as the sum of the other ways on, so nothing is subtracted.
    """
    for k in range(len(right) - 1, -1, -1):
        away = leave[k] + matrix[k, :k].sum()
        matrix[k, :k] /= away
        leave[k] /= away
        right[k] /= away
        into = matrix[:k, k]
        matrix[:k, :k] += into[:, None] * matrix[k, :k]
        leave[:k] += into * leave[k]
        right[:k] += into * right[k]
    for k in range(1, len(right)):
        right[k] += matrix[k, :k] @ right[:k]
    return right


def _solve_large(row: Ints, column: Ints, coef: Floats, right: Floats) -> Floats:
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.linalg import bicgstab, splu

    size = len(right)
    system: Any = (eye_array(size) - csr_array((coef, (row, column)), shape=(size, size))).tocsr()
    enough = 4 * 2.0**-52
    found = np.zeros(size)
    left = right
    for _ in range(ROUNDS):
        move, _failed = bicgstab(system, left, rtol=1e-8, maxiter=2000)
        before = np.abs(left).max()
        if not np.isfinite(move).all():
            break
        rest = right - system @ (found + move)
        if not np.abs(rest).max() < before:
            break
        found, left = found + move, rest
        if np.abs(left).max() <= enough * (np.abs(found).max() + np.abs(right).max()):
            return cast("Floats", found)
    if size > FACTORISED or np.abs(left).max() <= 1e3 * enough * (np.abs(found).max() + np.abs(right).max()):
        return cast("Floats", found)
    factors = splu(system.tocsc())
    found = factors.solve(right)
    return found + factors.solve(right - system @ found)
