"""The grid of the counters of a game: axes, points, and what is said to those who leave it.

Every counter is an axis; a point of the grid is a value of each.  Points are numbered in C order, so
the last counter runs fastest.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeAlias, TypeVar, cast

import attrs
import numpy as np

from mdpdice.errors import CounterRangeError, GameError, UnknownStateError

S = TypeVar("S")

Outside: TypeAlias = Literal["error", "clip", "forbid"]
"""What happens where an update would leave the values of a counter."""


@attrs.frozen
class Axis:
    """The values of one counter of a game."""

    name: str
    values: range  # with n boxes, flags have the values 0 to 2**n - 1; bit i is box i
    start: int
    outside: Outside = "error"
    boxes: tuple[str, ...] = ()  # names of the boxes of flags; empty for other counters

    def positions(self, wanted: Any) -> Any:
        """Positions of new values, an int64 array; -1 where a value is forbidden, -2 where it is an error.

        A value between two values of the range is an error whatever lies outside it.
        """
        values = self.values
        away = (wanted - values.start) if values.step > 0 else (values.start - wanted)
        at, between = np.divmod(away, abs(values.step))
        before, behind = away < 0, away > abs(values[-1] - values.start)
        at = np.where(between != 0, -2, at)
        if self.outside == "clip":
            return np.where(before, 0, np.where(behind, len(values) - 1, at))
        return np.where(before | behind, -1 if self.outside == "forbid" else -2, at)

    def place(self, wanted: int) -> int | None:
        """Return the value that the counter takes where it would become `wanted`; None: it is forbidden."""
        values = self.values
        if wanted in values:
            return wanted
        away = (wanted - values.start) if values.step > 0 else (values.start - wanted)
        before, behind = away < 0, away > abs(values[-1] - values.start)
        if not (before or behind) or self.outside == "error":
            raise range_error(self, wanted)
        return None if self.outside == "forbid" else values[0] if before else values[-1]


def range_error(axis: Axis, wanted: int) -> CounterRangeError:
    """Return the error for a counter that would become `wanted`."""
    values = axis.values
    if axis.outside != "error" or min(values[0], values[-1]) <= wanted <= max(values[0], values[-1]):
        remedy = f"which is between two of its values, {values}; change the step or the update"
    elif axis.boxes:
        remedy = f"outside its values, {values}; set it to flags of as many boxes"
    else:
        remedy = f"outside its values, {values}; widen them, or declare outside='clip' or outside='forbid'"
    return CounterRangeError(f"counter {axis.name!r} would become {wanted}, {remedy}", value=wanted, limit=values)


def forbidden_error(axis: Axis, wanted: int) -> CounterRangeError:
    """Return the error for a forbidden update of an edge that is not an option, and so cannot be removed."""
    why = "outside='forbid' removes options, and this edge is not an option of a decision"
    how = "choose with when(condition, edge, edge), or declare outside='clip'"
    msg = f"counter {axis.name!r} would become {wanted}, outside its values, {axis.values}; {why}: {how}"
    return CounterRangeError(msg, value=wanted, limit=axis.values)


def unknown_counter_error(name: str, known: Iterable[Axis]) -> GameError:
    """Return the error for an update of a counter that the game does not have."""
    names = ", ".join(axis.name for axis in known) or "none"
    msg = f"the game has no counter {name!r}; its counters are: {names}. Use self.{name} of the game itself"
    return GameError(msg, value=name)


@attrs.frozen(init=False, repr=False)
class At(Generic[S]):
    """A full state of a game with counters: ``At("play", points=350)``.

    Parameters
    ----------
    state : object
        State of the core, as `Game.node` takes it.
    **counters : int
        Value of every counter; of flags, the number whose bit i is box i.
    """

    state: S
    _names: tuple[str, ...]
    _values: tuple[int, ...]

    def __init__(self, state: S, /, **counters: int) -> None:
        names = tuple(sorted(counters))
        object.__setattr__(self, "state", state)
        object.__setattr__(self, "_names", names)
        object.__setattr__(self, "_values", tuple(operator.index(counters[name]) for name in names))

    @property
    def counters(self) -> Mapping[str, int]:
        """Values of the counters by name."""
        return MappingProxyType(dict(zip(self._names, self._values, strict=True)))

    def point(self, axes: tuple[Axis, ...]) -> int:
        """Index of the counters' values in the grid of these axes, in C order; an `UnknownStateError` if none."""
        counters = dict(zip(self._names, self._values, strict=True))
        index = 0
        for axis in axes:
            if (value := counters.pop(axis.name, None)) is None or value not in axis.values:
                full_state(self, axes)
                msg = f"{self!r} is not a state of this game: {axis.name} has the values {axis.values}"
                raise UnknownStateError(msg, value=self)
            index = index * len(axis.values) + axis.values.index(value)
        if counters:
            full_state(self, axes)
        return index

    def __repr__(self) -> str:
        counters = (f"{name}={value}" for name, value in zip(self._names, self._values, strict=True))
        return f"At({', '.join([repr(self.state), *counters])})"


def full_state(state: object, axes: Iterable[Axis]) -> At[Any]:
    """Return a state with a value for each counter; else raise an UnknownStateError that shows the form."""
    if why := misfit(state, [axis.name for axis in axes]):
        raise UnknownStateError(why, value=state)
    return cast("At[Any]", state)


def misfit(state: object, names: Iterable[str]) -> str | None:
    """Return why something is not a full state of a game with these counters, and the form; None if it is one."""
    known = list(names)
    if not isinstance(state, At):
        why = f"state {state!r} has no counter values"
    else:
        given = state.counters
        lacking = [name for name in known if name not in given]
        unknown = [name for name in given if name not in known]
        if not lacking and not unknown:
            return None
        parts = []
        for name in unknown:
            near = difflib.get_close_matches(name, lacking, n=1)
            parts.append(f"there is no counter {name!r}" + (f", did you mean {near[0]!r}" if near else ""))
        if not unknown:
            parts.append(f"it lacks {' and '.join(lacking)}")
        why = f"{state!r} is not a state of this game: {'; '.join(parts)}"
    form = ", ".join(["core", *(f"{name}=..." for name in known)])
    return f"{why}; a state of this game is At({form})"
