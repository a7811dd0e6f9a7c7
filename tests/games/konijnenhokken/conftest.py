"""An oracle for Konijnenhokken that shares no code with the library.

It works on single dice: every die of a roll is a rabbit, a cage or neither, and a predicate says
which of these allocations the rules allow.  Values come from a recursion over sorted rolls.
"""

from __future__ import annotations

import functools
import itertools
import math
import types
from collections import Counter
from fractions import Fraction

import pytest

from mdpdice import solve
from mdpdice.games.konijnenhokken import Konijnenhokken

FACES = range(1, 7)


def legal(rabbits, cages, before):
    """Whether faces may be taken as rabbits and as cages, when the cages `before` were taken before."""
    if not rabbits or not all(face in (1, 2) for face in rabbits):
        return False
    row = sorted([*before, *cages])
    return row == list(range(2, 2 + len(row))) and len(row) <= 4


@functools.cache
def splits(roll):
    """All ways to split a roll into rabbits, cages and dice left, by the number of equal dice in each."""
    ways_of_a_face = [
        [((face,) * a, (face,) * b) for a in range(count + 1) for b in range(count + 1 - a)]
        for face, count in Counter(roll).items()
    ]
    found = []
    for parts in itertools.product(*ways_of_a_face):
        rabbits = tuple(itertools.chain.from_iterable(part[0] for part in parts))
        cages = tuple(itertools.chain.from_iterable(part[1] for part in parts))
        found.append((rabbits, cages))
    return found


def allocations(roll, c):
    """Everything that the rules allow for a roll (ones, twos, cages taken), by trying all of it."""
    before = range(2, 2 + c)
    return {
        (rabbits.count(1), rabbits.count(2), len(cages))
        for rabbits, cages in splits(tuple(roll))
        if legal(rabbits, cages, before)
    }


def seen_by_the_public_program(roll, moves):
    """The moves that the program finds: those with cages only where the rabbits leave a 2 over."""
    return {(ones, twos, cages) for ones, twos, cages in moves if not cages or roll.count(2) > twos}


def rolls(dice):
    return itertools.combinations_with_replacement(FACES, dice)


def ways(roll):
    return math.factorial(len(roll)) // math.prod(map(math.factorial, Counter(roll).values()))


def float_chance(roll):
    """Chance of a roll in floats, multiplied in the order of the public program."""
    chance = 1
    for count in Counter(roll).values():
        chance *= (1 / 6) ** count
    return ways(roll) * chance


def quick_allocations(roll, c):
    """The same as `allocations`, counted; a test compares them."""
    ones, twos = roll.count(1), roll.count(2)
    found = set()
    for a, b, k in itertools.product(range(ones + 1), range(twos + 1), range(5 - c)):
        cages = range(c + 2, c + 2 + k)
        if a + b and all(face in roll for face in cages) and b + (2 in cages) <= twos:
            found.add((a, b, k))
    return found


def turn(dice=7, stop_at=101, defective=False):
    """Value of rolling and of stopping in every position (t, r1, r2, c) that a play can reach."""
    tables = {}
    for number, c in itertools.product(range(1, dice + 1), range(5)):
        table = tables[number, c] = []
        for roll in rolls(number):
            moves = quick_allocations(roll, c)
            if defective:
                moves = seen_by_the_public_program(roll, moves)
            table.append((float_chance(roll), tuple(moves)))
    playing, best = {}, {}

    def points(t, r1, r2, c):
        return t + (r1 + 2 * r2) * (c + 1)

    def stand(t, r1, r2, c):
        """Best value of a position: what the recursion of the public program calls E."""
        key = (t, r1, r2, c)
        if key not in best:
            stop = points(*key)
            if r1 + r2 + c == dice:
                best[key] = max(stop, play(stop, 0, 0, 0))
            else:
                best[key] = max(stop, play(*key))
        return best[key]

    def play(t, r1, r2, c):
        key = (t, r1, r2, c)
        if t >= stop_at:
            return -1
        if key not in playing:
            total = 0.0
            for chance, moves in tables[dice - r1 - r2 - c, c]:
                value = 0
                for a, b, k in moves:
                    value = max(value, stand(t, r1 + a, r2 + b, c + k))
                total += chance * value  # one by one: sum() of a newer Python is more precise
            playing[key] = total
        return playing[key]

    return stand(0, 0, 0, 0), playing


def exact_run(total, dice):
    """One more run with `total` banked points, stopped at its end: in fractions, over single dice."""
    memo = {}

    def stand(r1, r2, c):
        stop = Fraction(total + (r1 + 2 * r2) * (c + 1))
        return stop if r1 + r2 + c == dice else max(stop, play(r1, r2, c))

    def play(r1, r2, c):
        if (r1, r2, c) not in memo:
            number = dice - r1 - r2 - c
            value = Fraction(0)
            for roll in rolls(number):
                ahead = (stand(r1 + a, r2 + b, c + k) for a, b, k in quick_allocations(roll, c))
                value += ways(roll) * max(ahead, default=Fraction(0))
            memo[r1, r2, c] = value / 6**number
        return memo[r1, r2, c]

    return play(0, 0, 0)


@pytest.fixture(scope="session")
def oracle():
    return types.SimpleNamespace(
        allocations=allocations,
        exact_run=exact_run,
        legal=legal,
        quick_allocations=quick_allocations,
        rolls=rolls,
        seen_by_the_public_program=seen_by_the_public_program,
        turn=turn,
        ways=ways,
    )


@pytest.fixture(scope="session")
def game():
    return Konijnenhokken()


@pytest.fixture(scope="session")
def solution(game):
    return solve(game)


@pytest.fixture(scope="session")
def defective():
    return solve(Konijnenhokken(defects="public-solver"))
