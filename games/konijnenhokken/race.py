"""Konijnenhokken for two: who is first to collect the target?

Two players take turns (`mdpdice.games.konijnenhokken.game`); what a turn collects is added to a player's score, and the
first who collects a total at or above the target, in their own turn, has won.  The scores and the points banked in
earlier runs of this turn are counters; the field and what a roll offers are the states.  The equations stand in
``docs/games/konijnenhokken.md``.  A field wins as soon as its points suffice, since the player can stop there.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import attrs

from mdpdice import Counter, Edge, Node, decide, end, go, pass_to, roll, when
from mdpdice.games.konijnenhokken.game import DICE_HELP, Action, Konijnenhokken
from mdpdice.games.konijnenhokken.rules import DICE, Offer, offers, run_points, takes
from mdpdice.games.parameters import whole
from mdpdice.games.races import LARGEST_GOAL, RaceGame


class Hutch(NamedTuple):
    """A `Field` without its banked points, and whether something was rolled in this turn, which begins so."""

    r1: int
    r2: int
    c: int
    begun: bool


class Seen(NamedTuple):
    """A roll lies beside the field: `mdpdice.games.konijnenhokken.Rolled` without the banked points."""

    r1: int
    r2: int
    c: int
    ones: int
    twos: int
    cages: int


Core: TypeAlias = Hutch | Seen

_START = Hutch(0, 0, 0, begun=False)


@attrs.frozen
class KonijnenhokkenRace(RaceGame[Core, Action]):
    """Two-player Konijnenhokken, each playing for the chance to win; the value is that of the player to move.

    Parameters
    ----------
    target : int
        Points that win when they are collected.
    dice : int
        Dice of a run; the game has seven.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.konijnenhokken import KonijnenhokkenRace
    >>> round(solve(KonijnenhokkenRace(target=5, dice=3)).value(), 9)
    0.582521119
    """

    target: int = whole(100, LARGEST_GOAL, "points that win")
    dice: int = whole(DICE, DICE, DICE_HELP, unit="dice")

    t = Counter(lambda game: game.points())

    def points(self) -> range:
        return range(self.target)

    def start(self) -> Core:
        """Return the starter is about to roll all dice."""
        return _START

    def node(self, state: Core, /) -> Node[Core, Action]:
        """Return what to take from a roll; or whether to stop, with points that do not win yet."""
        r1, r2, c = state[:3]
        if isinstance(state, Seen):
            offered = takes(Offer(*state[3:]), c)
            return decide([(one, self._stand(r1 + one.ones, r2 + one.twos, c + one.cages)) for one in offered])
        swap = (self.mine.set(self.theirs), self.t.set(0))
        lost: Edge[Core] = pass_to(_START, *swap, self.theirs.set(self.mine))
        rolls = offers(self.dice - r1 - r2 - c, c)
        again: Edge[Core] = roll(rolls, lambda offered: go(Seen(r1, r2, c, *offered)) if offered else lost)
        if not state.begun:
            return again
        stop: Edge[Core] = pass_to(_START, *swap, self.theirs.set(self.mine + self.t + run_points(r1, r2, c)))
        options: dict[Action, Edge[Core]] = {"stop": stop, "roll": again}
        return decide(options)

    def _stand(self, r1: int, r2: int, c: int) -> Edge[Core]:
        points = run_points(r1, r2, c)
        ahead: Edge[Core] = go(Hutch(r1, r2, c, begun=True))
        if r1 + r2 + c == self.dice:
            ahead = go(Hutch(0, 0, 0, begun=True), self.t.add(points))
        # Whoever has the points that win has nothing to decide any more.
        return when(self.mine + self.t + points >= self.target, end(1), ahead)

    @property
    def one_turn(self) -> Konijnenhokken:
        """A turn of the race, as a game of its own."""
        return Konijnenhokken(dice=self.dice, t_max=self.target)
