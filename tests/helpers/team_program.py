"""What three processes on two machines do for tests/solving/test_team.py; the first of them says that it is done."""

import os
import sys

import numpy as np
from mpi4py import MPI

from mdpdice.errors import MdpDiceError, NotConvergedError, SolveInterrupted
from mdpdice.solving.team import Team

COMM = MPI.COMM_WORLD
HERE = COMM.rank


def raised(work, told=None):
    """Return what a team raises where one of it does."""
    try:
        with Team(COMM, told) as team:
            work(team)
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return error
    return None


def one_fails(team):
    with team.together():
        if HERE == 1:
            raise NotConvergedError("no end", iterations=7, width=0.5)
    sys.exit("nobody comes here")


def one_leaves(team):
    if HERE == 2:
        raise SolveInterrupted("enough")  # outside of any block: the others meet it where they wait next
    team.joined(np.zeros(1))


def one_fails_in_the_end(team):
    if HERE == 0:
        raise OSError(28, "no space left")


def interrupted(team):
    if HERE == 1:
        raise KeyboardInterrupt
    team.handed(lambda: {"numbers": np.zeros(3)})


def work_is_shared():
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    with Team(COMM, None) as team:
        assert (team.size, team.local) == (3, [2, 1, 2][HERE])
        for length in (0, 1, 63, 64, 1000, 70_000, 1_000_000):
            for turn in (0, 1, 5):
                first, last, owner = team.share(length, turn)
                assert np.array_equal(np.flatnonzero(owner == HERE), np.arange(first, last))
                counts = np.bincount(owner, minlength=3)
                assert counts.sum() == length
                assert counts.max() - counts.min() <= max(64, length // 20)
        values, points = team.room((2, 5000), None), np.arange(10, 5000)
        with team.together():
            assert np.isnan(values).all()
        with team.together():
            first, last, owner = team.share(len(points))
            values[:, points[first:last]] = [[HERE], [HERE + 10]]
        team.exchange(values, points, owner)
        assert np.array_equal(values[:, points], [owner, owner + 10])
        # The one before verifies; what several solved, two do, and one of these alone in the first turn.
        for one in range(3):
            assert team.takes(0, points[owner == one]) == int(one == (HERE + 1) % 3)
        turns = np.array([team.takes(number, points) for number in range(3)], dtype=float)
        everyone = np.zeros((3, 3))
        everyone[HERE] = turns
        assert np.array_equal(np.sort(team.joined(everyone), axis=0).T, [[0, 1, 2]] * 3)
        marks = team.marks((3, 40))
        team.merge(marks, np.arange(40))
        marks[HERE, 5 + HERE] = True
        team.merge(marks, np.arange(6, 40))
        assert marks[1, 6]
        assert marks[2, 7]
        assert marks[0, 5] == (HERE != 1)  # that point was not asked for
        told = team.handed(lambda: {"numbers": np.array([1.5, HERE]), "marks": np.array([True])})
        assert {name: array.tolist() for name, array in told.items()} == {"numbers": [1.5, 0.0], "marks": [True]}
        assert team.handed(dict) == {}
        assert team.handed(lambda: None) is None
        found = team.joined(np.array([HERE, -HERE, np.nan if HERE == 1 else 9.0]))
        assert np.array_equal(found, [2, 0, np.nan], equal_nan=True)
    assert before is None or os.sched_getaffinity(0) == before


def errors_are_shared():
    error = raised(one_fails)
    assert type(error) is NotConvergedError
    assert (error.message, error.iterations, error.width, error.partial, error.state) == ("no end", 7, 0.5, None, None)
    error = raised(one_leaves)
    assert type(error) is SolveInterrupted
    assert str(error) == "enough"
    error = raised(one_fails_in_the_end)
    assert isinstance(error, OSError if HERE == 0 else MdpDiceError)
    assert HERE == 0 or str(error) == "process 0: OSError: [Errno 28] no space left"
    error = raised(interrupted)
    assert isinstance(error, KeyboardInterrupt if HERE == 1 else SolveInterrupted)
    error = raised(lambda team: team.room((10**9, 10**9), None))  # more than any disk
    assert isinstance(error, OSError | OverflowError if HERE == 0 else MdpDiceError)
    assert raised(lambda team: None) is None


if __name__ == "__main__":
    work_is_shared()
    errors_are_shared()
    if HERE == 0:
        print("fine")
