"""The door for numbers: what it takes, exactly, and what it refuses."""

from __future__ import annotations

import math
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction

import numpy as np
import pytest

from mdpdice import Dist, Game, Network, PayoffAtLeast, Utility, decide, end, explore, go, roll, solve
from mdpdice.errors import GameError, RewardNotFiniteError, UnsupportedError
from mdpdice.modelling.number import count, finite_number, is_own, nearest_floats, own_number, size, whole_number


class Six(IntEnum):
    SIX = 6


class Half(float):
    """A float of somebody's own."""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (np.int8(100), 100),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float16(0.5), 0.5),
        (np.float32(0.1), 13421773 / 2**27),
        (np.longdouble(1) / 3, None),
        (Decimal("0.1"), Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        ("-0.1", Fraction(-1, 10)),
        ("1e-400", Fraction(1, 10**400)),
        (True, 1),
        (np.True_, 1),
        (Six.SIX, 6),
        (Half(0.5), 0.5),
        (Fraction(np.int64(1), np.int64(3)), Fraction(1, 3)),
        (Fraction(1, np.int64(3)), Fraction(1, 3)),
    ],
)
def test_numbers_become_pythons_own(given, expected):
    number = own_number(given, "reward")
    assert is_own(number)
    if expected is None:
        expected = Fraction(*map(int, given.as_integer_ratio()))
        assert abs(expected - Fraction(1, 3)) < Fraction(1, 2**60)
    assert number == expected
    assert finite_number(given, "reward") == expected


@pytest.mark.parametrize(
    "junk",
    [
        None,
        "",
        "much",
        "1/0",
        "1e999999999",
        Decimal("1e-999999999"),
        Decimal("sNaN"),
        1j,
        np.complex64(1),
        np.timedelta64(1),
        np.datetime64("2020-01-01"),
        np.array(3),
        [1],
    ],
    ids=repr,
)
def test_what_is_no_number(junk):
    with pytest.raises(GameError, match="the reward is .*, which is not a number") as caught:
        own_number(junk, "reward")
    assert caught.value.value is junk


@pytest.mark.parametrize("number", [math.nan, "inf", Decimal("-Infinity"), np.longdouble("nan"), 10**400, "1e400"])
def test_what_is_not_finite(number):
    with pytest.raises(RewardNotFiniteError):
        finite_number(number, "reward")


def test_limits_and_tolerances():
    assert (size("1/4", "epsilon"), size(10**400, "epsilon"), size(math.inf, "epsilon")) == (0.25, math.inf, math.inf)
    assert (count(1e6, "plays"), count(Fraction(7, 2), "plays"), count(0, "plays")) == (10**6, 3, 0)
    assert type(count(np.int64(5), "plays")) is int
    assert count(math.inf, "plays") == 2**62
    assert (whole_number(np.uint8(7)), whole_number(True), whole_number(2.0), whole_number("2")) == (
        7,
        None,
        None,
        None,
    )
    for wrong in (math.nan, -1e-300, "-1/2"):
        for convert in (size, count):
            with pytest.raises(GameError, match="a number of at least 0"):
                convert(wrong, "epsilon")
    with pytest.raises(UnsupportedError, match="measure rewards in larger units"):
        nearest_floats([1, Fraction(10**400, 3)])


# --- numbers of numpy in models: 2**63 + 1000 wraps around in int64 -------------------------------------------------


LARGE = np.int64(2**62)


def pays(number):
    return Game.of(start=0, node=lambda _: decide({"a": end(number)}))


def test_thresholds_do_not_overflow():
    third = explore(pays(1 / 3))
    assert solve(third, PayoffAtLeast(np.int64(1000))).value() == 0
    assert solve(third, PayoffAtLeast(np.int64(1000)), solver="exact").exact() == 0
    assert solve(third, PayoffAtLeast(np.float32(0.25))).value() == 1
    assert solve(explore(pays("1/3")), PayoffAtLeast("1/3"), solver="exact").exact() == 1
    assert PayoffAtLeast(np.int64(20)) == PayoffAtLeast(20) == PayoffAtLeast("20")
    assert str(PayoffAtLeast(10**400)) == "payoff-at-least:about 1e400"


def test_utilities_do_not_overflow():
    objective = Utility(lambda payoff: np.int64(payoff) if payoff > 0 else -0.1)
    assert solve(pays(1000), objective, solver="exact").exact() == 1000


def test_rewards_and_payoffs_do_not_overflow():
    game = Game.of(start=0, node=lambda s: go(s + 1, reward=LARGE) if s < 4 else end(LARGE))
    assert solve(game, solver="exact").exact() == 5 * 2**62
    rolled = Game.of(
        start=0,
        node=lambda s: (
            roll(Dist({1: np.int8(100), 2: np.int8(100)}), lambda k: go(k, reward=LARGE * np.int64(1)), reward=LARGE)
            if s == 0
            else end(LARGE)
        ),
    )
    assert solve(rolled, solver="exact").exact() == 3 * 2**62
    hidden = Fraction(LARGE, np.int64(3))
    assert solve(
        Game.of(start=0, node=lambda s: go(1, reward=hidden) if s == 0 else end(hidden)), solver="exact"
    ).exact() == (Fraction(2**63, 3))


def test_weights_are_exact():
    assert Dist({"a": "1/3", "b": "2/3"}).prob("a") == Fraction(1, 3)
    assert Dist({"a": np.int64(2**62), "b": np.int64(2**62), "c": np.int64(2**62)}).prob("a") == Fraction(1, 3)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, np.int8, np.uint64, object])
def test_arrays_of_every_kind(kind):
    rewards = np.array([3, 0], dtype=kind)
    network = Network.from_choices(
        [0, 1, 2, 2],
        [0, 1, 2],
        np.array([1, 2], dtype=np.uint8),
        np.array([1, 1], dtype=kind),
        rewards,
        terminal={2: kind(4)} if kind is not object else {2: 4},
        discount=np.float32(0.5),
    )
    assert network.exact_reward(0) == 3
    assert solve(network, solver="exact").exact() == 4  # 3 + 4 / 2^2: a discount on each of the two choices


def test_wide_floats_are_exact():
    third = np.longdouble(1) / 3
    network = Network.from_choices(
        [0, 1, 1], [0, 2], [1, 1], np.array([third, 1 - third]), np.array([third]), terminal={1: 0}
    )
    assert network.exact_reward(0) == Fraction(*map(int, third.as_integer_ratio()))
    with pytest.raises(GameError, match="reward is .*, which is not a number"):
        Network.from_choices([0, 1, 1], [0, 1], [1], [1], np.array([1j]), terminal={1: 0})
