"""How the tests of the command line run it."""

from __future__ import annotations

import sys
import textwrap
import types
from importlib.metadata import EntryPoint

import attrs
import numpy as np
import pytest
from click.testing import CliRunner

from mdpdice import Candidate, backend
from mdpdice.cli import main
from mdpdice.solvers.backward_induction import BackwardInduction


@pytest.fixture
def run(monkeypatch):
    """Call the command line in this process; gives click's result."""
    monkeypatch.setattr(sys, "path", sys.path[:])  # the folders of game files are added to it

    def call(*args):
        return CliRunner().invoke(main, [str(arg) for arg in args], prog_name="mdpdice")

    return call


@pytest.fixture
def write(tmp_path):
    """Write a Python file; gives its path."""

    def put(text, name="mine.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    return put


PIG = """
    from typing import Literal
    import attrs
    from mdpdice import Game, Node, d6, decide, end, go, roll

    @attrs.frozen
    class Pig(Game[int, str]):
        \"\"\"One turn of Pig: the state is the points at risk.

        Parameters
        ----------
        cap : int
            The turn ends here.
        bust : {"nothing", "half"}
            What is left
            after a 1.

        Notes
        -----
        cap : this is no parameter description
        \"\"\"

        cap: int = 20
        bust: Literal["nothing", "half"] = "nothing"

        def start(self) -> int:
            return 0

        def node(self, points: int) -> Node[int, str]:
            if points >= self.cap:
                return end(points)
            left = 0 if self.bust == "nothing" else points / 2
            return decide({
                "hold": end(points),
                "roll": roll(d6, lambda k: end(left) if k == 1 else go(points + k)),
            })
"""


@pytest.fixture
def pig(write):
    """NAME of a game in a file of the user."""
    return f"{write(PIG, 'pig.py')}:Pig"


@attrs.frozen
class TooHigh(BackwardInduction):
    """A solver that is wrong by a tenth."""

    name = "too-high"

    def solve(self, problem, run):
        right = super().solve(problem, run)
        return Candidate(np.where(problem.decides, right.value + 0.1, right.value), right.policy)


@pytest.fixture
def plug_in(monkeypatch):
    """Register a solver that is wrong, and one that cannot be loaded."""
    module = types.ModuleType("wrong_back_ends")
    module.TooHigh = TooHigh
    monkeypatch.setitem(sys.modules, module.__name__, module)
    real = backend.entry_points
    planted = [
        EntryPoint(name, f"{module.__name__}:{target}", backend.GROUP)
        for name, target in (("too-high", "TooHigh"), ("absent", "NotThere"))
    ]
    monkeypatch.setattr(backend, "entry_points", lambda *, group: [*real(group=group), *planted])
