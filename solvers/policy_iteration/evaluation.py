"""Linear systems ``v = gain + P v`` of Markov chains in floats, for policy iteration.

``P >= 0`` has row sums of at most 1; ``leave = 1 - sum P`` is given separately, because subtracting would lose
its digits where it is small.  Small systems are solved directly, large ones by BiCGSTAB (van der Vorst 1992)
with diagonal scaling, then, where that is slow, with an incomplete factorisation, then by Gauss-Seidel sweeps.

Where plays are long, a factorisation in floats is worth nothing: the values of Haddad and Monmege's chain with 60
steps come out as 0.018 instead of 0.7.  `without_subtraction` then eliminates by additions,
multiplications and divisions of positive numbers alone (Grassmann, Taksar and Heyman 1985), which keeps
every number accurate to some units in its last place (O'Cinneide 1993).

References
----------
W. K. Grassmann, M. I. Taksar, D. P. Heyman, "Regenerative analysis and steady state distributions for Markov
chains", *Operations Research* 33 (1985), 1107-1116.

C. A. O'Cinneide, "Entrywise perturbation theory and error analysis for Markov chains", *Numerische
Mathematik* 65 (1993), 109-120.

H. A. van der Vorst, "Bi-CGSTAB: a fast and smoothly converging variant of Bi-CG for the solution of nonsymmetric
linear systems", *SIAM Journal on Scientific and Statistical Computing* 13 (1992), 631-644.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array

from mdpdice.numerics.linear import compiled_bicgstab, matrix_rows

__all__ = ["iterate", "solve_directly", "without_subtraction"]

Floats: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = "csr_array[Any, tuple[int, int]]"
Apply: TypeAlias = Callable[[Floats], Floats]

ELIMINATE_FROM_LENGTH = 1e5
"""Expected length of plays from which a policy is evaluated without subtractions: no factorisation is trusted there."""

DENSE_UP_TO_NODES = 800
"""Nodes up to which long plays are evaluated without subtractions: dense arithmetic takes half a second."""

PATIENCE = 300
"""Products after which plain BiCGSTAB gives way to a preconditioner, and that to sweeps."""

ULP = 2.0**-52


def solve_directly(P: Matrix, gain: Floats, leave: Floats) -> Floats:
    """The solution by sparse factorisation, or without subtractions where plays are long."""
    from scipy.sparse.linalg import splu

    balance = (eye_array(P.shape[0], format="csr") - P).tocsc()
    try:
        # An M-matrix: elimination down the diagonal is stable, and a symmetric ordering keeps it sparse.
        factor = splu(
            balance, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError:  # singular in floats
        return without_subtraction(P.toarray(), gain, leave)
    length = factor.solve(np.ones(len(gain)))
    if len(gain) <= DENSE_UP_TO_NODES and not (length.min() > 0.5 and length.max() < ELIMINATE_FROM_LENGTH):
        return without_subtraction(P.toarray(), gain, leave)
    value: Floats = factor.solve(gain)
    value += factor.solve(gain + P @ value - value)
    return value


def without_subtraction(P: Floats, gain: Floats, leave: Floats) -> Floats:
    """The solution to high relative accuracy, for the parts of `gain` of either sign; in dense arithmetic.

    State after state is taken out of the chain; plays through it then go straight on, and what they
    collected there is added to where they came from.
    """
    n = len(gain)
    P, leave = P.copy(), leave.copy()
    parts = np.stack((np.maximum(gain, 0.0), np.maximum(-gain, 0.0)), axis=1)
    for k in range(n - 1, -1, -1):
        out = leave[k] + P[k, :k].sum()
        if not out > 0:
            # A class that is never left; what it pays cannot be told here.
            P[k, :k], parts[k], leave[k] = 0.0, 0.0, 1.0
            continue
        P[k, :k] /= out
        leave[k] /= out
        parts[k] /= out
        share = P[:k, k]
        P[:k, :k] += np.outer(share, P[k, :k])
        leave[:k] += share * leave[k]
        parts[:k] += np.outer(share, parts[k])
    for k in range(1, n):
        parts[k] += P[k, :k] @ parts[:k]
    value: Floats = parts[:, 0] - parts[:, 1]
    return value


def iterate(
    P: Matrix, gain: Floats, value: Floats, target: float, check: Callable[[], None]
) -> tuple[Floats, bool]:
    """The solution by iteration from a first guess, and whether its residual came down to the target.

    A residual that rounding keeps from coming down counts as reached.
    """
    stay = P.diagonal()
    scale = 1.0 / np.maximum(1.0 - stay, 1e-300) if stay.any() else None

    def residual(x: Floats) -> Floats:
        rest: Floats = gain + P @ x - x
        return rest if scale is None else rest * scale

    rows = matrix_rows(P)
    methods: list[Callable[[Floats], Floats]] = [
        lambda x: compiled_bicgstab(rows, scale, x, residual(x), 0.5 * target, PATIENCE // 2, check),
        lambda x: _preconditioned(P, gain, x, target, check),
        lambda x: _sweeps(P, gain, x, target, check),
    ]
    left = float(np.abs(residual(value)).max(initial=0.0))
    for method in methods:
        while left > target:
            check()
            found = method(value)
            now = float(np.abs(residual(found)).max(initial=0.0))
            if not now < left:
                break
            better, left, value = now < 0.1 * left, now, found
            if not better:
                break
        if left <= max(target, 16 * ULP * float(np.abs(value).max(initial=0.0))):
            return value, True
    return value, False


def _bicgstab(
    apply: Apply,
    x: Floats,
    r: Floats,
    target: float,
    check: Callable[[], None],
    precondition: Apply | None = None,
) -> Floats:
    """One run of BiCGSTAB; `r` is the residual of `x`."""
    x, r = x.copy(), r.copy()
    best, best_size = x.copy(), float(np.abs(r).max())
    shadow = r / max(float(np.linalg.norm(r)), 1e-300)
    p, v, room = np.zeros_like(r), np.zeros_like(r), np.empty_like(r)
    rho = alpha = omega = 1.0
    for count in range(PATIENCE // 2):
        rho_before, rho = rho, float(shadow @ r)
        if rho == 0.0 or omega == 0.0:
            break
        # In place: the vectors are long, and new memory costs as much as the arithmetic.
        p -= np.multiply(v, omega, out=room)
        p *= (rho / rho_before) * (alpha / omega)
        p += r
        p_hat = p if precondition is None else precondition(p)
        v = apply(p_hat)
        along = float(shadow @ v)
        if along == 0.0:
            break
        alpha = rho / along
        r -= np.multiply(v, alpha, out=room)
        s_hat = r if precondition is None else precondition(r)
        t = apply(s_hat)
        square = float(t @ t)
        omega = float(t @ r) / square if square > 0 else 0.0
        x += np.multiply(p_hat, alpha, out=room)
        x += np.multiply(s_hat, omega, out=room)
        r -= np.multiply(t, omega, out=room)
        if count % 4 and count > 4:
            continue
        check()
        size = float(np.abs(r, out=room).max())
        if not np.isfinite(size):
            break
        # The residual goes up and down; a copy is worth its price only where it came down for good.
        if size < 0.5 * best_size:
            best[:] = x
            best_size = size
        if size <= 0.5 * target:
            break
    return best


def _preconditioned(P: Matrix, gain: Floats, x: Floats, target: float, check: Callable[[], None]) -> Floats:
    """BiCGSTAB with an incomplete factorisation of limited size."""
    from scipy.sparse.linalg import spilu

    balance = (eye_array(P.shape[0], format="csr") - P).tocsc()
    try:
        factor = spilu(balance, drop_tol=1e-5, fill_factor=10, permc_spec="MMD_AT_PLUS_A")
    except RuntimeError:
        return x

    def apply(y: Floats) -> Floats:
        product: Floats = y - P @ y
        return product

    return _bicgstab(apply, x, gain - apply(x), target, check, factor.solve)


def _sweeps(P: Matrix, gain: Floats, x: Floats, target: float, check: Callable[[], None]) -> Floats:
    """Gauss-Seidel sweeps."""
    from mdpdice.networks.network import Kind
    from mdpdice.numerics.kernels import bellman as kernels
    from mdpdice.numerics.operator import unsigned

    n = len(gain)
    chance = np.full(n, Kind.CHANCE, dtype=np.uint8)
    indptr, indices = unsigned(P.indptr.astype(np.int64)), unsigned(P.indices.astype(np.int64))
    rows = (chance, indptr, indices, np.zeros(P.nnz), P.data, gain)
    for array in rows:
        array.flags.writeable = False
    nodes = unsigned(np.arange(n - 1, -1, -1))
    x = x.copy()
    policy = np.full(n, -1, dtype=np.int64)
    for _ in range(20 * PATIENCE):
        check()
        before = x.copy()
        kernels.backup(*rows, nodes, x, x, policy)
        if np.abs(x - before).max() <= target:
            break
    return x
