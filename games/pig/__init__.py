"""Pig and Piglet, jeopardy dice games: one turn, the race, and players who hold at fixed points."""

from mdpdice.games.pig.holding import HoldRace, Scores, hold_at, turn_outcomes
from mdpdice.games.pig.race import HoldRow, Piglet, PigRace, Position, hold_table, position
from mdpdice.games.pig.turn import PigTurn

__all__ = [
    "HoldRace", "HoldRow", "PigRace", "PigTurn", "Piglet", "Position", "Scores", "hold_at", "hold_table",
    "position", "turn_outcomes",
]  # fmt: skip
