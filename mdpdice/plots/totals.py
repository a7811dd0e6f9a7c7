"""What plays come to: distributions of totals, and thresholds side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.axes import Axes

from mdpdice.errors import GameError
from mdpdice.modelling.tables import Thresholds
from mdpdice.plots.canvas import LINES, PALETTE, Frame, finish, new_axes
from mdpdice.policies.totals import Outcomes

HATCHES = ("", "//", "..", "\\\\", "xx")


def outcome_chart(
    outcomes: Outcomes | Mapping[str, Outcomes],
    *,
    at_least: bool = False,
    unit: str = "payoff units",
    **frame: Unpack[Frame],
) -> Axes:
    """Draw distributions of the total of a play, with their means.

    Parameters
    ----------
    outcomes : Outcomes or mapping of str to Outcomes
        One distribution, or several by what the legend calls them, with finite totals; see `mdpdice.outcomes`.
    at_least : bool
        Draw the chance of at least each total instead of exactly that total.
    unit, **frame
        See `mdpdice.plots`.

    Returns
    -------
    Axes
        Bars (``ax.containers``), or with `at_least` a line of steps per distribution; the vertical lines are the means.
    """
    several = outcomes if isinstance(outcomes, Mapping) else {"": outcomes}
    finite = {name: np.isfinite(one.totals) for name, one in several.items()}
    if not several or not all(mask.any() for mask in finite.values()):
        raise GameError("a distribution has no finite total, so there is nothing to draw")
    ax = new_axes(frame)
    known = np.unique(np.concatenate([one.totals[finite[name]] for name, one in several.items()]))
    gap = float(np.diff(known).min()) if len(known) > 1 else 1.0
    width = gap * (0.8 if len(known) <= 60 else 1.0) / len(several)
    for number, (name, one) in enumerate(several.items()):
        colour = PALETTE[number % len(PALETTE)]
        totals, chances = one.totals[finite[name]], one.chances[finite[name]]
        label = f"{name} (mean {one.mean:.4g})" if name else None
        if at_least:
            above = float(one.chances[one.totals == np.inf].sum())
            left = above + np.cumsum(chances[::-1])[::-1]
            # A step lies before its total: the chance of at least that total falls behind it.
            ax.step(
                np.append(totals, totals[-1]), np.append(left, above), where="pre", color=colour, label=label,
                linewidth=1.6, linestyle=LINES[number % len(LINES)],
            )  # fmt: skip
        else:
            places = totals + width * (number - (len(several) - 1) / 2)
            ax.bar(
                places, chances, width, color=colour, label=label,
                hatch=HATCHES[number % len(HATCHES)], edgecolor="white" if len(several) > 1 else colour, linewidth=0,
            )  # fmt: skip
        if math.isfinite(one.mean):
            line = ax.axvline(one.mean, color=colour, linestyle=":" if name else "--", linewidth=1.2)
            if not name:
                line.set_label(f"mean {one.mean:.4g}")
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False)
    ax.set_ylim(bottom=0)
    if notes := [note for name, one in several.items() if (note := _left_out(one, name))]:
        corner: dict[str, Any] = {"transform": ax.transAxes, "ha": "right", "va": "bottom"}
        ax.text(0.99, 0.01, "\n".join(notes), fontsize="small", **corner)
    chance = "chance of at least this total" if at_least else "chance of this total"
    return finish(ax, frame, f"total of a play ({unit})", chance, grid="y")


def _left_out(one: Outcomes, name: str) -> str:
    infinite = float(one.chances[np.isinf(one.totals)].sum())
    parts = [f"{infinite:.3g} infinite"] if infinite else []
    if one.missing > 1e-6:
        parts.append(f"{one.missing:.2g} not followed to the end")
    return f"{name + ': ' if name else ''}not drawn: {', '.join(parts)}" if parts else ""


def threshold_bars(
    thresholds: Thresholds | Sequence[Thresholds], *, labels: Sequence[str] | None = None, **frame: Unpack[Frame]
) -> Axes:
    """Draw vectors of thresholds as bars side by side.

    Parameters
    ----------
    thresholds : Thresholds or sequence of Thresholds
        What `Look.thresholds` gives, all with as many entries (else a `GameError`).
    labels : sequence of str, optional
        What the entries of a vector are for; by default they are numbered from 1.
    **frame
        See `mdpdice.plots`.
    """
    several = [thresholds] if isinstance(thresholds, Thresholds) else list(thresholds)
    sizes = {len(one.vector) for one in several} | ({len(labels)} if labels is not None else set())
    if not several or len(sizes) != 1:
        msg = f"thresholds side by side have the same number of entries, at least one; these have {sorted(sizes)}"
        raise GameError(msg, value=sorted(sizes))
    ax = new_axes(frame)
    (size,) = sizes
    names = [str(at + 1) for at in range(size)] if labels is None else labels
    width = 0.8 / len(several)
    for number, one in enumerate(several):
        places = np.arange(size) + width * (number - (len(several) - 1) / 2)
        bars = ax.bar(
            places, one.vector, width, color=PALETTE[number % len(PALETTE)],
            hatch=HATCHES[number % len(HATCHES)], edgecolor="white", label=f"{one.rule} (value {one.value:.6g})",
        )  # fmt: skip
        if size * len(several) <= 24:
            ax.bar_label(bars, fmt="{:.0f}", fontsize="small", padding=1)
    ax.set_xticks(range(size), names)
    ax.legend(frameon=False)
    ax.set_axisbelow(True)
    return finish(ax, frame, "number of the threshold", "stop from here on", grid="y")
