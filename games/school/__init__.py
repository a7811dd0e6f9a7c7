"""School, or Russian dice poker: five dice, 15 combinations, 15 turns."""

from mdpdice.games.school.averages import averages
from mdpdice.games.school.bob import Advice, bob
from mdpdice.games.school.bob_game import BobGame
from mdpdice.games.school.combination import SchoolCombination
from mdpdice.games.school.game import School
from mdpdice.games.school.rules import COMBINATIONS, Rules
from mdpdice.games.school.turn import CrossOut, Held, Reroll, Rolled, Score

__all__ = [
    "COMBINATIONS", "Advice", "BobGame", "CrossOut", "Held", "Reroll", "Rolled", "Rules", "School",
    "SchoolCombination", "Score", "averages", "bob",
]  # fmt: skip
