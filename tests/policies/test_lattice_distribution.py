"""Distributions of totals on lattices, against the same game written out, in rational numbers."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.counter_games import Race, Sheet

from mdpdice import (
    Counter,
    Game,
    Policy,
    Total,
    compile_lattice,
    d6,
    decide,
    end,
    explore,
    go,
    outcomes,
    roll,
    solve,
    uniform,
    when,
)
from mdpdice.errors import GameError, UnknownStateError, UnsupportedError
from mdpdice.games.farkle import KcdFarkle
from mdpdice.policies.distribution import deviation
from mdpdice.policies.lattice_distribution import lattice_outcomes


@attrs.frozen
class Steps(Game[int, int]):
    """Go up by a die, or by two and a half points for each of its eyes; layers are left out on the way."""

    cap: int = 9
    height = Counter(lambda game: range(game.cap), outside="clip")

    def start(self):
        return 0

    def node(self, face):
        if face:
            return decide([(k, go(0, self.height.add(k), reward=Fraction(5, 2) * k)) for k in {face: 0, 7 - face: 0}])
        return when(self.height == self.cap - 1, end(self.height * Fraction(1, 3)), roll(d6, go))


GAMES = {"sheet": Sheet(), "steps": Steps(), "farkle": KcdFarkle(cap=400, dice=3)}


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("sense", ["max", "min"])
def test_totals_are_those_of_the_network(name, sense):
    game = GAMES[name]
    network = explore(game, merge=False)
    objective = Total(sense)
    expected = outcomes(network, Policy.from_solution(solve(network, objective)), exact=True).exact
    solution = solve(compile_lattice(game, merge=False), objective)
    found = outcomes(solution.lattice, solution)
    chances = dict(zip(found.totals.tolist(), found.chances.tolist(), strict=True))
    assert set(chances) == {float(total) for total in expected}
    for total, chance in expected.items():
        assert chances[float(total)] == pytest.approx(float(chance), abs=1e-14)
    assert found.chances.sum() == pytest.approx(1.0, abs=1e-13)
    assert solution.lower() - 1e-12 <= found.mean <= solution.upper() + 1e-12
    assert found.sd == pytest.approx(deviation(solution.lattice, solution), rel=1e-9)


def test_a_rule():
    def rule(state):
        return min(state.state, 7 - state.state)

    game = Steps()
    network = explore(game, merge=False)
    plain = outcomes(network, Policy.of(network, rule))
    found = outcomes(compile_lattice(game, merge=False), rule)
    assert found.totals.tolist() == plain.totals.tolist()
    assert found.chances == pytest.approx(plain.chances, abs=1e-14)


def test_what_is_left_out_is_told(monkeypatch):
    monkeypatch.setattr("mdpdice.policies.lattice_distribution.LEAST", 1e-3)
    monkeypatch.setattr("mdpdice.policies.lattice_distribution.PIECE", 2)
    solution = solve(compile_lattice(Sheet()))
    found = lattice_outcomes(solution.table)
    assert found.missing > 1e-3
    assert found.missing + found.chances.sum() == pytest.approx(1.0, abs=1e-13)


@attrs.frozen
class Ties(Game[int, int]):
    """Options with the same mean and different spreads, after some that are worth less."""

    options: int
    best: int
    left = Counter(range(2))

    def start(self):
        return 0

    def node(self, _):
        def option(k):
            mean = 10 if k >= self.best else 9
            # Halves, so that equal means are equal in floats too.
            return roll(uniform([-1, 1]), lambda side: go(0, self.left.add(1), reward=mean + (k + 1) * side))

        return when(self.left == 1, end(), decide([(k, option(k)) for k in range(self.options)]))


@pytest.mark.parametrize(("options", "best"), [(n, k) for n in range(1, 10) for k in range(n)])
def test_of_the_best_options_the_first_is_taken(options, best):
    solution = solve(compile_lattice(Ties(options, best), merge=False))
    found = outcomes(solution.lattice, solution)
    assert found.totals.tolist() == [9.0 - best, 11.0 + best]
    assert found.chances.tolist() == [0.5, 0.5]


class Paid(Game[int, str]):
    """A reward inside the core, between two nodes of one point."""

    left = Counter(range(3))

    def start(self):
        return 0

    def node(self, state):
        if state:
            return when(self.left == 2, end(0), go(0, self.left.add(1)))
        return roll(d6, lambda face: go(1, reward=face))


class Tenths(Game[int, str]):
    """A payoff that is no fraction of a small denominator."""

    left = Counter(range(3))

    def start(self):
        return 0

    def node(self, _):
        return when(self.left == 2, end(0.1), go(0, self.left.add(1)))


def test_two_totals_follow_from_the_mean():
    race = solve(compile_lattice(Race(6)))
    found = outcomes(race.lattice, race)
    network = explore(Race(6))
    whole = outcomes(network, solve(network))
    assert (found.totals == whole.totals).all()
    assert found.chances == pytest.approx(whole.chances, abs=1e-9)
    assert found.prob(0) == pytest.approx(1 - race.value(), abs=1e-12)


class Stakes(Race):
    """A race in which every eye is worth something, too."""

    def node(self, state):
        roll_on = roll(d6, lambda k: go(state, self.turn.add(k), reward=k))
        return when(self.turn == 0, decide({"roll": roll_on}), super().node(state))


def test_refusals():
    race = solve(compile_lattice(Stakes(6), merge=False))
    with pytest.raises(UnsupportedError, match="leads to itself"):
        outcomes(race.lattice, race)
    sheet = solve(compile_lattice(Sheet()))
    for options in ({"exact": True}, {"state": sheet.start}):
        with pytest.raises(UnsupportedError, match=r"outcomes\(explore"):
            outcomes(sheet.lattice, sheet, **options)
    with pytest.raises(UnknownStateError, match="not in the core of this game"):
        outcomes(race.lattice, sheet)
    apart = explore(Sheet(), merge=False)
    assert outcomes(apart, sheet).mean == pytest.approx(sheet.value(), abs=1e-9)
    paid = solve(compile_lattice(Paid(), merge=False))
    with pytest.raises(UnsupportedError, match="no counter changes"):
        outcomes(paid.lattice, paid)
    tenths = solve(compile_lattice(Tenths()))
    with pytest.raises(UnsupportedError, match="as Fractions"):
        outcomes(tenths.lattice, tenths)
    with pytest.raises(GameError, match="is not a policy"):
        outcomes(sheet.lattice, np.zeros(3))
