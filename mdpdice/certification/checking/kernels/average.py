# Passages of this text are replaced by tests/certification/checking/test_average_mutated.py: change both together.
"""What one move is worth beyond a bias, edge by edge in compiled code; see `mdpdice.certification.checking.average`."""

from __future__ import annotations

import numpy as np

from mdpdice.certification.checking.kernels.large import CHANCE, ULP, tiny
from mdpdice.compilation import njit


@njit
def look_ahead(kind, indptr, dst, weight, reward, edges, bias, sign, result):
    """Write at least what ``sign`` times ``r + P h - h`` is, for the best of some edges of a node, into `result`."""
    one = np.uint64(1)
    for i in range(len(kind)):
        node = np.uint64(i)
        first, last = indptr[node], indptr[node + one]
        mean, total, spread, whole = 0.0, 0.0, 0.0, 0.0
        for e in range(first, last):
            move = bias[dst[e]] - bias[node]
            value, size = sign * (reward[e] + move), abs(reward[e]) + abs(move)
            if edges[e] and kind[node] == CHANCE:
                mean += weight[e] * value
                total += weight[e]
                spread += weight[e] * size
                whole += size
            elif edges[e]:  # which keeps what is not a number
                result[node] = np.maximum(result[node], value + 4.0 * ULP * (size + tiny(size)))
        if total > 0.0:
            result[node] = mean + ((2.0 * float(last - first) + 8.0) * ULP + abs(1.0 - total)) * (spread + tiny(whole))
