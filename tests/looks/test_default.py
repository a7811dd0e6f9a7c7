"""What a game shows whose author wrote no look, and one line of it."""

from __future__ import annotations

import enum
from fractions import Fraction
from typing import NamedTuple

import attrs
import pytest
from helpers.trial_games import ShutTheBox, Threes, TwoDicePig

from mdpdice import At, Counter, Flags, Game, decide, end, go
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.pig import PigTurn
from mdpdice.looks import Act, Dice, Die, Grid, Look, Note, Rolled, Score, Tokens, look_of, parted, said, spoken, told


class Color(enum.Enum):
    DARK_RED = 1


@attrs.frozen
class CrossOut:
    name: str


@attrs.frozen
class KeepDice:
    dice: tuple[int, ...]


@attrs.frozen
class Take:
    points: int
    count: int


class Hand(NamedTuple):
    card: str
    left: int


def flat(state, actions=("on",), **fields):
    """A game that is in one state, in which there are some actions."""
    game = Game.of(start=state, node=lambda _: decide([(action, end()) for action in actions]))
    for name, value in fields.items():
        setattr(game, name, value)
    return game


def table_of(state, actions=("on",), seen=None, **fields):
    return Look(flat(state, actions, **fields)).table(state, seen)


def parts_of(**values):
    """The parts of a state with these fields."""
    return table_of(attrs.make_class("State", list(values), frozen=True)(**values))


# --- fields --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["dice", "die", "rolled", "hold", "kept", "thrown", "face", "faces", "hand"])
@pytest.mark.parametrize("front", ["", "my_", "last_"])
def test_dice_by_the_names_of_fields(front, name):
    (part,) = parts_of(**{front + name: (2, 5, 20)})
    assert part.faces == (2, 5, 20)
    assert isinstance(part, Dice)


@pytest.mark.parametrize("value", [(0, 5), (5, 21), (True, 1), ("1", 2), (1.0, 2)])
def test_dice_show_whole_numbers_from_1_to_20(value):
    assert parts_of(dice=value) == [Tokens("dice", items=value)]


def test_one_number_is_a_die_but_not_a_number_of_dice():
    assert parts_of(die=5, last_roll=2, dice=3, rerolls=1) == [
        Dice("die", faces=(5,)),
        Dice("last roll", faces=(2,)),
        Score("dice", value=3),
        Score("rerolls", value=1),
    ]


def test_sides_by_the_names_of_fields():
    assert parts_of(mine=3, theirs=4, my_cards=("x",), their_cards=(), minefield=1) == [
        Score("", "mover", value=3),
        Score("", "other", value=4),
        Tokens("cards", "mover", items=("x",)),
        Tokens("cards", "other", items=()),
        Score("minefield", value=1),
    ]


def test_boards_stand_in_columns():
    assert parts_of(board=((1, 2), (), (3,)), dice_of=((5,),)) == [
        Grid("board", rows=((1, "", 3), (2, "", ""))),
        Grid("dice of", rows=((5,),)),
    ]
    assert told(parts_of(board=((1, 2), (), (3,))), {}) == "board: 1 _ 3 / 2 _ _"
    assert parts_of(board=((), ())) == [Grid("board", rows=())]
    assert told(parts_of(board=((), ())), {}) == "board: empty"


def test_everything_else():
    assert parts_of(
        tiles=(1, 0),
        open=frozenset({"b", "a"}),
        share=Fraction(1, 3),
        first=True,
        color=Color.DARK_RED,
        inner=Hand("ace", 2),
        phase="bid",
        nothing=None,
    ) == [
        Tokens("tiles", items=(1, 0)),
        Tokens("open", items=("a", "b")),
        Score("share", value=Fraction(1, 3)),
        Note("first", text="yes"),
        Note("color", text="dark red"),
        Note("inner", text="hand card ace left 2"),
        Note("phase", text="bid"),
        Note("nothing", text="none"),
    ]


def test_states_without_fields():
    assert table_of(7) == [Score("", value=7)]
    assert table_of("bid") == [Note("", text="bid")]
    assert table_of((1, 2)) == [Tokens("", items=(1, 2))]
    # A bare tuple is dice where actions take some of it; a place on a board is not.
    assert table_of((1, 2), actions=((1,), (2,), (1, 2))) == [Dice("", faces=(1, 2))]
    assert table_of((1, 2), actions=((3,),)) == [Tokens("", items=(1, 2))]


