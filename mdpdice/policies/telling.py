"""A play in words: what was done, what was rolled, how it stands, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from mdpdice.looks import Dice, Look, Rolled, Text, parted, spoken, told
from mdpdice.modelling.game import Chance, Game, Go
from mdpdice.modelling.sense import sense_of
from mdpdice.policies.playthrough import EDGES, Event, Happening, loses, plain


class Teller:
    """Tells a play, event by event, to those `who` play; of one player alone the name is there twice, or empty.

    The two `people` see the table at every decision, so its state is not repeated to them before.
    """

    def __init__(self, look: Look[Any], who: Sequence[str] = ("", ""), people: Sequence[bool] = (False, False)) -> None:
        self.look, self.who, self.people = look, who, people
        self.alone = who[0] == who[1]
        self.turns = 0
        self.core: Any = None
        self.counters: Any = {}
        self.action: Any = None
        self.outcome: Any = None
        self._player = -1
        self._total = Fraction(0)
        self._paid = self._moved = False
        self._waiting = self._note = self._shown = ""
        self._rolled: list[str] = []

    def begins(self, event: Event) -> bool:
        """Whether a turn begins: the other player is to move, or one who is alone is back at the start."""
        if event.kind is not Happening.STATE:
            return False
        return self._player != event.player or (self.alone and parted(event.what)[0] == self.look.start)

    def lines(self, event: Event, note: str = "") -> Iterator[str]:
        """Lines that an event completes, a choice with a `note`; what it begins waits for the next one, or `flush`."""
        self._total = event.total
        name = f"{self.who[event.player]}: " if self.who[event.player] else ""
        match event.kind:
            case Happening.STATE:
                begins = self.begins(event)
                self.turns += begins
                self.core, self.counters = parted(event.what)
                self._player, self._moved = event.player, False
                if begins and not self._rolled:
                    yield from self.flush()
                    if not self.people[event.player] and not (self.alone and name and self.turns == 1):
                        yield from self._standing()
            case Happening.CHOICE:
                yield from self.flush()
                self.action, self._moved, self._note = event.what, True, note
                self._waiting = f"{name}{self.words(event)}"
            case Happening.NATURE:
                self._rolled.append(f"nature: {event.what}")
            case Happening.ROLL:
                self.outcome, self._moved = event.what, True
                # An edge as outcome (of `chance`) says nothing that does not follow.
                self._rolled += [] if isinstance(event.what, EDGES) else [self.words(event)]
                self._waiting = self._waiting or f"{name}roll"
                if event.lost:
                    yield from self.flush()
            case Happening.REWARD:
                self._paid = True
                if self._rolled:
                    self._rolled[-1] += f" ({_number(event.what, sign='+')})"
                else:
                    self._waiting = paid(self._waiting or f"{name}reward", event.what)
            case Happening.END | Happening.CUT:
                yield from self.flush()
                worded = type(self.look).ending is not Look.ending
                if event.kind is Happening.CUT:
                    yield self.words(event)
                elif worded or not self.alone:  # a single player reads it in the total
                    yield f"{name}{self.words(event)}"
                if not self._moved or not (self.alone or worded):
                    yield from self._standing("before the last move: " if self._moved else "")
                if self.alone or self._paid:
                    total = f"total {_number(self._total)}"
                    yield f"{name}{total}" if self.alone else f"{total} for {self.who[0]}"

    def words(self, event: Event) -> str:
        """Return only what happens; nothing for a state."""
        match event.kind:
            case Happening.CHOICE:
                return self._spoken(self.look.act(self.core, event.what, event.seen).words)
            case Happening.ROLL:
                return self._spoken(self.look.heard(self.core, event.what, event.seen, lost=event.lost))
            case Happening.REWARD:
                return _number(event.what, sign="+")
            case Happening.END if self.alone and type(self.look).ending is Look.ending:
                return f"total {_number(event.total)}"
            case Happening.END:
                return self._spoken(self.look.ending(self.core, self.action, self.outcome, event.what))
            case Happening.CUT:
                return "no decision is left"
        return ""

    def flush(self) -> Iterator[str]:
        """Yield the line that is waiting."""
        if self._waiting:
            rolled = f" → {', '.join(self._rolled)}" if self._rolled else ""
            yield f"{self._waiting}{self._note}{rolled}"
        self._waiting, self._note, self._rolled = "", "", []

    def table(self, seen: Rolled | None = None, *, dice: bool = False) -> str:
        """How it stands, with or without the dice."""
        whose = f"{self.who[0]}: " if self.alone and self.who[0] else ""
        total = f"total {_number(self._total)}; " if self.alone and self._paid else ""
        return f"{whose}{total}{self._lying(seen, dice=dice)}"

    def _lying(self, seen: Rolled | None = None, *, dice: bool = False) -> str:
        parts = [part for part in self.look.table(self.core, seen) if dice or not isinstance(part, Dice)]
        return told(parts, self.counters, player=self._player, who=self.who)

    def _standing(self, when: str = "") -> Iterator[str]:
        """How it stands, if that is news."""
        if (lying := self._lying()) != self._shown:
            self._shown = lying
            yield f"  [{when}{self.table()}]"

    def _spoken(self, text: Text) -> str:
        return spoken(text, self.counters)


def paid(words: str, reward: Any) -> str:
    """Return the words of an action with what it pays at once, where they do not say so themselves."""
    return words if words.split()[-1:] == [_number(reward)] else f"{words} ({_number(reward, sign='+')})"


def _number(number: Any, *, sign: str = "") -> str:
    value = Fraction(number)
    return f"{value.numerator:{sign}d}" if value.denominator == 1 else f"{float(value):{sign}.10g}"


def risk(game: Game[Any, Any], state: Any, action: Any) -> Fraction | None:
    """Chance that the roll after an action ends the turn, or the play for nothing; None where nothing is rolled."""
    rules = plain(game)
    node: Any = rules.node(state)
    edge = dict(zip(node.actions, node.options, strict=True))[action]
    if isinstance(edge, Go):
        edge = rules.node(edge.state)
    if not isinstance(edge, Chance):
        return None
    ways = zip(edge.dist.weights, edge.edges, strict=True)
    return Fraction(sum(weight for weight, to in ways if loses(to, sense_of(rules))), edge.dist.total)
