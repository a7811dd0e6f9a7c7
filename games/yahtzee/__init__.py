"""Solitaire Yahtzee, with the common variants of its bonus and joker rules."""

from mdpdice.games.yahtzee.game import Yahtzee
from mdpdice.games.yahtzee.sheet import Throw

__all__ = ["Throw", "Yahtzee"]
