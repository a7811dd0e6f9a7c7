"""Counters: score-like parts of a state, declared beside the game instead of inside its states.

A counter is a class attribute of a game, without annotation: ``points = Counter(lambda game: range(game.cap + 6))``.
On a game object it stands for its value, as an expression, and makes updates: ``self.points >= self.cap`` is a
condition, and ``go(state, self.points.add(k))`` an edge along which the counter rises.  The game's `node` describes the
core, here one state.  Its full state is an `At`: a core state and a value of every counter.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self, overload

import attrs

from mdpdice.errors import GameError
from mdpdice.modelling.asking import ask, assigned_counter
from mdpdice.modelling.expressions import BOOL, INT, Expr, as_expr, flag_operation
from mdpdice.modelling.grid import (
    At,
    Axis,
    Outside,
    forbidden_error,
    full_state,
    misfit,
    range_error,
    unknown_counter_error,
)
from mdpdice.modelling.number import whole_number

if TYPE_CHECKING:
    from mdpdice.modelling.game import Game

__all__ = [
    "At", "Axis", "Counter", "CounterValue", "Flags", "FlagsValue", "Update", "axes", "forbidden_error",
    "full_state", "misfit", "range_error", "unknown_counter_error",
]  # fmt: skip

_LARGEST = 1 << 62  # values, and sums of two of them, stay within int64
_MOST_BOXES = 62


class Update:
    """A counter's new value, as an expression of the old values; made by the counter's methods.

    Updates of one edge are simultaneous: each is computed from the counters as they were before all of them.
    """

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Expr) -> None:
        self.name = name
        self.value = value

    @property
    def key(self) -> tuple[Any, ...]:
        """Structure, hashable."""
        return (self.name, self.value.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Update) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"{self.name}.set({self.value!r})"


class CounterValue(Expr):
    """The value of a counter, as an expression; ``self.points`` in a game."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__("counter", (name,), INT)
        self.name = name

    def set(self, value: Any) -> Update:
        """Give the counter a value, a whole number."""
        return _update(self.name, as_expr(value))

    def add(self, value: Any) -> Update:
        """Add to the counter; a negative number is taken away."""
        return _update(self.name, self + value)


def _update(name: str, value: Expr) -> Update:
    if value.kind > INT:
        msg = f"counter {name!r} would become {value!r}, and counters are whole numbers; count in a smaller unit"
        raise GameError(msg, value=value)
    return Update(name, value + 0 if value.kind == BOOL else value)


class FlagsValue(Expr):
    """The boxes that are set, as an expression; ``self.used`` in a game with ``used = Flags(n)``."""

    __slots__ = ("boxes", "name")

    def __init__(self, name: str, boxes: tuple[str, ...]) -> None:
        super().__init__("counter", (name,), INT)
        self.name = name
        self.boxes = boxes

    def __getitem__(self, box: object) -> Expr:
        return flag_operation("any", self, self._mask((box,)))

    def __contains__(self, box: object) -> bool:
        raise self._refusal("has no members while a game is declared", f"write {self!r}[{box!r}]")

    def has(self, *boxes: int | str) -> Expr:
        """Whether all these boxes are set."""
        return flag_operation("has", self, self._mask(boxes))

    def any(self, *boxes: int | str) -> Expr:
        """Whether one of these boxes is set; without arguments, whether any is."""
        return flag_operation("any", self, self._mask(boxes or self.boxes))

    def count(self, among: Iterable[int | str] | None = None) -> Expr:
        """Count the boxes that are set, among some or among all."""
        return flag_operation("count", self, self._mask(self.boxes if among is None else among))

    def add(self, *boxes: int | str) -> Update:
        """Set boxes; those that are set already stay set."""
        return Update(self.name, flag_operation("with", self, self._mask(boxes)))

    def remove(self, *boxes: int | str) -> Update:
        """Clear boxes; those that are clear already stay clear."""
        return Update(self.name, flag_operation("without", self, self._mask(boxes)))

    def set(self, value: Iterable[int | str] | Expr) -> Update:
        """Set exactly these boxes, by number or name, or those of an expression: the flags of the other player, say."""
        if isinstance(value, Expr):
            return _update(self.name, value)
        return Update(self.name, as_expr(self._mask(value)))

    def _truth(self) -> tuple[str, str]:
        return f"{self!r}.any()", f"~{self!r}.any()"

    def _mask(self, boxes: Iterable[Any]) -> int:
        mask = 0
        if isinstance(boxes, int | str) or not isinstance(boxes, Iterable):
            raise GameError(f"{self!r}: {boxes!r} is not a collection of boxes", value=boxes)
        for box in boxes:
            if isinstance(box, Expr):
                raise GameError(f"{self!r}[{box!r}]: a box is named by a number; choose boxes with when()", value=box)
            try:
                at = self.boxes.index(box) if isinstance(box, str) else operator.index(box)
            except (TypeError, ValueError):
                at = -1
            if not 0 <= at < len(self.boxes):
                named = "" if self.boxes[0] == "0" else f", by name {', '.join(self.boxes)}"
                msg = f"{self!r} has no box {box!r}; its boxes are 0 to {len(self.boxes) - 1}{named}"
                raise GameError(msg, value=box, limit=len(self.boxes))
            mask |= 1 << at
        return mask


