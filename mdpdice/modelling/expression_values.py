"""Values of an expression: at one point with Python's own numbers, or at many points with arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mdpdice.errors import GameError
from mdpdice.modelling.rational_arrays import COMPARISONS, Column, combine

if TYPE_CHECKING:
    from mdpdice.modelling.expressions import Expr

__all__ = [
    "ARITHMETIC", "BOOL", "COMPARISONS", "FLAG_OPERATIONS", "FLOAT", "INT", "RATIONAL", "TYPES", "column_of",
    "value_at",
]  # fmt: skip

# What an expression gives, ordered so that the kind of an operation is the largest one of its parts.
BOOL, INT, RATIONAL, FLOAT = range(4)
TYPES: tuple[Callable[[Any], Any], ...] = (bool, int, Fraction, float)

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}

# Flags are ints whose bit i is box i; the second operand is the mask of some boxes.
FLAG_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "has": lambda flags, mask: flags & mask == mask,
    "any": lambda flags, mask: flags & mask != 0,
    "count": lambda flags, mask: (flags & mask).bit_count(),
    "with": lambda flags, mask: flags | mask,
    "without": lambda flags, mask: flags & ~mask,
}


def value_at(expr: Expr, values: Mapping[str, int]) -> Any:
    """Value at one point: bool, int, Fraction or float; see `mdpdice.modelling.expressions.Expr.evaluate`."""
    op, args = expr.op, expr.args
    if op == "constant":
        return args[0]
    if op == "counter":
        return _look_up(values, args[0])
    if op == "&":
        return all(value_at(arg, values) for arg in args)
    if op == "|":
        return any(value_at(arg, values) for arg in args)
    if op == "table":
        entries, index = args
        at = value_at(index, values)
        if not 0 <= at < len(entries):
            msg = f"{expr!r} has entries 0 to {len(entries) - 1}, and none for {index!r} = {at}"
            raise GameError(msg, value=at, limit=len(entries))
        return entries[at]
    first = value_at(args[0], values)
    if op in COMPARISONS:
        return COMPARISONS[op](first, value_at(args[1], values))
    if op in ARITHMETIC:
        for arg in args[1:]:
            first = ARITHMETIC[op](first, value_at(arg, values))
        return first
    if op in FLAG_OPERATIONS:
        return FLAG_OPERATIONS[op](first, args[1])
    if op == "neg":
        return -first
    if op == "~":
        return not first
    choose = min if op == "least" else max
    return TYPES[expr.kind](choose([first, *(value_at(arg, values) for arg in args[1:])]))


def column_of(expr: Expr, values: Mapping[str, Column]) -> Column:
    """Values at many points, and where they are defined."""
    op, args = expr.op, expr.args
    try:
        if op == "constant":
            return Column.constant(args[0])
        if op == "counter":
            column: Column = _look_up(values, args[0])
            return column
        if op == "table":
            return Column.table(args[0], column_of(args[1], values))
        if op in FLAG_OPERATIONS:
            return column_of(args[0], values).flags(op, args[1])
        return combine(op, [column_of(arg, values) for arg in args])
    except OverflowError as error:
        raise GameError(f"{expr!r} takes values beyond 2**63 in size; count in a larger unit") from error


def _look_up(values: Mapping[str, Any], name: str) -> Any:
    try:
        return values[name]
    except KeyError:
        msg = f"counter {name!r} has no value here; an expression may use the counters of its own game only"
        raise GameError(msg, value=name) from None
