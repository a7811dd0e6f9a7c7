"""States and actions as text, for the command line, files and messages.

The text is JSON: numbers and strings stand for themselves, tuples are lists, a
frozen attrs value is ``{"ClassName": {"field": ...}}`` and an enum member is
``{"EnumName": "MEMBER"}``.  Nothing is evaluated or imported by name: only the
classes that a game's type annotations mention can be read back.
"""

from __future__ import annotations

import enum
import json
import types
import typing
from fractions import Fraction
from typing import Any

import attrs

from mdpdice.errors import UnknownStateError

__all__ = ["read", "show"]


def show(value: Any) -> str:
    """Text of a state or action.

    Raises
    ------
    UnknownStateError
        A part of the value has no text; override `Game.show_state`.
    """
    return json.dumps(encode(value), ensure_ascii=False)


def encode(value: Any) -> Any:
    """A state or action as JSON data; see `show`."""
    if value is None or (isinstance(value, bool | int | float | str) and not isinstance(value, enum.Enum)):
        return value
    name = type(value).__name__
    if isinstance(value, enum.Enum):
        return {name: value.name}
    if isinstance(value, Fraction):
        return {name: str(value)}
    if attrs.has(type(value)):
        return {name: {f.alias: encode(getattr(value, f.name)) for f in attrs.fields(type(value)) if f.init}}
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            return {name: {field: encode(item) for field, item in zip(value._fields, value, strict=True)}}
        return [encode(item) for item in value]
    if isinstance(value, frozenset):
        return {name: sorted((encode(item) for item in value), key=json.dumps)}
    msg = f"{value!r} has no text; let states be numbers, strings, tuples, enums or frozen attrs classes"
    raise UnknownStateError(msg, value=value)


def read(text: str, owner: type) -> Any:
    """Value of a text: the inverse of `show`.

    Parameters
    ----------
    text : str
        JSON as `show` writes it.  A bare word is the string of that name.
    owner : type
        A subclass of `Game`, whose type arguments say which classes may be named.

    Raises
    ------
    UnknownStateError
        The text is not of that form.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError:
        return text
    return _decode(data, _named_classes(owner), text)


def _decode(data: Any, classes: dict[str, type], text: str) -> Any:
    if isinstance(data, list):
        return tuple(_decode(item, classes, text) for item in data)
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        ((name, body),) = data.items()
        if name == "Fraction" and isinstance(body, str):
            return Fraction(body)
        if name == "frozenset" and isinstance(body, list):
            return frozenset(_decode(item, classes, text) for item in body)
        cls = classes.get(name)
        try:
            if cls is not None and issubclass(cls, enum.Enum):
                return cls[body]
            if cls is not None:
                return cls(**{field: _decode(item, classes, text) for field, item in body.items()})
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            msg = f"{text} does not describe a {name}: {error}"
            raise UnknownStateError(msg, value=text) from error
    known = ", ".join(sorted(classes)) or "none"
    msg = f'{text} is not a state; write JSON with {{"Class": {{"field": ...}}}}, where the classes are: {known}'
    raise UnknownStateError(msg, value=text)


def _named_classes(owner: type) -> dict[str, type]:
    """Attrs, named tuple and enum classes that the type arguments of a game mention, by name."""
    todo: list[Any] = []
    for cls in owner.__mro__:
        for base in getattr(cls, "__orig_bases__", ()):
            todo.extend(typing.get_args(base))
    found: dict[str, type] = {}
    seen: list[Any] = []
    while todo:
        item = todo.pop()
        if item in seen:
            continue
        seen.append(item)
        if isinstance(item, typing.TypeAliasType) if hasattr(typing, "TypeAliasType") else False:
            todo.append(item.__value__)
        elif isinstance(item, types.GenericAlias | types.UnionType) or typing.get_origin(item) is not None:
            todo.extend(typing.get_args(item))
        elif isinstance(item, type) and (
            attrs.has(item)
            or issubclass(item, enum.Enum)
            or (issubclass(item, tuple) and hasattr(item, "_fields"))
        ):
            found[item.__name__] = item
            if not issubclass(item, enum.Enum):
                todo.extend(_hints(item).values())
    return found


def _hints(cls: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(cls)
    except NameError:  # an annotation that exists for type checkers only
        return {}
