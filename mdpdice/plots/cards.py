"""Tables of a strategy on one page, as a picture to print."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from mdpdice.modelling.tables import Table
from mdpdice.plots.canvas import INK, Sheet, drawn
from mdpdice.policies.cards import heads, shown, tints

PAGE = 8.27, 11.69
"""Inches of a sheet A4."""
MARGIN, LARGEST, EM = 0.6, 11.0, 0.6
"""Inches; points of a font; its width by its size."""


def draw_card(tables: Sequence[Table], *, title: str, about: Sequence[str] = ()) -> Figure:
    """Draw tables below each other, under a title and lines `about` them, on a sheet A4, which grows as they need.

    Examples
    --------
    >>> from mdpdice import Table
    >>> from mdpdice.plots import draw_card
    >>> figure = draw_card([Table("bank", "when to bank", ("dice", "bank from"), [(1, 300), (2, 250)])], title="Farkle")
    >>> [float(side) for side in figure.get_size_inches()]
    [8.27, 11.69]
    """
    # Every line: its height and size of font in points, and its cells with their places, widths and colours.
    lines: list[tuple[float, float, list[tuple[float, float, str, str | None]]]] = []
    room = 72 * (PAGE[0] - 2 * MARGIN)

    def write(text: str, size: float, *, bold: bool = False) -> None:
        size = min(size, room / (0.55 * max(len(text), 1)))
        lines.append((1.6 * size, size, [(0, 0, text, "bold" if bold else None)]))

    write(title, 18, bold=True)
    for line in about:
        write(line, 9)
    for table in tables:
        lines.append((10, 0, []))
        write(table.lines[0] if table.lines else table.title, 11, bold=True)
        if table.lines:
            size = min(9, room / (EM * max(map(len, table.lines))))
            lines.extend((1.4 * size, size, [(0, 0, line, "mono")]) for line in table.lines[1:])
            continue
        texts = [heads(table), *([shown(value) for value in row] for row in table.rows)]
        widths = [EM * (max(map(len, column)) + 2) for column in zip(*texts, strict=True)]
        size = min(LARGEST, room / sum(widths))
        colours = tints(table)
        for number, row in enumerate(texts):
            places = [size * sum(widths[:at]) for at in range(len(row))]
            boxes: list[tuple[float, float, str, str | None]] = [
                (place, size * width, text, "#E4E4E4" if not number else colours.get(text, "white"))
                for place, width, text in zip(places, widths, row, strict=True)
            ]
            lines.append((1.6 * size, size, boxes))
    need = sum(height for height, _, _ in lines)
    scale = max(0.6, min(1.0, 72 * (PAGE[1] - 2 * MARGIN) / need))
    tall = max(PAGE[1], scale * need / 72 + 2 * MARGIN)
    figure = Sheet(figsize=(PAGE[0], tall))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 72 * PAGE[0]), ylim=(72 * tall, 0))
    ax.axis("off")
    y = 72 * MARGIN
    for height, size, cells in lines:
        for x, width, text, look in cells:
            at, middle = 72 * MARGIN + scale * x, y + scale * height / 2
            if width:
                sides = scale * width, scale * height
                ax.add_patch(Rectangle((at, y), *sides, facecolor=look, edgecolor="#999", linewidth=0.5))
                at += scale * width / 2
            ax.text(
                at, middle, drawn(text, 400), fontsize=scale * size, color=INK, va="center_baseline",
                ha="center" if width else "left", weight="bold" if look in ("bold", "#E4E4E4") else "normal",
                family="monospace" if look == "mono" else "sans-serif",
            )  # fmt: skip
        y += scale * height
    return figure
