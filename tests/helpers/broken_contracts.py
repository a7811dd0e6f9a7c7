"""Things that go wrong, for the table of faults: games, files and solvers that break their contract."""

from __future__ import annotations

import math
import random
import sys
import threading

import attrs
import pytest

from mdpdice import (
    ClassicMDP,
    Counter,
    Dist,
    Feature,
    Game,
    Network,
    Solution,
    decide,
    die,
    end,
    explore,
    go,
    roll,
    solve,
)
from mdpdice.errors import SolveInterrupted
from mdpdice.solvers.value_iteration import ValueIteration
from mdpdice.solving.checkpoints import Checkpoint

from . import changed_solutions


def game(node, start="s", **fields):
    return Game.of(start=start, node=node, **fields)


def arrays(target, probability, reward=(0,), **fields):
    """One state "s" with an action "a", and an end "t"."""
    n = len(target)
    defaults = {"states": ["s", "t"], "actions": ["a"], "terminal": {1: 0}}
    return Network.from_choices([0, 1, 1], [0, n], target, probability, reward, **(defaults | fields))


LOOP = game(lambda s: decide({"on": go("t")}) if s == "s" else decide({"back": go("s", reward=-1), "out": end(3)}))


def walk(ends):
    """Fair steps between two ends; slow enough to be stopped."""
    return Game.of(
        start=ends // 2, node=lambda n: end(n // ends) if n in {0, ends} else roll(die(2), lambda k: go(n + 2 * k - 3))
    )


@attrs.frozen(eq=False)
class Misbehaving:
    """A solver that does something else."""

    deed: object
    name = "rogue"
    features = frozenset(Feature)

    @classmethod
    def available(cls):
        return True

    def solve(self, problem, run):
        return self.deed(problem, run)


def by(deed):
    return lambda _: solve(LOOP, solver=Misbehaving(deed))


def right(problem, run):
    return ValueIteration().solve(problem, run)


def with_changes(**changes):
    def deed(problem, run):
        found = right(problem, run)
        return attrs.evolve(found, **{key: change(getattr(found, key)) for key, change in changes.items()})

    return deed


def nan_at(value):
    value = value.copy()
    value[1] = math.nan
    return value


def writes(problem, run):
    problem.reward[0] = 7
    return right(problem, run)


def unlocks(problem, run):
    problem.reward.flags.writeable = True
    problem.reward[0] = 7
    return right(problem, run)


def raising(problem, run):
    return 1 // 0


def interrupted(path):
    flag = threading.Event()
    flag.set()
    solve(LOOP, cancel=flag)


def checkpoint_of_another(path):
    with pytest.raises(SolveInterrupted):
        solve(walk(3000), solver=ValueIteration(), checkpoint=path / "c", time_limit=0.3, epsilon=1e-12)
    solve(walk(3000), solver=ValueIteration(max_sweeps=7), checkpoint=path / "c", epsilon=1e-12)


def locked(path):
    with Checkpoint(path / "c"):
        solve(LOOP, checkpoint=path / "c")


def flipped(path):
    explore(LOOP).save(path / "n")
    data = bytearray((path / "n").read_bytes())
    data[len(data) // 2] ^= 1
    (path / "n").write_bytes(data)
    Network.load(path / "n")


def answer_of_another(path):
    solve(LOOP, horizon=3).save(path / "n")
    Solution.load(path / "n", LOOP)


def changed(path):
    good = solve(LOOP)
    changed_solutions.changed(good, values=good.nodes.values + 1).value()


def missing(path):
    with pytest.MonkeyPatch.context() as patch:
        for name in list(sys.modules):
            if name.split(".")[0] == "pandas":
                patch.delitem(sys.modules, name)
        patch.setitem(sys.modules, "pandas", None)
        solve(LOOP).to_dataframe()


class Draws(Game[int, str]):
    def start(self):
        return 0

    def node(self, state):
        return decide({"draw": end(random.random())})


class Stepping(Game[str, str]):
    points = Counter(range(10))

    def start(self):
        return "s"

    def node(self, state):
        return decide({"far": go("s", self.points.add(7)), "stop": end(self.points)})


class NoAction(ClassicMDP[str, str]):
    def initial(self):
        return "s"

    def actions(self, state):
        return []

    def transition(self, state, action):
        return Dist({"s": 1})


@attrs.frozen
class Rogue2:
    """Acyclic networks of one player only."""

    name = "simple"
    features = frozenset()

    @classmethod
    def available(cls):
        return True

    def solve(self, problem, run):
        raise AssertionError
