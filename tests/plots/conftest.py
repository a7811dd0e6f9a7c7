"""Solved games that several pictures are made of."""

from __future__ import annotations

import pytest

from mdpdice import Policy, explore, solve
from mdpdice.games.pig import PigRace, PigTurn


@pytest.fixture(scope="session")
def turn():
    """One turn of Pig: hold from 20 points on."""
    return solve(PigTurn(cap=40))


@pytest.fixture(scope="session")
def race():
    """A race with three counters."""
    return solve(PigRace(goal=12))


@pytest.fixture(scope="session")
def small():
    """A network of few nodes."""
    return explore(PigTurn(cap=5))


@pytest.fixture(scope="session")
def cautious(race):
    """A policy of the race that holds early when the other one is ahead, and never from nine points on."""

    def rule(state):
        c = state.counters
        return "hold" if c["turn"] >= (3 if c["theirs"] > 5 else 5) and c["mine"] < 9 else "roll"

    return Policy.of(race.network, rule)
