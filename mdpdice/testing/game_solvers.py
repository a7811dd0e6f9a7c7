"""Back-ends that search a game instead of solving its network: all that they claim are bounds."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from mdpdice.backend import Run, Searched
from mdpdice.errors import CycleError, PluginError, SolveInterrupted, UnsupportedError
from mdpdice.solving.proposal import check_candidate
from mdpdice.testing.interrupted_solvers import out_of_time, same_answer
from mdpdice.testing.known_models import MODELS, Model
from mdpdice.testing.reports import Ledger

__all__ = ["check_searches"]


def check_searches(ledger: Ledger, solver: Any) -> None:
    """The checks of a `GameSolver`."""
    asked = [model for model in MODELS if model.horizon is None]
    answers, refused = [], []
    for model in asked:
        found = _ask(ledger, solver, model)
        if found is None:
            refused.append(model.name)
            continue
        _check_bounds(ledger, model, found)
        answers.append((model, found))
    for model, found in reversed(answers):
        again = _ask(ledger, solver, model)
        if again is None or not same_answer(again.candidate, found.candidate):
            ledger.fail("determinism", "asked a second time, after other games, it gives another answer")
    ledger.model = None
    if not answers:
        ledger.fail("answer", "it refused every model")
    ledger.passed("answer", len(answers), f"answers; it refused {', '.join(refused)}" if refused else "answers")
    for check in ("inputs", "values", "policy", "certificate"):
        ledger.skipped(check, "it searches games; its answers are estimates")
    ledger.passed("bounds", len(answers), "intervals that hold the value")
    ledger.passed("determinism", len(answers), "answers compared")
    _check_stops(ledger, solver)
    ledger.skipped("interrupt", "it takes games; whether it lets Ctrl-C through was not tried")
    ledger.skipped("traced", "no cross-check asks it")


def _ask(ledger: Ledger, solver: Any, model: Model) -> Searched | None:
    """What was found; None if it says that this is nothing for it."""
    ledger.model = model.name
    try:
        found = solver.search(model.game(), Run())
    except (UnsupportedError, CycleError):
        return None
    except Exception as error:  # noqa: BLE001 - whatever the code of a back-end raises
        ledger.fail("answer", f"it raised {type(error).__name__}: {error} ({model.hazard})", cause=error)
    if not isinstance(found, Searched):
        ledger.fail("answer", f"it returned {found!r} instead of a Searched")
    try:
        check_candidate(found.network, found.candidate.value, found.candidate.policy, solver.name)
    except PluginError as error:
        ledger.fail("answer", error.message, cause=error)
    shape = (found.network.n_nodes,)
    if np.shape(found.lower) != shape or np.shape(found.upper) != shape:
        ledger.fail("answer", f"its bounds are not arrays of shape {shape}")
    return found


def _check_bounds(ledger: Ledger, model: Model, found: Searched) -> None:
    truth = model.values()[model.make().start()]
    start = found.network.start
    low, high = float(found.lower[start]), float(found.upper[start])
    room = 1e-9 * max(1, abs(truth))
    # Written so that NaN fails.
    if not low - room <= truth <= high + room:
        msg = f"it claims that the value lies in [{low:.12g}, {high:.12g}], and it is {truth} ({model.hazard})"
        ledger.fail("bounds", msg, value=(low, high), limit=truth)


def _check_stops(ledger: Ledger, solver: Any) -> None:
    ledger.model = "deep"
    cancelled = threading.Event()
    cancelled.set()
    game = next(model for model in MODELS if model.name == "deep").make
    for check, run in (("cancel", Run(cancel=cancelled)), ("deadline", out_of_time())):
        try:
            solver.search(game(), run)
        except SolveInterrupted:
            ledger.passed(check, 1)
        except Exception as error:  # noqa: BLE001 - whatever the code of a back-end raises
            ledger.fail(check, f"it raised {type(error).__name__}: {error}", cause=error)
        else:
            ledger.fail(check, "it went on; call run.check() now and then")
