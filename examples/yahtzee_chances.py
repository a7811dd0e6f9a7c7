"""Yahtzee for at least T points: the best chance for every T, in one solve.

A counter holds the points that are still needed.  A play ends when there are none, or more than the open boxes can
give, so few points of the grid matter.  Before the first throw the player raises the goal, one point at a time.
"""

import sys
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, ClassVar

import attrs

from mdpdice import At, Counter, Edge, Expr, Node, decide, end, go, solve, table, when
from mdpdice.games.yahtzee import Throw, Yahtzee
from mdpdice.games.yahtzee.game import points
from mdpdice.games.yahtzee.sheet import UPPER

DICE = list(combinations_with_replacement(range(1, 7), 5))


@attrs.frozen
class YahtzeeChances(Yahtzee):
    fifty = Counter(range(2), start=1)  # with no box filled: the goal is not settled
    need = Counter(lambda game: range(game.most + 1), start=1, outside="clip")

    @cached_property
    def best(self) -> list[tuple[int, ...]]:
        """By the filled boxes, the most that open ones give: all but Yahtzee, upper ones, it, further ones."""
        rows = []
        for used in range(1 << len(self.sheet)):
            left = [box for at, box in enumerate(self.sheet) if not used >> at & 1 and box != "yahtzee"]
            each = {box: max(points(box, dice) for dice in DICE) for box in left}
            further = 100 * len(left) * (self.bonus == "verhoeff")
            it = 0 if used >> self.sheet.index("yahtzee") & 1 else 50 + further
            rows.append((sum(each.values()), sum(each[box] for box in left if box in UPPER), it, further))
        return list(zip(*rows, strict=True))

    @property
    def most(self) -> int:
        rest, upper, it, _ = (column[0] for column in self.best)
        return rest + self.extra * (upper >= 63) + it

    @property
    def asking(self) -> Expr:
        return (self.boxes.count() == 0) & (self.fifty == 1)

    def progress(self) -> tuple[Expr, ...]:
        return self.boxes.count(), self.asking * (self.need - self.most - 1)

    def possible(self, *, lost: bool = False) -> Expr:
        """Most points that are still to come, be it none for Yahtzees."""
        rest, upper, it, further = (table(column, self.boxes) for column in self.best)
        rest = rest + self.extra * (self.upper + upper >= 63)
        return rest if lost else rest + it + self.fifty * further

    def node(self, state: str | Throw) -> Node[Any, Any]:
        if isinstance(state, Throw):
            return super().node(state)
        more = when(self.asking & (self.need < self.most), go("turn", self.need.add(1)))
        ask = decide({"play": when(self.asking, go("turn", self.fifty.set(0))), "more": more})
        won = when(self.need <= self.extra * (self.upper >= 63), end(1), end(0))
        play = when(self.need > self.possible(), end(0), go(Throw((), 2)))
        over = (self.need == 0) | (self.boxes.count() == len(self.sheet))
        return when(self.asking, ask, when(over, won, play))

    def scored(self, score: int | Expr, *updates: Any) -> Edge[Any]:
        on = go("turn", *updates, self.need.add(-score))
        # Plays that can no longer be won end at once where most of them are lost: with nothing for a Yahtzee.
        nothing = isinstance(score, int) and score == 0 and updates[0] == self.boxes.add("yahtzee")
        return when(self.need > self.possible(lost=True), end(0), on) if nothing else on


class ThreeBoxes(YahtzeeChances):
    sheet: ClassVar[tuple[str, ...]] = ("sixes", "small straight", "yahtzee")


def starts(game: YahtzeeChances) -> dict[int, At[str]]:
    return {goal: At("turn", boxes=0, upper=0, fifty=0, need=goal) for goal in range(1, game.most + 1)}


def chances(game: YahtzeeChances, checkpoint: str | None = None) -> str:
    solution = solve(game, checkpoint=checkpoint)
    rows = [(goal, solution.value(at), solution.lower(at), solution.upper(at)) for goal, at in starts(game).items()]
    return "\n".join(["points,chance,lower,upper", *(",".join(map(str, row)) for row in rows)])


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            small = ThreeBoxes(joker="none")
            print(f"Yahtzee with three boxes, at least 60 points: {solve(small).value(starts(small)[60]):.10f}")
        case ["--plain"]:  # a quarter of an hour, and 10 GB of memory
            print(chances(YahtzeeChances(bonus="none", joker="none")))
        case ["--whole", folder]:  # an hour on two processors, 25 GB of memory, and 20 GB in the folder
            print(chances(YahtzeeChances(), folder))
        case _:
            sys.exit("usage: yahtzee_chances.py [--plain | --whole FOLDER]")
