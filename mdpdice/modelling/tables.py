"""Tables and thresholds that tell a strategy: rows for a program, and lines for people.

A game gives them in `mdpdice.looks.Look.tables` and `mdpdice.looks.Look.thresholds`; the commands
``mdpdice policy`` and ``mdpdice thresholds`` print and export them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

import attrs

from mdpdice.errors import GameError


def _texts(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(texts)


def _numbers(numbers: Iterable[int]) -> tuple[int, ...]:
    return tuple(numbers)


def _rows(rows: Iterable[Iterable[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in rows)


@attrs.frozen
class Table:
    """A table with named columns.

    Parameters
    ----------
    name : str
        What it is asked for by, such as ``stop-or-roll``.
    title : str
        What it tells, in a line.
    columns : sequence of str
        Names of the columns.
    rows : iterable of sequences
        Numbers, texts or None, one for every column.
    lines : sequence of str
        The table for people; without any the columns are lined up.

    Raises
    ------
    GameError
        A row has not as many entries as there are columns.

    Examples
    --------
    >>> from mdpdice import Table
    >>> print(Table("hold", "hold from here on", ("dice", "points"), [(1, 250), (2, 200)]).csv(), end="")
    dice,points
    1,250
    2,200
    """

    name: str
    title: str
    columns: tuple[str, ...] = attrs.field(converter=_texts)
    rows: tuple[tuple[Any, ...], ...] = attrs.field(converter=_rows)
    lines: tuple[str, ...] = attrs.field(default=(), converter=_texts)

    def __attrs_post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                msg = f"table {self.name!r} has {len(self.columns)} columns, and the row {row!r} has {len(row)} entries"
                raise GameError(msg, value=row, limit=len(self.columns))

    def csv(self) -> str:
        """Comma-separated values, after a line with the names of the columns; None is empty."""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return written.getvalue()

    def data(self) -> list[dict[str, Any]]:
        """Return the rows as JSON objects."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def json(self) -> str:
        """Return a JSON list with one object per row."""
        return json.dumps(self.data(), indent=1) + "\n"

    def text(self) -> list[str]:
        """Lines for people."""
        if self.lines:
            return list(self.lines)
        cells = [self.columns, *(tuple(map(_cell, row)) for row in self.rows)]
        columns = zip(*self.rows, strict=True) if self.rows else [("",)] * len(self.columns)
        flush = [">" if all(isinstance(one, int | float | None) for one in column) else "<" for column in columns]
        forms = [f"{side}{max(map(len, column))}" for side, column in zip(flush, zip(*cells, strict=True), strict=True)]
        return [self.title, *("  ".join(map(format, row, forms)).rstrip() for row in cells)]


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


@attrs.frozen
class Thresholds:
    """A policy that consists of a few numbers: stop from N points on.

    Parameters
    ----------
    rule : str
        Which one it is, such as ``optimal`` or ``best monotone found``.
    policy : str
        Its name for `mdpdice.looks.Look.policy`, such as ``threshold:250,200``.
    vector : sequence of int
        The thresholds.
    value : float
        Its exact value, in payoff units, up to rounding.
    tried : int
        Vectors that were evaluated to find it; 0 if it was not searched for.
    bound : float or None
        No vector of the kind that was searched for is worth more, if that was proved.
    """

    rule: str
    policy: str
    vector: tuple[int, ...] = attrs.field(converter=_numbers)
    value: float
    tried: int = 0
    bound: float | None = None
