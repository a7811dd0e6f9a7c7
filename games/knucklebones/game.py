"""Knucklebones, the dice game of *Cult of the Lamb* [1]_, for two players.

Each player has a board of columns with room for some dice (3 x 3 in the game).  In turn they roll a die and place it
in a column of their own board that has room; every die of that value in the facing column of the opponent is taken off,
by the last die of the game too.  The game is over when one of the boards is full, and the larger score wins: `n` dice
of value `v` in one column count ``v * n**2``.  The equation stands in ``docs/games/knucklebones.md``.

Dice are taken off, so boards come back and the equations are cyclic; but every turn has a positive chance to bring the
end nearer, and the game ends with probability one.  Boards of 3 x 3 have 4.8 thousand million positions up to the order
of columns.  For these there is an estimate, that of a public program [2]_, for the solver `mdpdice.solvers.lookahead`.

References
----------
.. [1] Massive Monster, "Cult of the Lamb", 2022.
.. [2] github.com/CodingMentalModels/knucklebones-solver
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import attrs

from mdpdice import Edge, Game, Node, d6, decide, end, go, pass_to, roll
from mdpdice.games.knucklebones.rules import Board, Scoring, empty_squares, place, remove, score, sort_columns
from mdpdice.games.parameters import choice, whole

_MEAN = 3.5  # of a die
_SPREAD = 4.0  # points by which one die to come may change the lead, see `Knucklebones.estimate`

# Named tuples of different lengths are never equal, and they are explored several times faster than
# attrs classes.


class Facing(NamedTuple):
    """Between two turns: a die is about to be rolled; the boards are those of the player to roll and of the other."""

    mine: Board
    theirs: Board


class Rolled(NamedTuple):
    """A die was rolled: where to place it?  The boards are those of the player to move and of the other."""

    die: int
    mine: Board
    theirs: Board


State: TypeAlias = Facing | Rolled


@attrs.frozen
class Knucklebones(Game[State, int]):
    """Knucklebones for two players; the value is P(win) - P(loss) of the player who rolls first.

    An action is the number of a column, from 1 on.

    Parameters
    ----------
    columns, rows : int
        Size of the boards.
    scoring : {"matching", "whole-column", "plain"}
        What equal dice in a column do: they multiply each other, they multiply
        the whole column, or nothing.
    payoff : {"win", "points"}
        Play for P(win) - P(loss), or for the difference of the scores.
    heuristic : {"moves-left", "public-solver"}
        How `estimate` counts the squares that are still empty.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.knucklebones import Knucklebones
    >>> solve(Knucklebones(columns=2, rows=1), solver="exact").exact()
    Fraction(125, 252)
    """

    total: ClassVar[int] = 0

    columns: int = whole(3, 8, "columns of a board", unit="columns")
    rows: int = whole(3, 8, "dice that a column has room for", unit="rows")
    scoring: Scoring = choice(
        "matching", "whole-column", "plain", help_text="what equal dice multiply: each other, the column, nothing"
    )
    payoff: Literal["win", "points"] = choice(
        "win", "points", help_text="P(win) - P(loss), or the difference of the scores"
    )
    heuristic: Literal["moves-left", "public-solver"] = choice(
        "moves-left", "public-solver", help_text="which empty squares an estimate counts: those still filled, or all"
    )

    @property
    def payoff_range(self) -> tuple[int, int]:  # type: ignore[override]  # here it depends on the parameters
        """Smallest and largest payoff."""
        most = 1 if self.payoff == "win" else self.columns * score(((6,) * self.rows,), self.scoring)
        return -most, most

    # --- the game -------------------------------------------------------------

    def start(self) -> State:
        """Both boards are empty."""
        empty: Board = ((),) * self.columns
        return Facing(empty, empty)

    def node(self, state: State, /) -> Node[State, int]:
        """Return a roll, or the choice of a column (see the module's text)."""
        if isinstance(state, Facing):
            mine, theirs = state
            return roll(d6, lambda die: go(Rolled(die, mine, theirs)))
        die, mine, theirs = state
        free = [column for column in range(self.columns) if len(mine[column]) < self.rows]
        return decide([(column + 1, self._place(die, column, mine, theirs)) for column in free])

    def _place(self, die: int, at: int, mine: Board, theirs: Board) -> Edge[State]:
        mine = (*mine[:at], place(mine[at], die), *mine[at + 1 :])
        theirs = (*theirs[:at], remove(theirs[at], die), *theirs[at + 1 :])
        if any(len(column) < self.rows for column in mine):
            return pass_to(Facing(theirs, mine))
        lead = score(mine, self.scoring) - score(theirs, self.scoring)
        return end(lead if self.payoff == "points" else (lead > 0) - (lead < 0))

    def canonical(self, state: State) -> State:
        """Return the position with its columns in order: how they are arranged never matters."""
        mine, theirs = sort_columns(state.mine, state.theirs)
        return Facing(mine, theirs) if isinstance(state, Facing) else Rolled(state.die, mine, theirs)

    def least_states(self) -> int:
        r"""Return a number of states that can be reached: those with equally many dice on both boards.

        Let facing columns have no value in common, and both boards the same number of dice, fewer than they have
        room for.  Two players who place these dice in turn take nothing off, so they come to this position.  With
        :math:`N_{ab}` pairs of facing columns of `a` and `b` dice there are as many such positions, up to the order of
        columns, as multisets of pairs with :math:`\sum a = \sum b`; each is a state between two turns, and one more
        for every die that may be rolled.
        """
        # Multisets so far, by the number of columns and of dice on both boards.
        ways = {(0, 0, 0): 1}
        for a in range(self.rows + 1):
            for b in range(self.rows + 1):
                pairs, more = _facing_pairs(a, b), dict[tuple[int, int, int], int]()
                for (columns, mine, theirs), count in ways.items():
                    for n in range(self.columns - columns + 1):
                        key = columns + n, mine + n * a, theirs + n * b
                        more[key] = more.get(key, 0) + count * math.comb(pairs + n - 1, n)
                ways = more
        equal = (ways.get((self.columns, dice, dice), 0) for dice in range(self.columns * self.rows))
        return (1 + len(d6)) * sum(equal)

    # --- looking ahead --------------------------------------------------------

    def lead(self, state: State) -> float:
        """Points by which the player to move may be expected to win, by the public program's heuristic.

        The difference of the scores, and 3.5 points for every square that one player will fill and the other will not.
        If nothing is removed that is one square for the player to move, who has no more empty squares than the other,
        or else none (``heuristic="moves-left"``, what the program's text describes).  The program itself counts the
        difference of the empty squares, plus one (``heuristic="public-solver"``).
        """
        mine, theirs = state.mine, state.theirs
        ahead = empty_squares(theirs, self.rows) - empty_squares(mine, self.rows)
        squares = ahead + 1 if self.heuristic == "public-solver" else int(ahead >= 0)
        return score(mine, self.scoring) - score(theirs, self.scoring) + _MEAN * squares

    def estimate(self, state: State) -> float:
        r"""Guess the value of a position from the `lead`.

        For points it is the lead :math:`\ell`.  For wins it is :math:`P(X > 0) - P(X < 0)` for a final difference `X`
        that is normally distributed around :math:`\ell`, with a standard deviation of :math:`4 \sqrt n` for `n` dice
        to come.
        """
        lead = self.lead(state)
        if self.payoff == "points":
            low, high = self.payoff_range
            return min(max(lead, low), high)
        mine, theirs = empty_squares(state.mine, self.rows), empty_squares(state.theirs, self.rows)
        dice = 2 * mine - 1 if mine <= theirs else 2 * theirs
        return math.erf(lead / (_SPREAD * math.sqrt(2 * dice)))


def _facing_pairs(mine: int, theirs: int) -> int:
    """Return the number of pairs of facing columns, of this many dice each, without a common value."""
    return sum(
        math.comb(len(d6), kinds) * _filled(mine, kinds)
        * math.comb(len(d6) - kinds, others) * _filled(theirs, others)
        for kinds in range(len(d6) + 1)
        for others in range(len(d6) + 1 - kinds)
    )  # fmt: skip


def _filled(dice: int, kinds: int) -> int:
    """Return the number of multisets of dice in which each of some values is there."""
    if kinds == 0:
        return int(dice == 0)
    return math.comb(dice - 1, kinds - 1) if dice >= kinds else 0
