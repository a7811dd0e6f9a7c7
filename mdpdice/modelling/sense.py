"""What the player to move wants: much of what counts, or little of it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

from mdpdice.errors import GameError

if TYPE_CHECKING:
    from mdpdice.modelling.game import Game

Sense: TypeAlias = Literal["max", "min"]
G = TypeVar("G", bound="Game[Any, Any]")
T = TypeVar("T")


def checked_sense(value: object, owner: str = "") -> Sense:
    """Return a sense; raise a `GameError` that names its owner if it is none."""
    if isinstance(value, str) and value in ("max", "min"):
        return cast("Sense", value)
    raise GameError(f"{owner}sense {value!r} is neither 'max' nor 'min'", value=value)


def sense_of(model: Any) -> Sense:
    """Return the sense of a game, network or lattice; raise a `GameError` that names the class if it is none."""
    return checked_sense(model.sense, f"{type(model).__name__}: ")


def changed(thing: T, **attributes: Any) -> T:
    """Return a copy with some attributes replaced, those of a class or methods, too."""
    copied = copy.copy(thing)
    for name, value in attributes.items():
        object.__setattr__(copied, name, value)  # frozen attrs classes refuse an ordinary assignment
    return copied


def with_sense(game: G, sense: Sense) -> G:
    """Return the same game, which the player to move maximises (``"max"``) or minimises (``"min"``)."""
    return game if game.sense == sense else changed(game, sense=sense)
