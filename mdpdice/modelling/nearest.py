"""Floats of exact numbers, which keep their signs: what is not 0 never becomes it."""

from __future__ import annotations

from fractions import Fraction

SMALLEST = 5e-324
"""The smallest float above 0."""


def nearest(number: Fraction | float) -> float:
    """Round to the nearest float; to the smallest one of the same sign where that would be 0.

    Searches of a graph ask floats for signs alone, so a reward of 10^-400 is a reward to them.
    """
    return float(number) or (SMALLEST if number > 0 else -SMALLEST if number < 0 else 0.0)
