"""A compiled Krylov method: products and vectors in one loop, on one thread.

In numpy each vector operation of BiCGSTAB goes through memory on its own, and libraries start threads for a dot
product, which cost more than they bring.  See `mdpdice.numerics.kernels.bellman` for the conventions.
"""

from __future__ import annotations

import numpy as np

from mdpdice.compilation import Floats, Ints, Number, nested, njit


@nested
def _apply(indptr: Ints, indices: Ints, data: Floats, scale: Floats, x: Floats, out: Floats) -> None:
    """``scale * (x - P x)``."""
    for i in range(len(out)):
        total = x[i]
        for e in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total -= data[e] * x[indices[e]]
        out[i] = scale[i] * total


@njit
def bicgstab(
    indptr: Ints, indices: Ints, data: Floats, scale: Floats, vectors: Floats, best: Floats, number: Floats,
    target: Number, steps: int,
) -> int:  # fmt: skip
    """Up to some steps of BiCGSTAB (van der Vorst 1992) for ``scale * (x - P x) = right``.

    1 if the largest component of the residual is at most `target`, -1 if the method broke down, else 0.  In and out go
    `vectors`, shape (6, n): iterate, residual, shadow residual, direction, its image, room; `best`, shape (n,), the
    iterate of the smallest residual; and `number`: rho, alpha, omega, size of the smallest residual.
    """
    x, r, shadow, p, v, t = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4], vectors[5]
    n = len(x)
    for _ in range(steps):
        rho = 0.0
        for i in range(n):
            rho += shadow[i] * r[i]
        if rho == 0.0 or number[2] == 0.0:
            return -1
        beta = (rho / number[0]) * (number[1] / number[2])
        number[0] = rho
        for i in range(n):
            p[i] = r[i] + beta * (p[i] - number[2] * v[i])
        _apply(indptr, indices, data, scale, p, v)
        along = 0.0
        for i in range(n):
            along += shadow[i] * v[i]
        if along == 0.0:
            return -1
        alpha = rho / along
        number[1] = alpha
        for i in range(n):
            r[i] -= alpha * v[i]
        _apply(indptr, indices, data, scale, r, t)
        square, cross = 0.0, 0.0
        for i in range(n):
            square += t[i] * t[i]
            cross += t[i] * r[i]
        omega = cross / square if square > 0.0 else 0.0
        number[2] = omega
        size = 0.0
        for i in range(n):
            x[i] += alpha * p[i] + omega * r[i]
            r[i] -= omega * t[i]
            # Written so that a NaN stays one.
            if not abs(r[i]) <= size:
                size = abs(r[i])
        if not np.isfinite(size):
            return -1
        # The residual goes up and down; a copy is worth its price only where it came down for good.
        if size < 0.5 * number[3] or size <= target:
            best[:] = x
            number[3] = size
        if size <= target:
            return 1
    return 0
