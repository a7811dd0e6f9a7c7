"""Farkle, with the rules of Kingdom Come: Deliverance and of Patch Products."""

from mdpdice.games.farkle.dice_table import Die, UnknownDieError, find_die, load_dice
from mdpdice.games.farkle.game import KcdFarkle
from mdpdice.games.farkle.purse import BestSet, best_set
from mdpdice.games.farkle.race import FarkleRace
from mdpdice.games.farkle.rules import JOKER, KCD, PATCH, Rules
from mdpdice.games.farkle.states import Bank, Choose, Keep, Ready, Second

__all__ = ["JOKER", "KCD", "PATCH", "Bank", "BestSet", "Choose", "Die", "FarkleRace", "KcdFarkle", "Keep"]
__all__ += ["Ready", "Rules", "Second", "UnknownDieError", "best_set", "find_die", "load_dice"]
