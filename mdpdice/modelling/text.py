"""States and actions as JSON data, for files and programs; what people read is `mdpdice.looks.text`.

Numbers and strings stand for themselves, tuples are lists, a frozen attrs value is ``{"ClassName": {"field": ...}}``,
an enum member ``{"EnumName": "MEMBER"}`` and a state of a game with counters ``{"state": ..., "counters": {...}}``.
Nothing is evaluated or imported by name: only classes that a game's type annotations mention can be read back.
"""

from __future__ import annotations

import dataclasses
import enum
import json
import re
import types
import typing
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import Any, cast

import attrs

from mdpdice.errors import UnknownStateError
from mdpdice.modelling.grid import At

REMEDY = "use numbers, strings, tuples, enums or frozen attrs classes, or the game's Look: show_state and read_state"
"""What to do where a state has no text."""
ITSELF = "state"
"""Name of a state that has no parts."""


def encode(value: Any) -> Any:
    """Return a state or action as JSON data; an `UnknownStateError` if a part of it has no text."""
    if value is None or (isinstance(value, bool | int | float | str) and not isinstance(value, enum.Enum)):
        return value
    name = type(value).__name__
    if isinstance(value, enum.Enum):
        return {name: value.name}
    if isinstance(value, Fraction):
        return {name: str(value)}
    if isinstance(value, At):
        return {"state": encode(value.state), "counters": dict(value.counters)}
    if (fields := init_fields(value)) is not None:
        return {name: {field: encode(item) for field, item in fields.items()}}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, frozenset):
        return {name: sorted((encode(item) for item in value), key=json.dumps)}
    raise UnknownStateError(f"{value!r} has no text; {REMEDY}", value=value)


def decode(data: Any, classes: Mapping[str, type]) -> Any:
    """Return the value that data of `json.loads` stand for, the inverse of `encode`; see `named_classes`.

    An `UnknownStateError` if the data name another class, or do not describe one of these.
    """
    if isinstance(data, list):
        return tuple(decode(item, classes) for item in data)
    if not isinstance(data, dict):
        return data
    if len(data) == 1:
        ((name, body),) = data.items()
        if name == "Fraction" and isinstance(body, str) and _RATIONAL.fullmatch(body):
            return Fraction(body)
        cls = classes.get(name)
        try:
            if name == "frozenset" and isinstance(body, list):
                return frozenset(decode(item, classes) for item in body)
            if cls is not None and issubclass(cls, enum.Enum):
                return cls[body]
            if cls is not None:
                return cls(**{field: decode(item, classes) for field, item in cast("dict[str, Any]", body).items()})
        except UnknownStateError:
            raise
        except Exception as error:
            msg = f"{shorten(json.dumps(data))} does not describe a {name}: {error}"
            raise UnknownStateError(msg, value=data) from error
    if data.keys() == {"state", "counters"}:
        counters = data["counters"]
        # True and 1.0 would be read as 1.
        if not isinstance(counters, dict) or any(type(number) is not int for number in counters.values()):
            msg = f'{shorten(json.dumps(counters))} does not give the values of counters; write {{"name": 350, ...}}'
            raise UnknownStateError(msg, value=data)
        return At(decode(data["state"], classes), **counters)
    known = ", ".join(sorted(classes)) or "none"
    text = shorten(json.dumps(data, ensure_ascii=False))
    msg = f'{text} is not a state; write JSON with {{"Class": {{"field": ...}}}}, where the classes are: {known}'
    raise UnknownStateError(msg, value=data)


# Fraction itself reads "1e999999999" too, and then computes that power of ten.
_RATIONAL = re.compile(r"-?[0-9]{1,4000}(/0*[1-9][0-9]{0,4000})?")


def shorten(text: str) -> str:
    """Return the beginning of a long text, for messages."""
    return text if len(text) <= 200 else text[:200] + "..."


def named_classes(owner: type) -> dict[str, type]:
    """Attrs, dataclass, named tuple and enum classes that the type arguments of a game mention, by name."""
    todo: list[Any] = []
    for cls in owner.__mro__:
        for base in getattr(cls, "__orig_bases__", ()):
            todo.extend(typing.get_args(base))
    found: dict[str, type] = {}
    seen: list[Any] = []
    alias: Any = getattr(typing, "TypeAliasType", None)  # "type X = ...", from Python 3.12 on
    while todo:
        if (item := todo.pop()) in seen:
            continue
        seen.append(item)
        if alias is not None and isinstance(item, alias):
            todo.append(item.__value__)
        elif isinstance(item, types.GenericAlias | types.UnionType) or typing.get_origin(item) is not None:
            todo.extend(typing.get_args(item))
        elif isinstance(item, type) and (
            attrs.has(item)
            or dataclasses.is_dataclass(item)
            or issubclass(item, enum.Enum)
            or (issubclass(item, tuple) and hasattr(item, "_fields"))
        ):
            found[item.__name__] = item
            if not issubclass(item, enum.Enum):
                todo.extend(hints_of(item).values())
    return found


def hints_of(cls: type) -> dict[str, Any]:
    """Return the types of the fields of a class."""
    try:
        return typing.get_type_hints(cls)
    except NameError:  # an annotation that exists for type checkers only
        return {}


def init_names(cls: type) -> tuple[str, ...] | None:
    """Names of what a class with fields is made of; None: it is no such class."""
    if attrs.has(cls):
        return tuple(field.alias for field in attrs.fields(cls) if field.init)
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls) if field.init)
    return getattr(cls, "_fields", None) if issubclass(cls, tuple) else None  # a NamedTuple


def init_fields(value: Any) -> dict[str, Any] | None:
    """Return what a value was made of, by name; None: its class has no fields, or is an enum."""
    cls = type(value)
    names = None if isinstance(value, enum.Enum | At) else init_names(cls)
    if names is None:
        return None
    own = {field.alias: field.name for field in attrs.fields(cls)} if attrs.has(cls) else {}
    return {name: getattr(value, own.get(name, name)) for name in names}


def fields_of(state: Hashable) -> dict[str, Any]:
    """Return what a state holds, by name: its counters, and its fields or those of its core state.

    A state or core state that has no fields is `ITSELF`.
    """
    core: Any = state.state if isinstance(state, At) else state
    kind: Any = type(core)
    found: dict[str, Any] = {}
    if attrs.has(kind):
        found = {field.name: getattr(core, field.name) for field in attrs.fields(kind)}
    elif dataclasses.is_dataclass(core):
        found = {field.name: getattr(core, field.name) for field in dataclasses.fields(core)}
    elif isinstance(core, tuple):
        found = dict(zip(getattr(core, "_fields", map(str, range(len(core)))), core, strict=True))
    # A core state without parts comes after the counters, which say more.
    parts = {name: value for name, value in found.items() if name != ITSELF}
    counters = state.counters if isinstance(state, At) else {}
    return {**parts, **counters, **(found or {ITSELF: core})}
