"""Two processes compile side by side, and one is enough: whatever becomes of the second."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mdpdice import claims

pytest.importorskip("fcntl")

SECOND = """
import os, pathlib, sys, time
from mdpdice import claims
claims.join(int(sys.argv[1]))
with claims.claimed("first") as mine:
    assert not mine
with claims.claimed("slow") as mine:
    assert mine
    pathlib.Path("process").write_text(str(os.getpid()))
    while not pathlib.Path("done").exists():
        time.sleep(0.01)
pathlib.Path("over").touch()
time.sleep(100)
"""
FIRST = """
import os, pathlib, signal, sys, threading, time
from mdpdice import claims
claims.SECOND = "second"
claims.begin("first", "route")
if "process" in sys.argv:
    while not pathlib.Path("process").exists():
        time.sleep(0.01)
def wait():
    claims.begin("slow", "route")
    print("mine", flush=True)
waiting = threading.Thread(target=wait, daemon=True)
waiting.start()
waiting.join(0.3)
print("waited" if waiting.is_alive() else "at once", flush=True)
"""


@pytest.fixture
def two(tmp_path, monkeypatch):
    """Run a program beside the second process, in a folder of its own."""
    monkeypatch.delenv(claims.ALONE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "second.py").write_text(SECOND)

    def start(program, *arguments):
        command = [sys.executable, "-c", program, *arguments]
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    return start


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


needs_two = pytest.mark.skipif(claims.processors() < 2, reason="there is one processor")


@needs_two
@pytest.mark.parametrize(
    "end", ["pathlib.Path('done').touch()", "os.kill(int(pathlib.Path('process').read_text()), 9)"]
)
def test_the_first_process_waits_until_the_second_is_done_or_dead(two, tmp_path, end):
    first = two(f"{FIRST}\n{end}\nwaiting.join()", "process")
    assert first.communicate(timeout=60)[0].split() == ["waited", "mine"]
    assert _gone(int((tmp_path / "process").read_text()))


@needs_two
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_second_process_ends_with_the_first(two, tmp_path, how):
    with two(f"{FIRST}\ntime.sleep(100)", "process") as first:
        assert first.stdout.readline() == "waited\n"
        first.send_signal(how)
    assert _gone(int((tmp_path / "process").read_text()))


@needs_two
def test_a_second_process_that_fails_is_not_waited_for(two, tmp_path):
    (tmp_path / "second.py").write_text("1 / 0")
    assert two(FIRST).communicate(timeout=60)[0].split() == ["mine", "at", "once"]


@pytest.mark.parametrize(
    "why", ["os.environ[claims.ALONE] = '1'", "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])"]
)
def test_one_process_is_enough(two, tmp_path, why):
    before, after = FIRST.split("claims.SECOND", 1)
    first = two(f"{before}{why}\nclaims.SECOND{after}")
    assert first.communicate(timeout=60)[0].split() == ["mine", "at", "once"]
    assert not (tmp_path / "process").exists()
