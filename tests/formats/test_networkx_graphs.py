"""networkx graphs as networks, and networks as drawings."""

from __future__ import annotations

import collections
import re
from fractions import Fraction
from pathlib import Path

import attrs
import networkx as nx
import numpy as np
import pytest
from helpers.random_games import acyclic_games
from hypothesis import given, settings

from mdpdice import Game, Policy, d6, decide, end, explore, go, roll, solve
from mdpdice.errors import (
    GameError,
    ProbabilityRangeError,
    ProbabilitySumError,
    RewardNotFiniteError,
    UnknownStateError,
    UnsupportedError,
)
from mdpdice.formats import from_networkx, write_dot
from mdpdice.games.pig import Piglet, PigTurn

# --- networkx -----------------------------------------------------------------------


def test_shortest_ways_among_the_characters_of_les_miserables(tools) -> None:
    """A graph that comes with networkx; its own algorithm of Dijkstra is the reference."""
    people = nx.les_miserables_graph()
    graph = nx.DiGraph(start="Gribier")
    graph.add_nodes_from(people.nodes)
    for a, b, data in people.edges(data=True):
        for x, y in ((a, b), (b, a)):
            if x != "Valjean":
                graph.add_edge(x, y, reward=-data["weight"])
    network = from_networkx(graph)
    values = tools.float_values(network)
    length = nx.single_source_dijkstra_path_length(people, "Valjean")
    assert len(length) == 77
    assert {person: -values[network.node_of(person)] for person in people} == length


