"""Yahtzee's chances of every goal, of small sheets: against one solve for each goal, and against plain recursion."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations, pairwise, product
from pathlib import Path

import pytest
from helpers.examples import example

from mdpdice import At, PayoffAtLeast, compile_lattice, solve
from mdpdice.games.yahtzee import Yahtzee
from mdpdice.games.yahtzee.game import points
from mdpdice.games.yahtzee.sheet import UPPER

ROOT = Path(__file__).parents[3]
SHEET = ("sixes", "small straight", "yahtzee")
GOALS = (1, 6, 30, 36, 50, 51, 60, 99, 110, 180, 260, 310)


def chances(sheet: tuple[str, ...], **rules: str):
    base = example("yahtzee_chances")["YahtzeeChances"]
    game = type("Small", (base,), {"sheet": sheet})(**rules)
    solution = solve(compile_lattice(game))
    assert solution.proved
    start = {"boxes": 0, "upper": 0, "fifty": 0}
    return [solution.value(At("turn", **start, need=goal)) for goal in range(1, game.most + 1)]


@pytest.mark.parametrize(("bonus", "more"), [("verhoeff", 200), ("none", 0)])
def test_every_goal_has_the_value_that_one_solve_for_it_gives(bonus: str, more: int) -> None:
    found = chances(SHEET, bonus=bonus, joker="none")
    plain = compile_lattice(type("Plain", (Yahtzee,), {"sheet": SHEET})(bonus=bonus, joker="none"), merge=False)
    assert len(found) == 30 + 30 + 50 + more
    for goal in [goal for goal in GOALS if goal <= len(found)]:
        assert found[goal - 1] == pytest.approx(solve(plain, PayoffAtLeast(goal)).value(), abs=1e-13)
    assert all(one >= other for one, other in pairwise(found))


@pytest.mark.slow
@pytest.mark.parametrize("rules", [{}, {"bonus": "none"}, {"joker": "free"}])
def test_jokers_count_for_every_goal(rules: dict[str, str]) -> None:
    """Boxes that a joker can fill, and all upper ones, which it has to fill first."""
    sheet = (*UPPER, "full house", "yahtzee")
    found = chances(sheet, **rules)
    plain = compile_lattice(type("Plain", (Yahtzee,), {"sheet": sheet})(**rules), merge=False)
    for goal in (60, 130, 180, 210):
        assert found[goal - 1] == pytest.approx(solve(plain, PayoffAtLeast(goal)).value(), abs=1e-13)


@cache
def outcomes(n: int) -> Counter[tuple[int, ...]]:
    return Counter(tuple(sorted(dice)) for dice in product(range(1, 7), repeat=n))


def turn(worth) -> float:
    """What a turn is worth by what its last dice are worth: keep and throw again, twice."""

    @cache
    def thrown(kept: tuple[int, ...], left: int) -> float:
        total = sum(n * held(tuple(sorted(kept + new)), left) for new, n in outcomes(5 - len(kept)).items())
        return total / 6 ** (5 - len(kept))

    @cache
    def held(dice: tuple[int, ...], left: int) -> float:
        if left == 0:
            return worth(dice)
        return max(thrown(kept, left - 1) for n in range(6) for kept in set(combinations(dice, n)))

    return thrown((), 2)


@cache
def recursion(left: frozenset[str], fifty: bool, need: int) -> float:
    """Chance of so many points more, without upper boxes that could come to 63."""
    if need <= 0 or not left:
        return float(need <= 0)

    def worth(dice: tuple[int, ...]) -> float:
        bonus = 100 * (fifty and len(set(dice)) == 1)
        won = (points(box, dice) + bonus for box in left)
        return max(
            recursion(left - {box}, fifty or (box == "yahtzee" and score == 50), need - score)
            for box, score in zip(left, won, strict=True)
        )

    return turn(worth)


def test_goals_of_two_boxes_by_recursion() -> None:
    sheet = ("large straight", "yahtzee")
    found = chances(sheet, joker="none")
    assert len(found) == 40 + 50 + 100
    for goal in (40, 50, 90, 101, 150):
        assert found[goal - 1] == pytest.approx(recursion(frozenset(sheet), False, goal), abs=1e-13)


@cache
def all_points(low: int, six: bool, sixes: int, jokers: int) -> float:
    """Chance of a Yahtzee in every turn that is left, each of which fills a box with the most that it can give.

    Of the ones to the fives `low` boxes are open, which are those of the lowest faces; `six` says whether that of the
    sixes is, `sixes` counts the open boxes that five sixes give 30, and `jokers` those that a joker fills.
    """
    if not low and not six and not sixes and not jokers:
        return 1.0

    def worth(dice: tuple[int, ...]) -> float:
        face = dice[0]
        if len(set(dice)) > 1:
            return 0.0
        if face <= low or (face == 6 and six):  # its own box comes first
            return all_points(low - (face < 6), six and face < 6, sixes, jokers)
        further = [all_points(low, six, sixes - 1, jokers)] if face == 6 and sixes else []
        return max([*further, all_points(low, six, sixes, jokers - 1) if jokers else 0.0])

    return turn(worth)


def test_all_points_of_yahtzee_by_recursion() -> None:
    """After a Yahtzee in its own box; faces below 6 are alike, so it does not matter which are open."""
    lines = (ROOT / "docs" / "yahtzee_chances.csv").read_text(encoding="utf-8").splitlines()
    points, chance, *_ = lines[-1].split(",")
    assert points == "1575"
    after = all_points(5, True, 3, 3)
    assert float(chance) == pytest.approx(turn(lambda dice: after * (len(set(dice)) == 1)), rel=1e-12)