def test_dice_that_were_seen_are_shown_once():
    seen = Rolled((3, 4), (Die(), Die(name="Odd die")))
    assert table_of(7, seen=seen) == [Score("", value=7), Dice("rolled", faces=(3, 4), dice=seen.dice)]
    assert table_of((1, 2), actions=((1,),), seen=seen) == [Dice("", faces=(1, 2))]
    assert table_of(7, seen=Rolled(())) == [Score("", value=7)]


# --- counters ------------------------------------------------------------------------------------


@attrs.frozen
class Match(Game[str, str]):
    """Counters of every kind."""

    target: int = 40
    mine = Counter(range(40))
    their_points = Counter(range(0, 40, 5))
    turn = Counter(range(9))
    last_round = Counter(range(2))
    used = Flags(("pair", "full house"))
    gone = Flags(3)

    def start(self):
        return "bid"

    def node(self, state):
        return decide({"pair": go("play", self.used.mark("pair")), "stop": end(self.turn)})


def line(text, **options):
    look = look_of(Match())
    core, counters = parted(look.read_state(text))
    return told(look.table(core), counters, who=("Ann", "Ben"), **options)


def test_counters_come_first_and_the_start_is_not_shown():
    assert line("") == "Ann: 0 of 40; Ben points: 0 of 40; turn: 0; used: open pair, full house; gone: open 0, 1, 2"
    assert line("play mine=3 turn=2 last_round=1 used=pair") == (
        "Ann: 3 of 40; Ben points: 0 of 40; turn: 2; last round: yes; used: open full house; gone: open 0, 1, 2; play"
    )
    assert line('used=pair,"full house" gone=7').endswith("used: open none; gone: open none")


def test_sides_keep_their_places():
    assert line("mine=3", player=1).startswith("Ann points: 0 of 40; Ben: 3 of 40; turn: 0;")


def test_one_answer_serves_all_counters():
    look = look_of(Match())
    parts = look.table("bid")
    assert [part.label for part in parts] == ["", "points", "turn", "last round", "used", "gone"]
    for turn in (0, 8):
        assert f"turn: {turn};" in told(
            parts, At("bid", mine=1, their_points=5, turn=turn, last_round=0, used=0, gone=0).counters
        )


# --- actions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("hold", "hold"),
        (3, "3"),
        ((2, 5), "2 5"),
        (None, "none"),
        (True, "yes"),
        (Color.DARK_RED, "dark red"),
        (CrossOut("full house"), "cross out full house"),
        (Take(100, 4), "take points 100 count 4"),
        (frozenset({2, 1}), "1 2"),
        ((), "nothing"),
    ],
)
def test_words_of_actions(action, words):
    look = Look(flat("bid", [action]))
    assert look.words("bid", action) == words
    assert look.read_action("bid", ["no", action], words.upper()) == action


def test_what_is_tapped_for_an_action():
    dice = Look(flat(KeepDice((1, 5, 5)), [KeepDice((5,)), KeepDice(()), (1, 5), (6,)]))
    state = dice.start
    assert dice.act(state, KeepDice((5,))) == Act("keep dice 5", ("dice", ((1,),)))
    assert dice.act(state, (1, 5)) == Act("1 5", ("dice", ((0, 1),)))
    assert dice.act(state, (6,)) == Act("6")
    assert dice.act(state, KeepDice(())) == Act("keep dice none", ("dice", ((),)))
    box = ShutTheBox()
    down = look_of(box).read_state("down tiles=1,2,4,7 total=7")
    assert look_of(box).act(down, (1, 2, 4)) == Act("1 2 4", ("tiles", ((0, 1, 2),)))
    assert look_of(Threes()).act((1, 3, 6), (3, 6)) == Act("3 6", ("", ((1, 2),)))
    sheet = look_of(Match())
    assert sheet.act("bid", "pair") == Act("pair", ("used", ((0,),)))
    assert sheet.act("bid", CrossOut("full house")) == Act("cross out full house", ("used", ((1,),)))
    assert sheet.act("bid", "stop") == Act("stop")


