"""Solvers that do not come back, or come back with something else."""

import ctypes
import os
import sys
import time

import attrs
import numpy as np

from mdpdice.backend import Candidate, Feature
from mdpdice.errors import NotConvergedError, UnsupportedError
from mdpdice.networks.network import Kind


def answer(problem):
    """A right answer for one player without chance, in plain Python: loading compiled code takes a process long."""
    value, policy = problem.payoff.copy(), np.full(problem.n_nodes, -1)
    for _ in range(problem.n_nodes):
        for node in np.flatnonzero(problem.kind == Kind.MAX).tolist():
            edges = np.array(problem.edges(node))
            worth = problem.reward[edges] + value[problem.dst[edges]]
            value[node], policy[node] = worth.max(), edges[worth.argmax()]
    return Candidate(value, policy)


@attrs.frozen
class Misbehaving:
    """What it does is its parameter."""

    deed: str
    more: object = None

    name = "rogue"
    features = frozenset(Feature)

    @classmethod
    def available(cls):
        return True

    def solve(self, problem, run):
        return getattr(self, self.deed)(problem, run)

    def well(self, problem, run):
        found = answer(problem)
        details = {"note": "text", "number": 0.5, "array": np.zeros(3), "pid": os.getpid()}
        return attrs.evolve(found, details=details)

    def hang(self, problem, run):
        time.sleep(600)

    def listen(self, problem, run):
        found = answer(problem)
        run.offer(lambda: found)
        while True:
            run.check()
            time.sleep(0.01)

    def leave(self, problem, run):
        print("that was it")
        sys.stdout.flush()
        os._exit(3)

    def crash(self, problem, run):
        ctypes.string_at(1)

    def eat(self, problem, run):
        # Address space alone: nothing is written there, so no memory is taken where the limit fails.
        return [np.zeros(1 << 27) for _ in range(1000)]

    def raises(self, problem, run):
        raise ValueError("no")

    def junk(self, problem, run):
        return 42

    def integers(self, problem, run):
        return Candidate(np.zeros(problem.n_nodes, dtype=int), np.zeros(problem.n_nodes, dtype=int))

    def short(self, problem, run):
        return Candidate(np.zeros(1), np.zeros(1, dtype=int))

    def wrong(self, problem, run):
        found = answer(problem)
        return attrs.evolve(found, value=found.value + 1, details={"lower": found.value + 1})

    def limit(self, problem, run):
        found = answer(problem)
        raise NotConvergedError("not yet", iterations=5, width=float("inf"), partial=found)

    def unable(self, problem, run):
        raise UnsupportedError("not I")

    def family(self, problem, run):
        import subprocess

        with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as child:
            with open(self.more, "w") as file:  # noqa: PTH123
                file.write(str(child.pid))
            time.sleep(600)


class Plain:
    """A solver without attrs."""

    name = "plain"
    features = frozenset(Feature)

    def __init__(self, shift=0.0):
        self.shift = shift

    @classmethod
    def available(cls):
        return True

    def solve(self, problem, run):
        found = answer(problem)
        return attrs.evolve(found, value=found.value + self.shift)
