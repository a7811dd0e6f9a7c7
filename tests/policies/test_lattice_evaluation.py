"""Rules on lattices against policies on flat networks, and second moments against whole distributions."""

from __future__ import annotations

import pytest
from helpers.counter_games import Race, Sheet

from mdpdice import (
    Counter,
    Game,
    Policy,
    compile_lattice,
    d6,
    end,
    evaluate,
    explore,
    go,
    outcomes,
    roll,
    solve,
    when,
)
from mdpdice.errors import GameError, UnknownStateError, UnsupportedError
from mdpdice.games.yahtzee import Yahtzee


def assert_same(game, rule, function):
    network = explore(game)
    flat = evaluate(network, Policy.of(network, function))
    found = evaluate(compile_lattice(game), rule)
    assert found.proved
    compared = 0
    for state in network.states:
        try:
            number = found.value(state)
        except UnknownStateError:
            continue  # the rule does not lead there
        assert number == pytest.approx(flat.value(state), abs=1e-9)
        compared += 1
    assert compared > 10
    assert found.value() == pytest.approx(flat.value(), abs=1e-10)


def test_thresholds_on_a_race():
    game = Race(12)
    assert_same(
        game,
        lambda core: {"hold": game.turn >= 5, "roll": 0.5},
        lambda state: "hold" if state.counters["turn"] >= 5 else "roll",
    )


def test_scores_take_the_best_action_that_is_there():
    game = Sheet()

    def function(state):
        if state.counters["penalty"] == 0 and state.state < 3:
            return 9
        return max(box for box in range(4) if not state.counters["boxes"] >> box & 1)

    def rule(face):
        return {**{box: box for box in range(4)}, 9: 10 * (game.penalty == 0) if face < 3 else -1}

    assert_same(game, rule, function)


def test_ties_go_to_the_first():
    game = Sheet()
    assert_same(
        game,
        lambda face: dict.fromkeys(range(4), 0),
        lambda state: min(box for box in range(4) if not state.counters["boxes"] >> box & 1),
    )


def test_rules_that_do_not_fit():
    lattice = compile_lattice(Race(5))
    with pytest.raises(UnknownStateError, match="hold"):
        evaluate(lattice, lambda core: "stop")
    with pytest.raises(GameError, match="ZeroDivisionError"):
        evaluate(lattice, lambda core: 1 / 0)
    with pytest.raises(GameError, match="not available"):
        evaluate(compile_lattice(Sheet()), lambda face: 0)
    with pytest.raises(UnsupportedError, match="rule"):
        evaluate(lattice, Policy.uniform(explore(Race(5))))
    with pytest.raises(UnsupportedError, match="compile_lattice"):
        evaluate(explore(Race(5)), lambda state: "roll")


def test_deviation():
    network = explore(Sheet(), merge=False)
    whole = outcomes(network, Policy.from_solution(solve(network)))
    assert solve(compile_lattice(Sheet())).deviation() == pytest.approx(float(whole.sd), abs=1e-9)
    with pytest.raises(UnsupportedError, match="cycles"):
        solve(compile_lattice(Race(5))).deviation()


@pytest.mark.slow
def test_deviation_of_yahtzee():
    # P. Woodward, "Yahtzee: the solution", Chance 16:1 (2003): 59.61.
    assert round(solve(Yahtzee("verhoeff", "only-when-both-filled")).deviation(), 2) == 59.61


class Thrown(Game[int, int]):
    """Two throws that are added up on the way, where no decision tells them apart."""

    throws = Counter(range(3))

    def start(self):
        return 0

    def node(self, state):
        return when(self.throws == 2, end(), roll(d6, lambda k: go(0, self.throws.add(1), reward=k)))


def test_deviation_needs_rewards_that_were_kept_apart():
    with pytest.raises(UnsupportedError, match="merge=False"):
        solve(compile_lattice(Thrown())).deviation()
    apart = solve(compile_lattice(Thrown(), merge=False))
    assert apart.deviation() == pytest.approx((2 * 35 / 12) ** 0.5, abs=1e-12)
