"""One turn of Pig, for as many points as possible.

Roll a die as often as you like and add up the points; a 1 loses them all and ends the turn.  With `p` points at risk
one roll more gains ``(20 - p) / 6`` points, which falls as the points grow, so looking one roll ahead is enough, and
holding is optimal from 20 points on [1]_.  So any `cap` of at least 20 gives the same value.

References
----------
.. [1] T. W. Neller and C. G. M. Presser, "Optimal play of the dice game Pig", The UMAP
   Journal 25 (2004), 25-47.
"""

from __future__ import annotations

from typing import Final, TypeAlias, cast

import attrs

from mdpdice import Game, Node, Solution, d6, decide, end, go, roll
from mdpdice.games.parameters import whole

Action: TypeAlias = str  # "hold" or "roll"

HOLD: Final = 20  # one roll more gains (20 - p) / 6


@attrs.frozen
class PigTurn(Game[int, Action]):
    """One turn of Pig, to win as many points as possible; the state is the points at risk.

    Parameters
    ----------
    cap : int
        Points at which the turn ends.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.pig import PigTurn
    >>> solution = solve(PigTurn())
    >>> round(solution.value(), 12), solution.action(19), solution.action(20)
    (8.141794893727, 'roll', 'hold')
    """

    cap: int = whole(100, 100_000, "points at which the turn ends; from 20 on any cap will do")

    def start(self) -> int:
        return 0

    def node(self, points: int, /) -> Node[int, Action]:
        """Hold or roll, below the cap."""
        if points >= self.cap:
            return end(points)
        again = roll(d6, lambda face: end() if face == 1 else go(points + face))
        return decide({"hold": end(points), "roll": again})


def hold_from(solution: Solution) -> int:
    """Return the fewest points at which a solved turn holds; the solution must be proved."""
    solution.value()  # raises unless it was
    network = solution.network
    states = cast("list[int]", network.states)
    decided = (points for points in states if network.decides[network.node_of(points)])
    return min(points for points in decided if solution.action(points) == "hold" and points > 0)
