"""Two processes compile side by side, and one is enough: whatever becomes of the second."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mdpdice.compilation import ALONE

SECOND = """
import os, pathlib, sys, time
from mdpdice.cli import small_runs
from mdpdice.compilation import Loop

class Slow:
    def __init__(self, name):
        self.name = name

    def compile(self, types):
        if self.name == "slow":
            pathlib.Path("process").write_text(str(os.getpid()))
        while not pathlib.Path("done").exists():
            time.sleep(0.01)

def loops(run):
    found = []
    for name in ("first", "other", "slow"):
        found.append((loop := Loop(lambda: 0), ()))
        loop.name, loop.__dict__["compiled"] = name, Slow(name)
    return found

small_runs.recorded = loops
small_runs.main(*sys.argv[1:])
"""
FIRST = """
import os, pathlib, sys, threading, time
from mdpdice import compilation
compilation.SECOND = "second"
compilation.Loop.route = "crosscheck"
compilation._begin("first")
if "process" in sys.argv:
    while not pathlib.Path("process").exists():
        time.sleep(0.01)
def wait():
    compilation._begin("slow")
    print("mine", flush=True)
waiting = threading.Thread(target=wait, daemon=True)
waiting.start()
waiting.join(0.5)
print("waited" if waiting.is_alive() else "at once", flush=True)
"""
needs_two = pytest.mark.skipif(
    sys.platform == "win32" or len(os.sched_getaffinity(0)) < 2, reason="there is one processor"
)


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Run a program beside the second process, in a folder of its own."""
    monkeypatch.delenv(ALONE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "second.py").write_text(SECOND)

    started = []

    def start(program, *arguments):
        command = [sys.executable, "-c", program, *arguments]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        started.append(subprocess.Popen(command, cwd=tmp_path, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()


def _gone(process: int) -> bool:
    """Whether a process ends soon."""
    for _ in range(500):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        # A zombie where nobody asks for what has become of orphans.
        if (stat := Path(f"/proc/{process}/stat")).exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


@needs_two
@pytest.mark.parametrize(
    "end", ["pathlib.Path('done').touch()", "os.kill(int(pathlib.Path('process').read_text()), 9)"]
)
def test_the_first_process_waits_until_the_second_is_done_or_dead(two, tmp_path, end):
    first = two(f"{FIRST}\n{end}\nwaiting.join()\ncompilation._begin('other')\nprint('other')", "process")
    assert first.communicate(timeout=60)[0].split() == ["waited", "mine", "other"]
    assert _gone(int((tmp_path / "process").read_text()))


@needs_two
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_second_process_ends_with_the_first(two, tmp_path, how):
    with two(f"{FIRST}\ntime.sleep(100)", "process") as first:
        assert first.stdout.readline() == "waited\n"
        first.send_signal(how)
    assert _gone(int((tmp_path / "process").read_text()))


@needs_two
def test_what_the_second_process_has_not_begun_is_not_waited_for(two):
    program = FIRST.replace('compilation._begin("slow")', 'compilation._begin("other")')
    assert two(program, "process").communicate(timeout=60)[0].split() == ["mine", "at", "once"]


@needs_two
def test_a_second_process_that_fails_is_not_waited_for(two, tmp_path):
    (tmp_path / "second.py").write_text("1 / 0")
    first = two(f"{FIRST}\nwaiting.join()\ncompilation._begin('other')\nprint('other')")
    assert (
        {"mine", "other"} <= set(first.communicate(timeout=60)[0].split()) <= {"mine", "other", "at", "once", "waited"}
    )


ONE = "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"


@needs_two
@pytest.mark.parametrize("why", [f"os.environ['{ALONE}'] = '1'", ONE, "compilation.Loop.route = ''"])
def test_one_process_is_enough(two, why):
    before, begun, after = FIRST.partition("compilation._begin")
    first = two(f"{before}{why}\n{begun}{after}\nprint(compilation.Loop.second)")
    assert first.communicate(timeout=60)[0].split() == ["mine", "at", "once", "None"]
