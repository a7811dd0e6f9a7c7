"""Discounts and horizons: their text, and what is said to those who leave their range."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from mdpdice.errors import DiscountRangeError, HorizonRangeError

_SHORT = 12  # digits and stroke of a fraction that people read


def number_text(number: Fraction | float) -> str:
    """Text of a number for people; a float that was made exact is shown as it was written, as 0.9."""
    exact = Fraction(number)
    if len(text := str(exact)) <= _SHORT:
        return text
    try:
        nearest = float(exact)
    except OverflowError:
        return f"about {'-' * (exact < 0)}1e{len(str(abs(int(exact)))) - 1}"
    return repr(nearest) if Fraction(nearest) == exact else f"about {nearest!r}"


def discount_error(value: Any, *, shown: str | None = None) -> DiscountRangeError:
    """Return the error for a discount outside (0, 1]; `shown` is how it was given, if not as its value shows."""
    if shown is None:
        shown = number_text(value) if isinstance(value, Fraction) else repr(value)
    remedy = "it is the factor for every decision, such as 0.95 or Fraction(95, 100)"
    if isinstance(value, int | float | Fraction) and 2 <= value <= 100:
        remedy = f"{shown} % is {float(value) / 100:.10g}"
    return DiscountRangeError(f"discount {shown} is outside (0, 1]; {remedy}", value=value)


def horizon_error(value: Any) -> HorizonRangeError:
    """Return the error for a horizon that is not a number of decisions."""
    return HorizonRangeError(f"horizon {value!r} is not a number of decisions (0, 1, 2, ...)", value=value)
