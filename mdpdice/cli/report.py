"""``mdpdice report``: what was asked, found and checked, as one page to print or to pass on."""

from __future__ import annotations

import base64
import datetime as dt
import shlex
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from typing import Any

import click

import mdpdice
from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, game_command
from mdpdice.cli.options import NewFile, objective_options, question_options, solver_option
from mdpdice.cli.text import short
from mdpdice.cli.values import meaning, value_data, value_rows, work_rows
from mdpdice.errors import MdpDiceError, MissingPackageError

__all__ = ["report"]

CROSS_CHECKED = 400_000
"""Edges up to which a report compares back-ends: more take minutes."""
SPREAD = 3_000_000
"""States up to which a report sends the distribution of totals forward."""
LISTED = 40
"""Rows of a table that a report prints."""


@game_command()
@question_options
@objective_options
@click.option(
    "--to", "path", metavar="FILE", type=NewFile(), required=True, help="The page to write, ending in .html."
)
@solver_option
def report(case: Case, path: str, solver: str) -> Answer:
    """Write a page about a game: value, cross-check, strategy, pictures, totals, doubts, and how to repeat it.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"--to {path}: write a file that ends in .html")
    case.refuse_infinite("there is no strategy to report")
    from mdpdice.archives import replaced
    from mdpdice.html import document
    from mdpdice.policies.cards import STYLE

    solution = case.solve(solver)
    data = {**case.data(), **value_data(solution), "file": path, "notes": case.notes(solution)}
    name = case.name.rpartition(":")[2]
    title = f"{name[:1].upper()}{name[1:]}: {meaning(case, solution, solution.start)}"
    body = [f"<h1>{escape(title)}</h1>"]
    parts: dict[str, Callable[[], Iterable[str]]] = {
        "What was asked": lambda: [_rows(case.rows())],
        "The answer": lambda: [
            _rows([*value_rows(data), *work_rows(data)]),
            *_paragraphs(case.look.summary(solution)),
        ],
        "Cross-check": lambda: _cross_check(case, solution),
        "Strategy": lambda: _strategy(case, solution),
        "Pictures": lambda: _pictures(case, solution),
        "How the total of a play is spread": lambda: _totals(case, solution),
        "What could be wrong": lambda: [
            f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in _doubts(data))}</ul>"
        ],
        "How to cite": lambda: _paragraphs([_citation(case, solution)]),
        "The commands that made it": lambda: [_commands(case, path)],
    }
    for heading, part in parts.items():
        body += [f"<section><h2>{heading}</h2>", *part(), "</section>"]
    with replaced(Path(path)) as file:
        file.write(document(title, STYLE, "\n".join(body)).encode())
    return Answer(data, [f"{path}: {title}"], solution.proved)


def _rows(rows: Iterable[tuple[str, str]]) -> str:
    return (
        "<table>"
        + "".join(f"<tr><th>{escape(one)}</th><td>{escape(two)}</td></tr>" for one, two in rows)
        + "</table>"
    )


def _paragraphs(lines: Iterable[str]) -> list[str]:
    told = list(lines)
    return (
        [f"<pre>{escape(chr(10).join(told))}</pre>"]
        if len(told) > 2
        else [f"<p>{escape(line)}</p>" for line in told]
    )


def _cross_check(case: Case, solution: mdpdice.Solution) -> Iterable[str]:
    if solution.lattice is not None or solution.n_edges > CROSS_CHECKED:
        why = f"Left out: with {solution.n_edges:,} edges it takes long. mdpdice crosscheck makes it."
        return _paragraphs([why if solution.lattice is None else "Left out: other back-ends need a network."])
    question = solution.network if case.objective is None else case.game
    horizon = None if case.objective is None else case.horizon
    try:
        found = mdpdice.cross_check(
            question, case.objective, horizon=horizon, epsilon=case.epsilon, progress=case.progress
        )
    except MdpDiceError as error:
        return _paragraphs([f"Left out: {error}."])
    return [found._repr_html_()]  # noqa: SLF001 - as a notebook shows it


def _strategy(case: Case, solution: mdpdice.Solution) -> Iterable[str]:
    from mdpdice.policies.cards import decision_table, html_table

    tables = case.look.tables(solution) if solution.proved and case.objective is None else []
    if not tables and solution.lattice is None:
        tables = [decision_table(solution, case.look)]
    elif not tables:
        return _paragraphs(
            ["Left out: there are too many states for a list; mdpdice advise answers for each."]
        )
    for table in tables:
        more = max(len(table.rows), len(table.lines)) - LISTED
        cut = mdpdice.Table(table.name, table.title, table.columns, table.rows[:LISTED], table.lines[:LISTED])
        yield html_table(cut).replace("h2>", "h3>")
        if more > 0:
            yield f"<p>{more:,} more rows are in mdpdice policy --table {escape(table.name)} --csv.</p>"


def _pictures(case: Case, solution: mdpdice.Solution) -> Iterable[str]:
    """Whatever can be drawn without being asked for more."""
    try:
        from mdpdice import plots
    except MissingPackageError as error:
        return _paragraphs([f"Left out: {error}."])
    from mdpdice.plots.coordinates import coordinate_names

    drawn = []
    if case.objective is None and case.horizon is None and (found := case.look.thresholds()):
        drawn.append(("thresholds", lambda: plots.threshold_bars(found)))
    if solution.lattice is None and solution.n_states <= 300_000:
        names = coordinate_names(solution.network)[:2]
        if names:
            drawn.append(("what to do", lambda: plots.policy_map(solution, *names)))
        if len(names) == 2:
            drawn.append(("values", lambda: plots.value_map(solution, *names)))
        elif names:
            drawn.append(("values", lambda: plots.value_curve(solution, *names, actions=True)))
        if solution.network.n_nodes <= 30:
            drawn.append(("the network", lambda: plots.draw_network(solution.network, solution)))
    told = [figure for about, draw in drawn if (figure := _figure(about, draw))]
    return told or _paragraphs(
        ["Left out: states have no numbers to draw over, or there are too many. See mdpdice plot."]
    )


def _figure(about: str, draw: Callable[[], Any]) -> str:
    from mdpdice.plots.canvas import picture_bytes

    try:
        picture = base64.b64encode(picture_bytes(draw(), ".svg")).decode()
    except MdpDiceError:  # states that share a point, and the like: it is one picture less
        return ""
    image = f'<img alt="{about}" src="data:image/svg+xml;base64,{picture}">'
    return f"<figure>{image}<figcaption>{about}</figcaption></figure>"


def _totals(case: Case, solution: mdpdice.Solution) -> Iterable[str]:
    if case.objective is not None or solution.n_states > SPREAD:
        return _paragraphs(
            ["Left out: it takes long here, or totals are not what counts; mdpdice evaluate tells more."]
        )
    import numpy as np

    model: Any = solution.lattice or solution.network
    try:
        if model.averaged and case.horizon is None:
            model = case.game  # rewards that differ have to stay apart
        spread = mdpdice.outcomes(model, solution.policy)
    except MdpDiceError as error:
        return _paragraphs([f"Left out: {error}."])
    rows = [("mean", short(spread.mean)), ("standard deviation", short(spread.sd))]
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    rows += [(f"{100 * at:g} % of plays have at most", short(spread.quantile(at))) for at in levels]
    try:
        ax = mdpdice.plots.outcome_chart(spread)
        ax.set_xlim(right=spread.quantile(0.999) + 0.02 * float(np.ptp(ax.get_xlim())))  # no long empty tail
        return [_rows(rows), _figure("totals", lambda: ax)]
    except MissingPackageError:
        return [_rows(rows)]


def _doubts(data: dict[str, Any]) -> Iterable[str]:
    proved = data["value"] is not None
    yield "The rules: what is proved is about the game as it is declared. Compare it with the rules that you play by."
    if proved:
        yield (
            "The proof: the interval follows from the Bellman inequalities, checked with rounding in mind by code that "
            "shares nothing with the solver. A fault in this checker, in numpy or in the machine would not be noticed."
        )
        yield "Ties: where two actions are equally good within the interval, the table names the first."
    else:
        yield f"The answer is not proved: {data['reason'] or data['status']}."
    yield "The cross-check compares methods on one model: it finds faults of solvers, and none of the declaration."
    yield from data["notes"]


def _citation(case: Case, solution: mdpdice.Solution) -> str:
    asked = " ".join(case.pairs) or "default parameters"
    return (
        f"mdpdice {mdpdice.__version__}, game {case.name} ({asked}), objective {case.objective_text}: "
        f"{short(solution.estimate())} in [{short(solution.lower())}, {short(solution.upper())}], "
        f"{solution.status.value} by {solution.solver}; model {solution.digest[:16]}; {dt.date.today():%d %B %Y}."  # noqa: DTZ011
    )


def _commands(case: Case, path: str) -> str:
    asked = [case.name, *(word for pair in case.pairs for word in ("-p", pair))]
    asked += ["--horizon", str(case.horizon)] if case.horizon is not None else []
    asked += ["--objective", case.objective_text] if case.objective is not None else []
    words = shlex.join(asked)
    lines = [
        f"mdpdice {command} {words}" for command in ("solve", "crosscheck", "policy", "evaluate", "report")
    ]
    return f"<pre>{escape(chr(10).join(lines))} --to {escape(shlex.quote(path))}</pre>"
