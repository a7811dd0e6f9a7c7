"""Solitaire Yatzy: 15 turns, each fills one box of the score sheet.

A turn is that of Yahtzee: a throw of five dice and up to two more throws of those that the player does not
keep.  The six upper boxes count the dice of one face, and 50 points are added if they come to 63 or more.  Of
pairs, three and four of a kind only these dice count; the two pairs differ; a full house has three
dice of one face and two of another.  The straights are 1 to 5 and 2 to 6, and a yatzy is 50.

The optimal value is 248.439989377855, computed by independent programs for these rules.
"""

from __future__ import annotations

from collections import Counter as Multiset
from itertools import combinations
from typing import ClassVar

import attrs

from mdpdice import Counter, Flags, Game, Node, d6, decide, end, go, roll, when

__all__ = ["BOXES", "Throw", "Yatzy", "points"]

UPPER = ("ones", "twos", "threes", "fours", "fives", "sixes")
LOWER = (
    "pair",
    "two pairs",
    "three of a kind",
    "four of a kind",
    "small straight",
    "large straight",
    "full house",
    "chance",
    "yatzy",
)
BOXES = UPPER + LOWER
SAME = {"pair": 2, "three of a kind": 3, "four of a kind": 4}


def points(box: str, dice: tuple[int, ...]) -> int:
    """What dice are worth in a box."""
    if box in UPPER:
        face = UPPER.index(box) + 1
        return face * dice.count(face)
    count = Multiset(dice)
    if box in SAME:
        return max((SAME[box] * face for face in count if count[face] >= SAME[box]), default=0)
    pairs = [face for face in count if count[face] >= 2]
    match box:
        case "two pairs":
            return 2 * sum(pairs) if len(pairs) == 2 else 0
        case "small straight":
            return 15 if set(dice) == {1, 2, 3, 4, 5} else 0
        case "large straight":
            return 20 if set(dice) == {2, 3, 4, 5, 6} else 0
        case "full house":
            return sum(dice) if sorted(count.values()) == [2, 3] else 0
        case "chance":
            return sum(dice)
        case _:
            return 50 if len(count) == 1 else 0


@attrs.frozen
class Throw:
    """Dice on the table, and how often those that are not kept may be thrown again."""

    dice: tuple[int, ...]
    left: int


@attrs.frozen
class Yatzy(Game[str | Throw, str | tuple[int, ...]]):
    """The whole game; actions are the dice to keep, and in the end of a turn the box to fill."""

    sheet: ClassVar[tuple[str, ...]] = BOXES

    boxes = Flags(lambda game: len(game.sheet))
    upper = Counter(range(64), outside="clip")

    def start(self) -> str:
        return "turn"

    def node(self, state: str | Throw) -> Node[str | Throw, str | tuple[int, ...]]:
        match state:
            case Throw(dice, left) if len(dice) < 5:
                return roll(d6, lambda face: go(Throw(tuple(sorted((*dice, face))), left)))
            case Throw(dice, left) if left > 0:
                keeps = {keep: None for n in range(5, -1, -1) for keep in combinations(dice, n)}
                return decide((keep, go(Throw(keep, left - 1))) for keep in keeps)
            case Throw(dice):
                return decide(
                    (
                        box,
                        when(
                            ~self.boxes[at],
                            go(
                                "turn",
                                self.boxes.add(at),
                                *([self.upper.add(points(box, dice))] if box in UPPER else []),
                                reward=points(box, dice),
                            ),
                        ),
                    )
                    for at, box in enumerate(self.sheet)
                )
            case _:
                bonus = when(self.upper >= 63, end(50), end(0))
                return when(self.boxes.count() == len(self.sheet), bonus, go(Throw((), 2)))
