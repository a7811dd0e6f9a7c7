"""Arrays of whole numbers as text: differences, byte by byte, compressed."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def squeezed(data: bytes) -> str:
    """Bytes as compressed text."""
    # The highest level would take five times as long for one hundredth less.
    return base64.b64encode(zlib.compress(data, 7)).decode()


def packed(numbers: Sequence[int] | NDArray[Any]) -> list[Any]:
    """Whole numbers below 2**53 in size: how many, bytes of each, and the text of their differences.

    Differences are folded (0, -1, 1, -2, ... become 0, 1, 2, 3, ...), and all their lowest bytes come first.
    """
    steps: Any = np.diff(np.asarray(numbers, dtype=np.int64), prepend=0)
    return packed_steps(steps)


def packed_steps(steps: NDArray[np.int64]) -> list[Any]:
    """Return what `packed` makes of the numbers that have these differences."""
    folded = ((steps << 1) ^ (steps >> 63)).astype("<u8")
    width = max(1, (int(folded.max(initial=0)).bit_length() + 7) // 8)
    planes = np.ascontiguousarray(folded.view(np.uint8).reshape(-1, 8)[:, :width].T)
    return [len(folded), width, squeezed(planes.tobytes())]


def packed_bits(marks: NDArray[np.bool_]) -> list[Any]:
    """Pack marks, eight to a byte, the first one lowest."""
    return [marks.size, 0, squeezed(np.packbits(marks.ravel(), bitorder="little").tobytes())]