def test_a_random_walk_reaches_the_officer_of_the_karate_club(tools) -> None:
    """Chances of absorption by the two heads of Zachary's club, against a linear system by numpy."""
    club = nx.karate_club_graph()
    graph = nx.DiGraph(start=16)
    graph.add_nodes_from(club.nodes)
    graph.nodes[33]["payoff"] = 1
    for a in club:
        for b in club[a]:
            if a not in (0, 33):
                graph.add_edge(a, b, weight=Fraction(1, club.degree(a)))
    inner = [a for a in club if a not in (0, 33)]
    walk = np.array([[1 / club.degree(a) if b in club[a] else 0.0 for b in club] for a in inner])
    expected = np.linalg.solve(np.eye(32) - walk[:, inner], walk[:, 33])
    network = from_networkx(graph)
    assert tools.float_values(network)[inner] == pytest.approx(expected, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(game=acyclic_games(pass_on=True, totals=(0, 1)))
def test_what_a_network_hands_over_is_taken_back(game, tools) -> None:
    network = explore(game)
    back = from_networkx(network.to_networkx())
    for one, other in zip(sorted(edges_of(network)), sorted(edges_of(back)), strict=True):
        assert one == pytest.approx(other, abs=1e-15)
    assert (network.start, network.discount, network.total) == (back.start, back.discount, back.total)
    assert tools.float_values(back) == pytest.approx(tools.float_values(network), abs=1e-12)


def edges_of(network):
    """Edges with all that they hold; networkx puts those of one target side by side."""
    for node in range(network.n_nodes):
        for e in network.edges(node):
            action = network.action_of(e) if network.decides[node] else -1
            numbers = (network.dst[e], network.weight[e], network.reward[e], network.sign[e], network.step[e])
            yield (node, action, *(float(x) for x in numbers))


def test_defaults_and_exact_numbers(tools) -> None:
    graph = nx.MultiDiGraph(discount="1/2")
    graph.add_edge("top", "middle", reward=Fraction(1, 3))
    graph.add_edge("top", "middle", reward=1, action="up")
    graph.add_edge("middle", "top", weight="2/3")
    graph.add_edge("middle", "done", weight="1/3", reward="1/7")
    graph.add_node("done", payoff="5/11")
    graph.graph["start"] = "top"
    network = from_networkx(graph)
    assert [network.action_of(edge) for edge in network.edges(0)] == [0, "up"]
    assert network.step.tolist() == [False, False, True, False]
    top = tools.exact_values(network)[0]
    assert top == 1 + Fraction(2, 3) * top / 2 + Fraction(1, 3) * (Fraction(1, 7) + Fraction(5, 11))


def test_float_rows_are_normalised_and_recorded() -> None:
    graph = nx.DiGraph(start=0)
    graph.add_edge(0, 1, weight=1 / 3)
    graph.add_edge(0, 2, weight=2 / 3 + 1e-12)
    network = from_networkx(graph)
    assert "normalised" in network.warnings[0]
    assert sum(network.row(0)) == 1


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda g: g.graph.pop("start"), GameError, "say where to start"),
        (lambda g: g.graph.update(start="nowhere"), UnknownStateError, "nowhere"),
        (lambda g: g.graph.update(discount="half"), GameError, "discount is 'half'"),
        (lambda g: g.nodes["a"].update(kind="MIX"), GameError, "END, MAX, MIN, CHANCE"),
        (lambda g: g.nodes["a"].update(kind="END"), GameError, "END has no edges"),
        (lambda g: g.nodes["a"].update(payoff=1), GameError, "only an END"),
        (lambda g: g.nodes["c"].update(payoff=float("inf")), RewardNotFiniteError, "payoff is inf"),
        (lambda g: g.edges["a", "b"].update(reward="x"), GameError, "reward is 'x'"),
        (lambda g: g.edges["a", "b"].update(sign=2), GameError, "sign 2"),
        (lambda g: g.edges["a", "b"].update(action=1) or g.edges["a", "c"].update(action=1), GameError, "same action"),
        (lambda g: g.edges["b", "a"].pop("weight"), GameError, "some have none"),
        (lambda g: g.edges["b", "a"].update(weight="1/3"), ProbabilitySumError, "sum to"),
        (lambda g: g.edges["b", "a"].update(weight="half"), GameError, "'half', which is not a number"),
        (lambda g: g.nodes["a"].update(kind="CHANCE"), GameError, "has no weight"),
        (lambda g: g.edges["a", "b"].update(reward="1e400"), RewardNotFiniteError, "larger than every float"),
        (lambda g: g.nodes["c"].update(payoff=10**400), RewardNotFiniteError, "larger than every float"),
        (lambda g: g.edges["b", "a"].update(weight=10**400), ProbabilityRangeError, "outside"),
        (lambda g: g.edges["a", "b"].update(action=["up"]), GameError, "hashed"),
    ],
)
def test_attributes_that_are_wrong(change, error, match: str) -> None:
    graph = nx.DiGraph(start="a")
    graph.add_edge("a", "b")
    graph.add_edge("a", "c")
    graph.add_edge("b", "a", weight="1/2")
    graph.add_edge("b", "c", weight="1/2")
    from_networkx(graph)
    change(graph)
    with pytest.raises(error, match=match):
        from_networkx(graph)


def test_a_probability_below_the_smallest_float_is_one() -> None:
    graph = nx.DiGraph(start="a")
    graph.add_edge("a", "b", weight=Fraction(1, 10**400))
    graph.add_edge("a", "c", weight=1 - Fraction(1, 10**400))
    graph.nodes["b"]["payoff"] = 10**300
    assert solve(from_networkx(graph), solver="exact").exact() == Fraction(1, 10**100)


def test_graphs_without_directions_or_nodes() -> None:
    with pytest.raises(GameError, match="not a graph"):
        from_networkx({"a": ["b"]})
    with pytest.raises(GameError, match="no direction"):
        from_networkx(nx.Graph([(0, 1)]))
    with pytest.raises(GameError, match="no nodes"):
        from_networkx(nx.DiGraph())


# --- drawings -------------------------------------------------------------------------

NODE = re.compile(r'^  n(\d+) \[shape=(\w+), fillcolor="(#\w+)", label="((?:[^"\\]|\\.)*)"\];$')
EDGE = re.compile(r'^  n(\d+) -> n(\d+) \[label="((?:[^"\\]|\\.)*)"(.*)\];$')


