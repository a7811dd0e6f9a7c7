"""A game that is played again and again: its ends pay, and lead back to the start."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from typing import Any, TypeVar

from mdpdice.errors import UnsupportedError
from mdpdice.modelling.counters import axes
from mdpdice.modelling.distribution import certainly
from mdpdice.modelling.game import Chance, Decide, End, Game, PassTo, go
from mdpdice.modelling.unrolling import rebuilt

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)


def repeated(game: Game[S, A]) -> Game[Any, A]:
    """Return the game of one player that starts again wherever it ends; the payoff becomes a reward on the way there.

    Its plays never end: ask for the `AverageReward`, or for a discount or a horizon.  A game with counters is
    `unrolled`.

    Raises
    ------
    UnsupportedError
        Turns are passed with `pass_to`, when such a node is met.

    Examples
    --------
    >>> from mdpdice import AverageReward, repeated, solve
    >>> from mdpdice.games.pig import PigTurn
    >>> solve(repeated(PigTurn()), AverageReward(per=[0])).value()
    8.141794893727
    """
    plain: Any = game.unrolled() if axes(game) else game
    again = copy.copy(plain)

    def leaf(edge: Any) -> Any:
        if type(edge) is PassTo:
            msg = (
                "repeated() is for one player, and this game has pass_to, whose sides take turns; repeat one turn of it"
            )
            raise UnsupportedError(msg, value=edge)
        return go(plain.start(), reward=edge.payoff) if type(edge) is End else edge

    def node(state: Any) -> Any:
        found = plain.node(state)
        if type(found) is Decide:
            options = [rebuilt(option, leaf) for option in found.options]
            return Decide(found.actions, options, found.player)
        found = rebuilt(found, leaf)
        # A state of its own, which leads to the start, where the game ends in one.
        return found if type(found) is Chance else Chance(certainly(None), (found,), 0)

    # Frozen attrs classes refuse an ordinary assignment.
    for name, value in (("node", node), ("least_states", lambda: None)):
        object.__setattr__(again, name, value)
    return again  # type: ignore[no-any-return]
