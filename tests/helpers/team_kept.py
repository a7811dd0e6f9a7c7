"""What processes do for tests/solving/test_team.py: stop, go on from a checkpoint, and do nothing twice.

Three are on two machines there, where nothing is kept of what they verify.
"""

import sys
import time
from pathlib import Path

from helpers.counter_games import SHIPPED, Race, Sheet
from mpi4py import MPI

from mdpdice import compile_lattice, solve
from mdpdice.certification.checking import lattice as checking
from mdpdice.errors import MdpDiceError
from mdpdice.games.pig import PigRace
from mdpdice.solving import checkpoints
from mdpdice.solving.checkpoints import values_digest

COMM = MPI.COMM_WORLD
FIRST = COMM.rank == 0


class StopError(Exception):
    """What ends a solve here, as a kill does, but for the files that are closed."""


def leg(lattice, folder, at, puts=None):
    """Solve until the first process is told `at` things, or kept `puts` states; the solution, and what it was told."""
    told, kept, put = [], [], checkpoints.Checkpoint.put

    def progress(phase, numbers):
        told.append((phase, dict(numbers)))
        if len(told) == at:
            raise StopError

    def counted(self, series, *more):
        put(self, series, *more)
        kept.append(series)
        if kept.count("verified") == puts:
            raise StopError

    checkpoints.Checkpoint.put = counted
    try:
        return solve(lattice, comm=COMM, checkpoint=folder, progress=progress), told
    except StopError:
        return None, told
    except MdpDiceError as error:
        if "StopError" not in str(error):
            raise
        return None, told
    finally:
        checkpoints.Checkpoint.put = put


def same(one, other):
    assert values_digest(one.table.stored) == values_digest(other.table.stored)
    assert one.table.widths.tobytes() == other.table.widths.tobytes()
    assert (one.lower(), one.upper(), one.n_states, one.n_edges) == (
        other.lower(), other.upper(), other.n_states, other.n_edges
    )  # fmt: skip


def layers_are_kept(lattice, folder):
    whole, at, found, last = solve(lattice), 1, None, {"explore": 0, "solve": 0}
    while found is None:
        found, told = leg(lattice, folder, at)
        at += 3
        for phase, numbers in told:
            # Nothing is done twice but what was being done: a leg begins where the one before ended.
            if phase in last and "layers" in numbers:
                assert numbers["layers"] >= last[phase], (folder, phase, numbers, last)
                last[phase] = numbers["layers"]
    assert at > 10
    same(whole, found)
    same(whole, solve(lattice, checkpoint=folder) if FIRST else whole)


def what_is_verified_is_kept(lattice, folder):
    whole, calls, look = solve(lattice), [], checking._Core._look

    def counted(*arguments):
        calls.append(1)
        time.sleep(0.01 if FIRST else 0.0)  # so that the other one is not the one that is waited for
        return look(*arguments)

    checking._Core._look = counted
    checking.PIECE = checking.BATCH = 8
    same(whole, leg(lattice, folder / "whole", 0)[0])
    every = len(calls)
    assert leg(lattice, folder / "cut", 0, puts=every // 2)[0] is None
    calls.clear()
    same(whole, leg(lattice, folder / "cut", 0)[0])
    left = COMM.allgather((every, len(calls)))
    assert all(0 < now < before for before, now in left), left


if __name__ == "__main__":
    checkpoints.Checkpoint.due = lambda *_arguments: True
    games = {"sheet": Sheet(), "race": Race(10), "pig race": SHIPPED["pig race"]}
    for name, game in games.items():
        layers_are_kept(compile_lattice(game), Path(sys.argv[1]) / name)
    if COMM.size < 3:
        what_is_verified_is_kept(compile_lattice(PigRace(12)), Path(sys.argv[1]))
    if FIRST:
        print("fine")
