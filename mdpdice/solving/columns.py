"""Names of states and actions as JSON data by columns, which are read much faster than one by one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from mdpdice.modelling.equality import same_kind
from mdpdice.modelling.text import decode, encode, init_fields, init_names

__all__ = ["by_columns", "from_columns"]


def by_columns(names: Sequence[Hashable], classes: Mapping[str, type]) -> dict[str, Any] | None:
    """JSON data that `from_columns` makes these names of again; None where it cannot."""
    # One object often stands in many places.
    distinct = list({id(name): name for name in names}.values())
    number = {id(name): at for at, name in enumerate(distinct)}
    kinds: dict[type, int] = {}
    columns: list[list[Any]] = []
    order = []
    try:
        for name in distinct:
            cls = type(name)
            if cls not in kinds:
                kinds[cls] = len(kinds)
                columns.append([])
            fields = init_fields(name)
            columns[kinds[cls]].append(
                [encode(part) for part in ([name] if fields is None else fields.values())]
            )
            order.append(kinds[cls])
        data = {
            "kinds": [cls.__name__ if classes.get(cls.__name__) is cls else "" for cls in kinds],
            "columns": [list(zip(*rows, strict=True)) for rows in columns],
            "order": order,
            "places": [number[id(name)] for name in names],
        }
        again = from_columns(data, classes)
    except Exception:  # noqa: BLE001 - a name that has no text, or a class that cannot be made of its parts
        return None
    same = all(one == name and same_kind(one, name) for one, name in zip(again, names, strict=True))
    return data if same else None


def from_columns(data: Mapping[str, Any], classes: Mapping[str, type]) -> list[Any]:
    """The names that JSON data of `by_columns` stand for."""
    made = []
    for kind, columns in zip(data["kinds"], data["columns"], strict=True):
        parts = [
            [decode(one, classes) if isinstance(one, dict | list) else one for one in column]
            for column in columns
        ]
        made.append(iter(map(_maker(classes[kind]), *parts) if kind and parts else parts[0]))
    distinct = [next(made[kind]) for kind in data["order"]]
    return [distinct[at] for at in data["places"]]


def _maker(cls: type) -> Callable[..., Any]:
    """What makes a value of its parts in their order."""
    names = init_names(cls) or ()
    if issubclass(cls, tuple):
        return cls
    return lambda *parts: cls(**dict(zip(names, parts, strict=True)))
