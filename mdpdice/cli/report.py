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
from mdpdice.cli.options import objective_options, solver_option, to_option
from mdpdice.cli.text import short
from mdpdice.cli.values import meaning, value_data, value_rows, work_rows
from mdpdice.errors import MdpDiceError, UnsupportedError
from mdpdice.spelling import title

CROSS_CHECKED = 400_000
"""Edges up to which a report compares solvers: more take minutes."""
SPREAD = 3_000_000
"""States up to which a report computes how the total is spread."""
LISTED = 40
"""Rows of a table that a report prints."""
DOUBTS = (
    "The rules: what is proved is about the game as it is declared. Compare it with the rules that you play by.",
    "The proof: the interval follows from inequalities that code which shares nothing with the solver checked.",
    "The machine: nobody would notice a fault in that checker, in numpy or in the processor.",
    "Ties: where two actions are equally good within the interval, tables name the first.",
    "The cross-check compares methods on one model: it finds faults of solvers, and none of the declaration.",
)


@game_command()
@objective_options
@to_option("The page to write, ending in .html.", required=True)
@solver_option
def report(case: Case, path: str, solver: str) -> Answer:
    """Write a page about a game: value, cross-check, strategy, pictures, totals, doubts, and how to repeat it.

    Exit status: 0 proved, 1 not, 2 wrong usage.
    """
    if Path(path).suffix.lower() != ".html":
        raise click.UsageError(f"--to {path}: write a file that ends in .html")
    case.refuse_infinite("there is no strategy to report")
    from mdpdice.archives import replaced
    from mdpdice.html import document
    from mdpdice.policies.cards import STYLE

    solution, words = case.answer(solver), _question(case)
    data = {**case.data(), **value_data(solution), "file": path, "notes": case.notes(solution)}
    heading = f"{title(case.name)}: {meaning(case, solution, solution.start)}"
    told = case.look.summary(solution)
    told = told if len(told) < 3 or solution.lattice is not None else []  # long ones are tables, too
    doubts = [*DOUBTS, *data["notes"]]
    if not solution.proved:
        doubts[1:4] = [f"The answer is not proved: {solution.reason or solution.status.value}."]
    cited = (
        f"mdpdice {mdpdice.__version__}, {words}: {short(solution.estimate())} in [{short(solution.lower())}, "
        f"{short(solution.upper())}], {solution.status.value} by {solution.solver}; model {solution.digest[:16]}; "
        f"{dt.datetime.now(tz=dt.UTC):%d %B %Y}."
    )
    made = [f"mdpdice {one} {words}" for one in ("solve", "crosscheck", "policy", "evaluate", "report")]
    parts: dict[str, Callable[[], Iterable[str]]] = {
        "What was asked": lambda: [_rows(case.rows())],
        "The answer": lambda: [
            _rows([*value_rows(data), *work_rows(data)]), *_told(*told)
        ],
        "Cross-check": lambda: _cross_check(case, solution),
        "Strategy": lambda: _strategy(case, solution),
        "Pictures": lambda: _pictures(case, solution),
        "How the total of a play is spread": lambda: _totals(case, solution),
        "What could be wrong": lambda: ["<ul>", *(f"<li>{escape(one)}</li>" for one in doubts), "</ul>"],
        "How to cite": lambda: _told(cited),
        "The commands that made it": lambda: _told(*made[:-1], f"{made[-1]} --to {shlex.quote(path)}"),
    }  # fmt: skip
    body = [f"<h1>{escape(heading)}</h1>"]
    for about, part in parts.items():
        try:
            found = [*part()]
        except MdpDiceError as error:
            found = _told(f"Left out: {error.message}.")
        body += [f"<section><h2>{about}</h2>", *found, "</section>"]
    with replaced(Path(path)) as file:
        file.write(document(heading, STYLE, "\n".join(body)).encode())
    return Answer(data, [f"{path}: {heading}"], solution.proved)


def _question(case: Case) -> str:
    """Return the game and what is asked of it, as words of a command."""
    asked = [case.name, *(word for pair in case.pairs for word in ("-p", pair))]
    asked += [] if case.horizon is None else ["--horizon", str(case.horizon)]
    return shlex.join([*asked, *([] if case.objective is None else ["--objective", case.objective_text])])


def _rows(rows: Iterable[tuple[str, str]]) -> str:
    cells = (f"<tr><th>{escape(one)}</th><td>{escape(two)}</td></tr>" for one, two in rows)
    return f"<table>{''.join(cells)}</table>"


