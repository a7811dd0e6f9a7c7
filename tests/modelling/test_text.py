"""States and actions as JSON data, and back."""

from __future__ import annotations

import enum
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import attrs
import pytest
from helpers.kinds import kinds
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice import Game, end
from mdpdice.errors import UnknownStateError
from mdpdice.modelling.text import decode, encode, named_classes


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


class Cards(Game[Hand | Stack | Odd | int, Keep | str]):
    def start(self):
        return 0

    def node(self, state):
        return end()


def show(value):
    return json.dumps(encode(value), ensure_ascii=False)


def read(text, owner):
    return decode(json.loads(text), named_classes(owner))


atoms = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.fractions()
    | st.sampled_from([*Suit, *Rank])
)
cards = st.builds(Card, st.sampled_from(Suit), st.sampled_from(Rank) | st.integers())
hands = st.builds(Hand, st.lists(cards, max_size=3).map(tuple), st.fractions())
values = st.recursive(
    atoms
    | cards
    | hands
    | st.builds(Stack, st.floats(0, 1), st.none() | hands)
    | st.builds(Keep, st.integers(), st.integers()),
    lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3),
    max_leaves=6,
)


@given(values)
@settings(max_examples=100, deadline=None)
def test_what_is_shown_is_read_back(value):
    again = read(show(value), Cards)
    assert again == value
    assert kinds(again) == kinds(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (True, "true"),
        (1.0, "1.0"),
        ("a b", '"a b"'),
        ((1, ("x", None)), '[1, ["x", null]]'),
        (Suit.HEARTS, '{"Suit": "HEARTS"}'),
        (Rank.HIGH, '{"Rank": "HIGH"}'),
        (Fraction(1, 3), '{"Fraction": "1/3"}'),
        (Keep(50, 5), '{"Keep": {"points": 50, "dice": 5}}'),
        (frozenset({2, 1}), '{"frozenset": [1, 2]}'),
        (Card(Suit.SPADES, 1), '{"Card": {"suit": {"Suit": "SPADES"}, "rank": 1}}'),
        (Hand((), Fraction(1)), '{"Hand": {"cards": [], "hidden": {"Fraction": "1"}}}'),
        (Stack(1.5), '{"Stack": {"height": 1.5, "top": null}}'),
    ],
)
def test_the_form_of_the_text(value, text):
    assert show(value) == text
    assert read(text, Cards) == value


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, [1], {1}, 1j, b"x", (1, object()), Keep(object(), 1), Card(Suit.HEARTS, object()), len]
)
def test_values_without_a_text(value):
    with pytest.raises(UnknownStateError, match="has no text") as caught:
        show(value)
    assert "show_state" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"Path": {"x": 1}}', "the classes are: Card, Hand, Keep, Odd, Rank, Stack, Suit"),
        ('{"Game": {}}', "the classes are"),
        ('{"a": 1, "b": 2}', "is not a state"),
        ("{}", "is not a state"),
        ('{"Card": {"suit": {"Suit": "CLUBS"}, "rank": 1}}', "does not describe a Suit"),
        ('{"Card": {"suit": {"Suit": ["HEARTS"]}, "rank": 1}}', "does not describe a Suit"),
        ('{"Card": {"suit": 1}}', "does not describe a Card"),
        ('{"Card": {"suit": 1, "rank": 1, "colour": 2}}', "does not describe a Card"),
        ('{"Card": 3}', "does not describe a Card"),
        ('{"Hand": {"cards": [], "size": 3}}', "does not describe a Hand"),
        ('{"Odd": {"number": 2}}', "does not describe a Odd: even"),
        ('{"Keep": [1, 2]}', "does not describe a Keep"),
        ('{"Fraction": "x"}', "is not a state"),
        ('{"Fraction": "1/0"}', "is not a state"),
        ('{"Fraction": "1e999999999"}', "is not a state"),  # would compute for hours
        ('{"Fraction": 3}', "is not a state"),
        ('{"frozenset": [{"x": 1}]}', "is not a state"),
    ],
)
def test_texts_that_are_no_state(text, words):
    with pytest.raises(UnknownStateError) as caught:
        read(text, Cards)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert caught.value.code == "UnknownState"


def test_only_classes_of_the_game_are_named():
    class Numbers(Cards, Game[int, str]):
        """Its type arguments add nothing, but those of its base still count."""

    assert isinstance(read('{"Odd": {"number": 3}}', Numbers), Odd)

    class Bare(Game[int, str]):
        def start(self):
            return 0

        def node(self, state):
            return end()

    with pytest.raises(UnknownStateError, match="the classes are: none"):
        read('{"Odd": {"number": 3}}', Bare)


def test_infinite_numbers_are_written_as_python_reads_them():
    assert read(show(math.inf), Cards) == math.inf
    assert math.isnan(read(show(math.nan), Cards))
