"""Work in another process: it can be watched and stopped, and its time is limited."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from threading import Semaphore
from typing import Any

from mdpdice.errors import MdpDiceError, SolveInterrupted, StateLimitError

GRACE = 10.0
"""Seconds that a process has to say that its time is up, before it is ended."""


class Working(Exception):  # noqa: N818 - nothing is wrong: ask again when the work is done
    """What was asked for waits for some work."""

    def __init__(self, work: Work) -> None:
        super().__init__(work.key)
        self.work = work


class Work:
    """A task in a process of its own, and what came of it: `error` where it failed, or a call of `finish`.

    The `module` is run with ``python -m``.  It reads the `task`, JSON data with the ``seconds`` that it has, from the
    first line of its input, and writes a line of JSON for all that it has to say: progress, and last an object with
    ``answer``, or with ``error`` and ``code``.  It ends when its input does, which says that nobody waits any more.
    As many tasks are done at once as there are `slots`.
    """

    def __init__(self, module: str, task: Mapping[str, Any], slots: Semaphore, finish: Callable[[Any], None]) -> None:
        self.key = secrets.token_urlsafe(12)
        self.progress: dict[str, Any] = {"phase": "wait", "done": 0, "total": None}
        self.error: MdpDiceError | None = None
        self.over, self.cancelled = threading.Event(), False
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        threading.Thread(target=self._run, args=(module, task, slots, finish), daemon=True).start()

    def cancel(self) -> None:
        """Stop it, and whatever it does."""
        with self._lock:
            self.cancelled = True
            if self._process is not None:
                self._process.kill()

    def _run(self, module: str, task: Mapping[str, Any], slots: Semaphore, finish: Callable[[Any], None]) -> None:
        try:
            with slots:
                said = self._said(module, task)
            if self.cancelled:
                self.error = SolveInterrupted("solving was cancelled")
            elif "answer" in said:
                finish(said["answer"])
            elif said.get("code") == StateLimitError.code:
                self.error = StateLimitError(said["error"], explored=0, frontier=[])
            else:
                self.error = MdpDiceError(said.get("error", "solving ended without an answer"))
        except MdpDiceError as error:
            self.error = error
        finally:
            self.over.set()

    def _said(self, module: str, task: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the process says last."""
        path = os.pathsep.join(entry for entry in sys.path if entry)
        options: dict[str, Any] = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
        options["env"] = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
        # A session of its own: Ctrl-C is for us to pass on.  What it complains of, it says in its answer, too.
        options |= {"stderr": subprocess.DEVNULL, "encoding": "utf-8", "start_new_session": True}
        command = [sys.executable, "-m", module]  # this very Python, and a module of ours
        said: dict[str, Any] = {}
        with self._lock:
            if self.cancelled:
                return said
            self._process = process = subprocess.Popen(command, **options)  # noqa: S603
        timer = threading.Timer(task["seconds"] + GRACE, process.kill)
        timer.start()
        with contextlib.suppress(OSError, ValueError), process:  # it was ended in the middle of a line
            assert process.stdin is not None
            assert process.stdout is not None
            print(json.dumps(task), file=process.stdin, flush=True)
            for line in process.stdout:
                said = json.loads(line)
                if "phase" in said:
                    self.progress = said
        timer.cancel()
        return said
