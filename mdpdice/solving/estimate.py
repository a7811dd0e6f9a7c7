"""Asking a back-end that takes the game itself, and saying what its answer is: an estimate."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from mdpdice.answers.answer import Provenance, Status
from mdpdice.answers.node_values import NodeValues
from mdpdice.answers.solution import Solution
from mdpdice.backend import GameSolver, Run, Searched, Solver, check_named_or_made, load_solver
from mdpdice.errors import MdpDiceError, PluginError, SolveInterrupted, UnsupportedError
from mdpdice.modelling.game import Game
from mdpdice.modelling.sense import with_sense
from mdpdice.networks.network import Network
from mdpdice.objectives.objective import Objective, Total
from mdpdice.solving.interruption import Interrupts
from mdpdice.solving.problem import library_version

__all__ = ["game_solver", "search_game"]


def game_solver(solver: str | Solver) -> GameSolver | None:
    """Return the back-end that is named, if it is one that takes the game itself."""
    check_named_or_made(solver)
    if isinstance(solver, str):
        cls = None if solver == "auto" else load_solver(solver)
        if cls is None or not hasattr(cls, "search"):
            return None
        solver = cls()
    return solver if isinstance(solver, GameSolver) else None


def search_game(
    game: Game[Any, Any] | Network,
    objective: Objective,
    horizon: int | None,
    solver: GameSolver,
    run: Run,
    interrupts: Interrupts,
) -> Solution:
    """Let a back-end look at a game; its answer is an estimate, whatever it says.

    Raises
    ------
    UnsupportedError
        There is no game to look at, or the question is another than the game's own.
    PluginError
        The back-end crashed, or returned something that is no answer.
    SolveInterrupted
        It was stopped; `partial` is a `Solution` with what it had found.
    """
    if not isinstance(game, Game):
        msg = f"solver {solver.name!r} searches a game and not a network; pass the game itself"
        raise UnsupportedError(msg, value=solver.name)
    if horizon is not None or not isinstance(objective, Total) or run.checkpoint is not None:
        msg = (
            f"solver {solver.name!r} estimates the value of the game as it is declared; leave out the objective, "
            "the horizon and the checkpoint"
        )
        raise UnsupportedError(msg, value=solver.name)
    started, game = time.perf_counter(), with_sense(game, objective.wanted(game))
    try:
        with interrupts.patience():
            found = _ask(game, solver, run)
        return _solution(found, solver, Status.ESTIMATE, found.reason, started)
    except SolveInterrupted as error:
        stop = error
    except KeyboardInterrupt as error:
        if not interrupts.taken():
            raise
        stop = SolveInterrupted("the solve was interrupted")
        stop.__cause__ = error
    if isinstance(stop.partial, Searched):
        stop.partial = _solution(stop.partial, solver, Status.PARTIAL, stop.message, started)
    raise stop


def _ask(game: Game[Any, Any], solver: GameSolver, run: Run) -> Searched:
    try:
        found = solver.search(game, run)
    except MdpDiceError:
        raise
    except Exception as error:
        msg = f"solver {solver.name!r} raised {type(error).__name__}: {error}"
        raise PluginError(msg, name=solver.name, phase="solve") from error
    if not isinstance(found, Searched):
        msg = f"solver {solver.name!r} returned {found!r} instead of a Searched"
        raise PluginError(msg, name=solver.name, phase="answer")
    return found


def _solution(found: Searched, solver: GameSolver, status: Status, reason: str, started: float) -> Solution:
    candidate = found.candidate
    start = found.network.start
    width = float(found.upper[start] - found.lower[start]) / max(1.0, abs(float(candidate.value[start])))
    table = NodeValues(
        found.network,
        np.array(candidate.value),
        np.array(found.lower),
        np.array(found.upper),
        np.array(candidate.policy),
    )
    made = Provenance(
        solver.name,
        sense=found.network.sense,
        iterations=candidate.iterations,
        seconds=time.perf_counter() - started,
        version=library_version(),
        details=candidate.details,
    )
    return Solution(table, status, made, width, reason)
