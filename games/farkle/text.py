"""States of Farkle as text, for the command line.

==================================  ===========================================
``roll=1,1,5 points=300``           a roll on the table, 300 points at risk
``roll=1@Odd die,5@Lucky die``      the same with dice of several kinds; without
                                    ``points=`` there are none at risk
``dice=3 points=300``               three dice are about to be rolled
``dice=Odd die,Lucky die``          the same with dice of several kinds
==================================  ===========================================

A die is named by its full name (``kcd2/A/Odd die``), or by a short one or the beginning
of a word (``1@Odd``) where that means one of the dice of the game only.  The devil's head of a joker die
is its face 1: ``1@Devil's head die``; ``J`` is read too.

Only the menu of a roll matters, so a state is shown with some roll that offers
its menu, and reading the text gives that state again.
"""

from __future__ import annotations

import re
from collections import Counter

from mdpdice.errors import UnknownStateError
from mdpdice.games.farkle.dice_table import Die, matching
from mdpdice.games.farkle.menus import MenuBook, Symbols
from mdpdice.games.farkle.rules import JOKER
from mdpdice.games.farkle.states import Choose, Ready, State
from mdpdice.games.text_fields import read_fields
from mdpdice.looks import Rolled

FORM = "roll=1,1,5 points=300 (with several kinds of dice: roll=1@Odd die,5@Lucky die), or dice=3 points=300"


def show_state(book: MenuBook, state: State, points: int) -> str:
    """Return the text of a state with some points at risk."""
    if isinstance(state, Ready):
        if len(counts := book.counts(state.dice)) == 1:
            return f"dice={counts[0]} points={points}"
        names = Counter(dict(zip(map(book.name, book.kinds), counts, strict=True)))
        return f"dice={','.join(names.elements())} points={points}"
    shown = []
    for kind, symbols in zip(book.kinds, book.example(state.menu), strict=True):
        for symbol in symbols:
            face = 1 if symbol == JOKER else symbol
            shown.append(str(face) if len(book.kinds) == 1 else f"{face}@{book.name(kind)}")
    return f"roll={','.join(shown)} points={points}"


def read_state(book: MenuBook, text: str, form: str = FORM) -> tuple[State, int]:
    """Return the state of a text, and the points at risk; `form` is how a state is written, for messages."""
    values = _fields(text, form)
    if not (points := values.get("points", "0")).isdecimal():
        raise UnknownStateError(f"points={points}: write a whole number of points", value=text)
    if "dice" in values:
        return Ready(book.left(_read_dice(book, values["dice"], text))), int(points)
    menu = book.menu(_read_roll(book, values["roll"], text))
    if not menu.best and book.misread is None:
        raise UnknownStateError(f"the roll {values['roll']} scores nothing, so the turn is over", value=text)
    return Choose(menu), int(points)


def read_rolled(book: MenuBook, text: str) -> Rolled | None:
    """Return the dice of a text that has some on the table."""
    roll = _fields(text, FORM).get("roll")
    return None if roll is None else rolled(book, _read_roll(book, roll, text))


def rolled(book: MenuBook, symbols: Symbols) -> Rolled:
    """Return a roll as it is shown, with the face 1 for a joker."""
    faces = tuple(1 if symbol == JOKER else symbol for kind in symbols for symbol in kind)
    return Rolled(faces, tuple(die for die, kind in zip(book.shown_dice, symbols, strict=True) for _ in kind))


def _fields(text: str, form: str) -> dict[str, str]:
    return read_fields(text, ("roll", "dice", "points"), form, once=[{"roll", "dice"}])


def _read_dice(book: MenuBook, listed: str, text: str) -> tuple[int, ...]:
    if listed.isdecimal() and len(book.kinds) == 1:
        counts: tuple[int, ...] = (int(listed),)
    else:
        thrown = Counter(_kind(book, name.strip(), text) for name in listed.split(","))
        counts = tuple(thrown[kind] for kind in book.kinds)
    _check_counts(book, counts, text)
    return counts


def _read_roll(book: MenuBook, listed: str, text: str) -> tuple[tuple[int, ...], ...]:
    shown: dict[Die, list[int]] = {kind: [] for kind in book.kinds}
    for token in listed.split("," if "," in listed or "@" in listed else None):
        face, at, name = (part.strip() for part in token.partition("@"))
        if at or len(book.kinds) == 1:
            kind = _kind(book, name, text) if at else book.kinds[0]
        else:
            msg = f"{token!r}: say which die shows it, as in {face}@{book.name(book.kinds[0])}: {_names(book)}"
            raise UnknownStateError(msg, value=text)
        symbol = kind.symbol(int(face)) if re.fullmatch("[1-6]", face) else JOKER * (face.upper() == "J")
        if symbol not in kind.symbols():
            raise UnknownStateError(f"{book.name(kind)} does not show {face!r}; it shows {_shown(kind)}", value=text)
        shown[kind].append(symbol)
    _check_counts(book, tuple(map(len, shown.values())), text)
    return tuple(tuple(sorted(symbols)) for symbols in shown.values())


def _check_counts(book: MenuBook, counts: tuple[int, ...], text: str) -> None:
    if not any(counts):
        raise UnknownStateError(f"{text!r} has no dice; write {FORM}", value=text)
    for kind, count, most in zip(book.kinds, counts, book.full, strict=True):
        if count > most:
            raise UnknownStateError(f"there are {count} of {book.name(kind)}; the game has {most}", value=text)


def _kind(book: MenuBook, name: str, text: str) -> Die:
    if len(found := matching(book.kinds, name)) != 1:
        what = "not a" if not found else "more than one"
        raise UnknownStateError(f"{name!r} is {what} die of this game: {_names(book)}", value=text)
    return found[0]


def _names(book: MenuBook) -> str:
    return ", ".join(map(book.name, book.kinds))


def _shown(kind: Die) -> str:
    faces = [face for face, weight in enumerate(kind.weights, start=1) if weight]
    return ", ".join(f"{face} (a joker)" if kind.symbol(face) == JOKER else str(face) for face in faces)
