"""The value of a chain: linear systems solved component by component.

A chain is an `Operator` without decisions.  Its value solves ``v = base + sum of
coef * v[dst]`` over the edges of each node.  Components of the graph are solved from
the last to the first, so what is acyclic takes one sweep, and only the cycles need a
linear system, each with the unknowns of its own component.

In most games a cycle comes back to few nodes (the start of a player's turn, say).  When
the values of these *knots* are known, the rest of the component is acyclic.  So one sweep
per knot writes the component as a system in its knots alone.  Such a system, and that of
a component of at most `ELIMINATE_UP_TO_NODES` nodes, is solved by elimination; if the coefficients are
probabilities, in the form that never subtracts, so that even chances of 1e-300 to leave
come out with full relative accuracy.  Larger ones are solved by BiCGSTAB with iterative
refinement, and by a sparse factorisation where that fails; lines and other narrow graphs by elimination in a band.

References
----------
W. K. Grassmann, M. I. Taksar and D. P. Heyman, "Regenerative analysis and steady state
distributions for Markov chains", Operations Research 33 (1985) 1107-1116 (elimination without
subtractions).
H. A. van der Vorst, "Bi-CGSTAB", SIAM J. Sci. Stat. Comput. 13 (1992) 631-644.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mdpdice.networks.arrays import ULP, Floats, Ints, read_only
from mdpdice.numerics import graph
from mdpdice.numerics.kernels.chain import Chain, solve_components
from mdpdice.numerics.kernels.krylov import bicgstab
from mdpdice.numerics.operator import Operator

ELIMINATE_UP_TO_NODES = 400
"""Nodes of a component up to which it is solved by dense elimination instead of BiCGSTAB, if not reduced to knots."""
REDUCE_UP_TO_KNOTS = 200
"""Knots up to which a component is reduced to a system in them instead of being solved as a whole."""
REDUCE_FROM_NODES_PER_KNOT = 4
"""Nodes per knot from which that is done for components of more than `REDUCE_ALL_UP_TO_KNOTS` knots."""
REDUCE_ALL_UP_TO_KNOTS = 24
"""Knots up to which a component is reduced to them, however few nodes it has for each."""
FACTORISE_UP_TO_NODES = 20_000
"""Nodes of a component up to which it is factorised when BiCGSTAB fails: fill-in can need their square in memory."""
NARROW = 40
"""Most diagonals of a system that is solved by elimination in a band: a line, where an iteration takes as many
steps as there are unknowns."""
SPARSE = 8
"""Most coefficients of a row, on average, where such a band is looked for."""
ROUNDS = 6
"""Rounds of iterative refinement."""
STEPS, STEPS_AT_ONCE = 2000, 64
"""Steps of BiCGSTAB in one round, and most of those between two checks of the time."""
AT_ONCE = 1 << 25
"""Edges that are read between two checks of the time: about a tenth of a second."""


def solve_chain(operator: Operator, *, stochastic: bool = False, loose: float = 0.0) -> Floats:
    """Return the value of every node of a chain whose plays all stop or are discounted, float64 of shape (N,).

    It is as exact as floats allow, and NaN or wrong where a component is too close to singular, so have it certified.
    The coefficients of a node are probabilities that sum to 1 if `stochastic`.  Where a component is solved by
    iteration, a residual of `loose` is small enough; 0 stands for that of rounding.
    """
    rows = operator.indptr.astype(np.int64), operator.dst.astype(np.int64)
    chain = Chain(*rows, read_only(operator.coef), read_only(operator.base))
    label, order, ptr = graph.ordered_components(*rows)
    cyclic = np.flatnonzero(graph.cyclic_components(*rows, label))
    limits = REDUCE_UP_TO_KNOTS, REDUCE_ALL_UP_TO_KNOTS, REDUCE_FROM_NODES_PER_KNOT
    value, place = np.zeros(len(order)), np.full(len(order), -1)
    at = 0
    while True:
        at = solve_components(chain, order, ptr, cyclic, at, *limits, stochastic, value, place)
        if at == len(cyclic):
            return value
        block = order[ptr[cyclic[at]] : ptr[cyclic[at] + 1]]
        value[block] = _solve_block(chain, block, value, place, stochastic=stochastic, loose=loose)
        at += 1


def _solve_block(chain: Chain, block: Ints, value: Floats, place: Ints, *, stochastic: bool, loose: float) -> Floats:
    """Solve one cyclic component as a whole, all others that it leads to being solved."""
    size = len(block)
    place[block] = np.arange(size)
    edges, row = graph.edges_of(chain.indptr, block)
    column = place[chain.dst[edges]]
    place[block] = -1
    coef, inside, outside = chain.coef[edges], column >= 0, column < 0
    ahead = coef[outside] * value[chain.dst[edges[outside]]]
    right: Any = chain.base[block] + np.bincount(row[outside], weights=ahead, minlength=size)
    if size > ELIMINATE_UP_TO_NODES:
        return _solve_large(row[inside], column[inside], coef[inside], right, loose)
    matrix = np.zeros((size, size))
    np.add.at(matrix, (row[inside], column[inside]), coef[inside])
    if stochastic:
        leave = np.bincount(row[outside], weights=coef[outside], minlength=size).astype(np.float64)
        return eliminate(matrix, leave, right)
    system = np.eye(size) - matrix
    try:
        solved = np.asarray(np.linalg.solve(system, right), dtype=np.float64)
        solved += np.linalg.solve(system, right - system @ solved)
    except np.linalg.LinAlgError:
        return np.full(size, np.nan)
    return solved


def eliminate(matrix: Floats, leave: Floats, right: Floats) -> Floats:
    """Solve ``x = right + matrix @ x`` in place, where a row of `matrix` and its entry of `leave` sum to 1.

    ``1 - matrix[k, k]`` is taken as the sum of the other ways on, so nothing is subtracted.  `right` may have
    several columns; nodes from which no way leads on are worth 0.
    """
    for k in range(len(right) - 1, -1, -1):
        away = leave[k] + matrix[k, :k].sum()
        if not away > 0:
            # A class that is never left; what it pays is unknown here.
            matrix[k, :k], right[k], leave[k] = 0.0, 0.0, 1.0
            continue
        matrix[k, :k] /= away
        leave[k] /= away
        right[k] /= away
        into = matrix[:k, k]
        matrix[:k, :k] += np.outer(into, matrix[k, :k])
        leave[:k] += into * leave[k]
        right[:k] += np.multiply.outer(into, right[k])
    for k in range(1, len(right)):
        right[k] += matrix[k, :k] @ right[:k]
    return right


def factorise(balance: Any) -> Any:
    """Factorise ``I - P`` with ``P >= 0`` of row or column sums up to 1; see `scipy.sparse.linalg.splu`."""
    from scipy.sparse.linalg import splu

    # An M-matrix: elimination down the diagonal is stable, and a symmetric ordering keeps it sparse.
    options = {"SymmetricMode": True}
    return splu(balance.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)


def _solve_large(row: Ints, column: Ints, coef: Floats, right: Floats, loose: float) -> Floats:
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.linalg import splu

    size = len(right)
    chances: Any = csr_array((coef, (row, column)), shape=(size, size))
    if len(coef) <= SPARSE * size and (narrow := _solve_narrow(chances, right)) is not None:
        return narrow
    found = np.zeros(size)
    left = right
    for _ in range(ROUNDS):
        before = np.abs(left).max()
        wanted = max(0.5 * loose, 1e-8 * float(before))
        move = compiled_bicgstab(matrix_rows(chances), None, np.zeros(size), left.copy(), wanted, STEPS)
        rest = right + chances @ (found + move) - (found + move)
        if not np.abs(rest).max() < before:
            break
        found, left = found + move, rest
        if np.abs(left).max() <= max(loose, 4 * ULP * (np.abs(found).max() + np.abs(right).max())):
            return found
    good = 1e3 * 4 * ULP * (np.abs(found).max() + np.abs(right).max())
    if size > FACTORISE_UP_TO_NODES or np.abs(left).max() <= good:
        return found
    factors = splu((eye_array(size) - chances).tocsc())
    found = factors.solve(right)
    found += factors.solve(right + chances @ found - found)
    return found


def _solve_narrow(chances: Any, right: Floats) -> Floats | None:
    """Solve ``x = right + chances @ x`` by elimination in a band, if the nodes can be put in an order that has one."""
    from scipy.linalg import LinAlgError, solve_banded
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    size = len(right)
    order = reverse_cuthill_mckee(chances)
    place = np.empty(size, dtype=np.int64)
    place[order] = np.arange(size)
    entries = coo_array(chances)
    row, column = place[entries.row], place[entries.col]
    below, above = int((row - column).max(initial=0)), int((column - row).max(initial=0))
    if below + above >= NARROW:
        return None
    band = np.zeros((below + above + 1, size))
    band[above] = 1.0
    np.subtract.at(band, (above + row - column, column), entries.data)
    found = np.zeros(size)
    try:
        for _ in range(2):
            found[order] += solve_banded((below, above), band, (right + chances @ found - found)[order])
    except (LinAlgError, ValueError):  # singular in floats, or not finite
        return None
    return found


def matrix_rows(matrix: Any) -> tuple[Any, Any, Floats]:
    """Arrays of a csr_array as `compiled_bicgstab` takes them."""
    indices = matrix.indices.view(np.uint32 if matrix.indices.itemsize == 4 else np.uint64)
    return matrix.indptr, indices, matrix.data


def compiled_bicgstab(
    rows: tuple[Any, Any, Floats],
    scale: Floats | None,
    start: Floats,
    residual: Floats,
    target: float,
    steps: int,
    check: Callable[[], None] = lambda: None,
) -> Floats:
    """Improve a solution of ``x = right + P x`` by BiCGSTAB; the iterate with the smallest residual that was met.

    `rows` are the matrix as `matrix_rows` gives it, `start` is a first guess and `residual` what it leaves, multiplied
    by `scale` as the equations are.  It stops where no component of the residual is larger than `target`, after
    `steps` of two products each (`mdpdice.numerics.kernels.krylov`), or where `check` raises.
    """
    n = len(start)
    best = start.copy()
    vectors = np.zeros((6, n))
    vectors[0], vectors[1] = start, residual
    size = float(np.abs(residual).max(initial=0.0))
    # Not by its norm: libraries start threads for a dot product.
    vectors[2] = residual / max(size, 1e-300)
    number = np.array([1.0, 1.0, 1.0, size])
    diagonal = np.ones(n) if scale is None else scale
    at_once = min(STEPS_AT_ONCE, max(1, AT_ONCE // (2 * len(rows[2]) + 10 * n)))
    for done in range(0, steps, at_once):
        check()
        if bicgstab(*rows, diagonal, vectors, best, number, target, min(at_once, steps - done)):
            break
    return best
