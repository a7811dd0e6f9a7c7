"""Tables: a match that people play over HTTP, as the JSON that the page shows (``docs/server.md``)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs

from mdpdice.errors import MdpDiceError
from mdpdice.looks import Boxes, Note, Part, Rolled, spoken
from mdpdice.looks.parts import number
from mdpdice.looks.text import phrase
from mdpdice.looks.throw import Die, Throw, thrown
from mdpdice.modelling.game import Chance
from mdpdice.modelling.grid import At
from mdpdice.policies.playthrough import EDGES, loses

if TYPE_CHECKING:
    from mdpdice.cli.served import Sitting

__all__ = ["Illegal", "Table"]

MOST_LISTED = 60
"""Throws up to which all of them are listed; of more the dice are asked for one by one."""
MOST_SAID = 10_000
"""Decisions and throws of people in a round."""


class Illegal(Exception):  # noqa: N818 - nothing is broken
    """What cannot be done now (status 409), or never (400), in words."""

    def __init__(self, words: str, status: int = 409) -> None:
        super().__init__(words)
        self.status = status


class Table:
    """A match, and what may be done in it; `turn` grows with every change.

    Parameters
    ----------
    key : str
        Its name.
    match : Sitting
    """

    def __init__(self, key: str, match: Sitting) -> None:
        self.key, self.match, self.turn = key, match, 0
        self.game, self.look = match.case.game, match.case.look

    # --- what is done -------------------------------------------------------------------------------

    def choose(self, turn: int, i: int) -> dict[str, Any]:
        """Take action `i` of those offered."""
        self._fresh(turn)
        waiting = self.match.waiting
        if waiting is None or waiting.turn is None:
            raise Illegal("there is nothing to decide now")
        if not 0 <= i < len(waiting.turn.actions):
            raise Illegal(f"there is no action {i} here, but {len(waiting.turn.actions)} of them", 400)
        return self._said(waiting.turn.actions[i])

    def roll(self, turn: int, i: int | None, faces: Sequence[Any] | None) -> dict[str, Any]:
        """Say which of the outcomes was thrown, by its number or by its faces."""
        self._fresh(turn)
        waiting = self.match.waiting
        if waiting is None or waiting.node is None:
            raise Illegal(
                "nobody has to throw dice now" if self.match.mine else "the dice are drawn at this table"
            )
        listed, throw = _throws(waiting.node)
        if faces is not None and throw is not None:
            return self._said(_tapped(throw, faces))
        if i is None or listed is None or not 0 <= i < len(listed):
            raise Illegal("there is no such outcome here", 400)
        return self._said(listed[i][:2])

    def undo(self, turn: int) -> dict[str, Any]:
        """Take back what was said last."""
        self._fresh(turn)
        if not self.match.said:
            raise Illegal("there is nothing to take back in this round")
        return self._gone(self.match.said[:-1])

    def again(self, turn: int) -> dict[str, Any]:
        """Begin the next round."""
        self._fresh(turn)
        if self.match.waiting is not None:
            raise Illegal("this round is not over")
        if self.match.at + 1 >= self.match.rounds:
            raise Illegal("all rounds are played")
        self.match.again()
        self.turn += 1
        return self.view()

    def _fresh(self, turn: int) -> None:
        if turn != self.turn:
            raise Illegal(f"the table has moved on: this was for turn {turn}, and it is turn {self.turn}")

    def _said(self, said: Any) -> dict[str, Any]:
        if len(self.match.said) >= MOST_SAID:
            raise Illegal("this round is too long")
        return self._gone([*self.match.said, said])

    def _gone(self, said: list[Any]) -> dict[str, Any]:
        self.match.go(said)
        self.turn += 1
        return self.view()

    # --- what is seen -------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """How it stands."""
        match = self.match
        waiting, last = match.waiting, match.events[-1]
        turn = None if waiting is None else waiting.turn
        outcomes, dice = self._to_throw()
        return {
            "id": self.key,
            "turn": self.turn,
            "game": match.case.name,
            "title": title(match.case.name),
            "parameters": match.case.given,
            "sense": match.case.sense,
            "total": 1 if self.game.total == 1 else None,
            "seats": match.table.names,
            "names": match.who if all(match.who) else None,
            "round": match.at + 1,
            "rounds": match.rounds,
            "scores": [[_plain(one) for one in each] for each in match.results],
            "mover": last["seat"],
            "parts": list(self._parts(last["player"])),
            "actions": []
            if turn is None
            else [self._act(*pair) for pair in zip(turn.actions, turn.options, strict=True)],
            "outcomes": outcomes,
            "dice": dice,
            "events": [
                {
                    "kind": "end" if one["event"] == "cut off" else one["event"],
                    "seat": one["seat"],
                    "words": one["words"],
                    "lost": one["lost"],
                    "faces": one["seen"] if one["event"] == "roll" else None,
                }
                for one in match.events[match.marks[1] :]
                if one["event"] != "state"
            ],
            "may_undo": bool(match.said),
            "over": None if waiting else {"payoff": _plain(match.results[-1][0]), "words": last["words"]},
        }

    def _standing(self) -> tuple[Any, Mapping[str, int]]:
        teller = self.match.teller
        assert teller is not None
        return teller.core, teller.counters

    def _seen(self) -> Rolled | None:
        waiting = self.match.waiting
        return self.match.seen if waiting is None else None if waiting.turn is None else waiting.turn.seen

    def _parts(self, player: int) -> Any:
        core, counters = self._standing()
        for part in self.look.table(core, self._seen()):
            if number(part.when, counters):
                owner = {"mover": player, "other": 1 - player, None: None}.get(part.of, part.of)
                seat = None if owner is None else self.match.players[owner]
                yield {
                    "kind": type(part).__name__.lower(),
                    **_fields(part, counters),
                    "of": seat,
                    "seat": seat,
                }

    def _act(self, action: Any, option: Any) -> dict[str, Any]:
        core, counters = self._standing()
        act = self.look.act(core, action, self._seen())
        tap = None if act.tap is None else {"label": act.tap[0], "places": act.tap[1]}
        pays = getattr(option, "reward", 0)
        return {"words": spoken(act.words, counters), "tap": tap, "pays": _plain(pays) if pays else None}

    def _to_throw(self) -> tuple[list[dict[str, Any]] | None, list[dict[str, Any]] | None]:
        """What people may have thrown: a list of it, or the dice."""
        node = None if self.match.waiting is None else self.match.waiting.node
        if node is None:
            return None, None
        listed, throw = _throws(node)
        if listed is None:
            assert throw is not None
            return None, [{"name": die.name, "faces": list(map(phrase, die.faces))} for die in throw.dice]
        core, counters = self._standing()
        found, total = [], sum(weight for *_, weight in listed)
        for outcome, rolled, weight in listed:
            lost = loses(node.edges[node.dist.outcomes.index(outcome)], self.match.case.sense)
            seen = rolled if rolled.faces else None
            said = (
                phrase(outcome)
                if isinstance(outcome, EDGES)
                else self.look.heard(core, outcome, seen, lost=lost)
            )
            faces = [_plain(face) for face in rolled.faces] or None
            chance = str(Fraction(weight, total))
            found.append({"words": spoken(said, counters), "chance": chance, "faces": faces})
        return found, None

    # --- what is known ------------------------------------------------------------------------------

    def advice(self) -> list[dict[str, Any]]:
        """What every action is worth, in the order of the actions."""
        turn = None if self.match.waiting is None else self.match.waiting.turn
        if turn is None:
            raise Illegal("there is nothing to decide now")
        rows = {action: (value, lost) for action, value, lost in self.match.ranked(turn)}
        return [
            {
                "i": i,
                "words": self.look.words(turn.state, action, turn.seen),
                "value": _plain(rows[action][0]),
                "loss": _plain(rows[action][1]),
                "best": not rows[action][1],
                "goals": None,
            }
            for i, action in enumerate(turn.actions)
        ]

    def review(self) -> dict[str, Any]:
        """What every decision of people lost."""
        decisions, lost = [], [0.0] * len(self.match.who)
        for at, (seat, turn, chosen) in enumerate(self.match.decided):
            rows = self.match.ranked(turn)
            loss = next(row[2] for row in rows if row[0] == chosen)
            words, best = (self.look.words(turn.state, action, turn.seen) for action in (chosen, rows[0][0]))
            lost[seat] += loss
            decisions.append(
                {"turn": at, "seat": seat, "words": words, "best_words": best, "loss": _plain(loss)}
            )
        return {"decisions": decisions, "lost": lost}

    def record(self) -> dict[str, Any]:
        """The text that ``mdpdice play --record`` writes."""
        return {"text": self.match.record()}

    def about(self) -> dict[str, Any]:
        """The game, and what is proved of its value, if it is solved."""
        case = self.match.case
        notes = {"title": title(case.name), "game": case.name, "dice": "mine" if self.match.mine else "drawn"}
        return {
            **notes,
            "description": dict(case.rows())["game"],
            "chance": self.game.total == 1,
            **self.match.room.proof,
        }

    def boxes(self) -> dict[str, Any] | None:
        """What is lost if a box were used up now for nothing, by the label of its part; null for used ones."""
        core, counters = self._standing()
        sheets = [part for part in self.look.table(core, self._seen()) if isinstance(part, Boxes)]
        if not sheets or self.match.waiting is None:
            return None
        solution = self.match.room.solution()
        minus = -1.0 if self.match.case.sense == "min" else 1.0
        now = solution.estimate(At(core, **counters))
        found: dict[str, list[float | None]] = {part.label: [None] * len(part.names) for part in sheets}
        for axis in self.look.axes:
            for bit in range(len(axis.boxes)):
                if counters[axis.name] >> bit & 1:
                    continue
                used = {**counters, axis.name: counters[axis.name] | 1 << bit}
                try:
                    less = minus * (now - solution.estimate(At(core, **used)))
                except MdpDiceError:  # play does not come there
                    continue
                for part in sheets:
                    for at, mark in enumerate(part.used):
                        if number(mark, used) and not number(mark, counters):
                            found[part.label][at] = less
        return found

    def chart(self) -> list[dict[str, Any]] | None:
        """The strategy as tables, where the look of the game has one of them."""
        return None


def title(name: str) -> str:
    """What a game is called: without the file that it is in."""
    return name.rpartition(":")[2]


def _plain(value: Any) -> Any:
    """A number or a text as JSON data."""
    if value is None or isinstance(value, bool | str) or type(value) is int:
        return value
    if isinstance(value, int | float | Fraction):
        exact = not isinstance(value, float) and Fraction(value).denominator == 1
        found = int(value) if exact else float(value)
        return found if exact or math.isfinite(found) else str(found)
    return phrase(value)


def _fields(part: Part, counters: Mapping[str, int]) -> dict[str, Any]:
    """The fields of a part, filled in."""
    found = {
        field.name: _filled(getattr(part, field.name), counters)
        for field in attrs.fields(type(part))
        if field.name != "when"
    }
    if isinstance(part, Note):
        found["text"] = spoken(part.text, counters)
    return found


def _filled(value: Any, counters: Mapping[str, int]) -> Any:
    if type(value) is tuple:
        return [_filled(one, counters) for one in value]
    return value.name if isinstance(value, Die) else _plain(number(value, counters))


def _throws(node: Chance[Any]) -> tuple[list[tuple[Hashable, Rolled, int]] | None, Throw | None]:
    """What may be thrown: outcomes with their dice and weights, if they are few enough to list, and the dice."""
    throw = thrown(node.dist)
    if throw is None or not throw.groups:
        pairs = zip(node.dist.outcomes, node.dist.weights, strict=True)
        return [(outcome, Rolled(()), weight) for outcome, weight in pairs], None
    rolls = list(itertools.islice(throw.rolls(), MOST_LISTED + 1))
    if len(rolls) > MOST_LISTED:
        return None, throw
    return [(throw.outcome(faces), Rolled(faces, throw.dice), weight) for faces, weight in rolls], throw


def _tapped(throw: Throw, given: Sequence[Any]) -> tuple[Hashable, Rolled]:
    """The outcome of faces that lie there, in the order of the dice."""
    if len(given) != len(throw.dice):
        raise Illegal(f"there are {len(throw.dice)} dice", 400)
    left, faces = list(map(str, given)), []
    for die, count in throw.groups:
        known = {phrase(face): at for at, face in enumerate(die.faces) if die.weights[at]}
        taken, left = left[:count], left[count:]
        wrong = [face for face in taken if face not in known]
        if wrong:
            raise Illegal(f"a die has no face {wrong[0]:.20}, but {' '.join(known)}", 400)
        faces += [die.faces[at] for at in sorted(known[face] for face in taken)]
    return throw.outcome(tuple(faces)), Rolled(tuple(faces), throw.dice)
