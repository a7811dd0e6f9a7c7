"""The program that shows how `solve` works gives what the library gives, and its certificate can fail."""

from __future__ import annotations

from graphlib import CycleError

import pytest
from helpers.examples import example

from mdpdice import Game, explore, go, solve
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.konijnenhokken import Konijnenhokken
from mdpdice.games.pig import PigTurn

PROGRAM = example("solve_in_100_lines")
GAMES = {
    "pig": PigTurn(cap=50),
    "farkle": KcdFarkle(dice=2, cap=400).unrolled(),
    "konijnenhokken": Konijnenhokken(dice=3),
}


@pytest.mark.parametrize("name", GAMES)
def test_values_at_every_state(name):
    game = GAMES[name]
    net = PROGRAM["explore"](game)
    value, choice = PROGRAM["sweep"](net)
    library = solve(explore(game))
    assert set(library.network.states) == set(net.states)
    for state, node in net.states.items():
        assert value[node] == pytest.approx(library.value(state), rel=1e-12, abs=1e-12)
        if choice[node] >= 0:
            assert net.actions[node][choice[node]] in library.ties(state)
    assert PROGRAM["certify"](net, value, choice, error=1e-10)


def test_wrong_answers_are_not_certified():
    net = PROGRAM["explore"](GAMES["pig"])
    value, choice = PROGRAM["sweep"](net)
    for off in (1e-6, -1e-6):
        assert not PROGRAM["certify"](net, value + off, choice, error=1e-10)
    worse = choice.copy()
    worse[net.states[40]] = net.actions[net.states[40]].index("roll")
    assert not PROGRAM["certify"](net, value, worse, error=1e-10)


def test_cycles_are_refused():
    net = PROGRAM["explore"](Game.of(start=0, node=lambda n: go(1 - n)))
    with pytest.raises(CycleError):
        PROGRAM["sweep"](net)
