"""Players who hold at fixed points, against each other and against the best play."""

import itertools

import attrs
import pytest

from mdpdice import Policy, certainly, evaluate, explore, solve
from mdpdice.errors import GameError
from mdpdice.games.pig import HoldRace, Piglet, PigRace, PigTurn, Scores, hold_at, position, turn_outcomes
from mdpdice.looks import look_of


def test_the_rule():
    rule = hold_at(20)
    assert [rule(points) for points in (0, 19, 20, 30)] == ["roll", "roll", "hold", "hold"]
    assert rule(position(50, 60, 19)) == "roll"
    assert rule(position(50, 60, 20)) == "hold"


def test_outcomes_of_a_turn():
    # One roll of 2 to 6 holds at 1; a 1 wins nothing.
    assert dict(turn_outcomes(1, 100).items()) == dict.fromkeys((0, 2, 3, 4, 5, 6), 1)
    assert turn_outcomes(20, 100).mean() == pytest.approx(8.141794893727, abs=1e-12)
    assert set(turn_outcomes(20, 100).outcomes) == {0, *range(20, 26)}
    assert set(turn_outcomes(20, 22).outcomes) == {0, 20, 21, 22}
    assert set(turn_outcomes(20, 3).outcomes) == {0, 3}
    assert turn_outcomes(20, 0) == certainly(0)


@pytest.mark.parametrize(("first", "second"), [*itertools.product((1, 8, 12, 30), repeat=2)])
def test_two_holders(first, second, oracle):
    expected = oracle.race_of_holders(first, second, 20)
    assert solve(HoldRace(first, second, goal=20)).value() == pytest.approx(expected, abs=1e-11)


@pytest.mark.parametrize(("first", "second"), [(8, 12), (12, 8), (10, 10)])
def test_the_same_by_evaluating_policies_of_the_race(first, second):
    network = explore(PigRace(goal=15))
    players = [Policy.of(network, hold_at(points)) for points in (first, second)]
    found = evaluate(network, players, epsilon=1e-9)
    assert found.value() == pytest.approx(solve(HoldRace(first, second, goal=15)).value(), abs=1e-11)
    if first == second:
        assert evaluate(network, players[0]).value() == pytest.approx(found.value(), abs=1e-11)


@pytest.mark.slow
def test_two_policies_of_the_race_to_100():
    network = explore(PigRace())
    players = [Policy.of(network, hold_at(points)) for points in (20, 25)]
    found = evaluate(network, players, epsilon=1e-9)
    assert found.value() == pytest.approx(0.520033915842, abs=1e-11)


def test_nobody_beats_the_best_play():
    network = explore(PigRace(goal=12))
    solution = solve(network)
    best = Policy.from_solution(solution)
    assert evaluate(network, best).value() == pytest.approx(solution.value(), abs=1e-11)
    for points in (5, 10):
        other = Policy.of(network, hold_at(points))
        assert evaluate(network, [best, other]).value() >= solution.value() - 1e-11
        assert evaluate(network, [other, best]).value() <= solution.value() + 1e-11


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [(20, 20, 0.534698326165), (20, 25, 0.520033915842), (25, 20, 0.543482422085), (25, 25, 0.529755588265)],
)
def test_race_to_100(first, second, value):
    assert solve(HoldRace(first, second)).value() == pytest.approx(value, abs=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(20, 25), (25, 20)])
def test_race_to_100_by_a_linear_system(first, second, oracle):
    expected = oracle.race_of_holders(first, second, 60)
    assert solve(HoldRace(first, second, goal=60)).value() == pytest.approx(expected, abs=1e-11)


def test_parameters():
    for field in attrs.fields(HoldRace):
        assert field.metadata["help"]
    assert HoldRace("20", "25", "50") == HoldRace(20, 25, 50)
    assert HoldRace().start() == Scores(0, 0, "first")
    for parameters in ({"first": 0}, {"second": -1}, {"goal": 0}):
        with pytest.raises(GameError, match="from 1 to"):
            HoldRace(**parameters)


@pytest.mark.parametrize("game", [PigTurn(), PigRace(goal=20), Piglet()])
def test_the_rule_by_its_name(game):
    rule = look_of(game).policy("hold-at:7")
    network = explore(game)
    for state in network.states:
        if network.decides[network.node_of(state)]:
            assert rule(state) == hold_at(7)(state)
    assert look_of(game).policy("hold") is None
    assert look_of(game).policy("threshold:7") is None
    assert [known.form for known in look_of(game).policies()] == ["hold-at:N"]
    for wrong in ("hold-at", "hold-at:", "hold-at:0", "hold-at:-3", "hold-at:x"):
        with pytest.raises(GameError, match="hold-at:N"):
            look_of(game).policy(wrong)
