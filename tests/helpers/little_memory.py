"""A program that may take little memory, and solves a lattice whose values are larger than that.

``little_memory.py MEGABYTES [DIR]`` prints what came of it: the digest of the values, or the name of the error.
"""

import resource
import sys

from mdpdice import Counter, Game, compile_lattice, end, go, roll, solve, uniform, when
from mdpdice.errors import MdpDiceError
from mdpdice.memory import _statm
from mdpdice.solving.checkpoints import values_digest


def wide(states, columns, rounds):
    """Many core states, all of which are stored, on a grid of few layers."""

    class Wide(Game):
        column = Counter(range(columns), outside="clip")
        round = Counter(range(rounds + 1))

        def start(self):
            return 0

        def node(self, state):
            def on(k):
                return go((state * 7 + k) % states, self.column.add(97 * k), self.round.add(1), reward=k)

            return when(self.round == rounds, end(self.column + state), roll(uniform(range(1, 4)), on))

    return Wide()


def solved(game, *folder):
    found = solve(compile_lattice(game), **dict(zip(["checkpoint"], folder, strict=False)))
    assert found.proved
    return values_digest(found.table.stored)


if __name__ == "__main__":
    megabytes, *folder = sys.argv[1:]
    # What is compiled and imported does not count.
    solved(wide(3, 5, 4), *(place + "-small" for place in folder))
    limit = _statm(5) + (int(megabytes) << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        print(solved(wide(120, 2000, 60), *folder))
    except (MdpDiceError, MemoryError) as error:
        print(type(error).__name__)
