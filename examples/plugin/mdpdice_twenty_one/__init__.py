"""Twenty-one with dice, and Howard's policy iteration: a plug-in for mdpdice."""

from mdpdice_twenty_one.game import Banker, Player, TwentyOne
from mdpdice_twenty_one.solver import Howard

__all__ = ["Banker", "Howard", "Player", "TwentyOne"]
