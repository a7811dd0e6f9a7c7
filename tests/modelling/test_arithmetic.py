"""Dice algebra, against all ways in which the dice can fall."""

from __future__ import annotations

import itertools
import random
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from mdpdice import Dist, certainly, d6, die, explode, go, highest, pool, product, roll, uniform
from mdpdice.errors import EmptySupportError, GameError
from mdpdice.looks import Die, draw
from mdpdice.looks.throw import thrown

LOADED = Dist({1: 2, 3: 1, 8: 3})
COIN = Dist({True: 1, False: 2})
COINS = uniform(["heads", "tails"])


def chances(function, *dice):
    """Chances of what a function gives of the faces, face by face."""
    found = {}
    for rolled in itertools.product(*(one.items() for one in dice)):
        chance = Fraction(1)
        for (_, weight), one in zip(rolled, dice, strict=True):
            chance *= Fraction(weight, one.total)
        outcome = function(*(face for face, _ in rolled))
        found[outcome] = found.get(outcome, 0) + chance
    return found


def same(dist, expected):
    assert {outcome: dist.prob(outcome) for outcome in dist} == expected
    assert sum(expected.values()) == 1


@pytest.mark.parametrize(
    ("dist", "function", "dice"),
    [
        (d6 + d6, lambda a, b: a + b, (d6, d6)),
        (d6 - LOADED, lambda a, b: a - b, (d6, LOADED)),
        (d6 + 3, lambda a: a + 3, (d6,)),
        (3 + d6, lambda a: a + 3, (d6,)),
        (d6 - 1, lambda a: a - 1, (d6,)),
        (7 - d6, lambda a: 7 - a, (d6,)),
        (d6 + Fraction(1, 2), lambda a: a + Fraction(1, 2), (d6,)),
        (sum([d6, LOADED, die(4)]), lambda a, b, c: a + b + c, (d6, LOADED, die(4))),
        (d6 + {1: 1, 2: 3}, lambda a, b: a + b, (d6, Dist({1: 1, 2: 3}))),
        (
            Dist({np.int8(100): 1, np.int8(7): 2}) + 100,
            lambda a: int(a) + 100,
            (Dist({np.int8(100): 1, np.int8(7): 2}),),
        ),
        (d6 + Decimal("0.25"), lambda a: a + Fraction(1, 4), (d6,)),
        (d6 + Dist({Decimal("0.5"): 1}), lambda a: a + Fraction(1, 2), (d6,)),
        (0 @ d6, lambda: 0, ()),
        (1 @ LOADED, lambda a: a, (LOADED,)),
        (2 @ d6, lambda a, b: a + b, (d6, d6)),
        (3 @ LOADED, lambda *faces: sum(faces), (LOADED,) * 3),
        (4 @ COIN, lambda *faces: sum(faces), (COIN,) * 4),
        (2 @ (d6 + d6), lambda *faces: sum(faces), (d6,) * 4),
        (highest(3, of=[d6] * 4), lambda *faces: sum(faces) - min(faces), (d6,) * 4),
        (highest(1, of=[d6, LOADED]), max, (d6, LOADED)),
        (highest(2, of=[die(4), d6, LOADED]), lambda *f: sum(sorted(f)[1:]), (die(4), d6, LOADED)),
        (highest(0, of=[d6]), lambda _: 0, (d6,)),
        (explode(d6, at_most=0), lambda a: a, (d6,)),
        (explode(d6, at_most=1), lambda a, b: a + b if a == 6 else a, (d6, d6)),
        (explode(LOADED, at_most=2), lambda a, b, c: a if a < 8 else a + b if b < 8 else a + b + c, (LOADED,) * 3),
    ],
)
def test_against_all_ways_to_fall(dist, function, dice):
    same(dist, chances(function, *dice))


def test_many_dice_are_added_up_in_halves():
    fair = {0: Fraction(1)}
    for _ in range(40):
        fair, before = {}, fair
        for total, chance in before.items():
            for face in range(1, 7):
                fair[total + face] = fair.get(total + face, 0) + chance / 6
    same(40 @ d6, fair)
    assert (40 @ d6).source[0] == "map"
    assert (500 @ COIN).mean() == Fraction(500, 3)


