"""An oracle for Farkle that shares no code with the library.

It works on lists of single dice: every subset of a roll, every way to split the subset into blocks,
every face that a joker could stand for.  The rules are written out as `if` statements.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from fractions import Fraction
from math import factorial, prod

import pytest

J = 7  # a joker


def kcd_block(faces: list[int]) -> int:
    """Points of one combination with the rules of Kingdom Come: Deliverance, 0 if it is none."""
    if len(faces) == 1:
        return {1: 100, 5: 50}.get(faces[0], 0)
    if len(set(faces)) == 1 and len(faces) >= 3:
        three = 1000 if faces[0] == 1 else 100 * faces[0]
        return three * 2 ** (len(faces) - 3)
    return {(1, 2, 3, 4, 5): 500, (2, 3, 4, 5, 6): 750, (1, 2, 3, 4, 5, 6): 1500}.get(tuple(sorted(faces)), 0)


def patch_block(faces: list[int]) -> int:
    """Points of one combination with the rules of Patch Products, 0 if it is none."""
    if len(faces) == 1:
        return {1: 100, 5: 50}.get(faces[0], 0)
    groups = sorted(Counter(faces).values())
    if groups == [3]:
        return 300 if faces[0] == 1 else 100 * faces[0]
    if groups == [1, 1, 1, 1, 1, 1]:
        return 1500
    table = {(4,): 1000, (5,): 2000, (6,): 3000, (2, 2, 2): 1500, (3, 3): 2500, (2, 4): 1500}
    return table.get(tuple(groups), 0)


def plain_block(faces: list[int]) -> int:
    """Points of one combination where only single dice and triples score."""
    if len(faces) == 1:
        return {1: 100, 5: 50}.get(faces[0], 0)
    if len(faces) == 3 and len(set(faces)) == 1:
        return 1000 if faces[0] == 1 else 100 * faces[0]
    return 0


def doubling_block(faces: list[int], pairs: int) -> int:
    """Points of one combination of Zilch and of Facebook's Farkle, which differ in three pairs."""
    if len(faces) >= 3 and len(set(faces)) == 1:
        return plain_block(faces[:3]) * 2 ** (len(faces) - 3)
    if len(set(faces)) == 6:
        return 1500
    groups = sorted(Counter(faces).values())
    if groups == [2, 2, 2] or (groups == [2, 4] and pairs == 1500):  # Zilch takes four equal dice for two pairs
        return pairs
    return plain_block(faces)


BLOCKS = {
    "kcd": kcd_block,
    "patch": patch_block,
    "plain": plain_block,
    "facebook": functools.partial(doubling_block, pairs=750),
    "zilch": functools.partial(doubling_block, pairs=1500),
}
NOTHING = {"zilch": 500}


@functools.cache
def score(rules: str, dice: tuple[int, ...]) -> int:
    """Points for setting aside exactly these dice (sorted), 0 if that is not legal."""
    jokers = [at for at, face in enumerate(dice) if face == J]
    best = 0
    for faces in itertools.product(range(1, 7), repeat=len(jokers)):
        shown = list(dice)
        for at, face in zip(jokers, faces, strict=True):
            shown[at] = face
        best = max(best, _split(rules, shown, frozenset(jokers), tuple(range(len(dice)))))
    if not best and len(dice) == 6 and rules in NOTHING:
        parts = [part for size in range(1, 6) for part in itertools.combinations(dice, size)]
        if not any(score(rules, part) for part in parts):
            return NOTHING[rules]
    return best


def _split(rules: str, shown: list[int], jokers: frozenset[int], rest: tuple[int, ...]) -> int:
    """Most points of a partition of the dice `rest` into combinations, 0 if there is none."""
    first, others = rest[0], rest[1:]
    best = 0
    for size in range(len(others) + 1):
        for partners in itertools.combinations(others, size):
            block = (first, *partners)
            if jokers.issuperset(block):
                continue  # jokers complete a combination; they are none by themselves
            points = BLOCKS[rules]([shown[at] for at in block])
            if points == 0:
                continue
            remaining = tuple(at for at in others if at not in partners)
            more = _split(rules, shown, jokers, remaining) if remaining else 0
            if more or not remaining:
                best = max(best, points + more)
    return best


