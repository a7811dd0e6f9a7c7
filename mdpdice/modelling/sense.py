"""What the player to move wants: much of what counts, or little of it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast

from mdpdice.errors import GameError

if TYPE_CHECKING:
    from mdpdice.modelling.game import Game

Sense: TypeAlias = Literal["max", "min"]
G = TypeVar("G", bound="Game[Any, Any]")


def checked_sense(value: object, owner: str = "") -> Sense:
    """Return a sense; raise a `GameError` that names its owner if it is none."""
    if isinstance(value, str) and value in ("max", "min"):
        return cast("Sense", value)
    raise GameError(f"{owner}sense {value!r} is neither 'max' nor 'min'", value=value)


def sense_of(model: Any) -> Sense:
    """Return the sense of a game, network or lattice; raise a `GameError` that names the class if it is none."""
    return checked_sense(model.sense, f"{type(model).__name__}: ")


def with_sense(game: G, sense: Sense) -> G:
    """Return the same game, which the player to move maximises (``"max"``) or minimises (``"min"``)."""
    if game.sense == sense:
        return game
    turned = copy.copy(game)
    # Frozen attrs classes refuse an ordinary assignment.
    object.__setattr__(turned, "sense", sense)
    return turned
