"""Plays in words: what is said of every event, and the chance that a roll loses the turn."""

from __future__ import annotations

import random
import re
from fractions import Fraction

import pytest

from mdpdice import Game, chance, d6, decide, end, go, pass_to, roll, uniform
from mdpdice.games.farkle import FarkleRace, KcdFarkle
from mdpdice.games.knucklebones import Knucklebones
from mdpdice.games.konijnenhokken import Konijnenhokken, KonijnenhokkenRace
from mdpdice.games.pig import Piglet, PigRace, PigTurn
from mdpdice.games.school import School, SchoolCombination
from mdpdice.games.yahtzee import Yahtzee
from mdpdice.games.yatzy import Yatzy
from mdpdice.looks import Look, look_of
from mdpdice.policies.playthrough import Event, Happening, play
from mdpdice.policies.telling import Teller, paid, risk

SHIPPED = [
    PigTurn(),
    PigRace(goal=20),
    Piglet(),
    KcdFarkle(),
    KcdFarkle(dice="Lucky die, Lucky die, Odd die"),
    FarkleRace(target=1000),
    Konijnenhokken(),
    KonijnenhokkenRace(target=30),
    Knucklebones(),
    Knucklebones(columns=2, rows=2, payoff="points"),
    School(),
    SchoolCombination(combination="pair"),
    Yahtzee(),
    Yatzy(),
]


def told(game, seat, seed=1, who=("", ""), people=(False, False), **options):
    teller = Teller(look_of(game), who, people)
    return [line for event in play(game, [seat], seed, **options) for line in teller.lines(event)]


# Menus have no words but those of the game's own look.
LOOKS = [look_of(game) for game in SHIPPED]
LOOKS += [Look(game) for game in SHIPPED if not isinstance(game, KcdFarkle | FarkleRace)]


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: f"{type(look).__name__} of {type(look.game).__name__}")
def test_words_for_everything(look):
    game = look.game
    for seed in range(4):
        generator = random.Random(seed)
        teller, ends = Teller(look, ("one", "two")), []
        for event in play(game, [lambda turn, at=generator: at.choice(turn.actions)], seed):
            lines = list(teller.lines(event))
            assert all(line.strip() for line in lines)
            assert not re.search(r"[{}<>]|Menu|At\(|[A-Z]\w*\(\w", " ".join(lines)), lines
            ends = lines or ends
        assert ends


def test_lines_of_a_turn():
    assert told(PigTurn(), lambda turn: "hold" if turn.state >= 8 else "roll", seed=5) == [
        "  [this turn: 0 at risk]",
        "roll → 5",
        "roll → 3",
        "hold 8 points",
        "total 8",
    ]
    assert told(PigTurn(), lambda turn: "roll", seed=5)[-2:] == ["roll → 1: bust", "total 0"]


def test_throws_one_after_the_other_are_one_line():
    lines = told(Yahtzee(), lambda turn: turn.actions[0], seed=2)
    assert re.fullmatch(r"roll → [1-6](, [1-6]){4}", lines[1])
    assert lines[2:5] == ["keep all", "keep all", "score ones (+3)"]
    # How it stands at the start of every turn and at the end, and each time something else.
    standings = [line for line in lines if line.startswith("  [")]
    assert len(standings) == len(set(standings)) == 14
    assert lines[-1].startswith("total ")


def test_people_see_the_table_themselves():
    race = PigRace(goal=10)
    lines = told(race, lambda turn: "roll", 3, ("you", "bot"), (True, False))
    assert "  [you: 0 of 10; bot: 0 of 10; this turn: 0 at risk]" not in lines[:1]
    assert lines[-1].split(" with ")[0] in ("you: wins", "bot: wins")


def test_a_note_stands_behind_the_choice():
    teller = Teller(look_of(PigTurn()))
    events = list(play(PigTurn(), [lambda turn: "roll" if not turn.state else "hold"], seed=5))
    lines = [line for event in events for line in teller.lines(event, " (why not)")]
    assert lines[1:] == ["roll (why not) → 5", "hold 5 points (why not)", "total 5"]


def test_rewards():
    assert paid("box", 16) == "box (+16)"
    assert paid("box", Fraction(-1, 2)) == "box (-0.5)"
    assert paid("box for 16", 16) == "box for 16"
    game = Game.of(
        start=0,
        node=lambda n: (
            decide({"a": go(1, reward=2), "b": end()})
            if n == 0
            else roll(d6, lambda face: go(2, reward=face))
            if n == 1
            else end(0)
        ),
    )
    lines = told(game, lambda turn: "a", seed=5)
    assert lines == ["  [0]", "a (+2) → 5 (+5)", "  [total 7; 2]", "total 7"]


def test_rewards_of_two():
    game = Game.of(start=0, node=lambda n: decide({"take": end(1) if n else pass_to(1, reward=3)}))
    assert told(game, lambda turn: "take", who=("one", "two")) == [
        "  [0]",
        "one: take (+3)",
        "  [1]",
        "two: take",
        "two: the end pays 1",
        "total 2 for one",
    ]


def test_the_end_shows_what_was_there_before_it():
    game = Game.of(start=7, node=lambda n: decide({"stop": end(1)}))
    assert told(game, lambda turn: "stop", who=("one", "two"), people=(True, True)) == [
        "one: stop",
        "one: the end pays 1",
        "  [before the last move: 7]",
    ]


def test_edges_as_outcomes_say_nothing():
    game = Game.of(start=0, node=lambda n: decide({"go": go(1)}) if n == 0 else chance({end(4): 1, end(3): 1}))
    assert told(game, lambda turn: "go", seed=1)[1] == "go"


def test_no_decision_left():
    lines = told(PigTurn(), lambda turn: "roll", 5, horizon=2)
    assert lines[-3:] == ["no decision is left", "  [this turn: 8 at risk]", "total 0"]


def test_turns_begin():
    teller = Teller(look_of(School(open=("pair", "trash"))))
    begins = []
    for event in play(School(open=("pair", "trash")), [lambda turn: turn.actions[0]], 3):
        begins.append(teller.begins(event))
        list(teller.lines(event))
    # Two boxes, and the end.
    assert sum(begins) == teller.turns == 3
    assert not teller.begins(Event(Happening.ROLL, 1, 2))


def test_risk():
    assert risk(PigTurn(), 8, "roll") == Fraction(1, 6)
    assert risk(PigTurn(), 8, "hold") is None
    at = look_of(KcdFarkle()).read_state("roll=1,2,3,4,6,6 points=0")
    keep = next(action for action in KcdFarkle().unrolled().node(at).actions if type(action).__name__ == "Keep")
    # No 1 or 5 and no face three times: 360 rolls with two pairs, and 240 with one.
    assert risk(KcdFarkle(), at, keep) == Fraction(600, 6**5)


def test_a_payoff_of_nothing_is_no_loss_where_little_is_wanted():
    for sense, expected in (("max", Fraction(1, 2)), ("min", Fraction(0))):
        coin = roll(uniform([0, 1]), end)
        game = Game.of(start=0, node=lambda n, coin=coin: decide({"roll": coin, "stop": end(1)}), sense=sense)
        assert risk(game, 0, "roll") == expected
        rolls = [event for event in play(game, [lambda turn: "roll"], seed=2) if event.kind is Happening.ROLL]
        assert [event.lost for event in rolls] == [sense == "max" and not event.what for event in rolls]
