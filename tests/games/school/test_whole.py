"""The whole game of 32,768 sets: by the lattice, by single turns through every solver, and by plain arrays."""

import random

import numpy as np
import pytest
from helpers.examples import example

from mdpdice import At, Game, cross_check, decide, end, go, roll, solve
from mdpdice.games.school import COMBINATIONS, BobGame, CrossOut, Held, Rolled, Rules, School, Score
from mdpdice.games.school.averages import scores
from mdpdice.games.school.bob import available
from mdpdice.games.school.bob_game import reachable
from mdpdice.games.school.rules import GRADES
from mdpdice.games.school.turn import multiplier, rerolls, rolled, tables

bob_losses = example("school_bob")["bob_losses"]

OPTIMUM = 132.339610477114
FREE = (*GRADES[3:], *COMBINATIONS[6:])


@pytest.fixture(scope="module")
def game():
    return School()


@pytest.fixture(scope="module")
def solution(game):
    return solve(game)


def before(names, game):
    """The state before a turn with these combinations open."""
    return At(Held((), 2), used=sum(1 << box for box, name in enumerate(game.open) if name not in names))


def test_value(solution):
    assert solution.status.value == "certified"
    assert solution.lower() <= OPTIMUM <= solution.upper()
    assert solution.value() == pytest.approx(OPTIMUM, abs=5e-12)


def test_last_turns_are_worth_their_averages(game, solution):
    from mdpdice.games.school import averages

    for name, average in averages(Rules()).items():
        assert solution.value(before((name,), game)) == pytest.approx(float(average), abs=1e-11)


# --- single turns -----------------------------------------------------------------------------------


def one_turn(names, ahead):
    """One turn as a game of its own, which ends with the value of what is open afterwards."""
    rules = Rules()

    def node(state):
        if isinstance(state, Held):
            return roll(rolled(state.dice), lambda dice: go(Rolled(dice, state.rerolls)))
        options = []
        for name in available(names):
            points = rules.score(name, state.dice)
            if points is not None:
                options.append((Score(name), end(points * multiplier(name, state.rerolls) + ahead[name])))
            if name not in GRADES:
                options.append((CrossOut(name), end(ahead[name])))
        if state.rerolls:
            options += [(again, go(Held(held, state.rerolls - 1))) for again, held in rerolls(state.dice)]
        return decide(options)

    return Game.of(start=Held((), 2), node=node)


def example_sets():
    """One set of open combinations for each number of them."""
    draw = random.Random(11)
    by_size = {}
    for names in reachable(COMBINATIONS):
        by_size.setdefault(len(names), []).append(names)
    return [draw.choice(by_size[size]) for size in sorted(by_size)]


def check_turn(names, game, solution):
    ahead = {
        name: solution.value(before([other for other in names if other != name], game)) for name in available(names)
    }
    report = cross_check(one_turn(names, ahead))
    assert report.ok, report.table()
    assert report.independent == 5
    state = before(names, game)
    for entry in report.entries:
        # The ends carry the intervals of what comes after the turn.
        assert entry.solution.lower() - 1e-9 <= solution.value(state) <= entry.solution.upper() + 1e-9


@pytest.mark.parametrize("names", [example_sets()[size - 1] for size in (2, 9, 15)], ids=len)
def test_one_turn_by_every_back_end(names, game, solution):
    check_turn(names, game, solution)


@pytest.mark.slow
@pytest.mark.parametrize("names", example_sets(), ids=len)
def test_one_turn_of_every_size_by_every_back_end(names, game, solution):
    check_turn(names, game, solution)


# --- plain arrays -------------------------------------------------------------------------------------


def plain_values():
    """Value of every set, with numpy and nothing of the library but the scores and the table of rolls."""
    table = tables()
    chance = table.becomes / table.total
    points = np.array([scores(Rules(), name)[0] for name in COMBINATIONS], dtype=float)
    values = {(): 0.0}
    for names in reversed(reachable(COMBINATIONS)):
        usable = available(names)
        boxes = [COMBINATIONS.index(name) for name in usable]
        ahead = np.array([values[tuple(other for other in names if other != name)] for name in usable])
        best = None
        for left in range(3):
            factors = np.array([multiplier(name, left) for name in usable])
            stop = (points[boxes] * factors[:, None] + ahead[:, None]).max(axis=0)
            best = stop if best is None else np.maximum(stop, table.best((chance @ best)[table.holds]))
        values[names] = float(table.first @ best / table.total)
    return values


@pytest.mark.slow
def test_all_sets_by_plain_arrays(game, solution):
    values = plain_values()
    assert values[COMBINATIONS] == pytest.approx(OPTIMUM, abs=1e-11)
    (stored,) = solution.table.stored
    for names, value in values.items():
        if names:
            assert stored[before(names, game).counters["used"]] == pytest.approx(value, abs=1e-10)


# --- Bob ----------------------------------------------------------------------------------------------


def test_bob_loses(game, solution):
    plays = BobGame()
    chain = solve(plays)
    assert chain.lower() <= 127.733620281895 <= chain.upper()
    assert solution.value() - chain.value() == pytest.approx(4.605990195219, abs=1e-10)
    assert solution.lower() - chain.upper() > 4.6059901
    # Before a turn every set has a stored value; one of them is looked up, which takes longer.
    (stored,) = solution.table.stored
    values = {names: float(stored[before(names, game).counters["used"]]) for names in plays.turns.place}
    assert values[FREE] == pytest.approx(solution.value(before(FREE, game)), abs=1e-11)
    losses = bob_losses(plays, values)
    assert losses.total == pytest.approx(solution.value() - chain.value(), abs=1e-10)
    # With two combinations left, the averages are the true prices.
    assert losses.by_turn[-2:] == pytest.approx(0, abs=1e-12)
    assert (losses.by_turn[:-2] > 0).all()
