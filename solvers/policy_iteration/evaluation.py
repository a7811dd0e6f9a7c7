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
C. A. O'Cinneide, "Entrywise perturbation theory and error analysis for Markov chains", *Numerische
Mathematik* 65 (1993), 109-120; the others are in `mdpdice.solvers.policy_iteration`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import eye_array

from mdpdice.networks.arrays import ULP, Floats, Matrix
from mdpdice.numerics.linear import compiled_bicgstab, eliminate, factorise, matrix_rows

ELIMINATE_FROM_LENGTH = 1e5
"""Expected length of plays from which a policy is evaluated without subtractions: no factorisation is trusted there."""

DENSE_UP_TO_NODES = 800
"""Nodes up to which long plays are evaluated without subtractions: dense arithmetic takes half a second."""

PATIENCE = 300
"""Products after which plain BiCGSTAB gives way to a preconditioner, and that to sweeps."""


def solve_directly(P: Matrix, gain: Floats, leave: Floats) -> Floats:
    """Return the solution by sparse factorisation, or without subtractions where plays are long."""
    try:
        factor = factorise(eye_array(P.shape[0], format="csr") - P)
    except RuntimeError:  # singular in floats
        return without_subtraction(P.toarray(), gain, leave)
    length = factor.solve(np.ones(len(gain)))
    if len(gain) <= DENSE_UP_TO_NODES and not (length.min() > 0.5 and length.max() < ELIMINATE_FROM_LENGTH):
        return without_subtraction(P.toarray(), gain, leave)
    value: Floats = factor.solve(gain)
    value += factor.solve(gain + P @ value - value)
    return value


def without_subtraction(P: Floats, gain: Floats, leave: Floats) -> Floats:
    """Return the solution to high relative accuracy, for the parts of `gain` of either sign; in dense arithmetic.

    State after state is taken out of the chain; plays through it then go straight on, and what they
    collected there is added to where they came from.
    """
    parts = np.stack((np.maximum(gain, 0.0), np.maximum(-gain, 0.0)), axis=1)
    parts = eliminate(P.copy(), leave.copy(), parts)
    value: Floats = parts[:, 0] - parts[:, 1]
    return value


def iterate(P: Matrix, gain: Floats, value: Floats, target: float, check: Callable[[], None]) -> tuple[Floats, bool]:
    """Return the solution by iteration from a first guess, and whether its residual came down to the target.

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


def _preconditioned(P: Matrix, gain: Floats, x: Floats, target: float, check: Callable[[], None]) -> Floats:
    """BiCGSTAB with an incomplete factorisation of limited size."""
    from scipy.sparse.linalg import LinearOperator, bicgstab, spilu

    balance = (eye_array(P.shape[0], format="csr") - P).tocsc()
    try:
        factor = spilu(balance, drop_tol=1e-5, fill_factor=10, permc_spec="MMD_AT_PLUS_A")
    except RuntimeError:
        return x
    rest = gain - balance @ x
    # The move to the solution, in units of the residual: scipy breaks down where numbers are small.
    size = max(float(np.abs(rest).max(initial=0.0)), 1e-300)
    move, _ = bicgstab(
        balance, rest / size, rtol=0.0, atol=0.5 * target / size, maxiter=PATIENCE // 2,
        M=LinearOperator(P.shape, factor.solve), callback=lambda _: check(),
    )  # fmt: skip
    found: Floats = x + size * move
    return found


def _sweeps(P: Matrix, gain: Floats, x: Floats, target: float, check: Callable[[], None]) -> Floats:
    """Gauss-Seidel sweeps."""
    from mdpdice.networks.network import Kind
    from mdpdice.numerics.kernels import bellman as kernels
    from mdpdice.numerics.operator import Operator, unsigned

    n = len(gain)
    chance = np.full(n, Kind.CHANCE, dtype=np.uint8)
    indptr, indices = unsigned(P.indptr.astype(np.int64)), unsigned(P.indices.astype(np.int64))
    rows = Operator(chance, indptr, indices, np.zeros(P.nnz), P.data, gain).rows
    nodes = unsigned(np.arange(n - 1, -1, -1))
    x = x.copy()
    policy = np.full(n, -1, dtype=np.int64)
    for _ in range(20 * PATIENCE):
        check()
        before = x.copy()
        kernels.backup(rows, nodes, x, x, policy)
        if np.abs(x - before).max() <= target:
            break
    return x
