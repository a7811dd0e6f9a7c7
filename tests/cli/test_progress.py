"""Progress bars are for people who wait at a terminal."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys

import pytest

from mdpdice import Game, compile_lattice, d6, decide, end, go, roll, solve
from mdpdice.cli.progress_bars import ProgressBars
from mdpdice.compilation import Loop
from mdpdice.games.pig import Piglet


class Terminal(io.StringIO):
    def isatty(self):
        return True

    def lines(self):
        """Everything that was ever shown, without colours and movements of the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.getvalue()).replace("\r", "\n").splitlines()


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


def test_nothing_in_a_file():
    file = io.StringIO()
    with ProgressBars(file, delay=0) as progress:
        progress("explore", {"states": 3, "explored": 1, "edges": 2})
    assert file.getvalue() == ""


def test_nothing_before_the_delay():
    terminal = Terminal()
    with ProgressBars(terminal, delay=60) as progress:
        progress("explore", {"states": 3, "explored": 1, "edges": 2})
    assert terminal.getvalue() == ""


def test_states_edges_width_and_time_left():
    terminal = Terminal()
    with ProgressBars(terminal, delay=0, every=0) as progress:
        progress("explore", {"states": 12345, "explored": 6000, "edges": 70000})
        progress("solve", {"components": 10, "of": 40, "sweeps": 7, "move": 0.25})
        progress("solve", {"components": 20, "of": 40, "sweeps": 9, "move": 0.125})
        progress("bounds", {"width": 1e-1, "wanted": 1e-9})
        progress("bounds", {"width": 1e-5, "wanted": 1e-9})
        progress("look ahead", {"depth": 3, "visits": 1000})
    shown = terminal.lines()
    explored = next(line for line in shown if line.startswith("explore"))
    assert "49%" in explored
    assert "12,345 states, 70,000 edges" in explored
    assert "left" not in explored  # the total still grows
    solving = [line for line in shown if line.startswith("solve")]
    assert "25%" in solving[0]
    assert any("50%" in line and "20 components, 9 sweeps, 0.125 move" in line for line in solving)
    assert any(" left" in line for line in solving)
    bounds = [line for line in shown if line.startswith("bounds")]
    assert any("50%" in line and "1e-05 width, 1e-09 wanted" in line for line in bounds)
    assert any(line.startswith("look ahead") and "3 depth, 1,000 visits" in line for line in shown)


def test_bars_are_wiped():
    terminal = Terminal()
    with ProgressBars(terminal, delay=0, every=0) as progress:
        progress("simulate", {"plays": 5, "of": 10, "moves": 3})
    assert terminal.getvalue().endswith("\x1b[2K")


def test_updates_are_rare():
    terminal = Terminal()
    with ProgressBars(terminal, delay=0, every=60) as progress:
        for number in range(1, 1000):
            progress("explore", {"states": number, "explored": number, "edges": number})
    assert sum("states" in line for line in terminal.lines()) <= 3  # once, and when it starts and stops


def test_what_solvers_tell_is_understood():
    # Every play stops, so value iteration has bounds.
    game = Game.of(
        start=0,
        node=lambda n: decide({"on": roll(d6, lambda k: end(n) if k == 1 else go((n + k) % 50)), "off": end(n)}),
    )
    terminal = Terminal()
    with ProgressBars(terminal, delay=0, every=0) as progress:
        solve(game, solver="value-iteration", progress=progress)
    shown = "\n".join(terminal.lines())
    for word in ("explore", "states", "edges", "solve", "sweeps", "bounds", "width"):
        assert word in shown


def test_what_is_told_of_lattices_is_understood():
    terminal = Terminal()
    with ProgressBars(terminal, delay=0, every=0) as progress:
        solve(compile_lattice(Piglet(goal=3)), progress=progress)
    shown = "\n".join(terminal.lines())
    for word in ("explore", "layers", "states", "solve"):
        assert word in shown


def test_nothing_is_imported_for_nothing():
    program = (
        "import sys\n"
        "from mdpdice.cli.progress_bars import ProgressBars\n"
        "with ProgressBars(delay=0) as progress: progress('explore', {'states': 1, 'explored': 1})\n"
        "print('rich' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("False", "")


def test_compiling_is_counted_and_promises_no_seconds():
    terminal = Terminal()
    with ProgressBars(terminal, delay=0, every=0) as progress:
        progress("solve", {"layers": 1, "of": 4})
        progress("solve", {"layers": 2, "of": 4})
        told = len(terminal.lines())
        Loop.told(3, 20)
        meanwhile = terminal.lines()[told:]
        told += len(meanwhile)
        progress("solve", {"layers": 3, "of": 4})
        after = terminal.lines()[told:]
    bar = next(line for line in meanwhile if line.startswith("compile"))
    assert "15%" in bar
    assert "3 of 20, once for this installation" in bar
    assert not any(" left" in line for line in meanwhile)
    assert any("75%" in line for line in after if line.startswith("solve"))
    assert not any(line.startswith("compile") for line in after)
    assert Loop.told is None


def test_the_compiler_tells_of_what_it_has_to_compile(tmp_path):
    (tmp_path / "loops.py").write_text(
        "from mdpdice.compilation import Loop, nested, njit\n"
        "@nested\ndef two(x):\n    return x + 1\n"
        "@njit\ndef one(x):\n    return two(x) + 1\n"
        "told = []\nLoop.told = lambda begun, made: told.append((begun, made))\n"
        "print(one(1), *told)\n"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "code")}
    for heard in ("3 (1, 2) (2, 2)", "3"):  # compiled, and then taken from the folder
        run = subprocess.run(
            [sys.executable, "loops.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == heard
