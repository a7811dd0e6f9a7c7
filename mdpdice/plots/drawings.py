"""Small networks as drawings: squares decide, circles are chance, octagons are ends."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.patheffects import withStroke

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.modelling.text import ITSELF, fields_of
from mdpdice.networks.network import Kind, Network
from mdpdice.plots.canvas import INK, PALETTE, drawn, new_axes, words
from mdpdice.plots.choices import choice_of

MAX_NODES = 60
"""More nodes could not be told apart."""


LOOKS = {
    Kind.MAX: ("s", 620, "#CFE3F5", "decision"),
    Kind.MIN: ("v", 820, "#FBE0C4", "decision of the minimiser"),
    Kind.CHANCE: ("o", 420, "#FFFFFF", "chance"),
    Kind.END: ("8", 620, "#E6E6E6", "end, with its payoff"),
}
"""Marker, size, colour and name of every kind of node."""
COLUMN = 1.7
"""Distance of two columns."""
INSIDE = 6
"""Longest text that is written into a node; longer ones stand below it."""
LONGEST = 30
"""Longest line of text that is drawn in full."""


def draw_network(
    network: Network,
    policy: Policy | Solution | None = None,
    *,
    show: Callable[[Any], str] | None = None,
    steps_left: int | None = None,
    max_nodes: int = MAX_NODES,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a small network: nodes by their kind, edges with actions, chances and rewards.

    Squares are decisions (triangles those of the minimiser), circles chance nodes, octagons ends.  Solid arrows
    are actions, dashed ones what chance does; an arrow with an open head changes sides (`pass_to`).  The
    actions of the policy are thick.  Without cycles all arrows lead to the right.

    Parameters
    ----------
    network : Network
        The network, of at most `max_nodes` nodes (else an `UnsupportedError`).
    policy : Policy or Solution, optional
        Its actions are marked; with a solution, decisions and chance nodes with states show their values too.
        That of another network is a `GameError`.
    show : callable, optional
        From states to their texts; by default what a state holds by name, or the state itself.
    steps_left, title, ax
        See `mdpdice.plots`.
    max_nodes : int
        Largest network that is drawn.

    Returns
    -------
    Axes
        One collection per kind of node, labelled with it; one patch per edge, with the number of the edge
        as its ``gid``.
    """
    if network.n_nodes > max_nodes:
        how = "draw a smaller game, or write the network for Graphviz (mdpdice export --to network.dot)"
        msg = f"a drawing of {network.n_nodes:,} nodes could not be read (more than max_nodes={max_nodes:,}); {how}"
        raise UnsupportedError(msg, value=network.n_nodes, limit=max_nodes)
    chosen: set[int] = set()
    if policy is not None:
        if policy.network.digest != network.digest:
            raise GameError("the policy belongs to another network; explore the game once and solve what you draw")
        choice = choice_of(policy, steps_left)
        chosen = set(choice[choice >= 0].tolist())
    layers = _layers(network)
    texts = _texts(network, policy, steps_left, show or _state_text)
    # Room for what stands below a node.
    row = 0.9 + 0.18 * max("\n".join(lines).count("\n") + 1 for lines in texts)
    place = _places(layers, row)
    tallest = row * max(map(len, layers))
    ax = new_axes({"ax": ax}, max(5.0, 1.15 * (COLUMN * len(layers) + 0.5)), max(3.2, 1.15 * (tallest + 0.7)))
    _draw_edges(ax, network, place, chosen)
    _draw_nodes(ax, network, place, texts)
    first = place[network.start]
    ax.annotate(
        "start", first, (first[0] - 0.62, first[1]), va="center", ha="right", color=INK,
        arrowprops={"arrowstyle": "-|>", "color": INK, "shrinkB": 15},
    )  # fmt: skip
    ax.set_axis_off()
    ax.set_aspect("equal")
    xs, ys = zip(*place.values(), strict=True)
    ax.set_xlim(min(xs) - 1.2, max(xs) + 0.6)
    ax.set_ylim(min(ys) - 0.75, max(ys) + 0.75)
    _add_legend(ax, network, chosen)
    if title is not None:
        ax.set_title(title)
    return ax


# --- where nodes stand --------------------------------------------------------------


def _layers(network: Network) -> list[list[int]]:
    """Nodes by their column: by the longest way from the start, or by the shortest where there are cycles."""
    import networkx as nx  # other pictures do without

    graph = nx.DiGraph()
    graph.add_nodes_from(range(network.n_nodes))
    graph.add_edges_from(zip(network.source.tolist(), network.dst.tolist(), strict=True))
    if nx.is_directed_acyclic_graph(graph):
        layers = [sorted(layer) for layer in nx.topological_generations(graph)]
    else:
        layers = [sorted(layer) for layer in nx.bfs_layers(graph, network.start)]
        rest = sorted(set(graph) - {node for layer in layers for node in layer})
        layers += [rest] if rest else []
    # Each node near the middle of its neighbours, from the left and from the right in turn.
    for _ in range(8):
        for along, neighbours in ((layers, graph.predecessors), (layers[::-1], graph.successors)):
            height = {node: at - (len(layer) - 1) / 2 for layer in layers for at, node in enumerate(layer)}
            for layer in along:
                middle = {
                    node: float(np.mean([height[other] for other in neighbours(node)] or [height[node]]))
                    for node in layer
                }
                layer.sort(key=middle.__getitem__)
                height.update({node: at - (len(layer) - 1) / 2 for at, node in enumerate(layer)})
    return layers


