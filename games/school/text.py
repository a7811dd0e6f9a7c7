"""States of School as text, for the command line.

==========================================  ==============================================
``dice=1,2,3,6,6 rerolls=2``                this lies on the table, with two rerolls left
``hold=6,6 rerolls=1``                      the sixes stay, three dice are rolled; one
                                            reroll will be left
``hold=- rerolls=2``                        all five dice are rolled: a turn begins
==========================================  ==============================================

A state of the whole game names the open combinations before that: ``open=grade-6,pair,trash``, or
``open=all``; at the end of the game none is open, ``open=-``.
"""

from __future__ import annotations

import re

from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.school.rules import COMBINATIONS, DICE, FACES, combinations_named
from mdpdice.games.school.turn import REROLLS, Held, Rolled
from mdpdice.games.text_fields import read_fields

_FORM = "dice=1,2,3,6,6 rerolls=2, or hold=6,6 rerolls=1 while dice are rolled"
_OPEN = re.compile(r"open\s*=\s*(.*?)\s*(?=(?:open|dice|hold|rerolls)\s*=|$)")


def show_turn(state: Held | Rolled) -> str:
    """Return the text of a state of a turn."""
    shown = ",".join(map(str, state.dice)) or "-"
    return f"{'dice' if isinstance(state, Rolled) else 'hold'}={shown} rerolls={state.rerolls}"


def read_turn(text: str) -> Held | Rolled:
    """Return the state of a text; an `UnknownStateError` if it has another form, or there is no such roll."""
    values = read_fields(text, ("dice", "hold", "rerolls"), _FORM, once=[{"dice", "hold"}, {"rerolls"}])
    rerolls = values["rerolls"]
    if rerolls not in map(str, range(REROLLS + 1)):
        raise UnknownStateError(f"rerolls={rerolls}: 0 to {REROLLS} rerolls are left", value=text)
    name, listed = ("dice", values["dice"]) if "dice" in values else ("hold", values["hold"])
    if not re.fullmatch(r"-?|\d+(\s*,?\s*\d+)*", listed):
        raise UnknownStateError(f"{name}={listed}: write faces with commas, or - for no dice", value=text)
    dice = tuple(sorted(map(int, re.findall(r"\d", listed))))
    if not all(face in FACES for face in dice):
        raise UnknownStateError(f"{name}={listed}: dice show 1 to {FACES[-1]}", value=text)
    if name == "hold":
        if len(dice) >= DICE or (dice and int(rerolls) == REROLLS):
            one = "one of them is rolled at least"
            few = "none is held before the first roll" if len(dice) < DICE else one
            raise UnknownStateError(f"{text!r}: {len(dice)} dice are held, but {few}", value=text)
        return Held(dice, int(rerolls))
    if len(dice) != DICE:
        raise UnknownStateError(f"dice={listed}: {len(dice)} dice; there are {DICE}", value=text)
    return Rolled(dice, int(rerolls))


def split_open(text: str) -> tuple[str, str]:
    """Return the value of ``open=``, which is there once, and the rest of a text."""
    if len(found := _OPEN.findall(text)) != 1:
        form = f"open=grade-6,pair,trash (or open=all), then {_FORM}"
        raise UnknownStateError(f"{text!r} is not a state; write {form}", value=text)
    return found[0], _OPEN.sub("", text).strip()


def show_open(names: tuple[str, ...]) -> str:
    """Return the text of a set of open combinations."""
    return "open=" + ("all" if names == COMBINATIONS else ",".join(names) or "-")


def read_open(listed: str) -> tuple[str, ...]:
    """Return the combinations of a list, in order."""
    if listed == "all":
        return COMBINATIONS
    if listed in ("", "-"):
        return ()
    try:
        return combinations_named(re.split(r"\s*,\s*", listed))
    except GameError as error:
        raise UnknownStateError(error.message, value=listed) from error
