"""Real dice behind a distribution, where its outcomes merge rolls.

A `mdpdice.Dist` keeps what it was made of, so a roll can be drawn forwards: throw the dice, and see which outcome that
is.  Where a distribution is made by other means, its rules say once with `remember` which dice it stands for.
"""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections import Counter as Multiset
from collections.abc import Callable, Hashable, Iterator
from typing import Any, TypeVar

import attrs

from mdpdice.errors import GameError
from mdpdice.looks.text import phrase
from mdpdice.modelling.distribution import Dist, make_dist

T = TypeVar("T")

MOST_ROLLS = 100_000
"""Rolls of several groups of dice that are listed; more are drawn only."""
MOST_THROWS = 1_000
"""Throws in search of one that fits a condition; then an outcome is drawn without its dice."""


@attrs.frozen
class Die:
    """A die: its faces, their weights, and its name unless it is an ordinary one; dice of one name are alike."""

    faces: tuple[Any, ...] = (1, 2, 3, 4, 5, 6)
    weights: tuple[int, ...] = (1,) * 6
    name: str = ""


@attrs.frozen
class Rolled:
    """Dice that lie on the table: what was drawn, or typed in."""

    faces: tuple[Any, ...]
    dice: tuple[Die, ...] = ()

    def __str__(self) -> str:
        return self._shown

    @functools.cached_property
    def _shown(self) -> str:
        named = itertools.zip_longest(self.faces, (die.name for die in self.dice), fillvalue="")
        return " ".join(f"{phrase(face)} ({name})" if name else phrase(face) for face, name in named)


@attrs.frozen
class Throw:
    """Dice that are thrown at once, and which outcome each roll is."""

    groups: tuple[tuple[Die, int], ...]  #: dice, and how many of each; the faces of a group are sorted
    outcome: Callable[[tuple[Any, ...]], Hashable]  #: of the faces, group by group: the outcome of the distribution

    @property
    def dice(self) -> tuple[Die, ...]:
        """Every die, in the order of the faces."""
        return tuple(die for die, count in self.groups for _ in range(count))

    def draw(self, generator: random.Random) -> tuple[Hashable, Rolled]:
        """Throw the dice: the outcome, and how they lie."""
        faces: list[Any] = []
        for die, count in self.groups:
            places = sorted(_drawn(die.weights, generator) for _ in range(count))
            faces += [die.faces[at] for at in places]
        return self.outcome(tuple(faces)), Rolled(tuple(faces), self.dice)

    def rolls(self) -> Iterator[tuple[tuple[Any, ...], int]]:
        """All rolls that can be told apart, with integer weights."""
        parts = []
        for die, count in self.groups:
            weight = dict(zip(die.faces, die.weights, strict=True))
            faces = [face for face in die.faces if weight[face]]
            listed = []
            for roll in itertools.combinations_with_replacement(faces, count):
                ways = math.factorial(count)
                for face, times in Multiset(roll).items():
                    ways = ways // math.factorial(times) * weight[face] ** times
                listed.append((roll, ways))
            parts.append(listed)
        for rolled in itertools.product(*parts):
            yield tuple(face for roll, _ in rolled for face in roll), math.prod(ways for _, ways in rolled)

    def table(self, dist: Dist[Any]) -> dict[Any, list[tuple[tuple[Any, ...], int]]]:
        """Return the rolls of every outcome with their weights; a `GameError` where the distribution is another one."""
        found: dict[Any, list[tuple[tuple[Any, ...], int]]] = {}
        for faces, weight in self.rolls():
            found.setdefault(self.outcome(faces), []).append((faces, weight))
        if Dist({outcome: sum(ways for _, ways in rolls) for outcome, rolls in found.items()}) != dist:
            msg = "these dice have another distribution than the rules declare; correct the Throw or the Dist"
            raise GameError(msg, value=dist)
        return found


