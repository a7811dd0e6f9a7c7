"""Boards of Knucklebones: placing, removing and counting.

A board is a tuple of columns, and a column is a tuple of the dice in it, in rising
order: which square of a column a die lies on never matters.
"""

from __future__ import annotations

import bisect
import functools
from collections import Counter
from typing import Literal, TypeAlias

FACES = range(1, 7)

Column: TypeAlias = tuple[int, ...]
Board: TypeAlias = tuple[Column, ...]
Scoring: TypeAlias = Literal["matching", "whole-column", "plain"]


@functools.cache
def column_score(column: Column, scoring: Scoring) -> int:
    """Points of a column.

    With "matching" scoring n equal dice of value v count v n n, the other dice by themselves; with "whole-column" the
    sum of the column counts as often as its most frequent value is there; with "plain" the dice are just added.
    """
    times = Counter(column)
    if scoring == "matching":
        return sum(value * count * count for value, count in times.items())
    return sum(column) * (max(times.values(), default=1) if scoring == "whole-column" else 1)


def score(board: Board, scoring: Scoring) -> int:
    """Points of a board."""
    return sum(column_score(column, scoring) for column in board)


@functools.cache
def place(column: Column, die: int) -> Column:
    """Return a column with one more die."""
    at = bisect.bisect(column, die)
    return (*column[:at], die, *column[at:])


@functools.cache
def remove(column: Column, die: int) -> Column:
    """Return a column without its dice of one value."""
    return tuple(value for value in column if value != die)


def empty_squares(board: Board, rows: int) -> int:
    """Count the squares of a board without a die."""
    return len(board) * rows - sum(map(len, board))


def sort_columns(mine: Board, theirs: Board) -> tuple[Board, Board]:
    """Put the pairs of facing columns in order: a permutation of the columns changes nothing in the game."""
    first, second = zip(*sorted(zip(mine, theirs, strict=True)), strict=True)
    return first, second
