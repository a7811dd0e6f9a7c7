"""The types of a value, all the way down: equality alone would take 1 for True."""

from __future__ import annotations

import attrs

from mdpdice import At


def kinds(value):
    if isinstance(value, At):
        return kinds(value.state), value.counters
    if isinstance(value, tuple):
        return type(value), tuple(map(kinds, value))
    if isinstance(value, frozenset):
        return frozenset((kinds(x), x) for x in value)
    if attrs.has(type(value)):
        return type(value), tuple(kinds(getattr(value, f.name)) for f in attrs.fields(type(value)))
    return type(value)
