"""What ``mdpdice policy`` answers: the tables of the optimal policy, for people, as JSON and as CSV."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.cli.answers import (
    Case,
    after,
    figures,
    notes_of,
    question,
    solve_case,
    solver_of,
    value_rows,
)
from mdpdice.cli.chosen import compiled
from mdpdice.cli.objectives import known_targets
from mdpdice.cli.progress import ProgressBars
from mdpdice.cli.shared import most_states
from mdpdice.cli.text import action_data, aligned, json_number, phrase
from mdpdice.exploration.to_network import explore
from mdpdice.modelling.tables import Table
from mdpdice.networks.network import Network
from mdpdice.solving.lattice_solution import LatticeSolution

__all__ = ["tabled"]

DECISIONS = "decisions"
SHOWN = 40
"""Rows of the table of all decisions that are shown to people."""


def tabled(
    case: Case, solver: str, name: str | None, save: str | None, *, as_csv: bool
) -> tuple[bool, dict[str, Any], str]:
    """The answer of ``mdpdice policy``: whether it is proved, as JSON data, and as text."""
    if reason := case.infinite():
        raise click.ClickException(f"{reason}: every way to get there is as good as any other")
    saves_only = save is not None and name is None and not as_csv
    solution = solve_case(case, solver, network=_written_out(case, solver, saves_only=saves_only))
    if isinstance(solution, LatticeSolution):
        assert save is not None, "what is too large for a table was refused"
        solution.save(save)
        tables = []
    else:
        tables = _tables(case, solution, name)
        if save is not None:
            Policy.from_solution(solution).save(save)
    data = {
        **case.data(),
        **figures(solution),
        "tables": [{"name": one.name, "title": one.title, "rows": one.data()} for one in tables],
        "notes": notes_of(case, solution),
    }
    if as_csv:
        # One file has one table.
        return solution.proved, data, tables[0].csv().removesuffix("\n")
    lines = [aligned([*question(case), *value_rows(data)])]
    for table in tables:
        lines += ["", *_shown(table)]
    return solution.proved, data, "\n".join([*lines, *after(data)])


def _written_out(case: Case, solver: str, *, saves_only: bool) -> Network | None:
    """The network of a game that would be solved on its lattice, which a table needs; None for other games."""
    with ProgressBars() as progress, known_targets(case.objective, case.objective_text):
        lattice, layers = compiled(case, case.objective, solver_of(solver), progress)
        if lattice is None:
            return None
        if layers is None:
            return explore(case.game, progress=progress, lattice=lattice, max_states=most_states())
    if saves_only:
        return None
    msg = (
        f"this game has {layers.states:,} states, too many for a table; ask advise about one of them, or keep all "
        "values with --save FILE alone"
    )
    raise click.UsageError(msg)


def _tables(case: Case, solution: Solution, name: str | None) -> list[Table]:
    # The tables of a game are about its total.
    own = (
        case.game.tables(solution) if solution.proved and name != DECISIONS and case.objective is None else []
    )
    if name is None:
        return own or [_decisions(case, solution)]
    if name == DECISIONS:
        return [_decisions(case, solution)]
    found = [table for table in own if table.name == name]
    if not found:
        names = ", ".join([*(table.name for table in own), DECISIONS])
        raise click.UsageError(f"{case.name} has no table {name!r}; its tables are: {names}")
    return found


def _decisions(case: Case, solution: Solution) -> Table:
    """Every decision with what the policy does; with a horizon, when all of it is left."""
    network = solution.network
    policy, values = (array.reshape(-1, network.n_nodes)[-1] for array in (solution.policy, solution.values))
    rows = []
    if network.horizon != 0:
        for node in np.flatnonzero(network.decides).tolist():
            state = network.state_of(node)
            action = phrase(action_data(network.action_of(int(policy[node]))))
            rows.append((case.game.show_state(state), action, json_number(values[node])))
    return Table(
        DECISIONS, "what to do in every state in which somebody decides", ("state", "action", "value"), rows
    )


def _shown(table: Table) -> list[str]:
    lines = table.text()
    if table.lines or len(table.rows) <= SHOWN:
        return lines
    # The title and the names of the columns come first.
    more = len(table.rows) - SHOWN
    return [*lines[: SHOWN + 2], f"... and {more:,} more rows: --csv and --json print all of them"]
