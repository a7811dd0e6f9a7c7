"""How the answers of the commands are written: numbers, actions and aligned rows."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

import click

from mdpdice.errors import DiscountRangeError, GameError, MdpDiceError, UnknownStateError, UnsupportedError

_NAMED = (DiscountRangeError, GameError, UnknownStateError, UnsupportedError)


@contextlib.contextmanager
def named(what: str = "", kinds: type[MdpDiceError] | tuple[type[MdpDiceError], ...] = _NAMED) -> Iterator[None]:
    """Report a name that does not exist, and the like, as wrong usage; `what` stands before the message."""
    try:
        yield
    except kinds as error:
        raise click.UsageError(f"{what}{error.message}") from error


def json_number(number: float) -> float | str:
    """JSON knows no infinity; its name is read back by ``float``."""
    return float(number) if math.isfinite(number) else str(float(number))


def figure(number: float | str) -> str:
    """Return a number for people, to fifteen digits."""
    return number if isinstance(number, str) else f"{number:.15g}"


def short(number: float | str) -> str:
    """Return a number for people, to ten digits."""
    return number if isinstance(number, str) else f"{number:.10g}"


def aligned(rows: Sequence[tuple[str, str]]) -> str:
    """Rows of a label and a text, one below the other."""
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label.ljust(width)}  {text}".rstrip() for label, text in rows)


def action_data(action: Any) -> Any:
    """Return an action as JSON data."""
    from mdpdice.modelling.text import encode

    try:
        return encode(action)
    except MdpDiceError:  # of a type that has no text form
        return repr(action)
