"""Ending the program that PuLP runs: PuLP starts it and waits for it, and gives no access to its number.

So PuLP is given a script of three lines to run in the program's place.  It writes its process number to a
file and then becomes the program, which keeps the number.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

PAUSE = 0.1
"""Seconds between two looks."""


@contextlib.contextmanager
def leash(solver: Any, stop: Callable[[], bool]) -> Iterator[threading.Event]:
    """Inside the block, the program of a PuLP solver is killed once `stop` says so, and when the block is left.

    The solver gets another path and another folder for temporary files; `stop` is asked from another thread, and the
    event is set when the program was stopped.
    """
    stopped, over = threading.Event(), threading.Event()
    path = getattr(solver, "path", None)
    real = shutil.which(path) if isinstance(path, str) else None
    with tempfile.TemporaryDirectory(prefix="mdpdice-") as folder:
        number, script = Path(folder) / "pid", Path(folder) / "run"
        if real is not None and os.name == "posix":
            command = f'#!/bin/sh\necho $$ > {shlex.quote(str(number))}\nexec {shlex.quote(real)} "$@"\n'
            script.write_text(command, encoding="utf-8")
            script.chmod(0o700)
            if os.access(script, os.X_OK):  # not where temporary files may not be run
                solver.path = str(script)
        # What PuLP would leave behind when it fails goes away with the folder.
        solver.tmpDir = folder

        def watch() -> None:
            while not over.wait(PAUSE):
                if stop():
                    stopped.set()
                    # Again and again: it may be about to begin.
                    _kill(number)

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield stopped
        except BaseException:
            _kill(number)
            raise
        finally:
            over.set()
            watcher.join()


def _kill(number: Path) -> None:
    with contextlib.suppress(OSError, ValueError):
        os.kill(int(number.read_text(encoding="ascii")), signal.SIGKILL)
