"""What a conformance kit found: checks that passed, and checks that did not apply."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import attrs

from mdpdice.backend import Progress
from mdpdice.errors import ConformanceError, MdpDiceError, SolveInterrupted
from mdpdice.networks.network import Network


def subject_of(game: Any) -> str:
    """Return what a game is called where it fails: its class, unless the library made that."""
    if isinstance(game, Network):
        return "a network"
    name = type(game).__name__
    return "the game" if name.startswith("_") else name


@attrs.frozen
class Check:
    """What became of one check."""

    name: str  #: the check
    outcome: str  #: "passed", "skipped" or "failed", which raises, so that a report has none
    count: int = 0  #: how many things it looked at
    note: str = ""  #: what they were; why it was skipped


@attrs.frozen(repr=False)
class Conformance:
    """Report of a conformance kit: no check failed."""

    subject: str  #: what was checked
    checks: tuple[Check, ...]  #: in the order in which they were made

    @property
    def passed(self) -> Mapping[str, int]:
        """Checks that were made, and how many things each looked at."""
        return {check.name: check.count for check in self.checks if check.outcome == "passed"}

    @property
    def skipped(self) -> Mapping[str, str]:
        """Checks that were not made, and why; these have not passed."""
        return {check.name: check.note for check in self.checks if check.outcome == "skipped"}

    def table(self) -> str:
        """Return the report as lines of text."""
        width = max(len(check.name) for check in self.checks)
        lines = [self.subject]
        for check in self.checks:
            number = f"{check.count:>7,}" if check.outcome == "passed" else f"{'-':>7}"
            lines.append(f"  {check.name.ljust(width)}  {check.outcome:<7}  {number}  {check.note}".rstrip())
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        return f"<Conformance: {self.subject}, {len(self.passed)} checks passed, {len(self.skipped)} skipped>"


class Ledger:
    """What a kit has found so far: of `known` checks those in `require` must not be skipped; and how it explores."""

    def __init__(
        self,
        subject: str,
        known: Sequence[str],
        require: Sequence[str] = (),
        *,
        max_states: int = 100_000,
        progress: Progress | None = None,
    ) -> None:
        if strange := [name for name in require if name not in known]:
            raise ValueError(f"no check is called {', '.join(map(repr, strange))}; there are: {', '.join(known)}")
        self.subject = subject
        self.require = tuple(require)
        self.checks: list[Check] = []
        self.model: str | None = None  # of a solver's battery, the one at hand
        self.max_states = max_states
        self.limits: dict[str, Any] = {"max_states": max_states, "progress": progress}

    def passed(self, name: str, count: int, note: str = "") -> None:
        """Note that a check was made."""
        self.checks.append(Check(name, "passed", count, note))

    def skipped(self, name: str, why: str) -> None:
        """Note that a check was not made, which is a failure where it is required."""
        if name in self.require:
            self.fail(name, f"it is required and could not be made: {why}")
        self.checks.append(Check(name, "skipped", 0, why))

    def fail(self, check: str, message: str, *, cause: BaseException | None = None, **place: Any) -> NoReturn:
        """Raise the error of a check that failed, at the place of its cause; a stop that was asked for is none."""
        if isinstance(cause, SolveInterrupted) and self.limits["progress"] is not None:
            raise cause
        if isinstance(cause, MdpDiceError):
            place = {name: getattr(cause, name) for name in ("state", "action", "value", "limit")} | place
        where = "" if self.model is None else f" on the model {self.model!r}"
        text = f"{self.subject} fails the check {check!r}{where}: {message}"
        raise ConformanceError(text, check=check, model=self.model, **place) from cause

    def ask(self, check: str, what: str, function: Callable[..., Any], *args: Any, hint: str = "", **place: Any) -> Any:
        """Return what a function of the user gives; where it raises, the check fails."""
        try:
            return function(*args)
        except Exception as error:  # noqa: BLE001 - a function of the user
            self.fail(check, f"{what} raised {type(error).__name__}: {error}{hint}", cause=error, **place)

    @contextlib.contextmanager
    def failing(self, check: str, what: str = "", **place: Any) -> Iterator[None]:
        """Have an error of the library fail a check; `what` stands before its message."""
        try:
            yield
        except MdpDiceError as error:
            self.fail(check, f"{what}{error.message}", cause=error, **place)

    def report(self) -> Conformance:
        """Return the report, when all is done."""
        return Conformance(self.subject, tuple(self.checks))
