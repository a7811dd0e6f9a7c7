"""The value of a chain: linear systems solved component by component.

A chain is an `Operator` without decisions.  Its value solves ``v = base + sum of
coef * v[dst]`` over the edges of each node.  Components of the graph are solved from
the last to the first, so what is acyclic takes one sweep, and only the cycles need a
linear system, each with the unknowns of its own component.

In most games a cycle comes back to few nodes (the start of a player's turn, say).  When
the values of these *knots* are known, the rest of the component is acyclic.  So one sweep
per knot writes the component as a system in its knots alone.  Such a system, and that of
a component of at most `DENSE` nodes, is solved by elimination; if the coefficients are
probabilities, in the form that never subtracts, so that even chances of 1e-300 to leave
come out with full relative accuracy.  Larger ones are solved by BiCGSTAB with iterative
refinement, and by a sparse factorisation where that fails.

References
----------
W. K. Grassmann, M. I. Taksar and D. P. Heyman, "Regenerative analysis and steady state
distributions for Markov chains", Operations Research 33 (1985) 1107-1116 (elimination without
subtractions).
H. A. van der Vorst, "Bi-CGSTAB", SIAM J. Sci. Stat. Comput. 13 (1992) 631-644.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.numerics import graph
from mdpdice.numerics.operator import Operator, unsigned

__all__ = ["DENSE", "solve_chain"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

DENSE = 400
"""Largest component that is solved by dense elimination when it is not reduced to knots."""
KNOTS = 200
"""Most knots that a component is reduced to."""
COMPILED = 24
"""Most knots of a component that is solved in compiled code, with many others in one call."""
KNOT_SAVES = 4
"""A component is reduced to its knots if it has so many times more nodes."""
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
    chain = _Chain(operator, stochastic)
    label = graph.strong_components(chain.indptr, chain.dst)
    order, ptr = graph.component_order(label)
    cyclic = np.flatnonzero(graph.cyclic_components(chain.indptr, chain.dst, label))
    at = 0
    while (at := chain.solve_small(order, ptr, cyclic, at)) < len(cyclic):
        chain.solve(order[ptr[cyclic[at]] : ptr[cyclic[at] + 1]])
        at += 1
    return chain.value


class _Chain:
    """A chain that is being solved.

    Attributes
    ----------
    value : ndarray of float64, shape (N,)
        The solution, as far as it goes.
    """

    def __init__(self, operator: Operator, stochastic: bool) -> None:
        self.operator = operator
        self.stochastic = stochastic
        self.indptr, self.dst = operator.indptr.astype(np.int64), operator.dst.astype(np.int64)
        self.degree = np.diff(self.indptr)
        self.value = np.zeros(len(self.degree))
        self.place = np.full(len(self.degree), -1)
        self.policy = np.full(len(self.degree), -1)
        # For the systems of knots: the chain without constants, and what its nodes are then worth.
        self.bare: Operator = attrs.evolve(operator, base=np.zeros(len(self.degree)))
        self.zero, self.one = np.zeros(len(self.degree)), np.ones(len(self.degree))
        self.out = np.zeros(len(self.degree))

    def solve_small(self, order: Ints, ptr: Ints, cyclic: Ints, at: int) -> int:
        """Solve what lies before the cyclic component `at`, and on from there until one has too many knots."""
        from mdpdice.numerics.chain_kernels import solve_components

        found = solve_components(
            self.indptr,
            self.dst,
            self.operator.coef,
            self.operator.base,
            order,
            ptr,
            cyclic,
            at,
            min(COMPILED, KNOTS),
            self.stochastic,
            self.value,
            self.place,
        )
        return int(found)

    def sweep(self, operator: Operator, nodes: Ints, source: Floats, target: Floats) -> None:
        """Back up nodes in their order; at a node that comes later, `source` is read as it is."""
        from mdpdice.numerics import kernels

        kernels.backup(*operator.edges, unsigned(nodes), source, target, self.policy)

    def solve(self, block: Ints) -> None:
        """Solve one cyclic component, all others that it leads to being solved."""
        size, degree = len(block), self.degree[block]
        self.place[block] = np.arange(size)
        row = np.repeat(np.arange(size), degree)
        edges = np.arange(len(row)) + np.repeat(self.indptr[block] - np.cumsum(degree) + degree, degree)
        column = self.place[self.dst[edges]]
        self.place[block] = -1
        # A sweep in this order has not come by these nodes when it reads them.
        knots = np.unique(column[column >= row])
        if len(knots) <= KNOTS and len(knots) * KNOT_SAVES <= size:
            self._solve_knots(block, knots)
        else:
            self._solve_all(block, row, column, edges)

    def _solve_knots(self, block: Ints, knots: Ints) -> None:
        rest, tied = np.delete(block, knots), block[knots]
        matrix = np.empty((len(tied), len(tied)))
        for at, node in enumerate(tied.tolist()):
            self.zero[node] = 1.0
            matrix[:, at] = self._at_knots(self.bare, rest, tied, self.zero)
            self.zero[node] = 0.0
        self.zero[rest] = 0.0
        # The chance to leave the component before the next knot.
        self.one[tied] = 0.0
        leave = self._at_knots(self.bare, rest, tied, self.one)
        self.one[block] = 1.0
        self.value[tied] = 0.0
        right = self._at_knots(self.operator, rest, tied, self.value)
        self.value[tied] = _solve_dense(matrix, leave, right, stochastic=self.stochastic)
        self.sweep(self.operator, rest, self.value, self.value)

    def _at_knots(self, operator: Operator, rest: Ints, tied: Ints, values: Floats) -> Floats:
        """What the knots are worth one move ahead, when `values` holds for them and outside."""
        self.sweep(operator, rest, values, values)
        self.sweep(operator, tied, values, self.out)
        return self.out[tied]

    def _solve_all(self, block: Ints, row: Ints, column: Ints, edges: Ints) -> None:
        size, coef = len(block), self.operator.coef[edges]
        inside, outside = column >= 0, column < 0
        ahead = coef[outside] * self.value[self.dst[edges[outside]]]
        right = self.operator.base[block] + np.bincount(row[outside], weights=ahead, minlength=size)
        if size > DENSE:
            self.value[block] = _solve_large(row[inside], column[inside], coef[inside], right)
            return
        leave = np.bincount(row[outside], weights=coef[outside], minlength=size).astype(np.float64)
        matrix = np.zeros((size, size))
        np.add.at(matrix, (row[inside], column[inside]), coef[inside])
        self.value[block] = _solve_dense(matrix, leave, right, stochastic=self.stochastic)


def _solve_dense(matrix: Floats, leave: Floats, right: Floats, *, stochastic: bool) -> Floats:
    """Solve ``x = right + matrix @ x``; with `stochastic`, rows of `matrix` and `leave` sum to 1."""
    if stochastic:
        return _eliminate(matrix, leave, right)
    system = np.eye(len(right)) - matrix
    try:
        solved = np.asarray(np.linalg.solve(system, right), dtype=np.float64)
        solved += np.linalg.solve(system, right - system @ solved)
    except np.linalg.LinAlgError:
        return np.full(len(right), np.nan)
    return solved


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
