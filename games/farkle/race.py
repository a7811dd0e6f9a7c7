"""Farkle for two: who is first to bank the target?

Two players take turns (`mdpdice.games.farkle.game`); what a turn banks is added to a player's score, and the first
who banks a total at or above the target has won.  The scores and the points of this turn are counters; the equations
stand in ``docs/farkle.md``.  Where the two roll different dice, a position also tells whose turn it is.
"""

from __future__ import annotations

import functools
from collections import Counter as Multiset
from collections.abc import Iterable
from typing import TypeAlias

import attrs

from mdpdice import Counter, Edge, Node, Option, decide, end, go, pass_to, roll, when
from mdpdice.games.farkle.dice_table import Die
from mdpdice.games.farkle.game import DICE_HELP, RULES_HELP, SIX, KcdFarkle, read_dice, read_rules
from mdpdice.games.farkle.rules import KCD, Rules
from mdpdice.games.farkle.states import Action, Bank, Choose, Ready, Second, State
from mdpdice.games.parameters import whole
from mdpdice.games.races import RaceGame

RaceState: TypeAlias = State | Second

_MINE = {"help": "dice of the player who starts, if not `dice`"}
_THEIRS = {"help": "dice of the other player, if not `dice`"}


def _none_or_dice(given: int | str | Die | Iterable[str | Die] | None) -> tuple[Die, ...] | None:
    return None if given in (None, "none") else read_dice(given)


@attrs.frozen
class FarkleRace(RaceGame[RaceState, Action]):
    """Two-player Farkle, each playing for the chance to win; the value is that of the player to move.

    Parameters
    ----------
    target : int
        Points that win when they are banked.
    dice : int, or names or `Die` objects, as a list or separated by commas
        Dice of both players, as in `mdpdice.games.farkle.KcdFarkle`.
    rules : Rules or str
        What scores, as in `mdpdice.games.farkle.KcdFarkle`.
    my_dice, their_dice : like `dice`, optional
        Dice of the player who starts, and of the other one, where they are others.
    my_points, their_points : int
        What the two have when the race starts.

    Raises
    ------
    UnknownDieError
        No die has a name that was given, or several have.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.farkle import FarkleRace
    >>> round(solve(FarkleRace(target=300, dice=3)).value(), 9)
    0.574300299
    """

    # Three counters in steps of 50, up to 64,500, are too many for a lattice.
    target: int = whole(4000, 50_000, "points that win when banked")
    dice: tuple[Die, ...] = attrs.field(default=SIX, converter=read_dice, metadata={"help": DICE_HELP})
    rules: Rules = attrs.field(default=KCD, converter=read_rules, metadata={"help": RULES_HELP})
    my_dice: tuple[Die, ...] | None = attrs.field(default=None, converter=_none_or_dice, metadata=_MINE)
    their_dice: tuple[Die, ...] | None = attrs.field(default=None, converter=_none_or_dice, metadata=_THEIRS)
    my_points: int = whole(0, 50_000, "points of the player who starts", least=0)
    their_points: int = whole(0, 50_000, "points of the other player", least=0)

    turn = Counter(lambda game: game.points())

    def points(self) -> range:
        """Points that a score, or a turn, can have below the target."""
        return range(0, self.target, self.rules.grid)

    @functools.cached_property
    def turns(self) -> tuple[KcdFarkle, ...]:
        """A turn of each player as a game of its own; one for both where their dice are the same."""
        mine, theirs = (
            KcdFarkle(rules=self.rules, dice=self.dice if own is None else own, cap=self.target)
            for own in (self.my_dice, self.their_dice)
        )
        return (mine,) if Multiset(mine.dice) == Multiset(theirs.dice) else (mine, theirs)

    def begin(self, seat: int) -> RaceState:
        """State in which the player of a seat, 0 or 1, is about to roll all dice."""
        seat %= len(self.turns)
        return _seen_from(seat, Ready(self.turns[seat].all_dice))

    def start(self) -> RaceState:
        """Return the starter is about to roll all dice."""
        return self.begin(0)

    def node(self, state: RaceState, /) -> Node[RaceState, Action]:
        """Return a roll, or what to do with it (see the module's text)."""
        seat, core = (1, state.state) if isinstance(state, Second) else (0, state)
        other = self.begin(seat + 1)
        swap = (self.mine.set(self.theirs), self.turn.set(0))
        if isinstance(core, Ready):
            lost: Edge[RaceState] = pass_to(other, *swap, self.theirs.set(self.mine))
            rolls = self.turns[seat].book.rolls(core.dice)
            return roll(rolls.menus, lambda menu: go(_seen_from(seat, Choose(menu))) if menu.best else lost)
        best = self.mine + self.turn + core.menu.best
        banked: Edge[RaceState] = pass_to(other, *swap, self.theirs.set(best))
        options: dict[Action, Option[RaceState]] = {Bank(core.menu.best): when(best >= self.target, end(1), banked)}
        for keep in core.menu.keeps:
            on = go(_seen_from(seat, Ready(keep.dice)), self.turn.add(keep.points))
            options[keep] = when(self.mine + self.turn + keep.points < self.target, on)
        return decide(options)


def _seen_from(seat: int, state: State) -> RaceState:
    return Second(state) if seat else state
