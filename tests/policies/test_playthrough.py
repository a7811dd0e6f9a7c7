"""Single plays: what happens in them, and that on average they are worth what the network says."""

import math
import random
import statistics
from fractions import Fraction

import pytest
from helpers.small_games import three_rounds

from mdpdice import Dist, Game, Policy, chance, d6, decide, end, evaluate, explore, go, pass_to, roll, solve
from mdpdice.errors import GameError, NotConvergedError, UnknownStateError
from mdpdice.games.konijnenhokken import Konijnenhokken
from mdpdice.games.pig import PigRace, PigTurn, hold_at
from mdpdice.looks import look_of
from mdpdice.policies.playthrough import Happening, play


def totals(game, seats, n, **options):
    generator = random.Random(1)
    found = []
    for _ in range(n):
        *_, last = play(game, seats, generator, **options)
        assert last.kind in (Happening.END, Happening.CUT)
        found.append(float(last.total))
    return found


def agrees(found, value):
    return abs(statistics.mean(found) - value) <= 4 * statistics.stdev(found) / math.sqrt(len(found))


def seat(rule):
    return lambda turn: rule(turn.state)


def test_every_event():
    game = PigTurn(cap=20)
    events = list(play(game, [lambda turn: "roll"], seed=0))
    assert [event.kind.value for event in events[:4]] == ["state", "choice", "roll", "state"]
    assert events[1].among == ("hold", "roll")
    points = 0
    for event in events:
        if event.kind is Happening.STATE:
            assert event.what == points
        elif event.kind is Happening.ROLL:
            points = 0 if event.what == 1 else points + event.what
    assert events[-1].kind is Happening.END
    assert events[-1].what == events[-1].total == points
    assert list(play(game, [lambda turn: "roll"], seed=0)) == events
    assert list(play(game, [lambda turn: "roll"], seed=1)) != events


@pytest.mark.parametrize(
    ("game", "name"), [(PigTurn(), "hold-at:20"), (PigTurn(), "hold-at:4"), (PigRace(goal=15), "hold-at:6")]
)
def test_the_mean_is_the_value(game, name):
    rule = look_of(game).policy(name)
    network = explore(game)
    found = totals(game, [seat(rule)], 700)
    assert agrees(found, evaluate(network, Policy.of(network, rule)).value())


def test_two_seats():
    game = PigRace(goal=12)
    network = explore(game)
    for pair in ((3, 8), (8, 3)):
        value = evaluate(network, [Policy.of(network, hold_at(points)) for points in pair]).value()
        assert agrees(totals(game, [seat(hold_at(points)) for points in pair], 700), value)


def test_optimal_play_of_konijnenhokken():
    game = Konijnenhokken(dice=4)
    solution = solve(game)
    assert agrees(totals(game, [seat(solution.action)], 500), solution.value())


def test_maximiser_and_minimiser():
    def node(s):
        if s >= 6:
            return end(s)
        return decide({"a": roll(d6, lambda k: go(s + k)), "b": go(s + 1)}, player=s % 2)

    game = Game.of(start=0, node=node)
    network = explore(game)
    a, b = (Policy.of(network, lambda s, way=way: way) for way in "ab")
    found = totals(game, [lambda turn: "a", lambda turn: "b"], 700)
    assert agrees(found, evaluate(network, [a, b]).value())
    seen = []
    list(play(game, [lambda turn: seen.append(turn.player) or "b", lambda turn: seen.append(turn.player) or "b"], 0))
    assert seen == [0, 1, 0, 1, 0, 1]


def test_rewards_discount_and_sides():
    game = Game.of(start=0, node=three_rounds, discount=Fraction(3, 4))
    network = explore(game)
    assert agrees(totals(game, [lambda turn: "on"], 700), evaluate(network, Policy.uniform(network)).value())

    race = Game.of(start=0, node=lambda s: roll(d6, lambda k: end(k) if k > 4 else pass_to(s, reward=k)))
    network = explore(race)
    assert agrees(totals(race, [lambda turn: None], 700), evaluate(network, Policy.uniform(network)).value())


def test_horizon():
    solution = solve(PigTurn(), horizon=3)
    found = totals(PigTurn(), [lambda turn: solution.action(turn.state, steps_left=turn.steps_left)], 700, horizon=3)
    assert agrees(found, solution.value())
    events = list(play(PigTurn(), [lambda turn: "roll"], 5, horizon=2))
    assert events[-1].kind is Happening.CUT
    assert events[-1].total == 0
    assert sum(event.kind is Happening.CHOICE for event in events) == 2


def test_representatives():
    def node(s):
        return end(s) if abs(s) == 4 else decide({"on": go(-s - 1 if s > 0 else 1 - s)})

    game = Game.of(start=-2, node=node)
    game.canonical = abs
    for symmetric, expected in ((True, [2, 3, 4]), (False, [-2, 3, -4])):
        events = play(game, [lambda turn: "on"], symmetric=symmetric)
        assert [e.what for e in events if e.kind is Happening.STATE] == expected


def test_outcomes_come_up_as_often_as_they_should():
    game = Game.of(start=0, node=lambda s: chance(Dist({end(1): 1, end(5): 3})))
    assert agrees(totals(game, [lambda turn: None], 700), 4)


def test_what_cannot_be_played():
    with pytest.raises(UnknownStateError, match="no action 'stay'"):
        list(play(PigTurn(), [lambda turn: "stay"]))
    with pytest.raises(GameError, match="one or two seats"):
        play(PigTurn(), [])
    waits = Game.of(start=0, node=lambda s: decide({"on": go(0)}))
    with pytest.raises(NotConvergedError, match="use a horizon"):
        list(play(waits, [lambda turn: "on"], max_moves=50))
    broken = Game.of(start=0, node=lambda s: "nothing")
    with pytest.raises(GameError, match="neither a node nor an edge"):
        list(play(broken, [lambda turn: "on"]))
