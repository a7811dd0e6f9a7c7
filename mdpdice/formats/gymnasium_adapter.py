"""The way from a game to a Gymnasium environment; Gymnasium is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdpdice.errors import MissingPackageError
from mdpdice.exploration.to_network import explore
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Network

if TYPE_CHECKING:
    from mdpdice.formats.gymnasium_environment import NetworkEnv


def to_gymnasium(game: Game[Any, Any] | Network) -> NetworkEnv:
    """Return a game as a Gymnasium environment.

    Parameters
    ----------
    game : Game or Network
        A game of one player.

    Returns
    -------
    gymnasium.Env
        See `mdpdice.formats.gymnasium_environment.NetworkEnv`: discrete observations and actions, and a mask of
        the actions in ``info["action_mask"]``.

    Raises
    ------
    MissingPackageError
        Gymnasium is not installed.
    UnsupportedError
        The game has two players.
    """
    try:
        from mdpdice.formats.gymnasium_environment import NetworkEnv
    except ModuleNotFoundError as error:
        if error.name != "gymnasium":
            raise
        msg = "an environment needs Gymnasium: pip install gymnasium"
        raise MissingPackageError(msg, package="gymnasium") from error
    return NetworkEnv(game if isinstance(game, Network) else explore(game))
