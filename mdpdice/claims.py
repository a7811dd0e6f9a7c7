"""Which of two processes compiles a loop: the one that has locked its byte in a file that both have open.

Locks end with their process, however that ends, so nobody waits in vain.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ALONE = "MDPDICE_COMPILE_ALONE"
"""Environment variable: unless it is empty, there is no second process."""
SECOND = "mdpdice.cli.small_runs"
"""The module that is the second process; this one is below it."""
_WRITING, _LOOPS = 0, 1
_file: Any = None  # or its number
_second = False
_writing = threading.Lock()


def begin(loop: str, route: str) -> None:
    """Claim a loop for the first process, once the second one has done what it claimed before.

    The second process is started if there is none; it compiles the loops of the same route.
    """
    if not _file and route:
        _start(loop, route)
    if not _second:
        _lock(_LOOPS + zlib.crc32(loop.encode()))


def _start(loop: str, route: str) -> None:
    global _file  # noqa: PLW0603 - one for all loops
    python = Path(sys.executable or "").name.startswith("python")  # and not a program that it is a part of
    if os.environ.get(ALONE) or processors() < 2 or not python:
        return
    options: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
    options["stdin"] = subprocess.PIPE  # its end says that we have ended
    options["env"] = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    with contextlib.suppress(ImportError, OSError):  # there are no such locks on Windows
        import fcntl  # noqa: F401

        file = tempfile.TemporaryFile()  # noqa: SIM115 - until the process ends
        command = [sys.executable, "-P", "-m", SECOND, str(file.fileno()), route, loop]
        process = subprocess.Popen(command, pass_fds=[file.fileno()], **options)  # noqa: S603 - this very Python
        _file = file
        atexit.register(_end, process)


def processors() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2)


def join(file: int) -> None:
    """Be the second process, with the number under which the file is open."""
    global _file, _second
    _file, _second = file, True
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process may go on
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    sys.stdin.read()
    with _writing:
        os._exit(0)


@contextlib.contextmanager
def claimed(loop: str) -> Iterator[bool]:
    """Claim a loop for the second process, and say whether it may have it."""
    byte = _LOOPS + zlib.crc32(loop.encode())
    mine = _lock(byte, wait=False)
    try:
        yield mine
    finally:
        if mine:
            _unlock(byte)


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Write machine code while the other process writes none, and this one is not ended."""
    with _writing:
        _lock(_WRITING)
        try:
            yield
        finally:
            _unlock(_WRITING)


def _lock(byte: int, *, wait: bool = True) -> bool:
    if _file:
        import fcntl

        try:
            fcntl.lockf(_file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, byte)
        except OSError:
            return False
    return True


def _unlock(byte: int) -> None:
    if _file:
        import fcntl

        fcntl.lockf(_file, fcntl.LOCK_UN, 1, byte)
