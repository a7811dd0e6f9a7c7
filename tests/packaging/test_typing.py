"""A user's project is type-checked against the installed package, whose annotations it sees through ``py.typed``."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

GAME = '''\
"""A game of a user."""

import attrs

from mdpdice import Game, Node, d6, decide, end, explore, go, roll, solve
from mdpdice.testing import check_game


@attrs.frozen
class Pig(Game[int, str]):
    cap: int = 30

    def start(self) -> int:
        return 0

    def node(self, points: int) -> Node[int, str]:
        if points >= self.cap:
            return end(points)
        return decide(
            {"hold": end(points), "roll": roll(d6, lambda k: end() if k == 1 else go(points + k))}
        )


solution = solve(explore(Pig()))
value: float = solution.value(20)
report = check_game(Pig())
skipped: str = report.skipped["counters"]
'''

SOLVER = '''\
"""A solver of a user."""

from typing import ClassVar

import attrs
import numpy as np

from mdpdice import Candidate, Feature, Network, Run, cross_check, solve
from mdpdice.backend import traced


@attrs.frozen
class First:
    name: ClassVar[str] = "first"
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.CYCLIC})

    @classmethod
    def available(cls) -> bool:
        return True

    @traced
    def solve(self, problem: Network, run: Run) -> Candidate:
        run.check()
        first = np.where(problem.decides, problem.indptr[:-1], -1)
        return Candidate(problem.payoff.copy(), first)


def check(network: Network) -> bool:
    solve(network, solver=First())
    return cross_check(network, solvers=[First(), "exact"]).ok
'''

# What a checker must not let pass: otherwise it has seen no types at all.
WRONG = {
    "state": (GAME.replace("go(points + k)", "go(str(points))"), ("str", "int")),
    "value": (GAME + "\nname: str = solution.value()\n", ("float", "str")),
    "solver": (SOLVER.replace("-> Candidate:", "-> int:"), ("Candidate", "int")),
}

Check = Callable[[str], tuple[int, str]]


@pytest.fixture(scope="module")
def site(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked: what pip would do with it."""
    place = tmp_path_factory.mktemp("site")
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place)
    return place


def run(arguments: list[str], folder: Path, site: Path) -> tuple[int, str]:
    environment = {name: text for name, text in os.environ.items() if name != "MYPYPATH"} | {"PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="module")
def mypy(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Check:
    folder = tmp_path_factory.mktemp("mypy")

    def check(text: str) -> tuple[int, str]:
        (folder / "user.py").write_text(text, encoding="utf-8")
        return run(["-m", "mypy", "--strict", "user.py"], folder, site)

    return check


@pytest.fixture(scope="module")
def pyright(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Check:
    pytest.importorskip("pyright", reason="make test-slow installs it")
    folder = tmp_path_factory.mktemp("pyright")
    # Unlike mypy it does not ask Python for its path in a way that knows PYTHONPATH.
    (folder / "pyrightconfig.json").write_text(f'{{"extraPaths": ["{site}"], "typeCheckingMode": "standard"}}')

    def check(text: str) -> tuple[int, str]:
        (folder / "user.py").write_text(text, encoding="utf-8")
        return run(["-m", "pyright", "--pythonpath", sys.executable, "user.py"], folder, site)

    return check


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_users_project(checker: str, request: pytest.FixtureRequest) -> None:
    check: Check = request.getfixturevalue(checker)
    for text in (GAME, SOLVER):
        code, told = check(text)
        assert code == 0, told
    for text, words in WRONG.values():
        code, told = check(text)
        assert code == 1, told
        assert "user.py" in told
        for word in words:
            assert word in told
