"""A game that is played again and again: its ends pay, and lead back to the start."""

from __future__ import annotations

from typing import Any

from mdpdice.errors import UnsupportedError
from mdpdice.modelling.counters import axes
from mdpdice.modelling.distribution import certainly
from mdpdice.modelling.game import Chance, Decide, End, Game, PassTo, go
from mdpdice.modelling.sense import changed


def repeated(game: Game[Any, Any]) -> Game[Any, Any]:
    """Return the game of one player that starts again wherever it ends; the payoff becomes a reward on the way there.

    Its plays never end: ask for the `AverageReward`, or for a discount or a horizon.

    Parameters
    ----------
    game : Game
        A game without `pass_to`; one with counters is `unrolled`.
    """
    plain: Game[Any, Any] = game.unrolled() if axes(game) else game

    def led_back(edge: Any) -> Any:
        if type(edge) is PassTo:
            raise UnsupportedError("repeated() is for one player; with pass_to repeat one turn of the game", value=edge)
        if type(edge) is Chance:
            return Chance(edge.dist, tuple(map(led_back, edge.edges)), edge.reward)
        return go(plain.start(), reward=edge.payoff) if type(edge) is End else edge

    def node(state: Any) -> Any:
        found = plain.node(state)
        if type(found) is Decide:
            return Decide(found.actions, list(map(led_back, found.options)), found.player)
        return Chance(certainly(None), (led_back(found),), 0) if type(found) is End else led_back(found)

    return changed(plain, node=node, least_states=lambda: None)
