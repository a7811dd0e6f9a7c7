"""Arrays of exact rationals over one denominator, and of floats: the values of an expression.

A `Column` holds the value of an expression at many points: numerators in int64 over one common
denominator, with bounds that are carried along like intervals, so that leaving int64 is noticed
before it happens; or float64 as soon as a float takes part.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np

from mdpdice.modelling.nearest import nearest

_LIMIT = 1 << 63
_FLOAT_EXACT = 1 << 53  # whole numbers up to here are floats

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


class Column:
    """Values at many points.

    Numerators, truth values or floats are in `data`, of the shape of the points or of one that broadcasts to it;
    `denominator` is 0 for floats. `lower` and `upper` are bounds of the numerators that need not be attained. `defined`
    is None where all values exist.
    """

    __slots__ = ("data", "defined", "denominator", "lower", "upper")

    def __init__(self, data: Any, denominator: int = 1, lower: int = 0, upper: int = 1, defined: Any = None) -> None:
        if not -_LIMIT < lower <= upper < _LIMIT:
            raise OverflowError("values leave the range of int64")
        # Numbers are made after their bounds were looked at, since numpy wraps around silently.
        self.data: Any = data() if callable(data) else data
        self.denominator = denominator
        self.lower = lower
        self.upper = upper
        self.defined = defined

    @classmethod
    def of(cls, values: Any) -> Column:
        """Values of a counter: ints."""
        array = np.asarray(values)
        if array.dtype.kind not in "iub":
            array = np.array([operator.index(value) for value in array.ravel().tolist()]).reshape(array.shape)
        if array.size == 0:
            return cls(array.astype(np.int64))
        return cls(lambda: array.astype(np.int64), 1, int(array.min()), int(array.max()))

    @classmethod
    def constant(cls, value: Any) -> Column:
        """One number everywhere."""
        if isinstance(value, bool):
            return cls(np.array(value))
        if isinstance(value, float):
            return cls(np.array(value), 0)
        exact = Fraction(value)
        numerator = exact.numerator
        return cls(lambda: np.array(numerator, dtype=np.int64), exact.denominator, numerator, numerator)

    @classmethod
    def table(cls, entries: Sequence[Any], index: Column) -> Column:
        """``entries[index]``, defined where the index is in range."""
        at = index.data.astype(np.int64)
        inside = (at >= 0) & (at < len(entries))
        defined = _both(index.defined, None if inside.all() else inside)
        at = np.clip(at, 0, len(entries) - 1)
        if isinstance(entries[0], bool):
            return cls(np.array(entries)[at], defined=defined)
        if isinstance(entries[0], float):
            return cls(np.array(entries)[at], 0, defined=defined)
        common, low, high, made = _numerators(tuple(entries))
        return cls(lambda: made()[at], common, low, high, defined)

    def flags(self, op: str, mask: int) -> Column:
        """Return an operation on sets of boxes, which are the bits of the numbers."""
        chosen = self.data & mask
        if op == "has":
            return Column(chosen == mask, defined=self.defined)
        if op == "any":
            return Column(chosen != 0, defined=self.defined)
        if op == "count":
            return Column(np.bitwise_count(chosen).astype(np.int64), 1, 0, mask.bit_count(), self.defined)
        bound = (1 << max(self.upper.bit_length(), mask.bit_length())) - 1
        data = self.data | mask if op == "with" else self.data & ~mask
        return Column(data, 1, 0, bound, self.defined)

    def over(self, denominator: int) -> Column:
        """Return the same values over a multiple of the denominator."""
        factor = denominator // self.denominator
        if factor == 1:
            return self
        bounds = (self.lower * factor, self.upper * factor)
        return Column(lambda: self.whole() * factor, denominator, *bounds, self.defined)

    def whole(self) -> Any:
        """Numerators as int64."""
        return self.data.astype(np.int64) if self.data.dtype == np.bool_ else self.data

    def converts(self) -> bool:
        """Whether the values are floats, or whole numbers that are."""
        size = max(-self.lower, self.upper)
        return self.denominator == 0 or (self.denominator == 1 and size <= _FLOAT_EXACT)

    def floats(self) -> Any:
        """Return the nearest floats."""
        if self.denominator == 0:
            return self.data
        if self.denominator == 1:
            return self.data.astype(np.float64)
        if max(-self.lower, self.upper, self.denominator) <= _FLOAT_EXACT:
            return self.data / self.denominator
        whole = self.denominator
        flat = [part / whole or nearest(Fraction(part, whole)) for part in self.data.ravel().tolist()]
        return np.array(flat).reshape(self.data.shape)

    def objects(self) -> Any:
        """Python's numbers."""
        if self.denominator <= 1:
            # numpy's operations give scalars for arrays without a dimension, and those would stay numpy's.
            return np.asarray(self.data).astype(object)
        flat = np.empty(self.data.size, dtype=object)
        flat[:] = [Fraction(part, self.denominator) for part in np.asarray(self.data).ravel().tolist()]
        return flat.reshape(self.data.shape)


