"""Values that Python calls equal although they are not: ``1`` and ``True``, or named tuples of two classes.

A dictionary takes one for the other.  Where values stand for states, actions or outcomes that
would mix them up without a word, so every place that looks them up compares types as well.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from mdpdice.errors import StateCollisionError

Getter = Callable[[Any], tuple[Any, ...]]


def same_kind(first: Any, second: Any) -> bool:
    """Whether two values that are equal in Python also have the same types all the way down.

    Down means inside tuples, frozen sets, attrs classes and dataclasses; fields that equality ignores are not part of a
    value. Arranged for speed: it runs once per edge of a model.
    """
    kind = type(first)
    if kind is not type(second):
        return False
    if kind is int or kind is str:
        return True
    if kind in _TUPLES:
        these, others = first, second
    elif (getter := _GETTERS.get(kind) or parts(kind)) is as_tuple:
        _TUPLES.add(kind)
        these, others = first, second
    elif getter is as_set:
        twin = {part: part for part in second}
        return all(same_kind(part, twin[part]) for part in first)
    else:
        these, others = getter(first), getter(second)
    for part, other in zip(these, others):  # noqa: B905 - equal values have as many parts; strict costs time
        if part is not other:
            inner = type(part)
            if inner is not type(other):
                return False
            if inner is not int and inner is not str and not same_kind(part, other):
                return False
    return True


def same_kinds(these: Sequence[Any], others: Sequence[Any]) -> bool:
    """`same_kind` of many pairs, which takes half the time where they are alike and have few parts."""
    if all(map(operator.is_, these, others)):
        return True
    kinds = {*map(type, these)}
    if len(kinds) == 1 and kinds == {*map(type, others)}:
        getter = parts(*kinds)
        if getter is no_parts:
            return True
        if getter is not as_tuple and getter is not as_set:
            these, others = [*map(getter, these)], [*map(getter, others)]
        if getter is not as_set and len(these) >= _ROWS_PER_COLUMN * len(these[0]):
            with contextlib.suppress(ValueError):  # of tuples that differ in length
                return all(map(same_kinds, zip(*these, strict=True), zip(*others, strict=True)))
    return all(map(same_kind, these, others))


_ROWS_PER_COLUMN = 24
_GETTERS: dict[type, Getter] = {}
_TUPLES: set[type] = {tuple}  # those of them whose getter is `as_tuple`


def parts(kind: type) -> Getter:
    """Return a function that gives the parts of a value of this type that take part in its equality."""
    if kind in _GETTERS:
        return _GETTERS[kind]
    names: list[str] | None = None
    if attrs.has(kind):
        names = [field.name for field in attrs.fields(kind) if field.eq]
    elif hasattr(kind, "__dataclass_fields__"):
        names = [field.name for field in kind.__dataclass_fields__.values() if field.compare]
    if names is not None and len(names) > 1:
        getter: Getter = operator.attrgetter(*names)
    elif names is not None:
        getter = _attribute(*names) if names else no_parts
    elif issubclass(kind, tuple | frozenset):
        getter = as_tuple if issubclass(kind, tuple) else as_set
    else:
        getter = no_parts
    return _GETTERS.setdefault(kind, getter)


def _attribute(name: str) -> Getter:
    attribute = operator.attrgetter(name)
    return lambda value: (attribute(value),)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Return the parts of a tuple."""
    return tuple(value)


def as_set(value: Any) -> tuple[Any, ...]:
    """Return the parts of a frozen set, in any order."""
    return tuple(value)


def no_parts(value: Any) -> tuple[Any, ...]:  # noqa: ARG001 - an atom has none
    """Return the parts of a value that has none."""
    return ()


def collision_error(first: Any, second: Any, what: str = "states") -> StateCollisionError:
    """Return the error for two values where one would replace the other."""
    two = f"{first!r} ({type(first).__qualname__}) and {second!r} ({type(second).__qualname__})"
    why = "are equal in Python but of different types, so one would replace the other"
    how = "use one type, or put a name in front: ('day', 10), or write attrs.frozen classes instead of named tuples"
    return StateCollisionError(f"the {what} {two} {why}; {how}", state=first, value=second)
