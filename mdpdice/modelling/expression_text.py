"""Expressions over counters as text, as a user would write them in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdpdice.modelling.rational_arrays import COMPARISONS

if TYPE_CHECKING:
    from mdpdice.modelling.expressions import Expr

_SHOWN = 12  # entries of a table in a repr

# How tightly an operation binds in Python: comparisons least, so they need parentheses inside & and |.
_PRECEDENCE = dict.fromkeys(COMPARISONS, 1) | {"|": 2, "&": 3, "+": 4, "-": 4, "*": 5, "//": 5, "%": 5}
_PRECEDENCE |= {"~": 6, "neg": 6}
_ATOM = 7

_FLAG_TEXT = {
    "has": ".has({})", "any": ".any({})", "count": ".count(among=[{}])", "with": ".add({})", "without": ".remove({})",
}  # fmt: skip


def expression_text(expr: Expr) -> str:
    """Text of an expression, with the parentheses that it needs and no others."""
    return _text(expr, 0)


def negation_text(expr: Expr) -> str:
    """Text of the condition that holds where this one does not; of a number, where it is 0."""
    if not expr.boolean:
        return f"{_text(expr, 2)} == 0"
    return _text(expr.args[0], 0) if expr.op == "~" else f"~{_text(expr, _PRECEDENCE['~'])}"


def _text(expr: Expr, outer: int) -> str:
    """Text as a user would write it, in parentheses if the operation around it binds more tightly."""
    op, args = expr.op, expr.args
    inner = _PRECEDENCE.get(op, _ATOM)
    if op in COMPARISONS:
        text = f"{_text(args[0], inner + 1)} {op} {_text(args[1], inner + 1)}"
    elif op in ("~", "neg"):
        text = f"{'~' if op == '~' else '-'}{_text(args[0], inner)}"
    elif inner < _ATOM:
        first, *others = args
        text = f" {op} ".join([_text(first, inner), *(_text(arg, inner + 1) for arg in others)])
    elif op == "constant":
        text = repr(args[0])
        inner = _PRECEDENCE["neg"] if text.startswith("-") else _ATOM
    elif op == "counter":
        text = args[0]
    elif op == "table":
        entries = ", ".join(map(repr, args[0][:_SHOWN]))
        more = f", ... {len(args[0])} entries" if len(args[0]) > _SHOWN else ""
        text = f"table([{entries}{more}], {args[1]!r})"
    elif op in _FLAG_TEXT:
        boxes = [box for box in range(args[1].bit_length()) if args[1] >> box & 1]
        form = "[{}]" if op == "any" and len(boxes) == 1 else _FLAG_TEXT[op]
        text = repr(args[0]) + form.format(", ".join(map(str, boxes)))
    else:
        text = f"{op}({', '.join(map(repr, args))})"
    return text if inner >= outer else f"({text})"
