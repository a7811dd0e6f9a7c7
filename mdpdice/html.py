"""Small HTML tables for notebooks, in which everything is escaped, and the frame of a page."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

LONGEST = 300
"""Longest text of a cell that is shown in full."""


def card(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """Return a table of labels and texts, with a caption; rows whose text is empty or None are left out."""
    body = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(label)}</th>'
        f'<td style="text-align:left">{_escaped(str(text))}</td></tr>'
        for label, text in rows
        if text not in ("", None)
    )
    return f"<table>{_caption(title)}<tbody>{body}</tbody></table>"


def grid(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table with named columns; numbers stand to the right."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table>{_caption(title)}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def document(title: str, style: str, body: str) -> str:
    """Return a page that stands alone; `body` is HTML already."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n<body><main>{body}</main></body>\n</html>\n"
    )


def bars(title: str, rows: Sequence[tuple[object, float]], more: int = 0) -> str:
    """Return a chart of chances by what they are of; `more` are not shown."""
    most = max((chance for _, chance in rows), default=0.0) or 1.0
    body = "".join(
        f'<tr><th scope="row" style="text-align:right">{_escaped(str(label))}</th><td style="text-align:left">'
        f'<div style="display:inline-block;background:#0072B2;height:.8em;width:{14 * chance / most:.3f}em"></div> '
        f"{chance:.4g}</td></tr>"
        for label, chance in rows
    )
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    return f"<table>{_caption(title)}<tbody>{body}</tbody></table>{rest}"


class CellProgress:
    """Tell in a cell of a notebook how far something is: ``solve(game, progress=CellProgress())``."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._next = 0.0

    def __call__(self, phase: str, numbers: Mapping[str, float]) -> None:
        """Show the latest numbers, at most four times a second."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + 0.25
        from IPython import display

        cells: Any = display
        told = ", ".join(f"{name} {number:,.6g}" for name, number in numbers.items())
        shown = cells.HTML(f"<p>{escape(phase)}: {escape(told)}</p>")
        if self._handle is None:
            self._handle = cells.display(shown, display_id=True)
        else:
            self._handle.update(shown)


def remarks(lines: Iterable[str]) -> str:
    """Return a list of remarks; nothing if there are none."""
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
