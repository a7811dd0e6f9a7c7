"""Whether some number in the states found so far only rises or falls, so that exploring may never end."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from mdpdice.modelling.text import ITSELF, fields_of

SLICES, SAMPLES = 64, 40
"""Slices that the states are cut into in the order in which they were found, and states of each that are looked at."""


def runaway(states: Sequence[Any]) -> str | None:
    """Say which number in the states only rises or falls, slice by slice; None if there is none.

    Its least and its largest value in a slice both move on from each slice to the next.  A number that counts
    towards an end (such as the turn) does so too, but in few steps: most states of such a game are found in
    the last ones.
    """
    size = len(states) // SLICES
    step = max(1, size // SAMPLES)
    rows = [[fields_of(one) for one in states[first : first + size : step]] for first in range(0, SLICES * size, size)]
    for name, value in rows[0][0].items():
        if not _counts(value) or not all(_counts(fields.get(name)) for row in rows for fields in row):
            continue
        low = [min(fields[name] for fields in row) for row in rows]
        high = [max(fields[name] for fields in row) for row in rows]
        what = "the state" if name == ITSELF else f"the field {name!r}"
        if all(a < b for ends in (low, high) for a, b in pairwise(ends)):
            return f"{what} only rises, from {low[0]!r} to {high[-1]!r}"
        if all(a > b for ends in (low, high) for a, b in pairwise(ends)):
            return f"{what} only falls, from {high[0]!r} to {low[-1]!r}"
    return None


def _counts(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
