"""Names of states and actions by columns: what was read is what was written, or nothing is written."""

from __future__ import annotations

import enum
import json
from fractions import Fraction
from typing import NamedTuple

import attrs
import pytest

from mdpdice import At
from mdpdice.modelling.equality import same_kind
from mdpdice.solving.kept_files import by_columns, from_columns


class Colour(enum.Enum):
    RED = "red"


class Pair(NamedTuple):
    first: object
    second: object = 0


class Single(NamedTuple):
    only: object


@attrs.frozen
class Board:
    cells: tuple[object, ...]
    _hidden: int = 0
    named: int = attrs.field(default=1, kw_only=True)


@attrs.frozen
class Nothing:
    pass


CLASSES = {cls.__name__: cls for cls in (Colour, Pair, Single, Board, Nothing)}


def test_there_and_back():
    again = Pair(1, 2)
    names = [
        again,
        Board((1, (2, None)), 5, named=7),
        Pair(True, Fraction(1, 3)),
        Pair(Pair("a", Colour.RED), 1.5),
        Single(again),
        Nothing(),
        Colour.RED,
        Colour.RED,
        again,
        (1, 2),
        "text",
        -(2**70),
        True,
        1,
        1.0,
        None,
        frozenset({1, 2}),
        At("core", turn=3),
        again,
    ]
    data = by_columns(names, CLASSES)
    found = from_columns(json.loads(json.dumps(data)), CLASSES)
    assert len(found) == len(names)
    for one, name in zip(found, names, strict=True):
        assert one == name
        assert type(one) is type(name)
        assert same_kind(one, name)
    assert found[0] is found[-1]


@attrs.frozen
class Unknown:
    part: int


@attrs.frozen
class Halved:
    """What it was made of is not what it holds."""

    part: int = attrs.field(converter=lambda part: part // 2)


@pytest.mark.parametrize("name", [Unknown(1), Pair(Unknown(1)), object(), Halved(8), complex(1, 2)])
def test_names_that_would_not_come_back(name):
    assert by_columns([1, name], {**CLASSES, "Halved": Halved}) is None


def test_no_names():
    assert from_columns(by_columns([], CLASSES), CLASSES) == []
