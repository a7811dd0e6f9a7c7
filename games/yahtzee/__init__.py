"""Solitaire Yahtzee, with the common variants of its bonus and joker rules."""

from mdpdice.games.yahtzee.game import Throw, Yahtzee

__all__ = ["Throw", "Yahtzee"]
