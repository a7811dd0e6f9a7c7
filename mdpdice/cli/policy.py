"""``mdpdice policy``: the tables of the optimal policy, for people, as JSON and as CSV."""

from __future__ import annotations

from typing import Any

import click

import mdpdice
from mdpdice.cli.case import Case, solver_of
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.limits import most_states
from mdpdice.cli.options import NewFile, objective_options, question_options, solver_option
from mdpdice.cli.routes import compiled
from mdpdice.cli.text import aligned, json_number
from mdpdice.cli.values import after, value_data, value_rows
from mdpdice.errors import StateLimitError

__all__ = ["policy"]

DECISIONS = "decisions"
SHOWN = 40
"""Rows of the table of all decisions that are shown to people."""


@game_command()
@question_options
@objective_options
@click.option(
    "--table", metavar="TABLE", help="One table: one of the game's, or decisions for all decisions."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, of one table.")
@click.option("--save", metavar="FILE", type=NewFile(), help="Write the policy to a file, too.")
@solver_option
def policy(case: Case, table: str | None, as_csv: bool, save: str | None, solver: str) -> Answer:
    """Print the optimal policy as tables, in the words of the game.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    if as_csv and case.as_json:
        raise click.UsageError("choose one of --csv and --json")
    if save is None and (found := _by_name(_of_rules(case, table), table)):
        data = {**case.data(), "tables": [_data(found)], "notes": case.notes()}
        return Answer(
            data, _csv(found) if as_csv else [aligned(case.rows()), "", *_shown(found), *after(data)]
        )
    case.refuse_infinite("every way to get there is as good as any other")

    def told() -> dict[str, Any]:
        saves_only = save is not None and table is None and not as_csv
        solution = case.answer(
            solver,
            lambda: case.solve(solver, _written_out(case, solver, saves_only=saves_only)),
            network=not saves_only,
        )
        if solution.lattice is not None and not saves_only:
            raise _too_many(case, solution.n_states)
        tables = [] if solution.lattice is not None else _tables(case, solution, table)
        if save is not None:
            (solution if solution.lattice is not None else solution.policy).save(save)
        return {**value_data(solution), "tables": tables, "notes": case.notes(solution)}

    try:
        data = told() if save is not None else case.tables(told, table=table, solver=solver)
    except StateLimitError as error:
        if names := ", ".join(one.name for one in _of_rules(case)):
            error.message += f"; without a solution there are the tables: {names}"
        raise
    tables, proved = data["tables"], data["value"] is not None
    data = {**case.data(), **data, "tables": [_data(one) for one in tables]}
    if as_csv:
        # One file has one table.
        return Answer(data, _csv(tables[0]), proved)
    lines = [aligned([*case.rows(), *value_rows(data)])]
    for one in tables:
        lines += ["", *_shown(one)]
    return Answer(data, [*lines, *after(data)], proved)


def _written_out(case: Case, solver: str, *, saves_only: bool) -> mdpdice.Network | None:
    """The network of a game that would be solved on its lattice, which a table needs; None for other games."""
    if solver_of(solver) != "auto":
        return None
    lattice, layers = compiled(case, case.objective)
    if lattice is None:
        return None
    if layers is None:
        return mdpdice.explore(case.game, progress=case.progress, lattice=lattice, max_states=most_states())
    if saves_only:
        return None
    raise _too_many(case, layers.states)


def _too_many(case: Case, states: int) -> click.UsageError:
    names = ", ".join(one.name for one in _of_rules(case))
    msg = (
        f"this game has {states:,} states, too many for a table of decisions; "
        f"{f'its tables are: {names}; ' if names else ''}ask advise about one of them, or keep all values with "
        "--save FILE alone"
    )
    return click.UsageError(msg)


def _of_rules(case: Case, name: str | None = "") -> list[mdpdice.Table]:
    """The tables that need no solution."""
    asked = name not in (None, DECISIONS) and case.horizon is None and case.objective is None
    return case.look.tables(None) if asked else []


def _by_name(tables: list[mdpdice.Table], name: str | None) -> mdpdice.Table | None:
    return next((one for one in tables if one.name == name), None)


def _data(table: mdpdice.Table) -> dict[str, Any]:
    return {"name": table.name, "title": table.title, "rows": table.data()}


def _csv(table: mdpdice.Table) -> list[str]:
    return [table.csv().removesuffix("\n")]


def _tables(case: Case, solution: mdpdice.Solution, name: str | None) -> list[mdpdice.Table]:
    # The tables of a game are about its total.
    own = (
        case.look.tables(solution) if solution.proved and name != DECISIONS and case.objective is None else []
    )
    if name is None:
        return own or [_decisions(case, solution)]
    if name == DECISIONS:
        return [_decisions(case, solution)]
    own += _of_rules(case)
    if found := _by_name(own, name):
        return [found]
    names = ", ".join([*(table.name for table in own), DECISIONS])
    raise click.UsageError(f"{case.name} has no table {name!r}; its tables are: {names}")


def _decisions(case: Case, solution: mdpdice.Solution) -> mdpdice.Table:
    """Every decision with what the policy does; with a horizon, when all of it is left."""
    rows = []
    if solution.horizon != 0:
        found = solution.decisions()
        for state, action, value in zip(found.states, found.actions, found.values.tolist(), strict=True):
            rows.append((case.look.show_state(state), case.look.words(state, action), json_number(value)))
    return mdpdice.Table(
        DECISIONS, "what to do in every state in which somebody decides", ("state", "action", "value"), rows
    )


def _shown(table: mdpdice.Table) -> list[str]:
    lines = table.text()
    if table.lines or len(table.rows) <= SHOWN:
        return lines
    # The title and the names of the columns come first.
    more = len(table.rows) - SHOWN
    return [*lines[: SHOWN + 2], f"... and {more:,} more rows: --csv and --json print all of them"]
