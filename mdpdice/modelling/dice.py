r"""Dice, and pools of dice whose order does not matter.

A die is a `mdpdice.modelling.distribution.Dist` over its faces; a weighted die is any other `Dist`.

A *pool* forgets which die shows which face and keeps how many dice show each: the count vector
:math:`c = (c_1, \ldots, c_m)` over the faces :math:`f_1 < \ldots < f_m`.  Its distribution grows by
one die with weights :math:`w_k` at a time,

.. math:: P'(c + e_k) \mathrel{+}= P(c) \, w_k,

in exact integers.  For `n` identical dice this gives the multinomial weights
:math:`n! / (c_1! \cdots c_m!) \prod_k w_k^{c_k}` [1]_; it holds as well for mixed and weighted dice, and
it visits :math:`\binom{n + m - 1}{n}` vectors instead of :math:`m^n` rolls: 462 instead of 46,656 for six
ordinary dice.

References
----------
.. [1] W. Feller, *An Introduction to Probability Theory and Its Applications*, vol. 1, 3rd ed.,
   Wiley 1968, sections II.5 (occupancy numbers) and VI.9 (the multinomial distribution).
"""

from __future__ import annotations

import math
from collections import Counter as Multiset
from collections.abc import Iterable
from decimal import Decimal
from numbers import Real
from typing import Any

from mdpdice.errors import GameError
from mdpdice.modelling.distribution import Dist, DistLike, as_dist, largest_defect, make_dist, refuse_vast, uniform
from mdpdice.modelling.equality import collision_error, same_kind
from mdpdice.modelling.number import is_own, own_number, whole_number


def die(faces: int) -> Dist[int]:
    """Return a fair die with the faces 1 to `faces`.

    Parameters
    ----------
    faces : int
        Number of faces, at least 1.

    Raises
    ------
    GameError
        `faces` is not a whole number of at least 1.

    Examples
    --------
    >>> from mdpdice.modelling.dice import die
    >>> die(6).mean()
    Fraction(7, 2)
    """
    if (n := whole_number(faces)) is None or n < 1:
        how = "for other faces write uniform([...]), for a weighted die Dist({face: weight})"
        msg = f"die() needs a whole number of faces of at least 1, not {faces!r}; {how}"
        raise GameError(msg, value=faces, limit=1)
    refuse_vast(n, 8, f"die({n})", "keep apart only the ranges of faces that matter")
    return uniform(range(1, n + 1))


d6: Dist[int] = die(6)
"""The ordinary die."""


