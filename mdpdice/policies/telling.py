"""A play in words: what was done, what was rolled, how it stands, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from mdpdice.looks import Dice, Look, parted, spoken, told
from mdpdice.modelling.game import Chance, End, Game, Go, PassTo
from mdpdice.policies.playthrough import Event, Happening, plain

__all__ = ["Teller", "risk"]


class Teller:
    """Tells a play, event by event.

    Parameters
    ----------
    look : Look
        Of the game.
    who : sequence of two str
        Names of the players; empty ones in a game of one player.
    """

    def __init__(self, look: Look[Any], who: Sequence[str] = ("", "")) -> None:
        self.look = look
        self.who = who
        self.core: Any = None
        self.counters: Any = {}
        self.action: Any = None
        self.outcome: Any = None
        self._player: int | None = None
        self._waiting = ""
        self._rolled: list[str] = []

    def lines(self, event: Event) -> Iterator[str]:
        """Lines that an event completes; what it begins waits for the next one, or for `flush`."""
        match event.kind:
            case Happening.STATE:
                self.core, self.counters = parted(event.what)
                turn = self._player != event.player or (not self.who[0] and self.core == self.look.start)
                self._player = event.player
                if turn and not self._rolled and not self._waiting.endswith(":"):
                    yield from self.flush()
                    yield f"  [{self.standing()}]"
            case Happening.CHOICE:
                yield from self.flush()
                self.action = event.what
                words = spoken(self.look.act(self.core, event.what, event.seen).words, self.counters)
                self._waiting = f"{self._name(event.player)}{words}"
            case Happening.ROLL:
                self.outcome = event.what
                heard = self.look.heard(self.core, event.what, event.seen, lost=event.lost)
                self._rolled.append(spoken(heard, self.counters))
                if not self._waiting:
                    self._waiting = f"{self._name(event.player)}roll"
                if event.lost:
                    yield from self.flush()
            case Happening.REWARD:
                if event.what:
                    self._waiting += f" ({_number(event.what, sign='+')})"
            case Happening.END:
                yield from self.flush()
                ending = self.look.ending(self.core, self.action, self.outcome, event.what)
                yield f"{self._name(event.player)}{spoken(ending, self.counters)}"
                yield f"  [{self.standing()}]"
                yield from self._total(event)
            case Happening.CUT:
                yield from self.flush()
                yield "no decision is left"
                yield from self._total(event)

    def flush(self) -> Iterator[str]:
        """The line that is waiting."""
        if self._waiting:
            rolled = f" → {', '.join(self._rolled)}" if self._rolled else ""
            yield f"{self._waiting}{rolled}"
        self._waiting, self._rolled = "", []

    def standing(self) -> str:
        """How it stands, without the dice."""
        parts = [part for part in self.look.table(self.core) if not isinstance(part, Dice)]
        return told(parts, self.counters, player=self._player or 0, who=self.who)

    def _name(self, player: int) -> str:
        return f"{self.who[player]}: " if self.who[player] else ""

    def _total(self, event: Event) -> Iterator[str]:
        if not self.who[0]:
            yield f"total {_number(event.total)}"


def _number(number: Any, *, sign: str = "") -> str:
    value = Fraction(number)
    return (
        format(value.numerator, f"{sign}d") if value.denominator == 1 else format(float(value), f"{sign}.10g")
    )


def risk(game: Game[Any, Any], state: Any, action: Any) -> Fraction | None:
    """Chance that the roll after an action ends the turn, or the play without a payoff; None where nothing is rolled.

    Parameters
    ----------
    game : Game
    state : hashable
        Where somebody decides; of a game with counters an `At`.
    action : hashable
    """
    rules = plain(game)
    node: Any = rules.node(state)
    edge = dict(zip(node.actions, node.options, strict=True))[action]
    if isinstance(edge, Go):
        edge = rules.node(edge.state)
    if not isinstance(edge, Chance):
        return None
    lost = (isinstance(to, PassTo) or (isinstance(to, End) and not to.payoff) for to in edge.edges)
    weights = (weight for weight, gone in zip(edge.dist.weights, lost, strict=True) if gone)
    return Fraction(sum(weights), edge.dist.total)
