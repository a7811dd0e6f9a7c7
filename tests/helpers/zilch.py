"""Zilch for one player, who goes on for ever; M. Busche, "Automating Zilch" (mattbusche.org), gives 620.855 a turn.

Six dice; single ones count 100 and fives 50; three of a kind 100 times the face, ones 1000, doubled for each further
die; a straight 1500, three pairs 1500, six dice that score nothing 500.  Who has scored with all dice may roll all of
them again.  From 300 points on they may be banked.  A turn without points is a zilch; every third in a row costs 500.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter as Counted

import attrs

from mdpdice import Counter, Dist, Game, decide, go, roll, when

UNIT = 50


@attrs.frozen
class Turn:
    """A turn begins, after so many zilches in a row."""

    zilches: int


@attrs.frozen
class Rolled:
    """Dice lie there, of which some sets may be taken: points (in units) and dice that are left."""

    zilches: int
    sets: tuple[tuple[int, int], ...]


@attrs.frozen
class Taken:
    """Dice were taken; roll the others or bank."""

    zilches: int
    dice: int


@functools.cache
def worth(dice: tuple[int, ...]) -> int | None:
    """Points of some dice that all score, None where one of them does not."""
    count, found = Counted(dice), 0
    combination = len(dice) == 6 and (len(count) == 6 or all(n % 2 == 0 for n in count.values()))
    for face, n in count.items():
        each = n * {1: 100, 5: 50}.get(face, 0)
        kind = (1000 if face == 1 else 100 * face) << (n - 3) if n >= 3 else 0
        if not (each or kind or combination):
            return None
        found += max(each, kind) if each or kind else -9999
    return max(found, 1500) if combination else found


@functools.cache
def sets_of(dice: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """What may be taken of a roll: the most points for every number of dice that are left; nothing for a zilch."""
    best: dict[int, int] = {}
    for size in range(1, len(dice) + 1):
        for some in set(itertools.combinations(dice, size)):
            points = worth(some)
            left = len(dice) - size or 6
            if points and points > best.get(left, 0):
                best[left] = points
    if len(dice) == 6 and not best:
        best[6] = 500
    return tuple((points // UNIT, left) for left, points in sorted(best.items()))


@functools.cache
def rolls(dice: int) -> Dist:
    """What may be taken of so many dice."""
    counts: Counted = Counted()
    for faces in itertools.product(range(1, 7), repeat=dice):
        counts[sets_of(tuple(sorted(faces)))] += 1
    return Dist(counts)


@attrs.frozen
class Zilch(Game):
    """Turns without end; `most` are the points at which a turn is banked."""

    most: int = 20_000
    points = Counter(lambda game: range(game.most // UNIT + 1), outside="clip")

    def start(self):
        return Turn(0)

    def node(self, state):
        match state:
            case Turn(zilches):
                return decide({"roll": roll(rolls(6), lambda sets: self.fallen(zilches, sets))})
            case Rolled(zilches, sets):
                return decide((taken, go(Taken(zilches, taken[1]), self.points.add(taken[0]))) for taken in sets)
        again = roll(rolls(state.dice), lambda sets: self.fallen(state.zilches, sets))
        bank = when(self.points >= 300 // UNIT, go(Turn(0), self.points.set(0), reward=UNIT * self.points))
        return decide({"bank": bank, "roll": when(self.points < self.most // UNIT, again)})

    def fallen(self, zilches, sets):
        if sets:
            return go(Rolled(zilches, sets))
        lost = zilches == 2
        return go(Turn((zilches + 1) % 3), self.points.set(0), reward=-500 if lost else 0)
