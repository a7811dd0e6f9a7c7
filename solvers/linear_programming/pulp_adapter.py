"""One linear program to one PuLP solver and back: the only module that knows PuLP.

PuLP 4 is a rewrite of PuLP 3.  What differs for us:

==========================  =====================================  ===================================
matter                      PuLP 3.3                               PuLP 4
==========================  =====================================  ===================================
expression                  ``LpAffineExpression(pairs)``          ``LpAffineExpression.from_list(pairs)``
row                         ``LpConstraint(expression, ...)``      the expression, given a sense
outcome                     ``problem.status``, ``.sol_status``    the object that ``solve`` returns
CBC                         bundled, ``PULP_CBC_CMD``              not bundled, ``COIN_CMD``
==========================  =====================================  ===================================

PuLP 3.3 also reports a HiGHS run that was stopped by its time limit as "optimal", and one that is
"infeasible or unbounded" as infeasible; `solve` asks HiGHS itself.

PuLP is imported on first use, and before highspy: PuLP 4 has to load the library of highspy in its own way first.
"""

from __future__ import annotations

import enum
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from importlib.metadata import version
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mdpdice.errors import PluginError, UnsupportedError
from mdpdice.solvers.linear_programming.child_process import leash

_BUNDLED_CBC = "PULP_CBC_CMD"
"""Name in PuLP 3.3 of the CBC that comes with it; the plain name means one that is installed apart."""

_HIGHS_TRIALS = (("ipm", 1e-9), ("simplex", 1e-9), ("simplex", 1e-7))
"""Methods of HiGHS with their feasibility tolerances, in the order tried.

The interior point method may break down, or call a feasible program infeasible; only the simplex method is
believed on that.  The last tolerance is HiGHS' default, for programs where the tighter one is out of reach.
"""


class Outcome(enum.Enum):
    """How a solver left a program."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    UNCLEAR = "undecided: infeasible, unbounded or numerically too hard"
    STOPPED = "stopped before its end"


@attrs.frozen(eq=False)
class Program:
    """A linear program: the best ``cost @ x`` subject to ``matrix @ x >= rhs``."""

    maximise: bool  # whether the largest cost is wanted, or the smallest
    cost: NDArray[np.float64]  # coefficients of the objective, shape (n,)
    nonnegative: NDArray[np.bool_]  # variables with the lower bound 0, the others are free; shape (n,)
    matrix: csr_array[Any, Any]  # coefficients of the rows, shape (m, n)
    rhs: NDArray[np.float64]  # right-hand sides, shape (m,)
    equal: NDArray[np.bool_]  # rows that hold with equality instead of ``>=``, shape (m,)


@attrs.frozen(eq=False)
class Answer:
    """What a solver says about a program; nothing of it is proved."""

    outcome: Outcome  # only `Outcome.OPTIMAL` comes with numbers
    x: NDArray[np.float64]  # values of the variables, shape (n,)
    dual: NDArray[np.float64] | None  # of the rows, with the sign that the solver likes, where it gives any; shape (m,)
    iterations: int = 0  # of the simplex method, 0 where the solver does not tell


def _pulp() -> Any:
    import pulp

    return pulp


@cache
def available_solvers() -> tuple[str, ...]:
    """PuLP's names of the solvers that can run here."""
    with warnings.catch_warnings():
        # PuLP 3.3 announces the end of its bundled CBC each time it is looked at.
        warnings.simplefilter("ignore")
        names = dict.fromkeys(_pulp().listSolvers(onlyAvailable=True))
    if _BUNDLED_CBC in names:
        names["COIN_CMD"] = None  # one name for CBC under both majors
    return tuple(names)


def require(solver: str) -> None:
    """Refuse a solver that PuLP has not, or that cannot run here; the message lists those that can."""
    if solver not in available_solvers():
        known = solver in _pulp().listSolvers()
        what = "is known to PuLP but cannot run here" if known else "is not a solver of PuLP"
        others = ", ".join(available_solvers()) or "none, install highspy"
        raise UnsupportedError(f"{solver!r} {what}; available here: {others}", value=solver)


@cache
def solver_version(solver: str) -> str:
    """Name and version of a solver, for reports; looked up once, since that reads files."""
    through = f"PuLP {version('pulp')}"
    return f"HiGHS {version('highspy')}, {through}" if solver == "HiGHS" else f"{solver}, {through}"


