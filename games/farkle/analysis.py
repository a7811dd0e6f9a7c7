"""What a solved game of Farkle says in a few numbers: up to how many points to roll on."""

from __future__ import annotations

from typing import Final

import attrs

from mdpdice import At, Counter, Game, Node, decide, go, solve
from mdpdice.games.farkle.game import KcdFarkle
from mdpdice.games.farkle.menus import DiceLeft
from mdpdice.games.farkle.states import Action, Ready, State

_START: Final = "start"


@attrs.frozen
class EveryPosition(Game[State | str, Action | At[Ready]]):
    """A turn that may start in any position: with any set of dice and any points at risk.

    Play reaches only some of them (two dice of six are never left with 50
    points at risk), but a table of thresholds is about all.
    """

    game: KcdFarkle

    points = Counter(lambda every: every.game.points_at_risk())

    def positions(self) -> list[At[Ready]]:
        """All positions before a roll, up to the points at which the turn ends."""
        return [
            At(Ready(dice), points=points)
            for dice in self.game.book.subsets()
            # At least the start, even where no roll ever scores.
            for points in range(0, max(self.game.limit, 1), self.game.rules.grid)
        ]

    def start(self) -> State | str:
        return _START

    def node(self, state: State | str, /) -> Node[State | str, Action | At[Ready]]:
        """Choose a position, then play on from there."""
        if isinstance(state, str):
            return decide([(at, go(at.state, self.points.set(at.counters["points"]))) for at in self.positions()])
        return self.game.node(state)


def thresholds(game: KcdFarkle) -> dict[DiceLeft, int | None]:
    """Return the largest points at risk at which rolling is optimal, or None, for every set of dice.

    Rolling is optimal up to the threshold and nowhere beyond it: one more point at risk adds at most one point to the
    value of any position, and that of a roll rises by less, since the roll may bust.  The thresholds need not grow
    with the dice: with the rules of Kingdom Come: Deliverance one die is rolled up to 250 points, two dice only up to
    200.  A solution that could not be proved is a NotCertifiedError.
    """
    solution = solve(EveryPosition(game))
    solution.value()  # raises unless proved, and then the intervals below are meant
    found: dict[DiceLeft, int | None] = {}
    for at in EveryPosition(game).positions():
        dice, points = at.state.dice, at.counters["points"]
        # A tie counts: rolling is as good as banking there.
        if solution.upper(at) >= points:
            found[dice] = points
        else:
            found.setdefault(dice, None)
    return found
