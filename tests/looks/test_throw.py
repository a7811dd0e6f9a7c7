"""Real dice behind distributions: what is drawn, and which rolls give an outcome."""

from __future__ import annotations

import pickle
import random
from fractions import Fraction

import pytest
from helpers.rolls_of_games import SHIPPED, TRIALS, rolls
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice import Dist, d6, pool, product, uniform
from mdpdice.errors import GameError
from mdpdice.games.farkle import KcdFarkle
from mdpdice.looks import Die, Rolled, Throw, draw, remember
from mdpdice.looks.throw import thrown

FEW = 1_000
"""Ways in which dice can fall up to which all of them are looked at."""


class Every:
    """A generator whose next numbers are prescribed, and 0 after them; it keeps what could have come."""

    def __init__(self, numbers):
        self.numbers = list(numbers)
        self.limits = []

    def randrange(self, limit):
        self.limits.append(limit)
        at = len(self.limits) - 1
        if at == len(self.numbers):
            self.numbers.append(0)
        return self.numbers[at]


def ways(function, most=FEW):
    """All that a function can give of a generator, with probabilities; None where there are too many ways."""
    found, numbers = [], []
    while True:
        given = Every(numbers)
        result = function(given)
        probability = Fraction(1)
        for limit in given.limits:
            probability /= limit
        found.append((result, probability))
        numbers = given.numbers
        while numbers and numbers[-1] == given.limits[len(numbers) - 1] - 1:
            numbers.pop()
        if not numbers:
            return found
        numbers[-1] += 1
        if len(found) > most:
            return None


def drawn(function):
    """Distribution of what a function gives of a generator, or some of it where there are too many ways."""
    every = ways(function)
    if every is None:
        generator = random.Random(7)
        return None, [function(generator) for _ in range(100)]
    chances = {}
    for (outcome, _), probability in every:
        chances[outcome] = chances.get(outcome, 0) + probability
    assert sum(chances.values()) == 1
    return Dist(chances), [pair for pair, _ in every]


def check(dist):
    """What is drawn, and what is listed, is what the distribution says."""
    whole, pairs = drawn(lambda generator: draw(dist, generator))
    assert whole is None or whole == dist
    throw = thrown(dist)
    for outcome, rolled in pairs:
        assert outcome in dist.outcomes
        assert len(rolled.dice) == len(rolled.faces)
        assert all(face in die.faces for face, die in zip(rolled.faces, rolled.dice, strict=True))
        if throw is not None:
            assert len(rolled.faces) == len(throw.dice)
            assert throw.outcome(rolled.faces) == outcome
    if throw is None:
        return False
    whole, pairs = drawn(throw.draw)
    assert whole is None or whole == dist
    for outcome, rolled in pairs:
        assert rolled.dice == throw.dice
        assert throw.outcome(rolled.faces) == outcome
    table = throw.table(dist)
    assert Dist({outcome: sum(ways for _, ways in listed) for outcome, listed in table.items()}) == dist
    assert all(throw.outcome(faces) == outcome for outcome, listed in table.items() for faces, _ in listed)
    return True


@pytest.mark.parametrize("name", [*SHIPPED, *TRIALS])
def test_dice_of_games(name):
    found = rolls((SHIPPED | TRIALS)[name])
    assert found
    # The turns of Hog stop counting after a 1, so a second throw depends on the first.
    assert {check(dist) for dist in found} == {name != "hog"}


def test_games_that_merge_rolls_show_all_their_dice():
    for name, dice in {"shut the box": 2, "konijnenhokken": 4, "farkle": 3, "threes": 3, "hog": 3}.items():
        dists = rolls((SHIPPED | TRIALS)[name])
        assert max(len(draw(dist, random.Random(1))[1].faces) for dist in dists) == dice


