"""Depth-limited expectimax with pruning at chance nodes and a transposition table.

The page "How the solvers work" of the reference (``docs/reference/methods.rst``) has the problem, the method, what it
guarantees, and the literature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable
from typing import Any, Literal, NamedTuple, TypeAlias

from mdpdice.errors import CycleError, GameError
from mdpdice.solvers.lookahead.expansion import CHANCE, END, MIN, Expansions, Position, Row

ESTIMATE, LOW, HIGH = range(3)
_TOGGLED = (ESTIMATE, HIGH, LOW)

Pruning: TypeAlias = Literal["none", "star1", "star2"]

_CHECK_EVERY = 1 << 10  # visits between two checks of the time
_ROUNDING = 1e-9


class _Known(NamedTuple):
    """Bounds of a value, equal where it is known, and whether they rest on no estimate."""

    low: float
    high: float
    firm: bool


# What a visit asks for: state, depth left, which value, window, options to look at (None: all).
_Request: TypeAlias = tuple[Hashable, int, int, float, float, bool]
_Answer: TypeAlias = tuple[float, bool]
_Visit: TypeAlias = Generator[_Request, _Answer, _Answer]
# Coefficient, state and which value of it, and the bounds of their product.
_Child: TypeAlias = tuple[float, Hashable, int, float, float]


class Expectimax:
    """One search of a game, whose tables are kept from call to call.

    When there would be more than `limit` bounds all are forgotten; `check` is called now and then, and raises to
    stop the search.
    """

    def __init__(self, positions: Expansions, pruning: Pruning, limit: int, check: Callable[[], None]) -> None:
        self.positions = positions
        self.prunes = pruning != "none"
        self.probes = pruning == "star2"
        self.limit = limit
        self.check = check
        self.visits = 0
        low, high = positions.low, positions.high
        # A play without end is worth half the total to both.
        endless = positions.total / 2
        wide = _Known(min(low, endless), max(high, endless), firm=True)
        self.ranges = (_Known(low, high, firm=True), wide, wide)
        self._bounds: dict[tuple[Hashable, int, int], _Known] = {}
        self._settled: dict[Hashable, tuple[int, _Known]] = {}
        self._best: dict[Hashable, int] = {}
        # Chance states that are being visited: one that leads back to itself without a decision has no depth.
        self._open: dict[tuple[Hashable, int, int, bool], None] = {}

    # --- what is asked from outside -------------------------------------------

    def rows(self, state: Hashable, depth: int, which: int = ESTIMATE) -> list[tuple[float, bool]]:
        """Value of every option of a decision, and whether it rests on no estimate; `depth` counts this decision.

        A `CycleError` if a play can go on for ever by chance alone.
        """
        position = self.positions[state]
        negated = position.kind == MIN
        inner = _TOGGLED[which] if negated else which
        found = []
        for row in position.rows:
            value, firm = self._run(self._row(row, depth - 1, inner, -math.inf, math.inf))
            found.append((-value if negated else value, firm))
        return found

    def _run(self, visit: _Visit) -> tuple[float, bool]:
        stack = [visit]
        answer: Any = None
        try:
            while True:
                try:
                    request = stack[-1].send(answer)
                except StopIteration as stop:
                    stack.pop()
                    answer = stop.value
                    if not stack:
                        found: tuple[float, bool] = answer
                        return found
                    continue
                stack.append(self._visit(*request))
                answer = None
        finally:
            self._open.clear()

    # --- one state ------------------------------------------------------------

    def _known(self, state: Hashable, depth: int, which: int) -> _Known:
        """Return what is known of a value without a visit."""
        if (settled := self._settled.get(state)) is not None and settled[0] <= depth:
            return settled[1]
        if (found := self._bounds.get((state, depth, which))) is not None:
            return found
        if depth > 0:
            return self.ranges[which]
        if (payoff := self.positions.payoff(state)) is not None:
            return self._settle(state, payoff, 0)
        if which == ESTIMATE:
            value = self.positions.estimate(state)
        else:
            value = self.ranges[which].low if which == LOW else self.ranges[which].high
        return self._keep((state, depth, which), _Known(value, value, firm=False))

    def _keep(self, key: tuple[Hashable, int, int], known: _Known) -> _Known:
        if len(self._bounds) >= self.limit:
            self._bounds.clear()
        self._bounds[key] = known
        return known

    def _settle(self, state: Hashable, value: float, depth: int) -> _Known:
        """Keep a value that rests on no estimate, for this depth and all larger ones."""
        if len(self._settled) >= self.limit:
            self._settled.clear()
        if (settled := self._settled.get(state)) is None or depth < settled[0]:
            self._settled[state] = settled = depth, _Known(value, value, firm=True)
        return settled[1]

    def _visit(self, state: Hashable, depth: int, which: int, alpha: float, beta: float, probe: bool) -> _Visit:
        """Search one state; with `probe` only the option that looks best, for a bound from below."""
        self.visits += 1
        if self.visits % _CHECK_EVERY == 0:
            self.check()
        position = self.positions[state]
        if (kind := position.kind) == END:
            return self._settle(state, position.payoff, 0).low, True
        if kind == CHANCE:
            value, firm = yield from self._chance(state, position, depth, which, alpha, beta)
        elif kind == MIN:
            value, firm = yield from self._decision(state, position, depth, _TOGGLED[which], -beta, -alpha, probe)
            value = -value
        else:
            value, firm = yield from self._decision(state, position, depth, which, alpha, beta, probe)
        key, (low, high, _) = (state, depth, which), self.ranges[which]
        exact = alpha < value < beta and not probe
        if exact and firm and not low - _ROUNDING <= value <= high + _ROUNDING:
            msg = f"a value of {value!r} comes of payoffs and rewards, outside payoff_range; declare a wider one"
            raise GameError(msg, state=state, value=value, limit=(low, high))
        # Rewards and a guess may add up to more than can be true.
        value = min(max(value, low), high)
        if exact:
            if firm:
                self._settle(state, value, depth)
            else:
                self._keep(key, _Known(value, value, firm=False))
            return value, firm
        known = self._bounds.get(key, self.ranges[which])
        firm = firm and known.firm
        if kind == MIN if probe else value <= alpha:
            known = _Known(known.low, max(known.low, min(known.high, value)), firm)
        else:
            known = _Known(min(known.high, max(known.low, value)), known.high, firm)
        self._keep(key, known)
        return value, firm

    def _decision(
        self, state: Hashable, position: Position, depth: int, which: int, alpha: float, beta: float, probe: bool
    ) -> _Visit:
        """Take the best option, that of the last search first."""
        rows = position.rows
        first = self._best.get(state, 0)
        best, best_at, firm = -math.inf, first, True
        for at in (first,) if probe else (first, *range(first), *range(first + 1, len(rows))):
            least = max(alpha, best) if self.prunes else -math.inf
            value, sure = yield from self._row(rows[at], depth - 1, which, least, beta)
            firm = firm and sure
            if value > best:
                best, best_at = value, at
                if best >= beta and self.prunes:
                    break
        if best_at != first:
            self._best[state] = best_at
        return best, firm

    def _chance(self, state: Hashable, position: Position, depth: int, which: int, alpha: float, beta: float) -> _Visit:
        key = state, depth, which, False
        if key in self._open:
            path = list(self._open)
            cycle = [entry[0] for entry in path[path.index(key) :]]
            msg = "a play can cycle here for ever by chance alone, so no depth ends the search; explore the game"
            raise CycleError(msg, cycle=cycle, state=state)
        self._open[key] = None
        answer = yield from self._row(position.rows[0], depth, which, alpha, beta)
        del self._open[key]
        return answer

    # --- one row --------------------------------------------------------------

    def _row(self, row: Row, depth: int, which: int, alpha: float, beta: float) -> _Visit:
        """Value of ``constant + sum(a * V)``, or a bound outside of the window."""
        exact, low, high, firm = row.constant, 0.0, 0.0, True
        rest: list[_Child] = []
        for a, state in zip(row.weights, row.states, strict=True):
            mode = which if a > 0 else _TOGGLED[which]
            known = self._known(state, depth, mode)
            firm = firm and known.firm
            if known.low == known.high:
                exact += a * known.low
            else:
                ends = (a * known.low, a * known.high) if a > 0 else (a * known.high, a * known.low)
                low, high = low + ends[0], high + ends[1]
                rest.append((a, state, mode, *ends))
        if not rest:
            return exact, firm
        bounded = self.prunes and math.isfinite(low) and math.isfinite(high)
        if bounded:
            if exact + low >= beta:
                return exact + low, firm
            if exact + high <= alpha:
                return exact + high, firm
            if self.probes and len(rest) > 1:
                answer = yield from self._probe(rest, exact, depth, alpha, beta)
                if answer is not None:
                    return answer[0], firm and answer[1]
        for at, (a, state, mode, _, _) in enumerate(rest):
            if bounded:
                low, high = _sums(rest, at + 1)
                window = _window(a, alpha - exact - high, beta - exact - low)
            elif self.prunes and len(rest) == at + 1:
                low = high = 0.0
                window = _window(a, alpha - exact, beta - exact)
            else:
                window = -math.inf, math.inf
            known = self._known(state, depth, mode)
            if known.low == known.high:
                value, sure = known.low, known.firm
            else:
                value, sure = yield state, depth, mode, *window, False
            firm = firm and sure
            exact += a * value
            if not window[0] < value < window[1]:
                # The value is a bound, and so is the mean with it: from above if the child failed low.
                above = (value <= window[0]) == (a > 0)
                return (min(exact + high, alpha), firm) if above else (max(exact + low, beta), firm)
        return exact, firm

    def _probe(
        self, rest: list[_Child], exact: float, depth: int, alpha: float, beta: float
    ) -> Generator[_Request, _Answer, _Answer | None]:
        """Bound the children by their best option; an answer if that decides (Star2)."""
        firm = True
        for at, (a, state, mode, *ends) in enumerate(rest):
            kind = self.positions[state].kind
            if kind == CHANCE or depth == 0:
                continue
            value, sure = yield state, depth, mode, -math.inf, math.inf, True
            firm = firm and sure
            # The maximiser gets at least this, the minimiser leaves at most this.
            if (kind == MIN) == (a < 0):
                ends[0] = max(ends[0], a * value)
            else:
                ends[1] = min(ends[1], a * value)
            rest[at] = a, state, mode, min(ends), max(ends)
            low, high = _sums(rest, 0)
            if exact + low >= beta:
                return exact + low, firm
            if exact + high <= alpha:
                return exact + high, firm
        return None


def _sums(rest: list[_Child], first: int) -> tuple[float, float]:
    low = high = 0.0
    for at in range(first, len(rest)):
        low += rest[at][3]
        high += rest[at][4]
    return low, high


def _window(a: float, low: float, high: float) -> tuple[float, float]:
    """Window of a value for the window of `a` times it."""
    return (low / a, high / a) if a > 0 else (high / a, low / a)
