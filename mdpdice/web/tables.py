"""Tables: a match that people play over HTTP, as the JSON that the page shows (``docs/server.md``)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs

from mdpdice.errors import MdpDiceError
from mdpdice.looks import Boxes, Note, Rolled, spoken
from mdpdice.looks.parts import number
from mdpdice.looks.text import phrase
from mdpdice.looks.throw import Die, Throw, thrown
from mdpdice.modelling.game import Chance
from mdpdice.modelling.grid import At
from mdpdice.policies.playthrough import EDGES, loses
from mdpdice.spelling import title

if TYPE_CHECKING:
    from mdpdice.cli.served import Sitting

MOST_LISTED = 60
"""Throws up to which all of them are listed; of more the dice are asked for one by one."""
MOST_ROWS = 200
MOST_SAID = 10_000
"""Decisions and throws of people in a round."""


class Illegal(Exception):  # noqa: N818 - nothing is broken
    """What cannot be done now (status 409), or never (400), in words."""

    def __init__(self, words: str, status: int = 409) -> None:
        super().__init__(words)
        self.status = status


class Table:
    """A match by the name `key`, and what may be done in it; `turn` grows with every change."""

    def __init__(self, key: str, match: Sitting) -> None:
        self.key, self.match, self.turn = key, match, 0
        self.case, self.look = match.case, match.case.look

    # --- what is done -------------------------------------------------------------------------------

    def choose(self, turn: int, i: int) -> dict[str, Any]:
        """Take action `i` of those offered."""
        self._fresh(turn)
        if (decision := self.match.waiting.turn) is None:
            raise Illegal("there is nothing to decide now")
        if not 0 <= i < len(decision.actions):
            raise Illegal(f"there is no action {i} here, but {len(decision.actions)} of them", 400)
        return self._go([*self.match.said, decision.actions[i]])

    def roll(self, turn: int, i: int | None, faces: Sequence[Any] | None) -> dict[str, Any]:
        """Say which of the outcomes was thrown, by its number or by its faces."""
        self._fresh(turn)
        if (node := self.match.waiting.node) is None:
            raise Illegal("nobody has to throw dice now")
        listed, throw = _throws(node)
        if faces is not None and throw is not None:
            return self._go([*self.match.said, _tapped(throw, faces)])
        if i is None or listed is None or not 0 <= i < len(listed):
            raise Illegal("there is no such outcome here", 400)
        return self._go([*self.match.said, listed[i][:2]])

    def undo(self, turn: int) -> dict[str, Any]:
        """Take back what was said last."""
        self._fresh(turn)
        if not self.match.said:
            raise Illegal("there is nothing to take back in this round")
        return self._go(self.match.said[:-1])

    def again(self, turn: int) -> dict[str, Any]:
        """Begin the next round."""
        self._fresh(turn)
        if not self.match.over:
            raise Illegal("this round is not over")
        if self.match.at + 1 >= self.match.rounds:
            raise Illegal("all rounds are played")
        return self._go(None)

    def _fresh(self, turn: int) -> None:
        if turn != self.turn:
            raise Illegal(f"the table has moved on: this was for turn {turn}, and it is turn {self.turn}")

    def _go(self, said: list[Any] | None) -> dict[str, Any]:
        if len(said or ()) > MOST_SAID:
            raise Illegal("this round is too long")
        self.match.again() if said is None else self.match.go(said)
        self.turn += 1
        return self.view()

    # --- what is seen -------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """How it stands."""
        match, last = self.match, self.match.events[-1]
        turn = match.waiting.turn
        options = () if turn is None else zip(turn.actions, turn.options, strict=True)
        outcomes, dice = self._to_throw()
        stands = {"id": self.key, "turn": self.turn, "may_undo": bool(match.said), "mover": last["seat"]}
        asked: dict[str, Any] = {"game": self.case.name, "title": title(self.case.name), "parameters": self.case.given}
        asked |= {"sense": self.case.sense, "total": 1 if self.case.game.total == 1 else None}
        scores = [[_plain(one) for one in each] for each in match.results]
        rounds = {"round": match.at + 1, "rounds": match.rounds, "scores": scores}
        seats = {"seats": match.table.names, "names": match.who if all(match.who) else None}
        shown = {"parts": list(self._parts(last["player"])), "actions": [self._act(*option) for option in options]}
        events = []
        for one in match.events[match.marks[1] :]:
            kind = {"cut off": "end"}.get(one["event"], one["event"])
            told = {"kind": kind, "seat": one["seat"], "faces": one["seen"] if kind == "roll" else None}
            events += [] if kind == "state" else [{**told, "words": one["words"], "lost": one["lost"]}]
        over = {"payoff": scores[-1][0], "words": last["words"]} if match.over else None
        said = {"outcomes": outcomes, "dice": dice, "events": events, "over": over}
        return {**stands, **asked, **rounds, **seats, **shown, **said}

    @property
    def _seen(self) -> Rolled | None:
        turn = self.match.waiting.turn
        return self.match.seen if self.match.over else None if turn is None else turn.seen

    def _parts(self, player: int) -> Iterator[dict[str, Any]]:
        core, counters = self.match.standing
        for part in self.look.table(core, self._seen):
            if number(part.when, counters):
                owner = {"mover": player, "other": 1 - player}.get(str(part.of), part.of)
                seat = None if owner is None else self.match.players[int(owner)]
                fields = attrs.asdict(part, recurse=False).items()
                found = {name: _filled(one, counters) for name, one in fields if name != "when"}
                found |= {"text": spoken(part.text, counters)} if isinstance(part, Note) else {}
                yield {"kind": type(part).__name__.lower(), **found, "of": seat, "seat": seat}

    def _act(self, action: Any, option: Any) -> dict[str, Any]:
        core, counters = self.match.standing
        act, pays = self.look.act(core, action, self._seen), getattr(option, "reward", 0)
        tap = act.tap and {"label": act.tap[0], "places": act.tap[1]}
        return {"words": spoken(act.words, counters), "tap": tap, "pays": _plain(pays) if pays else None}

    def _to_throw(self) -> tuple[list[dict[str, Any]] | None, list[dict[str, Any]] | None]:
        """Return what people may have thrown: a list of it, or the dice."""
        if (node := self.match.waiting.node) is None:
            return None, None
        listed, throw = _throws(node)
        if listed is None:
            dice = () if throw is None else throw.dice
            return None, [{"name": die.name, "faces": list(map(phrase, die.faces))} for die in dice]
        core, counters = self.match.standing
        found, total = [], sum(weight for *_, weight in listed)
        for outcome, rolled, weight in listed:
            lost = loses(node.edges[node.dist.outcomes.index(outcome)], self.case.sense)
            edge, seen = isinstance(outcome, EDGES), rolled if rolled.faces else None
            said = phrase(outcome) if edge else self.look.heard(core, outcome, seen, lost=lost)
            faces = [_plain(face) for face in rolled.faces] or None
            found.append({"words": spoken(said, counters), "chance": str(Fraction(weight, total)), "faces": faces})
        return found, None

    # --- what is known ------------------------------------------------------------------------------

    def advice(self) -> list[dict[str, Any]]:
        """Return what every action is worth, in the order of the actions."""
        if (turn := self.match.waiting.turn) is None:
            raise Illegal("there is nothing to decide now")
        rows = {action: (_plain(value), _plain(lost)) for action, value, lost in self.match.ranked(turn)}
        told, chances = [], self.match.room.goals(turn)
        for i, action in enumerate(turn.actions):
            value, loss = rows[action]
            words = self.look.words(turn.state, action, turn.seen)
            goals = {name: found[action] for name, found in chances.items()} or None
            told.append({"i": i, "words": words, "value": value, "loss": loss, "best": not loss, "goals": goals})
        return told

    def review(self) -> dict[str, Any]:
        """Return what every decision of people lost."""
        decisions, lost = [], [0.0] * len(self.match.who)
        for at, (seat, turn, chosen) in enumerate(self.match.decided):
            rows = self.match.ranked(turn)
            loss = next(row[2] for row in rows if row[0] == chosen)
            words, best = (self.look.words(turn.state, action, turn.seen) for action in (chosen, rows[0][0]))
            lost[seat] += loss
            decisions.append({"turn": at, "seat": seat, "words": words, "best_words": best, "loss": _plain(loss)})
        return {"decisions": decisions, "lost": lost}

    def record(self) -> dict[str, Any]:
        """Return the text that ``mdpdice play --record`` writes."""
        return {"text": self.match.record()}

    def about(self) -> dict[str, Any]:
        """Return the game, and what is proved of its value, if it is solved."""
        about = {"game": self.case.name, "title": title(self.case.name), "chance": self.case.game.total == 1}
        return {**about, "dice": "mine" if self.match.mine else "drawn", **self.match.room.proof}

    def boxes(self) -> dict[str, Any] | None:
        """Return how much less a turn is worth without each box, by the label of its part; null for used ones."""
        core, counters = self.match.standing
        sheets = [part for part in self.look.table(core, self._seen) if isinstance(part, Boxes)]
        if not sheets or self.match.over:
            return None
        solution = self.match.room.solution()

        def worth(values: Mapping[str, int]) -> float:
            try:
                return solution.estimate(At(self.look.start, **values))
            except MdpDiceError:  # play does not come there
                return math.nan

        found: dict[str, list[float | None]] = {part.label: [None] * len(part.names) for part in sheets}
        for name, bit in ((axis.name, 1 << bit) for axis in self.look.axes for bit in range(len(axis.boxes))):
            used = {**counters, name: counters[name] | bit}
            less = worth(counters) - worth(used)
            for part in sheets:
                for at, mark in enumerate(part.used):
                    if not math.isnan(less) and number(mark, used) and not number(mark, counters):
                        found[part.label][at] = -less if self.case.sense == "min" else less
        return found

    def distribution(self) -> dict[str, Any] | None:
        """Return the totals that best play comes to from a decision, where that is known."""
        from mdpdice.web.charts import distribution  # a page needs none of what it imports

        turn = self.match.waiting.turn
        return None if turn is None else distribution(self.match.room, turn, float(self.match.total))

    def chart(self) -> list[dict[str, Any]] | None:
        """Return the strategy as short tables, where the look of the game has some, or as a map; null if unknown."""
        from mdpdice.web.charts import strategy_map

        turn, room = self.match.waiting.turn, self.match.room
        return charts(room.tables()) or (turn and strategy_map(room, turn)) or None


def charts(tables: Sequence[Any]) -> list[dict[str, Any]]:
    """Return the tables of the strategy that are short, as data."""
    found = []
    for table in (one for one in tables if len(one.rows) <= MOST_ROWS):
        columns = [column.replace("_", " ") for column in table.columns]
        rows = [list(map(_plain, row)) for row in table.rows]
        found.append({"kind": "table", "title": table.title, "columns": columns, "rows": rows, "at": None})
    return found


def _plain(value: Any) -> Any:
    """Return a number or a text as JSON data."""
    if value is None or isinstance(value, bool | str):
        return value
    if not isinstance(value, int | float | Fraction):
        return phrase(value)
    if not isinstance(value, float) and Fraction(value).denominator == 1:
        return int(value)
    return float(value) if math.isfinite(value) else str(float(value))


def _filled(value: Any, counters: Mapping[str, int]) -> Any:
    if type(value) is tuple:
        return [_filled(one, counters) for one in value]
    return value.name if isinstance(value, Die) else _plain(number(value, counters))


def _throws(node: Chance[Any]) -> tuple[list[tuple[Any, Rolled, int]] | None, Throw | None]:
    """Return what may be thrown: outcomes with their dice and weights, if they are few enough to list, and the dice."""
    throw = thrown(node.dist)
    if throw is None or not throw.groups:
        pairs = zip(node.dist.outcomes, node.dist.weights, strict=True)
        return [(outcome, Rolled(()), weight) for outcome, weight in pairs], None
    rolls = list(itertools.islice(throw.rolls(), MOST_LISTED + 1))
    if len(rolls) > MOST_LISTED:
        return None, throw
    merged: dict[Any, tuple[Any, Rolled, int]] = {}
    alike = len(set(throw.dice)) == 1
    for faces, weight in rolls:
        # Nobody tells alike dice apart, where it does not matter which is which.
        key = throw.outcome(faces), tuple(sorted(faces, key=throw.dice[0].faces.index) if alike else faces)
        known = merged.get(key, (key[0], Rolled(faces, throw.dice), 0))
        merged[key] = *known[:2], known[2] + weight
    return list(merged.values()), throw


def _tapped(throw: Throw, given: Sequence[Any]) -> tuple[Any, Rolled]:
    """Return the outcome of faces that lie there, in the order of the dice."""
    if len(given) != len(throw.dice):
        raise Illegal(f"there are {len(throw.dice)} dice", 400)
    left, faces = list(map(str, given)), []
    for die, count in throw.groups:
        known = {phrase(face): at for at, face in enumerate(die.faces) if die.weights[at]}
        taken, left = left[:count], left[count:]
        if wrong := [face for face in taken if face not in known]:
            raise Illegal(f"a die has no face {wrong[0]:.20}, but {' '.join(known)}", 400)
        faces += [die.faces[at] for at in sorted(known[face] for face in taken)]
    return throw.outcome(tuple(faces)), Rolled(tuple(faces), throw.dice)
