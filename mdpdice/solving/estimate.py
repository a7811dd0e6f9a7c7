"""Asking a solver that takes the game itself, and saying what its answer is: an estimate."""

from __future__ import annotations

import time
from typing import Any

import attrs
import numpy as np

from mdpdice.answers.answer import Provenance, Status
from mdpdice.answers.node_values import NodeValues
from mdpdice.answers.solution import Solution
from mdpdice.backend import GameSolver, Run, Searched, Solver, check_named_or_made, load_solver
from mdpdice.errors import SolveInterrupted, UnsupportedError
from mdpdice.modelling.game import Game
from mdpdice.modelling.sense import with_sense
from mdpdice.objectives.objective import Objective, Total
from mdpdice.solving.interruption import Interrupts
from mdpdice.solving.problem import library_version
from mdpdice.solving.proposal import answer_of


def game_solver(solver: str | Solver) -> GameSolver | None:
    """Return the solver that is named, if it is one that takes the game itself."""
    check_named_or_made(solver)
    if isinstance(solver, str):
        cls = None if solver == "auto" else load_solver(solver)
        if cls is None or not hasattr(cls, "search"):
            return None
        solver = cls()
    return solver if isinstance(solver, GameSolver) else None


@attrs.frozen
class SearchPlan:
    """A solver looks at a game itself and estimates its value; only its total can be estimated."""

    game: Any
    objective: Objective
    horizon: int | None
    solver: GameSolver

    def solve(self, run: Run, epsilon: float, interrupts: Interrupts) -> Solution:
        """Search the game; the answer is an estimate, whatever the solver says."""
        game, solver = self.game, self.solver
        if not isinstance(game, Game):
            msg = f"solver {solver.name!r} searches a game and not a network; pass the game itself"
            raise UnsupportedError(msg, value=solver.name)
        if self.horizon is not None or not isinstance(self.objective, Total) or run.checkpoint is not None:
            msg = (
                f"solver {solver.name!r} estimates the value of the game as it is declared; leave out the objective, "
                "the horizon and the checkpoint"
            )
            raise UnsupportedError(msg, value=solver.name)
        started, game = time.perf_counter(), with_sense(game, self.objective.wanted(game))
        try:
            with interrupts.patience():
                found = answer_of(solver.name, Searched, lambda: solver.search(game, run))
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


def _solution(found: Searched, solver: GameSolver, status: Status, reason: str, started: float) -> Solution:
    candidate = found.candidate
    start = found.network.start
    width = float(found.upper[start] - found.lower[start]) / max(1.0, abs(float(candidate.value[start])))
    value, lower, upper = map(np.array, (candidate.value, found.lower, found.upper))
    table = NodeValues(found.network, value, lower, upper, np.array(candidate.policy))
    who = solver.name, "total", found.network.sense, candidate.iterations
    made = Provenance(*who, time.perf_counter() - started, library_version(), candidate.details)
    return Solution(table, status, made, width, reason)
