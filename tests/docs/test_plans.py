"""The games of examples/plans: a second computation gives the same, and what the page counts is there to be counted."""

from __future__ import annotations

import importlib
import re
from collections import Counter
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mdpdice import solve

ROOT = Path(__file__).resolve().parents[2]
PLANS = ROOT / "examples" / "plans"
ROLLS = sorted({tuple(sorted(dice)) for dice in product(range(1, 7), repeat=5)})
KEEPS = sorted({tuple(sorted(dice)) for n in range(6) for dice in product(range(1, 7), repeat=n)})


@pytest.fixture
def two_sheets(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(PLANS))
    return importlib.import_module("two_sheets")


@cache
def thrown() -> tuple[np.ndarray, np.ndarray]:
    """The chance of every roll after every way to keep dice, and which of these a roll allows."""
    place = {dice: at for at, dice in enumerate(ROLLS)}
    chance = np.zeros((len(KEEPS), len(ROLLS)))
    allowed = np.zeros((len(ROLLS), len(KEEPS)), dtype=bool)
    for at, keep in enumerate(KEEPS):
        for more in product(range(1, 7), repeat=5 - len(keep)):
            chance[at, place[tuple(sorted(keep + more))]] += 1 / 6 ** (5 - len(keep))
        for row, dice in enumerate(ROLLS):
            allowed[row, at] = not Counter(keep) - Counter(dice)
    return chance, allowed


def school_points(box: str, dice: tuple[int, ...], first: bool) -> set[int]:
    equal = [face for face in range(1, 7) if dice.count(face) >= {"pair": 2, "trash": 0, "grade-6": 0}[box]]
    if box == "grade-6":
        return {-6 * (5 - dice.count(6))}
    most = sum(dice) if box == "trash" else 2 * max(equal, default=0)
    return {0, most * (1 + first)}


def yahtzee_points(box: str, dice: tuple[int, ...], first: bool) -> set[int]:
    if box == "chance":
        return {sum(dice)}
    return {25 if sorted(Counter(dice).values()) == [2, 3] else 0}


def chance_to_win(points, boxes: tuple[str, ...]) -> float:
    """Play backwards from full sheets; one turn is a table of rolls by stages."""
    chance, allowed = thrown()

    @cache
    def value(mine: frozenset[str], theirs: frozenset[str], lead: int) -> float:
        if len(mine) + len(theirs) == 2 * len(boxes):
            return (1 + (lead > 0) - (lead < 0)) / 2

        def ends(first: bool) -> np.ndarray:
            best = np.zeros(len(ROLLS))
            for at, dice in enumerate(ROLLS):
                for box in {*boxes} - mine:
                    for paid in points(box, dice, first):
                        best[at] = max(best[at], 1 - value(theirs, mine | {box}, -lead - paid))
            return best

        later = ends(False)
        second = np.maximum(later, np.where(allowed, chance @ later, 0).max(axis=1))
        now = np.maximum(ends(True), np.where(allowed, chance @ second, 0).max(axis=1))
        return float(chance[KEEPS.index(())] @ now)

    return value(frozenset(), frozenset(), 0)


@pytest.mark.parametrize(
    ("sheet", "points", "boxes"),
    [
        ("school", school_points, ("grade-6", "pair")),
        ("school", school_points, ("pair", "trash")),
        ("yahtzee", yahtzee_points, ("full house", "chance")),
    ],
)
def test_a_second_computation_gives_the_same(two_sheets, sheet, points, boxes) -> None:
    solution = solve(two_sheets.TwoSheets(sheet, boxes))
    assert solution.proved
    assert solution.value() == pytest.approx(chance_to_win(points, boxes), abs=2e-9)


def test_the_page_shows_what_the_script_prints(two_sheets) -> None:
    """The value of the smallest sheet and the counts of the whole games, which need no long solve."""
    plan = importlib.import_module("plan")
    page = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
    shown = re.search(r"^school +2 +([\d.]+)", page, flags=re.MULTILINE)
    assert shown
    value = solve(two_sheets.TwoSheets("school", two_sheets.SCHOOL[:2])).value()
    assert float(shown[1]) == pytest.approx(value, abs=1e-8)
    for kind, boxes, sheets in (("school", plan.COMBINATIONS, 21_526), ("yahtzee", plan.BOXES, 536_448)):
        found = plan.sheets(kind, boxes)
        assert sum(count for count, _ in found) == sheets  # of Yahtzee, those of the game for one
        line = re.search(rf"^{kind} +{sheets:,} +(\S+) +(\S+) +([\d,]+)", page, flags=re.MULTILINE)
        assert line
        assert line[2] == f"{sum(plan.layers(found)):.2e}"
