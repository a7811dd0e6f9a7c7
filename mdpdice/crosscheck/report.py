"""Cross-checking: run every solver that can, certify each, and compare them at every state.

Agreement of two programs proves little when they share a mistake, so every answer is certified by itself first; then
intervals, infinities, the actions that are chosen or must be chosen, and what the policies are worth are compared state
by state.  Nothing passes by being skipped: a report is good only if at least two independent solvers ran, every one
that ran was certified, all of them agree, and as much was compared as was asked for.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from mdpdice import backend
from mdpdice.answers.solution import Solution
from mdpdice.compilation import Loop
from mdpdice.crosscheck import comparison
from mdpdice.errors import GameError, MdpDiceError, UnsupportedError
from mdpdice.html import card, grid, remarks
from mdpdice.modelling.game import Game
from mdpdice.modelling.number import count, size
from mdpdice.networks.network import Bools, Network
from mdpdice.objectives.objective import Objective
from mdpdice.solving.pipeline import SETTLES, plan_of, unsupported
from mdpdice.solving.problem import Problem, prepare


@attrs.frozen(eq=False)
class Entry:
    """What became of one solver."""

    solver: str  #: its name
    outcome: str  #: whether it gave an answer: "ran", "unsupported" or "failed"
    message: str = ""  #: why not
    solution: Solution | None = None  #: the answer, certified or not
    kin: frozenset[str] = frozenset()  #: solvers whose `solve` it inherits, or may

    @property
    def cells(self) -> tuple[Any, ...]:
        """What a table says of it."""
        if (found := self.solution) is None:
            return (self.solver, self.outcome, *[""] * 5)
        numbers = found.estimate(), found.lower(), found.upper()
        return (self.solver, found.status.value, *map(float, numbers), f"{found.width:.1e}", f"{found.seconds:.2f}")

    @property
    def asked(self) -> tuple[str, ...]:
        """Other solvers that it asked while it worked, or is made of, in alphabetical order."""
        called = () if self.solution is None else self.solution.details.get("called", ())
        return tuple(sorted({*called, *self.kin}))


COUNTERS = ("independent", "states", "infinities", "decisions", "ties", "actions", "policies")
"""What a report counts, and `cross_check` can ask for `at_least` some of."""


@attrs.frozen(eq=False, repr=False)
class Report:
    """Result of a cross-check."""

    entries: tuple[Entry, ...]  #: one per solver
    problems: tuple[str, ...]  #: everything that speaks against the answer; empty if all is well
    states: int = 0  #: values compared per pair of solvers (all nodes, with a horizon in all stages)
    infinities: int = 0  #: how many of them are infinite
    decisions: int = 0  #: decisions whose chosen actions were compared
    ties: int = 0  #: decisions where more than one action may be optimal
    independent: int = 0
    """Solvers that ran, did not ask each other (what other threads solve meanwhile counts as asked), and are no kin."""
    actions: int = 0  #: chosen actions that were checked by the bounds of another solver
    policies: int = 0
    """Policies (of two players: pairs) whose values were computed again and compared with the bounds at all nodes."""
    at_least: Mapping[str, int] = attrs.field(factory=dict)  #: the floors of these numbers that were asked for

    @property
    def ok(self) -> bool:
        """Whether all that ran were certified, all agree, and as much was compared as was asked for."""
        return not self.problems

    @property
    def solutions(self) -> list[Solution]:
        """Answers of the solvers that ran."""
        return [entry.solution for entry in self.entries if entry.solution is not None]

    def table(self) -> str:
        """Return the report as lines of text."""
        rows = [["solver", "status", "value", "lower", "upper", "width", "seconds"]]
        rows += [[f"{one:.12g}" if isinstance(one, float) else one for one in entry.cells] for entry in self.entries]
        notes = [f"{entry.solver}: {entry.message}" for entry in self.entries if entry.solution is None]
        if endless := [found.reason for found in self.solutions if found.proved and np.isinf(found.estimate())]:
            notes.append(f"{endless[0]}; a discount or a horizon limits it, and costs need sense='min'")
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        lines.insert(1, "  ".join("-" * width for width in widths))
        judged = f"checked {self.actions:,} actions and {self.policies:,} polic{'y' if self.policies == 1 else 'ies'}"
        decisions = f"{self.decisions:,} decisions ({self.ties:,} with ties) of {self.independent} independent solvers"
        compared = f"compared {self.states:,} values ({self.infinities:,} infinite) and {decisions}"
        verdict = "agree and certified" if self.ok else "NOT OK"
        return "\n".join([*lines, *notes, judged, compared, *(f"! {text}" for text in self.problems), verdict])

    def to_json(self) -> str:
        """Return the report as a JSON object."""
        entries = []
        for entry in self.entries:
            data: dict[str, Any] = {name: getattr(entry, name) for name in ("solver", "outcome", "message")}
            data["asked"] = list(entry.asked)
            if (found := entry.solution) is not None:
                data |= {"status": found.status.value, "reason": found.reason}
                numbers = {"value": found.estimate(), "lower": found.lower(), "upper": found.upper()}
                # JSON knows no infinity; its name is read back by `float`.
                for name, number in (numbers | {"width": found.width}).items():
                    data[name] = float(number) if np.isfinite(number) else str(float(number))
                data |= {"seconds": found.seconds, "iterations": found.iterations}
            entries.append(data)
        counts = {"values" if name == "states" else name: getattr(self, name) for name in COUNTERS}
        report = {"ok": self.ok, "solvers": entries, "problems": list(self.problems), **counts}
        return json.dumps(report | {"at_least": dict(self.at_least)})

    def __str__(self) -> str:
        return self.table()

    def _repr_html_(self) -> str:
        columns = ("solver", "status", "value", "lower", "upper", "width")
        rows = [entry.cells[:6] for entry in self.entries]
        verdict = "agree and certified" if self.ok else "NOT OK"
        compared = card("compared", [(name, f"{getattr(self, name):,}") for name in COUNTERS])
        told = [(one.solver, one.message or (one.solution.reason if one.solution else "")) for one in self.entries]
        notes = [f"{solver}: {what.removeprefix(f'solver {solver!r} ')}" for solver, what in told if what]
        return grid(f"Cross-check: {verdict}", columns, rows) + compared + remarks([*notes, *self.problems])

    def __repr__(self) -> str:
        ran = ", ".join(entry.solver for entry in self.entries if entry.outcome == "ran")
        return f"<Report: {'ok' if self.ok else 'not ok'}; ran {ran or 'nothing'}>"


def cross_check(
    game: Game[Any, Any] | Network,
    objective: Objective | None = None,
    *,
    solvers: Sequence[str | backend.Solver] | None = None,
    horizon: int | None = None,
    epsilon: float = 1e-6,
    progress: backend.Progress | None = None,
    max_states: int = 10_000_000,
    at_least: Mapping[str, int] | None = None,
) -> Report:
    """Solve a game by several solvers, certify each answer and compare them at every state.

    Parameters
    ----------
    game : Game or Network
        What to solve; it is explored once.
    objective, horizon, epsilon, progress, max_states
        As for `mdpdice.solve`.
    solvers : sequence of str or Solver, optional
        Solvers by name or with their parameters; by default all that are installed.
    at_least : mapping of str to int, optional
        Numbers of the report that must be reached, or it is not good: for instance
        ``{"independent": 3, "states": 1000, "ties": 1}``.  Two independent solvers are asked for in any case.

    Returns
    -------
    Report
        ``report.ok`` says whether the answer can be relied on; ``print(report)`` shows why.

    Raises
    ------
    GameError, UnsupportedError
        `at_least` asks for something that is not counted, or no solver has a name in `solvers`.
    """
    Loop.route = "crosscheck"
    floors, epsilon = _floors(at_least), size(epsilon, "epsilon")
    if isinstance(solvers, str) or not isinstance(solvers, Iterable | None):
        msg = f"solvers={solvers!r}: it is a list of names or solvers, as in ['exact', 'value-iteration']"
        raise GameError(msg, value=solvers)
    for name in solvers or ():
        backend.check_named_or_made(name)
        if isinstance(name, str) and name not in backend.solver_names():
            backend.load_solver(name)  # raises: a name that is not known is no solver that cannot, or fails
    problem = prepare(game, objective, horizon=horizon, run=backend.Run(progress=progress), max_states=max_states)
    chosen: Sequence[str | backend.Solver] = list(backend.available_solvers()) if solvers is None else solvers
    entries = tuple(_enter(problem, solver, epsilon, progress) for solver in chosen)
    problems = [f"{entry.solver} failed: {entry.message}" for entry in entries if entry.outcome == "failed"]
    solutions = [entry.solution for entry in entries if entry.solution is not None]
    problems += [f"{it.solver} is {it.status.value}: {it.reason}" for it in solutions if not it.proved]
    edges = [comparison.optimal_edges(solution) for solution in solutions]
    possible, only = [may for may, _ in edges], [must for _, must in edges]
    choices = 0
    for i, first in enumerate(solutions):
        for j, second in enumerate(solutions):
            if i < j:
                problems += comparison.compare_values(first, second)
            if i != j and first.proved and second.proved:
                judged, wrong = comparison.compare_actions(first, only[i], second, possible[j])
                choices += judged
                problems += wrong
    values, wrong = comparison.compare_policies(problem, [found for found in solutions if found.proved])
    independent = _independent([entry for entry in entries if entry.solution is not None])
    counts: dict[str, int] = dict.fromkeys(COUNTERS, 0)
    counts |= {"independent": independent, "actions": choices, "policies": values}
    if solutions:
        best = min(range(len(solutions)), key=lambda i: solutions[i].width)
        counts |= _counted(solutions[best], possible[best])
    problems += [*wrong, *_missing(counts, floors)]
    return Report(entries, tuple(problems), **counts, at_least=floors)


def _floors(at_least: Mapping[str, int] | None) -> dict[str, int]:
    if at_least is not None and not isinstance(at_least, Mapping):
        raise GameError(f"at_least={at_least!r}: it says how much of what, as in {{'independent': 3}}", value=at_least)
    wanted = {name: count(floor, f"at_least[{name!r}]") for name, floor in (at_least or {}).items()}
    floors = {"independent": 2} | wanted
    if unknown := sorted(set(floors) - set(COUNTERS)):
        raise GameError(f"at_least[{unknown[0]!r}] is not counted; what is: {', '.join(COUNTERS)}", value=unknown[0])
    # Agreement needs two, whatever is asked for.
    return floors | {"independent": max(2, floors["independent"])}


def _missing(counts: Mapping[str, int], floors: Mapping[str, int]) -> Iterator[str]:
    """Yield what was asked for and not reached."""
    for name, floor in floors.items():
        found = counts[name]
        if found < floor and name == "independent":
            needed = "; agreement needs two" if floor == 2 else f", fewer than {floor:,}"
            yield f"{found} independent solver{'s' * (found != 1)} ran{needed}"
        elif found < floor:
            yield f"{found:,} {name} were compared, fewer than {floor:,}"


def _counted(solution: Solution, possible: Bools) -> dict[str, int]:
    """How much there was to compare."""
    net = solution.network
    choices = comparison.by_node(np.add, net, possible.astype(np.int64), 0)
    rows = 1 if net.horizon is None else net.horizon
    return {
        "states": int(solution.nodes.values.size),
        "infinities": int(np.isinf(solution.nodes.values).sum()),
        "decisions": int(net.decides.sum()) * rows,
        "ties": int((choices[..., net.decides] > 1).sum()),
    }


def _enter(problem: Problem, solver: str | backend.Solver, epsilon: float, progress: backend.Progress | None) -> Entry:
    name = solver if isinstance(solver, str) else solver.name
    try:
        made = backend.load_solver(solver)() if isinstance(solver, str) else solver
        need = problem.needs()
        # The core writes the stages of a horizon side by side for a solver that knows none.
        if not need <= made.features | {backend.Feature.HORIZON}:
            raise unsupported(name, need, made.features | {backend.Feature.HORIZON})
        run = backend.Run(tolerance=min(1e-9, epsilon / 4), progress=progress, cancel=threading.Event())
        kin = frozenset(cls.name for cls in backend.ancestors(made)) - {name}
        solution = plan_of(problem, made).solve(run, epsilon)
        # The other answers say what is wrong; exact arithmetic does not help a wrong candidate.
        solution = attrs.evolve(solution, reason=solution.reason.removesuffix(SETTLES))
        return Entry(name, "ran", solution=solution, kin=kin)
    except UnsupportedError as error:
        return Entry(name, "unsupported", str(error))
    except MdpDiceError as error:
        return Entry(name, "failed", f"{type(error).__name__}: {error}")


def _independent(ran: Sequence[Entry]) -> int:
    """Return the number of groups of solvers that did not ask each other."""
    group = {entry.solver: entry.solver for entry in ran}
    for entry in ran:
        for other in entry.asked:
            # Whoever was asked stands for both, whether or not it ran by itself.
            old, new = group[entry.solver], group.get(other, other)
            group = {name: new if root == old else root for name, root in group.items()} | {other: new}
    return len({group[entry.solver] for entry in ran})
