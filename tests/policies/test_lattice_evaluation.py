"""Rules on lattices against policies on flat networks, and second moments against whole distributions."""

from __future__ import annotations

import pytest
from helpers.counter_games import Race, Sheet

from mdpdice import (
    At,
    Counter,
    Dist,
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
from mdpdice.policies.distribution import deviation


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
    for rule in (
        lambda state: {"hold": game.turn >= 5, "roll": 0.5},
        lambda state: {"hold": state.counters["turn"] >= 5, "roll": 0.5},
        lambda state: "hold" if state.counters["turn"] >= 5 else "roll",
        # No expression says this, so every point is asked about.
        lambda state: "hold" if int(state.counters["turn"]) >= 5 else "roll",
    ):
        assert_same(game, rule, lambda state: "hold" if state.counters["turn"] >= 5 else "roll")


def test_what_can_be_followed_is_asked_once_about_every_core_state():
    game, asked = Race(12), []

    def rule(state):
        asked.append(state)
        mine, theirs, turn = (state.counters[name] for name in ("mine", "theirs", "turn"))
        return "hold" if turn >= 5 and (mine >= theirs or turn + mine > 9) else "roll"

    evaluate(compile_lattice(game), rule)
    assert len(asked) < 10
    assert_same(game, rule, rule)


def test_chance_decides():
    game = Race(10)

    def rule(state):
        half = Dist({"hold": 1, "roll": 1})
        return half if state.counters["turn"] >= 4 else Dist({"hold": 1, "roll": 3})

    assert_same(game, rule, rule)
    network = explore(game)
    wild = evaluate(network, Policy.uniform(network))
    assert evaluate(compile_lattice(game), "random").value() == pytest.approx(wild.value(), abs=1e-10)


def test_each_player_has_a_policy():
    game = Race(12)
    network, lattice = explore(game), compile_lattice(game)

    def bold(state):
        return "hold" if state.counters["turn"] >= 8 else "roll"

    def meek(state):
        return "hold" if state.counters["turn"] >= 3 else "roll"

    flat, large = solve(network), solve(lattice)
    for pair in ((bold, meek), (meek, bold), ("random", meek)):
        expected = evaluate(network, pair)
        found = evaluate(lattice, pair)
        assert found.proved
        for state in network.states:
            try:
                number = found.value(state)
            except UnknownStateError:
                continue
            assert number == pytest.approx(expected.value(state), abs=1e-9)
    for other in (bold, large, flat):
        expected = evaluate(network, (flat, flat if other in (large, flat) else other))
        assert evaluate(lattice, (large, other)).value() == pytest.approx(expected.value(), abs=1e-9)


def test_a_solution_is_worth_its_own_value():
    for game in (Race(9), Sheet()):
        solution = solve(compile_lattice(game))
        found = evaluate(compile_lattice(game), solution)
        assert found.value() == pytest.approx(solution.value(), abs=1e-10)
        assert found.policy.rule is solution


def test_scores_take_the_best_action_that_is_there():
    game = Sheet()

    def function(state):
        if state.counters["penalty"] == 0 and state.state < 3:
            return 9
        return max(box for box in range(4) if not state.counters["boxes"] >> box & 1)

    def rule(state):
        return {**{box: box for box in range(4)}, 9: 10 * (game.penalty == 0) if state.state < 3 else -1}

    assert_same(game, rule, function)
    assert_same(game, function, function)


def test_ties_go_to_the_first():
    game = Sheet()
    assert_same(
        game,
        lambda state: dict.fromkeys(range(4), 0),
        lambda state: min(box for box in range(4) if not state.counters["boxes"] >> box & 1),
    )


def test_rules_that_do_not_fit(monkeypatch):
    lattice = compile_lattice(Race(5))
    with pytest.raises(UnknownStateError, match="hold"):
        evaluate(lattice, lambda state: "stop")
    with pytest.raises(GameError, match="ZeroDivisionError") as caught:
        evaluate(lattice, lambda state: 1 // (state.counters["turn"] - state.counters["turn"]))
    assert isinstance(caught.value.state, At)
    with pytest.raises(GameError, match="not available"):
        evaluate(compile_lattice(Sheet()), lambda state: 0)
    monkeypatch.setattr("mdpdice.policies.lattice_evaluation.POINTWISE_UP_TO_POINTS", 10)
    with pytest.raises(UnsupportedError, match="comparisons and sums"):
        evaluate(lattice, Policy.of(explore(Race(5)), lambda state: "roll"))


def test_deviation():
    network = explore(Sheet(), merge=False)
    whole = outcomes(network, Policy.from_solution(solve(network)))
    lattice = compile_lattice(Sheet())
    assert deviation(lattice, solve(lattice)) == pytest.approx(float(whole.sd), abs=1e-9)
    with pytest.raises(UnsupportedError, match="cycles"):
        deviation(compile_lattice(Race(5)), solve(compile_lattice(Race(5))))


@pytest.mark.slow
def test_deviation_of_yahtzee():
    # P. Woodward, "Yahtzee: the solution", Chance 16:1 (2003): 59.61.
    lattice = compile_lattice(Yahtzee("verhoeff", "only-when-both-filled"))
    assert round(deviation(lattice, solve(lattice)), 2) == 59.61


class Thrown(Game[int, int]):
    """Two throws that are added up on the way, where no decision tells them apart."""

    throws = Counter(range(3))

    def start(self):
        return 0

    def node(self, state):
        return when(self.throws == 2, end(), roll(d6, lambda k: go(0, self.throws.add(1), reward=k)))


def test_deviation_needs_rewards_that_were_kept_apart():
    with pytest.raises(UnsupportedError, match="merge=False"):
        deviation(compile_lattice(Thrown()), solve(compile_lattice(Thrown())))
    apart = solve(compile_lattice(Thrown(), merge=False))
    assert deviation(apart.lattice, apart) == pytest.approx((2 * 35 / 12) ** 0.5, abs=1e-12)
