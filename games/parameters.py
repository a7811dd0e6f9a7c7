"""Parameters of games: attrs validators and converters that say what may be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from mdpdice.errors import GameError


def whole(
    default: int | None,
    most: int,
    help_text: str,
    *,
    least: int = 1,
    unit: str = "points",
    converter: Callable[[Any], Any] = int,
) -> Any:
    """Return the field of a number of points, or of something else; None is left to the converter."""

    def check(_: Any, attribute: attrs.Attribute[Any], number: int | str | None) -> None:
        name = attribute.name
        if isinstance(number, str):  # `none_or_int` could not read it
            raise GameError(f"{name}={number}: write a whole number of {unit}, or none", value=number)
        if number is not None and not least <= number <= most:
            msg = f"{name}={number}: write a number of {unit} from {least:,} to {most:,}"
            raise GameError(msg, value=number, limit=least if number < least else most)

    return attrs.field(default=default, converter=converter, validator=check, metadata={"help": help_text})


def none_or_int(number: int | str | None) -> Any:
    """Convert ``"none"`` and digits; `whole` refuses any other text."""
    if not isinstance(number, str):
        return number
    text = number.strip()
    return None if text.casefold() == "none" else int(text) if text.isdecimal() else number


def choice(*words: str, help_text: str) -> Any:
    """Return the field of one of a few words, by default the first."""

    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        if value not in words:
            raise GameError(f"{attribute.name}={value!r}: choose one of {', '.join(words)}", value=value)

    return attrs.field(default=words[0], validator=check, metadata={"help": help_text})
