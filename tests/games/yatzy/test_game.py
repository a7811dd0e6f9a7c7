"""Yatzy: the value of the whole game, and of a small sheet on both routes."""

from __future__ import annotations

import pytest

from mdpdice import compile_lattice, explore, solve
from mdpdice.games.yatzy import Yatzy


class Small(Yatzy):
    """Two boxes, so that it fits a flat network."""

    sheet = ("fives", "two pairs")


def test_a_small_sheet_on_both_routes():
    flat, lattice = solve(explore(Small())), solve(compile_lattice(Small()))
    assert lattice.proved
    assert lattice.value() == pytest.approx(flat.value(), abs=1e-11)


@pytest.mark.slow
def test_the_whole_game():
    # By an independent program for the same rules.
    solution = solve(Yatzy())
    assert solution.lower() <= 248.439989377855 + 1e-11
    assert solution.upper() >= 248.439989377855 - 1e-11
    assert solution.upper() - solution.lower() < 1e-8
