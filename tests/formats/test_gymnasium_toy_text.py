"""Gymnasium's toy-text environments, and dictionaries like theirs."""

from __future__ import annotations

from fractions import Fraction

import gymnasium
import numpy as np
import pytest

from mdpdice import Discounted, solve
from mdpdice.errors import GameError, ProbabilityRangeError, ProbabilitySumError, RewardNotFiniteError
from mdpdice.formats import from_gymnasium


def make(name: str, **settings):
    return gymnasium.make(name, **settings)


# --- real environments --------------------------------------------------------------


@pytest.mark.parametrize(("size", "value", "discounted"), [("4x4", 14 / 17, 0.5420259320), ("8x8", 1.0, 0.4146403618)])
def test_frozen_lake_has_its_values(size: str, value: float, discounted: float, tools) -> None:
    network = from_gymnasium(make("FrozenLake-v1", map_name=size))
    assert tools.float_values(network)[network.start] == pytest.approx(value, abs=1e-9)
    found = tools.float_values(network, objective=Discounted(Fraction(99, 100)))[network.start]
    assert found == pytest.approx(discounted, abs=1e-9)


def test_thirds_can_be_exact(tools) -> None:
    network = from_gymnasium(make("FrozenLake-v1", map_name="4x4"), max_denominator=10)
    assert tools.exact_values(network)[network.start] == Fraction(14, 17)
    assert network.warnings == ()
    as_given = from_gymnasium(make("FrozenLake-v1", map_name="4x4"))
    assert "normalised" in as_given.warnings[0]


def test_cliff_walking_takes_thirteen_steps(tools) -> None:
    network = from_gymnasium(make("CliffWalking-v1"))
    assert tools.float_values(network)[network.start] == -13
    assert network.start == network.node_of(36)


def test_taxi_has_its_best_ride_from_every_start(tools) -> None:
    environment = make("Taxi-v4")
    network = from_gymnasium(environment)
    values = tools.float_values(network)
    starts = np.flatnonzero(environment.unwrapped.initial_state_distrib)
    assert len(starts) == 300
    # Every ride pays 20 for the passenger and costs 1 a move; published means of the best policy are near 7.9.
    assert np.mean(values[starts]) == pytest.approx(7.93, abs=0.005)
    found = solve(network)
    assert found.lower() <= float(np.mean(values[starts])) <= found.upper()
    assert len(network.row(network.start)) == 300
    first = from_gymnasium(environment, start=int(starts[0]))
    assert first.start == starts[0]
    half = from_gymnasium(environment, start={int(starts[0]): "1/2", int(starts[1]): "1/2"})
    assert solve(half).value() == pytest.approx((values[starts[0]] + values[starts[1]]) / 2)


# --- what a table means -----------------------------------------------------------------


def test_entries_with_one_target_are_merged_with_their_mean_reward(tools) -> None:
    table = {0: {0: [(0.25, 0, 1.0, True), (0.25, 0, 5.0, True), (0.5, 1, 0.0, False)]}, 1: {0: [(1.0, 1, 2.0, True)]}}
    network = from_gymnasium(table)
    assert network.n_edges == 1 + 2 + 1
    assert tools.exact_values(network)[0] == Fraction(5, 2)


def test_terminated_ends_the_play_whatever_comes_next(tools) -> None:
    # State 1 would pay 100 for ever, but nobody gets there alive.
    table = {0: {"go": [(1.0, 1, 3.0, True)]}, 1: {"go": [(1.0, 1, 100.0, False)]}}
    network = from_gymnasium(table)
    assert tools.float_values(network)[0] == 3
    alive = {0: {"go": [(1.0, 1, 3.0, False)]}, 1: {"go": [(1.0, 1, 0.0, False)]}}
    assert tools.float_values(from_gymnasium(alive))[0] == 3


def test_terminated_and_not_terminated_to_one_state_stay_apart(tools) -> None:
    table = {0: {0: [(0.5, 0, 1.0, False), (0.5, 0, 0.0, True)]}}
    assert tools.exact_values(from_gymnasium(table))[0] == 1