DICE = st.dictionaries(st.integers(1, 5), st.integers(1, 3), min_size=1, max_size=3).map(Dist)
SMALL = st.recursive(
    DICE,
    lambda inner: (
        st.tuples(inner, st.integers(1, 3)).map(lambda two: two[0].map(lambda x: hash(x) % two[1]))
        | st.lists(inner, min_size=1, max_size=2).map(lambda some: product(*some))
        | st.tuples(DICE, DICE, st.integers(0, 2)).map(lambda all_: pool([all_[0]] * all_[2] + [all_[1]]))
        | st.tuples(inner, inner).map(lambda two: two[0].bind(lambda x: two[hash(x) % 2]))
        | st.lists(inner, max_size=2).map(lambda some: pool([one.map(lambda x: hash(x) % 3) for one in some]))
    ),
    max_leaves=3,
)


@given(SMALL)
@settings(max_examples=100, deadline=None)
def test_random_products_pools_maps_and_binds(dist):
    check(dist)


@pytest.mark.parametrize(
    "dice",
    [3, "Lucky die, Lucky die, Odd die", "Lucky die, Odd die, Devil's head die, Devil's head die"],
    ids=["one kind", "two kinds", "three kinds"],
)
def test_dice_that_farkle_remembers(dice):
    game = KcdFarkle(dice=dice)
    dists = rolls(game)
    assert {dist.source[0] for dist in dists} == {"throw"}
    assert {check(dist) for dist in dists} == {True}
    names = {die.name for dist in dists for die in draw(dist, random.Random(1))[1].dice}
    assert len(names - {""}) == (0 if dice == 3 else len(set(dice.split(", "))))


def test_wrong_dice_are_refused():
    sums = Dist({total: 6 - abs(7 - total) for total in range(2, 13)})
    assert thrown(sums).dice == (Die(sums.outcomes, sums.weights),)
    right = remember(sums, Throw(((Die(), 2),), sum))
    assert right == sums
    assert check(right)
    for wrong in (
        Throw(((Die(), 3),), lambda faces: sum(faces[:2])),  # sorted, so no two of three dice
        Throw(((Die((1, 2, 3, 4, 5, 6), (2, 1, 1, 1, 1, 1)), 2),), sum),
        Throw(((Die(), 2),), lambda faces: sum(faces) + 1),
        Throw((), lambda faces: 7),
    ):
        with pytest.raises(GameError, match="these dice have another distribution"):
            thrown(remember(sums, wrong)).table(sums)


def test_what_a_distribution_was_made_of_makes_no_difference():
    declared = Dist({True: 1, False: 5})
    made = d6.map(lambda face: face == 1)
    assert made.source
    assert not declared.source
    assert made == declared
    assert hash(made) == hash(declared)
    assert {made: 1}[declared] == 1
    assert repr(made) == repr(declared)
    again = pickle.loads(pickle.dumps(made))
    assert again == made
    assert not again.source


def test_no_table_where_rolls_are_too_many():
    many = product(*[uniform(range(10)).map(lambda k: k == 3)] * 6)
    assert thrown(many) is None
    outcome, rolled = draw(many, random.Random(3))
    assert outcome == tuple(face == 3 for face in rolled.faces)


def test_a_function_that_uses_a_variable_of_a_loop():
    """When the dice are drawn, the loop is over, and the function would give something else."""
    raised, again = [], []
    for bonus in (10, 20):
        raised.append(d6.map(lambda face: face + bonus))  # noqa: B023 - that is the point
        again.append(d6.bind(lambda face: d6.map(lambda second: face + second + bonus)))  # noqa: B023
    for dist in raised:
        assert check(dist)
    for dist in again:
        assert not check(dist)


def test_certain_outcomes_have_no_dice():
    assert draw(Dist({"a": 1}), random.Random(1)) == ("a", Rolled(()))
    assert draw(product(d6, Dist({"a": 1})), random.Random(1))[1].dice == (Die(),)


def test_dice_are_written_with_their_names():
    assert str(Rolled((1, 5), (Die(name="Odd die"), Die()))) == "1 (Odd die) 5"
    assert str(Rolled(("heads", 2))) == "heads 2"
