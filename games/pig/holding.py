r"""Playing Pig by one rule: hold as soon as a turn has `n` points.

`hold_at` is that rule as a function of the state, for `mdpdice.Policy.of`.  A player who follows it decides nothing
during a turn, so `HoldRace` moves a whole turn at a time: with :math:`O_n` the distribution of what a turn wins, the
chance to win of the player to move is

.. math:: P(i, j) = \sum_{x} O_n(x) \, (1 - P(j, i + x)).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ClassVar, Literal, NamedTuple, Never

import attrs

from mdpdice import Dist, Edge, Game, Node, certainly, end, pass_to, roll
from mdpdice.errors import GameError
from mdpdice.games.parameters import whole
from mdpdice.games.pig.race import DIE, Position
from mdpdice.games.pig.turn import Action
from mdpdice.games.races import LARGEST_GOAL


def hold_at(points: int) -> Callable[[int | Position], Action]:
    """Return the rule to hold when a turn has at least some points, for turns and races.

    Examples
    --------
    >>> from mdpdice import Policy, evaluate, explore
    >>> from mdpdice.games.pig import PigRace, hold_at
    >>> network = explore(PigRace(goal=20))
    >>> both = [Policy.of(network, hold_at(points)) for points in (10, 20)]
    >>> evaluate(network, both).value() < evaluate(network, both[1]).value()
    True
    """

    def rule(state: int | Position) -> Action:
        turn = state if isinstance(state, int) else state.counters["turn"]
        return "hold" if turn >= points else "roll"

    return rule


def read_hold_at(points: str) -> Callable[[int | Position], Action]:
    """Return the rule of what stands behind ``hold-at:``; a `GameError` if it is not a positive number."""
    if not points.isdecimal() or not int(points):
        raise GameError(f"hold-at:{points}: write hold-at:N with a positive number of points", value=points)
    return hold_at(int(points))


@functools.cache
def turn_outcomes(points: int, most: int) -> Dist[int]:
    """Return what a turn that holds at some points wins, where no more than `most` are counted."""
    stop = min(points, most)
    ahead = {turn: certainly(min(turn, most)) for turn in range(stop, stop + max(DIE.outcomes))}

    def after(turn: int, won: int) -> Dist[int]:
        return ahead[turn + won] if won else certainly(0)

    for turn in range(stop - 1, -1, -1):
        ahead[turn] = DIE.bind(functools.partial(after, turn))
    return ahead[0]


class Scores(NamedTuple):
    """Where a race stands between two turns: the scores of the player to move and of the other, and who moves."""

    mine: int
    theirs: int
    player: Literal["first", "second"]


@attrs.frozen
class HoldRace(Game[Scores, Never]):
    """The race of Pig between two players who hold at fixed points; the value is P(win) of the first.

    Parameters
    ----------
    first, second : int
        Points of a turn at which the players hold.
    goal : int
        Points that win.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.pig import HoldRace
    >>> round(solve(HoldRace(first=20, second=25)).value(), 6)
    0.520034
    """

    total: ClassVar[int] = 1

    first: int = whole(20, 1_000, "points of a turn at which the starter holds")
    second: int = whole(20, 1_000, "points of a turn at which the other holds")
    goal: int = whole(100, LARGEST_GOAL, "points that win")

    def start(self) -> Scores:
        return Scores(0, 0, "first")

    def node(self, state: Scores, /) -> Node[Scores, Never]:
        """Return the node of a whole turn of one player."""
        mine, theirs, player = state
        points = self.first if player == "first" else self.second
        other: Literal["first", "second"] = "second" if player == "first" else "first"

        def then(won: int) -> Edge[Scores]:
            return end(1) if mine + won >= self.goal else pass_to(Scores(theirs, mine + won, other))

        return roll(turn_outcomes(points, self.goal - mine), then)
