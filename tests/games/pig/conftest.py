"""Oracles for Pig that share no code with the library: numpy arrays, swept until nothing moves."""

from __future__ import annotations

import types
from fractions import Fraction

import numpy as np
import pytest


def race(goal, faces=(2, 3, 4, 5, 6), chance=1 / 6):
    """P(win) of the player to move, by mine, theirs, turn: plain value iteration on one array."""
    p = np.full((goal, goal, goal + max(faces)), 0.5)
    mine, turn = np.arange(goal)[:, None], np.arange(goal + max(faces))[None, :]
    won = (mine + turn >= goal)[:, None, :] & np.ones((1, goal, 1), dtype=bool)
    p[won] = 1.0
    bust = 1 - chance * len(faces)
    at = np.minimum(mine + turn, goal - 1)
    while True:
        pass_on = 1 - p[:, :, 0].T  # what I have when the other is to move: by mine, theirs
        hold = pass_on[at].transpose(0, 2, 1)  # by mine, theirs, turn
        ahead = sum(chance * np.pad(p[:, :, face:], ((0, 0), (0, 0), (0, face)), constant_values=1.0) for face in faces)
        new = np.where(won, 1.0, np.maximum(hold, bust * pass_on[:, :, None] + ahead))
        if np.abs(new - p).max() < 1e-15:
            return new[:, :, :goal]
        p = new


def race_of_holders(first, second, goal):
    """P(win) of the first of two players who hold at fixed points: a linear system in floats."""

    def outcomes(points, need):
        # Chance to leave a turn with each total, by the totals that it passes.
        visits = np.zeros(need + 7)
        visits[0] = 1.0
        won = {}
        for total in range(need + 7):
            if visits[total] and total >= min(points, need):
                won[min(total, need)] = won.get(min(total, need), 0.0) + visits[total]
            elif visits[total]:
                for face in (2, 3, 4, 5, 6):
                    visits[total + face] += visits[total] / 6
        won[0] = won.get(0, 0.0) + 1 - sum(won.values())
        return won

    size = 2 * goal * goal

    def number(seat, i, j):
        return (seat * goal + i) * goal + j

    matrix, right = np.eye(size), np.zeros(size)
    for i in range(goal):
        for seat, points in enumerate((first, second)):
            for won, chance in outcomes(points, goal - i).items():
                for j in range(goal):
                    row = number(seat, i, j)
                    right[row] += chance
                    if i + won < goal:
                        matrix[row, number(1 - seat, j, i + won)] += chance
    return float(np.linalg.solve(matrix, right)[0])


def turn_of_holder(points):
    """Expected points of a turn that holds at some points, in fractions."""
    worth = {}
    for total in range(points + 5, -1, -1):
        ahead = [worth.get(total + face) for face in (2, 3, 4, 5, 6)]
        worth[total] = Fraction(total) if total >= points else sum(ahead, Fraction(0)) / 6
    return worth[0]


@pytest.fixture(scope="session")
def oracle():
    return types.SimpleNamespace(race=race, race_of_holders=race_of_holders, turn_of_holder=turn_of_holder)
