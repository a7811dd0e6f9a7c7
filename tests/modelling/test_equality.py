"""Values that Python calls equal, and that are told apart all the same."""

from __future__ import annotations

from dataclasses import dataclass, field

import attrs
import pytest
from helpers.small_games import Day, Night

from mdpdice.modelling.distribution import uniform
from mdpdice.modelling.equality import same_kind, same_kinds

# --- same_kind --------------------------------------------------------------------------------------


@attrs.frozen
class Ready:
    when: tuple[int, int]
    note: str = attrs.field(default="", eq=False)


@attrs.frozen(slots=False)
class Bare:
    when: tuple[int, int]


@dataclass(frozen=True)
class Waiting:
    when: tuple[int, int]
    note: str = field(default="", compare=False)


@pytest.mark.parametrize("make", [Ready, Bare, Waiting, lambda x: (0, (x,)), lambda x: frozenset({0, x})])
def test_same_kind_looks_inside(make):
    a, b = make(Day(1, 2)), make(Night(1, 2))
    assert a == b
    assert not same_kind(a, b)
    assert same_kind(a, make(Day(1, 2)))


def test_same_kind_ignores_what_equality_ignores():
    assert same_kind(Ready((1, 2), note="a"), Ready((1, 2), note=1))
    assert same_kind(Waiting((1, 2), note="a"), Waiting((1, 2), note=1))


def test_same_kind_of_plain_values():
    assert same_kind(10**30, 10**30)
    assert same_kind("a", "a")
    assert same_kind(0.0, -0.0)
    assert same_kind(range(3), range(3))
    assert not same_kind(1, True)
    assert not same_kind((1, 2), Day(1, 2))
    assert same_kind(uniform([1, 2]), uniform([2, 1]))


# --- same_kinds -------------------------------------------------------------------------------------

SHAPES = {
    "numbers": lambda i: i,
    "tuples": lambda i: (i, "a"),
    "nested": lambda i: ((i, 2), (3, (i,))),
    "attrs": lambda i: Ready((i, 2)),
    "one field": lambda i: Bare((i, 2)),
    "sets": lambda i: (frozenset({i, -1}), 0),
    "two kinds": lambda i: Ready((i, 2)) if int(i) % 2 else (i, 2),
    "two lengths": lambda i: (i,) * (1 + int(i) % 2),
    "empty": lambda _: (),
}


@pytest.mark.parametrize("many", [0, 1, 5, 300])
@pytest.mark.parametrize("shape", SHAPES)
def test_many_pairs_are_of_one_kind_where_each_is(shape, many):
    make = SHAPES[shape]
    these = [make(i) for i in range(many)]
    assert same_kinds(these, [make(i) for i in range(many)])
    for odd in {0, 1, many - 1} & set(range(many)):
        others = [make(float(i) if i == odd else i) for i in range(many)]
        assert others == these
        assert same_kinds(these, others) == (shape == "empty")
        assert same_kinds(others, these) == (shape == "empty")
