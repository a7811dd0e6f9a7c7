"""One turn of Pig."""

from fractions import Fraction

import attrs
import pytest

from mdpdice import Policy, cross_check, evaluate, explore, solve
from mdpdice.errors import GameError
from mdpdice.games.pig import PigTurn, hold_at
from mdpdice.looks import look_of

BEST = 8.141794893727


@pytest.fixture(scope="module")
def solution():
    return solve(PigTurn())


def test_value_and_play(solution, oracle):
    assert solution.value() == pytest.approx(BEST, abs=1e-12)
    assert solution.value() == pytest.approx(float(oracle.turn_of_holder(20)), rel=1e-14)
    assert [solution.action(points) for points in range(2, 100)] == ["roll"] * 18 + ["hold"] * 80
    # At 20 a roll gains and loses the same.
    assert solution.ties(20) == ["hold", "roll"]
    assert look_of(PigTurn()).summary(solution) == ["roll until at least 20 points are at risk, then hold"]
    assert look_of(PigTurn()).notes() == []


def test_the_best_number_to_hold_at(oracle):
    worth = {points: oracle.turn_of_holder(points) for points in range(1, 100)}
    best = max(worth.values())
    assert [points for points in worth if worth[points] == best] == [20, 21]
    assert float(best) == pytest.approx(BEST, abs=1e-12)


@pytest.mark.parametrize("points", [1, 10, 20, 25, 60])
def test_holding_at_some_points(points, oracle):
    network = explore(PigTurn())
    evaluation = evaluate(network, Policy.of(network, hold_at(points)), exact=True)
    assert evaluation.exact() == oracle.turn_of_holder(points)


@pytest.mark.parametrize("cap", [20, 21, 1000])
def test_any_cap_from_20_on_will_do(cap, solution):
    assert solve(PigTurn(cap=cap)).value() == pytest.approx(solution.value(), rel=1e-14)


def test_a_lower_cap_ends_turns_too_early(solution):
    game = PigTurn(cap="19")
    lower = solve(game)
    assert lower.upper() < solution.lower()
    assert "should go on" in look_of(game).notes()[0]
    assert look_of(game).summary(lower) == []


def test_options():
    game = PigTurn()
    node = game.node(12)
    assert node.actions == ["hold", "roll"]
    assert repr(node.options[0]) == "end(12)"
    assert [repr(edge) for edge in node.options[1].edges] == ["end(0)", *(f"go({n})" for n in range(14, 19))]
    assert node.options[1].dist.probabilities() == pytest.approx([1 / 6] * 6)
    assert repr(game.node(100)) == "end(100)"


def test_all_back_ends_agree():
    report = cross_check(PigTurn())
    assert report.ok, report.table()
    assert report.independent >= 3


def test_no_summary_of_bounded_turns():
    game = PigTurn()
    bounded = solve(game, horizon=1)
    assert look_of(game).summary(bounded) == []
    assert Fraction(bounded.value(steps_left=1)) == 0


def test_parameters():
    for field in attrs.fields(PigTurn):
        assert field.metadata["help"]
    assert PigTurn(cap="50") == PigTurn(cap=50)
    with pytest.raises(GameError, match="from 1 to"):
        PigTurn(cap=0)
