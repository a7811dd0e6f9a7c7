"""The settings of a game, and games in the form of textbooks, with what is wrong with them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from helpers.small_games import check_error, failure, game

from mdpdice import ClassicMDP, Dist, Kind, certainly, decide, end, explore, go, pass_to, solve
from mdpdice.errors import (
    DeadEndError,
    DiscountRangeError,
    DuplicateActionError,
    GameError,
    NonDeterministicGameError,
    ProbabilitySumError,
    RewardNotFiniteError,
)

# --- the game's own settings ---------------------------------------------------------------------


@pytest.mark.parametrize("discount", [0, -0.5, 1.5, Fraction(3, 2), math.inf, math.nan])
def test_a_discount_outside_its_range(discount):
    error = failure(game({"start": end}, discount=discount))
    check_error(error, DiscountRangeError, "outside (0, 1]")
    assert error.value == discount or math.isnan(error.value)


@pytest.mark.parametrize("field", ["discount", "total"])
@pytest.mark.parametrize("junk", [None, "9/0", [1]])
def test_settings_that_are_no_number(field, junk):
    check_error(failure(game({"start": end}, **{field: junk})), GameError, f"the {field} is {junk!r}")


def test_settings_are_exact():
    network = explore(game({"start": end}, discount=0.1))
    assert network.discount == Fraction(0.1) != Fraction(1, 10)
    for third in (Fraction(1, 3), "1/3"):
        assert explore(game({"start": end}, total=third)).total == Fraction(1, 3)


def test_a_constant_sum_is_not_discounted_and_a_play_cut_off_is_worth_half_of_it():
    both = game({"start": lambda: decide({"a": pass_to("start"), "b": end(1)})}, total=1, discount=0.9)
    check_error(failure(both), DiscountRangeError, "`total` other than 0", "discount 1")
    lost = solve(game({"start": lambda: decide({"a": pass_to("start"), "b": end(0)})}, total=1), horizon=3)
    assert (lost.value(), lost.action()) == (0.5, "a")


def test_both_ways_to_have_two_players():
    error = failure(game({"start": lambda: decide({"a": pass_to("x")}), "x": lambda: decide({"b": end()}, player=1)}))
    check_error(error, GameError, "pass_to", "player=1", "not both")


def test_each_way_alone_is_fine():
    assert explore(game({"start": lambda: decide({"a": pass_to("x")}), "x": lambda: decide({"b": end()})})).two_player
    by_player = explore(game({"start": lambda: decide({"a": go("x")}), "x": lambda: decide({"b": end()}, player=1)}))
    assert by_player.two_player
    assert by_player.kind.tolist() == [Kind.MAX, Kind.MIN, Kind.END]


# --- the textbook form ---------------------------------------------------------------------------


class Walk(ClassicMDP[int, str]):
    """Down from 2 to 0, a step at a time; fields replace the parts that a test wants to break."""

    def __init__(self, **parts):
        self.__dict__.update(parts)

    def initial(self):
        return 2

    def actions(self, state):
        return ["down", "wait"]

    def transition(self, state, action):
        return certainly(state - 1) if action == "down" else Dist({state: 1, state - 1: 1})

    def reward(self, state, action, target):
        return 10 * state + target

    def terminal(self, state):
        return state == 0


def broken(*place):
    def part(*given):
        if given == place:
            raise KeyError(place)
        return Walk.reward(None, *given) if len(given) == 3 else Walk.transition(None, *given)

    return part


def test_the_textbook_form():
    network = explore(Walk())
    assert list(network.states) == [2, 1, 0]
    assert list(network.actions) == ["down", "wait"] * 2
    assert network.payoff[network.node_of(0)] == 0
    first = network.edge_of(network.node_of(2), "down")
    assert network.reward[first] == 21
    assert network.dst[first] == network.node_of(1)


def test_transition_that_raises():
    error = failure(Walk(transition=broken(1, "wait")))
    check_error(error, GameError, "KeyError", state=1, action="wait")
    assert isinstance(error.__cause__, KeyError)


def test_reward_that_raises():
    error = failure(Walk(reward=broken(1, "wait", 0)))
    check_error(error, GameError, "KeyError", state=1, action="wait")
    assert isinstance(error.__cause__, KeyError)


@pytest.mark.parametrize("part", ["actions", "terminal"])
def test_actions_or_terminal_that_raises(part):
    def fail(state):
        return {2: Walk.actions if part == "actions" else Walk.terminal}[state](None, state)

    error = failure(Walk(**{part: fail}))
    check_error(error, GameError, "KeyError", state=1)


def test_reward_without_a_return():
    error = failure(Walk(reward=lambda *_: None))
    check_error(error, GameError, "the reward is None", state=2, action="down")


def test_reward_that_is_nan():
    check_error(failure(Walk(reward=lambda *_: math.nan)), RewardNotFiniteError, "nan", state=2, action="down")


def test_transition_without_a_return():
    check_error(failure(Walk(transition=lambda *_: None)), GameError, "expected a distribution", state=2, action="down")


def test_transition_that_does_not_sum_to_one():
    error = failure(Walk(transition=lambda s, a: Dist({s: 0.5, s - 1: 0.4})))
    check_error(error, ProbabilitySumError, "0.9", state=2, action="down")
    assert error.value == pytest.approx(0.9, abs=1e-15)


def test_actions_from_a_set():
    check_error(failure(Walk(actions=lambda _: {"down", "wait"})), NonDeterministicGameError, "actions()", state=2)


def test_actions_given_twice():
    check_error(failure(Walk(actions=lambda _: ["down", "down"])), DuplicateActionError, state=2, action="down")


def test_a_state_without_actions():
    check_error(failure(Walk(actions=lambda s: [] if s == 1 else ["down"])), DeadEndError, state=1)
