"""Layers that lead to themselves are settled with few sweeps, and to the numbers that plain sweeps come to."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from helpers.counter_games import Race

from mdpdice import At, Counter, Game, Status, Total, d6, decide, die, end, explore, go, pass_to, roll, solve, when
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.games.farkle import FarkleRace
from mdpdice.games.konijnenhokken import KonijnenhokkenRace
from mdpdice.games.pig import PigRace
from mdpdice.numerics.kernels.feedback import BROYDEN_UP_TO_FEEDBACK


@attrs.frozen
class Ring(Game[str, str]):
    """Walk round a ring of places, for a point each step, until a six ends it all, or stop for a payoff."""

    places: int
    at = Counter(lambda game: range(game.places))

    def start(self):
        return "here"

    def node(self, state):
        def walk(face, far):
            if face == 6:
                return end(0)
            return go(state, self.at.set((self.at * self.at + far * face + 1) % self.places), reward=1)

        return decide(
            {
                "stop": end(7 * self.at * self.at % 13),
                "stroll": roll(d6, lambda face: walk(face, 1)),
                "run": roll(d6, lambda face: walk(face, 5)),
            }
        )


@attrs.frozen
class Uneven(Race):
    """The second player rolls a larger die."""

    def start(self):
        return 6

    def node(self, state):
        swap = (14 - state, self.mine.set(self.theirs), self.turn.set(0))
        bust = pass_to(*swap, self.theirs.set(self.mine))
        return when(
            self.mine + self.turn >= self.goal,
            end(1),
            decide(
                {
                    "hold": pass_to(*swap, self.theirs.set(self.mine + self.turn)),
                    "roll": roll(die(state), lambda k: bust if k < 5 else go(state, self.turn.add(min(k, 6)))),
                }
            ),
        )


def plain_and_quick(game, monkeypatch, objective=None):
    """Solutions by sweeps alone, and by what sweeps read too early."""
    quick = solve(compile_lattice(game), objective)
    with monkeypatch.context() as patch:
        patch.setattr("mdpdice.lattices.layer_solver.PLAIN_AFTER_SWEEPS", 0)
        return solve(compile_lattice(game), objective), quick


@pytest.mark.parametrize(
    "game", [PigRace(goal=50), FarkleRace(target=400, dice=1), KonijnenhokkenRace(target=6, dice=3)], ids=repr
)
def test_races_take_few_sweeps(game, monkeypatch):
    plain, quick = plain_and_quick(game, monkeypatch)
    assert quick.status is Status.CERTIFIED
    assert quick.iterations <= 9 < plain.iterations
    assert np.nanmax(np.abs(quick.table.stored - plain.table.stored)) < 1e-13


def test_sides_that_differ_take_no_more_sweeps_than_equal_ones(monkeypatch):
    # Two values at each of two points are read early, and each of the four depends on one other.
    plain, quick = plain_and_quick(Uneven(30), monkeypatch)
    assert quick.status is Status.CERTIFIED
    assert quick.iterations <= 7 < plain.iterations
    assert np.nanmax(np.abs(quick.table.stored - plain.table.stored)) < 1e-13


@pytest.mark.parametrize("places", [3, 7, BROYDEN_UP_TO_FEEDBACK - 1, 30])
def test_values_that_depend_on_many_others(places, monkeypatch):
    # The last ring has more feedback than is looked at.
    plain, quick = plain_and_quick(Ring(places), monkeypatch)
    exact = solve(explore(Ring(places)), solver="exact")
    for solution in (plain, quick):
        assert solution.status is Status.CERTIFIED
        for state in exact.network.states:
            assert solution.lower(state) <= exact.exact(state) <= solution.upper(state)
    assert (quick.iterations < plain.iterations) == (places < BROYDEN_UP_TO_FEEDBACK)


def test_endless_plays_stay_worth_half_of_the_total(monkeypatch):
    # Nobody wants to win, so both hold for ever.
    plain, quick = plain_and_quick(Race(6), monkeypatch, Total("min"))
    assert plain.estimate() == quick.estimate() == 0.5
    assert quick.estimate(At("turn", mine=2, theirs=3, turn=0)) == 0.5


@pytest.mark.parametrize("sweeps", [1, 2])
def test_limits_of_sweeps_are_kept(sweeps, monkeypatch):
    told = []
    monkeypatch.setattr("mdpdice.solving.lattice_route.MAX_SWEEPS", sweeps)
    with pytest.raises(Exception, match=f"after {sweeps} sweeps") as caught:
        solve(compile_lattice(Race(10)), progress=lambda *step: told.append(step))
    assert caught.value.iterations == sweeps
    assert 0 < caught.value.width < 1
