"""Graph searches against networkx and brute force."""

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice.numerics import graph


def rows(n, edges):
    """CSR arrays of a list of (from, to), and the list in the order of the arrays."""
    edges = sorted(edges, key=lambda e: e[0])
    indptr = np.searchsorted([i for i, _ in edges], np.arange(n + 1)).astype(np.int64)
    return indptr, np.array([j for _, j in edges], dtype=np.int64), edges


@st.composite
def graphs(draw, max_nodes=9):
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    indptr, dst, edges = rows(n, draw(st.lists(st.tuples(node, node), max_size=3 * n)))
    keep = np.array(draw(st.lists(st.booleans(), min_size=len(edges), max_size=len(edges))), dtype=np.bool_)
    return indptr, dst, edges, keep


def as_networkx(n, edges):
    g = nx.DiGraph()
    g.add_nodes_from(range(n))
    g.add_edges_from(edges)
    return g


@given(graphs(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_components_are_those_of_networkx_and_edges_never_lead_to_a_larger_label(sample, masked):
    indptr, dst, edges, keep = sample
    n = len(indptr) - 1
    kept = [e for e, k in zip(edges, keep, strict=True) if k or not masked]
    label = graph.strong_components(indptr, dst, keep if masked else None)
    found = {frozenset(np.flatnonzero(label == c).tolist()) for c in range(label.max() + 1)}
    assert found == {frozenset(c) for c in nx.strongly_connected_components(as_networkx(n, kept))}
    assert all(label[j] <= label[i] for i, j in kept)


@given(graphs())
@settings(deadline=None)
def test_the_order_groups_the_nodes_by_component_later_ones_first(sample):
    indptr, dst, _, keep = sample
    label = graph.strong_components(indptr, dst, keep)
    order, ptr = graph.component_order(label)
    assert len(ptr) == label.max() + 2
    assert ptr[-1] == len(order) == len(label)
    for c in range(len(ptr) - 1):
        assert order[ptr[c] : ptr[c + 1]].tolist() == np.flatnonzero(label == c).tolist()[::-1]


@given(graphs())
@settings(max_examples=100, deadline=None)
def test_cycles(sample):
    indptr, dst, edges, keep = sample
    n = len(indptr) - 1
    kept = [e for e, k in zip(edges, keep, strict=True) if k]
    acyclic = nx.is_directed_acyclic_graph(as_networkx(n, kept))
    assert graph.is_acyclic(indptr, dst, keep) == acyclic
    cycle = graph.find_cycle(indptr, dst, keep)
    assert (cycle == []) == acyclic
    assert len(set(cycle)) == len(cycle)
    assert all(pair in kept for pair in zip(cycle, cycle[1:] + cycle[:1], strict=True))


def test_the_cycle_shown_is_short():
    # A ring of 50 with one chord back, and a second ring of 3 that is easier to read.
    ring = [(i, (i + 1) % 50) for i in range(50)]
    indptr, dst, _ = rows(53, [*ring, (0, 50), (50, 51), (51, 52), (52, 50)])
    assert graph.find_cycle(indptr, dst) == [50, 51, 52]
    indptr, dst, _ = rows(50, [*ring, (2, 0)])
    assert graph.find_cycle(indptr, dst) == [0, 1, 2]
    indptr, dst, _ = rows(50, [*ring, (7, 7)])
    assert graph.find_cycle(indptr, dst) == [0, *range(1, 50)]


@given(graphs(), st.data())
@settings(deadline=None)
def test_reachable(sample, data):
    indptr, dst, edges, keep = sample
    n = len(indptr) - 1
    starts = data.draw(st.lists(st.integers(0, n - 1), max_size=3))
    g = as_networkx(n, [e for e, k in zip(edges, keep, strict=True) if k])
    want = set(starts).union(*(nx.descendants(g, s) for s in starts))
    assert set(np.flatnonzero(graph.reachable(indptr, dst, starts, keep)).tolist()) == want


def is_end_component(nodes, edges, chance):
    """By the definition, for one set of nodes."""
    nodes = set(nodes)
    for i in nodes:
        own = [j for k, j in edges if k == i]
        if not any(j in nodes for j in own) or (chance[i] and not all(j in nodes for j in own)):
            return False
    return nx.is_strongly_connected(nx.DiGraph([e for e in edges if nodes.issuperset(e)]))


@given(graphs(max_nodes=6), st.lists(st.booleans(), min_size=6, max_size=6))
@settings(max_examples=100, deadline=None)
def test_end_components_are_the_maximal_sets_in_which_a_play_can_stay(sample, chance):
    indptr, dst, edges, keep = sample
    n = len(indptr) - 1
    kept = [e for e, k in zip(edges, keep, strict=True) if k]
    sets = [
        frozenset(s)
        for size in range(1, n + 1)
        for s in itertools.combinations(range(n), size)
        if is_end_component(s, kept, chance)
    ]
    maximal = {s for s in sets if not any(s < other for other in sets)}
    label = graph.end_components(indptr, dst, np.array(chance[:n]), keep)
    assert {frozenset(np.flatnonzero(label == c).tolist()) for c in range(label.max() + 1)} == maximal
    firsts = [int(np.flatnonzero(label == c)[0]) for c in range(label.max() + 1)]
    assert firsts == sorted(firsts)


def test_an_end_component_needs_every_edge_of_its_chance_nodes():
    # 0 decides between the coin 1 and the end 2; the coin goes back or ends.
    indptr, dst, _ = rows(3, [(0, 1), (0, 2), (1, 0), (1, 2)])
    chance = np.array([False, True, False])
    assert graph.end_components(indptr, dst, chance).tolist() == [-1, -1, -1]
    # Without its edge to the end, the coin holds the play.
    keep = np.array([True, True, True, False])
    assert graph.end_components(indptr, dst, chance, keep).tolist() == [0, 0, -1]
    # The player may also be kept from going there.
    keep = np.array([False, True, True, False])
    assert graph.end_components(indptr, dst, chance, keep).tolist() == [-1, -1, -1]


@pytest.mark.parametrize("closed", [False, True])
def test_a_million_nodes_in_a_chain_or_a_ring_take_no_recursion(closed):
    n = 10**6
    dst = np.append(np.arange(1, n), 0) if closed else np.arange(1, n)
    indptr = np.minimum(np.arange(n + 1), len(dst))
    label = graph.strong_components(indptr, dst)
    assert label.max() == (0 if closed else n - 1)
    assert graph.is_acyclic(indptr, dst) != closed
    assert len(graph.find_cycle(indptr, dst)) == (n if closed else 0)
    assert graph.reachable(indptr, dst, [7]).sum() == (n if closed else n - 7)
    inside = graph.end_components(indptr, dst, np.zeros(n, dtype=np.bool_))
    assert (inside == (0 if closed else -1)).all()


def escaping(indptr, dst, chance):
    """Nodes from which play always comes to an end: those of the smallest set that its own rule adds nothing to."""
    sure = np.diff(indptr) == 0
    while True:
        successors = [sure[dst[a:b]] for a, b in itertools.pairwise(indptr.tolist())]
        more = [bool(s.any() if c else s.all()) or e for s, c, e in zip(successors, chance, sure, strict=True)]
        if (more == sure).all():
            return sure
        sure = np.array(more)


@given(graphs(max_nodes=12), st.lists(st.booleans(), min_size=12, max_size=12))
@settings(max_examples=100, deadline=None)
def test_ranks_are_there_where_play_always_ends_and_fall_on_the_way(sample, coins):
    indptr, dst, _, _ = sample
    ends = np.diff(indptr) == 0
    chance = np.array(coins[: len(ends)]) & ~ends
    rank = np.where(ends, 0, -1)
    whole = graph.ranked_components(indptr, dst, np.ones(len(dst), dtype=np.bool_), chance, rank)[3]
    sure = escaping(indptr, dst, chance)
    if sure.all():
        assert not whole or (rank >= 0).all()
    assert sure[rank >= 0].all()
    for node in np.flatnonzero((rank >= 0) & ~ends).tolist():
        ahead = rank[dst[indptr[node] : indptr[node + 1]]]
        falls = (ahead >= 0) & (ahead < rank[node])
        assert falls.any() if chance[node] else falls.all()
