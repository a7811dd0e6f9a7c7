"""Solitaire Yatzy, the Scandinavian relative of Yahtzee."""

from mdpdice.games.yahtzee.sheet import Throw
from mdpdice.games.yatzy.game import Yatzy

__all__ = ["Throw", "Yatzy"]
