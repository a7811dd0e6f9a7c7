"""What may be taken from a roll.

A 1 is one rabbit, a 2 is two rabbits or the cage x2, and 3, 4 and 5 are the cages
x3, x4 and x5; a 6 is nothing.  From every roll at least one rabbit must be taken.
Cages are taken in the order 2, 3, 4, 5, each once.

Only three numbers of a roll matter: its ones, its twos, and how far its faces
continue the row of cages.  Rolls with the same numbers have the same future, so
they are one state: this turns the 279,936 rolls of seven dice into 79.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from mdpdice import Dist, d6, pool

DICE = 7
FACES = (1, 2, 3, 4, 5, 6)
LAST_CAGE = 5


class Take(NamedTuple):
    """Dice that are taken from a roll: ones and twos that become rabbits, and the next cages of the row."""

    ones: int
    twos: int
    cages: int


class Offer(NamedTuple):
    """What matters of a roll: its ones, its twos, and the most cages that can be taken.

    Before the first cage this needs a 2 that does not become rabbits; it is 0 where no 2 can be spared.
    """

    ones: int
    twos: int
    cages: int


def run_points(r1: int, r2: int, c: int) -> int:
    """Value of a run: the rabbits of `r1` ones and `r2` twos times the highest multiplier of `c` cages."""
    return (r1 + 2 * r2) * (c + 1)


def cage_faces(c: int, number: int) -> tuple[int, ...]:
    """Faces of the next cages of the row, after `c` of them."""
    return tuple(range(c + 2, c + 2 + number))


def offer(roll: Sequence[int], c: int, *, defective: bool = False) -> Offer | None:
    """Return what a roll offers after `c` cages, or None if it shows no rabbit and the turn is lost.

    With `defective`, as the public program has it: no cage at all unless a 2 is spared.
    """
    return _offer([roll.count(face) for face in FACES], c, defective=defective)


def _offer(shown: Sequence[int], c: int, *, defective: bool) -> Offer | None:
    ones, twos = shown[0], shown[1]
    if not ones + twos:
        return None
    cages = 0
    # The one die that must become a rabbit may be the only 2.
    if (c and not defective) or twos - (not ones) > 0:
        while c + cages + 2 <= LAST_CAGE and shown[c + cages + 1]:
            cages += 1
    return Offer(ones, twos, cages)


@functools.cache
def takes(offered: Offer, c: int, *, defective: bool = False) -> tuple[Take, ...]:
    """Return everything that may be taken from a roll after `c` cages."""
    found = []
    for ones in range(offered.ones + 1):
        for twos in range(offered.twos + 1):
            if ones + twos:
                free = (c and not defective) or twos < offered.twos
                found += [Take(ones, twos, cages) for cages in range(offered.cages + 1 if free else 1)]
    return tuple(found)


@functools.cache
def offers(dice: int, c: int, *, defective: bool = False) -> Dist[Offer | None]:
    """Return the distribution of what a roll of some dice offers after `c` cages; None is a lost turn."""
    return pool([d6] * dice, faces=FACES).map(functools.partial(_offer, c=c, defective=defective))


@functools.cache
def example_roll(offered: Offer, c: int, dice: int) -> tuple[int, ...]:
    """Return some roll of a number of dice that offers this; the other dice show a 6."""
    beyond = [face for face in cage_faces(c, offered.cages) if face != 2]  # the 2s are counted already
    faces = [1] * offered.ones + [2] * offered.twos + beyond
    return tuple(faces + [6] * (dice - len(faces)))