def test_lists_numpy_numbers_and_fractions_are_taken(tools) -> None:
    third = Fraction(1, 3)
    table = [[[(third, 0, 0, np.False_), (2 * third, np.int64(1), np.float64(3), np.True_)]], [[(1, 1, 0, True)]]]
    network = from_gymnasium(table)
    assert tools.exact_values(network)[0] == 3
    assert network.states[:2] == [0, 1]


def test_the_start_can_be_chosen() -> None:
    table = {"a": {0: [(1.0, "b", 1.0, False)]}, "b": {0: [(1.0, "b", 1.0, True)]}}
    assert from_gymnasium(table).states[from_gymnasium(table).start] == "a"
    assert from_gymnasium(table, start="b").start == 1
    with pytest.raises(GameError, match="'c'"):
        from_gymnasium(table, start="c")


@pytest.mark.parametrize(
    ("table", "error"),
    [
        ({}, GameError),
        (7, GameError),
        ({0: 7}, GameError),
        ({0: {0: [(1.0, 0, 0.0)]}}, GameError),
        ({0: {0: [(1.0, 1, 0.0, False)]}}, GameError),
        ({0: {0: [(1.0, 0, 0.0, "yes")]}}, GameError),
        ({0: {0: [(0.9, 0, 0.0, True)]}}, ProbabilitySumError),
        ({0: {0: [(1.5, 0, 0.0, True), (-0.5, 0, 0.0, False)]}}, ProbabilityRangeError),
        ({0: {0: [(1.0, 0, float("nan"), True)]}}, RewardNotFiniteError),
        # Together they sum to 1, and lead to one state.
        ({0: {0: [(1.5, 0, 0.0, True), (-0.5, 0, 0.0, True)]}}, ProbabilityRangeError),
        ({0: {0: [(None, 0, 0.0, True)]}}, GameError),
        ({0: {0: [(1.0, [0], 0.0, False)]}}, GameError),
        ({0: {0: 5}}, GameError),
        ({0: {0: [(0.5, 0, "one", True), (0.5, 0, 2.0, True)]}}, GameError),
    ],
)
def test_tables_that_are_wrong(table, error) -> None:
    with pytest.raises(error):
        from_gymnasium(table)


def test_fractions_that_do_not_fit_are_refused() -> None:
    with pytest.raises(GameError, match="0.123") as caught:
        from_gymnasium({0: {0: [(0.123, 0, 0.0, True), (0.877, 0, 0.0, False)]}}, max_denominator=10)
    assert (caught.value.state, caught.value.action) == (0, 0)
    with pytest.raises(ProbabilitySumError):
        from_gymnasium({0: {0: [(0.5, 0, 0.0, True), (0.25, 0, 0.0, False)]}}, max_denominator=4)


def test_an_environment_without_a_table_says_so() -> None:
    with pytest.raises(GameError, match=r"P\[state\]\[action\]"):
        from_gymnasium(make("Blackjack-v1"))


def test_a_table_may_have_a_state_named_over(tools) -> None:
    table = {
        "play": {"stop": [(1.0, "over", 1.0, False)], "go": [(0.5, "play", 2.0, False), (0.5, "over", 0.0, True)]},
        "over": {"more": [(1.0, "over_", 4.0, True)]},
    }
    network = from_gymnasium(table)
    assert list(network.states) == ["play", "over", "over_"]
    # stop: 1 + 4; go: (2 + V)/2, which is 3.5 for V = 5.
    assert [tools.exact_values(network)[network.node_of(s)] for s in network.states] == [5, 4, 0]
    table["over_"] = {"wait": [(1.0, "over_", 0.0, False)]}
    assert list(from_gymnasium(table).states) == ["play", "over", "over_", "over__"]
    assert list(from_gymnasium({0: {0: [(1.0, 0, 1.0, True)]}}).states) == [0, "over"]


def test_numbers_may_be_texts_and_arguments_are_looked_at(tools) -> None:
    table = {0: {0: [("1/3", 0, "3/2", True), ("2/3", 0, 0, False)]}}
    assert tools.exact_values(from_gymnasium(table))[0] == Fraction(3, 2)
    for wrong in (0, "ten", 2.5):
        with pytest.raises(GameError, match="max_denominator"):
            from_gymnasium(table, max_denominator=wrong)
    with pytest.raises(GameError, match="start state"):
        from_gymnasium(table, start=[0])
