"""A line on the terminal that tells how far a long run is."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self, TextIO

__all__ = ["ProgressLine"]


class ProgressLine:
    """Progress callback that keeps one line of a terminal up to date; use it in a ``with`` block.

    It shows nothing unless the stream is a terminal, and nothing of a run that is over quickly.

    Parameters
    ----------
    stream : file, optional
        Where to write, by default stderr.
    delay : float
        Seconds before anything is shown.
    every : float
        Seconds between two updates.
    """

    def __init__(self, stream: TextIO | None = None, *, delay: float = 2.0, every: float = 0.1) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._every = every
        self._next = time.monotonic() + delay if self._stream.isatty() else float("inf")
        self._width = 0

    def __call__(self, phase: str, numbers: Mapping[str, float]) -> None:
        """Show the numbers of a phase."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + self._every
        text = f"{phase}: {', '.join(f'{_figure(number)} {name}' for name, number in numbers.items())}"
        # A line that wraps could not be written over.
        text = text[: max(1, shutil.get_terminal_size().columns - 1)]
        self._stream.write(f"\r{text.ljust(self._width)}")
        self._stream.flush()
        self._width = len(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wipe the line, so that what follows starts on an empty one."""
        if self._width:
            self._stream.write(f"\r{' ' * self._width}\r")
            self._stream.flush()


def _figure(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) or float(number).is_integer() else f"{number:.3g}"
