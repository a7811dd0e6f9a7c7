"""What a function of the state does, for all values of the counters at once.

The function is called with a state whose counters are expressions.  Where it asks whether a condition holds (``if``,
``and``, ``min``), both answers are tried, one call for each way through it.  So ``lambda at: "hold" if
at.counters["turn"] >= 20 else "roll"`` becomes two actions with a condition each, and nobody has to ask about every
point of a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from mdpdice.modelling.counters import At, CounterValue
from mdpdice.modelling.expressions import Expr, as_expr, truth_of_conditions
from mdpdice.modelling.grid import Axis

MOST_WAYS = 256
"""Ways through a function that are followed before it is asked point by point."""


class _Symbolic(At[Any]):
    """A state whose counters are expressions."""

    def __init__(self, state: Any, counters: Mapping[str, Expr]) -> None:
        object.__setattr__(self, "state", state)
        object.__setattr__(self, "_symbols", MappingProxyType(dict(counters)))

    @property
    def counters(self) -> Any:
        return self._symbols  # type: ignore[attr-defined]  # set past the frozen class

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, At) or self.state != other.state or set(self.counters) != set(other.counters):
            return False
        equal = as_expr(value=True)
        for name, value in other.counters.items():
            equal = equal & (self.counters[name] == value)
        return equal

    __hash__ = None  # type: ignore[assignment]  # its counters have no values


def ways_through(function: Callable[[Any], Any], core: Any, axes: tuple[Axis, ...]) -> list[tuple[Expr, Any]] | None:
    """Every way through a function of the state: the condition under which it is taken, and what comes out.

    The conditions exclude each other and leave nothing out. None where the function does something with a counter that
    cannot be written as an expression, or has too many ways.
    """
    state = _Symbolic(core, {axis.name: CounterValue(axis.name) for axis in axes})
    found: list[tuple[Expr, Any]] = []
    todo: list[tuple[bool, ...]] = [()]
    while todo:
        begin = todo.pop()
        asked: list[tuple[Expr, bool]] = []

        def answer(condition: Expr, begin: tuple[bool, ...] = begin, asked: Any = asked) -> bool:
            for known, holds in asked:
                if known.key == condition.key:
                    return bool(holds)
            holds = begin[len(asked)] if len(asked) < len(begin) else True
            if len(asked) >= len(begin):
                todo.append((*(earlier for _, earlier in asked), False))
            asked.append((condition, holds))
            return holds

        try:
            with truth_of_conditions(answer):
                out = function(state)
        except Exception:  # noqa: BLE001 - whatever it is, the function is asked about real states then
            return None
        if len(found) + len(todo) > MOST_WAYS:
            return None
        condition = as_expr(value=True)
        for part, holds in asked:
            condition = condition & (part if holds else ~part)
        found.append((condition, out))
    return found
