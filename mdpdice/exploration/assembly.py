"""Assembly: rows of edges, as a traversal writes them, become the arrays of a network.

While a game is explored, the target of an edge is one int, its *key*: the index of
a state, or of an inline end or an inline node in a number range of its own, and a
mark for `pass_to`.  Nodes are numbered in the order of their rows, the ends behind them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdpdice.modelling.nearest import SMALLEST
from mdpdice.networks.network import Kind

END = 1 << 40
"""Mark of a key that is the number of an inline end."""

INLINE = 1 << 41
"""Mark of a key that is the number of an inline row."""

FLIP = 1 << 42
"""Mark of an edge where the players change sides."""

_INDEX = END - 1


def assemble(
    kinds: bytearray,
    degrees: array[int],
    keys: array[int],
    nums: Any,
    state_row: array[int],
    inline_row: array[int],
    n_ends: int,
    totals: Sequence[int] | None = None,
) -> dict[str, NDArray[Any]]:
    """Put the rows of a traversal together, as arrays of `mdpdice.networks.network.Network`.

    `nums` are the weights of the edges of chance rows, parts of `totals`, by default of their sum in each row.
    """
    n_rows = len(kinds)
    key = np.asarray(keys)
    index = key & _INDEX
    state_node = np.asarray(state_row)
    dst = state_node[np.where(key & (END | INLINE), 0, index)]
    is_end = (key & END) != 0
    dst[is_end] = n_rows + index[is_end]
    is_inline = (key & INLINE) != 0
    dst[is_inline] = np.asarray(inline_row)[index[is_inline]]
    kind = np.concatenate((np.frombuffer(kinds, dtype=np.uint8), np.full(n_ends, Kind.END, dtype=np.uint8)))
    degree = np.concatenate((np.frombuffer(degrees, dtype=np.int64), np.zeros(n_ends, dtype=np.int64)))
    indptr = np.concatenate(([0], np.cumsum(degree)))
    numerator, weight = _weights(nums, kind, indptr, totals)
    return {
        "kind": kind,
        "indptr": indptr,
        "dst": dst,
        "sign": np.where(key & FLIP, -1, 1).astype(np.int8),
        "numerator": numerator,
        "weight": weight,
        "state_node": state_node,
    }


def _weights(nums: Any, kind: Any, indptr: Any, totals: Sequence[int] | None) -> tuple[Any, Any]:
    """Exact numerators of all edges from those of chance nodes, and the probabilities that they mean."""
    degree = np.diff(indptr)
    chance = np.repeat(kind == Kind.CHANCE, degree)
    weight = np.ones(len(chance))
    if type(nums) is not list:
        numerator = np.ones(len(chance), dtype=np.int64)
        if len(nums):
            numerator[chance] = np.frombuffer(nums, dtype=np.int64)
            if totals is None:
                total = np.add.reduceat(np.append(numerator, 0), indptr[:-1])
            else:
                total = np.ones(len(kind), dtype=np.int64)
                total[kind == Kind.CHANCE] = totals
            weight[chance] = (numerator / np.repeat(total, degree))[chance]
        return numerator, weight
    exact = np.ones(len(chance), dtype=object)
    exact[chance] = nums
    for at, node in enumerate(np.flatnonzero(kind == Kind.CHANCE).tolist()):
        lo, hi = int(indptr[node]), int(indptr[node + 1])
        whole = sum(exact[lo:hi]) if totals is None else totals[at]
        # A probability below the smallest float is still one.
        weight[lo:hi] = [num / whole or SMALLEST for num in exact[lo:hi]]
    return exact, weight
