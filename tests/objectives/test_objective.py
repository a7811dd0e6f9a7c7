"""What objectives refuse when they are made, before anything is explored."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import pytest

from mdpdice import (
    Counter,
    Discounted,
    Game,
    Horizon,
    PayoffAtLeast,
    Policy,
    Reach,
    UntilReward,
    Utility,
    end,
    outcomes,
    solve,
)
from mdpdice.errors import DiscountRangeError, GameError, HorizonRangeError, UnsupportedError
from mdpdice.games.pig import PigTurn
from mdpdice.modelling.ranges import number_text


class Sheet(Game[str, str]):
    filled = Counter(range(4))

    def start(self):
        return "play"

    def node(self, state):
        return end()


class Pair(NamedTuple):
    a: int
    b: int


@pytest.mark.parametrize(
    ("discount", "remedy"),
    [
        (95, "95 % is 0.95"),
        (97.5, "97.5 % is 0.975"),
        (Fraction(99, 1), "99 % is 0.99"),
        (1.05, "the factor for every decision"),
        (0, "outside (0, 1]"),
        (-0.5, "-0.5 is outside (0, 1]"),
        (Fraction(3, 2), "3/2 is outside (0, 1]"),
        ("1.5", "'1.5' is outside (0, 1]"),
        ("much", "'much' is not a number in (0, 1]"),
        (None, "None is not a number"),
        (math.nan, "nan is not a number"),
        (math.inf, "inf is not a number"),
    ],
)
def test_a_discount_is_checked_at_once(discount, remedy):
    with pytest.raises(DiscountRangeError) as caught:
        Discounted(discount)
    assert remedy in caught.value.message
    assert caught.value.value is discount


@pytest.mark.parametrize("decisions", [-1, 2.0, "3", True, None])
def test_a_horizon_is_checked_at_once(decisions):
    with pytest.raises(HorizonRangeError, match="number of decisions"):
        Horizon(decisions)


@pytest.mark.parametrize(
    ("states", "remedy"),
    [
        ("home", "is one state; write ['home']"),
        (Pair(1, 2), "is one state; write [Pair(a=1, b=2)]"),
        (30, "neither a collection of states nor a function; write [30]"),
        (Sheet().filled >= 2, "filled >= 2 is a condition; write targets=lambda state: ... of state.counters['name']"),
        (Pair, "is a class; write targets=lambda state: isinstance(state, Pair)"),
    ],
)
@pytest.mark.parametrize("kind", [Reach, UntilReward])
def test_targets_are_a_collection_or_a_predicate(kind, states, remedy):
    with pytest.raises(GameError) as caught:
        kind(states)
    assert remedy in caught.value.message
    assert caught.value.value is states


def test_states_to_avoid_are_checked_too():
    with pytest.raises(GameError, match=r"avoiding=3 .*write \[3\]"):
        Reach([1], avoiding=3)


@pytest.mark.parametrize("threshold", [None, "twenty", math.nan, [20]])
def test_a_threshold_is_a_number(threshold):
    with pytest.raises(GameError, match="give it a number"):
        PayoffAtLeast(threshold)


def test_a_utility_is_a_function():
    with pytest.raises(GameError, match="give it a function from a payoff"):
        Utility(3)


def test_what_is_right_is_taken():
    assert Discounted("0.95").discount == Fraction(95, 100)
    assert Discounted(1).discount == 1
    assert PayoffAtLeast(math.inf).threshold == math.inf
    for targets in ([], (1, 2), {3}, range(4), lambda state: True):
        assert Reach(targets).targets is targets


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(9, 10), "9/10"),
        (Fraction(0.9), "0.9"),
        (0.99, "0.99"),
        (Fraction(1), "1"),
        (0.5, "1/2"),
        (Fraction(10**15, 10**15 + 1), "about 0.999999999999999"),
        (Fraction(10**400 + 1, 3), "about 1e399"),
        (Fraction(-(10**400) - 1, 3), "about -1e399"),
    ],
)
def test_numbers_are_told_as_they_were_written(number, text):
    assert number_text(number) == text


def test_a_discount_is_told_as_it_was_written():
    solution = solve(PigTurn(cap=10), Discounted(0.9))
    assert "discount 0.9" in repr(solution.network)
    assert "discount=0.9" in repr(Discounted(0.9))
    with pytest.raises(UnsupportedError, match=r"this network has 0\.9; evaluate"):
        outcomes(solution.network, Policy.from_solution(solution))
