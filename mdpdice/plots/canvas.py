"""What all pictures share: figures without global state, colours, words, and files."""

from __future__ import annotations

import io
import os
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Literal, TypedDict

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mdpdice.archives import replaced
from mdpdice.errors import UnsupportedError
from mdpdice.networks.network import Network

# Not the classes below, whose methods are those of matplotlib.
__all__ = ["BLANK", "INK", "LINES", "PALETTE", "SUFFIXES", "Frame", "drawn", "finish"]
__all__ += ["new_axes", "picture_bytes", "save_picture", "unit_of", "whole_ticks", "words", "write_texts"]

# Okabe and Ito, in an order in which neighbours also differ in lightness.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")
"""Colours of categories and lines."""
LINES = ("-", "--", "-.", ":")
"""Styles of lines, so that colour is not the only difference."""
BLANK = "#EBEBEB"
"""What stands for no answer."""
INK = "#333333"
"""Lines and text that are not data."""

SUFFIXES = (".png", ".svg", ".pdf")
"""Endings of the files that pictures are written to."""


class Frame(TypedDict, total=False):
    """Keyword arguments that charts and maps share; by default there is no title, and axes say what is drawn."""

    xlabel: str | None
    ylabel: str | None
    title: str | None
    ax: Axes | None  #: where to draw; by default in a figure of its own


class Picture(Axes):
    """Axes that a notebook shows as a picture, whatever its matplotlib does."""

    def _repr_png_(self) -> bytes:
        return picture_bytes(self, ".png", dpi=100)


class Sheet(Figure):
    """A figure that a notebook shows as a picture."""

    _repr_png_ = Picture._repr_png_


def new_axes(frame: Frame, width: float = 6.4, height: float = 4.4) -> Axes:
    """Return the axes that are given, or those of a new figure of this size, in inches."""
    if unknown := frame.keys() - Frame.__annotations__.keys():
        raise TypeError(f"unexpected keyword argument {min(unknown)!r}")
    if (ax := frame.get("ax")) is not None:
        return ax
    return Figure(figsize=(width, height), layout="constrained").add_subplot(axes_class=Picture)


def write_texts(ax: Axes, frame: Frame, xlabel: str, ylabel: str) -> None:
    """Label the axes and write the title, as they are given or by default."""
    given_x, given_y = frame.get("xlabel"), frame.get("ylabel")
    ax.set_xlabel(xlabel if given_x is None else given_x)
    ax.set_ylabel(ylabel if given_y is None else given_y)
    if (title := frame.get("title")) is not None:
        ax.set_title(title)


def finish(ax: Axes, frame: Frame, xlabel: str, ylabel: str, grid: Literal["both", "y"] = "both") -> Axes:
    """Give a chart its texts, a grid and no more than two spines."""
    write_texts(ax, frame, xlabel, ylabel)
    ax.grid(axis=grid, alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def save_picture(picture: Axes | Figure, path: str | os.PathLike[str], *, dpi: float = 150) -> None:
    """Write a picture to a file, which is replaced at once or not at all.

    Equal pictures give equal files: dates and random names are left out.

    Parameters
    ----------
    picture : Axes or Figure
        What the functions of `mdpdice.plots` return.
    path : path
        Its ending says which format: ``.png``, ``.svg`` or ``.pdf`` (any other: `UnsupportedError`).
    dpi : float
        Pixels per inch of a PNG.
    """
    if (suffix := Path(path).suffix.lower()) not in SUFFIXES:
        raise UnsupportedError(f"{os.fspath(path)}: pictures are files that end in {', '.join(SUFFIXES)}", value=suffix)
    with replaced(Path(path)) as file:
        file.write(picture_bytes(picture, suffix, dpi=dpi))


def picture_bytes(picture: Axes | Figure, suffix: str, *, dpi: float = 150) -> bytes:
    """Return what `save_picture` writes."""
    figure = picture.get_figure(root=True) if isinstance(picture, Axes) else picture
    assert figure is not None
    undated: dict[str, Any] = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(suffix, {})
    found = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "mdpdice"}):
        figure.savefig(found, format=suffix[1:], dpi=dpi, metadata=undated)
    return found.getvalue()


def unit_of(network: Network) -> str:
    """Return what values are measured in, as far as the network says."""
    # Some states of a lattice may stand here, with other ends.
    model = getattr(network.states, "lattice", network)
    won = model.total == 1 and model.payoffs and model.payoffs <= {0, 1} and not model.pays
    return "chance to win" if won else "payoff units"


def whole_ticks(axis: Axis) -> None:
    """No ticks between whole numbers, unless the axis is shorter than a few of them."""
    low, high = axis.get_view_interval()
    if high - low > 2:
        axis.set_major_locator(MaxNLocator(integer=True))


def drawn(text: str, longest: int = 80) -> str:
    """Return a text of a game, such as an action, as matplotlib draws it and not as a formula; long ones are cut."""
    if len(text) > longest:
        text = f"{text[: longest - 1]}…"
    # Half of a surrogate pair is no character.
    text = text.encode(errors="backslashreplace").decode()
    # Two signs of dollar would begin and end a formula, and legends leave out what begins with a stroke.
    text = text.replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text


def words(thing: Hashable) -> str:
    """Return an action, state or category for people."""
    return thing if isinstance(thing, str) else repr(thing)