def menu(rules: str, roll: tuple[tuple[int, ...], ...], full: tuple[int, ...]) -> tuple[int, frozenset]:
    """What a roll offers: the best points, and (points, dice per kind to roll next)."""
    dice = [(kind, face) for kind, faces in enumerate(roll) for face in faces]
    best = 0
    keeps = set()
    for size in range(1, len(dice) + 1):
        for chosen in itertools.combinations(range(len(dice)), size):
            points = score(rules, tuple(sorted(dice[at][1] for at in chosen)))
            if points:
                best = max(best, points)
                left = [len(faces) for faces in roll]
                for at in chosen:
                    left[dice[at][0]] -= 1
                keeps.add((points, tuple(left) if any(left) else full))
    return best, frozenset(keeps)


def rolls(weights: tuple[int, ...], number: int) -> dict[tuple[int, ...], int]:
    """Sorted rolls of dice of one kind, each with its weight."""
    found = {}
    for roll in itertools.combinations_with_replacement(range(1, 7), number):
        arrangements = factorial(number) // prod(map(factorial, Counter(roll).values()))
        weight = arrangements * prod(weights[face - 1] for face in roll)
        if weight:
            found[roll] = weight
    return found


Kind = tuple[tuple[int, ...], bool]  # the weights of the faces 1..6, and whether face 1 is a joker


def offers(rules: str, kinds: list[Kind], full: tuple[int, ...]):
    """Per set of dice (a count per kind) the (weight, best, keeps) of all rolls, and their total weight."""
    found = {}
    for counts in itertools.product(*(range(number + 1) for number in full)):
        if any(counts):
            throws = [
                [
                    (tuple(sorted(J if joker and face == 1 else face for face in roll)), weight)
                    for roll, weight in rolls(weights, number).items()
                ]
                for (weights, joker), number in zip(kinds, counts, strict=True)
            ]
            lines = [
                (prod(w for _, w in combined), *menu(rules, tuple(roll for roll, _ in combined), full))
                for combined in itertools.product(*throws)
            ]
            found[counts] = (lines, sum(weight for weight, _, _ in lines))
    return found


FAIR: Kind = ((1,) * 6, False)


def turn(
    rules: str,
    kinds: tuple[Kind, ...] = (FAIR,),
    full: tuple[int, ...] = (6,),
    *,
    cap: int,
    clip: bool = False,
    hot_dice: bool = True,
) -> dict[tuple[tuple[int, ...], int], float]:
    """Value of rolling dice with points at risk, by `(counts per kind, points)`.

    Every selection adds points, so one pass from the cap downwards is enough.
    """
    value: dict[tuple[tuple[int, ...], int], float] = {}
    table = offers(rules, list(kinds), full)
    for points in range(cap - cap % 50, -1, -50):
        for counts, (lines, weights) in table.items():
            total = 0.0
            for weight, best, keeps in lines:
                if best:
                    bank = points + best
                    options = [float(min(bank, cap) if clip else bank)]
                    for gain, left in keeps:
                        if points + gain < cap and (hot_dice or sum(left) < sum(counts)):
                            options.append(value[left, points + gain])
                    total += weight * max(options)
            value[counts, points] = total / weights
    return value


def bounded(rules: str, horizon: int, *, exact: bool = False) -> dict[int, Fraction | float]:
    """Optimal_n at the start of a turn for n = 1 .. horizon, cap 6000, overshoot counted."""
    number = Fraction if exact else float
    table = offers(rules, [FAIR], (6,))

    @functools.cache
    def value(n: int, counts: tuple[int, ...], points: int):
        total = number(0)
        lines, weights = table[counts]
        for weight, best, keeps in lines:
            if best:
                options = [number(points + best)]
                if n > 1:
                    options += [value(n - 1, left, points + gain) for gain, left in keeps if points + gain < 6000]
                total += weight * max(options)
        return total / weights

    return {n: value(n, (6,), 0) for n in range(1, horizon + 1)}


class Oracle:
    """The functions of this module, since test modules cannot import one another."""

    score = staticmethod(score)
    menu = staticmethod(menu)
    rolls = staticmethod(rolls)
    offers = staticmethod(offers)
    turn = staticmethod(turn)
    bounded = staticmethod(bounded)


@pytest.fixture(scope="session")
def oracle() -> type[Oracle]:
    return Oracle
