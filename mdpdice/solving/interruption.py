"""Ctrl-C while a solve is running.

A handler of SIGINT is in place for as long as the solve lasts, in the main thread only (Python has no others there),
and only where Ctrl-C means what it usually means: a program that handles or ignores it itself is left alone.

The first Ctrl-C sets the cancel event.  A running solver has the time `GRACE` to notice and to return
what it has; one that does not look gets a `KeyboardInterrupt` then, as does code that never looks (exploring,
certifying) at once.  The second Ctrl-C is left to Python.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Self

from mdpdice.errors import SolveInterrupted

GRACE = 0.4
"""Seconds that a solver has to notice that it was cancelled."""


class Interrupts:
    """What Ctrl-C does inside the ``with`` block; afterwards it does what it did before.

    The first one sets `cancel`, and `arrived` says that there was one.  If it is to be `quiet`, it does no more:
    several processes stop only where all of them look.
    """

    def __init__(self, cancel: threading.Event, *, quiet: bool = False) -> None:
        self.cancel = cancel
        self._quiet = quiet
        self.arrived = False
        self._installed = False
        self._raised = False
        self._patient = False
        self._when = " before a solver started"
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._installed = True
            signal.signal(signal.SIGINT, self._arrive)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the handler back, and give a `KeyboardInterrupt` that nobody took its name."""
        self._restore()
        if isinstance(error, KeyboardInterrupt) and self.taken():
            raise SolveInterrupted(f"the solve was interrupted{self._when}") from error

    def taken(self) -> bool:
        """Whether a `KeyboardInterrupt` that was caught stems from the first Ctrl-C; it is answered for then."""
        raised, self._raised = self._raised, False
        return raised

    @contextlib.contextmanager
    def patience(self) -> Iterator[None]:
        """Inside the block the cancel event is checked, so Ctrl-C waits a moment before it raises."""
        self._patient, self._when = True, ""
        try:
            yield
        finally:
            with self._lock:
                self._patient = False

    def _arrive(self, number: int, frame: FrameType | None) -> None:
        self._restore()
        self.arrived = True
        self.cancel.set()
        if self._quiet:
            return
        if not self._patient:
            self._raised = True
            raise KeyboardInterrupt
        # Not threading.Thread: its locks may be held by what this handler interrupts.
        _thread.start_new_thread(self._insist, ())

    def _insist(self) -> None:
        time.sleep(GRACE)
        with self._lock:
            if not self._patient:
                return
            self._raised = True
            if hasattr(signal, "pthread_kill"):
                # Unlike interrupt_main(), this also ends a wait for a child process or for a lock.
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            else:
                _thread.interrupt_main()

    def _restore(self) -> None:
        # Whoever has put another handler in place meanwhile keeps it.
        if self._installed and signal.getsignal(signal.SIGINT) == self._arrive:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._installed = False
