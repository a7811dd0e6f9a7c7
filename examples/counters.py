"""Counters: the race of Pig with one core state, and a turn of Farkle with the points beside its states.

In the race two players roll a die as often as they like; a 1 loses the points of the turn, and who
reaches the goal first wins: T. W. Neller and C. G. M. Presser, "Optimal play of the dice game Pig",
The UMAP Journal 25 (2004), 25-47.  The shipped games give the same values.
"""

from collections.abc import Iterator
from typing import assert_type

import attrs

from mdpdice import (
    At,
    Counter,
    Edge,
    Expr,
    Game,
    Node,
    Option,
    d6,
    decide,
    end,
    explore,
    go,
    pass_to,
    roll,
    solve,
    when,
)
from mdpdice.games.farkle import Bank, KcdFarkle, Keep
from mdpdice.games.farkle.menus import Menu
from mdpdice.games.pig import PigRace


@attrs.frozen
class Race(Game[str, str]):
    """The race of Pig: a counter for each score and one for the points of the turn."""

    goal: int = 30
    total = 1
    mine = Counter(lambda game: range(game.goal))
    theirs = Counter(lambda game: range(game.goal))
    turn = Counter(lambda game: range(game.goal + 6))

    def start(self) -> str:
        return "turn"

    def node(self, state: str) -> Node[str, str]:
        swap = (self.mine.set(self.theirs), self.turn.set(0))
        lost = pass_to(state, *swap, self.theirs.set(self.mine))
        over = assert_type(self.mine + self.turn >= self.goal, Expr)
        playing = assert_type(
            decide(
                {
                    "hold": pass_to(state, *swap, self.theirs.set(self.mine + self.turn)),
                    "roll": roll(d6, lambda k: lost if k == 1 else go(state, self.turn.add(k))),
                }
            ),
            Node[str, str],
        )
        return when(over, end(1), playing)


@attrs.frozen
class Ready:
    """So many dice are about to be rolled."""

    dice: int


@attrs.frozen
class Choose:
    """A roll lies on the table."""

    menu: Menu


@attrs.frozen
class Turn(Game[Ready | Choose, Bank | Keep]):
    """A turn of Farkle with ordinary dice, which ends at the cap."""

    dice: int = 3
    cap: int = 1000
    points = Counter(lambda game: range(0, game.cap, 50))

    def start(self) -> Ready | Choose:
        return Ready(self.dice)

    def node(self, core: Ready | Choose) -> Node[Ready | Choose, Bank | Keep]:
        match core:
            case Ready(dice):
                menus = KcdFarkle(dice=self.dice).book.rolls(dice).menus
                return roll(menus, lambda menu: go(Choose(menu)) if menu.best else end())
            case Choose(menu):
                return decide(self.options(menu))

    def options(self, menu: Menu) -> Iterator[tuple[Bank | Keep, Option[Ready]]]:
        yield Bank(menu.best), end(self.points + menu.best)
        for keep in menu.keeps:
            if isinstance(keep.dice, int):
                on: Edge[Ready] = go(Ready(keep.dice), self.points.add(keep.points))
                yield keep, assert_type(when(self.points + keep.points < self.cap, on), Option[Ready])


def main() -> None:
    race = solve(Race())
    print(f"race to 30: {race.value():.9f}, and the shipped game {solve(PigRace(goal=30)).value():.9f}")
    at = At("turn", mine=0, theirs=25, turn=20)
    print(f"at {at}: {race.action(at)}")
    print(explore(Race()))
    print()
    turn, shipped = solve(Turn()), solve(KcdFarkle(dice=3, cap=1000))
    print(f"turn of Farkle: {turn.value():.9f}, and the shipped game {shipped.value():.9f}")
    unrolled = solve(Turn().unrolled())
    print(f"explored state by state: {unrolled.value():.9f}")


if __name__ == "__main__":
    main()
