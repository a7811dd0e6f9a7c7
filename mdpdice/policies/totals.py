"""Distributions of totals: what a play is worth in the end, and how likely that is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import attrs
import numpy as np

from mdpdice.errors import GameError
from mdpdice.html import bars, card
from mdpdice.modelling.number import own_number
from mdpdice.networks.network import Floats

BARS = 30
"""Bars of the chart in a notebook."""


@attrs.frozen(eq=False, repr=False)
class Outcomes:
    """A distribution of totals.

    Parameters
    ----------
    totals : ndarray of float64
        The totals that can come up, in increasing order; infinite where a play
        collects or pays without end.
    chances : ndarray of float64
        Their probabilities.
    missing : float
        Mass of the plays that were not followed to their end.
    exact : mapping of Fraction to Fraction, optional
        The same in rational numbers, if asked for.
    """

    totals: Floats
    chances: Floats
    missing: float = 0.0
    exact: Mapping[Fraction, Fraction] | None = None

    @property
    def mean(self) -> float:
        """Expected total, of the plays that were followed to their end.

        NaN if it is infinite both ways, or if no play was followed to its end.
        """
        if np.isinf(self.totals).sum() == 2 or not self._mass:
            return math.nan
        return math.fsum((self.chances * self.totals).tolist()) / self._mass

    @property
    def variance(self) -> float:
        """Variance of the total."""
        if not (np.isfinite(self.totals).all() and self._mass):
            return math.nan
        return math.fsum((self.chances * (self.totals - self.mean) ** 2).tolist()) / self._mass

    @property
    def sd(self) -> float:
        """Standard deviation of the total."""
        return math.sqrt(self.variance)

    def prob(self, total: float) -> float:
        """Probability of exactly this total; ``prob(0)`` is the chance of a bust where a bust pays nothing."""
        return float(self.chances[self.totals == total].sum())

    def cdf(self, total: float) -> float:
        """Probability of at most this total; `missing` may come on top."""
        return float(self.chances[self.totals <= total].sum())

    def at_least(self, total: float) -> float:
        """Probability of at least this total; `missing` may come on top."""
        return float(self.chances[self.totals >= total].sum())

    def quantile(self, level: float) -> float:
        """Smallest total whose `cdf` is at least `level`.

        Parameters
        ----------
        level : float
            In (0, 1]; ``quantile(0.5)`` is the median.

        Raises
        ------
        GameError
            The level is out of its range, or lies in the mass that is missing.
        """
        level = float(own_number(level, "level"))
        if not 0 < level <= 1:
            raise GameError(f"a quantile is asked for at a level in (0, 1], not {level!r}", value=level)
        mass = np.cumsum(self.chances)
        # Rounding in the sum must not push the last total out of reach.
        at = int(np.searchsorted(mass, level - 1e-12))
        if at == len(mass) or level > mass[-1] + 1e-12 + (self.missing == 0) * 1e-9:
            msg = f"this quantile lies in the mass {self.missing:.3g} that is missing; ask for a smaller `missing`"
            raise GameError(msg, value=level, limit=float(mass[-1]) if len(mass) else 0.0)
        return float(self.totals[at])

    @property
    def _mass(self) -> float:
        return math.fsum(self.chances.tolist())

    def __len__(self) -> int:
        return len(self.totals)

    def _repr_html_(self) -> str:
        finite = np.isfinite(self.totals)
        totals, chances = self.totals[finite], self.chances[finite]
        shown: list[tuple[object, float]] = [(f"{x:.6g}", c) for x, c in zip(totals.tolist(), chances, strict=True)]
        if len(totals) > BARS:
            sums, edges = np.histogram(totals, BARS, weights=chances)
            shown = [(f"{low:.4g} to {high:.4g}", c) for low, high, c in zip(edges, edges[1:], sums, strict=False)]
        rows = [("mean", f"{self.mean:.10g}"), ("sd", f"{self.sd:.6g}"), ("missing", self.missing or None)]
        return card("Outcomes", rows) + bars("chance of a total", shown)

    def __repr__(self) -> str:
        lost = f", missing {self.missing:.2g}" if self.missing else ""
        return f"<Outcomes: {len(self):,} totals, mean {self.mean:.10g}, sd {self.sd:.6g}{lost}>"
