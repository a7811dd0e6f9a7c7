"""What a small game finds out about the loops of large ones is what these compile."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from mdpdice.compilation import ALONE

RUN = """
import gc, sys
from mdpdice import compile_lattice, cross_check, solve
from mdpdice.cli import small_runs
from mdpdice.compilation import Loop
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigRace

def signatures():
    loops = [loop for loop in gc.get_objects() if isinstance(loop, Loop) and "compiled" in vars(loop)]
    return {(loop.name, types) for loop in loops for types in loop.compiled.signatures}

import mdpdice.certification.residual_bounds, mdpdice.networks.arrays
import mdpdice.solvers.policy_iteration.krylov, mdpdice.solvers.value_iteration.newton
modules = [module for name, module in sys.modules.items() if name.startswith("mdpdice.")]
before = [(module, name, value) for module in modules for name, value in vars(module).items() if name.isupper()]
for run in small_runs.ROUTES[sys.argv[2]]:
    for loop, types in small_runs.recorded(run):
        loop.compiled.compile(types)
Loop.recorded = None
for module, name, value in before:
    setattr(module, name, value)
known = signatures()
names = sorted(name for name, _ in known)
twice = [f"two types: {name}" for name, other in zip(names, names[1:]) if name == other]
exec(sys.argv[1])
print(len(known), *twice, *(f"{name} {types}" for name, types in signatures() - known), sep="\\n")
"""


@pytest.mark.parametrize(
    ("command", "route"),
    [
        ("cross_check(KcdFarkle())", "crosscheck"),
        ("solve(KcdFarkle())", "solve"),
        ("solve(compile_lattice(PigRace(goal=60)))", "solve"),
        ("solve(compile_lattice(KcdFarkle()))", "solve"),
        ("", "compile"),
    ],
)
def test_loops_have_one_type_and_large_games_need_nothing_else(command, route):
    run = subprocess.run([sys.executable, "-P", "-c", RUN, command, route], capture_output=True, text=True, check=True)
    count, *others = run.stdout.splitlines()
    assert int(count) > 5
    assert not others


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="there is one processor")
def test_the_second_process_compiles_what_comes_last(tmp_path, monkeypatch):
    monkeypatch.delenv(ALONE)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    program = (
        "import pathlib, sys, time; from mdpdice import compilation\n"
        "compilation.Loop.route = 'solve'\n"
        "compilation._begin('mdpdice.numerics.kernels.expansion.discover')\n"
        "while not list(pathlib.Path(sys.argv[1]).rglob('*.nbc')): time.sleep(0.1)\n"
    )
    command = [sys.executable, "-P", "-c", program, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert (run.stdout, run.stderr) == ("", "")
    kept = {path.name.split(".", 1)[1].split("-")[0] for path in tmp_path.rglob("*.nbc")}
    assert kept <= {"large.tiny", "large.holds"}


def test_everything_is_compiled_beforehand():
    run = [sys.executable, "-m", "mdpdice.cli", "compile", "--json"]
    told = [json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout) for _ in range(2)]
    assert min(one["loops"] for one in told) > 25
    assert not told[1]["compiled"]
