"""The arrays of a network: what a node is, the types of their elements, that nobody writes to them, and their order."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from mdpdice.modelling.nearest import nearest

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
T = TypeVar("T")
Matrix: TypeAlias = "csr_array[Any, tuple[int, int]]"

ULP = 2.0**-52
"""Distance from 1 to the next float."""


class Kind(enum.IntEnum):
    """What a node is; the values are those of `Network.kind`."""

    END = 0
    MAX = 1
    MIN = 2
    CHANCE = 3


COMPILE_FROM_EDGES = 20_000
"""Edges from which a network is made and checked in compiled loops instead of whole arrays, once numba is loaded."""
IMPORT_NUMBA_FROM_EDGES = 1_000_000
"""Edges from which numba is imported for these loops, which takes about a second."""
TWO_THREADS_FROM_EDGES = 2_000_000
"""Edges from which two threads share these loops."""


def compiled(edges: int) -> bool:
    """Return whether to go through this many edges in a compiled loop (`mdpdice.networks.kernels`)."""
    return edges >= (COMPILE_FROM_EDGES if "numba" in sys.modules else IMPORT_NUMBA_FROM_EDGES)


def in_pieces(loop: Callable[[int, int], T], count: int, edges: int) -> list[T]:
    """Call a compiled loop for pieces of `count` nodes, from one to another, which two threads share if it pays."""
    if edges < TWO_THREADS_FROM_EDGES:
        return [loop(0, count)]
    from concurrent.futures import ThreadPoolExecutor

    cuts = [count * piece // 8 for piece in range(9)]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(loop, cuts[:-1], cuts[1:]))


def read_only(values: Any, dtype: Any = None) -> Any:
    """Make an array contiguous and read-only, as compiled loops need it; copy only where it must be copied."""
    array = np.array(values, dtype=dtype, order="C", copy=None)
    if array.flags.writeable:
        # A caller may still hold a writeable view of what it passed; a private view is enough
        # against accidents, and `digest` finds the rest.
        array = array.view()
        array.flags.writeable = False
    return array


# attrs converters; type checkers want them to be plain functions.
def read_only_bytes(values: Any) -> NDArray[np.uint8]:
    """Return a read-only array of uint8."""
    return cast("NDArray[np.uint8]", read_only(values, np.uint8))


def read_only_signs(values: Any) -> NDArray[np.int8]:
    """Return a read-only array of int8."""
    return cast("NDArray[np.int8]", read_only(values, np.int8))


def read_only_ints(values: Any) -> Ints:
    """Return a read-only array of int64."""
    return cast("Ints", read_only(values, np.int64))


def read_only_floats(values: Any) -> Floats:
    """Return a read-only array of float64."""
    return cast("Floats", read_only(values, np.float64))


def read_only_bools(values: Any) -> Bools:
    """Return a read-only array of bool."""
    return cast("Bools", read_only(values, np.bool_))


def moved_numbers(exact: Mapping[int, Fraction], old: Ints) -> dict[int, Fraction]:
    """Exact numbers under their new positions: what stands at `at` stood at ``old[at]``."""
    if not exact:
        return {}
    return {at: exact[i] for at, i in enumerate(old.tolist()) if i in exact}


def split_exact(size: int, values: Mapping[int, Any]) -> tuple[Floats, dict[int, Fraction]]:
    """Make an array of floats with some numbers in it, 0 elsewhere, and list those that the floats do not equal."""
    result = np.zeros(size)
    exact = {}
    for at, value in values.items():
        result[at] = near = nearest(value)
        # Python compares a float with an int or a Fraction exactly.
        if near != value:
            exact[at] = Fraction(value)
    return result, exact
