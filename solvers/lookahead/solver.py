"""Look some decisions ahead, where a game is too large to explore.

Depth-limited expectimax: from the first decisions of the game every play is followed for `depth` decisions, and what
lies beyond is worth what `Game.estimate` says (see `mdpdice.solvers.lookahead.expectimax` for the search).  A decision
with the roll before it is one step, as for a horizon.  The answer is an estimate and never claims more; but with
`Game.payoff_range` there is an interval that holds the true value: the search is repeated with the worst and with the
best payoff in the place of estimates.  Where all plays end within the depth the interval is one number.

This solver takes the game itself and not a network.  Its solution speaks of the first
decisions only: for another position ask for ``solve(game.at(position), solver=Lookahead())``.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, ClassVar, TypeAlias, TypeVar, cast

import attrs
import numpy as np

from mdpdice.backend import AlwaysAvailable, Candidate, Feature, Run, Searched, at_least, needs
from mdpdice.errors import CycleError, SolveInterrupted, UnsupportedError
from mdpdice.exploration.to_network import explore
from mdpdice.modelling.counters import axes
from mdpdice.modelling.game import Decide, Edge, Game, Node, decide, end
from mdpdice.networks.network import Floats, Ints, Kind, Network
from mdpdice.numerics.graph import component_order, find_cycle, strong_components
from mdpdice.solvers.lookahead.expansion import MIN, Expansions
from mdpdice.solvers.lookahead.expectimax import HIGH, LOW, Expectimax, Pruning

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)

# Value of every option of the first decisions, and whether it rests on no estimate.
_Answer: TypeAlias = dict[Hashable, list[tuple[float, bool]]]
_Values: TypeAlias = dict[Any, float]

DEPTH = 1_000_000
"""Most decisions to look ahead: no search comes near, and a larger number would stand for one that never ends."""

_ROOM = 1e-12


@attrs.frozen
class Lookahead(AlwaysAvailable):
    """Depth-limited expectimax on a game, with its own estimates at the edge.

    Parameters
    ----------
    depth : int
        Decisions to look ahead, both players' counted; at most 1,000,000.
    pruning : {"star2", "star1", "none"}
        What is left out; it changes the time and not the answer.
    table_size : int
        Positions, and bounds of values, to keep at a time.
    seconds : float, optional
        Start no deeper round when the search has taken this long.  The answer then depends on
        how fast the machine is.
    """

    name: ClassVar[str] = "lookahead"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.CYCLIC, Feature.TWO_PLAYER, Feature.DISCOUNT})

    depth: int = attrs.field(
        default=4, validator=needs("a whole number from 1 to 1,000,000", lambda x: 1 <= operator.index(x) <= DEPTH)
    )
    pruning: Pruning = attrs.field(
        default="star2", validator=needs("'none', 'star1' or 'star2'", lambda x: x in ("none", "star1", "star2"))
    )
    table_size: int = attrs.field(default=500_000, validator=at_least(1))
    seconds: float | None = attrs.field(default=None, validator=attrs.validators.optional(at_least(0)))

    def solve(self, problem: Network, run: Run) -> Candidate:
        """Refuse a network, with an `UnsupportedError`."""
        raise UnsupportedError("lookahead searches a game, not a network; give solve() the game", value=self.name)

    def search(self, game: Game[S, A], run: Run) -> Searched:
        """Search a game from its start, one decision deeper in every round.

        A game with counters is searched as it is `Game.unrolled`.

        Raises
        ------
        GameError
            The game broke its contract, such as an estimate outside `Game.payoff_range`.
        CycleError
            A play can go on for ever by chance alone.
        SolveInterrupted
            The time was up; `partial` is the answer of the last round that was finished.
        """
        return _Rounds(self, game, run).play()

    def options(self, game: Game[S, A], states: Iterable[S]) -> Iterator[dict[A, float]]:
        """Look from many decisions of a game, `At` values where it has counters, with one table for all.

        Yields the estimate of every action, in the order of the options.  The policy takes the best of them.
        """
        engine = _engine(self, game, lambda: None)
        for state in states:
            values = [value for value, _ in engine.rows(state, self.depth)]
            yield dict(zip(cast("Any", engine.positions[state].actions), values, strict=True))


def _engine(solver: Lookahead, game: Game[Any, Any], check: Callable[[], None]) -> Expectimax:
    positions = Expansions(game.unrolled() if axes(game) else game, solver.table_size)
    return Expectimax(positions, solver.pruning, solver.table_size, check)


def _complete(answer: _Answer) -> bool:
    """Whether nothing in it rests on an estimate."""
    return all(firm for row in answer.values() for _, firm in row)


class _Rounds:
    """Iterative deepening, and what the solution is made of."""

    def __init__(self, solver: Lookahead, game: Game[Any, Any], run: Run) -> None:
        self.solver, self.run = solver, run
        self.search = _engine(solver, game, run.check)
        self.positions = self.search.positions
        self.game = self.positions.game
        self.begun = time.monotonic()

    def play(self) -> Searched:
        first = self._first_decisions()
        answer: _Answer = {}
        depth = 0
        try:
            while first and depth < self.solver.depth and not (depth and (_complete(answer) or self._late())):
                self.run.check()
                answer = {state: self.search.rows(state, depth + 1) for state in first}
                depth += 1
                self.run.tell("look ahead", depth=depth, visits=self.search.visits)
            return self._searched(answer, depth, self._bounds(answer, depth))
        except SolveInterrupted as stop:
            if depth:
                stop.partial = self._searched(answer, depth, None)
            raise

    def _late(self) -> bool:
        return self.solver.seconds is not None and time.monotonic() - self.begun > self.solver.seconds

    def _first_decisions(self) -> list[Hashable]:
        network = explore(_first(self.game, {}))
        if cycle := find_cycle(network.indptr, network.dst):
            msg = "a play can cycle here for ever before the first decision; explore the game instead"
            raise CycleError(msg, cycle=[network.describe(node) for node in cycle])
        decisions = [network.state_of(int(node)) for node in np.flatnonzero(network.decides)]
        return [state for state in decisions if state is not None]

    def _bounds(self, answer: _Answer, depth: int) -> tuple[_Values, _Values] | None:
        """Bounds of the values of the first decisions; None where there are only the ends of the range."""
        if _complete(answer):
            exact = {state: self._best(state, row) for state, row in answer.items()}
            return exact, exact
        # Without an end in sight the bounds are those of the range; without a range there are none.
        if not self.positions.ends_met or not np.isfinite(self.positions.high - self.positions.low):
            return None
        low, high = (
            {state: self._best(state, self.search.rows(state, depth, which)) for state in answer}
            for which in (LOW, HIGH)
        )
        return low, high

    def _best(self, state: Hashable, row: list[tuple[float, bool]]) -> float:
        return (min if self.positions[state].kind == MIN else max)(value for value, _ in row)

    def _searched(self, answer: _Answer, depth: int, bounds: tuple[_Values, _Values] | None) -> Searched:
        """Return the game up to the first decisions, whose options are ends worth what was found."""
        network = explore(_first(self.game, {state: [value for value, _ in row] for state, row in answer.items()}))
        low, high = self.search.ranges[LOW].low, self.search.ranges[HIGH].high
        if bounds is None:
            bounds = dict.fromkeys(answer, low), dict.fromkeys(answer, high)
        complete = _complete(answer)
        decided = {state: self._best(state, row) for state, row in answer.items()}
        value, _ = _sweep(network, (decided, decided))
        lower, upper = _sweep(network, bounds)
        if not complete:
            guesses = network.dst[network.decides[network.source]]
            lower[guesses], upper[guesses] = low, high
        # Room for the rounding of a sum at every level, which is not tracked.
        room = _ROOM * (depth + 1) * np.maximum(1.0, np.abs(value))
        lower = np.where(np.isinf(lower), lower, np.maximum(lower - room, low))
        upper = np.where(np.isinf(upper), upper, np.minimum(upper + room, high))
        seen = f"{depth} decision{'s' * (depth != 1)} ahead"
        reason = f"searched {seen}, where all plays had ended" if complete else f"an estimate from {seen}"
        details = {"depth": depth, "complete": complete, "positions": self.positions.asked}
        return Searched(network, Candidate(value, _policy(network), self.search.visits, details), lower, upper, reason)


def _first(game: Game[Any, Any], found: dict[Hashable, list[float]]) -> Game[Any, Any]:
    """Return a game up to its first decisions, whose options end at once.

    Symmetry is left aside, so that the actions are those of the position that was asked about.
    """

    def node(state: Any) -> Node[Any, Any]:
        node = game.node(state)
        if not isinstance(node, Decide):
            return node
        there = [action for action, option in zip(node.actions, node.options, strict=True) if isinstance(option, Edge)]
        values = found.get(state, [0.0] * len(there))
        return decide([(a, end(value)) for a, value in zip(there, values, strict=True)], player=node.player)

    return Game.of(start=game.start(), node=node, total=game.total, sense=game.sense)


def _sweep(network: Network, decided: tuple[_Values, _Values]) -> tuple[Floats, Floats]:
    """Bounds of every node of a `_first` game from those of its decisions, through the chance before."""
    low, high = network.payoff.copy(), network.payoff.copy()
    total = float(network.total)
    order, _ = component_order(strong_components(network.indptr, network.dst))
    for node in order.tolist():
        if network.decides[node]:
            state = network.state_of(node)
            low[node], high[node] = decided[0][state], decided[1][state]
        elif network.kind[node] == Kind.CHANCE:
            edges = slice(int(network.indptr[node]), int(network.indptr[node + 1]))
            dst, weight, kept = network.dst[edges], network.weight[edges], network.sign[edges] > 0
            reward = weight @ network.reward[edges]
            low[node], high[node] = (
                reward + weight @ np.where(kept, same[dst], total - other[dst])
                for same, other in ((low, high), (high, low))
            )
    return low, high


def _policy(network: Network) -> Ints:
    """Return the best option of every decision of a `_first` game, the first one if several are."""
    policy = np.full(network.n_nodes, -1, dtype=np.int64)
    for node in np.flatnonzero(network.decides).tolist():
        edges = network.edges(node)
        worth = network.payoff[network.dst[edges.start : edges.stop]]
        little = (network.kind[node] == Kind.MIN) != (network.sense == "min")
        policy[node] = edges.start + int(np.argmin(worth) if little else np.argmax(worth))
    return policy
