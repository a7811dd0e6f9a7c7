r"""Farkle for two: who is first to bank the target?

Two players take turns (`mdpdice.games.farkle.game`); what a turn banks is added to a player's
score, and the first who banks a total at or above the target, on his own turn, has won.  Both
play for the chance to win, so the points of a turn matter only for what they do to it.

The scores of the player to move and of the other, and the points of this turn, are counters `i`,
`j` and `k`.  With `D` for the dice to roll and `m` for what a roll offers, the chance to win is

.. math::

   P(D, i, j, k) &= \sum_m P_D(m) \, P(m, i, j, k), \qquad
   P(\text{bust}, i, j, k) = 1 - P(D_{all}, j, i, 0), \\
   P(m, i, j, k) &= \max\bigl(1 - P(D_{all}, j, i + k + b(m), 0), \;
       \max_{(s, D') \in m} P(D', i, j, k + s)\bigr),

where banking the best points `b(m)` wins if they suffice, and rolling on is offered only below the
target.  A bust leads back to the same scores, so the equations are cyclic; the sum of the scores
never falls.
"""

from __future__ import annotations

import functools
from itertools import chain
from typing import Any, ClassVar, cast

import attrs

from mdpdice import (
    Counter,
    Edge,
    Game,
    Node,
    Option,
    decide,
    end,
    go,
    pass_to,
    roll,
    when,
)
from mdpdice.games.farkle.dice_table import Die
from mdpdice.games.farkle.game import DICE_HELP, KcdFarkle, read_dice, read_rules
from mdpdice.games.farkle.rules import KCD, MAX_DICE, Rules
from mdpdice.games.farkle.states import Action, Bank, Choose, Ready, State
from mdpdice.games.parameters import in_range

__all__ = ["FarkleRace"]


@attrs.frozen
class FarkleRace(Game[State, Action]):
    """Two-player Farkle, each playing for the chance to win; the value is that of the player to move.

    Parameters
    ----------
    target : int
        Points that win when they are banked.
    dice : int, or names or `Die` objects, as a list or separated by commas
        As in `mdpdice.games.farkle.KcdFarkle`; both players roll the same dice.
    rules : Rules or {"kcd", "patch"}
        What scores.

    Raises
    ------
    GameError
        A parameter is out of its range.
    UnknownDieError
        No die has a name that was given, or several have.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.farkle import FarkleRace
    >>> round(solve(FarkleRace(target=300, dice=3)).value(), 9)
    0.574300299
    """

    total: ClassVar[int] = 1  # one player wins, so values are chances to win
    payoff_range = (0, 1)

    target: int = attrs.field(
        default=4000,
        converter=int,
        validator=in_range(50_000),  # three counters in steps of 50, up to 64,500, are too many for a lattice
        metadata={"help": "points that win when banked"},
    )
    dice: tuple[Die, ...] = attrs.field(
        default=cast("Any", MAX_DICE), converter=read_dice, metadata={"help": DICE_HELP}
    )
    rules: Rules = attrs.field(
        default=KCD, converter=read_rules, metadata={"help": "scoring rules: kcd or patch"}
    )

    mine = Counter(lambda game: game.points())
    theirs = Counter(lambda game: game.points())
    turn = Counter(lambda game: game.points())

    def points(self) -> range:
        """Points that a score, or a turn, can have below the target."""
        return range(0, self.target, self.rules.grid)

    @functools.cached_property
    def one_turn(self) -> KcdFarkle:
        """A turn of the race, as a game of its own."""
        return KcdFarkle(rules=self.rules, dice=self.dice, cap=self.target)

    def progress(self) -> Any:
        """The sum of the scores."""
        return self.mine + self.theirs

    def start(self) -> State:
        """The starter is about to roll all dice."""
        return Ready(self.one_turn.all_dice)

    def node(self, state: State, /) -> Node[State, Action]:
        """A roll, or what to do with it (see the module's text)."""
        swap = (self.mine.set(self.theirs), self.turn.set(0))
        start = self.start()
        if isinstance(state, Ready):
            lost: Edge[State] = pass_to(start, *swap, self.theirs.set(self.mine))
            rolls = self.one_turn.book.rolls(state.dice)
            return roll(rolls.menus, lambda menu: go(Choose(menu)) if menu.best else lost)
        best = self.mine + self.turn + state.menu.best
        banked: Edge[State] = pass_to(start, *swap, self.theirs.set(best))
        bank: tuple[Action, Option[State]] = (
            Bank(state.menu.best),
            when(best >= self.target, end(1), banked),
        )
        keeps = (
            (
                keep,
                when(
                    self.mine + self.turn + keep.points < self.target,
                    go(Ready(keep.dice), self.turn.add(keep.points)),
                ),
            )
            for keep in state.menu.keeps
        )
        return decide(chain([bank], keeps))
