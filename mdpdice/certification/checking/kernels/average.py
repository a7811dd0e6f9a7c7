# Passages of this text are replaced by tests/certification/checking/test_average_mutated.py: change both together.
"""What one move is worth beyond a bias, edge by edge in compiled code; see `mdpdice.certification.checking.average`."""

from __future__ import annotations

import numpy as np

from mdpdice.certification.checking.kernels.large import CHANCE, ULP, tiny
from mdpdice.compilation import brief


@brief
def look_over(kind, indptr, dst, component, counted, rank, policy):
    """Whether play stays in the components, and comes to a counted node again and again."""
    one = np.uint64(1)
    for i in range(len(kind)):
        node = np.uint64(i)
        chance, stays, some, every = kind[node] == CHANCE, component[node] < 0, False, True
        for e in range(indptr[node], indptr[node + one]):
            inside = component[dst[e]] == component[node]
            nearer = counted[dst[e]] or rank[dst[e]] < rank[node]
            stays = stays or (inside and (chance or np.uint64(policy[node]) == e))
            some, every = some or nearer, every and (nearer or not inside)
            if chance and not inside and component[node] >= 0:
                return False
        if not stays or not (component[node] < 0 or counted[node] or (some if chance else every)):
            return False
    return True


@brief
def look_ahead(kind, indptr, dst, weight, reward, component, policy, bias, sign, result):
    """Write at least what ``sign`` times ``r + P h - h`` is, for the best of some edges of a node, into `result`.

    They are the edges inside of a component, and with sign -1 of them those that the policy takes.
    """
    one = np.uint64(1)
    for i in range(len(kind)):
        node = np.uint64(i)
        first, last = indptr[node], indptr[node + one]
        mean, total, spread, whole = 0.0, 0.0, 0.0, 0.0
        for e in range(first, last):
            move = bias[dst[e]] - bias[node]
            value, size = sign * (reward[e] + move), abs(reward[e]) + abs(move)
            if component[dst[e]] != component[node]:
                continue
            if kind[node] == CHANCE:
                mean += weight[e] * value
                total += weight[e]
                spread += weight[e] * size
                whole += size
            elif sign > 0.0 or np.uint64(policy[node]) == e:  # which keeps what is not a number
                result[node] = np.maximum(result[node], value + 4.0 * ULP * (size + tiny(size)))
        if total > 0.0:
            result[node] = mean + ((2.0 * float(last - first) + 8.0) * ULP + abs(1.0 - total)) * (spread + tiny(whole))
