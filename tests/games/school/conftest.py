"""An oracle for School that shares no code with the library.

Scores come from trying every choice of dice of a roll, and the averages from a recursion over
ordered rolls: the dice of a turn are told apart, and fractions are added up over all of them.
"""

from __future__ import annotations

import functools
import itertools
import types
from fractions import Fraction

import pytest

FACES = range(1, 7)
SIZES = {"pair": 2, "set": 3, "care": 4, "poker": 5}


def fits(combination, dice, *, two_pairs="exactly-four", full="with-five"):
    """Whether some dice are exactly what a combination is made of (not a roll with more dice)."""
    values = set(dice)
    match combination:
        case "pair" | "set" | "care" | "poker":
            return len(dice) == SIZES[combination] and len(values) == 1
        case "two-pairs":
            halves = [(dice[i], dice[j]) for i, j in itertools.combinations(range(len(dice)), 2)]
            pairs = {a for a, b in halves if a == b}
            if len(dice) != 4:
                return False
            return all(dice.count(value) == 2 for value in values) or (
                two_pairs != "strict" and len(values) == 1 and bool(pairs)
            )
        case "full":
            if len(dice) != 5:
                return False
            return sorted(dice.count(value) for value in values) == [2, 3] or (full == "with-five" and len(values) == 1)
        case "little-straight":
            return len(dice) == 5 and values == {1, 2, 3, 4, 5}
        case "big-straight":
            return len(dice) == 5 and values == {2, 3, 4, 5, 6}
    assert combination == "trash"
    return len(dice) == 5


def score(combination, roll, *, little=15, big=20, two_pairs="exactly-four", full="with-five", grades="negative"):
    """Best score of a roll over all choices of its dice, or None."""
    if combination.startswith("grade-"):
        face = int(combination[6:])
        others = -sum(face for die in roll if die != face)
        return others if grades == "negative" else others + 5 * face
    found = []
    for number in range(1, 6):
        for chosen in itertools.combinations(roll, number):
            if combination == "two-pairs" and len(set(roll)) == 1 and two_pairs != "four-or-five":
                continue  # five equal dice are nothing in the public program
            if fits(combination, chosen, two_pairs=two_pairs, full=full):
                found.append({"little-straight": little, "big-straight": big}.get(combination, sum(chosen)))
    return max(found, default=None)


def average(combination, **rules):
    """Average score of one turn, in fractions, over sorted rolls and all subsets of their dice."""

    @functools.cache
    def worth(roll):
        points = score(combination, roll, **rules)
        return Fraction(0 if points is None else points)

    @functools.cache
    def ahead(kept, left):
        free = 5 - len(kept)
        total = sum(best(tuple(sorted(kept + fresh)), left) for fresh in itertools.product(FACES, repeat=free))
        return Fraction(total, 6**free)

    @functools.cache
    def best(roll, left):
        stop = worth(roll) * (2 if left == 2 and not combination.startswith("grade-") else 1)
        if not left:
            return stop
        again = {kept for number in range(5) for kept in itertools.combinations(roll, number)}
        return max(stop, *(ahead(kept, left - 1) for kept in again))

    return ahead((), 2)


@pytest.fixture(scope="session")
def oracle():
    return types.SimpleNamespace(average=average, score=score)
