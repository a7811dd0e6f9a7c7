"""One play of a game, move by move, by the rules.

The game itself is asked in every state, not its network: nothing is explored, so a
game of any size can be played, and rolls come with the real dice even where the rules
merge them.  Whoever decides is a *seat*: a
function from a `Turn` to one of its actions.  Everything that happens is an `Event`.

Chance is drawn with `random.Random`, whose integers are the same on every machine and
in every version of Python, so a seed tells a whole play.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import attrs

from mdpdice.errors import GameError, NotConvergedError, UnknownStateError
from mdpdice.looks.throw import Rolled, draw
from mdpdice.modelling.asking import ask, ask_game
from mdpdice.modelling.counters import axes
from mdpdice.modelling.equality import same_kind
from mdpdice.modelling.game import Chance, Decide, End, Game, Go, Option, PassTo, Unavailable, Uncertain
from mdpdice.modelling.number import exact_discount, finite_number
from mdpdice.modelling.sense import Sense, sense_of
from mdpdice.spelling import did_you_mean


class Happening(enum.Enum):
    """Kinds of events; what `Event.what` is."""

    STATE = "state"  # the state in which the play is
    CHOICE = "choice"  # the action of a player; `Event.among` are all of them
    NATURE = "nature"  # the name of the distribution that nature picked
    ROLL = "roll"  # the outcome of chance
    REWARD = "reward"  # the number that the player to move got
    END = "end"  # the payoff of the player to move; the play is over
    CUT = "cut off"  # nothing; the play is over since no decision is left


@attrs.frozen
class Event:
    """Something that happens in a play; `player` 0 is the one who moves first (with `pass_to`), or maximises."""

    kind: Happening
    player: int  # 0 or 1: who is to move
    what: Any  # see `Happening`
    among: tuple[Any, ...] = ()  # the actions of a choice, in the order of the options
    total: Fraction = Fraction(0)  # what the play has been worth so far to player 0
    seen: Rolled | None = None  # the dice as they lie; not after a decision, or where the other player begins
    lost: bool = False  # whether a roll ends the turn, or the play without a payoff


@attrs.frozen
class Turn:
    """Where a player has to decide."""

    state: Hashable
    player: int  # 0 or 1: who decides
    actions: tuple[Any, ...]  # what can be done, in the order of the options
    options: tuple[Option[Any], ...]  # where the actions lead
    steps_left: int | None = None  # decisions left, with a horizon
    seen: Rolled | None = None  # the dice as they lie


EDGES = (Go, PassTo, End, Chance)
"""What stands for the dice where `mdpdice.chance` is given edges."""

Seat: TypeAlias = Callable[[Turn], Any]
"""Whoever decides: a function from a turn to one of its actions."""

Thrower: TypeAlias = Callable[[Chance[Any], random.Random], tuple[Any, Rolled]]
"""Whoever throws the dice: the outcome, and how they lie."""


def plain(game: Game[Any, Any]) -> Game[Any, Any]:
    """Return the game with its counters inside its states, as the states of its network are; else the game itself."""
    return game.unrolled() if axes(game) else game


def play(
    game: Game[Any, Any],
    seats: Sequence[Seat],
    seed: int | random.Random | None = None,
    *,
    horizon: int | None = None,
    symmetric: bool = False,
    max_moves: int = 100_000,
    throw: Thrower = lambda node, generator: draw(node.dist, generator),
    nature: Callable[[Uncertain[Any], int, int | None], int] | None = None,
) -> Iterator[Event]:
    """Play a game once.

    Parameters
    ----------
    game : Game
        What is played.
    seats : sequence of one or two seats
        One for all decisions, or one per player.
    seed : int or random.Random, optional
        Equal seeds give equal rolls.
    horizon : int, optional
        Largest number of decisions.
    symmetric : bool
        Play in the representatives that `Game.canonical` gives, as exploring does.
    max_moves : int
        Most nodes in the play.
    throw : Thrower
        By default the dice are drawn.
    nature : callable, optional
        Gives the place of what nature picks, for the player who moves and the decisions left; by default drawn.

    Yields
    ------
    Event
        In the order in which they happen; the last one is an END or a CUT.

    Raises
    ------
    UnknownStateError
        A seat took an action that does not exist.
    NotConvergedError
        The play was not over after `max_moves` nodes.

    Examples
    --------
    >>> from mdpdice.games.pig import PigTurn
    >>> from mdpdice.policies.playthrough import play
    >>> hold_at_20 = lambda turn: "hold" if turn.state >= 20 else "roll"
    >>> print(*[event.what for event in play(PigTurn(), [hold_at_20], seed=5)])
    0 roll 5 5 roll 3 8 roll 6 14 roll 3 17 roll 6 23 hold 23
    """
    if not 1 <= len(seats) <= 2:
        raise GameError(f"a play has one or two seats, not {len(seats)}", value=len(seats))
    game = plain(game)
    generator = seed if isinstance(seed, random.Random) else random.Random(seed)  # noqa: S311 - no secrets
    picks = nature or (lambda edge, *_: generator.randrange(len(edge.options)))
    discount = exact_discount(game.discount)
    return _Play(game, seats, generator, horizon, symmetric, throw, picks, discount).events(max_moves)


def turn_at(game: Game[Any, Any], state: Any) -> Turn | None:
    """Return the decision in a state of a `plain` game, as far as the state shows it; None where there is none."""
    node = ask_game(game.node, state)
    return _turn(state, node.player, node) if isinstance(node, Decide) else None


def _turn(
    state: Hashable, player: int, node: Decide[Any, Any], steps_left: int | None = None, seen: Rolled | None = None
) -> Turn:
    offered = {
        action: option
        for action, option in zip(node.actions, node.options, strict=True)
        if option is not None and not isinstance(option, Unavailable)
    }
    return Turn(state, player, tuple(offered), tuple(offered.values()), steps_left, seen)


def loses(edge: object, sense: Sense) -> bool:
    """Whether an edge that follows a roll ends the turn, or ends the play for nothing where much is wanted."""
    return isinstance(edge, PassTo) or (isinstance(edge, End) and not edge.payoff and sense == "max")


@attrs.define(eq=False)
class _Play:
    """A play that is going on."""

    game: Game[Any, Any]
    seats: Sequence[Seat]
    generator: random.Random
    steps_left: int | None
    symmetric: bool
    throw: Thrower
    nature: Callable[..., int]
    discount: Fraction
    factor: Fraction = Fraction(1)
    decided: bool = False
    player: int = 0
    # By how much rewards count for player 0: with pass_to, those of player 1 are its losses.
    side: int = 1
    total: Fraction = Fraction(0)
    seen: Rolled | None = None

    def events(self, max_moves: int) -> Iterator[Event]:
        state = self._place(ask_game(self.game.start))
        node: Any = None
        for _ in range(max_moves):
            if node is None:
                node = ask_game(self.game.node, state)
                self.player = 1 if self.side < 0 else node.player if isinstance(node, Decide) else 0
                yield self._event(Happening.STATE, state)
            if isinstance(node, End):
                self.total += self.factor * self.side * _exact(node.payoff, "payoff")
                yield self._event(Happening.END, node.payoff)
                return
            if isinstance(node, Decide):
                if self.steps_left == 0:
                    self.total += self.factor * self.side * _exact(self.game.total, "total") / 2
                    yield self._event(Happening.CUT, None)
                    return
                node, event = self._decide(state, node)
                yield event
                continue
            if isinstance(node, Uncertain):
                at = self.nature(node, self.player if self.side > 0 else 0, self.steps_left)
                yield self._event(Happening.NATURE, node.actions[at])
                node = node.options[at]
            if reward := getattr(node, "reward", 0):
                self.total += self.factor * self.side * _exact(reward, "reward")
                yield self._event(Happening.REWARD, reward)
            if isinstance(node, Chance):
                outcome, rolled = self.throw(node, self.generator)
                self.seen = None if isinstance(outcome, EDGES) else rolled
                node = node.edges[node.dist.outcomes.index(outcome)]
                yield self._event(Happening.ROLL, outcome, lost=loses(node, sense_of(self.game)))
            elif isinstance(node, Go | PassTo):
                state = self._place(node.state)
                if isinstance(node, PassTo):
                    # What the mover gets is `total` less what the other one makes of it.
                    self.total += self.factor * self.side * _exact(self.game.total, "total")
                    self.side, self.seen = -self.side, None
                node = None
            else:
                raise GameError(f"node() gave {node!r}, which is neither a node nor an edge", state=state, value=node)
        how = "let one of them play otherwise, use a horizon, or raise max_moves"
        msg = f"the play is not over after {max_moves:,} nodes: perhaps the players repeat their moves; {how}"
        raise NotConvergedError(msg, iterations=max_moves, width=float("inf"), limit=max_moves)

    def _event(self, kind: Happening, what: Any, among: tuple[Any, ...] = (), *, lost: bool = False) -> Event:
        return Event(kind, self.player, what, among, self.total, self.seen, lost)

    def _place(self, state: Any) -> Any:
        return ask_game(self.game.canonical, state) if self.symmetric else state

    def _decide(self, state: Hashable, node: Decide[Any, Any]) -> tuple[Any, Event]:
        # A discount acts on entering every decision but the first.
        if self.decided:
            self.factor *= self.discount
        self.decided = True
        turn = _turn(state, self.player, node, self.steps_left, self.seen)
        seat = self.seats[self.player if len(self.seats) == 2 else 0]
        action = ask(seat, turn, what="the function of the seat", state=state)
        for known, option in zip(turn.actions, turn.options, strict=True):
            if known == action and same_kind(known, action):
                if self.steps_left is not None:
                    self.steps_left -= 1
                chosen = self._event(Happening.CHOICE, known, turn.actions)
                self.seen = None
                return option, chosen
        there = list(turn.actions)
        msg = f"no action {action!r} here; {did_you_mean(action, there)}the actions are {there!r}"
        raise UnknownStateError(msg, state=state, action=action)


def _exact(value: Any, what: str) -> Fraction:
    return Fraction(finite_number(value, what))
