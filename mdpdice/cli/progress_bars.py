"""Progress bars on the terminal: how far a long run is, and how long it may still take."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TextIO

from mdpdice.cli.limits import limits
from mdpdice.errors import SolveInterrupted

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

COMPILING = "compile"


class ProgressBars:
    """Progress callback that draws one bar per phase of a run; use it in a ``with`` block.

    It shows nothing unless the stream, by default stderr, is a terminal, and nothing of a run that is over after
    `delay` seconds; when the block is left the bars are wiped. rich is imported when the first bar is drawn.
    """

    def __init__(self, stream: TextIO | None = None, *, delay: float = 2.0, every: float = 0.1) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._every = every
        left = limits().get("time_limit")
        self._deadline = float("inf") if left is None else time.monotonic() + left
        self._next = time.monotonic() + delay if self._stream.isatty() else float("inf")
        self._display: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._phase = ""
        self._widest = 0.0

    def __call__(self, phase: str, numbers: Mapping[str, float]) -> None:
        """Show the numbers of a phase; what has run into the time limit of the command is stopped."""
        if phase == "bounds" and not self._widest:
            self._widest = float(numbers["width"])
        # What is raised while numba compiles would come out of it as another error.
        if (now := time.monotonic()) > self._deadline and phase != COMPILING:
            raise SolveInterrupted("the command ran into its time limit")
        if now < self._next:
            return
        self._next = now + self._every
        share = share_of(phase, numbers, self._widest)
        shown: dict[str, Any] = {
            "completed": share.done,
            "total": share.total,
            "figures": ", ".join(f"{_figure(number)} {name}" for name, number in share.figures.items()),
            "steady": share.steady,
        }
        display = self._display or _display(self._stream)
        if phase == COMPILING:
            for task in self._tasks.values():
                display.update(task, steady=False)
        elif COMPILING in self._tasks:
            display.remove_task(self._tasks.pop(COMPILING))
        if phase not in (self._phase, COMPILING):
            self._finish()
            self._phase = phase
        if phase in self._tasks:
            display.update(self._tasks[phase], **shown)
        else:
            self._tasks[phase] = display.add_task(phase, **shown)
        if self._display is None:
            self._display = display
            display.start()
        display.refresh()

    def _finish(self) -> None:
        """Stop the clock of the phase before."""
        if self._display is not None and self._phase:
            task = self._tasks[self._phase]
            self._display.update(task, total=1, completed=1)
            self._display.stop_task(task)

    def __enter__(self) -> Self:
        from mdpdice.compilation import Loop  # numpy, which the help does without

        self._loop = Loop
        Loop.told = lambda begun, made: self(COMPILING, {f"of {made}, once for this installation": begun, "of": made})
        return self

    def __exit__(self, *_: object) -> None:
        """Wipe the bars, so that what follows starts on an empty line."""
        self._loop.told = None
        if self._display is not None:
            self._display.stop()


class _Share(NamedTuple):
    """How much of a phase is done, of a total that may be unknown (None), and the numbers to show.

    Where the total does not change (`steady`), the time left can be estimated.
    """

    done: float
    total: float | None
    steady: bool
    figures: Mapping[str, float]


def share_of(phase: str, numbers: Mapping[str, float], widest: float) -> _Share:
    """How much of a phase is done; of bounds, by how far they closed in since they were the `widest`."""
    if "explored" in numbers and numbers["states"]:
        # More states are found on the way.
        return _Share(numbers["explored"], numbers["states"], False, _without(numbers, "explored"))
    if phase == "bounds":
        # Bounds close in by factors, so the way left is a matter of digits.
        width, wanted = max(numbers["width"], 1e-300), max(numbers["wanted"], 1e-300)
        digits = math.log10(max(widest, wanted) / wanted)
        done = digits - math.log10(max(width, wanted) / wanted)
        return _Share(done, digits or None, True, {"width": numbers["width"], "wanted": wanted})
    if total := numbers.get("of", numbers.get("total")):
        return _Share(numbers[next(iter(numbers))], total, phase != COMPILING, _without(numbers, "of", "total"))
    return _Share(0.0, None, False, numbers)


def _without(numbers: Mapping[str, float], *names: str) -> dict[str, float]:
    return {name: number for name, number in numbers.items() if name not in names}


def _figure(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) or float(number).is_integer() else f"{number:.3g}"


def _display(stream: TextIO) -> Progress:
    from rich import progress
    from rich.console import Console
    from rich.text import Text

    class Left(progress.TimeRemainingColumn):
        """The time left, where that can be estimated."""

        def render(self, task: progress.Task) -> Text:
            if not task.fields["steady"] or task.finished:
                return Text("")
            return Text.assemble(super().render(task), " left")

    columns: list[Any] = [
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=24),
        progress.TaskProgressColumn(),
        progress.TextColumn("{task.fields[figures]}", style="cyan"),
        progress.TimeElapsedColumn(),
        Left(compact=True),
    ]
    # No thread of its own: solvers compute without giving way, and Ctrl-C belongs to them.
    return progress.Progress(*columns, console=Console(file=stream), transient=True, auto_refresh=False)
