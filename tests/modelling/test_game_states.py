"""States and numbers that a game hands over, and those that are refused."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.small_games import Day, Night, check_error, failure, game

from mdpdice import Dist, Game, chance, d6, decide, end, explore, go, pass_to, roll, uniform
from mdpdice.errors import GameError, RewardNotFiniteError, StateCollisionError


@attrs.frozen
class Box:
    inside: object


@dataclass(frozen=True)
class Plain:
    inside: object


class Side(enum.Enum):
    HEADS = 1


class Level(enum.IntEnum):
    ONE = 1


class ByIdentity:
    """Equal to itself alone, like any class without __eq__."""


@attrs.define(eq=False)
class WithoutEq:
    inside: int


def option_to(state):
    """A game that offers one move to a state, after a move elsewhere."""
    return game({"start": lambda: decide({"first": end(), "move": go(state)})})


# --- states --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "new"),
    [
        (Day(10, 10), Night(10, 10)),
        (Day(10, 10), (10, 10)),
        (1, True),
        (1, 1.0),
        (0, False),
        (1, Fraction(1)),
        (Level.ONE, 1),
        ((1, 2), (True, 2)),
        (((1,), 2), ((1.0,), 2)),
        (Box(1), Box(True)),
        (Box((1, 2)), Box((1.0, 2))),
        (Box(Day(1, 2)), Box(Night(1, 2))),
        (Plain(1), Plain(True)),
        (frozenset({1, 2}), frozenset({True, 2})),
        ((frozenset({(1, 2)}),), (frozenset({(1, 2.0)}),)),
    ],
)
class TestStatesThatPythonCallsEqual:
    def test_two_options(self, known, new):
        assert known == new  # else there is no collision to find
        error = failure(game({"start": lambda: decide({"one": go(known), "other": go(new)})}))
        check_error(error, StateCollisionError, "equal in Python", "attrs.frozen", state=known, action="other")
        assert type(error.value) is type(new)
        assert error.value == new

    def test_two_outcomes(self, known, new):
        error = failure(game({"start": lambda: roll(uniform("ab"), lambda k: go(known if k == "a" else new))}))
        check_error(error, StateCollisionError, state=known)

    def test_a_state_and_one_found_before(self, known, new):
        error = failure(Game.of(start=known, node=lambda _: go(new)))
        check_error(error, StateCollisionError, state=known)

    def test_through_canonical(self, known, new):
        class Mapped(Game):
            def start(self):
                return "start"

            def node(self, state):
                return decide({"one": go("known"), "other": go("new")})

            def canonical(self, state):
                return {"known": known, "new": new}.get(state, state)

        assert type(failure(Mapped())) is StateCollisionError


def test_equal_states_of_one_type_are_one_state():
    for make in (lambda: Day(1, 2), lambda: Box((1, "x")), lambda: (1.5, Box(None)), lambda: frozenset({1, 2})):
        network = explore(game({"start": lambda make=make: decide({1: go(make()), 2: go(make())}), make(): end}))
        assert network.n_states == 2


def test_what_equality_ignores_is_no_difference():
    @attrs.frozen
    class Noted:
        number: int
        note: object = attrs.field(eq=False)

    nodes = {"start": lambda: decide({1: go(Noted(1, 1)), 2: go(Noted(1, True))}), Noted(1, None): end}
    assert explore(game(nodes)).n_states == 2


@pytest.mark.parametrize(
    ("junk", "words"),
    [
        (None, "None is not a state"),
        (math.nan, "NaN"),
        ((1, math.nan), "NaN"),
        (Box(math.nan), "NaN"),
        (Decimal("nan"), "NaN"),
        ([1], "unhashable"),
        ({1}, "unhashable"),
        ((1, [2]), "unhashable"),
        (Box([1]), "unhashable"),
        (ByIdentity(), "compared by identity"),
        ((ByIdentity(), 1), "compared by identity"),
        (Box(ByIdentity()), "compared by identity"),
        (WithoutEq(1), "@attrs.frozen"),
        (len, "not a state"),
        ((len, 1), "not a state"),
        (int, "not a state"),
        (go(1), "not a state"),
        (end(), "not a state"),
        (object(), "compared by identity"),
    ],
)
class TestJunkStates:
    def test_as_a_target(self, junk, words):
        check_error(failure(option_to(junk)), GameError, words, state="start", action="move")

    def test_in_a_roll(self, junk, words):
        check_error(failure(game({"start": lambda: roll(d6, lambda k: go(junk))})), GameError, words, state="start")

    def test_as_the_start(self, junk, words):
        error = failure(game({}, start=junk))
        assert type(error) is GameError
        assert words in str(error)


@pytest.mark.parametrize("make", [lambda x: x, Box, Plain, lambda x: Day(x, 0), lambda x: (0, x), lambda x: Box((x,))])
def test_nan_is_found_after_sound_states_of_the_same_class(make):
    error = failure(Game.of(start=make(1.5), node=lambda _: go(make(float("nan")))), max_states=100)
    check_error(error, GameError, "NaN", state=make(1.5))


@pytest.mark.parametrize("state", [1, "x", 1.5, True, Side.HEADS, Level.ONE, (), Day(1, 2), Box(len), Fraction(1, 2),
                                   frozenset({1}), b"x", ((1, None), Side.HEADS)])  # fmt: skip
def test_sound_states(state):
    network = explore(option_to(state).__class__.of(start=state, node=lambda _: end(3)))
    assert network.states[0] is state
    assert network.payoff[network.node_of(state)] == 3


def test_hash_that_raises():
    class Odd:
        def __eq__(self, other):
            return self is other

        def __hash__(self):
            raise RuntimeError("no hash today")

    error = failure(option_to(Odd()))
    check_error(error, GameError, "RuntimeError: no hash today", "hashing", state="start", action="move")
    assert isinstance(error.__cause__, RuntimeError)


# --- numbers -------------------------------------------------------------------------------------

PLACES = {
    "end": lambda x: game({"start": lambda: end(x)}),
    "option end": lambda x: game({"start": lambda: decide({"a": end(), "b": end(x)})}),
    "option go": lambda x: game({"start": lambda: decide({"a": end(), "b": go("start", reward=x)})}),
    "option pass_to": lambda x: game({"start": lambda: decide({"a": end(), "b": pass_to("start", reward=x)})}),
    "option roll": lambda x: game({"start": lambda: decide({"a": end(), "b": roll(d6, end, reward=x)})}),
    "option rolled end": lambda x: game({"start": lambda: decide({"a": end(), "b": roll(d6, lambda _: end(x))})}),
    "option rolled go": lambda x: game(
        {"start": lambda: decide({"a": end(), "b": roll(d6, lambda _: go("start", reward=x))})}
    ),
    "go": lambda x: game({"start": lambda: go("start", reward=x)}),
    "pass_to": lambda x: game({"start": lambda: pass_to("start", reward=x)}),
    "roll": lambda x: game({"start": lambda: roll(d6, end, reward=x)}),
    "rolled end": lambda x: game({"start": lambda: roll(d6, lambda _: end(x))}),
    "rolled go": lambda x: game({"start": lambda: roll(d6, lambda _: go("start", reward=x))}),
    "rolled pass_to": lambda x: game({"start": lambda: roll(d6, lambda _: pass_to("start", reward=x))}),
    "chance": lambda x: game({"start": lambda: chance(Dist({end(): 1, end(1): 1}), reward=x)}),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, np.float64("inf"), 10**400, Fraction(10**400, 3)])
def test_numbers_that_are_not_finite(place, number):
    error = failure(PLACES[place](number))
    check_error(error, RewardNotFiniteError, state="start", action="b" if place.startswith("option") else None)
    assert error.value == number or (math.isnan(error.value) and math.isnan(number))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("junk", [None, "", "one", [], 1j, np.timedelta64(1), Decimal("1e999999999"), "1e-999999999"])
def test_numbers_that_are_none(place, junk):
    error = failure(PLACES[place](junk))
    assert type(error) is GameError
    assert error.state == "start"
    assert error.action == ("b" if place.startswith("option") else None)


@pytest.mark.parametrize("place", PLACES)
def test_every_kind_of_number_is_a_number(place):
    for number in (3, 3.0, Fraction(3), np.int64(3), np.float32(3), np.float64(3), np.longdouble(3), Decimal(3), "3"):
        assert explore(PLACES[place](number)).digest == explore(PLACES[place](3)).digest


def test_a_reward_of_true_is_one():
    assert explore(PLACES["go"](True)).reward[0] == 1


@pytest.mark.parametrize("start", [Dist({0: 1, 1: 2}), "start"])
def test_a_random_start_is_a_state_whose_node_is_a_roll(start):
    uneven = Dist({0: 1, 1: 2})
    error = failure(game({"start": lambda: go(uneven)}, start=start))
    assert type(error) is GameError
    assert "a distribution is not a state" in error.message
    assert error.value == uneven