def remember(dist: Dist[T], throw: Throw) -> Dist[T]:
    """Return the distribution with the dice that it stands for, whose distribution it has: see `Throw.table`.

    `Dist.map`, `Dist.bind`, `mdpdice.product` and `mdpdice.pool` remember by themselves.
    """
    return make_dist(dist.outcomes, dist.weights, dist.defect, ("throw", throw))


def thrown(dist: Dist[Any]) -> Throw | None:
    """Return the dice that a distribution was made of: one made of nothing is a die, and what is certain has none.

    None where a second throw depends on the first, or there are too many rolls to list.
    """
    made, *of = dist.source or ("",)
    if made == "throw":
        return of[0]  # type: ignore[no-any-return]
    if made == "map":
        inner, images = thrown(of[0]), dict(zip(of[0], of[1], strict=True))
        return inner and Throw(inner.groups, lambda faces: images[inner.outcome(faces)])
    if made == "pool":
        alike, order = Multiset(of[0]), of[1]
        groups = tuple((Die(die.outcomes, die.weights), count) for die, count in alike.items())
        return Throw(groups, lambda faces: tuple(map(faces.count, order)))
    if made == "product":
        inners = [inner for inner in map(thrown, of[0]) if inner is not None]
        rolls = math.prod(len(die.faces) ** count for inner in inners for die, count in inner.groups)
        if len(inners) < len(of[0]) or rolls > MOST_ROLLS:
            return None
        ends = list(itertools.accumulate((len(inner.dice) for inner in inners), initial=0))
        cuts = list(zip(inners, itertools.pairwise(ends), strict=True))
        return Throw(
            tuple(group for inner in inners for group in inner.groups),
            lambda faces: tuple(inner.outcome(faces[a:b]) for inner, (a, b) in cuts),
        )
    if made in ("bind", "given"):
        return None
    if len(dist) == 1:
        return Throw((), lambda _: dist.outcomes[0])
    return Throw(((Die(dist.outcomes, dist.weights), 1),), lambda faces: faces[0])


def draw(dist: Dist[Any], generator: random.Random) -> tuple[Any, Rolled]:
    """Draw an outcome, and the dice that show it: thrown first, then seen which outcome that is."""
    made, *of = dist.source or ("",)
    if made == "throw":
        return of[0].draw(generator)  # type: ignore[no-any-return]
    if made == "map":
        outcome, rolled = draw(of[0], generator)
        return of[1][of[0].outcomes.index(outcome)], rolled
    if made == "given":
        for _ in range(MOST_THROWS):
            outcome, rolled = draw(of[0], generator)
            if outcome in dist:
                return outcome, rolled
    if made == "bind":
        outcome, rolled = draw(of[0], generator)
        second, more = draw(of[1][of[0].outcomes.index(outcome)], generator)
        return second, Rolled(rolled.faces + more.faces, rolled.dice + more.dice)
    if made == "pool":
        pairs = [(one.outcomes[_drawn(one.weights, generator)], one) for one in of[0]]
        pairs.sort(key=lambda pair: of[1].index(pair[0]))
        faces = tuple(face for face, _ in pairs)
        dice = tuple(Die(one.outcomes, one.weights) for _, one in pairs)
        return tuple(map(faces.count, of[1])), Rolled(faces, dice)
    if made == "product":
        drawn = [draw(one, generator) for one in of[0]]
        rolled = Rolled(
            tuple(face for _, one in drawn for face in one.faces), tuple(die for _, one in drawn for die in one.dice)
        )
        return tuple(value for value, _ in drawn), rolled
    outcome = dist.outcomes[_drawn(dist.weights, generator)]
    return outcome, Rolled((outcome,), (Die(dist.outcomes, dist.weights),)) if len(dist) > 1 else Rolled(())


def _drawn(weights: tuple[int, ...], generator: random.Random) -> int:
    at = generator.randrange(sum(weights))
    for place, weight in enumerate(weights):
        at -= weight
        if at < 0:
            return place
    raise AssertionError
