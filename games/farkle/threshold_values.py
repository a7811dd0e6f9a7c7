"""Values of rules that bank by thresholds: one compiled pass over all points and menus."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Offers", "roll"]

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]


class Offers(NamedTuple):
    """The menus of all numbers of dice as arrays; dice are counted from 0, points in units of the grid.

    Attributes
    ----------
    first_menu : ndarray of int64, shape (dice + 1,)
        Where the menus of each number of dice start.
    chance, best : ndarray of float64, shape (menus,)
        Probability of every menu, and its points to bank.
    first_keep : ndarray of int64, shape (menus + 1,)
        Where the ways to roll on start, menu by menu.
    points, dice : ndarray of int64, shape (keeps,)
        The ways to roll on.
    """

    first_menu: Ints
    chance: Floats
    best: Floats
    first_keep: Ints
    points: Ints
    dice: Ints


def roll(offers: Offers, low: Ints, high: Ints, grid: int, most: float, rolled: Floats) -> None:
    """Write R of `mdpdice.games.farkle.thresholds` for a rule to `rolled`, where it rolls: by points and dice.

    From `low` points on the rule may bank, and below `high` it may roll, in units of the grid; for a vector of
    thresholds they are the same.  No more than `most` points are banked.
    """
    _compiled()(*offers, low, high, grid, most, rolled)


@functools.cache
def _compiled() -> Any:
    """Return `_roll`, compiled when it is first used: importing numba takes a second."""
    import numba

    return numba.njit(cache=True, nogil=True)(_roll)


def _roll(
    first_menu: Ints,
    chance: Floats,
    best: Floats,
    first_keep: Ints,
    points: Ints,
    dice: Ints,
    low: Ints,
    high: Ints,
    grid: int,
    most: float,
    rolled: Floats,
) -> None:
    """The loops of `roll`, on plain arrays for the compiler."""
    steps, count = rolled.shape
    # From how many points on a menu is banked for sure: most are, most of the time.
    sure = np.zeros(len(chance), dtype=np.int64)
    for menu in range(len(chance)):
        for keep in range(first_keep[menu], first_keep[menu + 1]):
            sure[menu] = max(sure[menu], high[dice[keep]] - points[keep])
    for at in range(steps - 1, -1, -1):
        for number in range(count):
            # A turn starts with a roll, whatever its threshold.
            if at >= high[number] and not (at == 0 and number == count - 1):
                continue
            total = 0.0
            for menu in range(first_menu[number], first_menu[number + 1]):
                bank = min(at * grid + best[menu], most)
                if at >= sure[menu]:
                    total += chance[menu] * bank
                    continue
                banks = False
                worth = -np.inf
                for keep in range(first_keep[menu], first_keep[menu + 1]):
                    after = at + points[keep]
                    if after >= low[dice[keep]]:
                        banks = True
                    if after < high[dice[keep]]:
                        worth = max(worth, rolled[after, dice[keep]])
                if banks:
                    worth = max(worth, bank)
                total += chance[menu] * worth
            rolled[at, number] = total
