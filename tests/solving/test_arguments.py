"""What `solve` and its like are told, and what functions of the user do: no untyped error, and the right one blamed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from mdpdice import (
    Discounted,
    Dist,
    Game,
    Policy,
    Reach,
    Status,
    UntilReward,
    Utility,
    cross_check,
    decide,
    end,
    evaluate,
    explore,
    go,
    outcomes,
    roll,
    simulate,
    solve,
)
from mdpdice.errors import GameError, MdpDiceError, RewardNotFiniteError, UnsupportedError
from mdpdice.policies.playthrough import play

ONE = Game.of(start="here", node=lambda _: decide({"a": end(1), "b": end(0)}))
NETWORK = explore(ONE)
FIRST = Policy.of(NETWORK, lambda _: "a")


@pytest.mark.parametrize("wrong", ["soon", "", math.nan, -1, -0.5, "-1/2", [1], 1j])
@pytest.mark.parametrize(
    "call",
    [
        lambda x: solve(ONE, epsilon=x),
        lambda x: solve(ONE, time_limit=x),
        lambda x: solve(ONE, checkpoint_seconds=x),
        lambda x: solve(ONE, max_states=x),
        lambda x: explore(ONE, max_bytes=x),
        lambda x: cross_check(ONE, epsilon=x),
        lambda x: evaluate(NETWORK, FIRST, epsilon=x),
        lambda x: outcomes(NETWORK, FIRST, missing=x),
        lambda x: outcomes(NETWORK, FIRST, max_rounds=x),
        lambda x: simulate(NETWORK, FIRST, 10, max_moves=x),
        lambda x: simulate(NETWORK, FIRST, x),
    ],
)
def test_limits_and_tolerances(call, wrong):
    with pytest.raises(GameError):
        call(wrong)


def test_limits_of_every_kind_of_number():
    for number in (1, "1", 1.0, np.float32(1), Fraction(3, 2), math.inf):
        assert solve(ONE, epsilon=number, time_limit=number, max_states=number).value() == 1


def test_what_to_do_at_a_limit():
    with pytest.raises(GameError, match="on_limit='x': it is 'raise' or 'partial'"):
        solve(ONE, on_limit="x")


# --- functions of the user -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("utility", "error", "text"),
    [
        (lambda p: math.nan if p else 0, RewardNotFiniteError, "of 1.0 is nan"),
        (lambda p: 10**400 if p else 0, RewardNotFiniteError, "larger than every float"),
        (lambda p: None if p else 0, GameError, "of 1.0 is None, which is not a number"),
        (lambda p: p if p == 0 else 1 / 0, GameError, "of 1.0 raised ZeroDivisionError"),
        (lambda p: 1e308 if p else -1e308, RewardNotFiniteError, "difference of utilities is larger"),
    ],
)
def test_utilities_that_fail_are_told_with_their_state(utility, error, text):
    game = Game.of(start=0, node=lambda s: end(1) if s else decide({"on": go(1)}))
    with pytest.raises(error, match=text) as caught:
        solve(game, Utility(utility))
    assert type(caught.value) is error
    assert caught.value.state == 1


def test_a_utility_is_asked_about_endless_plays():
    with pytest.raises(GameError, match="of payoff 0, which an endless play has, raised ZeroDivisionError"):
        solve(ONE, Utility(lambda p: 1 / p))


@pytest.mark.parametrize("objective", [Reach, UntilReward])
def test_predicates_that_raise(objective):
    with pytest.raises(GameError, match=r"the function <lambda> of the objective raised ZeroDivisionError") as caught:
        solve(ONE, objective(lambda s: 1 / 0))
    assert caught.value.state == "here"
    with pytest.raises(GameError, match="raised ValueError"):
        solve(ONE, objective(lambda s: np.array([1, 2])))


def test_plays_tell_where_a_function_raised():
    def missing(_):
        raise KeyError("nothing")

    for game, seat in (
        (Game.of(start=3, node=missing), missing),
        (Game.of(start=3, node=lambda _: decide({"a": end()})), missing),
    ):
        with pytest.raises(GameError, match="KeyError") as caught:
            list(play(game, [seat], seed=1))
        assert caught.value.state == 3


# --- numbers that floats cannot hold ---------------------------------------------------------------------------------


SUM = Game.of(start=0, node=lambda s: decide({"x": go(s + 1, reward=1e308)}) if s < 5 else end(1))


@pytest.mark.parametrize("solver", ["auto", "backward-induction", "value-iteration", "policy-iteration", "exact"])
def test_values_beyond_every_float_blame_no_back_end(solver):
    with pytest.raises(UnsupportedError, match="too large for a float; measure rewards in larger units"):
        solve(SUM, solver=solver)


def test_policies_beyond_every_float():
    network = explore(SUM)
    with pytest.raises(UnsupportedError, match="too large for a float"):
        evaluate(network, Policy.of(network, lambda _: "x"), exact=True)


def test_a_discount_that_rounds_to_one_is_kept():
    game = Game.of(start=0, node=lambda _: decide({"a": go(0, reward=1)}))
    solution = solve(game, Discounted(1 - Fraction(1, 10**17)))
    assert (solution.status, solution.exact()) == (Status.EXACT, 10**17)
    found = solve(game, Discounted(1 - Fraction(1, 10**17)), solver="value-iteration")
    assert not found.proved
    assert found.lower() <= 10**17 <= found.upper()


def test_small_numbers_in_linear_programs():
    rare = Dist({0: 2, 1: 1})
    game = Game.of(start=0, node=lambda _: decide({"a": roll(rare, lambda k: end(1e-310 * k))}))
    assert solve(game, solver="linear-programming").estimate() == pytest.approx(1e-310 / 3, rel=1e-10)


def test_outcomes_of_plays_that_were_never_followed_to_their_end():
    on = {s: {"on": go((s + 1) % 3, reward=1)} for s in range(3)}
    network = explore(Game.of(start=0, node=lambda s: decide({**on[s], "exit": end(1)} if s == 2 else on[s])))
    found = outcomes(
        network, Policy.of(network, lambda s: Dist({"on": 1, "exit": 1}) if s == 2 else "on"), max_rounds=1
    )
    assert found.missing == 1
    assert math.isnan(found.mean)
    assert "mean nan" in repr(found)


def test_the_reason_is_one_of_the_library():
    for call in (lambda: solve(3), lambda: explore("x"), lambda: evaluate(None, FIRST)):
        with pytest.raises(MdpDiceError):
            call()
