"""``mdpdice solve``: the value of a game, proved."""

from __future__ import annotations

from collections.abc import Iterable

import click

from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.options import NewFile, objective_options, question_options, solver_option
from mdpdice.cli.text import aligned
from mdpdice.cli.values import after, infinite_data, value_data, value_rows, work_rows


@game_command()
@question_options
@objective_options
@solver_option
@click.option(
    "--checkpoint",
    type=NewFile(),
    metavar="PATH",
    help="Keep the state of a long solve in this file; after a stop the same command continues from there.",
)
def solve(case: Case, solver: str, checkpoint: str | None) -> Answer:
    """Solve a game and prove how far the answer can be off.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    summary: Iterable[str] = ()
    if reason := case.infinite():
        told, notes = infinite_data(reason), case.notes(but=reason)
    else:
        solution = case.solve(solver, checkpoint=checkpoint)
        case.keep(solution, solver)
        told, notes = value_data(solution), case.notes(solution)
        # What a game says in its own words is about its total.
        if solution.proved and case.objective is None:
            summary = case.look.summary(solution)
    data = {**case.data(), **told, "notes": notes, "summary": list(summary)}
    rows = [*case.rows(), *value_rows(data), *work_rows(data)]
    return Answer(data, [aligned(rows), *after(data)], data["value"] is not None)
