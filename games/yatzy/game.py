"""Solitaire Yatzy: 15 turns, each fills one box of the score sheet.

A turn is that of Yahtzee: a throw of five dice and up to two more throws of those that the player does not
keep.  The six upper boxes count the dice of one face, and 50 points are added if they come to 63 or more.  Of
pairs, three and four of a kind only these dice count; the two pairs differ; a full house has three
dice of one face and two of another.  The straights are 1 to 5 and 2 to 6, and a yatzy is 50.

The optimal value is 248.439989377855, computed by independent programs for these rules.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Iterator
from typing import ClassVar

import attrs

from mdpdice import Option, when
from mdpdice.games.yahtzee.sheet import UPPER, ScoreSheet, upper_points

LOWER = (
    *("pair", "two pairs", "three of a kind", "four of a kind"),
    *("small straight", "large straight", "full house", "chance", "yatzy"),
)
BOXES = UPPER + LOWER
SAME = {"pair": 2, "three of a kind": 3, "four of a kind": 4}


def points(box: str, dice: tuple[int, ...]) -> int:
    """Return what dice are worth in a box."""
    if box in UPPER:
        return upper_points(box, dice)
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
class Yatzy(ScoreSheet):
    """Solitaire Scandinavian Yatzy, for as many points as possible.

    Actions are the dice to keep, and at the end of a turn the box to fill.
    """

    sheet: ClassVar[tuple[str, ...]] = BOXES
    extra: ClassVar[int] = 50

    def fill(self, dice: tuple[int, ...]) -> Iterator[tuple[str, Option[str]]]:
        """Every box that is still empty."""
        for at, box in enumerate(self.sheet):
            score = points(box, dice)
            updates = [self.boxes.add(at)]
            if box in UPPER:
                updates.append(self.upper.add(score))
            yield box, when(~self.boxes[at], self.scored(score, *updates))
