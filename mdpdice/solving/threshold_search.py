"""Questions that are answered by a search of thresholds: which ones exist, and what each of them is worth."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs

from mdpdice.answers.answer import Status
from mdpdice.answers.solution import Solution
from mdpdice.backend import Run
from mdpdice.errors import NotConvergedError, PluginError, SolveInterrupted, UnsupportedError
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Kind
from mdpdice.objectives.risk import CVaR, Searched, Worth
from mdpdice.solving.interruption import Interrupts
from mdpdice.solving.problem import explored


@attrs.frozen
class SearchOfThresholds:
    """Each threshold is solved by a `plan`; chances too close to `p` exactly, up to so many nodes and seconds each."""

    game: Any
    objective: Searched
    max_states: int
    plan: Callable[..., Any]
    nodes: int
    seconds: float

    def solve(self, run: Run, epsilon: float, interrupts: Interrupts) -> Solution:
        """Search the thresholds; the answer is the solution of the best, with an interval that holds for all."""
        started, objective = time.perf_counter(), self.objective
        model, points = self._thresholds(run)
        reason, asked = "", 0

        @functools.lru_cache(4)  # the best is often among the last
        def solved(threshold: Fraction) -> Solution:
            return self.plan(model, objective.at(threshold)).solve(run, epsilon / 4, interrupts)  # type: ignore[no-any-return]

        def ask(threshold: Fraction) -> Worth:
            nonlocal reason, asked
            found, asked = solved(threshold), asked + 1
            worth = _worth(found, threshold)
            close = objective.p is not None and worth.lower < objective.p <= worth.upper
            if close and found.lattice is None and found.network.n_nodes <= self.nodes:
                late = min(time.monotonic() + self.seconds, math.inf if run.deadline is None else run.deadline)
                way, brief = self.plan(model, objective.at(threshold), solver="exact"), attrs.evolve(run, deadline=late)
                try:
                    return _worth(way.solve(brief, epsilon, interrupts), threshold)
                except (SolveInterrupted, UnsupportedError, PluginError):
                    run.check()
            reason = reason if found.proved else f"at the threshold {threshold}: {found.reason}"
            return worth

        try:
            value, low, high, threshold = objective.search(points, ask, epsilon)
            best = solved(threshold)
        except (SolveInterrupted, NotConvergedError) as error:
            error.partial = None  # which answers for one threshold
            raise
        lower, upper = float(low), float(high)
        lower = math.nextafter(lower, -math.inf) if lower > low else lower
        upper = math.nextafter(upper, math.inf) if upper < high else upper
        width = (upper - lower) / max(1.0, abs(float(value)))
        if not reason and not width <= epsilon:
            reason = f"between {lower:.12g} and {upper:.12g} the intervals of thresholds do not tell"
        proved = best.status if low == high else Status.CERTIFIED
        told = {"threshold": threshold, "asked": asked, "of_states": str(objective.at(threshold))}
        spent = time.perf_counter() - started
        made = attrs.evolve(best.provenance, objective=str(objective), seconds=spent, details={**best.details, **told})
        found = attrs.evolve(best, provenance=made, width=width, reason=reason, at_start=(value, lower, upper))
        return attrs.evolve(found, status=Status.UNCERTIFIED if reason else proved)

    def _thresholds(self, run: Run) -> tuple[Any, set[Fraction]]:
        """Return what is solved for every threshold, and the thresholds: all totals that are possible."""
        points: set[Fraction] = set()
        listening = self.objective.listening(points)
        way = self.plan(self.game, listening)
        lattice = way.layers.lattice if hasattr(way, "layers") else None
        if isinstance(self.objective, CVaR) and ((lattice or way.problem.network).kind == Kind.MIN).any():
            msg = "CVaR knows one player; with two use Utility or Quantile, or fix one of them by a policy"
            raise UnsupportedError(msg, value=self.objective)
        if lattice is not None or not isinstance(self.game, Game):
            return self.game, points
        return explored(self.game, listening, self.max_states, run, None), points


def _worth(solution: Solution, threshold: Fraction) -> Worth:
    """Return what is known of the start."""
    found: Any = (solution.exact(),) * 3 if solution.status is Status.EXACT else ()
    found = found or (solution.estimate(), solution.lower(), solution.upper())
    value, lower, upper = (Fraction(one) if math.isfinite(one) else one for one in found)
    return Worth(value, lower, upper, threshold)
