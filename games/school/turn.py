"""One turn of School: three rolls at most, whatever the turn is for.

`Rolled` is a roll with some rerolls left, `Held` are the dice that stay while the others are rolled again; the
recursion stands in ``docs/games/school.md``.  The games of this package declare their turns with `rolled` and
`rerolls`.  `Tables` has the same turn as arrays, for what has to be computed for many sets of open combinations at a
time.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from mdpdice import Dist, d6, pool
from mdpdice.games.school.rules import DICE, FACES

Dice: TypeAlias = tuple[int, ...]
Ints: TypeAlias = npt.NDArray[np.int64]

REROLLS: Final = 2
ROLLS: Final[tuple[Dice, ...]] = tuple(itertools.combinations_with_replacement(FACES, DICE))
HELD: Final[tuple[Dice, ...]] = tuple(
    held for number in range(DICE) for held in itertools.combinations_with_replacement(FACES, number)
)


@attrs.frozen
class Rolled:
    """A roll lies on the table: five dice in ascending order, and the rerolls left, 2 on the first roll of a turn."""

    dice: Dice
    rerolls: int


@attrs.frozen
class Held:
    """Some dice stay and the others are about to be rolled; `rerolls` are left after that."""

    dice: Dice
    rerolls: int


@attrs.frozen
class Score:
    """Score a combination, and end the turn."""

    combination: str


@attrs.frozen
class CrossOut:
    """Give a combination up for 0 points, and end the turn."""

    combination: str


@attrs.frozen
class Reroll:
    """Roll some dice again: those that show `dice`, in ascending order."""

    dice: Dice


Action: TypeAlias = Score | CrossOut | Reroll


def multiplier(combination: str, rerolls_left: int) -> int:
    """How often the score of a combination counts: twice on the first roll, unless it is a grade."""
    return 1 if combination.startswith("grade-") or rerolls_left < REROLLS else 2


@functools.cache
def rolled(held: Dice) -> Dist[Dice]:
    """Return the distribution of the roll, in ascending order, when all dice but the held ones are rolled."""
    return pool([d6] * (DICE - len(held)), faces=FACES).map(functools.partial(_with, held))


def _with(held: Dice, shown: Sequence[int]) -> Dice:
    fresh = (face for face, count in zip(FACES, shown, strict=True) for _ in range(count))
    return tuple(sorted([*held, *fresh]))


@functools.cache
def rerolls(dice: Dice) -> tuple[tuple[Reroll, Dice], ...]:
    """Return all ways to roll some dice again, with the dice that stay: fewer dice first, then lower ones, as Bob."""
    found: dict[Dice, Dice] = {}
    for number in range(1, DICE + 1):
        for chosen in itertools.combinations(dice, number):
            if chosen not in found:
                found[chosen] = tuple(sorted((Counter(dice) - Counter(chosen)).elements()))
    return tuple((Reroll(chosen), kept) for chosen, kept in found.items())


# --- as arrays ------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Tables:
    """The turn as arrays.  Rolls are numbered as in `ROLLS`, held dice as in `HELD`."""

    first: Ints  # shape (252,): how many of the 7776 equally likely first rolls are each roll
    becomes: Ints  # shape (210, 252): the same for the roll after each way to hold dice; every row sums to 7776
    row: Ints  # shape (253,): where the rerolls of each roll begin in `holds`
    holds: Ints  # shape (4116,): the held dice of every reroll, in the order of `rerolls`
    total: int = len(FACES) ** DICE  # the 7776 rolls of five dice

    def best(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Largest of the values of the rerolls for every roll: shape (4116, ...) gives (252, ...)."""
        found: npt.NDArray[Any] = np.maximum.reduceat(values, self.row[:-1], axis=0)
        return found


@functools.cache
def tables() -> Tables:
    """Return the turn as arrays."""
    place: dict[Dice, int] = {dice: at for at, dice in enumerate(ROLLS)}
    held_place: dict[Dice, int] = {dice: at for at, dice in enumerate(HELD)}
    becomes = np.zeros((len(HELD), len(ROLLS)), dtype=np.int64)
    for at, held in enumerate(HELD):
        for roll, chance in zip(rolled(held), rolled(held).weights, strict=True):
            becomes[at, place[roll]] = chance * (len(FACES) ** DICE // rolled(held).total)
    options = [rerolls(roll) for roll in ROLLS]
    return Tables(
        first=becomes[held_place[()]],
        becomes=becomes,
        row=np.cumsum([0, *map(len, options)]),
        holds=np.array([held_place[held] for each in options for _, held in each]),
    )
