"""A game as a search sees it: every state is expanded once into rows of numbers and next states.

The value of an option is ``constant + sum(a * V(next))``: payoffs of ends and rewards are
in the constant, and the coefficient `a` is a probability, discounted where it enters a
decision, negative where the players change sides.  A state where chance moves has one
row.  Where a player minimises the rows are negated, so that every decision maximises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from mdpdice.errors import DeadEndError, GameError, MdpDiceError
from mdpdice.modelling.asking import ask_game
from mdpdice.modelling.checks import not_a_node_error, not_an_edge_error
from mdpdice.modelling.game import Chance, Decide, End, Game, Go, PassTo, Unavailable
from mdpdice.modelling.number import finite_number
from mdpdice.modelling.sense import sense_of

END, CHANCE, MAX, MIN = range(4)


class Row(NamedTuple):
    """The value of an option, or of a state where chance moves, as a linear form of those of the next states."""

    constant: float
    weights: tuple[float, ...]  # negative where the players change sides
    states: tuple[Hashable, ...]


class Position(NamedTuple):
    """What happens in a state."""

    kind: int  # END, CHANCE, MAX or MIN
    payoff: float  # of an end
    rows: tuple[Row, ...]  # one per option, negated where little is wanted; one where chance moves
    actions: tuple[Hashable, ...]  # one per option


class Expansions:
    """Positions of a game by state; when there would be more than `limit` all are forgotten, and asked for again."""

    def __init__(self, game: Game[Any, Any], limit: int) -> None:
        self.game = game
        self.limit = limit
        self.asked = 0
        self.ends_met = False
        self.total = float(game.total)
        self.discount = float(game.discount)
        self._much = 0 if sense_of(game) == "max" else 1
        if game.payoff_range is None:
            self.low, self.high = -math.inf, math.inf
        else:
            self.low, self.high = map(float, game.payoff_range)
            if not self.low <= self.high:
                msg = f"payoff_range={game.payoff_range!r}: write the smaller number first"
                raise GameError(msg, value=game.payoff_range)
        overridden = type(game).canonical is not Game.canonical
        self.canonical: Callable[[Any], Any] | None = game.canonical if overridden else None
        self._kept: dict[Hashable, Position] = {}

    def __getitem__(self, state: Hashable) -> Position:
        """Position of a state; a `GameError` says what the game did wrong."""
        if (found := self._kept.get(state)) is None:
            if len(self._kept) >= self.limit:
                self._kept.clear()
            found = self._kept[state] = self._expand(state)
        return found

    def payoff(self, state: Hashable) -> float | None:
        """Payoff of a state that is an end, None where the play goes on; cheaper than the whole position."""
        if (found := self._kept.get(state)) is not None:
            return found.payoff if found.kind == END else None
        node = ask_game(self.game.node, state)
        return self._end(node.payoff, state) if type(node) is End else None

    def estimate(self, state: Hashable) -> float:
        """Ask the game for the worth of a state; a `GameError` if it is not a number in `Game.payoff_range`."""
        guess = ask_game(self.game.estimate, state)
        try:
            number = float(guess)
        except (TypeError, ValueError):
            number = math.nan
        if not (self.low <= number <= self.high and math.isfinite(number)):
            span = f"[{self.low:g}, {self.high:g}]; clip it, or declare a wider range"
            msg = f"estimate() returns {guess!r}, which is not a number in payoff_range, {span}"
            raise GameError(msg, state=state, value=guess, limit=(self.low, self.high))
        return number

    # --- from nodes to rows -----------------------------------------------------

    def _expand(self, state: Hashable) -> Position:
        self.asked += 1
        node = ask_game(self.game.node, state)
        kind = type(node)
        try:
            if kind is End:
                return Position(END, self._end(node.payoff, state), (), ())
            if kind is Decide:
                return self._decision(node, state)
            if kind is Chance or kind is Go or kind is PassTo:
                return Position(CHANCE, 0.0, (self._row(node, state),), ())
        except MdpDiceError as error:
            raise error.at(state) from error.__cause__
        raise not_a_node_error(node).at(state)

    def _decision(self, node: Decide[Any, Any], state: Hashable) -> Position:
        rows, actions = [], []
        for action, option in zip(node.actions, node.options, strict=True):
            if option is None or type(option) is Unavailable:
                continue
            try:
                rows.append(self._row(option, state))
            except MdpDiceError as error:
                raise error.at(state, action) from error.__cause__
            actions.append(action)
        if not rows:
            msg = "a decision without an available option; end the play here, or give it an option"
            raise DeadEndError(msg, state=state)
        if node.player == self._much:
            return Position(MAX, 0.0, tuple(rows), tuple(actions))
        negated = (Row(-c, tuple(-a for a in weights), states) for c, weights, states in rows)
        return Position(MIN, 0.0, tuple(negated), tuple(actions))

    def _row(self, edge: Any, state: Hashable) -> Row:
        constant = 0.0
        found: dict[tuple[Hashable, bool], float] = {}
        stack: list[tuple[Any, float]] = [(edge, 1.0)]
        while stack:
            edge, weight = stack.pop()
            if (kind := type(edge)) is Chance:
                constant += weight * float(finite_number(edge.reward, "reward"))
                total = edge.dist.total
                stack += [
                    (inner, weight * (share / total))
                    for inner, share in zip(reversed(edge.edges), reversed(edge.dist.weights), strict=True)
                ]
            elif kind is End:
                constant += weight * self._end(edge.payoff, state)
            elif kind is Go or kind is PassTo:
                constant += weight * float(finite_number(edge.reward, "reward"))
                target = edge.state if self.canonical is None else ask_game(self.canonical, edge.state)
                key = target, kind is PassTo
                found[key] = found.get(key, 0.0) + weight
            else:
                raise not_an_edge_error(edge)
        weights, states = [], []
        for (target, passed), weight in found.items():
            factor = weight * self.discount if self.discount != 1 and self._decides(target) else weight
            if passed:
                constant += factor * self.total
            weights.append(-factor if passed else factor)
            states.append(target)
        return Row(constant, tuple(weights), tuple(states))

    def _decides(self, state: Hashable) -> bool:
        if (found := self._kept.get(state)) is not None:
            return found.kind >= MAX
        return type(ask_game(self.game.node, state)) is Decide

    def _end(self, payoff: Any, state: Hashable) -> float:
        self.ends_met = True
        number = float(finite_number(payoff, "payoff"))
        if not self.low <= number <= self.high:
            msg = f"the payoff {payoff!r} is outside payoff_range, [{self.low:g}, {self.high:g}]; declare a wider one"
            raise GameError(msg, state=state, value=payoff, limit=(self.low, self.high))
        return number
