r"""Scoring rules of Farkle, as data.

A rule set is a table of *patterns*.  A pattern is a short text, one character per die: a digit stands for that face,
and equal letters stand for equal faces, different letters for different faces.  ``"111"`` is three ones, ``"12345"``
a straight, ``"AABBCC"`` three pairs, ``"AAAABB"`` four of a kind with a pair.

A *selection* is a set of dice that a player sets aside.  It is legal if it can be partitioned into combinations of
the table with no die left over, and its score is the largest sum over all such partitions.  Let :math:`b(v)` be the
score of the count vector :math:`v` (dice per face) and :math:`K` the table; then

.. math:: b(0) = 0, \qquad b(v) = \max_{k \in K,\, k \le v} \; points(k) + b(v - k),

with :math:`-\infty` (not legal) where no :math:`k` fits.  The recursion is run
forwards from 0, so only legal selections are ever visited.

*Jokers.*  A joker (the devil's head of Kingdom Come: Deliverance) completes a
combination but never scores alone: it may stand for any die of a combination
that has at least one real die beside it.  In a count vector it has a place of
its own behind the six faces.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

import attrs

from mdpdice.errors import GameError

JOKER = 7
"""The symbol of a joker, next to the faces 1 to 6."""

MAX_DICE = 6
"""Most dice in one roll."""

Counts: TypeAlias = tuple[int, ...]
"""Dice per symbol: seven numbers, for the faces 1 to 6 and the joker."""

_FACES = range(1, 7)
_BITS = 3  # of a packed count: 3 bits hold 0..7, more than MAX_DICE


def counts_of(symbols: Iterable[int]) -> Counts:
    """Count the dice per symbol."""
    counts = [0] * JOKER
    for symbol in symbols:
        if not 1 <= symbol <= JOKER:
            raise GameError(f"a die shows a face from 1 to 6 (or a joker, {JOKER}), not {symbol!r}", value=symbol)
        counts[symbol - 1] += 1
    return tuple(counts)


def pack(counts: Counts) -> int:
    """Pack a count vector of at most `MAX_DICE` dice into an integer, one-to-one; sums of vectors become sums."""
    return sum(count << _BITS * place for place, count in enumerate(counts))


def unpack(packed: int) -> Counts:
    """Return the count vector that `pack` packed."""
    return tuple(packed >> _BITS * place & (1 << _BITS) - 1 for place in range(JOKER))


def _pairs(patterns: Mapping[str, int] | Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Make patterns hashable, so that rules can key a cache."""
    return tuple(dict(patterns).items())


@attrs.frozen
class Rules:
    """A scoring table.

    Parameters
    ----------
    name : str
        Short name, as on the command line.
    patterns : mapping of str to int
        Points per pattern (see the module's text).
    doubling : bool
        Whether every die beyond three equal ones doubles the points of the
        three (``"222"``: 200, so four twos 400, five 800, six 1600).
    nothing : int
        Points for six dice of which none scores; 0: that is a bust.

    Examples
    --------
    >>> from mdpdice.games.farkle.rules import KCD, Rules
    >>> KCD.score([1, 5, 5])
    200
    >>> KCD.score([1, 5, 2])            # the 2 scores nothing: not a legal selection
    0
    >>> house = Rules("house", {"1": 100, "5": 50, "AAA": 500, "AAAAAA": 5000})
    >>> house.score([4, 4, 4, 4, 4, 4])
    5000
    """

    name: str
    patterns: tuple[tuple[str, int], ...] = attrs.field(converter=_pairs)
    doubling: bool = False
    nothing: int = 0

    def __attrs_post_init__(self) -> None:
        for pattern, points in self.patterns:
            if not 1 <= len(pattern) <= MAX_DICE or not all(c in "123456" or c.isalpha() for c in pattern):
                msg = f"{pattern!r} is not a pattern: write a digit 1 to 6 or a letter for each of 1 to {MAX_DICE} dice"
                raise GameError(msg, value=pattern)
            if points <= 0:
                raise GameError(f"the pattern {pattern!r} scores {points}; points are positive", value=points)
        self.combinations()  # which refuses a pattern worth less than doubling makes it

    def combinations(self) -> Mapping[Counts, int]:
        """Return the points of every combination without jokers, by count vector."""
        table: dict[Counts, int] = {}
        for pattern, points in self.patterns:
            for faces in _meanings(pattern):
                counts = counts_of(faces)
                table[counts] = max(points, table.get(counts, 0))
        if self.doubling:
            for face in _FACES:
                points = table.get(counts_of([face] * 3), 0)
                for number in range(4, MAX_DICE + 1):
                    points *= 2
                    # A pattern given for four or more equal dice goes before doubling.
                    if points and (given := table.setdefault(counts_of([face] * number), points)) < points:
                        msg = f"{self.name}: {number} dice of {face} are given {given} points, and doubling makes them"
                        msg += f" {points}; give them more, or leave doubling out"
                        raise GameError(msg, value=given, limit=points)
        return table

    @property
    def grid(self) -> int:
        """The largest number that divides all scores."""
        return math.gcd(*self.combinations().values(), self.nothing)

    def scores(self, jokers: int = 0) -> Mapping[int, int]:
        """Return the score of every legal selection with at most `jokers` jokers, by packed count vector."""
        return _scores(self, jokers)

    def score(self, symbols: Iterable[int]) -> int:
        """Return the points for setting aside all of these faces 1 to 6, or `JOKER`; 0 if that is not legal."""
        counts = counts_of(symbols)
        if sum(counts) > MAX_DICE:
            raise GameError(f"{sum(counts)} dice are more than {MAX_DICE}", value=sum(counts), limit=MAX_DICE)
        return self.scores(counts[-1]).get(pack(counts), 0)

    def selections(self, symbols: Iterable[int]) -> dict[Counts, int]:
        """Return the points of every legal selection out of a roll, by count vector.

        Examples
        --------
        >>> from mdpdice.games.farkle.rules import KCD
        >>> KCD.selections([1, 5, 3])
        {(1, 0, 0, 0, 0, 0, 0): 100, (0, 0, 0, 0, 1, 0, 0): 50, (1, 0, 0, 0, 1, 0, 0): 150}
        """
        roll = counts_of(symbols)
        found = ((unpack(code), points) for code, points in self.scores(roll[-1]).items())
        return {counts: points for counts, points in found if all(map(int.__le__, counts, roll))}


