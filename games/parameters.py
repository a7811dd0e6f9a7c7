"""Parameters that are a number: in a range that can be played."""

from __future__ import annotations

from mdpdice.errors import GameError

__all__ = ["in_range"]


def in_range(name: str, number: int, most: int, *, least: int = 1, unit: str = "points") -> int:
    """Return a parameter that lies in its range.

    Raises
    ------
    GameError
        It does not.
    """
    if not least <= number <= most:
        msg = f"{name}={number}: write a number of {unit} from {least:,} to {most:,}"
        raise GameError(msg, value=number, limit=least if number < least else most)
    return number
