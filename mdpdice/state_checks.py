"""What a state may be, and telling apart states that Python calls equal."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from enum import Enum
from typing import Any

import attrs

from mdpdice.errors import GameError, StateCollisionError
from mdpdice.game import Option

__all__ = ["check_state", "collision_error", "same_types", "unhashable_error"]


def same_types(known: Any, state: Any) -> bool:
    """Whether two equal states are of the same types, all the way down.

    The work of `mdpdice.dist.same_kind`, arranged for speed: it runs once per edge of the model.
    """
    kind = type(known)
    if kind is not type(state):
        return False
    if kind is int or kind is str:
        return True
    if kind is tuple:
        parts, others = known, state
    else:
        getter = _GETTERS.get(kind) or _make_getter(kind)
        parts, others = getter(known), getter(state)
    for part, other in zip(parts, others, strict=True):
        if part is not other:
            inner = type(part)
            if inner is not type(other):
                return False
            if inner is not int and inner is not str and not same_types(part, other):
                return False
    return True


_GETTERS: dict[type, Callable[[Any], tuple[Any, ...]]] = {}


def _make_getter(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives the parts of a value that take part in its equality."""
    getter: Callable[[Any], tuple[Any, ...]]
    if attrs.has(kind):
        names = [field.name for field in attrs.fields(kind) if field.eq]
        if len(names) > 1:
            getter = operator.attrgetter(*names)
        else:

            def getter(value: Any) -> tuple[Any, ...]:
                return tuple(getattr(value, name) for name in names)

    elif issubclass(kind, tuple):
        getter = tuple
    elif issubclass(kind, frozenset):

        def getter(value: Any) -> tuple[Any, ...]:
            return tuple(sorted(value, key=repr))

    else:

        def getter(value: Any) -> tuple[Any, ...]:  # noqa: ARG001 - an atom has no parts
            return ()

    _GETTERS[kind] = getter
    return getter


def check_state(state: Any) -> None:
    """Refuse values that cannot be told apart, or told equal, by Python."""
    if state is None or isinstance(state, Option | type) or callable(state):
        msg = f"{state!r} is not a state; go(...) takes the state to move to"
        raise GameError(msg, value=state)
    if isinstance(state, float) and math.isnan(state):
        msg = "NaN is not a state: it differs from itself, so exploration would never end"
        raise GameError(msg, value=state)
    kind = type(state)
    if kind.__eq__ is object.__eq__ and not isinstance(state, Enum):
        msg = (
            f"states of class {kind.__name__} are compared by identity, so every visit would make a new state; "
            "decorate the class with @attrs.frozen"
        )
        raise GameError(msg, value=state)
    if isinstance(state, tuple):
        for part in state:
            if part is not None:
                check_state(part)
    elif attrs.has(kind):
        for field in attrs.fields(kind):
            part = getattr(state, field.name)
            if field.eq and part is not None and not callable(part):
                check_state(part)


def collision_error(known: Any, state: Any) -> StateCollisionError:
    msg = (
        f"states {known!r} ({type(known).__name__}) and {state!r} ({type(state).__name__}) are different but equal "
        "in Python; use attrs.frozen classes instead of named tuples, and one number type"
    )
    return StateCollisionError(msg, state=known, value=state)


def unhashable_error(error: TypeError) -> GameError:
    msg = f"a state cannot be hashed ({error}); states are frozen attrs values, ints, strings, enums or tuples of them"
    return GameError(msg)
