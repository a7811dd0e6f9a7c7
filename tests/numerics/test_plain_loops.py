"""Small arrays go through loops in plain Python: the same numbers as from machine code, bit by bit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from mdpdice import Game, outcomes, solve
from mdpdice.compilation import PLAIN_UP_TO, Loop
from mdpdice.games.pig import Piglet, PigTurn
from mdpdice.games.school import SchoolCombination
from mdpdice.numerics.kernels import graph


@pytest.fixture
def plainly(monkeypatch):
    """A switch between plain Python and machine code; plain Python has all its elements still ahead."""

    def switch(plain: bool) -> None:
        monkeypatch.setattr(Loop, "spent", 0)
        monkeypatch.setattr(Loop, "compiling", not plain)

    return switch


def _graph(seed: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    degree = rng.integers(0, 5, n)
    indptr = np.concatenate(([0], np.cumsum(degree))).astype(np.int64)
    m = int(indptr[-1])
    dst = rng.integers(0, n, m)
    return indptr, dst, rng.random(m) < 0.8, rng.random(n) < 0.5, np.where(degree == 0, 0, -1)


@pytest.mark.parametrize("seed", range(40))
def test_searches_find_the_same(plainly, seed):
    found = []
    for plain in (True, False):
        plainly(plain)
        indptr, dst, keep, chance, rank = _graph(seed)
        n = len(chance)
        label, order, ptr, whole = graph.components(indptr, dst, keep, chance, rank)
        cyclic, seen = np.zeros(len(ptr) - 1, dtype=bool), np.arange(n) == 0
        graph.looped(indptr, dst, keep, label, cyclic)
        graph.reach(indptr, dst, keep, seen)
        entering_ptr, entering = graph.reverse(indptr, dst)
        source = np.repeat(np.arange(n), np.diff(indptr))
        wait, ranks, gone = np.diff(indptr), np.where(np.diff(indptr) == 0, 0, -1), np.zeros(n, dtype=bool)
        graph.escape(source, entering_ptr, entering, chance, wait, ranks)
        again = graph.end_components(indptr, dst, source, entering_ptr, entering, chance, label, gone, keep)
        some = graph.acyclic(indptr, dst, keep), whole, again
        buckets = graph.bucket(label, n + 1, order, 2)
        found.append([rank, label, order, ptr, cyclic, seen, wait, ranks, gone, keep, some, *buckets])
        assert Loop.compiling is not plain
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("game", [PigTurn(), Piglet(), Piglet(goal=5), PigTurn(cap=30), SchoolCombination()], ids=repr)
def test_solutions_are_the_same(plainly, game: Game):
    found = []
    for plain in (True, False):
        plainly(plain)
        solution = solve(game)
        assert solution.proved
        spread = outcomes(solution.network, solution.policy)
        totals = np.array([spread.mean, spread.variance])
        found.append([solution.lowers, solution.uppers, solution.values, solution.nodes.choice, totals])
    for one, other in zip(*found, strict=True):
        assert one.tobytes() == other.tobytes()


def test_larger_arrays_are_compiled(plainly):
    plainly(True)
    n = PLAIN_UP_TO
    graph.reach(np.arange(n + 1), np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool), np.zeros(n, dtype=bool))
    assert Loop.compiling


def test_a_small_game_needs_no_compiler():
    program = (
        "import sys; from mdpdice.cli.main import main\n"
        "try: main(['solve', 'pig-turn', '--no-cache'])\n"
        "except SystemExit: pass\n"
        "print('numba' in sys.modules, 'scipy' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "False False"
