"""Strategies to pin to a wall: decisions by the fields of their states, and tables as text, Markdown and HTML."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from html import escape
from typing import Any

import attrs

from mdpdice.answers.solution import Solution
from mdpdice.errors import GameError
from mdpdice.html import document
from mdpdice.looks.look import Look
from mdpdice.looks.text import phrase
from mdpdice.modelling.tables import Table
from mdpdice.modelling.text import ITSELF, fields_of

Where = Mapping[str, Any] | None
_PLAIN = (int, float, Fraction, str, enum.Enum, tuple, frozenset, type(None))
_TINTS = ("#CFE6F5", "#FBE3B8", "#BFE8DC", "#F2DCE8", "#F7D6C2", "#FAF6BF", "#E4E4E4")
STYLE = """
:root { color-scheme: light; } @page { size: A4; margin: 14mm; }
body { font: 11pt/1.4 system-ui, sans-serif; color: #222; max-width: 46rem; margin: auto; padding: .5rem; }
h1 { font-size: 1.6rem; margin: 0 0 .2rem; } h2 { font-size: 1.1rem; margin: 1.4rem 0 .3rem; break-after: avoid; }
h3 { font-size: .95rem; margin: .8rem 0 .3rem; break-after: avoid; }
table { border-collapse: collapse; max-width: 100%; font-variant-numeric: tabular-nums; font-size: .9rem; }
thead { display: table-header-group; } tr, figure, pre { break-inside: avoid; }
th, td { border: 1px solid #bbb; padding: .12rem .5rem; text-align: left; overflow-wrap: break-word; }
td { print-color-adjust: exact; }
th { background: #eee; font-weight: 600; } .number { text-align: right; } .card td { text-align: center; }
pre { font-size: .72rem; line-height: 1.35; overflow-x: auto; } footer, .about { color: #555; font-size: .85rem; }
figure { margin: .5rem 0; } figure svg, figure img { max-width: 100%; height: auto; }
"""


def decision_table(
    solution: Solution,
    look: Look[Any],
    where: Where = None,
    *,
    fields: bool = False,
    first: int | None = None,
    more: str = "... and {:,} more rows",
) -> Table:
    """Every decision, what is done there and its value, with `fields` a column for each field and counter too.

    With a horizon: what is done when all of it is left.  At most `first` rows are there, and the lines for people say
    how many more there would be.
    """
    found = list(_decided(solution, where, fields=fields))
    left = 0 if first is None else len(found) - first
    found = found[:first]
    names = [
        name
        for name in dict.fromkeys(name for *_, known in found for name in known)
        if name != ITSELF and all(isinstance(known.get(name), _PLAIN) for *_, known in found)
    ] * fields
    columns = "state", "action", "value"
    rows = [
        (look.show_state(state), look.words(state, action), value, *(_told(known.get(name)) for name in names))
        for state, action, value, known in found
    ]
    named = (f"state.{name}" if name in columns else name for name in names)
    title = f"what to do in every state with a decision{_fixed(where)}"
    table = Table("decisions", title, (*columns, *named), rows)
    return table if left <= 0 else attrs.evolve(table, lines=[*table.text(), more.format(left)])


def pivot(solution: Solution, look: Look[Any], rows: str, cols: str | None = None, where: Where = None) -> Table:
    """Return what to do by one or two fields of the state, as a card.

    Parameters
    ----------
    solution : Solution
        The answer.
    look : Look
        Words of the game.
    rows, cols : str
        Counters or fields of the states, downwards and across.
    where : mapping of str to object, optional
        Values that other fields have.

    Returns
    -------
    Table
        Where the action depends on one more number alone, a cell says where it changes: ``hold 21+`` from 21
        on, ``hold 21-40`` from there to there.  Where it depends on more, all actions that are taken are named.

    Raises
    ------
    GameError
        No state has these fields, or there are none with `where`.
    """
    cells: dict[tuple[Any, Any], list[tuple[dict[str, Any], str]]] = {}
    for state, action, _, fields in _decided(solution, where):
        if rows in fields and (cols is None or cols in fields):
            told = action if isinstance(action, str) else look.words(state, action)
            cells.setdefault((fields[rows], fields.get(cols or "")), []).append((fields, told))
    if not cells:
        known = ", ".join(dict.fromkeys(name for *_, fields in _decided(solution, where) for name in fields))
        msg = f"no state has the fields {' and '.join(filter(None, (rows, cols)))}; the fields are {known}"
        raise GameError(msg, value=rows)
    down, across = (sorted({key[at] for key in cells}, key=_rank) for at in (0, 1))
    open_ = {rows, cols, *(where or ())}
    body = [[_told(one), *(_cell(cells.get((one, other), []), open_) for other in across)] for one in down]
    named = ("action",) if cols is None else tuple(str(_told(one)) for one in across)
    title = f"{rows} down{f', {cols} across' if cols else ''}{_fixed(where)}"
    title += "; 20+: from 20 on" * any(text.endswith("+") for row in body for text in row[1:])
    return Table("card", title, (rows if cols is None else f"{rows} \\ {cols}", *named), body)


def _decided(
    solution: Solution, where: Where, *, fields: bool = True
) -> Iterable[tuple[Any, Any, float, dict[str, Any]]]:
    """Yield the states with a decision, with action, value and, if they are wanted, fields."""
    if solution.horizon == 0:
        return
    found, wanted = solution.decisions(where if solution.lattice is not None else None), dict(where or {})
    seen = False
    for state, action, value in zip(found.states, found.actions, found.values.tolist(), strict=True):
        own = fields_of(state) if fields or wanted else {}
        if wanted.items() <= own.items():
            seen = True
            yield state, action, value, own
    if wanted and not seen:
        known = ", ".join(dict.fromkeys(name for state in found.states for name in fields_of(state)))
        raise GameError(f"no decision has{_fixed(where)[1:]}; the fields of states are {known}", value=wanted)


def _cell(found: Sequence[tuple[dict[str, Any], str]], known: set[str | None]) -> str:
    told = list(dict.fromkeys(text for _, text in found))
    if len(told) < 2:
        return "".join(told)
    values = {name: {str(fields.get(name)) for fields, _ in found} for name in found[0][0] if name not in known}
    free = [name for name, different in values.items() if len(different) > 1]
    if len(free) == 1 and all(type(fields[free[0]]) is int for fields, _ in found):
        line = sorted((fields[free[0]], text) for fields, text in found)
        change = [at for at in range(1, len(line)) if line[at][1] != line[at - 1][1]]
        if len(change) == 1:
            return f"{line[-1][1]} {line[change[0]][0]}+"
        if len(change) == 2 and line[0][1] == line[-1][1]:
            first, past = change
            return f"{line[first][1]} {line[first][0]}-{line[past - 1][0]}"
    return " / ".join(told)


def _fixed(where: Where) -> str:
    return "".join(f", {name}={_told(value)}" for name, value in (where or {}).items())


def _told(value: Any) -> Any:
    plain = isinstance(value, int | float | None) and not isinstance(value, bool)
    return value if plain else phrase(value)


def _rank(value: Any) -> tuple[Any, ...]:
    return (0, value, "") if isinstance(value, int | float) else (1, 0, str(value))


# --- forms -----------------------------------------------------------------------------------


def tints(table: Table) -> dict[str, str]:
    """Return a light colour for every action of a card, where there are few."""
    told = dict.fromkeys(one for row in table.rows for one in row[1:] if one)
    few = table.name == "card" and 1 < len(told) <= len(_TINTS)
    return dict(zip(told, _TINTS, strict=False)) if few else {}


def heads(table: Table) -> list[str]:
    """Names of columns for people, who need no underscores."""
    return [column.replace("_", " ") for column in table.columns]


def shown(value: Any) -> str:
    """Return a cell for people."""
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def markdown(tables: Iterable[Table], title: str, about: Sequence[str] = ()) -> str:
    """Tables as a page of Markdown."""
    found = [f"# {title}", *about]
    for table in tables:
        if table.lines:
            title, lines = table.lines[0].removesuffix(":"), ["```text", *table.lines[1:], "```"]
        else:
            rows = [heads(table), ["---"] * len(table.columns), *(map(shown, row) for row in table.rows)]
            title, lines = (table.title, [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows])
        found += [f"## {title}", "\n".join(lines)]
    return "\n\n".join(found) + "\n"


def html_table(table: Table) -> str:
    """Return a table with its title as a heading."""
    if table.lines:
        first, *lines = map(escape, table.lines)
        return f"<h2>{first.removesuffix(':')}</h2><pre>" + "\n".join(lines) + "</pre>"
    colours = tints(table)
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in heads(table))
    rows = []
    for row in table.rows:
        cells = []
        for value in row:
            style = f' style="background:{colours[value]}"' if value in colours else ""
            number = ' class="number"' * isinstance(value, int | float)
            cells.append(f"<td{number}{style}>{escape(shown(value))}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    kind, body = ' class="card"' * bool(colours), "\n".join(rows)
    whole = f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<h2>{escape(table.title)}</h2>{whole}"


def html_page(tables: Iterable[Table], title: str, about: Sequence[str] = ()) -> str:
    """Tables as a page that is made to be printed."""
    above = "".join(f'<p class="about">{escape(line)}</p>' for line in about)
    return document(title, STYLE, f"<h1>{escape(title)}</h1>{above}\n" + "\n".join(map(html_table, tables)))
