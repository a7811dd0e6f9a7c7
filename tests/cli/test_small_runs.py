"""What a small game finds out about the loops of large ones is what these compile."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mdpdice import claims

# Loops with their types: those of large games from machine code, those of small ones in plain Python.
RUN = """
import gc, json, sys
from mdpdice import compile_lattice, cross_check, solve
from mdpdice.cli import small_runs
from mdpdice.compilation import Loop
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigRace
exec(sys.argv[1])
large = {}
for loop in [loop for loop in gc.get_objects() if isinstance(loop, Loop) and not loop.options]:
    if "compiled" in vars(loop):
        large[loop.name] = [str(types) for types in loop.compiled.signatures]
small = {}
for run in small_runs.ROUTES[sys.argv[2]]:
    for loop, types in small_runs.recorded(run):
        small.setdefault(loop.name, []).append(str(types))
print(json.dumps([large, small]))
"""


@pytest.mark.parametrize(
    ("command", "route"),
    [
        ("cross_check(KcdFarkle())", "crosscheck"),
        ("solve(KcdFarkle())", "solve"),
        ("solve(compile_lattice(PigRace(goal=60)))", "solve"),
        ("solve(compile_lattice(KcdFarkle()))", "solve"),
    ],
)
def test_the_types_are_those_of_large_games(command, route):
    run = subprocess.run([sys.executable, "-P", "-c", RUN, command, route], capture_output=True, text=True, check=True)
    large, small = json.loads(run.stdout)
    assert len(large) > 2
    for loop, types in large.items():
        assert set(types) <= set(small.get(loop, [])), loop


@pytest.mark.skipif(claims.processors() < 2, reason="there is one processor")
def test_the_second_process_compiles_what_comes_last(tmp_path, monkeypatch):
    monkeypatch.delenv(claims.ALONE)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    program = (
        "import pathlib, sys, time; from mdpdice import claims\n"
        "claims.begin('mdpdice.numerics.kernels.expansion.discover', 'solve')\n"
        "while not list(pathlib.Path(sys.argv[1]).rglob('*.nbc')): time.sleep(0.1)\n"
    )
    command = [sys.executable, "-P", "-c", program, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert (run.stdout, run.stderr) == ("", "")
    kept = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbc")}
    assert kept <= {"large.tiny", "large.holds"}
    assert not list(tmp_path.rglob("*.tmp.*"))


def test_everything_is_compiled_beforehand():
    run = [sys.executable, "-m", "mdpdice.cli", "compile", "--json"]
    told = [json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout) for _ in range(2)]
    assert min(one["loops"] for one in told) > 30
    assert not told[1]["compiled"]
