r"""The race of Pig, and its small sister Piglet: who reaches the goal first?

Two players take turns (`mdpdice.games.pig.turn`); what a turn wins is added to a player's
score, and the first to reach the goal wins.  With `i` and `j` the scores of the player to
move and of the other, and `k` the points of this turn, the chance to win is

.. math::

   P(i, j, k) = \max\bigl(1 - P(j, i + k, 0), \;
       \tfrac16 (1 - P(j, i, 0)) + \tfrac16 \sum_{f=2}^{6} P(i, j, k + f)\bigr),

and 1 as soon as :math:`i + k` reaches the goal.  A lost turn leads back to the same scores, so
the equations are cyclic, and there are even plays without end: both may hold at 0 for ever.
Neither wins such a play; it is worth half a game to both.  Holding at 0 is never better than
rolling, and P(win) of the player who starts is 0.530592725274 at a goal of 100 [1]_.

Piglet tosses a coin instead: heads is one point, tails loses the turn.

References
----------
.. [1] T. W. Neller and C. G. M. Presser, "Optimal play of the dice game Pig", The UMAP
   Journal 25 (2004), 25-47; Piglet is in its section 3.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple, cast

import attrs

from mdpdice import Dist, Edge, Game, Node, Solution, Table, d6, decide, end, go, pass_to, roll
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.pig.turn import HOLD_AT, Action

__all__ = ["COIN", "DIE", "HoldRow", "PigRace", "Piglet", "Position", "hold_table"]

_FIELD = re.compile(r"\b(mine|theirs|turn)\s*=\s*(\d+)(?!\S)")

# What a roll adds to the points of a turn; 0 loses them.
DIE: Dist[int] = d6.map(lambda face: 0 if face == 1 else face)
COIN: Dist[int] = Dist({1: 1, 0: 1})


class Position(NamedTuple):
    """Where a race stands, seen by the player to move.

    Attributes
    ----------
    mine, theirs : int
        Scores of the player to move and of the other.
    turn : int
        Points of this turn, which are at risk.
    """

    mine: int
    theirs: int
    turn: int


class HoldRow(NamedTuple):
    """Points of a turn with which the player to move should hold.

    Most scores have one row: hold from some points on.  Near the goal it may be best
    to roll on with still more points, and a few scores have two such ranges.

    Attributes
    ----------
    mine, theirs : int
        Scores of the player to move and of the other.
    hold_from, hold_to : int or None
        Hold with this many points; None: roll until the goal is reached.
    """

    mine: int
    theirs: int
    hold_from: int | None
    hold_to: int | None


def hold_table(solution: Solution) -> list[HoldRow]:
    """Return with how many points to hold, for all scores between two turns.

    Raises
    ------
    NotCertifiedError
        The solution was not proved.
    """
    solution.value()  # raises unless it was proved
    rows = []
    states = sorted(cast("list[Position]", solution.network.states))
    for (mine, theirs), group in itertools.groupby(states, key=_scores):
        ranges: list[tuple[int | None, int | None]] = []
        for action, same in itertools.groupby(group, key=solution.action):
            if action == "hold":
                turns = [state.turn for state in same]
                ranges.append((turns[0], turns[-1]))
        rows += [HoldRow(mine, theirs, *held) for held in ranges or [(None, None)]]
    return rows


def _scores(state: Position) -> tuple[int, int]:
    return state.mine, state.theirs


class _Race(Game[Position, Action]):
    """What Pig and Piglet have in common."""

    total: ClassVar[int] = 1  # one player wins, so values are chances to win
    payoff_range = (0, 1)
    step: ClassVar[Dist[int]]
    goal: int

    def start(self) -> Position:
        return Position(0, 0, 0)

    def node(self, state: Position, /) -> Node[Position, Action]:
        """Hold or roll."""
        mine, theirs, turn = state
        lost: Edge[Position] = pass_to(Position(theirs, mine, 0))

        def then(points: int) -> Edge[Position]:
            if not points:
                return lost
            reached = turn + points
            # Who has reached the goal has nothing to decide any more.
            return end(1) if mine + reached >= self.goal else go(Position(mine, theirs, reached))

        return decide({"hold": pass_to(Position(theirs, mine + turn, 0)), "roll": roll(self.step, then)})

    def summary(self, solution: Solution) -> list[str]:
        """From how many points of a turn on to hold, for some scores."""
        # The first range of each.
        rows = {row[:2]: row.hold_from for row in reversed(hold_table(solution))}
        some = range(0, self.goal, max(1, self.goal // 10))
        lines = [
            "hold when the turn has this many points or a few more (-: roll until the goal is reached):",
            "mine, down; theirs, across" + "".join(f"{theirs:>5}" for theirs in some),
        ]
        for mine in some:
            cells = (rows.get((mine, theirs), "") for theirs in some)
            shown = "".join(f"{'-' if cell is None else cell:>5}" for cell in cells)
            lines.append(f"{mine:>26}{shown}".rstrip())
        return lines

    def tables(self, solution: Solution) -> list[Table]:
        """Points of a turn with which to hold, for all scores."""
        lines = self.summary(solution)
        return [Table("hold", lines[0], HoldRow._fields, hold_table(solution), lines)]

    def policy_names(self) -> Mapping[str, str]:
        """``hold-at:N``."""
        return HOLD_AT

    def named_policy(self, name: str) -> Callable[[Position], Action] | None:
        """The rule of ``hold-at:N``."""
        # Imported here because it builds on this module.
        from mdpdice.games.pig.holding import named_hold_at

        return named_hold_at(name)

    def show_state(self, state: Position) -> str:
        """Text of a position: ``mine=40 theirs=52 turn=12``."""
        return " ".join(f"{name}={points}" for name, points in zip(Position._fields, state, strict=True))

    def read_state(self, text: str) -> Position:
        """Position of a text; what is not named is 0."""
        fields = _FIELD.findall(text)
        values = dict.fromkeys(Position._fields, 0) | {name: int(points) for name, points in fields}
        if not fields or _FIELD.sub("", text).strip() or len(dict(fields)) < len(fields):
            raise UnknownStateError(
                f"{text!r} is not a position; write mine=40 theirs=52 turn=12 (what is not named is 0)",
                value=text,
            )
        position = Position(**values)
        if max(position.mine + position.turn, position.theirs) >= self.goal:
            raise UnknownStateError(f"{text}: a player has reached the goal of {self.goal}", value=text)
        return position


def _goal(goal: int | str) -> int:
    number = int(goal)
    if number < 1:
        raise GameError(f"goal={goal}: the goal is a positive number of points", value=goal, limit=1)
    return number


@attrs.frozen
class PigRace(_Race):
    """The race of Pig for two players; the value is the chance of the starter to win.

    Parameters
    ----------
    goal : int
        Points that win.

    Raises
    ------
    GameError
        `goal` is not positive.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.pig import PigRace, Position
    >>> solution = solve(PigRace(goal=20))
    >>> solution.action(Position(mine=0, theirs=15, turn=10))
    'roll'
    """

    step: ClassVar[Dist[int]] = DIE

    goal: int = attrs.field(
        default=100, converter=_goal, metadata={"help": "points that win; 100 has half a million positions"}
    )


@attrs.frozen
class Piglet(_Race):
    """Pig with a coin: heads is one point, tails loses the turn; the value is P(win) of the starter.

    Parameters
    ----------
    goal : int
        Points that win.

    Raises
    ------
    GameError
        `goal` is not positive.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mdpdice import solve
    >>> from mdpdice.games.pig import Piglet
    >>> Fraction(solve(Piglet()).value()).limit_denominator(1000)
    Fraction(4, 7)
    """

    step: ClassVar[Dist[int]] = COIN

    goal: int = attrs.field(default=2, converter=_goal, metadata={"help": "points that win"})
