"""Solitaire Yahtzee: 13 turns, each fills one box of the score sheet.

A turn has a throw of five dice and up to two more throws of those that the player does not keep.  The
six upper boxes count the dice of one face; 35 points are added if they come to 63 or more.

Five equal dice are worth 50 in the Yahtzee box.  What they are worth later is where the rules differ:

* ``bonus="verhoeff"``: 100 more, in whatever box, if the Yahtzee box holds 50.
* ``joker``: five equal dice may fill full house and the straights with 25, 30 and 40 once the Yahtzee
  box is filled, be it with 50 or with 0: ``"free"`` without a further condition;
  ``"only-when-both-filled"`` if the upper box of their face is filled, too; ``"forced"``, the
  printed rules, in which they must go into the upper box of their face, if that is filled into a lower box, and if
  there is none into another upper one; ``"none"`` never.

References
----------
T. Verhoeff, "Optimal solitaire Yahtzee strategies", Eindhoven 1999: 254.5896.
P. Woodward, "Yahtzee: the solution", Chance 16:1 (2003) 18-22: 254.59, standard deviation 59.61.
"""

from __future__ import annotations

from collections import Counter as Multiset
from collections.abc import Iterator
from typing import ClassVar, Literal

import attrs

from mdpdice import Counter, Expr, Option, when
from mdpdice.games.yahtzee.sheet import UPPER, ScoreSheet, upper_points

LOWER = ("three of a kind", "four of a kind", "full house", "small straight", "large straight", "chance", "yahtzee")
BOXES = UPPER + LOWER
JOKER = {"full house": 25, "small straight": 30, "large straight": 40}


def points(box: str, dice: tuple[int, ...]) -> int:
    """Return what dice are worth in a box, jokers aside."""
    if box in UPPER:
        return upper_points(box, dice)
    most, faces = max(Multiset(dice).values()), "".join(map(str, sorted(set(dice))))
    match box:
        case "three of a kind" | "four of a kind":
            return sum(dice) if most >= (3 if box == "three of a kind" else 4) else 0
        case "full house":
            return 25 if most == 3 and len(faces) == 2 else 0
        case "small straight":
            return 30 if any(run in faces for run in ("1234", "2345", "3456")) else 0
        case "large straight":
            return 40 if faces in ("12345", "23456") else 0
        case "chance":
            return sum(dice)
        case _:
            return 50 if most == 5 else 0


@attrs.frozen
class Yahtzee(ScoreSheet):
    """Solitaire Yahtzee, for as many points as possible.

    Actions are the dice to keep, and at the end of a turn the box to fill.

    Parameters
    ----------
    bonus : {"verhoeff", "none"}
        What further Yahtzees are worth.
    joker : {"forced", "free", "only-when-both-filled", "none"}
        Where further Yahtzees may go.
    """

    sheet: ClassVar[tuple[str, ...]] = BOXES
    extra: ClassVar[int] = 35

    bonus: Literal["verhoeff", "none"] = attrs.field(
        default="verhoeff", validator=attrs.validators.in_(("verhoeff", "none"))
    )
    joker: Literal["forced", "free", "only-when-both-filled", "none"] = attrs.field(
        default="forced", validator=attrs.validators.in_(("forced", "free", "only-when-both-filled", "none"))
    )

    fifty = Counter(lambda game: range(2 if game.bonus == "verhoeff" else 1))

    def fill(self, dice: tuple[int, ...]) -> Iterator[tuple[str, Option[str]]]:
        """Every box, with the joker rule as a condition where five dice are equal."""
        sheet = self.sheet
        for at, box in enumerate(sheet):
            score: int | Expr = points(box, dice)
            there: Expr = ~self.boxes[at]
            updates = [self.boxes.add(at)]
            if box in UPPER:
                updates.append(self.upper.add(score))
            if len(set(dice)) == 1:
                yahtzee = sheet.index("yahtzee")
                if self.joker != "none":
                    own = sheet.index(UPPER[dice[0] - 1])
                    if box in JOKER:
                        score = JOKER[box] * self.boxes.has(yahtzee, *([own] if self.joker != "free" else []))
                    if self.joker == "forced" and at != own:
                        rest = [i for i, name in enumerate(sheet) if name in LOWER and box in UPPER]
                        there = there & (~self.boxes[yahtzee] | self.boxes.has(own, *rest))
                if self.bonus == "verhoeff":
                    score = score + 100 * self.fifty
                    if at == yahtzee:
                        updates.append(self.fifty.set(1))
            yield box, when(there, self.scored(score, *updates))
