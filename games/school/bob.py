"""Bob the Dice Master: the rule by which a public program plays School.

Bob gives every decision a *profit*: the score of a combination less its average (`mdpdice.games.school.averages`),
minus the average for crossing it out, which Bob does only where the roll does not fit, and for a reroll the expected
profit of the best decision on the next roll.  The equations stand in ``docs/games/school.md``.

Decisions with the same profit: like the program Bob rerolls rather than stops, and takes the first of equal
combinations and the first of equal rerolls, in its order.  The program compares floats, so that rounding decides there;
here they are equal when they are equal.

References
----------
github.com/egeorg/BobTheDiceMaster: ``school-bob-algorithm.md`` and ``BruteForceBob.cs``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from mdpdice.errors import GameError
from mdpdice.games.school.averages import averages, scores
from mdpdice.games.school.rules import GRADES, Rules, checked_roll, combinations_named
from mdpdice.games.school.turn import REROLLS, ROLLS, Action, CrossOut, Score, multiplier, rerolls, tables

# Profits that differ are further apart than this, and floats that should be equal are nearer
# (a test looks at all of them): many sets are compared in floats, and that gives Bob's exact choice.
TIE = 1e-10


def available(combinations: tuple[str, ...]) -> tuple[str, ...]:
    """Return which of the open combinations a turn may end with: at first, only grades."""
    grades = tuple(name for name in combinations if name in GRADES)
    return combinations if len(grades) <= len(GRADES) - 3 else grades


@attrs.frozen
class Advice:
    """What Bob decides, and why."""

    action: Action  # the decision
    profits: Mapping[Action, Fraction]  # of everything that Bob considers, the highest first


def bob(rules: Rules, combinations: Iterable[str], dice: Iterable[int], rerolls_left: int) -> Advice:
    """Return what Bob decides about a roll.

    Parameters
    ----------
    rules : Rules
        What rolls score; a game of School will do.
    combinations : iterable of str
        The open ones.  While more than three grades are open, others do not count.
    dice : iterable of int
        The five dice.
    rerolls_left : int
        0 to 2.

    Raises
    ------
    GameError
        No combination is open, or there is no such combination, roll, or number of rerolls.

    Examples
    --------
    >>> from mdpdice.games.school import Rules, bob
    >>> advice = bob(Rules(), ["grade-6", "full", "poker"], (2, 2, 6, 6, 6), 1)
    >>> advice.action
    Score(combination='full')
    >>> [f"{float(profit):.3f}" for profit in advice.profits.values()][:3]
    ['14.298', '9.207', '7.851']
    """
    names = available(combinations_named(combinations))
    roll = checked_roll(dice)
    if not names:
        raise GameError("no combination is open, so there is nothing to decide", value=names)
    if rerolls_left not in range(REROLLS + 1):
        raise GameError(f"{rerolls_left} rerolls: there are 0 to {REROLLS} left", value=rerolls_left, limit=REROLLS)
    average, found = averages(plain(rules)), dict[Action, Fraction]()
    if rerolls_left:
        table, (over, profits) = tables(), _exact(plain(rules), names)
        at = ROLLS.index(roll)
        mine = profits[rerolls_left][table.row[at] : table.row[at + 1]]
        for (again, _), profit in zip(rerolls(roll), mine, strict=True):
            found[again] = Fraction(int(profit), over * table.total**rerolls_left)
    for name in names:
        if (points := rules.score(name, roll)) is None:
            found[CrossOut(name)] = -average[name]
        else:
            found[Score(name)] = points * multiplier(name, rerolls_left) - average[name]
    # Sorting is stable, so equal ones stay in Bob's order.
    ordered = dict(sorted(found.items(), key=lambda pair: -pair[1]))
    return Advice(next(iter(ordered)), ordered)


def plain(rules: Rules) -> Rules:
    """Return the rules alone, of a game that has more parameters."""
    return Rules(rules.little, rules.big, rules.two_pairs, rules.full, rules.grades)


@functools.lru_cache(maxsize=256)
def _exact(rules: Rules, names: tuple[str, ...]) -> tuple[int, dict[int, npt.NDArray[Any]]]:
    """Profits of rerolls by the number left, as Python ints over ``over * 7776**left``, and that `over` in front."""
    table = tables()
    known = averages(rules)
    over = math.lcm(*(known[name].denominator for name in names))
    becomes = table.becomes.astype(object)
    points = {name: scores(rules, name)[0].astype(object) for name in names}
    best: Any = None
    again: dict[int, npt.NDArray[Any]] = {}
    for left in range(REROLLS + 1):
        stops = [points[name] * (multiplier(name, left) * over) - int(known[name] * over) for name in names]
        stop = np.maximum.reduce(stops) * table.total**left
        if left:
            again[left] = (becomes @ best)[table.holds]
        best = np.maximum(stop, table.best(again[left])) if left else stop
    return over, again
