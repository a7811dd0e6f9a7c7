"""Weights and outcomes that make no distribution, each refused with its remedy."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from helpers.small_games import Day, Night

from mdpdice.errors import (
    EmptySupportError,
    GameError,
    NonDeterministicGameError,
    ProbabilityRangeError,
    StateCollisionError,
)
from mdpdice.modelling.distribution import Dist, certainly, uniform

# --- Refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weight",
    [-1, -0.1, Fraction(-1, 3), math.nan, math.inf, -math.inf, np.float64("nan"), Decimal("NaN"), np.int64(-2)],
)
def test_weight_out_of_range(weight):
    with pytest.raises(ProbabilityRangeError, match="is negative or not finite; weights are 0 or more") as caught:
        Dist({"a": 2, "b": weight})
    assert caught.value.value is weight


@pytest.mark.parametrize("weights", [{}, [], {"a": 0}, {"a": 0.0, "b": 0.0}])
def test_empty_support(weights):
    with pytest.raises(EmptySupportError, match="needs an outcome of positive weight; leave the draw out"):
        Dist(weights)


def test_empty_uniform_and_mixture():
    with pytest.raises(EmptySupportError):
        uniform([])
    with pytest.raises(EmptySupportError):
        Dist.mix([])


@pytest.mark.parametrize("weight", [True, np.True_, "half", None, 1j])
def test_weight_that_is_no_number(weight):
    with pytest.raises(GameError, match="is not a number; weights are int, float or Fraction") as caught:
        Dist({"a": 1, "b": weight})
    assert caught.value.value is weight
    assert "int(flag)" in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (1, True),
        (1, 1.0),
        (0, np.int64(0)),
        (Day(10, 10), Night(10, 10)),
        (Day(10, 10), (10, 10)),
        (("x", (Day(1, 1),)), ("x", (Night(1, 1),))),
        (frozenset({1}), frozenset({True})),
    ],
)
def test_equal_outcomes_of_different_types(first, second):
    text = "equal in Python but of different types, so one would replace the other; use one type, or put a name"
    for make in (
        lambda: Dist([(first, 1), (second, 1)]),
        lambda: uniform([first, second]),
        lambda: uniform([0, 1]).map(lambda k: (first, second)[k]),
        lambda: uniform([0, 1]).bind(lambda k: certainly((first, second)[k])),
        lambda: Dist.mix([(certainly(first), 1), (certainly(second), 1)]),
        lambda: certainly(first).prob(second),
    ):
        with pytest.raises(StateCollisionError, match=text) as caught:
            make()
        assert caught.value.state is first
        assert caught.value.value is second
    assert second not in certainly(first)
    assert first in certainly(first)


def test_unhashable_outcomes():
    text = "is not hashable .*use a tuple instead of a list"
    for make in (
        lambda: Dist([([1], 1)]),
        lambda: uniform([[1], [2]]),
        lambda: certainly([1]),
        lambda: uniform("ab").map(lambda c: [c]),
        lambda: certainly(({1, 2}, 3)),
    ):
        with pytest.raises(GameError, match=text) as caught:
            make()
        assert isinstance(caught.value.__cause__, TypeError)


@pytest.mark.parametrize("junk", [3, None, "ab", ["a", "b"], [1, 2], [("a", 1, 2)], object()])
def test_neither_mapping_nor_pairs(junk):
    with pytest.raises(GameError, match=r"cannot read pairs of outcome and weight .*uniform\(\[...\]\)") as caught:
        Dist(junk)
    assert caught.value.value is junk


def test_sets_have_no_order():
    for make in (lambda: Dist({("a", 1), ("b", 1)}), lambda: uniform({1, 2}), lambda: uniform(frozenset("ab"))):
        with pytest.raises(NonDeterministicGameError, match=r"order of a set .*sorted\(\.\.\.\)"):
            make()


def test_uniform_of_a_number():
    with pytest.raises(GameError, match=r"needs an iterable of outcomes, not 6; .*die\(n\)"):
        uniform(6)


def test_mean_of_what_is_no_number():
    with pytest.raises(GameError, match=r"the mean needs numbers, not 'a'; give mean\(\) a function"):
        uniform("ab").mean()
    with pytest.raises(GameError, match="the mean needs finite numbers, not nan") as caught:
        uniform("ab").mean(lambda _: math.nan)
    assert math.isnan(caught.value.value)
    with pytest.raises(GameError, match="the mean needs finite numbers, not inf"):
        uniform([math.inf, 1.0]).mean()


def test_errors_of_the_users_function_pass_through():
    with pytest.raises(ZeroDivisionError):
        uniform([0, 1]).map(lambda k: 1 // k)
    with pytest.raises(ZeroDivisionError):
        uniform([0, 1]).bind(lambda k: certainly(1 // k))
