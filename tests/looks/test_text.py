"""States as people read and write them, and back."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import attrs
import pytest
from helpers.kinds import kinds
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice import At, Counter, Flags, Game, decide, end
from mdpdice.errors import UnknownStateError
from mdpdice.looks import Look
from mdpdice.modelling.text import encode


class Suit(enum.Enum):
    HEARTS = "h"
    SPADES = "s"


class Rank(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Keep(NamedTuple):
    points: int
    dice: int


@attrs.frozen
class Card:
    suit: Suit
    rank: Rank | int


@attrs.frozen
class CrossOut:
    name: str


@attrs.frozen
class Hand:
    cards: tuple[Card, ...]
    _hidden: Fraction = Fraction(0)
    size: int = attrs.field(init=False, default=7)


@dataclass(frozen=True)
class Stack:
    height: float
    top: Hand | None = None


@attrs.frozen
class Odd:
    number: int = attrs.field()

    @number.validator
    def _check(self, _, number):
        if number % 2 == 0:
            raise ValueError("even")


class Cards(Game[Hand | Stack | Odd | Keep | CrossOut | int, str]):
    def start(self):
        return 0

    def node(self, state):
        return end()


class Counted(Game[Card | str, str]):
    points = Counter(range(0, 500, 50))
    used = Flags(("pair", "full house", "poker"))

    def start(self):
        return "turn"

    def node(self, state):
        return decide({"stop": end(self.points)})


atoms = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(["yes", "None", "nan", "stack", "cross-out", "Hand", "true", "a=1", "it's"])
    | st.fractions()
    | st.sampled_from([*Suit, *Rank])
)
cards = st.builds(Card, st.sampled_from(Suit), st.sampled_from(Rank) | st.integers())
hands = st.builds(Hand, st.lists(cards, max_size=3).map(tuple), st.fractions())
values = st.recursive(
    atoms
    | cards
    | hands
    | st.builds(CrossOut, st.text())
    | st.builds(Stack, st.floats(0, 1), st.none() | hands)
    | st.builds(Keep, st.integers(), st.integers()),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)


look = Look(Cards())
counted = Look(Counted())


@given(values)
@settings(max_examples=300, deadline=None)
def test_what_is_shown_is_read_back(value):
    text = look.show_state(value)
    assert look.read_state(text) == value
    assert kinds(look.read_state(text)) == kinds(value)


@given(values)
@settings(max_examples=100, deadline=None)
def test_json_of_earlier_versions_is_read_too(value):
    data = json.dumps(encode(value))
    if data.startswith("{"):
        assert look.read_state(data) == value


@given(values, st.sampled_from(range(0, 500, 50)), st.integers(0, 7))
@settings(max_examples=100, deadline=None)
def test_counters_stand_behind_the_core(core, points, used):
    state = At(core, points=points, used=used)
    again = Look(CountedCards()).read_state(Look(CountedCards()).show_state(state))
    assert again == state
    assert kinds(again.state) == kinds(core)


class CountedCards(Game[Hand | Stack | Odd | Keep | CrossOut | int, str]):
    """A counter has the name of a field of `Keep`."""

    points = Counter(range(0, 500, 50))
    used = Flags(("pair", "full house", "poker"))

    def start(self):
        return 0

    def node(self, state):
        return end()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (True, "yes"),
        (1.0, "1.0"),
        ("a b", '"a b"'),
        ("keep", '"keep"'),
        ((1, ("x", None)), "1,[x,none]"),
        ((5,), "[5]"),
        ((), "[]"),
        (Suit.HEARTS, "Suit.HEARTS"),
        (Fraction(1, 3), "1/3"),
        (Fraction(2), "2/1"),
        (Keep(50, 5), "keep points=50 dice=5"),
        (CrossOut("full house"), 'cross-out name="full house"'),
        (frozenset({2, 1}), "{1,2}"),
        ((Keep(1, 2), 3), "Keep(points=1 dice=2),3"),
        (Card(Suit.SPADES, 1), "card suit=Suit.SPADES rank=1"),
        (Hand((Card(Suit.HEARTS, 1),)), "hand cards=[Card(suit=Suit.HEARTS rank=1)] hidden=0/1"),
        (Stack(1.5), "stack height=1.5 top=none"),
    ],
)
def test_the_form_of_the_text(value, text):
    assert look.show_state(value) == text
    assert look.read_state(text) == value


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", At("turn", points=0, used=0)),
        ("points=50", At("turn", points=50, used=0)),
        ('used=pair,"full house"', At("turn", points=0, used=3)),
        ("points=100 used=poker", At("turn", points=100, used=4)),
        ("used=[]", At("turn", points=0, used=0)),
        ("used=5", At("turn", points=0, used=5)),
        ("suit=Suit.HEARTS rank=2 points=50", At(Card(Suit.HEARTS, 2), points=50, used=0)),
        ("other points=450", At("other", points=450, used=0)),
    ],
)
def test_what_is_not_named_is_as_at_the_start(text, state):
    assert counted.read_state(text) == state


@pytest.mark.parametrize(
    ("text", "value"),
    [("1 2 3", (1, 2, 3)), ("1, 2", (1, 2)), ("keep dice=5 points=1", Keep(1, 5)), ("points=1 dice=2", Keep(1, 2))],
)
def test_blanks_for_commas_and_fields_without_a_class(text, value):
    assert look.read_state(text) == value


def test_one_number_for_a_tuple_of_one():
    @attrs.frozen
    class Rolled:
        dice: tuple[int, ...]

    class Dicey(Game[Rolled, str]):
        def start(self):
            return Rolled(())

        def node(self, state):
            return end()

    assert Look(Dicey()).read_state("rolled dice=5") == Rolled((5,))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("points=50 used=pear", "no box 'pear'; did you mean 'pair'?"),
        ("points=55", "points has the values"),
        ("poinst=50", "a state of this game is written like"),
        ("points=", "it breaks off"),
        ("[1", "it breaks off"),
        ("turn 3)", "not understood at ')'"),
        ("Suit.CLUBS", "not understood"),
        ("Path.x", "not understood"),
        ("card suit=1", "does not describe a card"),
        ("card suit=1 rank=1 colour=2", "does not describe a card"),
        ('{"Path": {"x": 1}}', "the classes are: Card, Rank, Suit"),
        ("9" * 5000, "digits"),
        ("[" * 100_000, "nested too deep"),
        ('"\\x"', "escape"),
    ],
)
def test_texts_that_are_no_state(text, words):
    with pytest.raises(UnknownStateError) as caught:
        counted.read_state(text)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert caught.value.value == text


@pytest.mark.parametrize("value", [object(), {1: 2}, [1], {1}, 1j, b"x", (1, object()), Keep(object(), 1), len])
def test_values_without_a_text(value):
    with pytest.raises(UnknownStateError, match="has no text.*show_state"):
        look.show_state(value)


def test_a_class_refuses_its_own_wrong_values():
    with pytest.raises(UnknownStateError, match="does not describe a odd: even"):
        look.read_state("odd number=2")
