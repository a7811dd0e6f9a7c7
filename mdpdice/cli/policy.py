"""``mdpdice policy``: the tables of the optimal policy, for people, as JSON and as CSV."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click

import mdpdice
from mdpdice.cli.case import Case, solver_of
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.limits import most_states
from mdpdice.cli.options import NewFile, objective_options, solver_option, to_option
from mdpdice.cli.plot import read_where, where_option
from mdpdice.cli.routes import compiled
from mdpdice.cli.text import aligned, short
from mdpdice.cli.values import after, value_data, value_rows
from mdpdice.errors import StateLimitError
from mdpdice.spelling import title

DECISIONS = "decisions"
FORMS = (".txt", ".csv", ".md", ".html", ".svg", ".pdf", ".png")
DRAWN = 200
"""Rows up to which a card is drawn."""
SHOWN = 40
"""Rows of the table of all decisions that are shown to people."""
MORE = "... and {:,} more rows: --csv and --json print all of them"


@game_command()
@objective_options
@click.option("--table", metavar="TABLE", help="One table: one of the game's, or decisions for all decisions.")
@click.option("--rows", metavar="NAME", help="A card of the decisions: the counter or field for the rows.")
@click.option("--cols", metavar="NAME", help="The counter or field for the columns.")
@where_option("Take only states where a counter or field has this value; may be repeated.")
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values, of one table.")
@to_option(f"Write a card that can be printed: {', '.join(FORMS)}.")
@click.option("--save", metavar="FILE", type=NewFile(), help="Write the policy to a file, too.")
@solver_option
def policy(case: Case, **options: Any) -> Answer:
    """Print the optimal policy as tables, in the words of the game.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    asked = SimpleNamespace(**options)
    asked.form = Path(asked.path or "").suffix.lower()
    if asked.path and asked.form not in FORMS:
        raise click.UsageError(f"--to {asked.path}: write a file that ends in {', '.join(FORMS)}")
    asked.as_csv |= asked.form == ".csv"
    if asked.as_csv and case.as_json:
        raise click.UsageError("choose one of --csv and --json")
    if asked.cols and not asked.rows:
        raise click.UsageError("--cols goes with --rows")
    asked.where = read_where(asked.conditions)
    if asked.rows or asked.where:
        if asked.table not in (None, DECISIONS):
            raise click.UsageError("--rows and --where are about decisions, and take no --table")
        asked.table = DECISIONS
    # People see the first of all decisions; to word the others would take most of the time.
    asked.first = None if case.as_json or asked.as_csv or asked.path else SHOWN
    if asked.save is None and (found := _by_name(_of_rules(case, asked.table), asked.table)):
        data = {**case.data(), "tables": [_data(found)], "notes": case.notes()}
        return _answer(case, asked, data, [found], case.rows(), ok=True)
    case.refuse_infinite("every way to get there is as good as any other")

    def told() -> dict[str, Any]:
        solution = case.answer(
            asked.solver,
            lambda: case.solve(asked.solver, _written_out(case, asked)),
            network=_wants_network(case, asked),
        )
        tables = [] if _saves_only(asked) and solution.lattice is not None else _tables(case, solution, asked)
        if asked.save is not None:
            (solution if solution.lattice is not None else solution.policy).save(asked.save)
        return {**value_data(solution), "tables": tables, "notes": case.notes(solution)}

    question = {key: getattr(asked, key) for key in ("table", "rows", "cols", "where", "as_csv", "first", "solver")}
    try:
        data = told() if asked.save else case.findings(told, **question)
    except StateLimitError as error:
        if names := ", ".join(one.name for one in _of_rules(case)):
            error.message += f"; without a solution there are the tables: {names}"
        raise
    tables, proved = data["tables"], data["value"] is not None
    data = {**case.data(), **data, "tables": [_data(one) for one in tables]}
    return _answer(case, asked, data, tables, [*case.rows(), *value_rows(data)], ok=proved)


def _answer(
    case: Case,
    asked: SimpleNamespace,
    data: dict[str, Any],
    tables: list[mdpdice.Table],
    rows: list[tuple[str, str]],
    *,
    ok: bool,
) -> Answer:
    """Return the tables as they are wanted: printed, or written to a file."""
    if asked.path:
        told = [f"note: {note}" for note in case.notes()]
        if "value" in data:
            known = short(data["value"]) if ok else f"about {short(data['estimate'])}, which is not proved"
            told.insert(0, f"Optimal play is worth {known}. Solved with mdpdice {mdpdice.__version__}.")
        _write(asked, tables, " ".join([title(case.name), *case.pairs]), told)
        return Answer({**data, "file": asked.path}, [f"{asked.path}: {tables[0].title}"], ok)
    if asked.as_csv:
        return Answer(data, [tables[0].csv().removesuffix("\n")], ok)
    lines = [aligned(rows)]
    for one in tables:
        lines += ["", *_shown(one)]
    return Answer(data, [*lines, *after(data)], ok)


