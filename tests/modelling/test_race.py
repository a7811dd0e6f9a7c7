"""`race` makes the race for two of a game that is one turn."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import attrs
import pytest
from helpers.examples import example

from mdpdice import (
    At,
    Counter,
    Dist,
    Flags,
    Game,
    cross_check,
    d6,
    decide,
    end,
    explore,
    go,
    pass_to,
    race,
    roll,
    solve,
    uncertain,
    when,
)
from mdpdice.errors import CounterRangeError, GameError
from mdpdice.games.pig import PigRace, PigTurn, position
from mdpdice.testing import check_game


@attrs.frozen
class Turn(Game[str, str]):
    """A turn of Pig whose points are a counter."""

    most: int = 100
    points = Counter(lambda game: range(game.most + 6))

    def start(self):
        return "turn"

    def node(self, state):
        again = roll(d6, lambda k: end() if k == 1 else go(state, self.points.add(k)))
        return decide({"hold": end(self.points), "roll": again})


def test_pig_to_100_on_the_lattice():
    """Neller and Presser (2004) have this value; it takes as long as the shipped race."""
    solution = solve(race(Turn(), 100))
    assert solution.value() == pytest.approx(0.530592725274, abs=1e-8)
    assert solution.provenance.solver == solve(PigRace()).provenance.solver == "layer-sweeps"


@pytest.mark.parametrize(("file", "value"), [("two_dice_pig", 0.537558982148223), ("hog", 0.536156696742931)])
def test_races_of_the_examples(file, value):
    solution = solve(example(f"games/{file}")[file])
    assert solution.status.value == "certified"
    assert solution.value() == pytest.approx(value, abs=1e-12)


def test_every_position_of_pig():
    """The same states as the shipped race, each of the same value."""
    counted, shipped = solve(race(Turn(), 15)), solve(PigRace(goal=15))
    for state in shipped.network.states:
        scores = dict(state.counters)
        there = At("turn", mine=scores["mine"], theirs=scores["theirs"], points=scores["turn"])
        assert counted.value(there) == pytest.approx(shipped.value(state), abs=1e-9)
    decided = [state for state in counted.network.states if counted.network.decides[counted.network.node_of(state)]]
    assert len(decided) == len(shipped.network.states)


def test_points_of_a_turn_as_states():
    """That is slower, and the same race."""
    as_states, shipped = solve(race(PigTurn(), 15)), solve(PigRace(goal=15))
    for mine, theirs, points in [(0, 0, 0), (3, 9, 5), (12, 2, 2), (0, 14, 13)]:
        value = as_states.value(At(points, mine=mine, theirs=theirs))
        assert value == pytest.approx(shipped.value(position(mine, theirs, points)), abs=1e-9)


def test_a_class_is_as_good_as_a_game():
    assert solve(race(PigTurn, 12)).value() == solve(race(PigTurn(), 12)).value()
    assert repr(race(Turn(most=30), 20)) == "Race(turn=Turn(most=30), target=20)"


def test_a_race_is_a_game_like_any_other():
    game = race(Turn(most=8), 8)
    assert check_game(game, sample=100).passed
    report = cross_check(game, at_least={"independent": 2})
    assert report.ok, report


@attrs.frozen
class Boxes(Game[int, int]):
    """One throw, of which three or more may fill one of three boxes."""

    used = Flags(3)
    throws = Counter(range(3), start=1)
    theirs = Counter(range(100))

    def start(self):
        return 0

    def node(self, face):
        if face == 0:
            return when(self.throws == 2, end(1 + self.used.count() + (self.theirs > 3)), roll(d6, go))
        boxes = range(3 if face > 2 else 0)
        fill = [(box, when(~self.used[box], go(0, self.used.add(box), self.throws.add(1)))) for box in boxes]
        return decide([*fill, (3, go(0, self.throws.add(1)))])


def test_flags_starts_and_the_score_of_the_opponent():
    """Every turn begins with free boxes; it is worth a point, one more for a box, and one if the opponent has four."""

    @cache
    def chance(mine: int, theirs: int) -> Fraction:
        worst = mine + 1 + (theirs > 3)
        low, high = (1 - chance(theirs, after) if after < 6 else Fraction(1) for after in (worst, worst + 1))
        return low / 3 + max(low, high) * 2 / 3  # four points help the opponent

    assert solve(race(Boxes(), 6), solver="exact").exact() == chance(0, 0)
    network = explore(race(Boxes(), 6))
    begun = [state for state in network.states if state.state == 0 and state.counters["throws"] == 1]
    assert begun
    assert all(state.counters["used"] == 0 for state in begun)


class Paired(Game[tuple[int, int], str]):
    """Two dice, of which either may be banked; their order is of no matter."""

    def start(self):
        return (0, 0)

    def node(self, state):
        if state == (0, 0):
            return roll(d6, d6, lambda a, b: go((a, b)))
        return decide({"low": end(min(state)), "high": end(max(state))})

    def canonical(self, state):
        return tuple(sorted(state))


def test_states_that_the_turn_makes_equal():
    game = race(Paired, 7)
    cores = {state.state for state in explore(game).states}
    assert cores == {(0, 0), *((a, b) for a in range(1, 7) for b in range(a, 7))}


@pytest.mark.parametrize("paid", [go(0, reward=1), roll(d6, end, reward=2), pass_to(0), 7])
def test_what_a_turn_may_not_do(paid):
    with pytest.raises(GameError, match=r"in a turn, which moves by go\(\) and pays points by end\(\) alone"):
        solve(race(Game.of(start=0, node=lambda _: paid), 3))


def test_rewards_over_counters_are_refused_too():
    class Paying(Turn):
        def node(self, state):
            return go(state, reward=self.points)

    with pytest.raises(GameError, match=r"race\(\): go\('turn', reward=points\) in a turn"):
        solve(race(Paying(), 3))


def test_points_are_whole_numbers_and_scores_do_not_fall_below_0():
    with pytest.raises(GameError, match="counters are whole numbers"):
        solve(race(Game.of(start=0, node=lambda _: end(2.5)), 3))
    with pytest.raises(CounterRangeError, match="'theirs' would become -1"):
        solve(race(Game.of(start=0, node=lambda _: end(-1)), 3))


@pytest.mark.parametrize("target", [0, -3, 2.5, "20"])
def test_targets(target):
    with pytest.raises(GameError, match="counter 'mine'"):
        solve(race(PigTurn(), target))


def test_dice_that_nobody_knows():
    """Nature picks the die, against the player who throws: one throw a turn, to 3."""

    def node(_):
        return uncertain(Dist({1: 1, 2: 1}), Dist({1: 3, 2: 1}), then=end)

    @cache
    def chance(mine: int, theirs: int) -> Fraction:
        one, two = (Fraction(1) if mine + k >= 3 else 1 - chance(theirs, mine + k) for k in (1, 2))
        return min((one + two) / 2, (3 * one + two) / 4)

    assert solve(race(Game.of(start=0, node=node), 3), solver="exact").exact() == chance(0, 0)
