"""Yahtzee for at least so many points: the best chance for every goal, in one solve.

A counter holds the points that are still needed.  A play ends when there are none, or more than the open boxes can
give, so few points of the grid matter.  Before the first throw the player raises the goal, one point at a time.
"""

from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

import attrs

from mdpdice import At, Counter, Edge, Expr, Node, Solution, decide, end, go, table, when
from mdpdice.games.yahtzee import Throw, Yahtzee
from mdpdice.games.yahtzee.game import UPPER, points

DICE = list(combinations_with_replacement(range(1, 7), 5))


@attrs.frozen(slots=False)
class YahtzeeChances(Yahtzee):
    fifty = Counter(range(2), start=1)  # with no box filled: the goal is not settled
    need = Counter(lambda game: range(game.most + 1), start=1, outside="clip")

    @cached_property
    def best(self) -> list[tuple[int, ...]]:
        """By the set of filled boxes, the most that open ones give: all but Yahtzee, upper ones, it, further ones."""
        rows = []
        for used in range(1 << len(self.sheet)):
            left = [box for at, box in enumerate(self.sheet) if not used >> at & 1 and box != "yahtzee"]
            each = {box: max(points(box, dice) for dice in DICE) for box in left}
            upper, further = sum(each[box] for box in left if box in UPPER), 100 * len(left)
            by_it = 0 if used >> self.sheet.index("yahtzee") & 1 else 50 + further
            rows.append((sum(each.values()), upper, by_it, further))
        return list(zip(*rows, strict=True))

    @property
    def most(self) -> int:
        aside, upper, by_it, _ = (column[0] for column in self.best)
        return aside + by_it + self.extra * (upper >= 63)

    @property
    def asking(self) -> Expr:
        return (self.boxes.count() == 0) & (self.fifty == 1)

    def progress(self) -> tuple[Expr, ...]:
        return self.boxes.count(), self.asking * (self.need - self.most - 1)

    def possible(self, *, lost: bool = False) -> Expr:
        """Most points that are still to come, be it without any for Yahtzees."""
        aside, upper, by_it, further = (table(column, self.boxes) for column in self.best)
        rest = aside + self.extra * (self.upper + upper >= 63)
        return rest if lost else rest + by_it + self.fifty * further

    def node(self, state: str | Throw) -> Node[Any, Any]:
        if isinstance(state, Throw):
            return super().node(state)
        ask = {
            "play": when(self.asking, go("turn", self.fifty.set(0))),
            "more": when(self.asking & (self.need < self.most), go("turn", self.need.add(1))),
        }
        over = (self.need == 0) | (self.boxes.count() == len(self.sheet))
        won = when(self.need <= self.extra * (self.upper >= 63), end(1), end(0))
        play = when(over, won, when(self.need > self.possible(), end(0), go(Throw((), 2))))
        return when(self.asking, decide(ask), play)

    def scored(self, score: int | Expr, *updates: Any) -> Edge[Any]:
        on = go("turn", *updates, self.need.add(-score))
        nothing = isinstance(score, int) and score == 0 and updates[0] == self.boxes.add("yahtzee")
        # The most that is lost at once: plays that end here take no room.
        return when(self.need > self.possible(lost=True), end(0), on) if nothing else on


def chances(solution: Solution) -> list[float]:
    """Best chance of at least 1, 2, 3, ... points."""
    most = max(YahtzeeChances().best[0])
    return [solution.value(At("turn", boxes=0, upper=0, fifty=0, need=goal)) for goal in range(1, most + 1)]
