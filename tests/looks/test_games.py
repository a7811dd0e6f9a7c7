"""Every state and every action of small games has a text of its own, which is read back."""

from __future__ import annotations

import random

import pytest
from helpers.kinds import kinds
from helpers.rolls_of_games import SHIPPED, TRIALS, rolls, states
from helpers.trial_games import ShutTheBox, Threes

from mdpdice import At
from mdpdice.errors import UnknownStateError
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigRace, PigTurn
from mdpdice.looks import Goal, draw, look_of, parted, spoken, told
from mdpdice.modelling.nodes import Decide, Unavailable
from mdpdice.policies.playthrough import Happening, plain, play

GAMES = SHIPPED | TRIALS
CODE = ("Menu.of", "At(", "Keep(", "{", "}")
"""What no text for people contains."""


def actions(game, state):
    """What can be done in a state."""
    node = plain(game).node(state)
    if not isinstance(node, Decide):
        return []
    return [
        action
        for action, option in zip(node.actions, node.options, strict=True)
        if option is not None and not isinstance(option, Unavailable)
    ]


def in_words(*texts):
    for text in texts:
        assert text
        assert not any(code in text for code in CODE), text
    return True


@pytest.mark.parametrize("name", GAMES)
def test_every_state_has_a_text_of_its_own(name):
    look = look_of(GAMES[name])
    known = {}
    for state in states(name):
        text = look.show_state(state)
        assert in_words(text)
        assert known.setdefault(text, state) == state
        again = look.read_state(text)
        assert again == state
        assert kinds(again) == kinds(state)
    assert len(known) > 10


