r"""Exact finite distributions.

A distribution over the outcomes :math:`x_1, \ldots, x_k` is held as positive integers
:math:`w_1, \ldots, w_k` without a common divisor over one total :math:`W = \sum_i w_i`, so that
:math:`P(x_i) = w_i / W` is exact, sums to one, and every operation on distributions is a sum or a
product of integers:

* image: :math:`P(f(X) = y) = \sum_{x: f(x) = y} P(x)` (`Dist.map`),
* mixture: :math:`P(y) = \sum_i p_i P_i(y)` (`Dist.mix`), brought over the least common multiple of
  the totals; `Dist.bind` is the mixture of the distributions :math:`f(x)` with the weights of `x`,
* independent product: :math:`P(x, y) = P(x) P(y)` (`product`).

A float is a rational number too (a multiple of a power of two) and is kept exactly; nothing is
rounded before `Dist.probabilities` divides, once, to the nearest float64.

**Int weights are relative, float weights are probabilities.**  ``Dist({"a": 1, "b": 3})`` has the
probabilities 1/4 and 3/4.  As soon as one weight is a float, a `fractions.Fraction` or a
`decimal.Decimal`, all of them are probabilities and have to sum to one.  `k` of them that were
rounded to float64 may miss one by their rounding errors, at most :math:`8 k \, 2^{-53}`; such a
defect, and any up to :math:`10^{-9}` (decimals copied from a table), is divided out exactly.
The second kind is remembered in `Dist.defect`.  A larger one is a mistake in the model.

Outcomes keep the order of their first appearance, so a program that builds a distribution twice
gets the same numbering twice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Generic, NoReturn, Protocol, TypeAlias, TypeVar, final, overload

import numpy as np
import numpy.typing as npt

from mdpdice.errors import GameError
from mdpdice.html import bars
from mdpdice.memory import available_bytes
from mdpdice.modelling.arithmetic import Arithmetic
from mdpdice.modelling.equality import collision_error, same_kind
from mdpdice.modelling.weights import (
    ZERO,
    common_denominator,
    integer_weights,
    merge_outcomes,
    ratio_of_outcome,
    refuse_set,
    split_pairs,
)

__all__ = ["Dist", "DistLike", "Weight", "as_dist", "certainly", "product", "same_kind", "uniform"]

T = TypeVar("T")
U = TypeVar("U")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
T_co = TypeVar("T_co", covariant=True)

Weight: TypeAlias = "float | Fraction | Decimal | np.integer[Any] | np.floating[Any]"
"""What may stand as a weight: ints are relative, anything else is a probability."""

FEW = 1_000_000
"""Outcomes of a distribution that is made without asking whether they fit in memory."""
OUTCOME_BYTES = 100
"""Memory of an outcome and its weight, at least."""
_SHOWN = 12  # outcomes in a repr; more would flood a traceback
CHARTED = 40
"""Outcomes that a notebook shows."""
_set = object.__setattr__  # Dist is immutable, so its own __setattr__ refuses


class DistLike(Protocol[T_co]):
    """Anything that lists ``(outcome, weight)`` pairs: a `Dist`, a mapping, an icepool or dyce die."""

    def items(self) -> Iterable[tuple[T_co, Weight]]:
        """Pairs of outcome and weight."""
        ...


@final
class Dist(Arithmetic, Generic[T_co]):
    """An exact, immutable distribution over finitely many outcomes.

    Parameters
    ----------
    weights : mapping of outcome to weight, or iterable of (outcome, weight)
        Outcomes are hashable.  Weights that are all ints are relative; otherwise they are
        probabilities and sum to one (see the module's text).  Outcomes that come twice get the sum
        of their weights; those of weight zero are dropped.

    Attributes
    ----------
    outcomes : tuple
        Outcomes of positive probability, in the order of their first appearance.
    weights : tuple of int
        Their positive weights, without a common divisor.
    total : int
        The sum of the weights; ``weights[i] / total`` is the probability of ``outcomes[i]``.
    defect : Fraction
        Sum of the given probabilities minus one where that was more than rounding and was
        normalised away, otherwise 0.  A distribution made out of others has the largest of theirs.
    source : tuple
        What it was made of, so that the real dice can be shown where outcomes merge rolls:
        ``("map", dist, images)``, ``("given", dist)``, ``("bind", dist, dists)``, ``("product", dists)``,
        ``("pool", dice, faces)``, or empty.  It plays no part in equality.

    Raises
    ------
    EmptySupportError
        No weight is positive.
    ProbabilityRangeError
        A weight is negative, NaN or infinite.
    ProbabilitySumError
        Probabilities sum to something other than one.
    StateCollisionError
        Two outcomes are equal in Python but of different types, like ``1`` and ``True``.
    NonDeterministicGameError
        The pairs come from a set, whose order may differ from run to run.
    GameError
        An outcome is not hashable, or a weight is not a number.

    Notes
    -----
    Two distributions are equal when they give the same probabilities to the same outcomes (of the
    same types), in whatever order; the hash agrees with that.

    Examples
    --------
    >>> from mdpdice.modelling.distribution import Dist
    >>> coin = Dist({"heads": 1, "tails": 3})
    >>> coin.prob("heads")
    Fraction(1, 4)
    >>> coin.map(lambda side: 10 if side == "tails" else 0).mean()
    Fraction(15, 2)
    >>> Dist({"a": 0.5, "b": 0.25, "c": 0.25}).items()
    (('a', 2), ('b', 1), ('c', 1))

    Dice whose faces are numbers are added up with ``+`` and ``-``; ``3 @ die`` is the sum of three of them.

    >>> from mdpdice.modelling.dice import d6
    >>> (d6 + d6).prob(7), (3 @ d6).prob(18), (d6 - 1).mean()
    (Fraction(1, 6), Fraction(1, 216), Fraction(5, 2))
    """

    __slots__ = ("_hash", "_index", "_probabilities", "defect", "outcomes", "source", "total", "weights")

    outcomes: tuple[T_co, ...]
    weights: tuple[int, ...]
    total: int
    defect: Fraction
    source: tuple[Any, ...]
    _index: dict[Any, int] | None
    _hash: int | None
    _probabilities: npt.NDArray[np.float64] | None

    @overload
    def __init__(self, weights: Mapping[T_co, Weight]) -> None: ...
    @overload
    def __init__(self, weights: DistLike[T_co]) -> None: ...
    @overload
    def __init__(self, weights: Iterable[tuple[T_co, Weight]]) -> None: ...

    def __init__(self, weights: Any) -> None:
        outcomes, given = split_pairs(weights)
        integers, defect = integer_weights(given, outcomes)
        _fill(self, *merge_outcomes(outcomes, integers), defect)

    def items(self) -> tuple[tuple[T_co, int], ...]:
        """Pairs of outcome and integer weight, in order."""
        return tuple(zip(self.outcomes, self.weights, strict=True))

    def prob(self, outcome: object) -> Fraction:
        """Return the exact probability of one outcome, 0 if it cannot happen.

        Raises
        ------
        StateCollisionError
            An outcome is equal to this one in Python but of another type.
        """
        at = self._places().get(outcome)
        if at is None:
            return Fraction(0)
        if not same_kind(self.outcomes[at], outcome):
            raise collision_error(self.outcomes[at], outcome, "outcomes")
        return Fraction(self.weights[at], self.total)

    def map(self, f: Callable[[T_co], U]) -> Dist[U]:
        """Return the distribution of ``f(outcome)``; outcomes with one image are merged."""
        # The images are kept, not the function: a variable that it uses may have another value later.
        images = [f(x) for x in self.outcomes]
        return make_dist(*merge_outcomes(images, self.weights), self.defect, ("map", self, images))

    def bind(self, f: Callable[[T_co], DistLike[U]]) -> Dist[U]:
        """Return the distribution of a second draw, from ``f(outcome)``.

        Parameters
        ----------
        f : callable
            Gives for every outcome the distribution to draw from next.

        Raises
        ------
        GameError
            `f` returned something that is not a distribution.
        """
        parts = [as_dist(f(x)) for x in self.outcomes]
        return _mixture(parts, self.weights, self.defect, ("bind", self, parts))

    def given(self, f: Callable[[T_co], object]) -> Dist[T_co]:
        """Return the distribution of the outcomes for which `f` holds: of dice that are thrown until it does.

        Raises
        ------
        EmptySupportError
            It holds for no outcome.

        Examples
        --------
        >>> from mdpdice.modelling.dice import d6
        >>> d6.given(lambda k: k > 1)
        Dist({2: 1, 3: 1, 4: 1, 5: 1, 6: 1})
        """
        weights = [weight if f(outcome) else 0 for outcome, weight in self.items()]
        return make_dist(*merge_outcomes(self.outcomes, weights), self.defect, ("given", self))

    @staticmethod
    def mix(parts: Mapping[Dist[U], Weight] | DistLike[DistLike[U]] | Iterable[tuple[DistLike[U], Weight]]) -> Dist[U]:
        """Return the mixture of several distributions.

        Parameters
        ----------
        parts : mapping of distribution to weight, or iterable of (distribution, weight)
            The weights follow the rule of `Dist`: all ints are relative, otherwise they are
            probabilities.

        Examples
        --------
        >>> from mdpdice.modelling.distribution import Dist, certainly, uniform
        >>> Dist.mix([(uniform([1, 2]), 1), (certainly(2), 3)]).items()
        ((1, 1), (2, 7))
        """
        dists, given = split_pairs(parts)
        integers, defect = integer_weights(given, dists)
        return _mixture([as_dist(dist) for dist in dists], integers, defect)

    def mean(self, f: Callable[[T_co], Any] | None = None) -> Fraction:
        """Return the exact expectation of the outcome, or of ``f(outcome)``.

        Parameters
        ----------
        f : callable, optional
            Turns an outcome into a number; floats count as the rationals that they are.

        Raises
        ------
        GameError
            An outcome, or its image, is not a finite number.
        """
        values = self.outcomes if f is None else [f(x) for x in self.outcomes]
        numerators, denominator = common_denominator([ratio_of_outcome(value) for value in values])
        return Fraction(sum(w * n for w, n in zip(self.weights, numerators, strict=True)), self.total * denominator)

    def probabilities(self) -> npt.NDArray[np.float64]:
        """Return the probabilities as a read-only array, shape (len(self),), dtype float64.

        Each is the float64 nearest to the exact quotient, however large the integers are (Python
        divides ints with one rounding); one below 2^-1075 becomes 0.
        """
        if self._probabilities is None:
            total = self.total
            array = np.array([w / total for w in self.weights], dtype=np.float64)
            array.flags.writeable = False
            _set(self, "_probabilities", array)
            return array
        return self._probabilities

    def __len__(self) -> int:
        return len(self.outcomes)

    def __iter__(self) -> Iterator[T_co]:
        return iter(self.outcomes)

    def __contains__(self, outcome: object) -> bool:
        at = self._places().get(outcome)
        return at is not None and same_kind(self.outcomes[at], outcome)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dist):
            return NotImplemented
        if self is other:
            return True
        if self.total != other.total:  # with equal totals, equal weights here leave none over there
            return False
        places = other._places()
        for outcome, weight in zip(self.outcomes, self.weights, strict=True):
            at = places.get(outcome)
            if at is None or other.weights[at] != weight or not same_kind(other.outcomes[at], outcome):
                return False
        return True

    def __hash__(self) -> int:
        if self._hash is None:
            _set(self, "_hash", hash(frozenset(zip(self.outcomes, self.weights, strict=True))))
        return self._hash  # type: ignore[return-value]

    def __repr__(self) -> str:
        shown = [f"{outcome!r}: {weight}" for outcome, weight in self.items()[:_SHOWN]]
        if len(self) > _SHOWN:
            shown.append(f"... {len(self)} outcomes, total {self.total}")
        return f"Dist({{{', '.join(shown)}}})"

    def _repr_html_(self) -> str:
        shown = [(outcome, weight / self.total) for outcome, weight in self.items()[:CHARTED]]
        return bars(f"Dist of {len(self):,} outcomes", shown, len(self) - CHARTED)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Dist is immutable; make a new one instead of setting {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Dist is immutable; make a new one instead of deleting {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return make_dist, (self.outcomes, self.weights, self.defect)

    def _places(self) -> dict[Any, int]:
        if self._index is None:
            _set(self, "_index", {outcome: at for at, outcome in enumerate(self.outcomes)})
        return self._index  # type: ignore[return-value]


def uniform(outcomes: Iterable[T]) -> Dist[T]:
    """Return the distribution that draws each item with equal chance.

    Parameters
    ----------
    outcomes : iterable
        The items; one that comes twice is twice as likely.

    Raises
    ------
    EmptySupportError
        There is no item.
    NonDeterministicGameError
        The items come from a set.
    GameError
        `outcomes` cannot be iterated over, or an item is not hashable.

    Examples
    --------
    >>> from mdpdice.modelling.distribution import uniform
    >>> uniform("abca")
    Dist({'a': 2, 'b': 1, 'c': 1})
    """
    refuse_set(outcomes)
    try:
        items = list(outcomes)
    except TypeError as error:
        msg = f"uniform() needs an iterable of outcomes, not {outcomes!r}; write uniform([...]), or die(n) for 1 to n"
        raise GameError(msg, value=outcomes) from error
    return make_dist(*merge_outcomes(items, [1] * len(items)))


def certainly(outcome: T) -> Dist[T]:
    """Return the distribution that has this one outcome with probability one.

    Parameters
    ----------
    outcome : hashable
        What is certain.
    """
    return make_dist(*merge_outcomes([outcome], [1]))


@overload
def product() -> Dist[tuple[()]]: ...
@overload
def product(a: DistLike[A], /) -> Dist[tuple[A]]: ...
@overload
def product(a: DistLike[A], b: DistLike[B], /) -> Dist[tuple[A, B]]: ...
@overload
def product(a: DistLike[A], b: DistLike[B], c: DistLike[C], /) -> Dist[tuple[A, B, C]]: ...
@overload
def product(a: DistLike[A], b: DistLike[B], c: DistLike[C], d: DistLike[D], /) -> Dist[tuple[A, B, C, D]]: ...
@overload
def product(*dists: DistLike[T]) -> Dist[tuple[T, ...]]: ...


def product(*dists: Any) -> Dist[Any]:
    """Return the joint distribution of independent draws, over tuples in the order given.

    The number of outcomes is the product of the numbers of outcomes; when the order of the dice
    does not matter, `mdpdice.modelling.dice.pool` has far fewer.

    Parameters
    ----------
    *dists : Dist
        What is drawn; dice of icepool and dyce are accepted.  Of none, the empty tuple is certain.

    Raises
    ------
    GameError
        There are more outcomes than fit in memory.

    Examples
    --------
    >>> from mdpdice.modelling.distribution import product, uniform
    >>> product(uniform("ab"), uniform([1, 2])).outcomes
    (('a', 1), ('a', 2), ('b', 1), ('b', 2))
    """
    factors = [as_dist(dist) for dist in dists]
    count = math.prod(len(factor.outcomes) for factor in factors)
    remedy = "use pool(dice), which has far fewer where the order does not matter, or roll one after the other"
    refuse_vast(count, 8 * len(factors), "product()", remedy)
    # Tuples of different outcomes differ, and the greatest common divisor of all products is the
    # product of the greatest common divisors, which are 1: nothing to merge, nothing to reduce.
    return make_dist(
        tuple(itertools.product(*(factor.outcomes for factor in factors))),
        tuple(math.prod(weights) for weights in itertools.product(*(factor.weights for factor in factors))),
        largest_defect(factor.defect for factor in factors),
        ("product", factors),
    )


def as_dist(dist: DistLike[T]) -> Dist[T]:
    """Return a mapping of outcome to weight, icepool.Die or dyce.H as a `Dist`, by the rules of `Dist`."""
    if isinstance(dist, Dist):
        return dist
    # A class passes hasattr too (`Dist` for `Dist(...)`), but its items cannot be read.
    if isinstance(dist, type) or not callable(getattr(dist, "items", None)):
        how = "write Dist({outcome: weight}), uniform([...]), die(n) or certainly(x), or give an icepool or dyce die"
        raise GameError(f"expected a distribution, got {dist!r}; {how}", value=dist)
    return Dist(dist)


def _mixture(dists: list[Dist[U]], weights: Iterable[int], defect: Fraction, source: tuple[Any, ...] = ()) -> Dist[U]:
    """Mix distributions with integer weights over the least common multiple of their totals."""
    denominator = math.lcm(*(dist.total for dist in dists))
    outcomes: list[U] = []
    integers: list[int] = []
    for dist, weight in zip(dists, weights, strict=True):
        factor = weight * (denominator // dist.total)
        outcomes.extend(dist.outcomes)
        integers.extend([factor * w for w in dist.weights])
    worst = largest_defect(itertools.chain([defect], (dist.defect for dist in dists)))
    return make_dist(*merge_outcomes(outcomes, integers), worst, source)


def refuse_vast(count: int, size: int, name: str, remedy: str) -> None:
    """Reject a distribution of `count` outcomes of `size` bytes each where that cannot fit in memory."""
    # Where there is plenty of memory time is what runs out; and asking for it takes longer than making a small one.
    if count > FEW and count * (OUTCOME_BYTES + size) > available_bytes():
        raise GameError(f"{name} would have {number_of(count)} outcomes, too many for memory; {remedy}", value=count)


def number_of(count: int) -> str:
    """Write a number of things in digits, or roughly where there are very many."""
    return f"{count:,}" if count < 10**15 else f"about 10^{int(math.log10(count))}"


def make_dist(
    outcomes: tuple[T, ...], weights: tuple[int, ...], defect: Fraction | None = None, source: tuple[Any, ...] = ()
) -> Dist[T]:
    """Make a `Dist` of distinct outcomes and positive weights without a common divisor, unchecked."""
    dist: Dist[T] = Dist.__new__(Dist)
    _fill(dist, outcomes, weights, ZERO if defect is None else defect, source)
    return dist


def _fill(
    dist: Dist[Any], outcomes: tuple[Any, ...], weights: tuple[int, ...], defect: Fraction, source: tuple[Any, ...] = ()
) -> None:
    _set(dist, "outcomes", outcomes)
    _set(dist, "weights", weights)
    _set(dist, "total", sum(weights))
    _set(dist, "defect", defect)
    _set(dist, "source", source)
    _set(dist, "_index", None)
    _set(dist, "_hash", None)
    _set(dist, "_probabilities", None)


def largest_defect(defects: Iterable[Fraction]) -> Fraction:
    """Return the defect that is farthest from zero."""
    worst = ZERO
    for defect in defects:
        # Almost always all are the same zero: an identity test is far cheaper than comparing fractions.
        if defect is not worst and abs(defect) > abs(worst):
            worst = defect
    return worst
