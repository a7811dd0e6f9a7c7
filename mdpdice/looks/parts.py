"""What lies on the table, as data: dice, tokens, boards, scores, score sheets, notes, and words of actions.

A number or a text may hold expressions over counters, so that one answer serves all their values; `spoken` and
`number` fill the values in.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import attrs

from mdpdice.looks.throw import Die
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.grid import At

Number: TypeAlias = int | float | Fraction | Expr
Text: TypeAlias = "str | tuple[str | Number, ...]"
"""``("you have ", game.mine + game.turn)``; an f-string cannot hold a counter."""
Owner: TypeAlias = Literal["mover", "other", 0, 1]
"""Whose a part is: of the player to move, of the other one, or of player 0 or 1."""


@attrs.frozen
class Part:
    """Something on the table."""

    label: str = ""  #: what it is called; empty where that goes without saying
    of: Owner | None = None  #: whose it is
    when: bool | Expr = True  #: it is shown where this holds


@attrs.frozen
class Dice(Part):
    """Dice that show their `faces`; weighted ones by name in `dice`, and the places of those set aside in `held`."""

    faces: tuple[Any, ...] = ()
    dice: tuple[Die, ...] = ()
    held: tuple[int, ...] = ()


@attrs.frozen
class Tokens(Part):
    """Tiles, cards and the like: a text each; `lit` are the places of those that are there, None: all."""

    items: tuple[Any, ...] = ()
    lit: tuple[int, ...] | None = None


@attrs.frozen
class Grid(Part):
    """A board by rows, ``""`` where a cell is empty, and numbers below its columns."""

    rows: tuple[tuple[str | int, ...], ...] = ()
    foot: tuple[Number, ...] = ()


@attrs.frozen
class Score(Part):
    """A number, the goal that it goes for, and whether it may be lost."""

    value: Number = 0
    goal: Number | None = None
    risk: bool = False


@attrs.frozen
class Boxes(Part):
    """The lines of a score sheet, and a condition for each: whether it is used."""

    names: tuple[str, ...] = ()
    used: tuple[bool | Expr, ...] = ()


@attrs.frozen
class Note(Part):
    """Anything else, in words."""

    text: Text = ""


@attrs.frozen
class Act:
    """An action."""

    words: Text  #: what is done
    tap: tuple[str, tuple[tuple[int, ...], ...]] | None = None
    """Label of a part, and the sets of its places that mean this action; a place of a grid is a column."""


def parted(state: Any) -> tuple[Any, Mapping[str, int]]:
    """Return the core of a state, and the values of its counters."""
    return (state.state, state.counters) if isinstance(state, At) else (state, {})


def number(value: Any, counters: Mapping[str, int]) -> Any:
    """Return a number, or an expression at these values of the counters."""
    return value.evaluate(dict(counters)) if isinstance(value, Expr) else value


def spoken(text: Text, counters: Mapping[str, int]) -> str:
    """Return a text with the values of the counters filled in."""
    pieces = text if isinstance(text, tuple) else (text,)
    return "".join(str(number(piece, counters)) for piece in pieces)
