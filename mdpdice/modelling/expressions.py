"""Expressions over counters: conditions, updates, rewards and payoffs as data.

``self.points + 50 < self.cap`` is not computed while a game is declared, since a counter has no
value then.  It becomes an `Expr`, which is evaluated later: at one point of the grid, or at a whole
numpy array of points at once.  Both give the same numbers.  Ints and Fractions are computed exactly
(an array that would leave int64 is an error, never a wrong number), floats as float64.

Expressions are immutable data.  Since ``==`` builds an expression too, structure is compared by
`Expr.key`; and since a condition is no truth value, ``if``, ``and``, ``min``, dictionaries and
``range`` are refused with what to write instead.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from mdpdice.errors import GameError
from mdpdice.modelling.expression_text import expression_text, negation_text
from mdpdice.modelling.number import is_own, own_number
from mdpdice.modelling.rational_arrays import COMPARISONS, Column, combine

Scalar: TypeAlias = int | float | Fraction
"""A number that may stand in an expression; bool is an int."""

# What an expression gives, ordered so that the kind of an operation is the largest one of its parts.
BOOL, INT, RATIONAL, FLOAT = range(4)
TYPES: tuple[type[Any], ...] = (bool, int, Fraction, float)

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip

# Flags are ints whose bit i is box i; the second operand is the mask of some boxes.
FLAG_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "has": lambda flags, mask: flags & mask == mask,
    "any": lambda flags, mask: flags & mask != 0,
    "count": lambda flags, mask: (flags & mask).bit_count(),
    "with": lambda flags, mask: flags | mask,
    "without": lambda flags, mask: flags & ~mask,
}

_KINDS: dict[type, int] = {bool: BOOL, int: INT, Fraction: RATIONAL, float: FLOAT}
# Answers whether a condition holds, for who follows all ways through a function.
_DECIDE: ContextVar[Callable[[Expr], bool] | None] = ContextVar("_DECIDE", default=None)
_DEEPEST = 200  # nested operations; sums and the like are flat, however long


class Expr:
    """A number or condition that depends on counters.

    It is built by the counters of a game and by operators, not by its class: ``+ - *``, ``//`` and
    ``%`` by a positive int, comparisons, ``& | ~`` on conditions, and `least`, `most`, `table`.

    Attributes
    ----------
    op : str
        The operation: ``"constant"``, ``"counter"``, an operator, or a function's name.
    args : tuple
        What it is applied to: expressions, or the value of a constant, the name of a counter.
    """

    __slots__ = ("_key", "_names", "args", "depth", "kind", "op")
    __array_ufunc__ = None  # numpy numbers on the left leave the operation to this class

    def __init__(self, op: str, args: tuple[Any, ...], kind: int, depth: int = 1) -> None:
        if depth > _DEEPEST:
            raise GameError(f"an expression is nested more than {_DEEPEST} deep; write it as a table(sequence, index)")
        self.op = op
        self.args = args
        self.kind = kind
        self.depth = depth
        self._key: tuple[Any, ...] | None = None
        self._names: frozenset[str] | None = None

    # --- what it is ---------------------------------------------------------

    @property
    def key(self) -> tuple[Any, ...]:
        """Structure as a hashable nested tuple: equal for equal expressions, and for no others."""
        if self._key is None:
            if self.op == "constant":
                # 1, True and 1.0 are equal in Python.
                self._key = (TYPES[self.kind].__name__, self.args[0])
            elif self.op == "table":
                self._key = ("table", TYPES[self.kind].__name__, self.args[0], self.args[1].key)
            else:
                self._key = (self.op, *(arg.key if isinstance(arg, Expr) else arg for arg in self.args))
        return self._key

    @property
    def names(self) -> frozenset[str]:
        """Names of the counters that it depends on."""
        if self._names is None:
            if self.op == "counter":
                self._names = frozenset(self.args)
            else:
                self._names = frozenset().union(*(part.names for part in self._parts()))
        return self._names

    @property
    def integral(self) -> bool:
        """Whether all numbers in it are ints and bools."""
        return self.kind <= INT and all(part.integral for part in self._parts())

    @property
    def boolean(self) -> bool:
        """Whether it is a condition, which is true or false."""
        return self.kind == BOOL

    @property
    def value(self) -> Scalar | None:
        """The number of a constant; None for anything else."""
        return self.args[0] if self.op == "constant" else None

    def _parts(self) -> Iterator[Expr]:
        return (arg for arg in self.args if isinstance(arg, Expr))

    def __format__(self, spec: str) -> str:
        if spec:
            return format(str(self), spec)
        msg = f'{self!r} has no value while a game is declared; write a text with counters as a tuple: ("at", {self!r})'
        raise GameError(msg, value=self)

    # --- operators ----------------------------------------------------------

    def __add__(self, other: object) -> Expr:
        return _arithmetic("+", self, as_expr(other))

    def __radd__(self, other: object) -> Expr:
        return _arithmetic("+", as_expr(other), self)

    def __sub__(self, other: object) -> Expr:
        return _arithmetic("-", self, as_expr(other))

    def __rsub__(self, other: object) -> Expr:
        return _arithmetic("-", as_expr(other), self)

    def __mul__(self, other: object) -> Expr:
        return _arithmetic("*", self, as_expr(other))

    def __rmul__(self, other: object) -> Expr:
        return _arithmetic("*", as_expr(other), self)

    def __floordiv__(self, other: object) -> Expr:
        return _divide("//", self, other)

    def __mod__(self, other: object) -> Expr:
        return _divide("%", self, other)

    def __truediv__(self, other: object) -> Expr:
        raise GameError(f"({self!r}) / {other!r}: write * Fraction(1, n), or // and % for whole numbers", value=other)

    def __neg__(self) -> Expr:
        if self.op == "constant":
            return constant(-self.args[0])
        return Expr("neg", (self,), max(INT, self.kind), self.depth + 1)

    def __pos__(self) -> Expr:
        return self

    def __lt__(self, other: object) -> Expr:
        return _compare("<", self, as_expr(other))

    def __le__(self, other: object) -> Expr:
        return _compare("<=", self, as_expr(other))

    def __gt__(self, other: object) -> Expr:
        return _compare(">", self, as_expr(other))

    def __ge__(self, other: object) -> Expr:
        return _compare(">=", self, as_expr(other))

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]  # an expression, as numpy gives an array
        return _compare("==", self, as_expr(other))

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return _compare("!=", self, as_expr(other))

    def __and__(self, other: object) -> Expr:
        return _logic("&", self, as_expr(other))

    def __rand__(self, other: object) -> Expr:
        return _logic("&", as_expr(other), self)

    def __or__(self, other: object) -> Expr:
        return _logic("|", self, as_expr(other))

    def __ror__(self, other: object) -> Expr:
        return _logic("|", as_expr(other), self)

    def __invert__(self) -> Expr:
        _need_condition("~", self)
        if self.op == "constant":
            return constant(not self.args[0])
        return self.args[0] if self.op == "~" else Expr("~", (self,), BOOL, self.depth + 1)

    # --- what Python would do with a value ----------------------------------

    def __bool__(self) -> bool:
        if (decide := _DECIDE.get()) is not None:
            return decide(self if self.boolean else self != 0)
        # Python does not tell whether `if`, `not`, `and` or `min` asks.
        holds, fails = self._truth()
        remedy = f"write when({holds}, then, otherwise) for `if`, {fails} for `not`, & and | for `and` and `or` with "
        remedy += "parentheses as in (a < b) & (b < c), least and most for min and max"
        raise self._refusal("is neither true nor false while a game is declared", remedy)

    def _truth(self) -> tuple[str, str]:
        """Return what to write for the condition that Python would make of it, and for its opposite."""
        return (str(self) if self.boolean else f"{self!r} != 0"), negation_text(self)

    def __hash__(self) -> int:
        remedy = "change counters with go(state, self.name.set(...)), choose by when(), look up table(sequence, index)"
        raise self._refusal("cannot be part of a state or action, a key, or a member of a set", remedy)

    def __iter__(self) -> Iterator[Any]:
        raise self._refusal("has no parts to go through", "use least, most, table, or flags[i] for one box")

    def __getitem__(self, index: object) -> Expr:
        raise self._refusal("has no parts", "only Flags have: flags[i]; table(list, index) is list[index]")

    def __index__(self) -> int:
        remedy = "write table(list, index) instead of list[index]"
        raise self._refusal("is not a number while a game is declared", remedy)

    def _refusal(self, why: str, remedy: str) -> GameError:
        return GameError(f"the expression {self!r} {why}; {remedy}", value=self)

    def __reduce__(self) -> Any:
        raise TypeError("expressions are not pickled; they belong to the game that declares them")

    # --- text ---------------------------------------------------------------

    def __repr__(self) -> str:
        if _DECIDE.get() is not None:
            # Who makes a text of a number and compares that cannot be followed, and is asked about real numbers then.
            raise GameError("a counter has no text while all ways through a function are followed")
        return expression_text(self)

    # --- values -------------------------------------------------------------

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """Value at one point, or at many.

        Parameters
        ----------
        values : mapping of str to int or int64 array
            Values of the counters in it, by name; others may be there too.

        Returns
        -------
        bool, int, Fraction or float, or an array
            As soon as one value is an array, an array of the common shape: bool for a condition,
            int64 for whole numbers (exact), float64 (the nearest) otherwise.
        """
        if all(type(value) is int for value in values.values()):
            return _value_at(self, values)
        if not any(isinstance(value, np.ndarray) for value in values.values()):
            return _value_at(self, {name: operator.index(value) for name, value in values.items()})
        result, defined = self.evaluate_where_defined(values)
        if not defined.all():
            at = tuple(int(axis[0]) for axis in np.nonzero(~defined))
            point = {name: int(np.broadcast_to(values[name], defined.shape)[at]) for name in self.names}
            _value_at(self, point)  # raises, with the number that has no entry
        return result

    def evaluate_where_defined(self, values: Mapping[str, Any]) -> tuple[Any, Any]:
        """Values at many points, and where they are defined: a `table` may have no entry.

        Conditions are read from left to right: ``(i < 6) & (table(t, i) > 0)`` is defined, and false, where `i` is 6.
        """
        shape = np.broadcast_shapes(*(np.shape(value) for value in values.values()))
        column = _column_of(self, {name: Column.of(value) for name, value in values.items() if name in self.names})
        defined: Any = True if column.defined is None else column.defined
        data = column.data if self.kind <= INT else column.floats()
        return np.broadcast_to(data, shape).copy(), np.broadcast_to(defined, shape)


@contextmanager
def truth_of_conditions(decide: Callable[[Expr], bool]) -> Iterator[None]:
    """Let `decide` say whether a condition holds where Python asks; outside of this it is an error to ask."""
    token = _DECIDE.set(decide)
    try:
        yield
    finally:
        _DECIDE.reset(token)


def flag_operation(op: str, flags: Expr, mask: int) -> Expr:
    """One of ``has``, ``any``, ``count``, ``with`` and ``without``, of flags and the mask of some boxes."""
    return Expr(op, (flags, mask), BOOL if op in ("has", "any") else INT, flags.depth + 1)


def constant(value: Scalar) -> Expr:
    """Return the expression that is always `value`, a finite number."""
    kind = _KINDS.get(type(value))
    if kind is None or (kind == RATIONAL and not is_own(value)):
        if isinstance(value, np.bool_):
            return constant(bool(value))
        try:
            # A text may be a payoff, and is nothing to add to.
            return constant(own_number(None if isinstance(value, str) else value, "number"))
        except GameError as error:
            raise GameError(f"{value!r} is not a number; use int, Fraction, float or counters", value=value) from error
    if kind == FLOAT and not math.isfinite(value):
        raise GameError(f"{value!r} in an expression; numbers are finite", value=value)
    # A sum with 0 has no negative zero: 0.0 and -0.0 are equal, so they are to be one expression.
    return Expr("constant", (value + 0.0 if kind == FLOAT else value,), kind)


def as_expr(value: Any) -> Expr:
    """`value` itself if it is an expression, else the constant of that number."""
    if type(value) is int:
        return Expr("constant", (value,), INT)
    return value if isinstance(value, Expr) else constant(value)


def least(*values: Any) -> Expr:
    """Return the smallest of some numbers and expressions: `min`, for expressions.

    Parameters
    ----------
    *values : number or Expr
        At least one.
    """
    return _extreme("least", values)


def most(*values: Any) -> Expr:
    """Return the largest of some numbers and expressions: `max`, for expressions.

    Parameters
    ----------
    *values : number or Expr
        At least one.
    """
    return _extreme("most", values)


def table(sequence: Sequence[Scalar] | Iterable[Scalar], index: Any) -> Expr:
    """``sequence[index]`` for an index that is an expression.

    Parameters
    ----------
    sequence : sequence of int, Fraction or float
        The entries; if one is a float, all are read as floats.
    index : Expr or int
        From 0 to ``len(sequence) - 1``, checked where it is evaluated.  A condition counts as 0 or 1.

    Raises
    ------
    GameError
        The sequence is empty or holds something else, or the index is not a whole number.
    """
    if isinstance(sequence, Expr | str | Mapping | set | frozenset) or not isinstance(sequence, Iterable):
        raise GameError(f"table() takes a list or tuple of numbers and an index, not {sequence!r}", value=sequence)
    at = as_expr(index)
    if at.kind > INT:
        raise GameError(f"the index of table() is {at!r}, which is not a whole number; use // to divide", value=index)
    if not (entries := [constant(entry) for entry in sequence]):
        raise GameError("table() of an empty sequence has nothing to look up", value=sequence)
    kind = max(entry.kind for entry in entries)
    values = tuple(TYPES[kind](entry.args[0]) for entry in entries)
    if at.op == "constant" and 0 <= at.args[0] < len(values):
        return Expr("constant", (values[at.args[0]],), kind)
    return Expr("table", (values, at), kind, at.depth + 1)


# --- building ------------------------------------------------------------------------------------


def _arithmetic(op: str, first: Expr, second: Expr) -> Expr:
    fixed = second.op == "constant"
    if first.op == "constant":
        if fixed:
            return constant(ARITHMETIC[op](first.args[0], second.args[0]))
        neutral = op != "-" and first.args[0] == (0 if op == "+" else 1)
        if neutral and first.kind == INT and second.kind >= INT:
            return second
    elif fixed and second.kind == INT and first.kind >= INT:
        number = second.args[0]
        if number == (1 if op == "*" else 0):
            return first
        last = first.args[-1]
        if op == first.op == "+" and first.kind < FLOAT and last.op == "constant" and last.kind == INT:
            return Expr("+", (*first.args[:-1], constant(last.args[0] + number)), first.kind, first.depth)
    kind = max(INT, first.kind, second.kind)
    if first.op == op and op != "-":
        # Long sums stay flat.  They are added from left to right, as they are written.
        return Expr(op, (*first.args, second), kind, max(first.depth, second.depth + 1))
    return Expr(op, (first, second), kind, max(first.depth, second.depth) + 1)


def _divide(op: str, first: Expr, divisor: Any) -> Expr:
    by = as_expr(divisor)
    if by.kind > INT or by.op != "constant" or by.args[0] <= 0 or first.kind > INT:
        raise GameError(f"({first!r}) {op} {by!r}: a whole number is divided by a positive int only", value=divisor)
    if first.op == "constant":
        return constant(ARITHMETIC[op](first.args[0], by.args[0]))
    return Expr(op, (first, by), INT, first.depth + 1)


def _compare(op: str, first: Expr, second: Expr) -> Expr:
    if first.op == "constant" and second.op == "constant":
        return constant(COMPARISONS[op](first.args[0], second.args[0]))
    if first.op == "constant":
        first, second, op = second, first, _MIRROR[op]
    if second.op == "constant" and second.kind > INT and first.kind < FLOAT:
        # Python compares numbers of different types exactly, so a float counts as the rational that it is.
        number = Fraction(second.args[0])
        if number.denominator == 1:
            second = constant(number.numerator)
        elif first.kind == RATIONAL:
            second = constant(number)
        elif op in ("==", "!="):
            return constant(op == "!=")
        else:
            # A whole number is below 5/2 exactly if it is at most 2.
            op = "<=" if op in ("<", "<=") else ">="
            second = constant(math.floor(number) if op == "<=" else math.ceil(number))
    return Expr(op, (first, second), BOOL, max(first.depth, second.depth) + 1)


_MIRROR = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def _logic(op: str, first: Expr, second: Expr) -> Expr:
    _need_condition(op, first)
    _need_condition(op, second)
    decisive = op == "|"  # the truth value that settles the matter
    for one, other in ((first, second), (second, first)):
        if one.op == "constant":
            return one if one.args[0] is decisive else other
    if first.op == op:
        return Expr(op, (*first.args, second), BOOL, max(first.depth, second.depth + 1))
    return Expr(op, (first, second), BOOL, max(first.depth, second.depth) + 1)


def _need_condition(op: str, expr: Expr) -> None:
    if expr.kind != BOOL:
        raise GameError(f"{op} joins conditions, and {expr!r} is a number; write (a < b) & (b < c)", value=expr)


def _extreme(op: str, values: tuple[Any, ...]) -> Expr:
    if len(values) == 1 and isinstance(values[0], list | tuple):
        raise GameError(f"{op}() takes the numbers themselves: write {op}(*values)", value=values)
    if not (parts := tuple(map(as_expr, values))):
        raise GameError(f"{op}() of nothing; give it at least one number")
    kind = max(INT, *(part.kind for part in parts))
    if all(part.op == "constant" for part in parts):
        numbers = [part.args[0] for part in parts]
        return constant(TYPES[kind](min(numbers) if op == "least" else max(numbers)))
    if len(parts) == 1:
        return parts[0]
    return Expr(op, parts, kind, 1 + max(part.depth for part in parts))


# --- values --------------------------------------------------------------------------------------


def _value_at(expr: Expr, values: Mapping[str, int]) -> Any:
    """Value at one point: bool, int, Fraction or float; see `Expr.evaluate`."""
    op, args = expr.op, expr.args
    if op == "constant":
        return args[0]
    if op == "counter":
        return _look_up(values, args[0])
    if op == "&":
        return all(_value_at(arg, values) for arg in args)
    if op == "|":
        return any(_value_at(arg, values) for arg in args)
    if op == "table":
        entries, index = args
        at = _value_at(index, values)
        if not 0 <= at < len(entries):
            msg = f"{expr!r} has entries 0 to {len(entries) - 1}, and none for {index!r} = {at}"
            raise GameError(msg, value=at, limit=len(entries))
        return entries[at]
    first = _value_at(args[0], values)
    if op in COMPARISONS:
        return COMPARISONS[op](first, _value_at(args[1], values))
    if op in ARITHMETIC:
        for arg in args[1:]:
            first = ARITHMETIC[op](first, _value_at(arg, values))
        return first
    if op in FLAG_OPERATIONS:
        return FLAG_OPERATIONS[op](first, args[1])
    if op == "neg":
        return -first
    if op == "~":
        return not first
    choose = min if op == "least" else max
    return TYPES[expr.kind](choose([first, *(_value_at(arg, values) for arg in args[1:])]))


def _column_of(expr: Expr, values: Mapping[str, Column]) -> Column:
    """Values at many points, and where they are defined."""
    op, args = expr.op, expr.args
    try:
        if op == "constant":
            return Column.constant(args[0])
        if op == "counter":
            column: Column = _look_up(values, args[0])
            return column
        if op == "table":
            return Column.table(args[0], _column_of(args[1], values))
        if op in FLAG_OPERATIONS:
            return _column_of(args[0], values).flags(op, args[1])
        return combine(op, [_column_of(arg, values) for arg in args])
    except OverflowError as error:
        raise GameError(f"{expr!r} takes values beyond 2**63 in size; count in a larger unit") from error


def _look_up(values: Mapping[str, Any], name: str) -> Any:
    try:
        return values[name]
    except KeyError:
        raise GameError(f"counter {name!r} has no value here; use those of the game itself", value=name) from None