def drawing(path: Path):
    lines = path.read_text(encoding="utf-8").splitlines()
    assert (lines[0], lines[-1]) == ("digraph network {", "}")
    nodes = {int(m[1]): m.groups()[1:] for line in lines if (m := NODE.match(line))}
    edges = [(int(m[1]), int(m[2]), m[3], m[4]) for line in lines if (m := EDGE.match(line))]
    known = len(nodes) + len(edges)
    assert known == len(lines) - 7  # the frame, three settings, and the start with its arrow
    start = [line for line in lines if line.startswith("  start -> ")]
    return nodes, edges, int(start[0].removeprefix("  start -> n").removesuffix(";"))


def test_kinds_are_told_apart_by_shape_and_the_policy_is_bold(tmp_path: Path) -> None:
    network = explore(PigTurn(cap=6))
    solution = solve(network)
    write_dot(network, tmp_path / "x.dot", policy=solution)
    nodes, edges, start = drawing(tmp_path / "x.dot")
    shapes = {"END": "doubleoctagon", "MAX": "box", "CHANCE": "circle"}
    graph = network.to_networkx()
    assert {n: shapes[data["kind"]] for n, data in graph.nodes(data=True)} == {n: look[0] for n, look in nodes.items()}
    assert collections.Counter((a, b) for a, b, _, _ in edges) == collections.Counter(graph.edges())
    assert start == network.start
    bold = {(a, label) for a, _, label, look in edges if "penwidth=3" in look}
    best = {(network.node_of(s), solution.action(s)) for s in network.states if network.decides[network.node_of(s)]}
    assert bold == best
    assert all("dashed" in look for a, _, _, look in edges if nodes[a][0] == "circle")
    assert {label for a, _, label, _ in edges if nodes[a][0] == "circle"} == {"1/6"}
    assert nodes[network.node_of(0)][2].startswith("0\\n= 5.37963")


def test_a_policy_of_ones_own_is_drawn_without_values(tmp_path: Path) -> None:
    network = explore(PigTurn(cap=6))
    write_dot(network, tmp_path / "x.dot", policy=Policy.of(network, lambda points: "hold"))
    _, edges, _ = drawing(tmp_path / "x.dot")
    assert {label for _, _, label, look in edges if "penwidth" in look} == {"hold"}
    assert " = " not in (tmp_path / "x.dot").read_text()


def test_quotes_rewards_and_changing_sides_are_drawn(tmp_path: Path) -> None:
    game = Game.of(
        start='say "hi"\\', node=lambda s: decide({'a "b"': end(1)}) if s == 1 else roll(d6, lambda k: go(1, reward=k))
    )
    write_dot(explore(game), tmp_path / "x.dot")
    nodes, edges, _ = drawing(tmp_path / "x.dot")
    assert nodes[0][2] == 'say \\"hi\\"\\\\'
    assert any(label == 'a \\"b\\"' for _, _, label, _ in edges)
    assert any(re.fullmatch(r"1 \+3.5|1/6 \+\d", label) for _, _, label, _ in edges)
    write_dot(explore(Piglet(goal=2)), tmp_path / "y.dot")
    assert "normalodiamond" in (tmp_path / "y.dot").read_text()


def test_drawings_have_limits(tmp_path: Path) -> None:
    network = explore(PigTurn(cap=6))
    with pytest.raises(UnsupportedError, match="max_nodes=10"):
        write_dot(network, tmp_path / "x.dot", max_nodes=10)
    timed = attrs.evolve(network, horizon=2)
    with pytest.raises(UnsupportedError, match="steps left"):
        write_dot(timed, tmp_path / "x.dot", policy=solve(timed))
    with pytest.raises(GameError, match="another network"):
        write_dot(network, tmp_path / "x.dot", policy=solve(PigTurn(cap=7)))
    assert list(tmp_path.iterdir()) == []
