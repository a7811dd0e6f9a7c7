"""Solitaire Yatzy, the Scandinavian relative of Yahtzee."""

from mdpdice.games.yatzy.game import Throw, Yatzy

__all__ = ["Throw", "Yatzy"]
