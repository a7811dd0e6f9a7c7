"""Scores of Yahtzee and Yatzy against a second statement of the rules, over all 252 rolls."""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

import pytest

from mdpdice.games.yahtzee import game as yahtzee
from mdpdice.games.yatzy import game as yatzy

ROLLS = list(combinations_with_replacement(range(1, 7), 5))


def alike(dice, n):
    """All selections of n dice that show one face."""
    return [chosen for chosen in combinations(dice, n) if min(chosen) == max(chosen)]


def full_house(dice):
    return any(
        sorted((*three, *two)) == list(dice) and three[0] != two[0]
        for three in alike(dice, 3)
        for two in alike(dice, 2)
    )


def run_of(dice, n):
    return any(sorted(chosen) == list(range(chosen[0], chosen[0] + n)) for chosen in combinations(sorted(dice), n))


def by_hand_yahtzee(box, dice):
    upper = {"ones": 1, "twos": 2, "threes": 3, "fours": 4, "fives": 5, "sixes": 6}
    if box in upper:
        return sum(die for die in dice if die == upper[box])
    return {
        "three of a kind": sum(dice) * bool(alike(dice, 3)),
        "four of a kind": sum(dice) * bool(alike(dice, 4)),
        "full house": 25 * full_house(dice),
        "small straight": 30 * run_of(dice, 4),
        "large straight": 40 * run_of(dice, 5),
        "chance": sum(dice),
        "yahtzee": 50 * bool(alike(dice, 5)),
    }[box]


def by_hand_yatzy(box, dice):
    if box in yatzy.UPPER or box == "chance":
        return by_hand_yahtzee(box, dice)
    two_pairs = [(*one, *other) for one in alike(dice, 2) for other in alike(dice, 2) if one[0] < other[0]]
    return {
        "pair": max(map(sum, alike(dice, 2)), default=0),
        "two pairs": max(map(sum, two_pairs), default=0),
        "three of a kind": max(map(sum, alike(dice, 3)), default=0),
        "four of a kind": max(map(sum, alike(dice, 4)), default=0),
        "small straight": 15 * (list(dice) == [1, 2, 3, 4, 5]),
        "large straight": 20 * (list(dice) == [2, 3, 4, 5, 6]),
        "full house": sum(dice) * full_house(dice),
        "yatzy": 50 * bool(alike(dice, 5)),
    }[box]


@pytest.mark.parametrize("rules", [(yahtzee, by_hand_yahtzee, 13), (yatzy, by_hand_yatzy, 15)])
def test_scores(rules):
    module, by_hand, boxes = rules
    assert len(module.BOXES) == boxes
    assert len(ROLLS) == 252
    for box in module.BOXES:
        scores = {dice: module.points(box, dice) for dice in ROLLS}
        assert scores == {dice: by_hand(box, dice) for dice in ROLLS}
        assert any(scores.values())


@pytest.mark.parametrize(
    ("module", "box", "dice", "score"),
    [
        (yahtzee, "small straight", (1, 2, 3, 3, 4), 30),
        (yahtzee, "full house", (3, 3, 3, 3, 3), 0),
        (yahtzee, "three of a kind", (2, 4, 4, 4, 6), 20),
        (yatzy, "two pairs", (4, 4, 4, 4, 6), 0),
        (yatzy, "three of a kind", (2, 4, 4, 4, 6), 12),
        (yatzy, "full house", (5, 5, 5, 5, 5), 0),
    ],
)
def test_scores_with_several_readings(module, box, dice, score):
    assert module.points(box, dice) == score
