r"""Values of a turn with many sets of six dice at once, as floats.

For six dice told apart, what a roll offers depends on its faces alone: with other weights only the chances differ.
So rolls are grouped by what they offer, once for all sets, and the optimality equation of `mdpdice.games.farkle.game`,

.. math:: V(D, p) = \sum_m P_D(m) \, \max\bigl(p + b(m), \max_{(s, D') \in m, \, p + s < cap} V(D', p + s)\bigr),

is swept from the most points downwards, since every selection adds points; a bust counts 0.  Dice are the bits of `D`.

*Error.*  A chance is a product of six quotients, and a value the sum of at most 46,656 such products times other
values, one in the other at most 10,000 times.  No number is negative, and nothing is subtracted, so every one of
these roundings adds at most 2e-16 to the relative error, which stays below 1e-6.  (Chances that underflow change
values by less than 1e-290.)
"""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mdpdice.games.farkle.dice_table import Die
from mdpdice.games.farkle.menus import UNIT, score_table, subset_sums
from mdpdice.games.farkle.rules import JOKER, MAX_DICE, Rules

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Dice: TypeAlias = tuple[Die, ...]

ERROR = 1e-6  # relative, for caps up to 10,000
_ALL = (1 << MAX_DICE) - 1


def turn_values(rules: Rules, cap: int, sets: list[Dice]) -> list[float]:
    """Return what a turn is worth with each of some sets of six dice, up to a cap of at most 10,000 points."""
    values = np.empty(len(sets))
    jokers = np.array([sum(die.joker for die in dice) for dice in sets])
    steps = -(-cap // rules.grid)
    for number in np.unique(jokers).tolist():
        alike = np.flatnonzero(jokers == number)
        # Jokers first, as in `_menus`.
        ordered = [sorted(sets[at], key=lambda die: not die.joker) for at in alike.tolist()]
        chance = [np.concatenate([_chances(rules, some) for some in _parts(dice)]) for dice in ordered]
        worth = np.zeros((steps, _ALL + 1, len(alike)))
        _compiled()(*_offers(rules, number), np.ascontiguousarray(np.transpose(chance)), rules.grid, worth)
        values[alike] = worth[0, _ALL]
    return [float(value) for value in values]


def _parts(dice: list[Die]) -> list[Dice]:
    """Return the sets of at least one of six dice, in the order of their bits."""
    return [tuple(die for at, die in enumerate(dice) if part >> at & 1) for part in range(1, _ALL + 1)]


@functools.lru_cache(maxsize=10_000)
def _chances(rules: Rules, dice: Dice) -> Floats:
    """Return the chances of the menus of some dice, jokers first."""
    faces = [[weight / sum(die.weights) for weight in die.weights] for die in dice]
    rolls = functools.reduce(np.multiply.outer, np.array(faces))
    menus, menu = _menus(rules, len(dice), sum(die.joker for die in dice))
    return np.asarray(np.bincount(menu, rolls.ravel(), len(menus)), dtype=np.float64)


@functools.cache
def _menus(rules: Rules, number: int, jokers: int) -> tuple[Ints, Ints]:
    """Group the rolls of some dice, jokers first, by the points of setting aside any of them, 0 if that is not legal.

    These points are given for each group, by the bits of the dice, and the group of every roll.
    """
    points = score_table(rules, jokers).astype(np.int64)
    faces = np.indices((6,) * number).reshape(number, -1) + 1
    faces[:jokers][faces[:jokers] == 1] = JOKER
    menus, menu = np.unique(points[subset_sums(UNIT[faces.T])], axis=0, return_inverse=True)
    return menus, menu.ravel()


@functools.cache
def _offers(rules: Rules, jokers: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """Return what all menus of all parts of six dice, of which some have jokers, offer.

    That is: where those of each part start, most points to bank, where the selections of each menu start, and of
    these the points, in steps of the grid, and the dice to roll next.
    """
    menus, points, left = [], [], []
    for part in range(1, _ALL + 1):
        bits = [1 << at for at in range(MAX_DICE) if part >> at & 1]
        some, _ = _menus(rules, len(bits), (part & (1 << jokers) - 1).bit_count())
        aside = np.arange(1 << len(bits))[:, None] >> np.arange(len(bits)) & 1
        menu, chosen = np.nonzero(some)
        menus.append(some)
        points.append(some[menu, chosen] // rules.grid)
        left.append(part - (aside @ bits)[chosen])
    rest = np.concatenate(left)
    first_menu = np.cumsum([0, 0, *map(len, menus)])
    best = np.concatenate([some.max(axis=1) for some in menus])
    keeps = np.concatenate([np.count_nonzero(some, axis=1) for some in menus])
    first_keep = np.concatenate([[0], np.cumsum(keeps)])
    return first_menu, best, first_keep, np.concatenate(points), np.where(rest, rest, _ALL)


# --- one compiled pass over all points and menus -------------------------------------------------------


@functools.cache
def _compiled() -> Any:
    """Return `_sweep`, compiled when it is first used: importing numba takes a second."""
    import numba

    return numba.njit(cache=True, nogil=True)(_sweep)


def _sweep(
    first_menu: Ints, best: Ints, first_keep: Ints, points: Ints, left: Ints, chance: Floats, grid: int, worth: Floats
) -> None:
    """Write V of the module's text to `worth`, zeros of shape (points, parts, sets)."""
    steps, parts, sets = worth.shape
    pays = np.zeros((steps, parts), dtype=np.bool_)  # whether a roll is worth more than the points, for any set
    most = np.empty(sets)
    for at in range(steps - 1, -1, -1):
        for part in range(1, parts):
            value = worth[at, part]
            for menu in range(first_menu[part], first_menu[part + 1]):
                if best[menu] == 0:  # a bust
                    continue
                most[:] = at * grid + best[menu]
                for keep in range(first_keep[menu], first_keep[menu + 1]):
                    after = at + points[keep]
                    if after < steps and pays[after, left[keep]]:
                        ahead = worth[after, left[keep]]
                        for one in range(sets):
                            most[one] = max(most[one], ahead[one])
                for one in range(sets):
                    value[one] += chance[menu, one] * most[one]
            pays[at, part] = value.max() > at * grid