class _Declaration:
    """What `Counter` and `Flags` share: the name, and what is said to those who use it without a game."""

    def __init__(self) -> None:
        self.name: str | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        # A slotted attrs class is made twice, and passes on its attributes both times.  A second
        # name is found by `axes`, since an error raised here would reach the user wrapped in another.
        if self.name is None:
            self.name = name

    def __set__(self, instance: object, value: object) -> NoReturn:
        raise GameError(f"self.{self.name} is assigned to; {assigned_counter(self._ready(), value)}", value=value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def axis(self, game: Any) -> Axis:
        raise NotImplementedError

    def _ready(self) -> str:
        if self.name is None:
            raise GameError("a counter is a class attribute of a game, without annotation; it has its value there only")
        return self.name

    def _misused(self, *_: object, **__: object) -> NoReturn:
        name = self.name or "name"
        how = f"write it without annotation, {name} = {type(self).__name__}(...), and use self.{name} inside node()"
        raise GameError(f"the declaration of counter {name!r} is used as if it were its value; {how}", value=self)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = _misused
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __getitem__ = __iter__ = __index__ = _misused
    __and__ = __or__ = __invert__ = _misused
    set = add = remove = has = any = count = _misused


class Counter(_Declaration):
    """A whole number that a game counts, beside its states.

    Parameters
    ----------
    values : range, or callable of the game that gives one
        The values that it may take; any step will do.
    start : int, or callable of the game that gives one, optional
        Where it starts; by default at the first of the values.
    outside : {"error", "clip", "forbid"}
        What happens where an update would leave the values: a `CounterRangeError`; the nearest
        of them (at the ends of the range); or the option is not available.

    Raises
    ------
    GameError
        Later, with the game: no range, an empty one, or a start outside it.
    """

    def __init__(
        self,
        values: range | Callable[[Any], range],
        *,
        start: int | Callable[[Any], int] | None = None,
        outside: Outside = "error",
    ) -> None:
        super().__init__()
        if outside not in ("error", "clip", "forbid"):
            raise GameError(f"outside={outside!r}; choose 'error', 'clip' or 'forbid'", value=outside)
        if not isinstance(values, range) and not callable(values):
            raise GameError(f"Counter({values!r}): give it a range, or a function of the game", value=values)
        self._values = values
        self._start = start
        self._outside: Outside = outside
        self._expr: CounterValue | None = None

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> CounterValue: ...
    def __get__(self, instance: object | None, owner: type) -> Self | CounterValue:
        if instance is None:
            return self
        if self._expr is None:
            self._expr = CounterValue(self._ready())
        return self._expr

    def axis(self, game: Any) -> Axis:
        """Values of the counter in a game."""
        name = self._ready()
        values = _ask(self._values, game, name, "values")
        if not isinstance(values, range):
            raise GameError(f"the values of counter {name!r} are {values!r}; they must be a range", value=values)
        if not values:
            raise GameError(f"counter {name!r} has no values: {values} is empty", value=values)
        if max(abs(values[0]), abs(values[-1])) > _LARGEST:
            raise GameError(f"counter {name!r} is beyond 2**62; count in a larger unit", value=values, limit=_LARGEST)
        start = values[0] if self._start is None else _ask(self._start, game, name, "start")
        if (first := whole_number(start)) is None:
            raise GameError(f"counter {name!r} starts at {start!r}, which is not a whole number", value=start)
        if first not in values:
            msg = f"counter {name!r} starts at {first}, outside its values {values}"
            raise GameError(msg, value=first, limit=values)
        return Axis(name, values, first, self._outside)


class Flags(_Declaration):
    """A set of boxes that are used or free, such as the lines of a score sheet; at the start all are free.

    Parameters
    ----------
    boxes : int, or sequence of str, or callable of the game that gives one
        Number of boxes, from 1 to 62, or their names, which are shown and read where a state is written.
        They are numbered from 0.
    """

    def __init__(self, boxes: int | Sequence[str] | Callable[[Any], int | Sequence[str]]) -> None:
        super().__init__()
        self._boxes = boxes
        self._exprs: dict[tuple[str, ...], FlagsValue] = {}

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> FlagsValue: ...
    def __get__(self, instance: object | None, owner: type) -> Self | FlagsValue:
        if instance is None:
            return self
        if self._exprs and not callable(self._boxes):
            return next(iter(self._exprs.values()))
        boxes = self._names(instance)
        if (found := self._exprs.get(boxes)) is None:
            found = self._exprs[boxes] = FlagsValue(self._ready(), boxes)
        return found

    def _names(self, game: Any) -> tuple[str, ...]:
        name = self._ready()
        given = _ask(self._boxes, game, name, "number of boxes")
        if isinstance(given, tuple | list) and all(isinstance(box, str) for box in given):
            boxes, count = tuple(given), len(set(given))
            if count < len(boxes):
                raise GameError(f"flags {name!r} have two boxes of one name: {boxes}", value=given)
        else:
            count = whole_number(given) or 0
            boxes = tuple(map(str, range(min(count, _MOST_BOXES))))
        if not 1 <= count <= _MOST_BOXES:
            msg = f"flags {name!r} have {given!r} boxes; they may have 1 to {_MOST_BOXES}, or a tuple of their names"
            raise GameError(msg, value=given, limit=_MOST_BOXES)
        return boxes

    def axis(self, game: Any) -> Axis:
        """Values of the flags in a game: the numbers whose bits are the boxes."""
        boxes = self._names(game)
        return Axis(self._ready(), range(1 << len(boxes)), 0, boxes=boxes)


def _ask(value: Any, game: Any, name: str, what: str) -> Any:
    """Return a number or range that may depend on the game."""
    return ask(value, game, what=f"the {what} of counter {name!r}") if callable(value) else value


def axes(game: Game[Any, Any]) -> tuple[Axis, ...]:
    """Counters of a game, in the order of their declaration, those of base classes first."""
    found: dict[str, object] = {}
    kind = type(game)
    for cls in reversed(kind.__mro__):
        for name, member in vars(cls).items():
            if isinstance(member, _Declaration) or name in found:
                found[name] = member
    for field in attrs.fields(kind) if attrs.has(kind) else ():
        if isinstance(getattr(game, field.name, None), _Declaration):
            raise GameError(f"counter {field.name!r} has an annotation; write {field.name} = Counter(...) without one")
    declared = {name: member for name, member in found.items() if isinstance(member, _Declaration)}
    for name, declaration in declared.items():
        if declaration.name != name:
            raise GameError(f"one counter has two names, {declaration.name!r} and {name!r}; declare two", value=name)
    return tuple(declaration.axis(game) for declaration in declared.values())
