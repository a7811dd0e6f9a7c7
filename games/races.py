"""What races for two have in common: the points that win, and the scores of both players as text."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mdpdice.errors import UnknownStateError

_NAMES = ("mine", "theirs")
_SCORE = re.compile(r"\b(mine|theirs)\s*=\s*(\d+)(?!\S)")

LARGEST_GOAL = 1_000
"""Most points that win: three counters up to 1,300 are too many for a lattice."""


def show_scores(counters: Mapping[str, int]) -> str:
    """Text of both scores: ``mine=40 theirs=52``."""
    return " ".join(f"{name}={counters[name]}" for name in _NAMES)


def read_scores(text: str, usual: tuple[int, int] = (0, 0)) -> tuple[dict[str, int], str]:
    """Return the scores that a text names, the usual ones where it names none, and the rest of the text.

    Raises
    ------
    UnknownStateError
        A score is named twice.
    """
    fields = _SCORE.findall(text)
    if len(dict(fields)) < len(fields):
        msg = f"{text!r} names a score twice"
        raise UnknownStateError(msg, value=text)
    scores: dict[str, int] = dict(zip(_NAMES, usual, strict=True))
    scores.update((name, int(points)) for name, points in fields)
    return scores, _SCORE.sub("", text).strip()


def check_undecided(text: str, target: int, mine: int, theirs: int) -> None:
    """Refuse the text of a state in which a player has won already.

    Parameters
    ----------
    text : str
        What was read.
    target : int
        Points that win.
    mine, theirs : int
        Scores, with the points of the turn that the player to move can bank.

    Raises
    ------
    UnknownStateError
        One of them reaches the target.
    """
    if mine >= target or theirs >= target:
        msg = f"{text}: a player has the {target} points that win"
        raise UnknownStateError(msg, value=text, limit=target)