def _meanings(pattern: str) -> Iterator[list[int]]:
    """Give the faces that a pattern stands for, in every way its letters can be read."""
    letters = sorted({c for c in pattern if c.isalpha()})
    for faces in itertools.permutations(_FACES, len(letters)):
        reading = dict(zip(letters, faces, strict=True))
        yield [reading[c] if c in reading else int(c) for c in pattern]


@functools.cache
def _scores(rules: Rules, jokers: int) -> Mapping[int, int]:
    combinations: dict[int, tuple[int, int]] = {}  # packed vector -> dice, points
    for counts, points in rules.combinations().items():
        for variant in _with_jokers(counts, jokers):
            code = pack(variant)
            if points > combinations.get(code, (0, 0))[1]:
                combinations[code] = (sum(counts), points)
    best = {0: 0}
    reached: list[list[int]] = [[0]] + [[] for _ in range(MAX_DICE)]  # legal selections by number of dice
    for size, selections in enumerate(reached):
        # Selections of this size are complete: every combination has at least one die.
        for selection in selections:
            so_far = best[selection]
            for code, (dice, points) in combinations.items():
                grown = selection + code
                if size + dice <= MAX_DICE and unpack(selection)[-1] + unpack(code)[-1] <= jokers:
                    if grown not in best:
                        reached[size + dice].append(grown)
                    best[grown] = max(so_far + points, best.get(grown, 0))
    del best[0]  # setting nothing aside is not a selection
    if rules.nothing:
        legal = [unpack(selection) for selection in best]
        for roll in itertools.combinations_with_replacement(range(1, JOKER + (jokers > 0)), MAX_DICE):
            counts = counts_of(roll)
            if counts[-1] <= jokers and not any(all(map(int.__le__, one, counts)) for one in legal):
                best[pack(counts)] = rules.nothing
    return MappingProxyType(best)


def _with_jokers(counts: Counts, jokers: int) -> Iterator[Counts]:
    """Give a combination with every choice of its dice replaced by jokers, at least one die staying."""
    for replaced in itertools.product(*(range(count + 1) for count in counts[:-1])):
        number = sum(replaced)
        if number == 0 or (number <= jokers and number < sum(counts)):
            kept = tuple(count - gone for count, gone in zip(counts, replaced, strict=False))
            yield (*kept, number)


def _usual(ones: int) -> dict[str, int]:
    """Single dice, and triples."""
    return {"1": 100, "5": 50, "111": ones} | {str(face) * 3: 100 * face for face in range(2, 7)}


KCD = Rules("kcd", _usual(1000) | {"12345": 500, "23456": 750, "123456": 1500}, doubling=True)
"""Kingdom Come: Deliverance (both games)."""

PATCH = Rules(
    "patch",
    _usual(300)
    | {"AAAA": 1000, "AAAAA": 2000, "AAAAAA": 3000}
    | {"123456": 1500, "AABBCC": 1500, "AAABBB": 2500, "AAAABB": 1500},
)
"""Farkle as Patch Products sells it.

Four of a kind with a pair is one combination of 1500; its parts, four for 1000
and a pair of ones for 200, may be taken apart but never score more.
"""

PLAIN = Rules("plain", _usual(1000))
"""Farkle with single dice and triples only, the core that most families share; usually to 10,000."""

FACEBOOK = Rules("facebook", _usual(1000) | {"123456": 1500, "AABBCC": 750}, doubling=True)
"""Farkle as it was played on Facebook; without its 300 points to bank at least, and its penalty for three busts."""

_ZILCH = {"123456": 1500, "AABBCC": 1500, "AAAABB": 1500}
ZILCH = Rules("zilch", _usual(1000) | _ZILCH, doubling=True, nothing=500)
"""Zilch (zilch.playr.co.uk/rules.php); without its 300 points to bank at least, and its penalty for three busts."""

_SHIPPED = (KCD, PATCH, PLAIN, FACEBOOK, ZILCH)
RULES: Mapping[str, Rules] = MappingProxyType({rules.name: rules for rules in _SHIPPED})
"""The shipped rule sets by name."""
