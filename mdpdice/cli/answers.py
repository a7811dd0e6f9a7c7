"""What the commands answer: JSON data first, and from it the text for people."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, cast

import click

from mdpdice.answers.solution import Solution, Status
from mdpdice.backend import Solver, load_solver, solver_names
from mdpdice.cli.catalogue import Found, find_game, game_names, load_game, summary
from mdpdice.cli.objectives import known_targets, read_objective
from mdpdice.cli.parameters import build_game, show
from mdpdice.cli.progress import ProgressBars
from mdpdice.cli.shared import limits, most_states
from mdpdice.cli.text import action_data, aligned, figure, json_number, phrase
from mdpdice.errors import MdpDiceError, PluginError, UnknownStateError, UnsupportedError
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Kind, Network
from mdpdice.objectives.objective import Objective, Sense
from mdpdice.solving.estimate import game_solver
from mdpdice.solving.lattice_solution import LatticeSolution
from mdpdice.solving.pipeline import solve

__all__ = [
    "Case",
    "advise_text",
    "advised",
    "after",
    "check_solver",
    "checked",
    "figures",
    "listed",
    "listing",
    "notes_of",
    "open_case",
    "question",
    "read_position",
    "solve_case",
    "solved",
    "solved_text",
    "solver_of",
    "value_rows",
    "work_rows",
]


class Case(NamedTuple):
    """What is asked: a game with its parameters, and how precisely.

    Attributes
    ----------
    name : str
        The game, as on the command line.
    found : Found
        Its class.
    game : Game
        The game.
    given : dict
        Its parameters as JSON data.
    horizon : int or None
        Largest number of decisions.
    epsilon : float
        Width that a certified interval may have.
    objective : Objective or None
        What counts; None: the total, of which the player wants much.
    objective_text : str
        How it was written.
    """

    name: str
    found: Found
    game: Game[Any, Any]
    given: dict[str, Any]
    horizon: int | None
    epsilon: float
    objective: Objective | None = None
    objective_text: str = "total"

    @property
    def sense(self) -> Sense:
        """What the player to move wants."""
        return "max" if self.objective is None else self.objective.sense

    def data(self) -> dict[str, Any]:
        """The question as JSON data."""
        return {
            "game": self.name,
            "parameters": self.given,
            "horizon": self.horizon,
            "objective": self.objective_text,
            "sense": self.sense,
        }

    def infinite(self) -> str | None:
        """Why the value is infinite, where the rules alone show it."""
        return None if self.horizon is not None else self.game.infinite_reason()


def open_case(
    name: str,
    pairs: Sequence[str],
    horizon: int | None,
    epsilon: float,
    objective: str | None = None,
    sense: Sense = "max",
) -> Case:
    """Find a game, give it its parameters, and read what counts in it."""
    found = find_game(name)
    game, given = build_game(name, found, pairs)
    case = Case(name, found, game, given, horizon, epsilon)
    asked = read_objective(objective, sense, horizon, lambda text: read_position(case, text))
    if asked.objective is not None and asked.horizon is None and (reason := game.infinite_reason()):
        raise click.UsageError(
            f"{reason}, so there is no network of it for another objective; give it --horizon"
        )
    return case._replace(horizon=asked.horizon, objective=asked.objective, objective_text=asked.text)


# --- solve ------------------------------------------------------------------------------------


def solved(case: Case, solver: str, checkpoint: str | None = None) -> dict[str, Any]:
    """The answer of ``mdpdice solve`` as JSON data; its value is None unless it was proved."""
    if reason := case.infinite():
        return {**case.data(), **_infinite(reason), "notes": notes_of(case, but=reason), "summary": []}
    solution = solve_case(case, solver, checkpoint=checkpoint)
    summary_lines: list[str] = []
    # What a game says in its own words is about its total.
    if solution.proved and case.objective is None:
        if isinstance(solution, LatticeSolution):
            summary_lines = case.game.lattice_summary(solution)
        else:
            summary_lines = case.game.summary(solution)
    return {
        **case.data(),
        **figures(solution),
        "notes": notes_of(case, solution),
        "summary": list(summary_lines),
    }


def solve_case(
    case: Case,
    solver: str,
    position: Hashable = None,
    checkpoint: str | None = None,
    *,
    network: Network | None = None,
) -> Solution | LatticeSolution:
    """Solve it, from a position if there is one, with bars that tell how far it is.

    `network` is that of the game, if it was written out already.
    """
    chosen = solver_of(solver)
    game = case.game if position is None else case.game.at(position)
    asked: dict[str, Any] = {"horizon": case.horizon, "epsilon": case.epsilon, "checkpoint": checkpoint}
    with ProgressBars() as progress, known_targets(case.objective, case.objective_text):
        what = game if network is None else network
        return solve(what, case.objective, solver=chosen, progress=progress, **asked, **limits())


def solver_of(text: str) -> str | Solver:
    """The back-end of a name, or of ``lookahead:DEPTH``."""
    name, colon, depth = text.partition(":")
    check_solver(name)
    if not colon:
        return name
    if name != "lookahead" or not depth.isdecimal() or not int(depth):
        raise click.UsageError(
            f"--solver {text}: write a name, or lookahead:DEPTH with a positive number of decisions"
        )
    # What a back-end takes is its own; this one's parameter is known.
    return cast("Any", load_solver(name))(depth=int(depth))  # type: ignore[no-any-return]


def check_solver(name: str) -> None:
    """Refuse the name of a solver that there is not, with those that there are."""
    if name == "auto" or name in solver_names():
        return
    try:
        load_solver(name)
    except UnsupportedError as error:  # its message lists the solvers that there are
        raise click.UsageError(error.message) from error


def figures(solution: Solution | LatticeSolution, state: Hashable = None) -> dict[str, Any]:
    """Value of a state, by default of the start, and how it was found."""
    asked = (solution.estimate, solution.lower, solution.upper)
    estimate, lower, upper = (json_number(ask(state)) for ask in asked)
    if isinstance(solution, Solution):
        states, edges = solution.network.n_states, solution.network.n_edges
    else:
        states, edges = solution.layers.states, solution.layers.edges
    return {
        "value": estimate if solution.proved else None,
        "estimate": estimate,
        "lower": lower,
        "upper": upper,
        "width": json_number(solution.width),
        "status": solution.status.value,
        "reason": solution.reason,
        "solver": solution.solver,
        "seconds": solution.seconds,
        "states": states,
        "edges": edges,
    }


def _infinite(reason: str) -> dict[str, Any]:
    """What is told about a value that the rules show to be infinite: nothing was explored or solved."""
    return {
        **dict.fromkeys(("value", "estimate", "lower", "upper"), "inf"),
        "width": 0.0,
        "status": Status.EXACT.value,
        "reason": reason,
        "solver": None,
        "seconds": 0.0,
        "states": 0,
        "edges": 0,
    }


def notes_of(case: Case, solution: Solution | LatticeSolution | None = None, *, but: str = "") -> list[str]:
    """Remarks of the game and of its network."""
    warned: tuple[str, ...] = ()
    if solution is not None:
        warned = (solution.network if isinstance(solution, Solution) else solution.lattice).warnings
        warned += solution.details.get("notes", ()) if isinstance(solution, Solution) else ()
    return [note for note in [*case.game.notes(), *warned] if note != but]


def solved_text(case: Case, data: dict[str, Any]) -> str:
    """The answer of ``mdpdice solve`` for people."""
    rows = [*question(case), *value_rows(data), *work_rows(data)]
    return "\n".join([aligned(rows), *after(data)])


def question(case: Case) -> list[tuple[str, str]]:
    """The game and its parameters, as rows for people."""
    rows = [("game", f"{case.name}: {summary(case.found)}".rstrip(": "))]
    if case.given:
        rows.append(("parameters", " ".join(f"{key}={_quoted(value)}" for key, value in case.given.items())))
    if case.objective is not None:
        little = ", as little as possible" if case.sense == "min" else ""
        rows.append(("objective", f"{case.objective_text}{little}"))
    if case.horizon is not None:
        rows.append(("horizon", f"at most {case.horizon} decision{'s' * (case.horizon != 1)}"))
    return rows


def _quoted(value: Any) -> str:
    text = show(value)
    return f"'{text}'" if " " in text else text


def value_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    """What was proved, as rows for people."""
    value = data["value"]
    told = figure(value) if value is not None else f"not proved; the estimate is {figure(data['estimate'])}"
    rows = [("value", told)]
    if isinstance(data["lower"], float) or isinstance(data["upper"], float):
        rows.append(("interval", f"[{figure(data['lower'])}, {figure(data['upper'])}]"))
    rows.append(("status", data["status"]))
    if data["reason"]:
        rows.append(("reason", data["reason"]))
    return rows


def work_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    """How it was found, as rows for people."""
    if data["solver"] is None:
        return []
    if data["status"] == Status.ESTIMATE.value:
        return [("solver", data["solver"]), ("time", f"{data['seconds']:.2f} s to search")]
    return [
        ("solver", data["solver"]),
        ("size", f"{data['states']:,} states, {data['edges']:,} edges"),
        ("time", f"{data['seconds']:.2f} s to solve and certify"),
    ]


def after(data: dict[str, Any]) -> list[str]:
    """Remarks and the words of the game."""
    lines = [f"note: {note}" for note in data["notes"]]
    if data.get("summary"):
        lines += ["", *data["summary"]]
    return lines


# --- crosscheck -------------------------------------------------------------------------------


def checked(case: Case, solvers: Sequence[str] | None) -> tuple[bool, dict[str, Any], str]:
    """The answer of ``mdpdice crosscheck``: whether all is well, as JSON data, and for people."""
    # Only this command needs what policies and answers are compared with.
    from mdpdice.crosscheck.report import cross_check

    for solver in solvers or ():
        check_solver(solver)
        if solver == "auto":
            raise click.UsageError(
                "auto is no back-end of its own; name those to compare, or leave out --solvers"
            )
    if reason := case.infinite():
        raise click.ClickException(f"{reason}: there is nothing that back-ends could compare")
    with ProgressBars() as progress, known_targets(case.objective, case.objective_text):
        report = cross_check(
            case.game,
            case.objective,
            solvers=solvers,
            horizon=case.horizon,
            epsilon=case.epsilon,
            progress=progress,
            max_states=most_states(),
        )
    data = {**case.data(), **json.loads(report.to_json()), "notes": notes_of(case)}
    return report.ok, data, "\n".join([aligned(question(case)), "", report.table(), *after(data)])


# --- advise -----------------------------------------------------------------------------------


def advised(case: Case, text: str, solver: str) -> dict[str, Any]:
    """The answer of ``mdpdice advise`` as JSON data, best action first."""
    asked = read_position(case, text)
    if reason := case.infinite():
        raise click.ClickException(f"{reason}: every way to get there is as good as any other")
    # A search begins at the position itself; what is solved from the start knows representatives only.
    searched = game_solver(solver_of(solver)) is not None
    position = asked if searched else case.game.canonical(asked)
    solution = solve_case(case, solver, asked if searched else None)
    kind = _kind(case, solution, position, text)
    notes = notes_of(case, solution)
    if position != asked:
        notes.append(f"by symmetry this is {case.game.show_state(position)}, whose actions are shown")
    data = {
        **case.data(),
        "state": case.game.show_state(position),
        "action": None,
        **figures(solution, position),
        "actions": [],
        "ties": [],
        "notes": notes,
    }
    if kind not in (Kind.MAX, Kind.MIN):
        notes.append("nobody decides here: chance moves, or the play is over")
    elif case.horizon == 0:
        notes.append("no decision is left")
    else:
        data |= _decision(solution, position, minimise=kind == Kind.MIN)
    return data


def _kind(case: Case, solution: Solution | LatticeSolution, position: Hashable, text: str) -> int:
    """What happens in a position."""
    try:
        if isinstance(solution, LatticeSolution):
            return solution.kind(position)
        return int(solution.network.kind[solution.network.node_of(position)])
    except UnknownStateError as error:
        like = (
            [solution.start] if isinstance(solution, LatticeSolution) else solution.network.nearest(position)
        )
        near = "\n".join(f"  {case.game.show_state(state)}" for state in like)
        raise click.UsageError(f"{text!r} cannot be reached in this game. States like it:\n{near}") from error


def read_position(case: Case, text: str) -> Hashable:
    """The state of a text on the command line."""
    try:
        state: Hashable = case.game.read_state(text)
        hash(state)
    except MdpDiceError as error:
        raise click.UsageError(error.message) from error
    except Exception as error:
        raise click.UsageError(
            f"{text!r} could not be read as a state: {type(error).__name__}: {error}"
        ) from error
    return state


def _decision(solution: Solution | LatticeSolution, position: Hashable, *, minimise: bool) -> dict[str, Any]:
    best = solution.action(position)
    values = solution.q(position)
    # The chosen action leads even where rounding puts a tied one above it.
    ordered = sorted(
        values, key=lambda action: (action != best, values[action] if minimise else -values[action])
    )
    actions = []
    for action in ordered:
        number = json_number(values[action])
        actions.append(
            {"action": action_data(action), "value": number if solution.proved else None, "estimate": number}
        )
    return {
        "action": action_data(best),
        "actions": actions,
        "ties": [action_data(action) for action in solution.ties(position)],
    }


def advise_text(case: Case, data: dict[str, Any]) -> str:
    """The answer of ``mdpdice advise`` for people."""
    rows = [*question(case), ("state", data["state"])]
    actions = data["actions"]
    if actions:
        rows.append(("best action", phrase(data["action"])))
    rows += [*value_rows(data), *work_rows(data)]
    lines = [aligned(rows)]
    if actions:
        lines += ["", "The value of every action, with best play afterwards:", *_action_lines(data)]
    return "\n".join([*lines, *after(data)])


def _action_lines(data: dict[str, Any]) -> list[str]:
    phrases = [phrase(entry["action"]) for entry in data["actions"]]
    width = max(map(len, phrases))
    top = float(data["actions"][0]["estimate"])
    lines = []
    for entry, words in zip(data["actions"], phrases, strict=True):
        tied = len(data["ties"]) > 1 and entry["action"] in data["ties"]
        mark = "*" if entry is data["actions"][0] else "=" if tied else " "
        behind = float(entry["estimate"]) - top
        difference = f"  {behind:+.6g}" if mark == " " and math.isfinite(behind) else ""
        lines.append(f"{mark} {words.ljust(width)}  {figure(entry['estimate'])}{difference}")
    if any(line.startswith("=") for line in lines):
        lines.append("(= as good as the best, as far as was proved)")
    return lines


# --- list -------------------------------------------------------------------------------------


def listed() -> dict[str, dict[str, str]]:
    """Games and solvers by name, with what is said of them."""
    return {
        "games": {name: _about_game(name) for name in game_names()},
        "solvers": {name: _about_solver(name) for name in solver_names()},
    }


def listing() -> str:
    """The answer of ``mdpdice list``."""
    lines: list[str] = []
    for title, rows in listed().items():
        indented = [(f"  {name}", about) for name, about in rows.items()] or [("  none", "")]
        lines += [f"{title.capitalize()}:", aligned(indented), ""]
    lines.append("'mdpdice solve NAME --help' describes the parameters of a game.")
    return "\n".join(lines)


def _about_game(name: str) -> str:
    try:
        return summary(load_game(name))
    except PluginError as error:  # it must not hide the others
        return f"broken: {error}"


def _about_solver(name: str) -> str:
    try:
        cls = load_solver(name)
        features = sorted(feature.value for feature in cls.features)
        missing = "" if cls.available() else " (not available here)"
    except Exception as error:  # noqa: BLE001 - the code of a plug-in can raise anything
        return f"broken: {error}"
    return f"{', '.join(['acyclic networks of one player', *features])}{missing}"
