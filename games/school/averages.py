"""The average score of every combination: one turn for it alone, with the best rerolls.

It is computed as the recursion of `mdpdice.games.school.turn` in integers: with the 7776 rolls of five dice as the
denominator of every roll, the value with `k` rerolls left is an integer over :math:`7776^k`.  The solver `exact` finds
the same fractions for `mdpdice.games.school.combination`.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from mdpdice.games.school.rules import COMBINATIONS, Rules
from mdpdice.games.school.turn import REROLLS, ROLLS, Ints, multiplier, tables


@functools.cache
def averages(rules: Rules) -> MappingProxyType[str, Fraction]:
    """Return the average score of every combination; `Rules.grades` says in which scale the grades are.

    Examples
    --------
    >>> from mdpdice.games.school import Rules, averages
    >>> averages(Rules())["trash"]
    Fraction(545885, 15552)
    """
    return MappingProxyType({name: average(rules, name) for name in COMBINATIONS})


def average(rules: Rules, combination: str) -> Fraction:
    """Return the average score of one combination."""
    table = tables()
    plain, _ = scores(rules, combination)
    value, over = plain, 1
    for left in range(1, REROLLS + 1):
        # At most 7776**3 times some dozens, far below 2**63.
        ahead = table.best((table.becomes @ value)[table.holds])
        over *= table.total
        value = np.maximum(plain * (multiplier(combination, left) * over), ahead)
    return Fraction(int(table.first @ value), over * table.total)


def scores(rules: Rules, combination: str) -> tuple[Ints, Ints]:
    """Return what every roll of `ROLLS` scores after a reroll, 0 if it does not fit, and whether it fits."""
    found = [rules.score(combination, roll) for roll in ROLLS]
    return np.array([points or 0 for points in found]), np.array([points is not None for points in found])
