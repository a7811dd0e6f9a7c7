"""A second statement of the rules, square by square."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import pytest


def points(grid, scoring):
    """Every die counts its value times the number of equal dice in its column."""
    total = 0
    for column in zip(*grid, strict=True):
        dice = [die for die in column if die]
        alike = [dice.count(die) for die in dice]
        for die, count in zip(dice, alike, strict=True):
            total += die * {"matching": count, "whole-column": max(alike), "plain": 1}[scoring]
    return total


def moves(die, mine, theirs):
    """All that may happen to two grids: every empty square of the mover's is tried."""
    for row, column in itertools.product(range(len(mine)), range(len(mine[0]))):
        if mine[row][column]:
            continue
        new = [list(line) for line in mine]
        new[row][column] = die
        left = [[0 if c == column and v == die else v for c, v in enumerate(line)] for line in theirs]
        yield column + 1, new, left


def full(grid):
    return all(all(line) for line in grid)


def columns(grid):
    """A grid as the library writes a board."""
    return tuple(tuple(sorted(filter(None, column))) for column in zip(*grid, strict=True))


@pytest.fixture(scope="session")
def rules():
    return SimpleNamespace(points=points, moves=moves, full=full, columns=columns)
