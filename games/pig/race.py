"""The race of Pig, and its small sister Piglet: the first to reach the goal wins.

Two players take turns (`mdpdice.games.pig.turn`); what a turn wins is added to a player's score.  Piglet tosses a
coin instead: heads is one point, tails loses the turn.  The equations, which are cyclic, stand in
``docs/games/pig.md``.  There are plays without end, in which both hold at 0; neither wins such a play, which is worth
half a game to both.  P(win) of the player who starts is 0.530592725274 at a goal of 100 [1]_.

References
----------
.. [1] T. W. Neller and C. G. M. Presser, "Optimal play of the dice game Pig", The UMAP
   Journal 25 (2004), 25-47; Piglet is in its section 3.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any, ClassVar, NamedTuple, TypeAlias, cast

import attrs

from mdpdice import At, Counter, Dist, Edge, Node, Solution, d6, decide, end, go, pass_to, roll, when
from mdpdice.games.parameters import whole
from mdpdice.games.pig.turn import Action
from mdpdice.games.races import LARGEST_GOAL, RaceGame

# What a roll adds to the points of a turn; 0 loses them.
DIE: Dist[int] = d6.map(lambda face: 0 if face == 1 else face)
COIN: Dist[int] = Dist({1: 1, 0: 1})


Position: TypeAlias = At[str]
"""Where a race stands: the counters `mine`, `theirs` and `turn`, seen by the player to move."""

_PLAY = "play"  # the core has one state


def position(mine: int = 0, theirs: int = 0, turn: int = 0) -> Position:
    """Return where a race stands: the scores of the player to move and of the other, and the points at risk."""
    return At(_PLAY, mine=mine, theirs=theirs, turn=turn)


class HoldRow(NamedTuple):
    """Points of a turn with which the player to move should hold.

    Most scores have one row: hold from some points on.  Near the goal it may be best
    to roll on with still more points, and a few scores have two such ranges.
    """

    mine: int  # score of the player to move
    theirs: int
    hold_from: int | None  # None: roll until the goal is reached
    hold_to: int | None


def hold_table(solution: Solution) -> list[HoldRow]:
    """Return with how many points to hold, for all scores between two turns; the solution must be proved."""
    solution.value()  # raises unless it was proved
    network = solution.network
    counters = cast("Any", network.states).counters()
    # To hold is the first of both options.
    holds = solution.nodes.rows(None)[3][network.state_node] == network.indptr[network.state_node]
    columns = counters["mine"], counters["theirs"], counters["turn"], holds
    known = sorted(zip(*(column.tolist() for column in columns), strict=True))
    rows = []
    for (mine, theirs), group in itertools.groupby(known, key=operator.itemgetter(0, 1)):
        held = [[row[2] for row in same] for hold, same in itertools.groupby(group, operator.itemgetter(3)) if hold]
        rows += [HoldRow(mine, theirs, turns[0], turns[-1]) for turns in held] or [HoldRow(mine, theirs, None, None)]
    return rows


class Race(RaceGame[str, Action]):
    """What Pig and Piglet have in common."""

    step: ClassVar[Dist[int]]
    goal: int

    turn = Counter(lambda game: game.points())

    def points(self) -> range:
        return range(self.goal)

    def start(self) -> str:
        return _PLAY

    def node(self, state: str, /) -> Node[str, Action]:
        """Hold or roll."""
        swap = (self.mine.set(self.theirs), self.turn.set(0))
        lost: Edge[str] = pass_to(state, *swap, self.theirs.set(self.mine))

        def then(points: int) -> Edge[str]:
            if not points:
                return lost
            # Who has reached the goal has nothing to decide any more.
            reached = self.mine + self.turn + points >= self.goal
            return when(reached, end(1), go(state, self.turn.add(points)))

        hold = pass_to(state, *swap, self.theirs.set(self.mine + self.turn))
        return decide({"hold": hold, "roll": roll(self.step, then)})


@attrs.frozen
class PigRace(Race):
    """The race of Pig for two players; the value is the chance to win of the player to move.

    Parameters
    ----------
    goal : int
        Points that win.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.pig import PigRace, position
    >>> solution = solve(PigRace(goal=20))
    >>> solution.action(position(mine=0, theirs=15, turn=10))
    'roll'
    """

    step: ClassVar[Dist[int]] = DIE

    goal: int = whole(100, LARGEST_GOAL, "points that win; 100 has half a million positions")


@attrs.frozen
class Piglet(Race):
    """Pig with a coin: heads is one point, tails loses the turn; the value is P(win) of the player to move.

    Parameters
    ----------
    goal : int
        Points that win.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from mdpdice import solve
    >>> from mdpdice.games.pig import Piglet
    >>> Fraction(solve(Piglet()).value()).limit_denominator(1000)
    Fraction(4, 7)
    """

    step: ClassVar[Dist[int]] = COIN

    goal: int = whole(2, LARGEST_GOAL, "points that win")
