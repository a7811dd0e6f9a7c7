"""States and actions of a turn of Farkle.

The points at risk are a counter of the game, so a full state is ``At(Choose(menu), points=300)``.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from mdpdice.games.farkle.menus import DiceLeft, Keep, Menu

__all__ = ["Action", "Bank", "Choose", "Keep", "Ready", "Second", "State"]

# Named tuples are made and hashed several times faster than attrs classes, which decides how fast
# a game is explored.  These are never equal by accident: they differ in their field.


class Ready(NamedTuple):
    """Some dice are about to be rolled: their number, or of several kinds the number of each, as `KcdFarkle.kinds`."""

    dice: DiceLeft


class Choose(NamedTuple):
    """A roll that scores lies on the table, told by what it offers."""

    menu: Menu


class Second(NamedTuple):
    """The second player of a race is to move, whose dice are not those of the first, and this lies on the table."""

    state: Ready | Choose


class Bank(NamedTuple):
    """End the turn and bank the best score of this roll, which is added to the points at risk."""

    points: int


State: TypeAlias = Ready | Choose
Action: TypeAlias = Bank | Keep
