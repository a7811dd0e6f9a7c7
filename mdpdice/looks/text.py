"""States, actions and other values as text that people read and write.

=========================================  ==============================================================
``12``, ``1/3``, ``0.5``                   a number
``turn``, ``"full house"``                 a string
``yes``, ``no``, ``none``                  True, False, None
``2,5,5``, ``[5]``, ``[]``                 a tuple; with brackets where it has fewer than two items, or is inside
                                           another value
``{1,2}``                                  a frozenset
``Color.RED``                              a member of an enum
``rolled dice=2,5,5 rerolls=1``            a value of a class with fields, here ``Rolled``
``[Inner(a=1 b=[]),2]``                    the same inside another value
=========================================  ==============================================================

Blanks may stand for commas.  Where field names say which class is meant its name may be left out, and one number may
stand for a tuple of one where the annotation asks for a tuple.  Nothing is evaluated or imported by name: only
classes that a game's type annotations mention are made.
"""

from __future__ import annotations

import enum
import json
import re
import typing
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from mdpdice.errors import UnknownStateError
from mdpdice.modelling.text import REMEDY, hints_of, init_fields, init_names, shorten

_WORDS = {"yes": True, "no": False, "none": None, "true": True, "false": False, "null": None}
_FLOATS = ("inf", "nan", "infinity")
_BARE = re.compile(r"[A-Za-z][\w'-]*")
_NUMBER = r"[+-]?(?:\d{1,4000}/0*[1-9]\d{0,4000}|\d+\.\d*(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\d+|inf|nan)(?![\w.])"


