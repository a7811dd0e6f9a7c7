"""``mdpdice crosscheck``: several solvers compared."""

from __future__ import annotations

import json
from typing import Any

import click

import mdpdice
from mdpdice.cli.case import Case, check_solver
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.limits import most_states
from mdpdice.cli.options import objective_options
from mdpdice.cli.text import aligned
from mdpdice.cli.values import after


@game_command()
@objective_options
@click.option("--solvers", metavar="A,B,C", help="Solvers, by default all; 'mdpdice list' names them.")
def crosscheck(case: Case, solvers: str | None) -> Answer:
    """Solve a game with several solvers, certify each and compare all states.

    Exit status: 0 all agree and are certified, 1 not, 2 wrong usage.
    """
    chosen = None if solvers is None else [solver.strip() for solver in solvers.split(",")]
    for solver in chosen or ():
        check_solver(solver)
        if solver == "auto":
            raise click.UsageError("'auto' chooses a solver and is none; name those to compare, or leave out --solvers")
    case.refuse_infinite("there is nothing that solvers could compare")
    asked: dict[str, Any] = {"horizon": case.horizon, "epsilon": case.epsilon, "max_states": most_states()}
    report = mdpdice.cross_check(case.game, case.objective, solvers=chosen, progress=case.progress, **asked)
    for entry in report.entries if report.ok else ():
        if entry.solution is not None and entry.solution.proved:
            case.keep(entry.solution, network=True)
            break
    data = {**case.data(), **json.loads(report.to_json()), "notes": case.notes()}
    return Answer(data, [aligned(case.rows()), "", report.table(), *after(data)], report.ok)
