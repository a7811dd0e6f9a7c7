"""Expressions over counters as text of the PRISM language.

A counter is an int variable of its own name; of flags every box is a bool variable, since the language has no
operations on bits.  Tables become nested choices ``i<=3 ? 7 : 9``, found by bisection, so that they nest no
deeper than the logarithm of their length.  What is a condition in one place and a number in another is written
``(condition ? 1 : 0)``.

Whole numbers mean the same as here.  Expressions with fractions and floats are computed by whoever reads the
program: exactly by PRISM's and Storm's exact engines, in doubles by the others.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from mdpdice.formats.line_reader import number_text
from mdpdice.modelling.expressions import BOOL, Expr
from mdpdice.modelling.grid import Axis

_WORDS = """
A C E F G I M P Pmax Pmin R Rmax Rmin S T U W X bool ceil clock const cos ctmc ctmdp double dtmc endinit endinvariant
endmodule endobservables endplayer endrewards endsystem exp false filter floor forall formula func global init int
invariant label log ma max mdp min mod module nondeterministic observable observables of player pomdp popta pow prob
probabilistic pta rate rewards round sin smg stochastic system tan true
"""
_KEYWORDS = frozenset(_WORDS.split())

# How tightly an operation binds, loosest first.
CHOICE, OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, ATOM = range(9)
_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "least": min, "most": max,
}  # fmt: skip
_RELATIONS = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "==": "=", "!=": "!="}


class Names:
    """Names of variables and formulas: words of the language and each other's names are avoided."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def new(self, wanted: str) -> str:
        """Return a name as near as possible to the one that is wanted."""
        name = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        while name in self._taken or name in _KEYWORDS or not re.match(r"[A-Za-z_]", name):
            name += "_"
        self._taken.add(name)
        return name


