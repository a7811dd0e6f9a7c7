"""School, or Russian dice poker: five dice, 15 combinations, 15 turns."""

from mdpdice.games.school.averages import averages
from mdpdice.games.school.combination import SchoolCombination
from mdpdice.games.school.rules import COMBINATIONS, Rules
from mdpdice.games.school.turn import CrossOut, Held, Reroll, Rolled, Score

__all__ = [
    "COMBINATIONS",
    "CrossOut",
    "Held",
    "Reroll",
    "Rolled",
    "Rules",
    "SchoolCombination",
    "Score",
    "averages",
]