def solve(
    program: Program,
    solver: str = "HiGHS",
    *,
    interior: bool = False,
    time_limit: float | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Answer:
    """Hand a program to a PuLP solver, which gives up after `time_limit` seconds; a `PluginError` if it cannot run.

    With `interior` HiGHS tries its interior point method with crossover to a basis first.  It asks `stop` at every
    iteration whether to give up; the other solvers are programs of their own, for which `stop` is asked several times
    a second, and which are killed then.
    """
    pulp = _pulp()
    problem, variables, rows = _build(pulp, program)
    iterations, answer = 0, Answer(Outcome.STOPPED, np.full(len(variables), np.nan), None)
    if solver != "HiGHS":
        other = _other(pulp, solver, time_limit)
        with leash(other, stop) as stopped:
            try:
                return _run(pulp, problem, variables, rows, other)
            except PluginError:
                if not stopped.is_set():
                    raise
        return answer
    watch, before = _Watch(stop), time.monotonic()
    # PuLP leaves zeros out, and gives a variable to an objective without any.
    plain = program.matrix.has_canonical_format and program.matrix.data.all() and program.cost.any()
    for method, tolerance in _HIGHS_TRIALS if interior else _HIGHS_TRIALS[1:]:
        left = None if time_limit is None else max(0.0, time_limit - (time.monotonic() - before))
        highs = _highs(pulp, method, tolerance, left, watch)
        if plain and not _is_pulp4(pulp):
            highs.buildSolverModel = partial(_build_at_once, program, variables, rows)
        answer = _run(pulp, problem, variables, rows, highs)
        iterations += answer.iterations
        if watch.raised is not None:
            raise watch.raised
        decided = {Outcome.OPTIMAL, Outcome.STOPPED}
        if method == "simplex":
            decided |= {Outcome.INFEASIBLE, Outcome.UNBOUNDED}
        if answer.outcome in decided:
            break
    return attrs.evolve(answer, iterations=iterations)


def write(program: Program, path: str, form: str, names: Sequence[str]) -> None:
    """Write a program to a file of the form ``"lp"`` or ``"mps"``; names have letters and digits, fewer than 255."""
    problem, variables, _ = _build(_pulp(), program)
    for variable, name in zip(variables, names, strict=True):
        variable.name = name
    (problem.writeLP if form == "lp" else problem.writeMPS)(path)


def _is_pulp4(pulp: Any) -> bool:
    return hasattr(pulp.LpAffineExpression, "from_list")


def _build_at_once(program: Program, variables: list[Any], rows: list[Any], problem: Any) -> None:
    """Do what PuLP 3.3 does one by one, which takes as long as to solve most programs: fill HiGHS with a program."""
    n, m, matrix, model = len(program.cost), len(program.rhs), program.matrix, problem.solverModel
    low, nothing = np.where(program.nonnegative, 0.0, -np.inf), np.zeros(0, dtype=np.int32)
    cost = -program.cost if program.maximise else program.cost
    starts, columns = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    model.addCols(n, cost, low, np.full(n, np.inf), 0, np.zeros(n, dtype=np.int32), nothing, np.zeros(0))
    high = np.where(program.equal, program.rhs, np.inf)
    model.addRows(m, program.rhs, high, matrix.nnz, starts[:-1], columns, matrix.data)
    for parts in variables, rows:
        for index, part in enumerate(parts):
            part.index = index


def _build(pulp: Any, program: Program) -> tuple[Any, list[Any], list[Any]]:
    pulp4 = _is_pulp4(pulp)
    expression = pulp.LpAffineExpression.from_list if pulp4 else pulp.LpAffineExpression
    problem = pulp.LpProblem("mdp", pulp.LpMaximize if program.maximise else pulp.LpMinimize)
    # Zeros in front: PuLP 3.3 hands its variables to the solver in alphabetical order.
    digits = len(str(len(program.cost)))
    variables = [
        problem.add_variable(f"x{j:0{digits}}", 0 if bounded else None)
        for j, bounded in enumerate(program.nonnegative.tolist())
    ]
    problem.setObjective(expression([(variables[j], program.cost[j].item()) for j in program.cost.nonzero()[0]]))
    ends = program.matrix.indptr.tolist()
    columns = [variables[j] for j in program.matrix.indices.tolist()]
    numbers = program.matrix.data.tolist()
    rows: list[Any] = []
    for i, (equal, rhs) in enumerate(zip(program.equal.tolist(), program.rhs.tolist(), strict=True)):
        sense = pulp.LpConstraintEQ if equal else pulp.LpConstraintGE
        pairs = list(zip(columns[ends[i] : ends[i + 1]], numbers[ends[i] : ends[i + 1]], strict=True))
        if pulp4:
            pending = expression(pairs, -rhs)
            pending.sense = sense
            row = problem.addConstraint(pending, f"r{i}")
        else:
            row = pulp.LpConstraint(expression(pairs), sense, f"r{i}", rhs)
            problem.addConstraint(row)
        rows.append(row)
    return problem, variables, rows


class _Watch:
    """HiGHS' window to the outside: stops it when asked to, or when Ctrl-C arrived in between."""

    def __init__(self, stop: Callable[[], bool]) -> None:
        self.stop = stop
        self.stopped = False
        self.raised: BaseException | None = None

    def __call__(self, kind: Any, message: str, out: Any, into: Any, user: Any) -> None:
        try:
            self.stopped = self.stopped or self.stop()
        except BaseException as error:  # noqa: BLE001 - a KeyboardInterrupt must not cross C++ frames
            self.raised, self.stopped = error, True
        into.user_interrupt = self.stopped


def _run(pulp: Any, problem: Any, variables: list[Any], rows: list[Any], solver: Any) -> Answer:
    try:
        stats = problem.solve(solver)
    except pulp.PulpSolverError as error:
        msg = f"the linear programming solver {solver.name!r} failed: {error}"
        raise PluginError(msg, name=solver.name, phase="solve") from error
    iterations = 0
    if solver.name == "HiGHS":
        outcome = _highs_outcome(problem.solverModel)
        info = problem.solverModel.getInfo()
        iterations = max(0, int(info.simplex_iteration_count)) + max(0, int(info.ipm_iteration_count))
    else:
        outcome = _outcome(pulp, problem, stats)
    if outcome is not Outcome.OPTIMAL:
        return Answer(outcome, np.full(len(variables), np.nan), None, iterations)
    # A variable in no row and not in the objective never reaches the solver.
    x = np.array([v.varValue if v.varValue is not None else 0.0 for v in variables], dtype=np.float64)
    duals = [row.pi for row in rows]
    dual = None if any(pi is None for pi in duals) else np.array(duals, dtype=np.float64)
    return Answer(outcome, x, dual, iterations)


def _other(pulp: Any, solver: str, time_limit: float | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = pulp.getSolver(solver, msg=False, timeLimit=time_limit)
        if solver == "COIN_CMD" and not found.available():
            found = pulp.getSolver(_BUNDLED_CBC, msg=False, timeLimit=time_limit)
    return found


def _highs(pulp: Any, method: str, tolerance: float, time_limit: float | None, watch: _Watch) -> Any:
    import highspy

    _silence_highs(highspy)
    kinds = highspy.cb.HighsCallbackType
    return pulp.HiGHS(
        msg=False,
        output_flag=False,
        timeLimit=time_limit,
        callbackTuple=(watch, None),
        callbacksToActivate=[kinds.kCallbackSimplexInterrupt, kinds.kCallbackIpmInterrupt],
        solver=method,
        primal_feasibility_tolerance=tolerance,
        dual_feasibility_tolerance=tolerance,
    )


_silence_lock = threading.Lock()
_silenced = False


def _silence_highs(highspy: Any) -> None:
    """Let HiGHS print the two lines of its first object to nowhere; no option does, and they would spoil JSON there."""
    global _silenced  # noqa: PLW0603 - once per process is the point
    with _silence_lock:
        if _silenced:
            return
        _silenced = True
        try:
            sys.stdout.flush()
            saved = os.dup(1)
        except (OSError, ValueError, AttributeError):  # no standard output, nothing to spoil
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, 1)
            highspy.Highs()
        finally:
            os.dup2(saved, 1)
            os.close(saved)
            os.close(nowhere)


def _highs_outcome(model: Any) -> Outcome:
    import highspy

    status = highspy.HighsModelStatus
    return {
        status.kOptimal: Outcome.OPTIMAL,
        status.kModelEmpty: Outcome.OPTIMAL,
        status.kInfeasible: Outcome.INFEASIBLE,
        status.kUnbounded: Outcome.UNBOUNDED,
        status.kTimeLimit: Outcome.STOPPED,
        status.kIterationLimit: Outcome.STOPPED,
        status.kInterrupt: Outcome.STOPPED,
    }.get(model.getModelStatus(), Outcome.UNCLEAR)


def _outcome(pulp: Any, problem: Any, stats: Any) -> Outcome:
    if hasattr(stats, "has_solution"):
        solved, code = stats.has_solution, int(stats.status)
    else:
        solved, code = problem.sol_status == pulp.LpSolutionOptimal, problem.status
    if code == 1:
        return Outcome.OPTIMAL if solved else Outcome.STOPPED
    if code in {0, -4, -5, -8, -10, -11}:
        return Outcome.STOPPED
    return {-1: Outcome.INFEASIBLE, -2: Outcome.UNBOUNDED}.get(code, Outcome.UNCLEAR)
