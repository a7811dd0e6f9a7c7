"""Rows of probabilities in files: their sums, checked where the line is still known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from mdpdice.formats.line_reader import Number, Reader
from mdpdice.networks.network import Ints


def check_rows(
    reader: Reader, branch_ptr: Ints, probability: Sequence[Number], line_of: Sequence[int | None], *, tolerance: float
) -> list[Number]:
    """Probabilities whose rows sum to 1, scaled where they were off by no more than `tolerance`.

    A row that is empty or off by more is a `CorruptFileError`, with its line from `line_of`, where there are lines.
    """
    found = list(probability)
    ends = branch_ptr.tolist()
    for choice, line in enumerate(line_of):
        row = found[ends[choice] : ends[choice + 1]]
        if len(row) == 1 and row[0] == 1:
            continue
        total = math.fsum(row)
        off = abs(total - 1)
        if not row or not off <= tolerance:
            what = f"the probabilities of this choice sum to {total:.12g}, not 1"
            more = "a file of few digits can be read with a larger tolerance="
            raise reader.corrupt("probability", f"{what}; {more}", line)
        # What is off by rounding alone is left to `Network.from_choices`, which records it.
        exact = all(not isinstance(p, float) for p in row)
        whole = sum((Fraction(p) for p in row), Fraction(0)) if exact or off > 1e-9 else Fraction(1)
        if whole != 1:
            found[ends[choice] : ends[choice + 1]] = [Fraction(p) / whole for p in row]
    return found
