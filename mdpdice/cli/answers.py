"""What the commands answer: JSON data first, and from it the text for people."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import click

from mdpdice.backend import load_solver, solver_names
from mdpdice.cli.catalogue import Found, find_game, game_names, load_game, summary
from mdpdice.cli.parameters import build_game, show
from mdpdice.cli.progress import ProgressLine
from mdpdice.crosscheck import cross_check
from mdpdice.errors import MdpDiceError, PluginError, UnknownStateError, UnsupportedError
from mdpdice.game import Game
from mdpdice.network import Kind
from mdpdice.solution import Solution, Status
from mdpdice.solving import solve
from mdpdice.statetext import encode

__all__ = ["Case", "advise_text", "advised", "checked", "listing", "open_case", "solved", "solved_text"]


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
    """

    name: str
    found: Found
    game: Game[Any, Any]
    given: dict[str, Any]
    horizon: int | None
    epsilon: float

    def data(self) -> dict[str, Any]:
        """The question as JSON data."""
        return {"game": self.name, "parameters": self.given, "horizon": self.horizon}

    def infinite(self) -> str | None:
        """Why the value is infinite, where the rules alone show it."""
        return None if self.horizon is not None else self.game.infinite_reason()


def open_case(name: str, pairs: Sequence[str], horizon: int | None, epsilon: float) -> Case:
    """Find a game and give it its parameters."""
    found = find_game(name)
    game, given = build_game(name, found, pairs)
    return Case(name, found, game, given, horizon, epsilon)


# --- solve ------------------------------------------------------------------------------------


def solved(case: Case, solver: str) -> dict[str, Any]:
    """The answer of ``mdpdice solve`` as JSON data; its value is None unless it was proved."""
    if reason := case.infinite():
        return {**case.data(), **_infinite(reason), "notes": _notes(case, but=reason), "summary": []}
    solution = _solve(case, solver)
    summary_lines = case.game.summary(solution) if solution.proved else []
    return {
        **case.data(),
        **_figures(solution, solution.network.start),
        "notes": _notes(case, solution),
        "summary": list(summary_lines),
    }


def _solve(case: Case, solver: str) -> Solution:
    _check_solver(solver)
    with ProgressLine() as progress:
        return solve(case.game, solver=solver, horizon=case.horizon, epsilon=case.epsilon, progress=progress)


def _check_solver(name: str) -> None:
    if name == "auto" or name in solver_names():
        return
    try:
        load_solver(name)
    except UnsupportedError as error:  # its message lists the solvers that there are
        raise click.UsageError(error.message) from error


