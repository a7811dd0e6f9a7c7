"""Cells of a map: where they are, and what their axes say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from mdpdice.plots.canvas import Frame, whole_ticks, write_texts
from mdpdice.plots.coordinates import Coordinate, axis_label

__all__ = ["Grid", "grid_of", "label_axes", "runs"]


class Grid(NamedTuple):
    """Cells of a map: their borders, and the cell of every point."""

    x: Any
    y: Any
    column: Any
    row: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.y) - 1, len(self.x) - 1


def grid_of(xs: Sequence[Any], ys: Sequence[Any]) -> Grid:
    """Cells for points with these coordinates."""
    borders_x, column = _cells(xs)
    borders_y, row = _cells(ys)
    return Grid(borders_x, borders_y, column, row)


def _cells(values: Sequence[Any]) -> tuple[Any, Any]:
    """Borders of equal cells on an axis, or of cells that meet halfway where there would be too many."""
    numbers = np.array([float(value) for value in values])
    known, place = np.unique(numbers, return_inverse=True)
    if len(known) == 1:
        return np.array([known[0] - 0.5, known[0] + 0.5]), place
    step = float(np.diff(known).min())
    if (known == np.round(known)).all():
        step = float(math.gcd(*(int(gap) for gap in np.diff(known))))
    count = round((known[-1] - known[0]) / step) + 1
    offset = (known - known[0]) / step
    if count <= 4 * len(known) + 100 and np.allclose(offset, np.round(offset), atol=1e-6):
        borders = known[0] + step * (np.arange(count + 1) - 0.5)
        return borders, np.round(offset).astype(np.int64)[place]
    middle = (known[1:] + known[:-1]) / 2
    return np.concatenate(([2 * known[0] - middle[0]], middle, [2 * known[-1] - middle[-1]])), place


def label_axes(ax: Axes, x: Coordinate, y: Coordinate | None, frame: Frame) -> None:
    """Write what the axes are, by default what the coordinates say, and the title."""
    whole_ticks(ax.xaxis)
    if y is None:
        ax.set_yticks([])
    else:
        whole_ticks(ax.yaxis)
    write_texts(ax, frame, axis_label(x), "" if y is None else axis_label(y))


def runs(cells: Any) -> Iterator[tuple[int, int, int]]:
    """Row, first and last column of every run of cells that are true."""
    for row, line in enumerate(cells):
        change = np.flatnonzero(np.diff(np.concatenate(([False], line, [False]))))
        yield from ((row, first, past - 1) for first, past in change.reshape(-1, 2).tolist())
