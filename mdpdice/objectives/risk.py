r"""The worst share of the totals, and the totals that are reached with a probability: a search of thresholds.

The mean of the worst share is the largest :math:`\mathrm{E}[t - (t - X)^+ / \alpha]` over all thresholds `t`: R. T.
Rockafellar, S. Uryasev, "Optimization of conditional value-at-risk", Journal of Risk 2 (2000), 21-41.
"""

from __future__ import annotations

import abc
import functools
import heapq
import math
from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple, Self

import attrs

from mdpdice.errors import GameError, UnsupportedError
from mdpdice.modelling.number import own_number
from mdpdice.modelling.ranges import number_text
from mdpdice.modelling.sense import Sense, changed
from mdpdice.objectives.objective import OfPayoff, PayoffAtLeast, PayoffAtMost, optional_sense


class Worth(NamedTuple):
    """A value and its interval, fractions where they are finite, and the threshold."""

    value: Any
    lower: Any
    upper: Any
    threshold: Fraction


def _share(value: Any) -> Fraction:
    share = own_number(value, "share")
    if not 0 < share <= 1:  # written so that NaN is refused
        raise GameError(f"the share {value!r} is not in (0, 1]; write 0.5 or Fraction(1, 2), say", value=value)
    return Fraction(share)


class Searched(OfPayoff):
    """An objective that is found by a search of thresholds, each of which is an objective of its own."""

    threshold: Fraction | None = None
    p: Fraction | None = None  # what the worth of a threshold is compared with
    _payoffs: set[Fraction] | None = None

    @abc.abstractmethod
    def at(self, threshold: Any) -> OfPayoff:
        """Return what is asked about one threshold."""

    @abc.abstractmethod
    def search(self, points: set[Fraction], ask: Callable[[Fraction], Worth], epsilon: float) -> Worth:
        """Search the thresholds; `ask` gives what one of them is worth."""

    @property
    def searched(self) -> bool:
        """Whether thresholds have to be searched."""
        return self._payoffs is None and self.threshold is None

    def listening(self, payoffs: set[Fraction]) -> Self:
        """Return the same objective, to be lowered only, which writes down the payoffs that it is asked about."""
        return changed(self, _payoffs=payoffs, sense="max")

    def worth(self, payoff: Fraction) -> Fraction:
        """Write the payoff down."""
        if self._payoffs is None:
            msg = f"{self} is found by solve() alone; others take .at(threshold), with the threshold in its details"
            raise UnsupportedError(msg, value=self)
        self._payoffs.add(payoff)
        return payoff