def spaced(name: str) -> str:
    """``CrossOut`` and ``cross_out`` as words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", name).strip().lower()


def phrase(value: Any) -> str:
    """Return an action or outcome in words: ``CrossOut("pair")`` is "cross out pair"."""
    if type(value) in (int, str):
        return str(value)  # most are, and this is fast
    if (fields := init_fields(value)) is not None:
        named = len(fields) > 1
        shown = (f"{spaced(key)} {phrase(one)}" if named else phrase(one) for key, one in fields.items())
        return " ".join([spaced(type(value).__name__), *shown])
    if isinstance(value, enum.Enum):
        return spaced(value.name)
    if isinstance(value, tuple | frozenset):
        return " ".join(map(phrase, sorted(value, key=repr) if isinstance(value, frozenset) else value))
    return _atom(value) or str(value)


def _atom(value: Any) -> str | None:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else "none" if value is None else None


def written(value: Any, *, top: bool = False, taken: frozenset[str] = frozenset()) -> str:
    """Text of a value, which `Reader` reads; an UnknownStateError if a part of it has none.

    At the `top` it is not part of another value; strings like the words in `taken`, which name classes, are quoted.
    """
    return _written(value, taken, bare=top, classes=top)


def _written(value: Any, taken: frozenset[str], *, bare: bool, classes: bool = False) -> str:
    """Text of a value; `bare` tuples go without brackets, and `classes` at the top without parentheses."""
    if (fields := init_fields(value)) is not None:
        shown = [f"{key}={_written(one, taken, bare=classes)}" for key, one in fields.items()]
        if classes:
            return " ".join([class_word(type(value)), *shown])
        return f"{type(value).__name__}({' '.join(shown)})"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if (atom := _atom(value)) is not None:
        return atom
    if type(value) in (int, float, Fraction):
        return f"{value}/1" if type(value) is Fraction and value.denominator == 1 else str(value)
    if isinstance(value, str):
        plain = _BARE.fullmatch(value) and value not in taken and value.lower() not in (*_WORDS, *_FLOATS)
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        inner = ",".join(_written(item, taken, bare=False) for item in value)
        return inner if bare and len(value) > 1 else f"[{inner}]"
    if isinstance(value, frozenset):
        return "{" + ",".join(sorted(_written(item, taken, bare=False) for item in value)) + "}"
    raise UnknownStateError(f"{value!r} has no text; {REMEDY}", value=value)


def class_word(cls: type) -> str:
    """Return the word of a class at the beginning of a text."""
    return spaced(cls.__name__).replace(" ", "-")


class Reader:
    """Reads what `written` writes, and makes values of these classes only."""

    def __init__(self, text: str, classes: Mapping[str, type]) -> None:
        self.text, self.at = text, 0
        self.classes = classes
        self.words = {class_word(cls): cls for cls in classes.values()} | dict(classes)

    def pairs(self) -> tuple[Any, dict[str, list[Any]]]:
        """Read a whole line: a class or value in front, or `Ellipsis` where there is none, and what is named."""
        try:
            return self._pairs()
        except RecursionError as error:
            raise UnknownStateError(f"{shorten(self.text)} is nested too deep", value=self.text) from error

    def _pairs(self) -> tuple[Any, dict[str, list[Any]]]:
        head: Any = ...
        word = re.compile(rf"\s*({_BARE.pattern})(?=\s(?!\s*=)|$)").match(self.text, self.at)
        if word and word[1] in self.words and not issubclass(self.words[word[1]], enum.Enum):
            head, self.at = self.words[word[1]], word.end()
        elif self.text.strip() and not self._follows(r"\w+\s*="):
            head = self._value(bare=True)
        named: dict[str, list[Any]] = {}
        while (key := self._name()) is not None:
            named.setdefault(key, []).append(self._value(bare=True))
        if self.text[self.at :].strip():
            raise self._refused()
        return head, named

    def value(self) -> Any:
        """Read a whole line that is one value; like all else here, an `UnknownStateError` where that cannot be."""
        head, named = self.pairs()
        return self.made(head, {key: values[-1] for key, values in named.items()})

    def made(self, head: Any, fields: dict[str, Any]) -> Any:
        """Return what a class, or a value, in front of some fields stands for."""
        if head is ...:
            names = fields.keys()
            fitting = [cls for cls in self.classes.values() if names and names == set(init_names(cls) or ())]
            if len(fitting) != 1:
                given = ", ".join(fields)
                msg = f"{shorten(self.text)!r} is not a state: {given or 'a name'} is unknown, or there twice"
                raise UnknownStateError(msg, value=self.text)
            head = fitting[0]
        if isinstance(head, type):
            return self._instance(head, fields)
        if fields:
            raise self._refused()
        return head

    def _instance(self, cls: type, fields: dict[str, Any]) -> Any:
        hints = hints_of(cls)
        for key, given in fields.items():
            if typing.get_origin(hints.get(key)) is tuple and not isinstance(given, tuple):
                fields[key] = (given,)
        try:
            return cls(**fields)
        except Exception as error:
            msg = f"{shorten(self.text)} does not describe a {class_word(cls)}: {error}"
            raise UnknownStateError(msg, value=self.text) from error

    def _value(self, *, bare: bool = False) -> Any:
        first = self._one()
        items = [first]
        # Blanks may stand for commas, up to the next name.
        while bare and (self._take(",") or (self._follows(r"\S") and not self._follows(r"\w+\s*="))):
            items.append(self._one())
        return tuple(items) if len(items) > 1 else first

    def _one(self) -> Any:
        for opening, closing, make in (("[", "]", tuple), ("{", "}", frozenset)):
            if self._take(re.escape(opening)):
                items = []
                while not self._take(re.escape(closing)):
                    items.append(self._one())
                    self._take(",")
                return make(items)
        if (quoted := self._take(r'"(?:[^"\\]|\\.)*"')) is not None:
            return self._number(json.loads, quoted)
        if (found := self._take(_NUMBER)) is not None:
            kind: Any = Fraction if "/" in found else int if re.fullmatch(r"[+-]?\d+", found) else float
            return self._number(kind, found)
        if (word := self._take(rf"{_BARE.pattern}(?:\.\w+)?")) is None:
            raise self._refused()
        if word in _WORDS:
            return _WORDS[word]
        name, _, member = word.partition(".")
        if member and name in self.classes and issubclass(self.classes[name], enum.Enum):
            members = cast("Any", self.classes[name]).__members__
            if member in members:
                return members[member]
        if member:
            self.at -= len(word)
            raise self._refused()
        if name in self.words and self._take(r"\("):
            fields = {}
            while (key := self._name()) is not None:
                fields[key] = self._value()
            if not self._take(r"\)"):
                raise self._refused()
            return self._instance(self.words[name], fields)
        return word

    def _number(self, kind: Any, text: str) -> Any:
        try:
            return kind(text)
        except ValueError as error:  # an int of too many digits, a text that breaks off
            raise UnknownStateError(f"{shorten(text)}: {error}", value=self.text) from error

    def _name(self) -> str | None:
        """Return the name in front of the next value."""
        name = self._take(r"\w+\s*=")
        return name and name[:-1].rstrip()

    def _take(self, pattern: str) -> str | None:
        if found := re.compile(rf"\s*({pattern})").match(self.text, self.at):
            self.at = found.end()
        return found[1] if found else None

    def _follows(self, pattern: str) -> bool:
        return re.compile(rf"\s*{pattern}").match(self.text, self.at) is not None

    def _refused(self) -> UnknownStateError:
        rest = self.text[self.at :].strip()
        where = f"not understood at {shorten(rest)!r}" if rest else "it breaks off"
        return UnknownStateError(f"{shorten(self.text)!r} is not a state: {where}", value=self.text)