@pytest.mark.parametrize("name", GAMES)
def test_every_action_is_read_back(name):
    game = GAMES[name]
    look = look_of(game)
    decisions = [state for state in states(name) if actions(game, state)]
    some = decisions if len(decisions) < 300 else decisions[:: max(7, len(decisions) // 300)]
    assert some
    for state in some:
        there = actions(game, state)
        core, counters = parted(state)
        words = [look.words(state, action) for action in there]
        assert in_words(told(look.table(core), counters), *words)
        assert len({"".join(text.split()).casefold() for text in words}) == len(there)
        for action, text in zip(there, words, strict=True):
            found = look.read_action(state, there, text)
            assert found == action
            assert kinds(found) == kinds(action)


@pytest.mark.parametrize("name", GAMES)
def test_plays_are_told_with_the_dice_that_lie_there(name):
    """As in a play: the dice are known, and the words of an action speak of them."""
    game = GAMES[name]
    look = look_of(game)
    generator = random.Random(1)
    for _ in range(1 if name in ("school", "yahtzee", "yatzy") else 10):
        state = action = outcome = None
        for event in play(game, [lambda turn: generator.choice(turn.actions)], generator):
            core, counters = parted(event.what if event.kind is Happening.STATE else state)
            match event.kind:
                case Happening.STATE:
                    state = event.what
                    assert in_words(
                        told(look.table(core, event.seen), counters, player=event.player, who=("Ann", "Ben"))
                    )
                case Happening.CHOICE:
                    action = event.what
                    for one in event.among:
                        text = look.words(state, one, event.seen)
                        assert in_words(text)
                        assert look.read_action(state, event.among, text, event.seen) == one
                case Happening.ROLL:
                    outcome = event.what
                    assert in_words(spoken(look.heard(core, event.what, event.seen, lost=event.lost), counters))
        assert event.kind is Happening.END
        assert in_words(spoken(look.ending(core, action, outcome, event.what), counters))


@pytest.mark.parametrize("name", TRIALS)
def test_games_of_users_have_the_default(name):
    assert type(look_of(GAMES[name])).__name__ == "Look"
    assert type(look_of(SHIPPED["pig-race"])).__name__ == "RaceLook"


@pytest.mark.parametrize(
    ("game", "text", "line"),
    [
        (ShutTheBox(), "down tiles=1,2,5 total=7", "tiles: 1 2 5; total: 7"),
        (ShutTheBox(), "throw tiles=[]", "tiles: none"),
        (Threes(), "1,3,6 points=1", "points: 1; 1 3 6"),
        (TRIALS["two-dice pig"], "mine=3 theirs=4 turn=5", "Ann: 3 of 12; Ben: 4 of 12; turn: 5"),
        (TRIALS["hog"], "mine=3", "Ann: 3 of 12; Ben: 0 of 12"),
        (PigRace(goal=30), "mine=3 turn=12", "Ann: 3 of 30; Ben: 0 of 30; this turn: 12 at risk"),
        (KcdFarkle(), "roll=1,1,5 points=300", "this turn: 300 at risk; roll: 1 1 5"),
        (
            SHIPPED["yahtzee"],
            "throw dice=1,1,2,3,4 left=1 boxes=4095 upper=5",
            "sheet: open yahtzee; upper boxes: 5 of 63; dice: 1 1 2 3 4; throws left: 1",
        ),
    ],
)
def test_what_lies_on_the_table(game, text, line):
    look = look_of(game)
    core, counters = parted(look.read_state(text))
    assert told(look.table(core), counters, who=("Ann", "Ben")) == line


def test_the_one_to_move_keeps_the_place():
    look = look_of(PigRace())
    core, counters = parted(look.read_state("mine=3 theirs=8 turn=12"))
    parts = look.table(core)
    assert told(parts, counters, player=0, who=("Ann", "Ben")).startswith("Ann: 3 of 100; Ben: 8 of 100")
    assert told(parts, counters, player=1, who=("Ann", "Ben")).startswith("Ann: 8 of 100; Ben: 3 of 100")


@pytest.mark.parametrize(
    ("game", "state", "typed", "action"),
    [
        (PigRace(), At("turn", mine=3, theirs=0, turn=12), "Hold", "hold"),
        (PigRace(), At("turn", mine=3, theirs=0, turn=12), "hold 12: 15 in all", "hold"),
        (ShutTheBox(), "down tiles=1,2,4,7 total=7", "7", (7,)),
        (ShutTheBox(), "down tiles=1,2,4,7 total=7", "124", (1, 2, 4)),
        (Threes(), "1,3,6", "1 6", (1, 6)),
        (KcdFarkle(), "roll=1,1,5", "bank", "Bank"),
        (KcdFarkle(), "roll=1,1,5", "set aside both 1s for", "Keep"),
    ],
)
def test_actions_as_people_type_them(game, state, typed, action):
    look = look_of(game)
    where = look.read_state(state) if isinstance(state, str) else state
    found = look.read_action(where, actions(game, where), typed)
    assert action in (found, type(found).__name__)


@pytest.mark.parametrize(
    ("game", "state", "words"),
    [
        (ShutTheBox(), "down tiles=1,2,4,7 total=7", "is not an action here; the actions are: 7; 1 2 4"),
        (
            KcdFarkle(),
            "roll=1,5",
            "is not an action here; the actions are: bank the 1 and the 5 for 150: 150 points; set ",
        ),
    ],
)
@pytest.mark.parametrize("typed", ["", "8", "keep nothing"])
def test_words_of_no_action(game, state, words, typed):
    look = look_of(game)
    where = look.read_state(state)
    with pytest.raises(UnknownStateError, match=words) as caught:
        look.read_action(where, actions(game, where), typed)
    assert in_words(str(caught.value))


def test_the_dice_that_were_thrown_are_shown_and_not_an_example():
    game = KcdFarkle()
    look = look_of(game)
    dist = max(rolls(game), key=len)
    shown = 0
    for seed in range(30):
        outcome, seen = draw(dist, random.Random(seed))
        if outcome.best:
            state = look.read_state(f"roll={','.join(map(str, seen.faces))}").state
            assert state.menu == outcome
            assert look.table(state, seen)[-1].faces == seen.faces
            shown += look.table(state)[-1].faces != seen.faces
    assert shown > 5


def test_goals_are_met_by_the_totals_between_their_ends():
    goals = look_of(PigTurn()).goals()
    assert [goal.name for goal in goals if goal.met(25)] == ["10 points or more", "20 points or more"]
    assert Goal("few", most=3).met(3)
    assert not Goal("some", least=1, most=3).met(4)
