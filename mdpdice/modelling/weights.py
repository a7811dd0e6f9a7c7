"""Reading weights: pairs of outcome and weight, turned into distinct outcomes and integers.

These functions work on parallel lists of outcomes and weights, because `mdpdice.modelling.distribution.Dist.map`,
`mdpdice.modelling.distribution.Dist.bind` and `mdpdice.modelling.game.roll` run once for every state of a game.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from mdpdice import errors
from mdpdice.modelling.equality import collision_error, same_kind
from mdpdice.modelling.number import own_number

T = TypeVar("T")

SUM_TOLERANCE = Fraction(1, 10**9)
"""Largest distance of a sum of probabilities from one that is normalised away."""

_REMEDY = "int weights are relative, float weights are probabilities"


def split_pairs(weights: Any) -> tuple[list[Any], list[Any]]:
    """Take a mapping or pairs apart into outcomes and weights."""
    if type(weights) is dict:
        return list(weights), list(weights.values())
    refuse_set(weights)
    outcomes: list[Any] = []
    given: list[Any] = []
    try:
        for outcome, weight in weights.items() if hasattr(weights, "items") else weights:
            outcomes.append(outcome)
            given.append(weight)
    except (TypeError, ValueError) as error:
        how = "write Dist({outcome: weight, ...}), Dist([(outcome, weight), ...]) or, for equal chances, uniform([...])"
        msg = f"cannot read pairs of outcome and weight from {weights!r} ({error}); {how}"
        raise errors.GameError(msg, value=weights) from error
    return outcomes, given


def refuse_set(outcomes: object) -> None:
    """Refuse what has no order of its own."""
    if isinstance(outcomes, set | frozenset):
        msg = "the order of a set may differ from run to run; give a list of the outcomes, for instance sorted(...)"
        raise errors.NonDeterministicGameError(msg, value=outcomes)


def integer_weights(given: list[Any], outcomes: list[Any]) -> tuple[list[int], Fraction]:
    """Turn weights into non-negative integers over their sum; also return the defect."""
    integers, one = given, 0  # what probabilities have to sum to; 0 where the weights are relative
    if not set(map(type, given)) <= _INT:
        integers, denominator = common_denominator(list(map(_ratio_of_weight, given, outcomes)))
        if not all(isinstance(weight, int | np.integer) for weight in given):
            one = denominator
    if integers and min(integers) < 0:
        at = next(at for at, n in enumerate(integers) if n < 0)
        raise _range_error(given[at], outcomes[at])
    if not (total := sum(integers)):
        raise _empty_error()
    # Rounding to float64 moves a number in [0, 1] by 2^-54 at most; the factor 8 is room for a sum, a
    # division or a product on the way to it.  Compared in integers: most sums are exact.
    if not one or abs(total - one) << 53 <= 8 * len(given) * one:
        return integers, ZERO
    defect = Fraction(total - one, one)
    if abs(defect) > SUM_TOLERANCE:
        try:
            value = float(defect + 1)
        except OverflowError:
            value = math.inf
        msg = f"the probabilities sum to {value!r} instead of 1; {_REMEDY}"
        msg += ": write ints for odds like 1 : 3, or divide by the sum"
        raise errors.ProbabilitySumError(msg, value=value, limit=float(SUM_TOLERANCE))
    return integers, defect


def merge_outcomes(outcomes: Iterable[T], weights: Iterable[int]) -> tuple[tuple[T, ...], tuple[int, ...]]:
    """Add up the weights of equal outcomes, drop zeros and divide by the common divisor."""
    index: dict[T, int] = {}
    kept: list[T] = []
    sums: list[int] = []
    for outcome, weight in zip(outcomes, weights, strict=True):
        if not weight:
            continue
        new = len(kept)
        try:
            at = index.setdefault(outcome, new)
        except TypeError as error:
            how = "use a tuple instead of a list, a frozenset instead of a set, or an attrs-frozen class"
            raise errors.GameError(f"outcome {outcome!r} is not hashable ({error}); {how}", value=outcome) from error
        if at == new:
            kept.append(outcome)
            sums.append(weight)
        else:
            if not same_kind(kept[at], outcome):
                raise collision_error(kept[at], outcome, "outcomes")
            sums[at] += weight
    if not kept:
        raise _empty_error()
    divisor = math.gcd(*sums)
    return tuple(kept), tuple(sums) if divisor == 1 else tuple(w // divisor for w in sums)


def common_denominator(ratios: list[tuple[int, int]]) -> tuple[list[int], int]:
    """Bring fractions over one denominator."""
    denominator = math.lcm(*(d for _, d in ratios))
    return [n * (denominator // d) for n, d in ratios], denominator


def _ratio_of_weight(weight: Any, outcome: Any) -> tuple[int, int]:
    """Return a weight as numerator and denominator, exactly."""
    try:
        number = own_number(None if isinstance(weight, bool | np.bool_) else weight, "weight")
    except errors.GameError as error:
        msg = f"the weight {weight!r} of the outcome {outcome!r} is not a number; weights are int, float or Fraction"
        raise errors.GameError(f"{msg} ({_REMEDY}), and a bool is written int(flag)", value=weight) from error
    try:
        return number.as_integer_ratio()
    except (OverflowError, ValueError) as error:
        raise _range_error(weight, outcome) from error


def ratio_of_outcome(value: Any) -> tuple[int, int]:
    """Return an outcome as numerator and denominator, exactly; bools are 0 and 1."""
    try:
        number = own_number(None if isinstance(value, str) else value, "outcome")
    except errors.GameError as error:
        msg = f"the mean needs numbers, not {value!r}; give mean() a function that makes them numbers"
        raise errors.GameError(msg, value=value) from error
    try:
        return number.as_integer_ratio()
    except (OverflowError, ValueError) as error:
        raise errors.GameError(f"the mean needs finite numbers, not {value!r}", value=value) from error


_INT = frozenset({int})
ZERO = Fraction(0)


def _empty_error() -> errors.EmptySupportError:
    return errors.EmptySupportError("a distribution needs an outcome of positive weight; leave the draw out")


def _range_error(weight: Any, outcome: Any) -> errors.ProbabilityRangeError:
    msg = f"the weight {weight!r} of the outcome {outcome!r} is negative or not finite; weights are 0 or more"
    return errors.ProbabilityRangeError(f"{msg} ({_REMEDY})", value=weight)