def test_several_actions_of_one_beginning_are_none():
    look = Look(flat("bid", ["roll one", "roll two", "roll"]))
    there = ["roll one", "roll two", "roll"]
    assert look.read_action("bid", there, "roll") == "roll"
    assert look.read_action("bid", there, "rollt") == "roll two"
    for text in ("rol", "roll three", ""):
        with pytest.raises(UnknownStateError, match="is not an action here; the actions are: roll one; roll two; roll"):
            look.read_action("bid", there, text)


# --- words ---------------------------------------------------------------------------------------

LUCKY = Die(name="Lucky die")


@pytest.mark.parametrize(
    ("rolled", "places", "words"),
    [
        (Rolled((1, 5, 5), (LUCKY, Die(), Die())), (0, 1, 2), "the 1 (Lucky die) and both 5s"),
        (Rolled((1, 1, 5)), (0,), "one of the 1s"),
        (Rolled((2, 2, 2)), (0, 1, 2), "the three 2s"),
        (Rolled((2, 2, 2, 1)), (0, 2, 3), "two of the 2s and the 1"),
        (Rolled((1, 1), (LUCKY, Die())), (0,), "the 1 (Lucky die)"),
        (Rolled((1, 1), (LUCKY, LUCKY)), (1,), "one of the 1s (Lucky die)"),
        (Rolled((1, 2, 3)), (2, 0, 1), "the 3, the 1 and the 2"),
        (Rolled((6,) * 6), range(6), "the six 6s"),
        (Rolled((1,)), (), ""),
    ],
)
def test_some_of_the_dice_in_words(rolled, places, words):
    assert said(rolled, places) == words


def test_parts_in_words():
    assert (
        told([Dice("roll", faces=(1, 5, 5), dice=(LUCKY, Die(), Die()), held=(0, 2))], {})
        == "roll: (1 (Lucky die)) 5 (5)"
    )
    assert told([Dice("roll")], {}) == "roll: no dice"
    assert told([Tokens("cages", items=("x2", "x3"), lit=(1,))], {}) == "cages: · x3"
    assert told([Tokens("", items=())], {}) == "none"
    assert told([Score("", "other", value=3, goal=9, risk=True)], {}, who=("Ann", "Ben")) == "Ben: 3 of 9 at risk"
    assert (
        told([Score("a", 1, value=1), Note("b", text="x"), Score("a", 0, value=2)], {}, player=1)
        == "first a: 2; second a: 1; b: x"
    )
    assert told([Grid("", rows=((1, ""),), foot=(1, 0))], {}) == "1 _ = 1+0"
    assert told([Note("", text="hidden", when=False)], {}) == ""


def test_a_text_with_counters_is_a_tuple():
    game = TwoDicePig()
    assert spoken(("you have ", game.mine + game.turn, "!"), {"mine": 3, "turn": 4, "theirs": 0}) == "you have 7!"
    with pytest.raises(GameError, match="write a text with counters as a tuple"):
        f"you have {game.mine}"


# --- looks ---------------------------------------------------------------------------------------


def test_a_look_serves_the_classes_below_unless_they_have_their_own():
    class Base(PigTurn):
        pass

    class Below(Base):
        pass

    assert type(look_of(Base())) is type(look_of(PigTurn()))

    class BaseLook(Look[Base], of=Base):
        def act(self, state, action, seen=None):
            return Act(action.upper() + "!")

    assert look_of(Below()).words(3, "roll") == "ROLL!"
    assert look_of(PigTurn()).words(3, "roll") == "roll"

    class BelowLook(Look[Below], of=Below):
        pass

    assert type(look_of(Below())) is BelowLook
    assert type(look_of(Base())) is BaseLook


def test_an_unrolled_game_has_the_look_of_its_game():
    game = TwoDicePig()
    assert look_of(game.unrolled()).game is game


@pytest.mark.parametrize(("payoff", "words"), [(1, "wins"), (0, "loses"), (Fraction(1, 2), "the end pays 1/2")])
def test_the_end_of_a_game_that_is_won(payoff, words):
    assert look_of(TwoDicePig()).ending("turn", None, None, payoff) == words
    assert look_of(Threes()).ending(0, None, None, payoff) == f"the end pays {payoff}"
