"""How a game is shown and told, as data: parts on the table, actions, outcomes and ends, each written once.

A number in them may be ``{"e": 5}``, the expression of that number, and ``{"s": 1}`` in a text the dice as they lie.
"""

from __future__ import annotations

import functools
import json
import operator
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs

from mdpdice.errors import GameError
from mdpdice.looks import Act, Dice, Look, Part, Rolled, Text, spoken
from mdpdice.looks.text import phrase
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.game import Conditional, End
from mdpdice.modelling.sense import sense_of
from mdpdice.policies.playthrough import EDGES, loses

if TYPE_CHECKING:
    from mdpdice.web.rules import Rules

SEEN = {"s": 1}


def face_data(face: Any) -> Any:
    """Return a face as JSON data."""
    return face if isinstance(face, int | str) and not isinstance(face, bool) else phrase(face)


class Words:
    """Everything that is said of a game by its look; the rules number the expressions."""

    def __init__(self, look: Look[Any], rules: Rules) -> None:
        self.look, self.rules = look, rules
        self.lists: dict[str, list[Any]] = {}
        self.known: dict[str, dict[Hashable, int]] = {}
        self._classes: dict[Any, Any] = {}
        self._known: dict[Any, int] = {}
        self._dice: dict[int, str] = {}  # by identity: those of a throw are made once
        self._parts: dict[tuple[int, bool], tuple[Part, int]] = {}  # by identity: the first of every kind
        self._ends: dict[tuple[int, int], list[Rolled]] = {}
        self.put("variants", "[]", [])

    def put(self, kind: str, key: Hashable, data: Any = None) -> int:
        """Return the number of some data in the list of their kind; without data the key is what is listed."""
        known = self.known.setdefault(kind, {})
        if (number := known.get(key)) is None:
            number = known[key] = len(known)
            self.lists.setdefault(kind, []).append(key if data is None else data)
        return number

    def _once(self, key: Any, make: Callable[..., int], *given: Any, plain: bool = False) -> int:
        """Return what is made of what is given, once for every key; where that cannot be one, it is made every time."""
        try:
            if (number := self._known.get(key)) is None:
                number = self._known[key] = make(*given)
            return number
        except (GameError, TypeError):
            return make(*given) if plain else self._once(_keyed(key), make, *given, plain=True)

    def value(self, value: Any) -> Any:
        """Return a number, text or condition of a part."""
        if isinstance(value, Expr):
            return {"e": self.rules.expr(value)} if value.op != "constant" else self.value(value.args[0])
        return float(value) if isinstance(value, Fraction) else value

    def text(self, text: Text, seen: Rolled | None = None) -> int:
        """Return the number of a text, in which the dice that lie there may be named."""
        if (dice := self._dice.get(id(seen))) is None:
            dice = self._dice[id(seen)] = str(seen) if seen else ""
        return self._once((text, dice), self._text, text, dice)

    def _text(self, text: Text, dice: str) -> int:
        plain = isinstance(text, str) or not any(isinstance(piece, Expr) for piece in text)
        said: list[Any] = []
        for piece in (spoken(text, {}),) if plain else text:
            one = self.value(piece)
            before, found, after = str(piece).partition(dice) if dice and isinstance(piece, str) else ("", "", "")
            for part in [before, SEEN, after] if found else [one if isinstance(one, dict) else str(piece)]:
                if said and isinstance(part, str) and isinstance(said[-1], str):
                    said[-1] += part
                elif part:
                    said.append(part)
        return self.put("texts", json.dumps(said), said)

    # --- the table --------------------------------------------------------------------------------

    def part(self, part: Any, seen: Rolled | None) -> int:
        """Return the number of a part; dice that show what was thrown stand for any throw."""
        thrown = seen is not None and isinstance(part, Dice) and part.faces == seen.faces
        if (known := self._parts.get((id(part), thrown))) is not None:  # a fast look shows one object again and again
            return known[1]
        given = _values_of(type(part))(part)  # type: ignore[arg-type]  # classes are hashable
        key, fresh = (type(part), thrown, given, tuple(map(type, given))), len(self._known)
        number = self._once(key, self._part, part, thrown)  # 1 and True are equal in Python
        if len(self._known) > fresh:
            self._parts[id(part), thrown] = part, number
        return number

    def _part(self, part: Any, thrown: bool) -> int:
        fields = attrs.asdict(part, recurse=False)
        if isinstance(part, Dice):
            names = [die.name for die in part.dice]
            fields["dice"] = names if any(names) and not thrown else []
            fields["faces"] = SEEN if thrown else [face_data(face) for face in part.faces]
        told = {name: self.text(one) if name == "text" else self._values(one) for name, one in fields.items()}
        data = {"kind": type(part).__name__.lower(), **told}
        return self.put("parts", json.dumps(data), data)

    def _values(self, value: Any) -> Any:
        if isinstance(value, tuple | list):
            return [self._values(one) for one in value]
        plain = value is None or isinstance(value, Expr | int | float | Fraction | str | dict)
        return self.value(value) if plain else phrase(value)

    def table(self, core: Any, arrivals: Sequence[tuple[int, int]], *, bare: bool) -> tuple[int, int]:
        """How a state is shown: a list of parts, and lists by the dice that lie there, where that matters.

        `arrivals` are the throws and outcomes that lead there; `bare`: play comes there without dice, too.
        """
        rolls = [seen for arrival in dict.fromkeys((*arrivals[:1], *arrivals[-1:])) for seen in self._some(arrival)]
        lying = [self.look.table(core, seen) for seen in rolls]
        plain = self.look.table(core) if bare or not arrivals else None
        shown = lying if plain is None else [plain, *lying]
        same = len(shown) == 1
        if not same:
            faces = [[part.faces for part in parts if isinstance(part, Dice)] for parts in shown]
            same = all(one == faces[0] for one in faces)

        def say(seen: Rolled | None, parts: Sequence[Part]) -> int:
            return self.put("tables", tuple(self.part(one, None if same else seen) for one in parts))

        ends = set(map(say, rolls, lying))
        if plain is None and len(ends) == 1:
            return ends.pop(), 0
        usual = say(None, self.look.table(core) if plain is None else plain)
        if not ends - {usual}:
            return usual, 0
        rolled = lambda seen: say(seen, self.look.table(core, seen))  # noqa: E731
        found = [[throw, outcome, self._rolls(throw, outcome, rolled)] for throw, outcome in arrivals]
        return usual, self.put("variants", json.dumps(found), found)

    # --- what is done and what happens --------------------------------------------------------------

    def menu(self, core: Any, actions: Sequence[Any], arrivals: Sequence[tuple[int, int]]) -> tuple[int, int]:
        """Return what actions look like, and what they look like by the dice that lie there, where that matters."""

        def say(seen: Rolled | None) -> int:
            acts = [self.look.act(core, action, seen) for action in actions]
            return self.put("menus", tuple([self._once((x.words, x.tap), self._act, x) for x in acts]))

        usual, found = say(None), []

        # What is said alike without dice, of two states, is said alike with them: such states differ in scores.
        # Of the first ones this is looked at.
        def differs(arrival: tuple[int, int]) -> bool:
            times, rolls = self._classes.get((usual, *arrival), (0, [usual]))
            if times < 2 and any(say(seen) != usual for seen in self._some(arrival)):
                return True
            self._classes[usual, *arrival] = times + 1, rolls
            return rolls not in ([], [usual])

        for throw, outcome in arrivals if any(map(differs, arrivals[:: len(arrivals) // 8 + 1])) else ():
            key: tuple[Any, ...] = (usual, throw, outcome)
            times, rolls = self._classes.get(key, (0, None))
            if times < 2:
                ends = {say(seen) for seen in self._some((throw, outcome))}
                if rolls is None or not ends <= set(rolls):
                    key, rolls = (core, *key) if times else key, self._rolls(throw, outcome, say)
            self._classes[key] = times + 1, rolls
            if rolls and rolls != [usual]:
                found.append([throw, outcome, rolls])
        return usual, self.put("variants", json.dumps(found), found) if found else 0

    def _act(self, act: Act) -> int:
        tap = act.tap and [act.tap[0], [list(places) for places in act.tap[1]]]
        return self.put("acts", (words := self.text(act.words), act.tap), [words, tap])

    def _some(self, arrival: tuple[int, int]) -> list[Rolled]:
        """Return the first and the last roll of an outcome."""
        if (found := self._ends.get(arrival)) is None:
            made = self.rules.throws[arrival[0]]
            rolls = made.rolls.get(arrival[1], [])
            found = self._ends[arrival] = [made.rolled[roll] for roll in dict.fromkeys((*rolls[:1], *rolls[-1:]))]
        return found

    def _rolls(self, throw: int, outcome: int, say: Any) -> list[int]:
        """Return what is said with every roll of an outcome; once, if that is the same."""
        made = self.rules.throws[throw]
        each = [say(made.rolled[roll]) for roll in made.rolls.get(outcome, [])]
        return each if len(set(each)) > 1 else each[:1]

    def heard(self, core: Any, throw: int, edges: Sequence[Any]) -> int:
        """Return what is said of the outcomes of a throw, where they lose something and where not."""
        may = tuple(frozenset(losses(edge, self.rules)) for edge in edges)
        key = throw, may, None if type(self.look).heard is Look.heard else core  # a look may say it by the state

        def say() -> int:
            both, each = (False, True), enumerate(may)
            found = [[self._heard(core, throw, at, one) if one in some else -1 for one in both] for at, some in each]
            return self.put("heard", json.dumps(found), found)

        return self._once(key, say)

    def _heard(self, core: Any, throw: int, at: int, lost: bool) -> Any:
        made = self.rules.throws[throw]
        outcome, rolls = made.outcomes[at], made.rolls.get(at, [])
        if isinstance(outcome, EDGES):
            return -1

        def say(roll: int | None) -> int:
            seen = None if roll is None else made.rolled[roll]
            return self.text(self.look.heard(core, outcome, seen, lost=lost), seen)

        if not rolls:
            return say(None)
        each = [say(roll) for roll in (rolls[0], rolls[-1])]
        return each[0] if each[0] == each[1] else [say(roll) for roll in rolls]

    def ending(self, core: Any, action: Any, outcome: Any, payoff: Any) -> int:
        """Return what is said of an end; -1 where its payoff says all."""
        if type(self.look).ending is Look.ending:
            return -1
        try:
            text = self.look.ending(core, action, outcome, payoff)
            # What follows a semicolon is what lies there, which the page shows.
            return self.text(text.partition(";")[0] if isinstance(text, str) else text)
        except Exception:  # noqa: BLE001 - a look may need an action, and the end of a state on its own has none
            return -1


_values_of = functools.cache(lambda kind: operator.attrgetter(*(field.name for field in attrs.fields(kind))))


def _keyed(value: Any) -> Any:
    """Return what is the same for the same expressions, and may be a key."""
    if isinstance(value, Expr):
        return Expr, value.key
    return tuple(map(_keyed, value)) if isinstance(value, tuple) else value


def losses(edge: Any, rules: Rules) -> set[bool]:
    """Whether a roll that is followed by this edge may lose something, and may not."""
    if isinstance(edge, Conditional):
        return losses(edge.then, rules) | losses(edge.otherwise, rules)
    if isinstance(edge, End) and isinstance(edge.payoff, Expr):
        return {False, True}
    return {loses(edge, sense_of(rules.game))}
