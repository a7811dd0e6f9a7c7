"""Networks, solutions and reports in notebooks: small HTML tables, in which everything is escaped.

Also what a state holds, by name, which tables and pictures show in columns and along axes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from html import escape
from typing import Any

import attrs

from mdpdice.grid import At

__all__ = ["ITSELF", "card", "fields_of", "grid", "remarks"]

LONGEST = 300
"""Longest text of a cell that is shown in full."""
ITSELF = "state"
"""Name of a state that has no parts."""


def fields_of(state: Hashable) -> dict[str, Any]:
    """What a state holds, by name: its counters, and its fields or those of its core state.

    A state or core state that has no fields is `ITSELF`.
    """
    core: Any = state.state if isinstance(state, At) else state
    kind: Any = type(core)
    found: dict[str, Any] = {}
    if attrs.has(kind):
        found = {field.name: getattr(core, field.name) for field in attrs.fields(kind)}
    elif dataclasses.is_dataclass(core):
        found = {field.name: getattr(core, field.name) for field in dataclasses.fields(core)}
    elif isinstance(core, tuple):
        names = getattr(core, "_fields", map(str, range(len(core))))
        found = dict(zip(names, core, strict=True))
    if not found:
        found = {ITSELF: core}
    if isinstance(state, At):
        # A core state without parts comes after the counters, which say more.
        found = {
            **{name: value for name, value in found.items() if name != ITSELF},
            **state.counters,
            **found,
        }
    return found


def card(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A table of labels and texts, with a caption; rows whose text is empty or None are left out."""
    body = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(label)}</th>'
        f'<td style="text-align:left">{_escaped(str(text))}</td></tr>'
        for label, text in rows
        if text not in ("", None)
    )
    return f"<table>{_caption(title)}<tbody>{body}</tbody></table>"


def grid(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with named columns; numbers stand to the right."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table>{_caption(title)}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def remarks(lines: Iterable[str]) -> str:
    """A list of remarks; nothing if there are none."""
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def _caption(title: str) -> str:
    return f'<caption style="text-align:left">{escape(title)}</caption>'


def _cell(value: object) -> str:
    number = isinstance(value, int | float)
    text = f"{value:.12g}" if isinstance(value, float) else str(value)
    return f'<td style="text-align:{"right" if number else "left"}">{_escaped(text)}</td>'


def _escaped(text: str) -> str:
    return escape(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")