def pool(dice: Iterable[DistLike[object]], *, faces: Iterable[object] | None = None) -> Dist[tuple[int, ...]]:
    """Return how many dice show each face when all are thrown at once.

    Parameters
    ----------
    dice : iterable of Dist
        The dice, alike or not: ``pool([d6] * 6)``.  Dice that have to be told apart belong in
        pools of their own: ``product(pool(white), pool(red))``.
    faces : iterable, optional
        The faces that the entries of a count vector stand for, in order.  Default: all faces of all
        dice, sorted.  Name them where dice may lack a face, or there may be no dice, and the vectors
        should keep one length.

    Returns
    -------
    Dist of tuple of int
        Over the count vectors; entry `k` counts the dice that show ``faces[k]``.  The outcomes are
        in falling lexicographic order (all dice on the first face come first), whatever the order
        of the dice.

    Raises
    ------
    GameError
        Something in `dice` is not a distribution, the faces cannot be sorted, `faces` lacks one or
        names one twice, or there are more count vectors than fit in memory.
    StateCollisionError
        Two faces are equal in Python but of different types, like ``1`` and ``True``.

    Examples
    --------
    >>> from mdpdice.modelling.dice import d6, die, pool
    >>> len(pool([d6] * 6))
    462
    >>> pool([die(2), die(3)]).items()
    (((2, 0, 0), 1), ((1, 1, 0), 2), ((1, 0, 1), 1), ((0, 2, 0), 1), ((0, 1, 1), 1))
    """
    thrown = _listed(dice)
    place = _places(thrown, faces)
    # Dice that show every face come to as many vectors as there are ways to share them out.
    full = sum(len(one) == len(place) for one in thrown)
    vectors = math.comb(full + len(place) - 1, full) if place else 1
    refuse_vast(vectors, 8 * len(place), "pool()", "throw fewer dice at once, or keep apart only faces that matter")
    # A count vector is kept as one integer with the digits c_1 ... c_m to a base that no count can
    # reach: adding e_k is then one addition, several times faster than building a tuple.
    base = len(thrown) + 1
    unit = [base ** (len(place) - 1 - k) for k in range(len(place))]
    grown = {0: 1}
    for one in thrown:
        steps = [(unit[place[face]], weight) for face, weight in one.items()]
        before, grown = grown, {}
        for counts, p in before.items():
            for e, w in steps:
                grown[counts + e] = grown.get(counts + e, 0) + p * w
    # Each die is a polynomial with coefficients w_k without a common divisor, and the pool is their
    # product, so by Gauss's lemma its weights have none either.
    ordered = sorted(grown, reverse=True)
    return make_dist(
        tuple(tuple(counts // e % base for e in unit) for counts in ordered),
        tuple(grown[counts] for counts in ordered),
        largest_defect(one.defect for one in thrown),
        ("pool", thrown, tuple(place)),
    )


def highest(count: int, *, of: Iterable[DistLike[Any]]) -> Dist[Any]:
    """Return the sum of the highest of some dice.

    Parameters
    ----------
    count : int
        How many dice count, from 0 to all of them.
    of : iterable of Dist
        The dice that are thrown, alike or not; their faces are numbers.

    Raises
    ------
    GameError
        `count` is something else, a face is not a number, or the dice make no `pool`.

    Examples
    --------
    >>> from mdpdice import d6, highest
    >>> highest(3, of=[d6] * 4).mean()
    Fraction(15869, 1296)
    """
    thrown = [with_numbers(one) for one in _listed(of)]
    lost = len(thrown) - checked_count(count, len(thrown), "highest(): the number of dice that count")
    together = pool(thrown)
    faces = together.source[2]
    return together.map(lambda counts: sum([*Multiset(dict(zip(faces, counts, strict=True))).elements()][lost:]))


def explode(one: DistLike[Any], *, at_most: int) -> Dist[Any]:
    """Return the sum of a die that is thrown once more whenever it shows its highest face.

    Parameters
    ----------
    one : Dist
        The die; its faces are numbers.
    at_most : int
        How often it is thrown once more, at most; from 0 to 100.

    Raises
    ------
    GameError
        `at_most` is something else, or a face is not a number.

    Examples
    --------
    >>> from mdpdice import d6, explode
    >>> explode(d6, at_most=1).mean()
    Fraction(49, 12)
    """
    total = rolled = with_numbers(one)
    top = max(rolled)
    then: dict[Any, DistLike[Any]] = {face: {face: 1} for face in rolled}
    for _ in range(checked_count(at_most, 100, "explode(): at_most")):
        then[top] = total + top
        total = rolled.bind(then.__getitem__)
    return total


def with_numbers(one: DistLike[Any]) -> Dist[Any]:
    """Return a die whose faces can be added up, as numbers of Python's own."""
    one = as_dist(one)
    for face in one:
        if not isinstance(face, Real | Decimal):
            msg = f"dice are added up by the numbers on their faces, and {face!r} is not a number; map the faces to"
            raise GameError(f"{msg} numbers first, as in die.map(lambda face: ...)", value=face)
    return one if all(map(is_own, one)) else one.map(lambda face: own_number(face, "face"))


def checked_count(count: object, most: int, what: str) -> int:
    """Return a whole number from 0 to `most`."""
    if (n := whole_number(count)) is None or not 0 <= n <= most:
        raise GameError(f"{what} is a whole number from 0 to {most}, not {count!r}", value=count, limit=most)
    return n


def _listed(dice: Iterable[DistLike[object]]) -> list[Dist[object]]:
    if isinstance(dice, Dist) or not isinstance(dice, Iterable):
        given = "one die" if isinstance(dice, Dist) else repr(dice)
        raise GameError(f"pool() needs a list of dice, not {given}; write pool([d6] * 6)", value=dice)
    return [as_dist(one) for one in dice]


def _places(dice: list[Dist[object]], faces: Iterable[object] | None) -> dict[Any, int]:
    """Return the position of every face in the count vectors."""
    shown: dict[Any, Any] = {}  # a face -> itself as first seen, to compare the types
    for one in dict.fromkeys(dice):
        for face in one.outcomes:
            if not same_kind(shown.setdefault(face, face), face):
                raise collision_error(shown[face], face, "faces")
    if faces is None:
        try:
            return {face: k for k, face in enumerate(sorted(shown))}
        except TypeError as error:
            raise GameError(f"the faces cannot be sorted ({error}); name them: pool(dice, faces=[...])") from error
    place: dict[Any, int] = {}
    for k, face in enumerate(faces):
        if place.setdefault(face, k) != k:
            raise GameError(f"the face {face!r} is named twice in faces; name each face once", value=face)
        if not same_kind(shown.get(face, face), face):
            raise collision_error(shown[face], face, "faces")
    for face in shown:
        if face not in place:
            raise GameError(f"a die shows the face {face!r}, which faces does not name; name all faces", value=face)
    return place
