"""Score sheets of the Yahtzee family: every turn fills one box with five dice.

A turn has a throw of five dice and up to two more throws of those that the player does not keep.  The
six upper boxes count the dice of one face, and points are added at the end if they come to 63 or more.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable
from itertools import combinations
from typing import Any, ClassVar, TypeAlias

import attrs

from mdpdice import Counter, Edge, Expr, Flags, Game, Node, Option, d6, decide, end, go, roll, when

UPPER = ("ones", "twos", "threes", "fours", "fives", "sixes")


def upper_points(box: str, dice: tuple[int, ...]) -> int:
    """Return what dice are worth in one of the six upper boxes."""
    face = UPPER.index(box) + 1
    return face * dice.count(face)


@attrs.frozen
class Throw:
    """Dice on the table, and how often those that are not kept may be thrown again."""

    dice: tuple[int, ...]
    left: int


State: TypeAlias = str | Throw
Action: TypeAlias = str | tuple[int, ...]


class ScoreSheet(Game[State, Action]):
    """The whole game; actions are the dice to keep, and in the end of a turn the box to fill.

    Attributes
    ----------
    sheet : tuple of str
        The boxes.
    extra : int
        Points that are added if the upper boxes come to 63 or more.
    """

    sheet: ClassVar[tuple[str, ...]]
    extra: ClassVar[int]

    boxes = Flags(lambda game: game.sheet)
    upper = Counter(range(64), outside="clip")

    def start(self) -> str:
        """Before the first throw of a turn."""
        return "turn"

    def node(self, state: State, /) -> Node[State, Action]:
        """Throw, keep dice, or fill a box; the play ends when all are filled."""
        match state:
            case Throw(dice, left) if len(dice) < 5:
                return roll(d6, lambda face: go(Throw(tuple(sorted((*dice, face))), left)))
            case Throw(dice, left) if left > 0:
                keeps = {keep: None for n in range(5, -1, -1) for keep in combinations(dice, n)}
                return decide((keep, go(Throw(keep, left - 1))) for keep in keeps)
            case Throw(dice):
                return decide(self.fill(dice))
            case _:
                extra = when(self.upper >= 63, end(self.extra), end(0))
                return when(self.boxes.count() == len(self.sheet), extra, go(Throw((), 2)))

    def scored(self, score: int | Expr, *updates: Any) -> Edge[str]:
        """Return what follows when a box is filled with so many points."""
        return go("turn", *updates, reward=score)

    @abc.abstractmethod
    def fill(self, dice: tuple[int, ...]) -> Iterable[tuple[str, Option[str]]]:
        """Every box, and what comes of filling it with some dice."""
