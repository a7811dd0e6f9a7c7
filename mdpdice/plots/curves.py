"""Values as curves: over a dimension of the state, and over the decisions that are left."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Unpack

import numpy as np
from matplotlib.axes import Axes

from mdpdice.answers.solution import Solution
from mdpdice.errors import GameError, HorizonRangeError
from mdpdice.plots.canvas import LINES, PALETTE, Frame, drawn, finish, new_axes, unit_of, whole_ticks, words
from mdpdice.plots.choices import network_of, shown
from mdpdice.plots.coordinates import Coordinate, Where, axis_label, points_of


def value_curve(
    solution: Solution,
    x: Coordinate,
    *,
    by: Coordinate | None = None,
    actions: bool = False,
    where: Where = None,
    steps_left: int | None = None,
    unit: str | None = None,
    **frame: Unpack[Frame],
) -> Axes:
    """Draw values over one dimension of the state, with the intervals that hold them.

    Parameters
    ----------
    solution : Solution
        Its values are drawn, proved or not.
    by : str or callable, optional
        One curve is drawn for every number that it takes.
    actions : bool
        Draw the value of every action instead, best play afterwards: where the curves cross, the best
        action changes.  Of the states that are drawn the decisions are.
    x, where, steps_left, unit, **frame
        See `mdpdice.plots`.

    Returns
    -------
    Axes
        Its lines hold the values, its collections the intervals, unless `actions` are drawn.
    """
    if actions and by is not None:
        raise GameError("the curves are told apart by actions or by a dimension of the state; leave out one of the two")
    solution, network = shown(solution, where)
    columns = solution.nodes.rows(steps_left)[:3]
    curves: dict[Any, dict[Any, tuple[float, ...]]] = {}
    index, (xs, keys) = points_of(network, (x, by), where, deciding=actions)
    for which, at, number in zip(index.tolist(), xs, keys, strict=True):
        points: Mapping[Any, tuple[float, ...]]
        if actions:
            q = solution.q(network.states[which], steps_left=steps_left)
            points = {action: (value,) for action, value in q.items()}
        else:
            points = {number: tuple(float(column[network.state_node[which]]) for column in columns)}
        for key, point in points.items():
            if curves.setdefault(key, {}).setdefault(at, point) is not point:
                msg = f"several states are at {at}; narrow them by where= or by="
                raise GameError(msg, state=network.states[which])
    ax = new_axes(frame)
    name = "" if by is None else axis_label(by)
    for number, key in enumerate(curves if actions else sorted(curves)):
        along = sorted(curves[key])
        bounds = np.array([curves[key][at] for at in along]).T
        label = drawn(words(key)) if actions else f"{name} {key:g}".strip()
        _draw(ax, [float(at) for at in along], bounds, number, number if actions else number // len(PALETTE), label)
    if len(curves) > 1:
        ax.legend(frameon=False)
    whole_ticks(ax.xaxis)
    return finish(ax, frame, axis_label(x), f"value ({unit or unit_of(network)})")


def stage_curve(
    solution: Solution, *, states: Mapping[str, Hashable] | None = None, unit: str | None = None, **frame: Unpack[Frame]
) -> Axes:
    """Draw values over the number of decisions left, for a solution with a horizon (else a `HorizonRangeError`).

    Parameters
    ----------
    solution : Solution
        It holds the values of all stages.
    states : mapping of str to hashable, optional
        States by what the legend calls them; by default the start.
    unit, **frame
        See `mdpdice.plots`.
    """
    if (network := network_of(solution)).horizon is None:
        raise HorizonRangeError("values change with the decisions left only with a horizon: solve(game, horizon=n)")
    ax = new_axes(frame)
    nodes = {"start": network.start} if states is None else {k: network.node_of(s) for k, s in states.items()}
    steps = np.arange(network.horizon + 1)
    for number, (label, node) in enumerate(nodes.items()):
        rows = solution.nodes.values, solution.nodes.lowers, solution.nodes.uppers
        _draw(ax, steps, [array[:, node] for array in rows], number, number, label)
    if states is not None:
        ax.legend(frameon=False)
    whole_ticks(ax.xaxis)
    return finish(ax, frame, "decisions left", f"value ({unit or unit_of(network)})")


def _draw(ax: Axes, along: Any, bounds: Any, colour: int, style: int, label: str) -> None:
    """Draw values, and between the two rows after them, if there are any, a band."""
    shade = PALETTE[colour % len(PALETTE)]
    few = "o" if len(along) <= 40 else None
    ax.plot(along, bounds[0], LINES[style % len(LINES)], color=shade, marker=few, markersize=3.5, label=label)
    if len(bounds) > 1:
        ax.fill_between(along, bounds[1], bounds[2], color=shade, alpha=0.25, lw=0)
