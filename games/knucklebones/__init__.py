"""Knucklebones, the dice game of *Cult of the Lamb*, on boards of any size."""

from mdpdice.games.knucklebones.game import Facing, Knucklebones, Rolled
from mdpdice.games.knucklebones.rules import Board

__all__ = ["Board", "Facing", "Knucklebones", "Rolled"]