def _figures(solution: Solution, node: int) -> dict[str, Any]:
    """Value of a node, and how it was found."""
    rows = (solution.values, solution.lowers, solution.uppers)
    estimate, lower, upper = (_json_number(row[..., node].flat[-1]) for row in rows)
    network = solution.network
    return {
        "value": estimate if solution.proved else None,
        "estimate": estimate,
        "lower": lower,
        "upper": upper,
        "width": _json_number(solution.width),
        "status": solution.status.value,
        "reason": solution.reason,
        "solver": solution.solver,
        "seconds": solution.seconds,
        "states": network.n_states,
        "edges": network.n_edges,
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


def _notes(case: Case, solution: Solution | None = None, *, but: str = "") -> list[str]:
    warned = list(solution.network.warnings) if solution is not None else []
    return [note for note in [*case.game.notes(), *warned] if note != but]


def _json_number(number: float) -> float | str:
    """JSON knows no infinity; its name is read back by ``float``."""
    return float(number) if math.isfinite(number) else str(float(number))


def solved_text(case: Case, data: dict[str, Any]) -> str:
    """The answer of ``mdpdice solve`` for people."""
    rows = [*_question(case), *_value_rows(data), *_work_rows(data)]
    return "\n".join([_aligned(rows), *_after(data)])


def _question(case: Case) -> list[tuple[str, str]]:
    rows = [("game", f"{case.name}: {summary(case.found)}".rstrip(": "))]
    if case.given:
        rows.append(("parameters", " ".join(f"{key}={_quoted(value)}" for key, value in case.given.items())))
    if case.horizon is not None:
        rows.append(("horizon", f"at most {case.horizon} decision{'s' * (case.horizon != 1)}"))
    return rows


def _quoted(value: Any) -> str:
    text = show(value)
    return f"'{text}'" if " " in text else text


def _value_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    value = data["value"]
    told = _figure(value) if value is not None else f"not proved; the estimate is {_figure(data['estimate'])}"
    rows = [("value", told)]
    if isinstance(data["lower"], float) or isinstance(data["upper"], float):
        rows.append(("interval", f"[{_figure(data['lower'])}, {_figure(data['upper'])}]"))
    rows.append(("status", data["status"]))
    if data["reason"]:
        rows.append(("reason", data["reason"]))
    return rows


def _work_rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    if data["solver"] is None:
        return []
    return [
        ("solver", data["solver"]),
        ("size", f"{data['states']:,} states, {data['edges']:,} edges"),
        ("time", f"{data['seconds']:.2f} s to solve and certify"),
    ]


def _after(data: dict[str, Any]) -> list[str]:
    lines = [f"note: {note}" for note in data["notes"]]
    if data.get("summary"):
        lines += ["", *data["summary"]]
    return lines


def _aligned(rows: Sequence[tuple[str, str]]) -> str:
    width = max(len(label) for label, _ in rows)
    return "\n".join(f"{label.ljust(width)}  {text}".rstrip() for label, text in rows)


def _figure(number: float | str) -> str:
    return number if isinstance(number, str) else f"{number:.15g}"


# --- crosscheck -------------------------------------------------------------------------------


def checked(case: Case, solvers: Sequence[str] | None) -> tuple[bool, dict[str, Any], str]:
    """The answer of ``mdpdice crosscheck``: whether all is well, as JSON data, and for people."""
    for solver in solvers or ():
        _check_solver(solver)
        if solver == "auto":
            raise click.UsageError(
                "auto is no back-end of its own; name those to compare, or leave out --solvers"
            )
    if reason := case.infinite():
        raise click.ClickException(f"{reason}: there is nothing that back-ends could compare")
    with ProgressLine() as progress:
        report = cross_check(
            case.game, solvers=solvers, horizon=case.horizon, epsilon=case.epsilon, progress=progress
        )
    data = {**case.data(), **json.loads(report.to_json()), "notes": _notes(case)}
    return report.ok, data, "\n".join([_aligned(_question(case)), "", report.table(), *_after(data)])


# --- advise -----------------------------------------------------------------------------------


def advised(case: Case, text: str, solver: str) -> dict[str, Any]:
    """The answer of ``mdpdice advise`` as JSON data, best action first."""
    asked = _read_state(case, text)
    if reason := case.infinite():
        raise click.ClickException(f"{reason}: every way to get there is as good as any other")
    position = case.game.canonical(asked)
    solution = _solve(case, solver)
    network = solution.network
    try:
        node = network.node_of(position)
    except UnknownStateError as error:
        near = "\n".join(f"  {case.game.show_state(state)}" for state in network.nearest(position))
        raise click.UsageError(f"{text!r} cannot be reached in this game. States like it:\n{near}") from error
    notes = _notes(case, solution)
    if position != asked:
        notes.append(f"by symmetry this is {case.game.show_state(position)}, whose actions are shown")
    data = {
        **case.data(),
        "state": case.game.show_state(position),
        "action": None,
        **_figures(solution, node),
        "actions": [],
        "ties": [],
        "notes": notes,
    }
    if not network.decides[node]:
        notes.append("nobody decides here: chance moves, or the play is over")
    elif case.horizon == 0:
        notes.append("no decision is left")
    else:
        data |= _decision(solution, position, minimise=bool(network.kind[node] == Kind.MIN))
    return data


def _read_state(case: Case, text: str) -> Hashable:
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


def _decision(solution: Solution, position: Hashable, *, minimise: bool) -> dict[str, Any]:
    best = solution.action(position)
    values = solution.q(position)
    # The chosen action leads even where rounding puts a tied one above it.
    ordered = sorted(
        values, key=lambda action: (action != best, values[action] if minimise else -values[action])
    )
    actions = []
    for action in ordered:
        number = _json_number(values[action])
        actions.append(
            {"action": _action(action), "value": number if solution.proved else None, "estimate": number}
        )
    return {
        "action": _action(best),
        "actions": actions,
        "ties": [_action(action) for action in solution.ties(position)],
    }


def _action(action: Any) -> Any:
    try:
        return encode(action)
    except MdpDiceError:  # of a type that has no text form
        return repr(action)


def advise_text(case: Case, data: dict[str, Any]) -> str:
    """The answer of ``mdpdice advise`` for people."""
    rows = [*_question(case), ("state", data["state"])]
    actions = data["actions"]
    if actions:
        rows.append(("best action", _phrase(data["action"])))
    rows += [*_value_rows(data), *_work_rows(data)]
    lines = [_aligned(rows)]
    if actions:
        lines += ["", "The value of every action, with best play afterwards:", *_action_lines(data)]
    return "\n".join([*lines, *_after(data)])


def _action_lines(data: dict[str, Any]) -> list[str]:
    phrases = [_phrase(entry["action"]) for entry in data["actions"]]
    width = max(map(len, phrases))
    top = float(data["actions"][0]["estimate"])
    lines = []
    for entry, phrase in zip(data["actions"], phrases, strict=True):
        tied = len(data["ties"]) > 1 and entry["action"] in data["ties"]
        mark = "*" if entry is data["actions"][0] else "=" if tied else " "
        behind = float(entry["estimate"]) - top
        difference = f"  {behind:+.6g}" if mark == " " and math.isfinite(behind) else ""
        lines.append(f"{mark} {phrase.ljust(width)}  {_figure(entry['estimate'])}{difference}")
    if any(line.startswith("=") for line in lines):
        lines.append("(= as good as the best, as far as was proved)")
    return lines


def _phrase(action: Any) -> str:
    """An action's JSON data for people: ``Keep(points=200, dice=4)``."""
    if isinstance(action, str):
        return action
    if isinstance(action, dict) and len(action) == 1:
        ((name, body),) = action.items()
        if isinstance(body, dict):
            return f"{name}({', '.join(f'{field}={_phrase(value)}' for field, value in body.items())})"
        return f"{name}.{body}" if isinstance(body, str) else f"{name}({_phrase(body)})"
    if isinstance(action, list):
        return f"({', '.join(_phrase(item) for item in action)})"
    return json.dumps(action)


# --- list -------------------------------------------------------------------------------------


def listing() -> str:
    """The answer of ``mdpdice list``."""
    games = [(name, _about_game(name)) for name in game_names()]
    solvers = [(name, _about_solver(name)) for name in solver_names()]
    lines: list[str] = []
    for title, rows in (("Games", games), ("Solvers", solvers)):
        indented = [(f"  {name}", about) for name, about in rows] or [("  none", "")]
        lines += [f"{title}:", _aligned(indented), ""]
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