@attrs.frozen(slots=False)
class CVaR(Searched):
    """Mean of the worst share of the totals, of one player; for `alpha` = 1 the expected total.

    The policy is the best one for the threshold in the `details` of the answer; so are values, if a state is given.

    Parameters
    ----------
    alpha : number
        The share, in (0, 1]: 0.1 is the mean of the worst tenth.
    sense : {"max", "min"}, optional
        What the player wants, by default what the game says; with ``"min"`` the worst totals are the large ones.
    threshold : number, optional
        Only this number less what the total falls short of it (``"min"``: plus what it exceeds it), divided by `alpha`.
    """

    alpha: Fraction = attrs.field(converter=_share, repr=number_text)
    sense: Sense | None = attrs.field(default=None, converter=optional_sense)
    threshold: Fraction | None = attrs.field(default=None, converter=attrs.converters.optional(Fraction))

    def __str__(self) -> str:
        where = "" if self.threshold is None else f" at {number_text(self.threshold)}"
        return f"cvar:{number_text(self.alpha)}{where}"

    def at(self, threshold: Any) -> CVaR:
        """Return the same objective with a threshold."""
        return attrs.evolve(self, threshold=own_number(threshold, "threshold"))

    def worth(self, payoff: Fraction) -> Fraction:
        """Return what a payoff is worth for the threshold."""
        if self.threshold is None:
            return super().worth(payoff)
        if self.sense == "min":
            return self.threshold + max(payoff - self.threshold, Fraction(0)) / self.alpha
        return self.threshold - max(self.threshold - payoff, Fraction(0)) / self.alpha

    def search(self, points: set[Fraction], ask: Callable[[Fraction], Worth], epsilon: float) -> Worth:
        """Branch and bound: the threshold that promises most comes next, until none promises more than is known."""
        sign = -1 if self.sense == "min" else 1
        at, slope = sorted(sign * point for point in points), 1 / self.alpha - 1
        known: dict[int, tuple[Any, Any, Worth]] = {}
        gaps: list[tuple[Any, int, int, int]] = []
        todo, new = {0, len(at) - 1}, [(0, len(at) - 1)]
        while True:
            for i in todo:
                found = ask(sign * at[i])
                known[i] = (*sorted((sign * found.lower, sign * found.upper)), found)
                if math.isinf(found.upper):
                    return found
            for i, j in new:
                if j - i > 1:
                    heapq.heappush(gaps, _promise(at, known, slope, i, j))
            low, _, best = max(known.values(), key=lambda each: each[0])
            loose = any(lower < upper for lower, upper, _ in known.values())
            slack = Fraction(epsilon) / 2 * max(1, abs(best.value)) if loose else 0
            if not gaps or -gaps[0][0] <= low + slack:
                break
            _, i, k, j = heapq.heappop(gaps)
            todo, new = {k}, [(i, k), (k, j)]
        most = max([each[1] for each in known.values()] + [-gap[0] for gap in gaps[:1]])
        lower, upper = sorted((sign * low, sign * most))
        return Worth(best.value, lower, upper, best.threshold)


def _promise(at: list[Fraction], known: Any, slope: Fraction, i: int, j: int) -> tuple[Fraction, int, int, int]:
    """Minus the most that a threshold between two known ones may be worth, and which one: slopes are bounded."""
    left, right = known[i][1] - at[i], known[j][1] + at[j] * slope
    crossing = bisect_left(at, (right - left) / (1 + slope), i + 1, j)
    inner = (k for k in (crossing - 1, crossing) if i < k < j)
    bound, k = max((min(left + at[k], right - at[k] * slope), k) for k in inner)
    return -bound, i, k, j


@attrs.frozen(slots=False)
class Quantile(Searched):
    """Largest total that can be reached or passed with a probability.

    The policy makes the chance of that total large; values are this chance, if a state is given.

    Parameters
    ----------
    p : number
        The probability, in (0, 1]; 0.5 asks for the best median.
    sense : {"max", "min"}, optional
        What the player to move wants, by default what the game says; with ``"min"`` the answer is the smallest
        total that need not be passed with this probability.
    """

    p: Fraction = attrs.field(converter=_share, repr=number_text)
    sense: Sense | None = attrs.field(default=None, converter=optional_sense)

    def __str__(self) -> str:
        return f"quantile:{number_text(self.p)}"

    def at(self, threshold: Any) -> PayoffAtLeast | PayoffAtMost:
        """Return the chance of at least a threshold, or with ``sense="min"`` of at most that."""
        return (PayoffAtMost if self.sense == "min" else PayoffAtLeast)(threshold, "max")

    def search(self, points: set[Fraction], ask: Callable[[Fraction], Worth], epsilon: float) -> Worth:
        """Bisection, for the lower and the upper ends of the chances."""
        at = sorted(points, reverse=self.sense == "min")
        ask = functools.cache(ask)
        # Every total comes to the first threshold, and its chance is not asked for.
        later = range(1, len(at))
        surely = at[bisect_left(later, True, key=lambda i: ask(at[i]).lower < self.p)]
        maybe = at[bisect_left(later, True, key=lambda i: ask(at[i]).upper < self.p)]
        return Worth(surely, min(surely, maybe), max(surely, maybe), surely)
