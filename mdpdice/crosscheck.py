"""Cross-checking: run every back-end that can, certify each, and compare them at every state.

Agreement of two programs proves little when they share a mistake, so every
answer is certified by itself first; then intervals, infinities and chosen actions
are compared state by state.  Nothing passes by being skipped: a report is good
only if at least two independent back-ends ran, every one that ran was certified,
and all of them agree.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Hashable, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np

from mdpdice.backend import Feature, Progress, Run, Solver, available_solvers, load_solver
from mdpdice.errors import MdpDiceError, UnsupportedError
from mdpdice.game import Game
from mdpdice.network import Bools, Floats, Kind, Network
from mdpdice.objectives import Objective
from mdpdice.solution import Solution
from mdpdice.solving import Problem, prepare, solve_problem, unsupported

__all__ = ["Entry", "Report", "cross_check"]

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)


@attrs.frozen(eq=False)
class Entry:
    """What became of one back-end.

    Parameters
    ----------
    solver : str
        Its name.
    outcome : {"ran", "unsupported", "failed"}
        Whether it gave an answer.
    message : str
        Why not.
    solution : Solution or None
        The answer, certified or not.
    """

    solver: str
    outcome: str
    message: str = ""
    solution: Solution | None = None


@attrs.frozen(eq=False, repr=False)
class Report:
    """Result of a cross-check.

    Parameters
    ----------
    entries : tuple of Entry
        One per back-end.
    problems : tuple of str
        Everything that speaks against the answer; empty if all is well.
    states : int
        Values compared per pair of back-ends (all nodes, with a horizon in all stages).
    infinities : int
        How many of them are infinite.
    decisions : int
        Decisions whose chosen actions were compared.
    ties : int
        Decisions where more than one action may be optimal.
    independent : int
        Back-ends that ran and did not ask each other.
    """

    entries: tuple[Entry, ...]
    problems: tuple[str, ...]
    states: int = 0
    infinities: int = 0
    decisions: int = 0
    ties: int = 0
    independent: int = 0

    @property
    def ok(self) -> bool:
        """Whether at least two independent back-ends ran, all were certified, and all agree."""
        return not self.problems

    @property
    def solutions(self) -> list[Solution]:
        """Answers of the back-ends that ran."""
        return [entry.solution for entry in self.entries if entry.solution is not None]

    def table(self) -> str:
        """The report as lines of text."""
        rows: list[tuple[str, ...]] = [("solver", "status", "value", "lower", "upper", "width", "seconds")]
        notes = []
        for entry in self.entries:
            found = entry.solution
            if found is None:
                rows.append((entry.solver, entry.outcome, *[""] * 5))
                notes.append(f"{entry.solver}: {entry.message}")
                continue
            numbers = (found.estimate(), found.lower(), found.upper())
            rows.append(
                (
                    entry.solver,
                    found.status.value,
                    *(f"{number:.12g}" for number in numbers),
                    f"{found.width:.1e}",
                    f"{found.seconds:.2f}",
                )
            )
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        lines.insert(1, "  ".join("-" * width for width in widths))
        compared = (
            f"compared {self.states:,} values ({self.infinities:,} infinite) and {self.decisions:,} decisions "
            f"({self.ties:,} with ties) of {self.independent} independent back-ends"
        )
        verdict = "agree and certified" if self.ok else "NOT OK"
        return "\n".join([*lines, *notes, compared, *(f"! {text}" for text in self.problems), verdict])

    def to_json(self) -> str:
        """The report as a JSON object."""
        entries = []
        for entry in self.entries:
            data: dict[str, Any] = {
                "solver": entry.solver,
                "outcome": entry.outcome,
                "message": entry.message,
            }
            found = entry.solution
            if found is not None:
                data |= {
                    "status": found.status.value,
                    "value": _json_number(found.estimate()),
                    "lower": _json_number(found.lower()),
                    "upper": _json_number(found.upper()),
                    "width": _json_number(found.width),
                    "seconds": found.seconds,
                    "iterations": found.iterations,
                }
            entries.append(data)
        return json.dumps(
            {
                "ok": self.ok,
                "solvers": entries,
                "problems": list(self.problems),
                "values": self.states,
                "infinities": self.infinities,
                "decisions": self.decisions,
                "ties": self.ties,
                "independent": self.independent,
            }
        )

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        ran = ", ".join(entry.solver for entry in self.entries if entry.outcome == "ran")
        return f"<Report: {'ok' if self.ok else 'not ok'}; ran {ran or 'nothing'}>"


def _json_number(number: float) -> float | str:
    """JSON knows no infinity; its name is read back by ``float``."""
    return float(number) if np.isfinite(number) else str(float(number))


def cross_check(
    game: Game[S, A] | Network,
    objective: Objective | None = None,
    *,
    solvers: Sequence[str | Solver] | None = None,
    horizon: int | None = None,
    epsilon: float = 1e-6,
    progress: Progress | None = None,
    max_states: int = 10_000_000,
) -> Report:
    """Solve a game by several back-ends, certify each answer and compare them at every state.

    Parameters
    ----------
    game : Game or Network
        What to solve; it is explored once.
    objective, horizon, epsilon, progress, max_states
        As for `mdpdice.solve`.
    solvers : sequence of str or Solver, optional
        Back-ends by name or with their parameters; by default all that are installed.

    Returns
    -------
    Report
        ``report.ok`` says whether the answer can be relied on; ``print(report)`` shows why.
    """
    problem = prepare(game, objective, horizon=horizon, progress=progress, max_states=max_states)
    chosen: Sequence[str | Solver] = list(available_solvers()) if solvers is None else solvers
    entries = tuple(_enter(problem, solver, epsilon, progress) for solver in chosen)
    ran = [entry for entry in entries if entry.solution is not None]
    problems = [f"{entry.solver} failed: {entry.message}" for entry in entries if entry.outcome == "failed"]
    problems += [
        f"{entry.solver} is {entry.solution.status.value}: {entry.solution.reason}"
        for entry in ran
        if entry.solution is not None and not entry.solution.proved
    ]
    independent = _independent(ran)
    if independent < 2:
        problems.append(
            f"{independent} independent back-end{'s' * (independent != 1)} ran; agreement needs two"
        )
    solutions = [entry.solution for entry in ran if entry.solution is not None]
    edges = [_edge_intervals(solution) for solution in solutions]
    for i, first in enumerate(solutions):
        for j, second in enumerate(solutions):
            if i < j:
                problems += _compare_values(first, second)
            if first.proved and second.proved:
                problems += _compare_actions(first, second, edges[j])
    if not solutions:
        return Report(entries, tuple(problems), independent=independent)
    best = min(range(len(solutions)), key=lambda i: solutions[i].width)
    may = _may(solutions[best], edges[best])
    choices = (
        np.add.reduceat(np.append(may, 0), problem.network.indptr[:-1], axis=-1) if may.size else np.zeros(1)
    )
    decides = problem.network.decides
    rows = max(1, (problem.network.horizon or 0)) if problem.network.horizon != 0 else 0
    return Report(
        entries,
        tuple(problems),
        states=int(solutions[0].values.size),
        infinities=int(np.isinf(solutions[0].values).sum()),
        decisions=int(decides.sum()) * rows,
        ties=int((choices[..., decides] > 1).sum()),
        independent=independent,
    )


def _enter(problem: Problem, solver: str | Solver, epsilon: float, progress: Progress | None) -> Entry:
    name = solver if isinstance(solver, str) else solver.name
    try:
        backend = load_solver(solver)() if isinstance(solver, str) else solver
        need = problem.needs()
        # The core writes the stages of a horizon side by side for a solver that knows none.
        lacking = need - backend.features - {Feature.HORIZON}
        if lacking:
            raise unsupported(name, need, backend.features | {Feature.HORIZON})
        run = Run(tolerance=min(1e-9, epsilon / 4), progress=progress, cancel=threading.Event())
        return Entry(name, "ran", solution=solve_problem(problem, backend, run, epsilon))
    except UnsupportedError as error:
        return Entry(name, "unsupported", str(error))
    except MdpDiceError as error:
        return Entry(name, "failed", f"{type(error).__name__}: {error}")


def _independent(ran: Sequence[Entry]) -> int:
    """Number of groups of back-ends that did not ask each other."""
    group = {entry.solver: entry.solver for entry in ran}
    for entry in ran:
        called = entry.solution.details.get("called", ()) if entry.solution is not None else ()
        for other in called:
            # Whoever was asked stands for both, whether or not it ran by itself.
            old, new = group[entry.solver], group.get(other, other)
            group = {name: new if root == old else root for name, root in group.items()} | {other: new}
    return len({group[entry.solver] for entry in ran})


def _compare_values(first: Solution, second: Solution) -> list[str]:
    finite = np.isfinite(first.values) & np.isfinite(second.values)
    same = np.where(finite, True, first.values == second.values)
    # Written so that NaN disagrees.
    meet = (first.lowers <= second.uppers) & (second.lowers <= first.uppers)
    wrong = ~np.where(finite, meet, same)
    if not wrong.any():
        return []
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    state = first.network.describe(at[-1])
    text = (
        f"{first.solver} and {second.solver} disagree on {int(wrong.sum()):,} values, first on {state!r}: "
        f"{first.values[at]!r} and {second.values[at]!r}"
    )
    return [text]


def _edge_intervals(solution: Solution) -> tuple[Floats, Floats]:
    """Interval of every edge's value, with a horizon for each stage from 1 on."""
    net = solution.network
    low, high = solution.lowers, solution.uppers
    if net.horizon is not None:
        low, high = low[:-1], high[:-1]
    factor = np.where(net.step, float(net.discount), 1.0)
    ends = [
        net.reward
        + factor * np.where(net.sign > 0, ahead[..., net.dst], float(net.total) - other[..., net.dst])
        for ahead, other in ((low, high), (high, low))
    ]
    return ends[0], ends[1]


