"""States of Konijnenhokken as text, for the command line.

==================================  ==================================================
``r1=1 r2=2 c=1 t=20``              a 1 and two 2s are rabbits, the cage x2 is taken,
                                    20 points are banked: stop, or roll three dice?
``r1=1 r2=2 c=1 t=20 roll=1,3,6``   the three dice show this: what to take?
``t=20``                            what is not named is 0
==================================  ==================================================

Only what a roll offers matters, so a state is shown with some roll that offers it,
and reading the text gives that state again.
"""

from __future__ import annotations

import re

from mdpdice.errors import UnknownStateError
from mdpdice.games.konijnenhokken.game import Field, Konijnenhokken, Rolled, State
from mdpdice.games.konijnenhokken.rules import LAST_CAGE, Offer, example_roll, offer, run_points
from mdpdice.games.text_fields import read_fields

_FORM = "r1=1 r2=2 c=1 t=20 (what is not named is 0), with roll=1,3,6 after a roll"


def show_state(game: Konijnenhokken, state: State) -> str:
    """Return the text of a state."""
    shown = " ".join(f"{name}={number}" for name, number in zip(Field._fields, state, strict=False))
    if isinstance(state, Field):
        return shown
    faces = example_roll(Offer(*state[4:]), state.c, game.dice - state.r1 - state.r2 - state.c)
    return f"{shown} roll={','.join(map(str, faces))}"


def read_state(game: Konijnenhokken, text: str) -> State:
    """Return the state of a text; an `UnknownStateError` if it has another form, or no run comes to such a field."""
    values = read_fields(text, (*Field._fields, "roll"), _FORM, value=r"[\d\s,]*?")
    for name in Field._fields:
        if not values.setdefault(name, "0").isdecimal():
            raise UnknownStateError(f"{name}={values[name]}: write a whole number", value=text)
    field = Field(*(int(values[name]) for name in Field._fields))
    left = _dice_left(game, field, text)
    if "roll" not in values:
        return field
    faces = [int(face) for face in re.findall(r"\d+", values["roll"])]
    if not all(1 <= face <= 6 for face in faces):
        raise UnknownStateError(f"roll={values['roll']}: dice show 1 to 6", value=text)
    if len(faces) != left:
        raise UnknownStateError(f"the roll has {len(faces)} dice; there are {left} left to roll", value=text)
    if (offered := offer(faces, field.c, defective=game.defective)) is None:
        lost = f"the roll {values['roll']} shows no rabbit, so the turn is lost and there is no choice"
        raise UnknownStateError(lost, value=text)
    return Rolled(*field, *offered)


def _dice_left(game: Konijnenhokken, field: Field, text: str) -> int:
    r1, r2, c, t = field
    if c > LAST_CAGE - 1:
        raise UnknownStateError(f"c={c}: there are {LAST_CAGE - 1} cages", value=text)
    if c and not r1 + r2:
        raise UnknownStateError(f"c={c}: no cage is taken without a rabbit", value=text)
    if (left := game.dice - r1 - r2 - c) < 0:
        raise UnknownStateError(f"{r1 + r2 + c} dice are taken; a run has {game.dice}", value=text)
    if not left:
        raise UnknownStateError(f"that run is complete; write t={t + run_points(r1, r2, c)}", value=text)
    return left
