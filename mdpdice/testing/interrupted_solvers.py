"""Whether a solver can be stopped: cancelled, out of time, interrupted; and resumed, if it says so.

No clock decides: the cancel event that the solver looks at answers differently after a number of looks.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from mdpdice.backend import Candidate, Run, Solver
from mdpdice.errors import NotConvergedError, SolveInterrupted
from mdpdice.networks.network import Network
from mdpdice.solving.checkpoints import Checkpoint
from mdpdice.testing.known_models import LONGEST, MODELS
from mdpdice.testing.reports import Ledger

_REMEDY = "call run.check() before the first step and several times a second"


class _Looks(threading.Event):
    """An event that is set from the look number `last` on, or raises then, and notes the `times` of all looks."""

    def __init__(self, last: int | None = None, *, raises: bool = False) -> None:
        super().__init__()
        self.last = last
        self.raises = raises
        self.times: list[float] = []
        self._owner = threading.get_ident()

    def is_set(self) -> bool:
        self.times.append(time.monotonic())
        if self.last is None or len(self.times) < self.last:
            return False
        # Ctrl-C arrives in one thread; others see that the solve was cancelled.
        if self.raises and threading.get_ident() == self._owner:
            raise KeyboardInterrupt
        return True


def same_answer(one: Candidate, other: Candidate) -> bool:
    """Whether two answers are the same to the last bit."""
    return np.array_equal(one.value, other.value) and np.array_equal(one.policy, other.policy)


def out_of_time() -> Run:
    """Return a solve whose time is over before it starts."""
    return Run(deadline=time.monotonic() - 1.0)


def check_stops(ledger: Ledger, solver: Solver, patience: float) -> None:
    """Run the checks ``"cancel"``, ``"deadline"`` and ``"interrupt"``."""
    ledger.model = "deep"
    looks = _Looks()
    began = time.monotonic()
    solver.solve(LONGEST.problem().canonical, Run(cancel=looks))
    gap = max(later - earlier for earlier, later in itertools.pairwise([began, *looks.times, time.monotonic()]))
    if not looks.times:
        ledger.fail("cancel", f"it never looked whether the solve was cancelled; {_REMEDY}")
    if gap > patience:
        ledger.fail("cancel", f"cancelled, it went on for {gap:.1f} seconds; {_REMEDY}", value=gap, limit=patience)
    # Cancelled before it starts, and at the last of its looks.
    for last in sorted({1, len(looks.times)}):
        _expect(ledger, "cancel", solver, Run(cancel=_Looks(last)), f"cancelled at look {last} of {len(looks.times)}")
    ledger.passed("cancel", len(looks.times), "looks")
    _expect(ledger, "deadline", solver, out_of_time(), "out of time before it started")
    ledger.passed("deadline", 1)
    interrupted = Run(cancel=_Looks(1, raises=True))
    _expect(ledger, "interrupt", solver, interrupted, "interrupted by Ctrl-C", allowed=(KeyboardInterrupt,))
    ledger.passed("interrupt", 1)
    ledger.model = None


def _expect(
    ledger: Ledger, check: str, solver: Solver, run: Run, what: str, allowed: tuple[type[BaseException], ...] = ()
) -> None:
    """Expect a solve to end in `SolveInterrupted`, and the partial answer to be none or a whole one."""
    problem = LONGEST.problem().canonical
    try:
        answer = solver.solve(problem, run)
    except BaseException as error:  # noqa: BLE001 - whatever the code of a solver raises
        if not isinstance(error, (SolveInterrupted, *allowed)):
            msg = f"{what}, it raised {type(error).__name__}: {error}; let what run.check() raises pass"
            ledger.fail(check, msg, cause=error if isinstance(error, Exception) else None)
        parts = [getattr(error, "partial", None), run.offered()]
    else:
        what += f", it went on and returned {type(answer).__name__}"
        ledger.fail(check, f"{what}; {_REMEDY}, and let what it raises pass")
    shape = (problem.n_nodes,)
    for part in (one for one in parts if one is not None):
        if not isinstance(part, Candidate) or np.shape(part.value) != shape or np.shape(part.policy) != shape:
            what += f", it returns {part!r:.80}"
            ledger.fail(check, f"{what}, which is not a Candidate of all nodes (NaN, -1: not known)")


def check_checkpoint(ledger: Ledger, solver: Solver) -> None:
    """Run the check ``"checkpoint"``: stopped and resumed, a solve comes to the same answer."""
    resumed = 0
    for model in MODELS:
        problem = model.problem()
        if not problem.needs() <= solver.features:
            continue
        ledger.model, network = model.name, problem.canonical
        looks = _Looks()
        whole = solver.solve(network, Run(cancel=looks))
        # Behind the last look the solve comes to its end, and what it kept is looked at once more.
        for last in sorted({1 + len(looks.times) // 2, len(looks.times), len(looks.times) + 1} - {0, 1}):
            with tempfile.TemporaryDirectory() as folder:
                answer = _in_two_parts(ledger, solver, network, Path(folder) / "solve", last)
            if answer is None:
                continue
            if not same_answer(answer, whole):
                ledger.fail("checkpoint", "resumed, it gives another answer; keep all by run.save() or run.step()")
            resumed += 1
    if resumed:
        ledger.passed("checkpoint", resumed, "solves stopped and resumed")
    else:
        ledger.skipped("checkpoint", "no solve of the battery lasts long enough to write one")


def _in_two_parts(ledger: Ledger, solver: Solver, network: Network, path: Path, last: int) -> Candidate | None:
    """Return the answer of a solve that was stopped at a look and resumed; None if there was nothing to resume from."""
    key = {"problem": network.digest, "solver": solver.name}
    with ledger.failing("checkpoint"):
        with Checkpoint(path, 0.0) as file:
            file.open(key, {})
            with contextlib.suppress(SolveInterrupted, NotConvergedError):
                solver.solve(network, Run(cancel=_Looks(last), checkpoint=file))
        with Checkpoint(path, 0.0) as file:
            file.open(key, {})
            answer: Any = solver.solve(network, Run(checkpoint=file))
            return answer if file.resumed else None