def _told(*lines: str) -> list[str]:
    """Paragraphs; more than two lines belong below each other."""
    text = escape("\n".join(lines))
    return [f"<pre>{text}</pre>"] if len(lines) > 2 else [f"<p>{line}</p>" for line in text.split("\n") if line]


def _cross_check(case: Case, solution: mdpdice.Solution) -> Iterable[str]:
    if solution.lattice is not None:
        return _told("Left out: other solvers need a network.")
    if solution.n_edges > CROSS_CHECKED:
        return _told(f"Left out: it takes long with {solution.n_edges:,} edges.")
    question = (solution.network, None) if case.objective is None else (case.game, case.objective)
    horizon = None if case.objective is None else case.horizon
    return [mdpdice.cross_check(*question, horizon=horizon, epsilon=case.epsilon, progress=case.progress)._repr_html_()]


def _strategy(case: Case, solution: mdpdice.Solution) -> Iterable[str]:
    from mdpdice.policies.cards import decision_table, html_table

    try:
        tables = case.look.tables(solution) if solution.proved and case.objective is None else []
    except UnsupportedError:  # they list states, and there is no network
        tables = []
    if not tables and solution.lattice is not None:
        yield from _told("Left out: there are too many states for a list; mdpdice policy and mdpdice advise tell more.")
    for table in tables or ([decision_table(solution, case.look)] if solution.lattice is None else []):
        cut = mdpdice.Table(table.name, table.title, table.columns, table.rows[:LISTED], table.lines[: LISTED + 2])
        yield html_table(cut).replace("h2>", "h3>")
        if not table.lines and (left := len(table.rows) - LISTED) > 0:
            yield from _told(f"{left:,} more: mdpdice policy {case.name} --table {table.name} --csv")


def _pictures(case: Case, solution: mdpdice.Solution) -> Iterable[str]:
    """Whatever can be drawn without being asked for more."""
    from mdpdice import plots
    from mdpdice.plots.coordinates import coordinate_names

    drawn: dict[str, Callable[[], Any]] = {}
    if case.objective is None and case.horizon is None and (found := case.look.thresholds()):
        drawn["thresholds"] = lambda: plots.threshold_bars(found)
    if solution.lattice is None and solution.n_states <= 300_000:
        if len(names := coordinate_names(solution.network)[:2]) == 2:
            drawn["values"] = lambda: plots.value_map(solution, *names)
        elif names:
            drawn["values"] = lambda: plots.value_curve(solution, *names, actions=True)
        drawn["what to do"] = lambda: plots.policy_map(solution, *names)
        if solution.network.n_nodes <= 30:
            drawn["the network"] = lambda: plots.draw_network(solution.network, solution)
    figures = {about: _figure(about, draw) for about, draw in drawn.items()}
    if not figures.get("values"):  # the states share points, so actions would, too
        figures.pop("what to do", None)
    return list(filter(None, figures.values())) or _told(
        "Left out: states have no numbers to draw over, or there are too many; see mdpdice plot."
    )


def _figure(about: str, draw: Callable[[], Any]) -> str:
    from mdpdice.plots.canvas import picture_bytes

    try:
        picture = base64.b64encode(picture_bytes(draw(), ".svg")).decode()
    except MdpDiceError:  # several states share a point, and the like: it is one picture less
        return ""
    image = f'<img alt="{about}" src="data:image/svg+xml;base64,{picture}">'
    return f"<figure>{image}<figcaption>{about}</figcaption></figure>"


def _totals(case: Case, solution: mdpdice.Solution) -> Iterable[str]:
    if case.objective is not None or solution.n_states > SPREAD:
        yield from _told("Left out: it takes long here, or totals are not what counts; see mdpdice evaluate.")
        return
    model: Any = solution.lattice or solution.network
    if model.averaged and case.horizon is None:
        model = case.game  # rewards that differ have to stay apart
    spread = mdpdice.outcomes(model, solution.policy)
    rows = [("mean", short(spread.mean)), ("standard deviation", short(spread.sd))]
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    rows += [(f"{100 * at:g} % of plays have at most", short(spread.quantile(at))) for at in levels]
    yield _rows(rows)
    from mdpdice.plots import outcome_chart

    ax = outcome_chart(spread)
    left, right = ax.get_xlim()
    ax.set_xlim(right=min(right, spread.quantile(0.999) + 0.05 * (right - left)))  # no long empty tail
    yield _figure("totals", lambda: ax)
