"""Maps over two dimensions of the state: what a policy does, where two differ, thresholds and values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from textwrap import fill
from typing import Any, NamedTuple, TypeAlias, Unpack

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.colors import Colormap, ListedColormap, Normalize, TwoSlopeNorm, to_hex, to_rgb
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.networks.network import Network
from mdpdice.plots.canvas import BLANK, INK, PALETTE, Frame, drawn, new_axes, unit_of, whole_ticks, words, write_texts
from mdpdice.plots.choices import Drawable, shown, taken
from mdpdice.plots.coordinates import Coordinate, Where, axis_label, points_of

Group: TypeAlias = Callable[[Any], Hashable]

VARIES = "depends on more"
"""Category of a point that stands for several states with different answers."""
NOWHERE = "no such state"
HATCHED: dict[str, Any] = {"facecolor": "white", "edgecolor": "#999999", "hatch": "///"}
"""How a point without a number looks."""
OTHER = "other"
LEGEND = 28
"""Longest line of a legend."""
LARGEST = 1e7
"""Whole numbers below that are written with all their digits."""
WRITTEN = 400
"""Most cells whose numbers are written into them."""
DRAWN = 2500
"""Most cells that are drawn one by one in an SVG; more become an image."""


# --- categories -------------------------------------------------------------------


def region_map(
    network: Network,
    of: Callable[[Any], Hashable],
    x: Coordinate,
    y: Coordinate | None = None,
    *,
    where: Where = None,
    order: Sequence[Hashable] = (),
    **frame: Unpack[Frame],
) -> Axes:
    """Draw which of a few categories the states belong to, over one or two dimensions of the state.

    Parameters
    ----------
    network : Network
        Its states are drawn.
    of : callable
        From states to categories; None leaves a state out.
    x, y, where, **frame
        See `mdpdice.plots`.
    order : sequence, optional
        Categories in the order of the colours; others come after them.

    Returns
    -------
    Axes
        The mesh is ``ax.collections[0]``; its array holds the number of the category in the legend, masked where there
        is no state.  States of different categories at one point make a point of the category "depends on more".
    """
    index, (xs, ys) = points_of(network, (x, y), where)
    rows = zip(xs, ys, (of(network.states[at]) for at in index.tolist()), strict=True)
    return _regions([row for row in rows if row[2] is not None], x, y, frame, order)


def policy_map(
    policy: Drawable,
    x: Coordinate,
    y: Coordinate | None = None,
    *,
    where: Where = None,
    group: Group | None = None,
    steps_left: int | None = None,
    **frame: Unpack[Frame],
) -> Axes:
    """Draw what a policy does, over one or two dimensions of the state.

    Parameters
    ----------
    policy : Policy or Solution
        What is drawn, in states with a decision.
    x, y, where, group, steps_left, **frame
        See `mdpdice.plots`.

    Returns
    -------
    Axes
        As for `region_map`.

    Examples
    --------
    >>> from mdpdice import solve
    >>> from mdpdice.games.pig import PigTurn
    >>> from mdpdice.plots import policy_map
    >>> ax = policy_map(solve(PigTurn(cap=30)), "state", xlabel="points at risk")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['hold', 'roll', 'no such state']
    """
    policy, network = shown(policy, where)
    index, (xs, ys) = points_of(network, (x, y), where, deciding=True)
    done = taken(policy, network.state_node[index], group, steps_left)
    actions = dict.fromkeys(network.actions if len(network.actions) < 1e6 else ())
    order = dict.fromkeys(map(group, actions)) if group else actions
    return _regions(list(zip(xs, ys, done, strict=True)), x, y, frame, order)


def policy_difference(
    first: Drawable,
    second: Drawable,
    x: Coordinate,
    y: Coordinate | None = None,
    *,
    names: tuple[str, str] = ("first", "second"),
    where: Where = None,
    group: Group | None = None,
    steps_left: int | None = None,
    **frame: Unpack[Frame],
) -> Axes:
    """Draw where two policies of one game do the same, and where they differ.

    Parameters
    ----------
    first, second : Policy or Solution
        The policies; the second one is taken over to the network of the first by the names of states and actions.
    names : tuple of two str
        What the legend calls them.
    x, y, where, group, steps_left, **frame
        See `mdpdice.plots`.

    Returns
    -------
    Axes
        As for `region_map`: categories "both roll" in pale colours, "first: hold; second: roll" in strong ones.
    """
    first, network = shown(first, where)
    second, _ = shown(second, where)
    other = (Policy.from_solution(second) if isinstance(second, Solution) else second).on(network)
    index, (xs, ys) = points_of(network, (x, y), where, deciding=True)
    nodes = network.state_node[index]
    done = (taken(first, nodes, group, steps_left), taken(other, nodes, group, steps_left))
    points, same = [], {}
    for left, up, one, two in zip(xs, ys, *done, strict=True):
        alike = one == two
        text = f"both {words(one)}" if alike else f"{names[0]}: {words(one)}; {names[1]}: {words(two)}"
        same[text] = alike
        points.append((left, up, text))
    order = sorted(same, key=lambda text: (not same[text], text))
    strong: Any = {text: np.array(to_rgb(PALETTE[at % len(PALETTE)])) for at, text in enumerate(order) if same[text]}
    pale = {text: to_hex(0.28 * colour + 0.72) for text, colour in strong.items()}
    return _regions(points, x, y, frame, order, pale)


def _regions(
    points: Sequence[tuple[Any, Any, Hashable]],
    x: Coordinate,
    y: Coordinate | None,
    frame: Frame,
    order: Iterable[Hashable] = (),
    colours: Mapping[Hashable, str] | None = None,
) -> Axes:
    if not points:
        raise GameError("the states to draw have no decision; region_map draws any states")
    ax = new_axes(frame, height=4.4 if y is not None else 1.6)
    xs, ys, categories = zip(*points, strict=True)
    grid = _grid_of(xs, ys)
    names, count = categories, Counter(categories)
    if len(count) > len(PALETTE):
        # The rare ones share a colour.
        kept = {category for category, _ in count.most_common(len(PALETTE) - 1)}
        names = tuple(category if category in kept else OTHER for category in categories)
    # Colours go by the whole order, so that an action has the same one in two maps of a game.
    rank = {category: at for at, category in enumerate(order)}
    known = sorted(set(names), key=lambda category: (rank.get(category, len(rank)), names.index(category)))
    number = {category: at for at, category in enumerate(known)}
    cells = np.full(grid.shape, -1)
    for row, column, category in zip(grid.row.tolist(), grid.column.tolist(), names, strict=True):
        cells[row, column] = number[category] if cells[row, column] in (-1, number[category]) else len(known)
    fits = len(rank) <= len(PALETTE)
    shades = [
        (colours or {}).get(category, PALETTE[(rank.get(category, at) if fits else at) % len(PALETTE)])
        for at, category in enumerate(known)
    ]
    if OTHER in number and OTHER not in rank:
        shades[number[OTHER]] = "#999999"
    shades.append("#555555")
    _draw_cells(ax, grid, np.ma.masked_equal(cells, -1), ListedColormap(shades), Normalize(-0.5, len(shades) - 0.5))
    handles = [
        Patch(facecolor=shades[at], label=drawn(fill(words(category), LEGEND), 8 * LEGEND))
        for at, category in enumerate(known)
    ]
    if (cells == len(known)).any():
        handles.append(Patch(facecolor=shades[-1], label=VARIES))
    if (cells == -1).any():
        handles.append(Patch(facecolor=BLANK, edgecolor="#BBBBBB", label=NOWHERE))
    ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, borderaxespad=0.0)
    _label_axes(ax, x, y, frame)
    return ax


def _draw_cells(ax: Axes, grid: _Grid, cells: Any, colours: Colormap, norm: Normalize) -> QuadMesh:
    mesh = ax.pcolormesh(grid.x, grid.y, cells, cmap=colours, norm=norm)
    mesh.set_rasterized(cells.size > DRAWN)
    ax.set_facecolor(BLANK)
    return mesh


# --- numbers ----------------------------------------------------------------------


def threshold_map(
    policy: Drawable,
    x: Coordinate,
    y: Coordinate,
    over: Coordinate,
    action: Hashable,
    *,
    largest: bool = False,
    where: Where = None,
    group: Group | None = None,
    steps_left: int | None = None,
    never: str = "never",
    limits: tuple[float, float] | None = None,
    label: str | None = None,
    **frame: Unpack[Frame],
) -> Axes:
    """Draw from where on (or up to where) a policy takes an action: one number for every point of two dimensions.

    Parameters
    ----------
    policy : Policy or Solution
        What is drawn.
    over : str or callable
        The third dimension, whose number is drawn.
    action : hashable
        The action, or what `group` makes of it; it is an error if it is taken nowhere.
    largest : bool
        Draw the largest number with which the action is taken instead of the smallest.
    never : str
        What the legend says of points where the action is never taken.
    x, y, where, group, steps_left, limits, label, **frame
        See `mdpdice.plots`.

    Returns
    -------
    Axes
        The mesh is ``ax.collections[0]``, masked where there is no number; up to 400 numbers are written into
        their cells.
    """
    policy, network = shown(policy, where)
    index, (xs, ys, numbers) = points_of(network, (x, y, over), where, deciding=True)
    done = taken(policy, network.state_node[index], group, steps_left)
    found: dict[tuple[Any, Any], Any] = {}
    for left, up, number, one in zip(xs, ys, numbers, done, strict=True):
        before = found.setdefault((left, up), None)
        if one == action and (before is None or (number > before if largest else number < before)):
            found[left, up] = number
    if set(found.values()) == {None}:
        raise GameError(f"the policy takes {words(action)} in none of the states that are to be drawn", action=action)
    which = "largest" if largest else "smallest"
    text = label or drawn(f"{which} {axis_label(over) or 'number'} with which to {words(action)}")
    ax = _numbers(found, x, y, frame, text, limits)
    if None in found.values():
        ax.legend(handles=[Patch(**HATCHED, label=never)], loc="lower left", bbox_to_anchor=(0.0, 1.0), frameon=False)
    return ax


def value_map(
    solution: Solution,
    x: Coordinate,
    y: Coordinate,
    *,
    of: Callable[[Any, float], float | None] | None = None,
    centre: float | None = None,
    limits: tuple[float, float] | None = None,
    where: Where = None,
    steps_left: int | None = None,
    label: str | None = None,
    **frame: Unpack[Frame],
) -> Axes:
    """Draw values, or a number made of them, over two dimensions of the state.

    Parameters
    ----------
    solution : Solution
        Its values are drawn, proved or not.
    of : callable, optional
        From a state and its value to the number that is drawn, such as ``lambda state, value: value - state.points``;
        None leaves a state out.
    centre : float, optional
        Two colours are used, for numbers above and below it.
    x, y, where, steps_left, limits, label, **frame
        See `mdpdice.plots`.

    Returns
    -------
    Axes
        As for `threshold_map`.
    """
    solution, network = shown(solution, where)
    values = solution.nodes.rows(steps_left)[0]
    points: dict[tuple[Any, Any], float | None] = {}
    index, (xs, ys) = points_of(network, (x, y), where)
    for at, left, up in zip(index.tolist(), xs, ys, strict=True):
        value = float(values[network.state_node[at]])
        if (left, up) in points:
            msg = f"several states are at the point ({left}, {up}); narrow them by where="
            raise GameError(msg, state=network.states[at])
        points[left, up] = value if of is None else of(network.states[at], value)
    if not (points := {point: number for point, number in points.items() if number is not None}):
        raise UnsupportedError("of() gives None in all states that are to be drawn")
    text = label or (f"value ({unit_of(network)})" if of is None else axis_label(of))
    return _numbers(points, x, y, frame, text, limits, centre)


def _numbers(
    points: Mapping[tuple[Any, Any], Any],
    x: Coordinate,
    y: Coordinate,
    frame: Frame,
    label: str,
    limits: tuple[float, float] | None,
    centre: float | None = None,
) -> Axes:
    """Numbers as colours, and written into the cells where there are few; None is hatched."""
    grid = _grid_of(*zip(*points, strict=True))
    cells, empty = np.full(grid.shape, np.nan), np.zeros(grid.shape, dtype=bool)
    cells[grid.row, grid.column] = [np.nan if number is None else float(number) for number in points.values()]
    empty[grid.row, grid.column] = [number is None for number in points.values()]
    finite = cells[np.isfinite(cells)]
    if not len(finite):
        raise UnsupportedError("no number that is to be drawn is finite")
    low, high = limits or (float(finite.min()), float(finite.max()))
    whole = bool((finite == np.round(finite)).all())
    norm: Normalize = Normalize(low, high)
    if centre is not None:
        reach = max(high - centre, centre - low) or 1.0
        norm = TwoSlopeNorm(centre, centre - reach, centre + reach)
    colours = colormaps["cividis" if centre is None else "PuOr"]
    ax = new_axes(frame)
    mesh = _draw_cells(ax, grid, np.ma.masked_invalid(cells), colours, norm)
    for row, first, last in _runs(empty):
        left, bottom = grid.x[first], grid.y[row]
        size = grid.x[last + 1] - left, grid.y[row + 1] - bottom
        ax.add_patch(Rectangle((left, bottom), *size, **HATCHED, linewidth=0))
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(mesh, ax=ax, label=label)
    if whole:
        bar.locator = MaxNLocator(integer=True)
        bar.update_ticks()
    if np.isfinite(cells).sum() <= WRITTEN and cells.shape[0] <= 24 and cells.shape[1] <= 24:
        for row, column in np.argwhere(np.isfinite(cells)).tolist():
            number = cells[row, column]
            ink = "white" if np.dot(colours(norm(number))[:3], (0.299, 0.587, 0.114)) < 0.5 else INK
            middle = grid.x[column : column + 2].mean(), grid.y[row : row + 2].mean()
            text = f"{number:.0f}" if whole and abs(number) < LARGEST else f"{number:.3g}"
            ax.text(*middle, text, ha="center", va="center", fontsize="small", color=ink)
    _label_axes(ax, x, y, frame)
    return ax


# --- cells ------------------------------------------------------------------------


class _Grid(NamedTuple):
    """Cells of a map: their borders, and the cell of every point."""

    x: Any
    y: Any
    column: Any
    row: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.y) - 1, len(self.x) - 1


def _grid_of(xs: Sequence[Any], ys: Sequence[Any]) -> _Grid:
    """Cells for points with these coordinates."""
    borders_x, column = _cells(xs)
    borders_y, row = _cells(ys)
    return _Grid(borders_x, borders_y, column, row)


def _cells(values: Sequence[Any]) -> tuple[Any, Any]:
    """Borders of equal cells on an axis, or of cells that meet halfway where there would be too many."""
    known, place = np.unique(np.array([float(value) for value in values]), return_inverse=True)
    if len(known) == 1:
        return np.array([known[0] - 0.5, known[0] + 0.5]), place
    step = float(np.diff(known).min())
    if (known == np.round(known)).all():
        step = float(math.gcd(*(int(gap) for gap in np.diff(known))))
    count = round((known[-1] - known[0]) / step) + 1
    offset = (known - known[0]) / step
    if count <= 4 * len(known) + 100 and np.allclose(offset, np.round(offset), atol=1e-6):
        return known[0] + step * (np.arange(count + 1) - 0.5), np.round(offset).astype(np.int64)[place]
    middle = (known[1:] + known[:-1]) / 2
    return np.concatenate(([2 * known[0] - middle[0]], middle, [2 * known[-1] - middle[-1]])), place


def _label_axes(ax: Axes, x: Coordinate, y: Coordinate | None, frame: Frame) -> None:
    """Write what the axes are, by default what the coordinates say, and the title."""
    whole_ticks(ax.xaxis)
    if y is None:
        ax.set_yticks([])
    else:
        whole_ticks(ax.yaxis)
    write_texts(ax, frame, axis_label(x), "" if y is None else axis_label(y))


def _runs(cells: Any) -> Iterator[tuple[int, int, int]]:
    """Row, first and last column of every run of cells that are true."""
    for row, line in enumerate(cells):
        change = np.flatnonzero(np.diff(np.concatenate(([False], line, [False]))))
        yield from ((row, first, past - 1) for first, past in change.reshape(-1, 2).tolist())
