"""Second opinions that are none: a solver that inherits, or asks another one in some hidden way."""

from __future__ import annotations

import threading

import attrs
import numpy as np
import pytest

from mdpdice import Candidate, Feature, Game, cross_check, decide, end, solve
from mdpdice.backend import calls_recorded, traced
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.solvers.value_iteration import ValueIteration

GAME = Game.of(start=0, node=lambda _: decide({"a": end(1), "b": end(2)}))


class Base:
    features = frozenset({Feature.CYCLIC})

    @classmethod
    def available(cls):
        return True


class Alone(Base):
    """An honest solver for this game, which is not traced."""

    name = "alone"

    def solve(self, problem, run):
        best = np.where(problem.decides, 2.0, problem.payoff)
        return Candidate(best, np.where(problem.decides, problem.indptr[:-1] + 1, -1))


class Heir(Alone):
    name = "heir"

    def solve(self, problem, run):
        return super().solve(problem, run)


@attrs.frozen
class Renamed(ValueIteration):
    name = "renamed"


@attrs.frozen
class Overridden(ValueIteration):
    name = "overridden"

    @traced
    def solve(self, problem, run):
        return ValueIteration.solve(self, problem, run)


class InAThread(Base):
    name = "in-a-thread"

    def solve(self, problem, run):
        found = []
        thread = threading.Thread(target=lambda: found.append(ValueIteration().solve(problem, run)))
        thread.start()
        thread.join()
        return found[0]


class ByTheFrontDoor(Base):
    name = "by-the-front-door"

    def solve(self, problem, run):
        solution = solve(problem, solver="value-iteration")
        return Candidate(solution.nodes.values, solution.nodes.choice)


@pytest.mark.parametrize("other", [Renamed(), Overridden(), InAThread(), ByTheFrontDoor()])
def test_no_second_opinion(other):
    report = cross_check(GAME, solvers=["value-iteration", other])
    assert report.entries[1].asked == ("value-iteration",)
    assert report.independent == 1
    assert not report.ok


def test_heirs_of_a_back_end_that_is_not_traced():
    assert cross_check(GAME, solvers=[Alone(), Heir()]).independent == 1
    report = cross_check(GAME, solvers=["value-iteration", Alone()])
    assert (report.independent, report.ok) == (2, True)


def test_records_inside_records():
    with calls_recorded() as outer:
        with calls_recorded() as inner:
            solve(GAME, solver="value-iteration")
        solve(GAME, solver="backward-induction")
    assert (inner, outer) == ({"value-iteration"}, {"value-iteration", "backward-induction"})


@pytest.mark.parametrize("wrong", [None, 3, ValueIteration, object()])
def test_what_is_no_back_end(wrong):
    for call in (lambda: solve(GAME, solver=wrong), lambda: cross_check(GAME, solvers=[wrong])):
        with pytest.raises(UnsupportedError, match="is not a solver; write the name of one"):
            call()


def test_lists_and_floors():
    with pytest.raises(GameError, match="it is a list of names or solvers"):
        cross_check(GAME, solvers="exact")
    with pytest.raises(GameError, match="how much of what"):
        cross_check(GAME, at_least=3)
    with pytest.raises(GameError, match="a number of at least 0"):
        cross_check(GAME, at_least={"states": float("nan")})