def test_given_is_the_conditional_distribution():
    pairs = chances(lambda a, b: a + b, d6, d6)
    even = {total: chance for total, chance in pairs.items() if total % 2 == 0}
    same((d6 + d6).given(lambda total: total % 2 == 0), {k: p / sum(even.values()) for k, p in even.items()})
    assert d6.given(lambda k: k > 0) == d6
    with pytest.raises(EmptySupportError, match="needs an outcome of positive weight"):
        d6.given(lambda k: k > 6)
    doubtful = Dist({1: 0.3333333333, 2: 0.3333333333, 3: 0.3333333333})
    assert doubtful.given(lambda k: k > 1).defect == (doubtful + doubtful).defect == doubtful.defect != 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: COINS + COINS,
        lambda: COINS + 1,
        lambda: 1 - COINS,
        lambda: d6 - COINS,
        lambda: 3 @ COINS,
        lambda: highest(1, of=[d6, COINS]),
        lambda: explode(COINS, at_most=1),
        lambda: pool([d6]) + pool([d6]),
        lambda: product(d6, d6) + 1,
    ],
)
def test_faces_that_are_no_numbers_are_refused(wrong):
    with pytest.raises(
        GameError, match=r"dice are added up by the numbers .* is not a number; map the faces to numbers"
    ):
        wrong()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: -1 @ d6, "the number of dice is a whole number from 0 to 500, not -1"),
        (lambda: 2.0 @ d6, "not 2.0"),
        (lambda: True @ d6, "not True"),
        (lambda: 501 @ d6, "not 501"),
        (lambda: "3" @ d6, "not '3'"),
        (lambda: highest(5, of=[d6] * 4), "from 0 to 4, not 5"),
        (lambda: highest(1, of=d6), "needs a list of dice, not one die"),
        (lambda: explode(d6, at_most=101), "from 0 to 100, not 101"),
        (lambda: explode(d6, at_most=None), "not None"),
        (lambda: d6 + "1", "expected a distribution, got '1'"),
    ],
)
def test_numbers_of_dice_that_make_no_sense(wrong, message):
    with pytest.raises(GameError, match=message):
        wrong()


def test_sums_remember_their_dice():
    for dist, dice in (
        (d6 + d6, (Die(), Die())),
        (3 @ d6, (Die(),) * 3),
        (d6 + 1, (Die(),)),
        (highest(3, of=[d6] * 4), (Die(),) * 4),
        (d6 - LOADED, (Die(), Die(LOADED.outcomes, LOADED.weights))),
    ):
        throw = thrown(dist)
        assert throw.dice == dice
        assert Dist({total: sum(n for _, n in rolls) for total, rolls in throw.table(dist).items()}) == dist
    generator = random.Random(5)
    for _ in range(50):
        total, rolled = draw(40 @ d6, generator)
        assert len(rolled.faces) == 40
        assert sum(rolled.faces) == total
        total, rolled = draw(explode(d6, at_most=3), generator)
        assert sum(rolled.faces) == total
        assert set(rolled.faces[:-1]) <= {6}
        total, rolled = draw((2 @ d6).given(lambda k: k > 8), generator)
        assert sum(rolled.faces) == total > 8
        assert len(rolled.faces) == 2


class Script:
    """A generator of prescribed numbers."""

    def __init__(self, *numbers):
        self.numbers = [*numbers]

    def randrange(self, limit):
        return self.numbers.pop(0) % limit


def test_dice_are_thrown_again_until_they_fit():
    high = (d6 + d6).given(lambda total: total > 10)
    outcome, rolled = draw(high, Script(0, 0, 5, 3, 5, 4))
    assert (outcome, rolled.faces) == (11, (6, 5))
    # 1 in 6^8: nobody throws so long, and what is drawn is right all the same
    rare = (8 @ d6).given(lambda total: total == 8)
    assert draw(rare, random.Random(1))[0] == 8


def test_a_roll_of_several_dice():
    three = roll(d6, COINS, die(2), lambda a, side, b: go((a, side, b)), reward=2)
    assert three.dist == product(d6, COINS, die(2))
    assert [edge.state for edge in three.edges] == list(three.dist.outcomes)
    assert three.reward == 2
    with_a_mapping = roll(d6, {1: 1, 2: 3}, lambda a, b: go(a + b))
    assert len(with_a_mapping.edges) == 12
    assert roll(dist=d6, then=go).dist is d6
    assert roll(certainly(1), d6, lambda a, b: go(a * b)).edges[-1].state == 6


def test_a_type_error_inside_of_a_function_of_two_dice_stays_what_it_is():
    with pytest.raises(TypeError, match="unsupported operand"):
        roll(d6, d6, lambda a, b: go(a + b + "1"))
