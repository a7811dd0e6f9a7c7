"""Graphs: networkx graphs to networks, and networks to DOT drawings for Graphviz.

Attributes of a graph that is imported
--------------------------------------

===========  =========  ==========================================================================================
where        attribute  meaning
===========  =========  ==========================================================================================
graph        start      state to start in (required, unless only one node has no predecessor)
graph        discount   factor per step, 1 if it is not there
node         kind       ``"MAX"``, ``"MIN"``, ``"CHANCE"`` or ``"END"``; by default CHANCE if its edges have weights,
                        END if it has no edges, and else MAX
node         payoff     payoff of an END, 0 if it is not there
edge         weight     probability of an edge of a CHANCE node, as a float, a `Fraction` or ``"p/q"``
edge         reward     reward, 0 if it is not there
edge         action     name of an option; by default the node that it leads to, or its number where several do
edge         step       whether the discount acts; by default on the edges of decisions and chance into decisions
===========  =========  ==========================================================================================

These are the attributes that `Network.to_networkx` gives; a multigraph may have several edges between two nodes.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.errors import GameError, UnknownStateError, UnsupportedError
from mdpdice.formats.exported_model import action_text
from mdpdice.formats.line_reader import PathLike, require_network, write_lines
from mdpdice.modelling.nearest import nearest
from mdpdice.modelling.number import exact_discount, finite_number, own_number
from mdpdice.networks.arrays import split_exact
from mdpdice.networks.choices import as_reward
from mdpdice.networks.network import Floats, Kind, Network
from mdpdice.objectives.reductions import for_sense

if TYPE_CHECKING:
    import networkx as nx

MAX_NODES = 2000
"""Most nodes of a drawing: Graphviz needs minutes for more, and nobody could read it."""


# --- networkx --------------------------------------------------------------------


def from_networkx(graph: Any) -> Network:
    """Return a network from a directed graph of networkx with the attributes listed above, whose nodes are the states.

    Raises
    ------
    GameError
        An attribute is missing or has a value that is not allowed; the error names the node.
    ProbabilitySumError, ProbabilityRangeError, RewardNotFiniteError, DiscountRangeError
        A number is out of its range.
    """
    if not hasattr(graph, "is_directed"):
        raise GameError(f"{graph!r} is not a graph of networkx", value=graph)
    if not graph.is_directed():
        raise GameError("the edges of the graph have no direction; use networkx.DiGraph")
    if not (states := list(graph.nodes)):
        raise GameError("the graph has no nodes")
    number = {state: at for at, state in enumerate(states)}
    out = [list(graph.out_edges(state, data=True)) for state in states]
    kinds = [_kind(graph.nodes[state], edges, state) for state, edges in zip(states, out, strict=True)]
    edges = [(number[a], number[b], data) for mine in out for a, b, data in mine]
    deciding = [kind in (Kind.MAX, Kind.MIN) for kind in kinds]
    for state, kind in zip(states, kinds, strict=True):
        if (given := graph.nodes[state].get("payoff", 0)) and kind != Kind.END:
            raise GameError("only an END has a payoff; intermediate rewards belong to edges", state=state, value=given)
    reward, exact_rewards = _numbers(((states[a], data) for a, _, data in edges), "reward", len(edges))
    payoff, exact_payoffs = _numbers(graph.nodes.data(), "payoff", len(states))
    weight, numerator, warnings = _weights(kinds, edges, states)
    return Network(
        kind=np.array(kinds),
        indptr=np.concatenate(([0], np.cumsum([len(mine) for mine in out]))),
        dst=np.array([b for _, b, _ in edges], dtype=np.int64),
        weight=weight,
        reward=reward,
        sign=np.array([_sign(data, states[a]) for a, _, data in edges], dtype=np.int8),
        step=np.array([bool(data.get("step", deciding[b])) for _, b, data in edges], dtype=bool),
        payoff=payoff,
        start=number[_start(graph, states)],
        discount=exact_discount(graph.graph.get("discount", 1)),
        horizon=graph.graph.get("horizon"),
        total=Fraction(finite_number(graph.graph.get("total", 0), "total")),
        sense=graph.graph.get("sense", "max"),
        numerator=numerator,
        states=states,
        actions=[name for at, mine in enumerate(out) if deciding[at] for name in _actions(mine, states[at])],
        exact_rewards=exact_rewards,
        exact_payoffs=exact_payoffs,
        warnings=warnings,
    )


def _kind(data: Any, edges: list[Any], state: Hashable) -> Kind:
    if (given := data.get("kind")) is None:
        if (weighted := [edge for _, _, edge in edges if "weight" in edge]) and len(weighted) < len(edges):
            msg = "some edges have a weight and some have none; chance has one on every edge, a decision on none"
            raise GameError(msg, state=state)
        return Kind.CHANCE if weighted else Kind.MAX if edges else Kind.END
    if (name := str(getattr(given, "name", given)).upper()) not in Kind.__members__:
        raise GameError(f"kind {given!r}: it is one of {', '.join(Kind.__members__)}", state=state, value=given)
    kind = Kind[name]
    if (kind == Kind.END) != (not edges):
        raise GameError("an END has no edges, and every other node has some", state=state, value=given)
    return kind


def _numbers(items: Iterable[tuple[Any, Any]], what: str, size: int) -> tuple[Floats, dict[int, Fraction]]:
    """Return an attribute of all nodes or edges as floats, and exactly where no float equals it."""
    given = (as_reward(data.get(what, 0), what, {"state": state}) for state, data in items)
    return split_exact(size, dict(enumerate(map(Fraction, given))))


def _sign(data: Any, state: Any) -> int:
    if (sign := data.get("sign", 1)) not in (1, -1):
        raise GameError(f"sign {sign!r}: it is -1 where the players change sides, else 1", state=state, value=sign)
    return int(sign)


def _start(graph: Any, states: list[Any]) -> Any:
    if (start := graph.graph.get("start")) is None:
        if len(sources := [state for state in states if graph.in_degree(state) == 0]) != 1:
            raise GameError(f"{len(sources)} nodes have no predecessor; say where to start: graph.graph['start'] = ...")
        return sources[0]
    if start not in graph:
        raise UnknownStateError(f"the start {start!r} is not a node of the graph", value=start)
    return start


def _weights(kinds: list[Kind], edges: list[Any], states: list[Any]) -> tuple[Floats, Any, tuple[str, ...]]:
    """Weights, exact numerators and warnings, found by `Network.from_choices` on the chance nodes alone."""
    inside = [at for at, (a, _, _) in enumerate(edges) if kinds[a] == Kind.CHANCE]
    for at in inside:
        if "weight" not in edges[at][2]:
            raise GameError("an edge of a CHANCE node has no weight", state=states[edges[at][0]])
    weight: Floats = np.ones(len(edges))
    numerator: Any = np.ones(len(edges))
    if not inside:
        return weight, numerator, ()
    given = [edges[at][2]["weight"] for at in inside]
    source = [edges[at][0] for at in inside]
    degree = Counter(source)
    n = len(degree)
    rows = Network.from_choices(
        [*range(n + 1), n],
        [0, *itertools.accumulate(degree.values())],
        [n] * len(inside),
        given,
        np.zeros(n),
        terminal={n: 0},
        # An end may have the name of a state; these are for errors only.
        states=[*(states[at] for at in degree), ("no state",)],
        actions=["chance"] * n,
    )
    # A row of one edge is no chance node there.
    exact = [Fraction(own_number(p, "weight")) for p in given]
    whole: defaultdict[int, Fraction] = defaultdict(Fraction)
    for a, p in zip(source, exact, strict=True):
        whole[a] += p
    # A probability below the smallest float is still one.
    weight[inside] = [nearest(p / whole[a]) for a, p in zip(source, exact, strict=True)]
    if any(not isinstance(p, float) for p in given):
        numerator = numerator.astype(object)
    numerator[inside] = exact if numerator.dtype == object else [float(p) for p in exact]
    return weight, numerator, rows.warnings


def _actions(edges: list[Any], state: Any) -> list[Hashable]:
    targets = [b for _, b, _ in edges]
    names: list[Hashable] = [
        data["action"] if "action" in data else b if targets.count(b) == 1 else k
        for k, (_, b, data) in enumerate(edges)
    ]
    try:
        twice = len(set(names)) < len(names)
    except TypeError as error:
        msg = f"an action cannot be hashed ({error}); use strings, numbers, tuples or frozen attrs classes"
        raise GameError(msg, state=state) from error
    if twice:
        raise GameError(f"two edges have the same action; the actions are {names!r}", state=state)
    return names


def to_networkx(network: Network) -> nx.MultiDiGraph:
    """Return a network as a graph with the attributes listed above: `Network.to_networkx`."""
    import networkx as nx

    about = {name: getattr(network, name) for name in ("start", "discount", "horizon", "total", "sense")}
    graph: nx.MultiDiGraph = nx.MultiDiGraph(**about)
    for node in range(network.n_nodes):
        kind, payoff = Kind(network.kind[node]).name, float(network.payoff[node])
        graph.add_node(node, kind=kind, state=network.state_of(node), payoff=payoff)
    for node in range(network.n_nodes):
        for edge in network.edges(node):
            data: dict[str, Hashable] = {
                "weight": float(network.weight[edge]),
                "reward": float(network.reward[edge]),
                "sign": int(network.sign[edge]),
                "step": bool(network.step[edge]),
            }
            if network.decides[node]:
                data["action"] = network.action_of(edge)
            graph.add_edge(node, int(network.dst[edge]), **data)
    return graph


# --- DOT -------------------------------------------------------------------------


def write_dot(
    network: Network, path: PathLike, *, policy: Policy | Solution | None = None, max_nodes: int = MAX_NODES
) -> None:
    """Write a drawing of a network for Graphviz: ``dot -Tsvg network.dot``.

    Decisions are boxes (of the minimiser: upside-down houses), chance nodes circles, ends double octagons; dashed
    edges are those of chance, with their probabilities, and the start has an arrow from nowhere.

    Parameters
    ----------
    network : Network
        The network, of at most `max_nodes` nodes.
    path : path
        Usually ending in ``.dot`` or ``.gv``.
    policy : Policy or Solution, optional
        Its choices are drawn bold; with a solution, nodes show their values too.
    max_nodes : int
        Largest network that is drawn.

    Raises
    ------
    UnsupportedError
        The network has more nodes, or the policy depends on the steps left.
    """
    require_network(network)
    if network.n_nodes > max_nodes:
        msg = f"a drawing of {network.n_nodes:,} nodes could not be read; draw less, or raise max_nodes={max_nodes:,}"
        raise UnsupportedError(msg, value=network.n_nodes, limit=max_nodes)
    chosen, values = _chosen(network, policy)
    write_lines(path, _dot(for_sense(network), chosen, values))


def _chosen(network: Network, policy: Any) -> tuple[set[int], Any]:
    if policy is None:
        return set(), None
    if policy.network.digest != network.digest:
        raise GameError("the policy belongs to another network; explore the game once and solve what you draw")
    solved = isinstance(policy, Solution)
    edges, values = (policy.nodes.choice, policy.nodes.values) if solved else (policy.choice, None)
    if edges.ndim != 1:
        raise UnsupportedError("with a horizon the best action depends on the steps left; solve without one to draw")
    return set(edges[edges >= 0].tolist()), values


_LOOKS = {
    Kind.END: 'shape=doubleoctagon, fillcolor="#f0f0f0"',
    Kind.MAX: 'shape=box, fillcolor="#cfe3f5"',
    Kind.MIN: 'shape=invhouse, fillcolor="#fbe0c4"',
    Kind.CHANCE: 'shape=circle, fillcolor="#ffffff"',
}


def _quoted(lines: list[str]) -> str:
    return '"' + "\n".join(lines).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _dot(network: Network, chosen: set[int], values: Any) -> Iterator[str]:
    yield "digraph network {"
    yield "  rankdir=LR;"
    yield '  node [fontname="sans-serif", style=filled];'
    yield '  edge [fontname="sans-serif"];'
    yield "  start [shape=point];"
    yield f"  start -> n{network.start};"
    for node, kind in enumerate(network.kind.tolist()):
        state = network.state_of(node)
        words = [] if state is None else [action_text(state)]
        if kind == Kind.END:
            words.append(f"pays {float(network.payoff[node]):g}")
        elif values is not None:
            words.append(f"= {float(values[node]):.6g}")
        yield f"  n{node} [{_LOOKS[kind]}, label={_quoted(words)}];"
    for node in range(network.n_nodes):
        for edge in network.edges(node):
            yield f"  n{node} -> n{int(network.dst[edge])} [{_edge(network, node, edge, chosen)}];"
    yield "}"


def _edge(network: Network, node: int, edge: int, chosen: set[int]) -> str:
    looks = []
    if network.decides[node]:
        words = [action_text(network.action_of(edge))]
        if edge in chosen:
            looks = ['color="#0b5fa5"', "penwidth=3"]
    else:
        words = [chance_text(network, edge, 4)]
        looks = ["style=dashed"]
    if network.reward[edge]:
        words.append(f"{float(network.reward[edge]):+g}")
    if network.sign[edge] < 0:
        words.append("other side")
        looks.append("arrowhead=normalodiamond")
    return ", ".join([f"label={_quoted([' '.join(words)])}", *looks])


def chance_text(network: Network, edge: int, digits: int) -> str:
    """Return the probability of an edge with `digits` digits, or as a fraction whose denominator has no more."""
    node = int(network.source[edge])
    p = network.row(node)[edge - int(network.indptr[node])]
    return str(p) if p.denominator < 10**digits else f"{float(p):.{digits}g}"
