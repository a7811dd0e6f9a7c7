"""The door for numbers: what enters becomes one of Python's own, or is refused.

Numbers of numpy wrap around, round when they are compared, and hide inside a `fractions.Fraction`, where a wrong
answer would look exact.  So nothing behind this door knows them.
"""

from __future__ import annotations

import math
import numbers
import operator
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from mdpdice.errors import GameError, RewardNotFiniteError, UnsupportedError
from mdpdice.modelling.ranges import discount_error

_SAFE = 1 << 53
_UNLIMITED = 1 << 62
_LONGEST = 5000
"""Largest decimal exponent: a power of ten beyond it takes minutes to compute, and no float comes near."""
_EXPONENT = re.compile(r"[eE]([-+]?\d+)\s*\Z")


def is_own(value: Any) -> bool:
    """Whether a number is an int, float or Fraction of Python's own through and through."""
    kind = type(value)
    if kind is Fraction:
        return type(value.numerator) is type(value.denominator) is int
    return kind is int or kind is float


def own_number(value: Any, what: str) -> int | float | Fraction:
    """Return a number, or a text such as "1/3", as one of Python's own, exactly; NaN and infinity are floats."""
    if is_own(value):
        return value  # type: ignore[no-any-return]
    try:
        return _own(value)
    except (TypeError, ValueError, ArithmeticError) as error:
        msg = f'the {what} is {value!r}, which is not a number; write an int, float, Fraction, Decimal or text "p/q"'
        raise GameError(msg, value=value) from error


def _own(value: Any) -> int | float | Fraction:
    if isinstance(value, np.timedelta64):  # an integer, says numpy
        raise TypeError
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, str):
        return _read(value)
    if isinstance(value, numbers.Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Decimal):
        if value.is_finite() and abs(value.adjusted()) > _LONGEST:
            raise OverflowError
        return Fraction(value) if value.is_finite() else float(value)
    if isinstance(value, np.floating):  # the only scalar of numpy whose item() is of numpy, too
        return Fraction(*map(int, value.as_integer_ratio())) if np.isfinite(value) else float(value)
    raise TypeError


def _read(text: str) -> float | Fraction:
    if (exponent := _EXPONENT.search(text)) is not None and abs(int(exponent[1])) > _LONGEST:
        raise OverflowError
    try:
        return Fraction(text)
    except ValueError:
        return float(text)  # "nan" and "inf" are refused where numbers are finite


def finite_number(value: Any, what: str) -> int | float | Fraction:
    """Return a number as one of Python's own, no larger than a float can be; else a RewardNotFiniteError."""
    kind = type(value)
    if (kind is int and -_SAFE < value < _SAFE) or (kind is float and -math.inf < value < math.inf):
        return value  # type: ignore[no-any-return]
    number = own_number(value, what)
    try:
        finite = math.isfinite(number)
    except OverflowError as error:
        raise RewardNotFiniteError(f"the {what} is larger than every float; use a larger unit", value=number) from error
    if not finite:
        msg = f"the {what} is {number!r}; infinite values are found by the solver, not declared"
        raise RewardNotFiniteError(msg, value=number)
    return number


def exact_discount(value: Any) -> Fraction:
    """Return the discount of a game."""
    try:
        return Fraction(finite_number(value, "discount"))
    except RewardNotFiniteError as error:
        raise discount_error(value) from error


def whole_number(value: Any) -> int | None:
    """Return a whole number as an int of Python; None where it is none, as a bool is."""
    if isinstance(value, bool | np.bool_):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def size(value: Any, what: str) -> float:
    """Return a tolerance or a time as a float: at least 0, maybe infinite."""
    number = _not_negative(value, what)
    try:
        return float(number)
    except OverflowError:
        return math.inf


def count(value: Any, what: str) -> int:
    """Return a limit of what is counted as an int: the whole part of a number of at least 0."""
    return int(min(_not_negative(value, what), _UNLIMITED))


def _not_negative(value: Any, what: str) -> int | float | Fraction:
    number = own_number(value, what)
    if not number >= 0:  # written so that NaN is refused
        raise GameError(f"{what}={value!r}: it is a number of at least 0", value=value)
    return number


def nearest_floats(values: Iterable[int | float | Fraction]) -> list[float]:
    """Return the floats next to some values; an UnsupportedError where one is larger than every float."""
    try:
        return [float(number) for number in values]
    except OverflowError as error:
        raise too_large_error() from error


def too_large_error() -> UnsupportedError:
    """Return the error for a value that is larger than every float, although all that is declared is smaller."""
    return UnsupportedError("the value is too large for a float; measure rewards in larger units")