class Texts:
    """Texts of the expressions over some counters.

    `variable` has the name of every counter, `box` the names of the boxes of every counter that is flags.
    """

    def __init__(self, axes: Sequence[Axis], names: Names) -> None:
        self.axes = {axis.name: axis for axis in axes}
        self.variable = {axis.name: names.new(axis.name) for axis in axes if not axis.boxes}
        self.box = {
            axis.name: [names.new(f"{axis.name}_{at}") for at in range(len(axis.values).bit_length() - 1)]
            for axis in axes
            if axis.boxes
        }

    def values(self, counters: Mapping[str, int]) -> dict[str, int | bool]:
        """Values of the variables where the counters have these."""
        found: dict[str, int | bool] = {}
        for name, value in counters.items():
            if name in self.variable:
                found[self.variable[name]] = value
            else:
                found |= {box: bool(value >> at & 1) for at, box in enumerate(self.box[name])}
        return found

    def condition(self, expr: Expr, within: int = CHOICE) -> str:
        """Return a condition, in parentheses where an operation that binds as tightly as `within` is around it."""
        return _inside(self._condition(expr), within)

    def number(self, expr: Expr, within: int = CHOICE) -> str:
        """Return a number, conditions as 0 and 1."""
        return _inside(self._number(expr), within)

    def bit(self, expr: Expr, at: int) -> str:
        """Return the condition that a bit of a whole number is set."""
        op, args = expr.op, expr.args
        if op == "constant":
            return _truth(bool(args[0] >> at & 1))
        if op == "counter" and args[0] in self.box:
            boxes = self.box[args[0]]
            return boxes[at] if at < len(boxes) else "false"
        if op in ("with", "without") and args[1] >> at & 1:
            return _truth(op == "with")
        if op in ("with", "without"):
            return self.bit(args[0], at)
        number = f"floor({self.number(expr, ATOM)}/{1 << at})" if at else self.number(expr)
        return f"mod({number}, 2) = 1"

    # --- conditions ---------------------------------------------------------

    def _condition(self, expr: Expr) -> tuple[str, int]:
        op, args = expr.op, expr.args
        if op == "constant":
            return _truth(bool(args[0])), ATOM
        if op == "~":
            return f"!{self.condition(args[0], ATOM)}", NOT
        if op in ("&", "|"):
            level = AND if op == "&" else OR
            return f" {op} ".join(self.condition(arg, level + 1) for arg in args), level
        if op in _RELATIONS:
            left, right = (self.number(arg, SUM) for arg in args)
            return f"{left} {_RELATIONS[op]} {right}", COMPARISON
        if op in ("has", "any"):
            if len(boxes := [self.bit(args[0], at) for at in _bits(args[1])]) == 1:
                return boxes[0], ATOM
            if not boxes:
                return _truth(op == "has"), ATOM
            return (" & " if op == "has" else " | ").join(boxes), AND if op == "has" else OR
        assert op == "table"
        return self._table(args[0], args[1], lambda entry: _truth(bool(entry)))

    # --- numbers ------------------------------------------------------------

    def _number(self, expr: Expr) -> tuple[str, int]:
        op, args = expr.op, expr.args
        if expr.kind == BOOL:
            if op == "constant":
                return str(int(args[0])), ATOM
            return f"({self.condition(expr, OR)} ? 1 : 0)", ATOM
        if op == "constant":
            return _constant(args[0])
        if op == "counter":
            if args[0] in self.variable:
                return self.variable[args[0]], ATOM
            return self._mask([(name, 1 << at) for at, name in enumerate(self.box[args[0]])])
        if op == "count":
            return self._mask([(self.bit(args[0], at), 1) for at in _bits(args[1])])
        if op in ("with", "without"):
            boxes = self.box[args[0].args[0]]
            return self._mask([(self.bit(expr, at), 1 << at) for at in range(len(boxes))])
        if op == "neg":
            return f"-{self.number(args[0], ATOM)}", SIGN
        if op in ("+", "-", "*"):
            return self._sum_or_product(op, args)
        if op in ("//", "%"):
            return self._division(op, *args)
        if op == "table":
            return self._table(args[0], args[1], lambda entry: _inside(_constant(entry), OR))
        assert op in ("least", "most")
        name = "min" if op == "least" else "max"
        text = self.number(args[-1])
        for arg in reversed(args[:-1]):  # two at a time: not every reader takes more
            text = f"{name}({self.number(arg)}, {text})"
        return text, ATOM

    def _sum_or_product(self, op: str, args: tuple[Expr, ...]) -> tuple[str, int]:
        level = PRODUCT if op == "*" else SUM
        text = self.number(args[0], level)
        for arg in args[1:]:
            value = arg.value
            if op == "+" and value is not None and value < 0:
                text += f" - {_inside(_constant(-value), level + 1)}"
            else:
                text += f" {op} {self.number(arg, level + 1)}"
        return text, level

    def _division(self, op: str, first: Expr, divisor: Expr) -> tuple[str, int]:
        by = divisor.args[0]
        if op == "//":
            return f"floor({self.number(first, PRODUCT)}/{by})", ATOM
        # The remainder of a negative number is negative to some readers.
        low = bounds(first, self.axes)[0]
        text = f"mod({self.number(first)}, {by})"
        return (text if low >= 0 else f"mod({text} + {by}, {by})"), ATOM

    def _mask(self, parts: list[tuple[str, int]]) -> tuple[str, int]:
        """Return the sum of some numbers, each of which counts where its condition holds."""
        texts = [f"({condition} ? {value} : 0)" for condition, value in parts if condition != "false"]
        if not texts:
            return "0", ATOM
        return " + ".join(texts), SUM if len(texts) > 1 else ATOM

    def _table(self, entries: tuple[Any, ...], index: Expr, write: Any) -> tuple[str, int]:
        """Return a choice between runs of equal entries."""
        at = self.number(index, SUM)
        runs: list[tuple[int, Any]] = []  # last index and entry
        for last, entry in enumerate(entries):
            if runs and runs[-1][1] == entry:
                runs.pop()
            runs.append((last, entry))

        def between(low: int, high: int) -> str:
            if high - low == 1:
                return str(write(runs[low][1]))
            middle = (low + high) // 2
            return f"({at} <= {runs[middle - 1][0]} ? {between(low, middle)} : {between(middle, high)})"

        return between(0, len(runs)), ATOM


def bounds(expr: Expr, axes: dict[str, Axis]) -> tuple[Any, Any]:
    """Numbers between which a whole number or fraction lies, not always the closest ones; `axes` are by name."""
    op, args = expr.op, expr.args
    if op == "constant":
        return args[0], args[0]
    if expr.kind == BOOL:
        return 0, 1
    if op == "counter":
        values = axes[args[0]].values
        return min(values[0], values[-1]), max(values[0], values[-1])
    if op == "count":
        return 0, args[1].bit_count()
    if op in ("with", "without"):
        return bounds(args[0], axes)
    if op == "table":
        return min(args[0]), max(args[0])
    low, high = bounds(args[0], axes)
    if op == "neg":
        return -high, -low
    if op == "//":
        return low // args[1].args[0], high // args[1].args[0]
    if op == "%":
        return 0, args[1].args[0] - 1
    for arg in args[1:]:
        corners = [_FOLDS[op](one, other) for one in (low, high) for other in bounds(arg, axes)]
        low, high = min(corners), max(corners)
    return low, high


def _inside(text: tuple[str, int], within: int) -> str:
    return text[0] if text[1] >= within else f"({text[0]})"


def _constant(value: Any) -> tuple[str, int]:
    text = number_text(Fraction(value), exact=True)
    if "/" in text:
        return text, SUM if text.startswith("-") else PRODUCT
    return text, SIGN if text.startswith("-") else ATOM


def _truth(value: bool) -> str:
    return "true" if value else "false"


def _bits(mask: int) -> list[int]:
    return [at for at in range(mask.bit_length()) if mask >> at & 1]