def _places(layers: Sequence[Sequence[int]], row: float) -> dict[int, tuple[float, float]]:
    return {
        # Neighbouring columns are set off a little, so that an arrow past a column meets no node.
        node: (COLUMN * column, row * ((len(layer) - 1) / 2 - at) + 0.18 * (column % 2))
        for column, layer in enumerate(layers)
        for at, node in enumerate(layer)
    }


# --- what is drawn --------------------------------------------------------------------


def _state_text(state: Hashable) -> str:
    from mdpdice.formats.exported_model import action_text

    lines = [f"{name} {words(value)}" for name, value in fields_of(state).items() if name != ITSELF]
    return "\n".join(drawn(line, LONGEST) for line in lines or [action_text(state)])


def _texts(
    network: Network, policy: Policy | Solution | None, steps_left: int | None, show: Callable[[Any], str]
) -> list[list[str]]:
    """Lines of text of every node: its state or payoff, and its value."""
    values = policy.nodes.rows(steps_left)[0] if isinstance(policy, Solution) else None
    found: list[list[str]] = [[] for _ in range(network.n_nodes)]
    for node, lines in enumerate(found):
        state = network.state_of(node)
        if network.kind[node] == Kind.END:
            lines.append(f"{float(network.payoff[node]):g}")
        elif state is not None:
            lines += [show(state), *([f"= {values[node]:.4g}"] if values is not None else [])]
    return found


def _draw_nodes(
    ax: Axes, network: Network, place: dict[int, tuple[float, float]], texts: Sequence[Sequence[str]]
) -> None:
    for kind, (marker, size, fill, name) in LOOKS.items():
        if nodes := np.flatnonzero(network.kind == kind).tolist():
            xs, ys = zip(*(place[node] for node in nodes), strict=True)
            ax.scatter(xs, ys, s=size, marker=marker, label=name, facecolor=fill, edgecolor=INK, zorder=3)
    halo = [withStroke(linewidth=3, foreground="white")]
    for node, lines in enumerate(texts):
        x, y = place[node]
        inside = [text for text in lines[:1] if len(text) <= INSIDE]
        below = lines[len(inside) :]
        if inside:
            ax.text(x, y, inside[0], ha="center", va="center", fontsize="medium", zorder=4)
        if below:
            text = "\n".join(below)
            ax.text(x, y - 0.26, text, ha="center", va="top", fontsize="x-small", zorder=5, path_effects=halo)


def _draw_edges(ax: Axes, network: Network, place: dict[int, tuple[float, float]], chosen: set[int]) -> None:
    parallel: dict[tuple[int, int], int] = {}
    halo = [withStroke(linewidth=2.5, foreground="white")]
    for edge, (begin, finish) in enumerate(zip(network.source.tolist(), network.dst.tolist(), strict=True)):
        number = parallel[begin, finish] = parallel.get((begin, finish), -1) + 1
        (x, y), (to_x, to_y) = place[begin], place[finish]
        # Arrows to the left, along a column or past one would cover other nodes; so would a second parallel one.
        straight = number == 0 and 0 < to_x - x < 1.1 * COLUMN
        bend = 0.0 if straight else 0.18 + 0.14 * number
        decides, best = bool(network.decides[begin]), edge in chosen
        start, end = np.array((x, y)), np.array((to_x, to_y))
        loop = begin == finish
        if loop:
            start, end, bend = np.array((x - 0.13, y)), np.array((x + 0.13, y)), -4.0 - number
        arrow = FancyArrowPatch(
            tuple(start), tuple(end), connectionstyle=f"arc3,rad={bend}", mutation_scale=12,
            arrowstyle="-|>" if network.sign[edge] > 0 else "->", linestyle="-" if decides else (0, (4, 2)),
            color=PALETTE[0] if best else "#777777", linewidth=2.8 if best else 1.0, zorder=2 if best else 1,
            shrinkA=0 if loop else 12, shrinkB=12 if loop else 14,
        )  # fmt: skip
        arrow.set_gid(str(edge))
        ax.add_patch(arrow)
        # A third of the way: the middles of arrows that cross are at one place.
        share = 0.5 if loop else (0.36 if network.dst[network.indptr[begin]] != finish or straight else 0.5)
        along = end - start
        control = start + along / 2 + bend * np.array((along[1], -along[0]))
        at = (1 - share) ** 2 * start + 2 * share * (1 - share) * control + share**2 * end
        ax.text(
            at[0], at[1], _edge_text(network, begin, edge), ha="center", va="center", fontsize="small",
            color=PALETTE[0] if best else INK, zorder=6, path_effects=halo,
        )  # fmt: skip


def _edge_text(network: Network, node: int, edge: int) -> str:
    from mdpdice.formats.exported_model import action_text
    from mdpdice.formats.networkx_graphs import chance_text

    if network.decides[node]:
        text = drawn(action_text(network.action_of(edge)), LONGEST)
    else:
        text = chance_text(network, edge, 3)
    reward = float(network.reward[edge])
    return f"{text}, {reward:+g}" if reward else text


def _add_legend(ax: Axes, network: Network, chosen: set[int]) -> None:
    handles = [
        Line2D([], [], marker=marker, label=name, color="none", mfc=fill, mec=INK)
        for kind, (marker, _, fill, name) in LOOKS.items()
        if (network.kind == kind).any()
    ]
    if chosen:
        handles.append(Line2D([], [], color=PALETTE[0], linewidth=2.8, label="what the policy does"))
    below: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": len(handles)}
    ax.legend(handles=handles, frameon=False, fontsize="small", **below)
