"""How the answers of the commands are written: numbers, actions and aligned rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mdpdice.errors import MdpDiceError


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