def _write(asked: SimpleNamespace, tables: list[mdpdice.Table], title: str, about: list[str]) -> None:
    """Write a card in the form that its ending says."""
    from mdpdice.archives import replaced
    from mdpdice.policies.cards import html_page, markdown

    if asked.form in (".svg", ".pdf", ".png"):
        if sum(len(one.lines or one.rows) for one in tables) > DRAWN:
            raise click.UsageError(f"a card has at most {DRAWN} rows: add --rows and --cols, or write .csv or .html")
        from mdpdice import plots

        plots.save_picture(plots.draw_card(tables, title=title, about=about), asked.path)
        return
    made: dict[str, Callable[[], str]] = {
        ".csv": tables[0].csv,
        ".md": lambda: markdown(tables, title, about),
        ".html": lambda: html_page(tables, title, about),
        ".txt": lambda: "\n".join([title, *about, *(line for one in tables for line in ("", *one.text()))]) + "\n",
    }
    with replaced(Path(asked.path)) as file:
        file.write(made[asked.form]().encode())


def _written_out(case: Case, asked: SimpleNamespace) -> mdpdice.Network | None:
    """Return the network of a game that `solve` keeps on its lattice, for lists of all decisions; else None."""
    if solver_of(asked.solver) != "auto" or not _wants_network(case, asked):
        return None
    lattice, layers = compiled(case, case.objective)
    if lattice is None:
        return None
    if layers is None:
        return mdpdice.explore(case.game, progress=case.progress, lattice=lattice, max_states=most_states())
    if _lists_all(case, asked) and not _saves_only(asked):
        raise _too_many(case, layers.states)
    return None


def _wants_network(case: Case, asked: SimpleNamespace) -> bool:
    return asked.save is not None or _lists_all(case, asked)


def _lists_all(case: Case, asked: SimpleNamespace) -> bool:
    """Whether all decisions are to be listed, as they are where the game has no tables of its own of an answer."""
    from mdpdice.looks import Look

    own = type(case.look).tables is not Look.tables and case.horizon is None
    listed = asked.table == DECISIONS or case.objective is not None or not own
    return listed and not (asked.rows or asked.where)


def _saves_only(asked: SimpleNamespace) -> bool:
    return asked.save is not None and not (asked.table or asked.as_csv or asked.path)


def _too_many(case: Case, states: int) -> click.UsageError:
    names = ", ".join(one.name for one in _of_rules(case))
    listed = f"its tables are: {names}; " if names else ""
    how = "ask advise about one of them, keep all values with --save FILE alone, or choose some with --where NAME=VALUE"
    return click.UsageError(f"this game has {states:,} states, too many for a table of decisions; {listed}{how}")


def _of_rules(case: Case, name: str | None = "") -> list[mdpdice.Table]:
    """Return the tables that need no solution."""
    asked = name not in (None, DECISIONS) and case.horizon is None and case.objective is None
    return case.look.tables(None) if asked else []


def _by_name(tables: list[mdpdice.Table], name: str | None) -> mdpdice.Table | None:
    return next((one for one in tables if one.name == name), None)


def _data(table: mdpdice.Table) -> dict[str, Any]:
    return {"name": table.name, "title": table.title, "rows": table.data()}


def _tables(case: Case, solution: mdpdice.Solution, asked: SimpleNamespace) -> list[mdpdice.Table]:
    from mdpdice.policies.cards import decision_table, pivot
    from mdpdice.solving.lattice_route import FALL_BACK_UP_TO_EDGES

    name, look, whole = asked.table, case.look, solution
    if solution.lattice is not None and solution.n_edges <= FALL_BACK_UP_TO_EDGES:
        # Tables of a game may list states.
        whole = solution.excerpt(max_states=most_states())
    # The tables of a game are about its total.
    own = look.tables(whole) if solution.proved and name != DECISIONS and case.objective is None else []
    if name is None and own:
        return own
    if name in (None, DECISIONS):
        if solution.lattice is not None and not (asked.rows or asked.where):
            raise _too_many(case, solution.n_states)
        if asked.rows and not asked.as_csv:
            return [pivot(solution, look, asked.rows, asked.cols, asked.where)]
        return [decision_table(solution, look, asked.where, fields=asked.as_csv, first=asked.first, more=MORE)]
    own = [*_of_rules(case), *own]
    if found := _by_name(own, name):
        return [found]
    names = ", ".join([*(table.name for table in own), DECISIONS])
    raise click.UsageError(f"{case.name} has no table {name!r}; its tables are: {names}")


def _shown(table: mdpdice.Table) -> list[str]:
    lines = table.text()
    if table.lines or len(table.rows) <= SHOWN:
        return lines
    # The title and the names of the columns come first.
    return [*lines[: SHOWN + 2], MORE.format(len(table.rows) - SHOWN)]