_UFUNCS: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.remainder,
    "least": np.minimum, "most": np.maximum,
}  # fmt: skip


@lru_cache(maxsize=64)
def _numerators(entries: tuple[Any, ...]) -> tuple[int, int, int, Callable[[], Any]]:
    """Return a common denominator of rationals, the least and the largest numerator, and who makes their array.

    A table that is looked up again and again, at some points at a time, is turned into an array once.
    """
    common = math.lcm(*(Fraction(entry).denominator for entry in entries))
    numerators = [int(entry * common) for entry in entries]
    return common, min(numerators), max(numerators), cache(lambda: np.array(numerators, dtype=np.int64))


def combine(op: str, columns: Sequence[Column]) -> Column:
    """Return the value of an operation; an OverflowError where the numbers would leave int64."""
    if op in ("&", "|"):
        return _logic(op, columns)
    result = columns[0]
    if op == "~":
        return Column(~result.data, defined=result.defined)
    if op == "neg":
        if result.denominator == 0:
            return Column(-result.data, 0, defined=result.defined)
        return _arithmetic("-", Column(np.array(0), 1, 0, 0), result)
    if op in COMPARISONS:
        return _compare(op, result, columns[1])
    for column in columns[1:]:
        result = _arithmetic(op, result, column)
    return result


def _logic(op: str, columns: Sequence[Column]) -> Column:
    """Conditions from left to right: what comes after the decisive one need not be defined."""
    decisive = op == "|"
    value, defined = columns[0].data, columns[0].defined
    for column in columns[1:]:
        if column.defined is not None:
            defined = _both(defined, (value if decisive else ~value) | column.defined)
        value = value | column.data if decisive else value & column.data
    return Column(value, defined=defined)


def _arithmetic(op: str, first: Column, second: Column) -> Column:
    defined = _both(first.defined, second.defined)
    if first.denominator == 0 or second.denominator == 0:
        with np.errstate(over="ignore", invalid="ignore"):
            return Column(_UFUNCS[op](first.floats(), second.floats()), 0, defined=defined)
    denominator = first.denominator * second.denominator
    if op not in ("*", "//", "%"):
        denominator = math.lcm(first.denominator, second.denominator)
        first, second = first.over(denominator), second.over(denominator)
    a, b, c, d = first.lower, first.upper, second.lower, second.upper
    match op:
        case "+":
            bounds = (a + c, b + d)
        case "-":
            bounds = (a - d, b - c)
        case "*":
            corners = (a * c, a * d, b * c, b * d)
            bounds = (min(corners), max(corners))
        case "//":  # by a positive constant, as in the next case
            bounds = (a // c, b // c)
        case "%":
            bounds = (0, c - 1)
        case "least":
            bounds = (min(a, c), min(b, d))
        case _:
            bounds = (max(a, c), max(b, d))
    return Column(lambda: _UFUNCS[op](first.whole(), second.whole()), denominator, *bounds, defined)


def _compare(op: str, first: Column, second: Column) -> Column:
    defined = _both(first.defined, second.defined)
    if first.denominator and second.denominator:
        common = math.lcm(first.denominator, second.denominator)
        first, second = first.over(common), second.over(common)
        return Column(COMPARISONS[op](first.whole(), second.whole()), defined=defined)
    if first.converts() and second.converts():
        return Column(COMPARISONS[op](first.floats(), second.floats()), defined=defined)
    # An exact number beside a float, and not a float itself: compared one by one, as Python does.
    lefts, rights = np.broadcast_arrays(first.objects(), second.objects())
    pairs = zip(lefts.ravel(), rights.ravel(), strict=True)
    data = np.array([COMPARISONS[op](left, right) for left, right in pairs], dtype=bool)
    return Column(data.reshape(lefts.shape), defined=defined)


def _both(first: Any, second: Any) -> Any:
    if first is None:
        return second
    return first if second is None else first & second
