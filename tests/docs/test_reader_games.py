"""Five games that were declared by following the pages of the documentation only, each checked against a second way.

The second way is a recursion of a few lines over the rules, in fractions and without the library.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path

import pytest

from mdpdice import Total, cross_check, race, solve
from mdpdice.testing import check_game

sys.path.insert(0, str(Path(__file__).parent / "reader_games"))

from craps import PassLine
from hog import HogTurn
from shut_the_box import ShutTheBox
from threes import Threes
from two_dice import LOADED, TwoDice

FACES = range(1, 7)


def rolls(n: int):
    return product(FACES, repeat=n)


def craps() -> Fraction:
    """244/495, as every book has it: over the points, the chance of the point times that of seeing it before a 7."""
    ways = {total: sum(a + b == total for a, b in rolls(2)) for total in range(2, 13)}
    points = sum(Fraction(ways[p], 36) * Fraction(ways[p], ways[p] + 6) for p in (4, 5, 6, 8, 9, 10))
    return Fraction(ways[7] + ways[11], 36) + points


@cache
def threes(n: int) -> Fraction:
    """Whoever keeps j dice keeps the j smallest."""
    if n == 0:
        return Fraction(0)
    total = Fraction(0)
    for roll in rolls(n):
        faces = sorted(0 if k == 3 else k for k in roll)
        total += min(sum(faces[:j]) + threes(n - j) for j in range(1, n + 1))
    return total / 6**n


@cache
def shut_the_box(boxes: frozenset[int]) -> Fraction:
    if not boxes:
        return Fraction(0)
    total = Fraction(0)
    for thrown in map(sum, rolls(2)):
        ways = [s for n in range(1, 5) for s in combinations(sorted(boxes), n) if sum(s) == thrown]
        total += max([Fraction(-sum(boxes)), *(shut_the_box(boxes - {*way}) for way in ways)])
    return total / 36


@cache
def hog(mine: int, theirs: int, goal: int) -> Fraction:
    best = Fraction(0)
    for n in (1, 2, 3):
        total = Fraction(0)
        for roll in rolls(n):
            after = mine + (1 if 1 in roll else sum(roll))
            total += 1 if after >= goal else 1 - hog(theirs, after, goal)
        best = max(best, total / 6**n)
    return best


@cache
def two_dice(points: int, cap: int) -> Fraction:
    if points >= cap:
        return Fraction(points)
    dice = ({k: Fraction(1, 6) for k in FACES}, dict(zip(range(1, 6), map(LOADED.prob, range(1, 6)), strict=True)))
    return max(Fraction(points), *(sum(p * two_dice(points + k, cap) for k, p in die.items() if k > 1) for die in dice))


GAMES = {
    "craps": (PassLine(), None, craps),
    "threes": (Threes(dice=4), Total("min"), lambda: threes(4)),
    "shut the box": (ShutTheBox(boxes=6), None, lambda: shut_the_box(frozenset(FACES))),
    "hog": (race(HogTurn(), 10), None, lambda: hog(0, 0, 10)),
    "two dice": (TwoDice(cap=30), None, lambda: two_dice(0, 30)),
}


@pytest.mark.parametrize("name", GAMES)
def test_a_game_of_a_reader(name: str) -> None:
    game, objective, by_hand = GAMES[name]
    assert solve(game, objective, solver="exact").exact() == by_hand()
    report = cross_check(game, objective, at_least={"independent": 2})
    assert report.ok, report
    assert check_game(game, sample=100).passed


def test_published_values() -> None:
    assert craps() == Fraction(244, 495)
    assert solve(Threes(dice=2), Total("min"), solver="exact").exact() == threes(2)
