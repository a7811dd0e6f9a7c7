"""``mdpdice advise``: what to do in a state."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import click

import mdpdice
from mdpdice.cli.case import Case, solver_of
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.options import objective_options, question_options, solver_option
from mdpdice.cli.text import action_data, aligned, figure, json_number, phrase
from mdpdice.cli.values import after, value_data, value_rows, work_rows
from mdpdice.errors import UnknownStateError

__all__ = ["advise"]


@game_command()
@question_options
@objective_options
@click.argument("state", nargs=-1, required=True)
@solver_option
def advise(case: Case, state: tuple[str, ...], solver: str) -> Answer:
    """Tell the best action in a state, and the value of every action.

    STATE may be several words, as in: mdpdice advise farkle roll=1,1,5 points=300

    Exit status: 0 proved, 1 not, 2 wrong usage or a state that does not exist.
    """
    from mdpdice.solving.estimate import game_solver

    text = " ".join(state)
    asked = case.position(text)
    case.refuse_infinite("every way to get there is as good as any other")
    # A search begins at the position itself; what is solved from the start knows representatives only.
    searched = game_solver(solver_of(solver)) is not None
    position = asked if searched else case.game.canonical(asked)
    solution = case.solve(solver, case.game.at(asked) if searched else None)
    kind = _kind(case, solution, position, text)
    notes = case.notes(solution)
    if position != asked:
        notes.append(f"by symmetry this is {case.look.show_state(position)}, whose actions are shown")
    data = {
        **case.data(),
        "state": case.look.show_state(position),
        "action": None,
        **value_data(solution, position),
        "actions": [],
        "ties": [],
        "notes": notes,
    }
    if kind not in (mdpdice.Kind.MAX, mdpdice.Kind.MIN):
        notes.append("nobody decides here: chance moves, or the play is over")
    elif case.horizon == 0:
        notes.append("no decision is left")
    else:
        data |= _decision(solution, position, minimise=(kind == mdpdice.Kind.MIN) != (case.sense == "min"))
    return Answer(data, _lines(case, data), data["value"] is not None)


def _kind(case: Case, solution: mdpdice.Solution, position: Hashable, text: str) -> mdpdice.Kind:
    """What happens in a position, which may be none of this game."""
    try:
        return solution.kind(position)
    except UnknownStateError as error:
        near = "\n".join(f"  {case.look.show_state(state)}" for state in solution.nearest(position))
        raise click.UsageError(f"{text!r} cannot be reached in this game. States like it:\n{near}") from error


def _decision(solution: mdpdice.Solution, position: Hashable, *, minimise: bool) -> dict[str, Any]:
    """The actions, best first."""
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


def _lines(case: Case, data: dict[str, Any]) -> list[str]:
    rows = [*case.rows(), ("state", data["state"])]
    actions = data["actions"]
    if actions:
        rows.append(("best action", phrase(data["action"])))
    rows += [*value_rows(data), *work_rows(data)]
    lines = [aligned(rows)]
    if actions:
        lines += ["", "The value of every action, with best play afterwards:", *_action_lines(data)]
    return [*lines, *after(data)]


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
