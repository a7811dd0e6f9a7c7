"""Rules of a few lines, and what they lose."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction

import numpy as np
import pytest

from mdpdice import At, Game, Policy, decide, end, evaluate, explore, go, roll, solve, uniform
from mdpdice.errors import UnsupportedError
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import Piglet, PigRace, PigTurn
from mdpdice.games.yahtzee import Yahtzee
from mdpdice.policies.explanation import explain


def test_hold_from_20():
    found = explain(PigTurn(), size=1)
    assert found.lines == ("hold from 20", "otherwise roll")
    assert found.loss == pytest.approx(0, abs=1e-12)
    # The same with any smaller number of lines that is possible: none is not.
    assert explain(PigTurn(), size=0).lines == ("otherwise roll",)
    assert repr(found).endswith("loses 0 of 8.141794894")


def test_the_loss_is_that_of_evaluate():
    game = KcdFarkle(dice=5, cap=1000)
    solution = solve(explore(game))
    losses = []
    for size in range(4):
        found = explain(game, solution, size=size)
        assert len(found.lines) <= size + 1
        value = evaluate(solution.network, found.policy).value()
        assert found.loss == pytest.approx(solution.value() - value, abs=1e-9)
        losses.append(found.loss)
    assert losses == sorted(losses, reverse=True)
    assert losses[3] < 0.01 * solution.value() < losses[0]


def test_the_race_of_pig():
    """Every rule "hold from so many points" loses more than one with the difference of the scores."""
    game = PigRace(goal=40)
    solution = solve(explore(game))
    network = solution.network

    def lost(policy):
        return solution.value() - evaluate(network, (policy, solution.policy)).value()

    plain = [
        lost(Policy.of(network, lambda at, n=points: "hold" if at.counters["turn"] >= n else "roll"))
        for points in (16, 24, 40)
    ]
    found = explain(game, solution, size=1)
    assert 0 <= found.loss < min(plain)
    assert found.loss == pytest.approx(lost(found.policy), abs=1e-12)
    # The line says what the policy does.
    first, last = found.lines
    told = re.fullmatch(r"hold if turn >= (\d+) \+ \(mine - theirs\)(?: / (\d+))? and theirs <= (\d+)", first)
    assert last == "otherwise roll"
    least, slope, most = (int(number or 1) for number in told.groups())
    for at in itertools.islice(network.states, 0, None, 7):
        mine, theirs, turn = (at.counters[name] for name in ("mine", "theirs", "turn"))
        holds = turn >= least + Fraction(mine - theirs, slope) and theirs <= most
        assert (found.policy.action(at) == "hold") == holds


def test_the_last_box_of_yahtzee():
    game = Yahtzee()
    last = game.at(At(game.start(), boxes=0b0111111111111, upper=40, fifty=0))
    found = explain(last, size=1)
    assert found.lines == ("keep the most equal wherever that is offered", "otherwise what pays most at once")
    assert found.loss == pytest.approx(0, abs=1e-9)


def test_costs_and_signs():
    class Cheap(Game):
        sense = "min"

        def start(self):
            return 6

        def node(self, price):
            return (
                decide({"pay": end(price), "wait": roll(uniform(range(1, 7)), lambda k: go((k, "take")))})
                if (not isinstance(price, tuple))
                else end(price[0] + 1)
            )

    found = explain(Cheap(), size=1)
    assert found.loss == 0
    assert found.evaluated.value() == 4.5


def test_what_cannot_be_explained():
    with pytest.raises(UnsupportedError, match="no stages"):
        explain(PigTurn(), solve(PigTurn(), horizon=3))
    assert explain(Piglet(goal=3)).loss == pytest.approx(0, abs=1e-12)
    assert np.isfinite(explain(PigTurn(cap=1)).loss)