def _may(solution: Solution, intervals: tuple[Floats, Floats]) -> Bools:
    """Edges of decisions that may be optimal: none is proved to be better."""
    net = solution.network
    low, high = intervals
    minimises = (net.kind == Kind.MIN) != (solution.sense == "min")
    flip = np.where(minimises, -1.0, 1.0)[net.source]
    worst, best = np.where(flip > 0, low, -high), np.where(flip > 0, high, -low)
    pad = np.full((*worst.shape[:-1], 1), -np.inf)
    top = np.maximum.reduceat(np.concatenate((worst, pad), axis=-1), net.indptr[:-1], axis=-1)
    may: Bools = (best >= top[..., net.source]) & net.decides[net.source]
    return may


def _compare_actions(judged: Solution, judge: Solution, intervals: tuple[Floats, Floats]) -> list[str]:
    """Every action that `judged` chooses may be optimal in the eyes of `judge`."""
    net = judged.network
    policy = judged.policy if net.horizon is None else judged.policy[1:]
    if policy.size == 0 or net.n_edges == 0:
        return []
    may = _may(judge, intervals)
    chosen = np.take_along_axis(may, np.maximum(policy, 0), axis=-1)
    wrong = net.decides & (policy >= 0) & ~chosen
    if not wrong.any():
        return []
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    action, state = net.action_of(int(policy[at])), net.describe(at[-1])
    text = (
        f"{judged.solver} chooses {action!r} in {state!r}, which is not optimal by the bounds of {judge.solver} "
        f"({int(wrong.sum()):,} such decisions)"
    )
    return [text]
