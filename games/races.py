"""What races for two have in common: both scores, as counters, as they are shown, and as text."""

from __future__ import annotations

import abc
import re
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, TypeVar

from mdpdice import Counter, Game
from mdpdice.errors import UnknownStateError
from mdpdice.looks import Part, Score

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)

_NAMES = ("mine", "theirs")
_SCORE = re.compile(r"\b(mine|theirs)\s*=\s*(\d+)(?!\S)")

LARGEST_GOAL = 1_000
"""Most points that win: three counters up to 1,300 are too many for a lattice."""


class RaceGame(Game[S, A]):
    """A game in which two players take turns, until one has the points that win; values are chances to win."""

    total: ClassVar[int] = 1
    payoff_range = (0, 1)
    my_points: int = 0  # of the player who starts
    their_points: int = 0

    mine = Counter(lambda game: game.points(), start=lambda game: game.my_points)
    theirs = Counter(lambda game: game.points(), start=lambda game: game.their_points)

    @abc.abstractmethod
    def points(self) -> range:
        """Return the points that a score can have before the race is won."""

    def progress(self) -> Any:
        """Return the sum of the scores."""
        return self.mine + self.theirs


def standing(game: RaceGame[Any, Any], goal: int) -> list[Part]:
    """Return both scores as they are shown."""
    return [Score("", "mover", value=game.mine, goal=goal), Score("", "other", value=game.theirs, goal=goal)]


def show_scores(counters: Mapping[str, int]) -> str:
    """Text of both scores: ``mine=40 theirs=52``."""
    return " ".join(f"{name}={counters[name]}" for name in _NAMES)


def read_scores(text: str, usual: tuple[int, int] = (0, 0)) -> tuple[dict[str, int], str]:
    """Return the scores that a text names, the usual ones where it names none, and the rest of the text.

    An `UnknownStateError` if a score is named twice.
    """
    fields = _SCORE.findall(text)
    if len(dict(fields)) < len(fields):
        raise UnknownStateError(f"{text!r} names a score twice", value=text)
    scores: dict[str, int] = dict(zip(_NAMES, usual, strict=True))
    scores.update((name, int(points)) for name, points in fields)
    return scores, _SCORE.sub("", text).strip()


def check_undecided(text: str, target: int, mine: int, theirs: int) -> None:
    """Refuse the text of a state in which a player has won already.

    `target` are the points that win; the scores include what the player to move can bank.  An `UnknownStateError`.
    """
    if mine >= target or theirs >= target:
        raise UnknownStateError(f"{text}: a player has the {target} points that win", value=text, limit=target)
