"""Moves of Yahtzee and Yatzy against predicates that try everything: what may be kept, thrown and filled."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import chain, combinations_with_replacement, product
from math import factorial, prod

import pytest

from mdpdice import At
from mdpdice.games.yahtzee import Throw, Yahtzee
from mdpdice.games.yahtzee import game as yahtzee
from mdpdice.games.yatzy import Yatzy
from mdpdice.games.yatzy import game as yatzy

FACES = range(1, 7)
ROLLS = list(combinations_with_replacement(FACES, 5))
SELECTIONS = list(chain.from_iterable(combinations_with_replacement(FACES, n) for n in range(6)))


def may_be_kept(selection, dice):
    return all(selection.count(face) <= dice.count(face) for face in FACES)


@pytest.mark.parametrize("game", [Yahtzee(), Yatzy()], ids=lambda game: type(game).__name__)
def test_dice_that_may_be_kept(game):
    assert (len(ROLLS), len(SELECTIONS)) == (252, 462)
    for dice, left in product(ROLLS, (1, 2)):
        node = game.node(Throw(dice, left))
        assert len(node.actions) == len(set(node.actions))
        assert set(node.actions) == {keep for keep in SELECTIONS if may_be_kept(keep, dice)}
        for keep, option in zip(node.actions, node.options, strict=True):
            assert option.state == Throw(keep, left - 1)


@pytest.mark.parametrize("kept", [(), (3,), (2, 2, 6), (1, 4, 4, 5), (1, 2, 3, 4, 5)])
def test_the_other_dice_are_thrown(kept):
    chances = {kept: Fraction(1)}
    for _ in range(5 - len(kept)):
        following = Counter()
        for dice, chance in chances.items():
            node = Yatzy().node(Throw(dice, 1))
            for weight, edge in zip(node.dist.weights, node.edges, strict=True):
                assert edge.state.left == 1
                following[edge.state.dice] += chance * Fraction(weight, node.dist.total)
        chances = following
    thrown = 5 - len(kept)
    for dice in ROLLS:
        fresh = [dice.count(face) - kept.count(face) for face in FACES]
        ways = factorial(thrown) // prod(map(factorial, fresh)) if min(fresh) >= 0 else 0
        assert chances.get(dice, 0) == Fraction(ways, 6**thrown)


@pytest.mark.parametrize(
    ("game", "module", "counters"),
    [(Yahtzee(bonus="none"), yahtzee, {"fifty": 0}), (Yatzy(), yatzy, {})],
    ids=["Yahtzee", "Yatzy"],
)
def test_boxes_that_may_be_filled_with_any_dice(game, module, counters):
    """Any empty box; five equal dice of Yahtzee have rules of their own, which another test is about."""
    plain, draw = game.unrolled(), random.Random(2)
    n = len(module.BOXES)
    for dice in ROLLS:
        if module is yahtzee and len(set(dice)) == 1:
            continue
        filled, upper = draw.randrange((1 << n) - 1), draw.randrange(64)
        node = plain.node(At(Throw(dice, 0), boxes=filled, upper=upper, **counters))
        found = {
            action: option
            for action, option in zip(node.actions, node.options, strict=True)
            if type(option).__name__ == "Go"
        }
        assert set(found) == {box for at, box in enumerate(module.BOXES) if not filled >> at & 1}
        for box, option in found.items():
            score = module.points(box, dice)
            above = min(63, upper + score) if box in module.UPPER else upper
            after = filled | 1 << module.BOXES.index(box)
            assert option.state == At("turn", boxes=after, upper=above, **counters)
            assert option.reward == score


def test_the_extra_points_of_a_full_sheet():
    for game, module, counters in ((Yahtzee(bonus="none"), yahtzee, {"fifty": 0}), (Yatzy(), yatzy, {})):
        full = (1 << len(module.BOXES)) - 1
        for upper, extra in ((62, 0), (63, game.extra)):
            assert game.unrolled().node(At("turn", boxes=full, upper=upper, **counters)).payoff == extra
        again = game.unrolled().node(At("turn", boxes=full - 1, upper=63, **counters))
        assert again.state == At(Throw((), 2), boxes=full - 1, upper=63, **counters)
