"""The look of a game that has none of its own, from its declaration alone.

Counters come first, as declared, then the fields of the core state, then dice that were seen and are shown nowhere.
Names show what is a die and whose a score is; see `docs/looks.md`.
"""

from __future__ import annotations

import enum
import re
from collections import Counter as Multiset
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from mdpdice.looks.parts import Act, Boxes, Dice, Grid, Note, Owner, Part, Score, Tokens
from mdpdice.looks.text import phrase, spaced
from mdpdice.looks.throw import Rolled
from mdpdice.modelling.game import Conditional, Decide, Game
from mdpdice.modelling.grid import Axis
from mdpdice.modelling.text import ITSELF, init_fields

_DICE = re.compile(r"(dice|die|roll|rolled|hold|held|keep|kept|throw|thrown|faces?|hand)$")
_SIDES = re.compile(r"(mine|theirs|my|their)(?:_(.*))?")


def has_fields(value: Any) -> bool:
    """Whether a value is of a class with fields."""
    return init_fields(value) is not None


def table(game: Game[Any, Any], axes: tuple[Axis, ...], state: Any, seen: Rolled | None) -> list[Part]:
    """Return the parts that show a core state."""
    parts = [*_counters(game, axes), *_core(game, axes, state)]
    if seen is not None and seen.faces and not any(isinstance(part, Dice) for part in parts):
        parts.append(Dice("rolled", faces=seen.faces, dice=seen.dice))
    return parts


def act(parts: list[Part], action: Any) -> Act:
    """Return the words of an action, and what it takes of these parts."""
    words = phrase(action).strip()
    fields = None if type(action) in (int, str, tuple) else init_fields(action)  # most have none
    held = [action, *(fields or {}).values()]
    inner = next((one for one in held if isinstance(one, tuple) and not hasattr(one, "_fields")), None)
    for part in parts:
        if isinstance(part, Boxes) and (named := [one for one in held if isinstance(one, str) and one in part.names]):
            return Act(words, (part.label, ((part.names.index(named[0]),),)))
        items = _items(part)
        if inner is not None and items and len(places := _places(inner, items)) == len(inner):
            return Act(words if inner else f"{words} none".strip(), (part.label, (places,)))
    return Act(words or "nothing")


def names_at(part: Part, places: tuple[int, ...]) -> list[str]:
    """Return what lies at some places of a part, as a player would type it."""
    items = part.names if isinstance(part, Boxes) else _items(part)
    return [str(items[at]) if items else str(at + 1) for at in places]


def _items(part: Part) -> tuple[Any, ...]:
    return part.faces if isinstance(part, Dice) else part.items if isinstance(part, Tokens) else ()


def _counters(game: Game[Any, Any], axes: tuple[Axis, ...]) -> Iterator[Part]:
    goal = getattr(game, "goal", getattr(game, "target", None))
    for axis in axes:
        label, of = _side(axis.name)
        value = getattr(game, axis.name)
        if axis.boxes:
            yield Boxes(label, of, names=axis.boxes, used=tuple(value[at] for at in range(len(axis.boxes))))
        elif axis.values in (range(1), range(2)):
            yield Note(label, of, value == 1, text="yes")
        else:
            yield Score(label, of, value=value, goal=goal if of and isinstance(goal, int) else None)


def _core(game: Game[Any, Any], axes: tuple[Axis, ...], state: Any) -> Iterator[Part]:
    if (fields := init_fields(state)) is None:
        if axes and state == game.start():
            return
        fields = {ITSELF: state}
    for name, value in fields.items():
        label, of = _side(name)
        pips = isinstance(value, tuple) and all(type(face) is int and 1 <= face <= 20 for face in value)
        if pips and (_DICE.search(name) or (name == ITSELF and _taken_apart(game, value))):
            yield Dice(label, of, faces=value)
        elif type(value) is int and _DICE.search(name) and name != "dice":
            yield Dice(label, of, faces=(value,))
        elif isinstance(value, tuple) and value and all(type(column) is tuple for column in value):
            high = max(map(len, value))
            rows = (tuple(column[at] if at < len(column) else "" for column in value) for at in range(high))
            yield Grid(label, of, rows=tuple(rows))
        elif isinstance(value, frozenset):
            yield Tokens(label, of, items=tuple(map(phrase, sorted(value, key=repr))))
        elif isinstance(value, tuple) and not has_fields(value):
            yield Tokens(label, of, items=value)
        elif isinstance(value, int | float | Fraction) and not isinstance(value, bool | enum.Enum):
            yield Score(label, of, value=value)
        else:
            yield Note(label, of, text=phrase(value))


def _taken_apart(game: Game[Any, Any], core: tuple[Any, ...]) -> bool:
    """Whether the actions of a core state are tuples of its items."""
    taken = [action for action in _actions(game.node(core)) if isinstance(action, tuple)]
    return bool(taken) and all(not Multiset(action) - Multiset(core) for action in taken)


def _actions(node: Any) -> list[Any]:
    if isinstance(node, Conditional):
        return _actions(node.then) + _actions(node.otherwise)
    return list(node.actions) if isinstance(node, Decide) else []


def _side(name: str) -> tuple[str, Owner | None]:
    """Return what a field is called, and whose it is."""
    if not (found := _SIDES.fullmatch(name)):
        return ("" if name == ITSELF else spaced(name)), None
    return spaced(found[2] or ""), "mover" if found[1] in ("mine", "my") else "other"


def _places(inner: tuple[Any, ...], items: tuple[Any, ...]) -> tuple[int, ...]:
    """Places of some of the items."""
    left, found = list(inner), []
    for at, item in enumerate(items):
        if item in left:
            left.remove(item)
            found.append(at)
    return tuple(found)
