"""The numbering of positions, and the network made of arrays against exploring state by state."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from helpers.knucklebones_arrays import Encoding, network

from mdpdice import explore
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.knucklebones import Facing, Knucklebones
from mdpdice.games.knucklebones.rules import sort_columns

SMALL = [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1)]


@pytest.mark.parametrize(("columns", "rows"), [*SMALL, (2, 2)])
def test_ranks_are_a_bijection(columns, rows):
    encoding = Encoding.of(Knucklebones(columns=columns, rows=rows))
    ranks = np.arange(encoding.count)
    numbers = encoding.unrank(ranks)
    assert numbers.min() == 0
    assert numbers.max() == len(encoding.pairs) - 1
    assert (np.diff(numbers, axis=1) >= 0).all()
    np.testing.assert_array_equal(encoding.rank(numbers), ranks)
    np.testing.assert_array_equal(encoding.rank(numbers[:, ::-1]), ranks)
    # Every multiset has a rank: as many as there are, and no two alike.
    assert len({tuple(row) for row in numbers.tolist()}) == encoding.count
    assert encoding.count == math.comb(len(encoding.pairs) + columns - 1, columns)


@pytest.mark.parametrize(("columns", "rows"), [(2, 3), (3, 2), (3, 3)])
def test_ranks_of_large_boards(columns, rows):
    encoding = Encoding.of(Knucklebones(columns=columns, rows=rows))
    ranks = np.unique(np.random.default_rng(3).integers(0, encoding.count, 20_000))
    ranks = np.union1d(ranks, [0, encoding.count - 1])
    numbers = encoding.unrank(ranks)
    assert (numbers[0] == 0).all()
    assert (numbers[-1] == len(encoding.pairs) - 1).all()
    assert (np.diff(numbers, axis=1) >= 0).all()
    np.testing.assert_array_equal(encoding.rank(numbers), ranks)
    for rank in ranks[:200].tolist():
        mine, theirs = encoding.boards(rank)
        assert encoding.rank_of(mine, theirs) == rank
        assert encoding.rank_of(mine[::-1], theirs[::-1]) == rank
        assert sort_columns(mine, theirs) == (mine, theirs)


def test_counts():
    assert Encoding.of(Knucklebones(columns=3, rows=3)).count == 4_812_987_894
    assert len(Encoding.of(Knucklebones(columns=3, rows=2)).pairs) ** 3 == 128_787_625


def renumbered(flat, other):
    """Nodes of one network in the order of another one that has the same states."""
    known = {state: node for node, state in enumerate(flat.states)}
    nodes = np.full(other.n_nodes, -1)
    nodes[other.state_node] = [known[state] for state in other.states]
    payoffs = {float(flat.payoff[node]): node for node in np.flatnonzero(flat.kind == 0)}
    for node in np.flatnonzero(nodes < 0):
        nodes[node] = payoffs[float(other.payoff[node])]
    return nodes


@pytest.mark.parametrize(
    ("columns", "rows", "scoring"),
    [
        *((*size, scoring) for size in SMALL[:4] for scoring in ("matching", "whole-column", "plain")),
        (3, 1, "matching"),
        pytest.param(2, 2, "matching", marks=pytest.mark.slow),
    ],
)
def test_the_network_is_the_explored_one(columns, rows, scoring):
    game = Knucklebones(columns=columns, rows=rows, scoring=scoring)
    one, two = network(game), explore(game)
    assert (one.n_states, one.n_edges) == (two.n_states, two.n_edges)
    nodes = renumbered(one, two)
    assert len(set(nodes.tolist())) == two.n_nodes
    np.testing.assert_array_equal(one.kind[nodes], two.kind)
    np.testing.assert_array_equal(one.payoff[nodes], two.payoff)
    assert nodes[two.start] == one.start
    # Rows edge by edge: options in the order of the columns, outcomes in that of the die.
    degree = np.diff(two.indptr)
    np.testing.assert_array_equal(np.diff(one.indptr)[nodes], degree)
    edges = np.repeat(one.indptr[nodes] - two.indptr[:-1], degree) + np.arange(two.n_edges)
    np.testing.assert_array_equal(one.dst[edges], nodes[two.dst])
    for name in ("weight", "reward", "sign", "step"):
        np.testing.assert_array_equal(getattr(one, name)[edges], getattr(two, name))
    names = np.zeros(one.n_edges, dtype=int)
    names[one.decides[one.source]] = list(one.actions)
    np.testing.assert_array_equal(names[edges][two.decides[two.source]], two.actions)


@pytest.mark.parametrize(("columns", "rows"), SMALL)
def test_states_that_are_sure_to_be_there(columns, rows):
    game = Knucklebones(columns=columns, rows=rows)
    found = network(game).states
    # Counted one by one: both boards have as many dice, and facing columns have no value in common.
    equal = [
        state
        for state in found
        if sum(map(len, state.mine)) == sum(map(len, state.theirs))
        and not any(set(mine) & set(theirs) for mine, theirs in zip(state.mine, state.theirs, strict=True))
    ]
    assert len(equal) == game.least_states() <= len(found)


def test_what_is_refused():
    with pytest.raises(GameError, match="explore it"):
        network(Knucklebones(columns=1, rows=1, payoff="points"))
    with pytest.raises(GameError, match="too many for arrays"):
        Encoding.of(Knucklebones(columns=4, rows=3))
    encoding = Encoding.of(Knucklebones(columns=1, rows=2))
    with pytest.raises(UnknownStateError):
        encoding.rank_of(((1,),), ((1, 2),))
    with pytest.raises(UnknownStateError):
        encoding.rank_of(((1, 1, 1),), ((),))


def test_states_are_a_sequence():
    flat = network(Knucklebones(columns=1, rows=2))
    states = flat.states
    assert isinstance(states[0], Facing)
    assert states[-1] == list(states)[-1] == states[len(states) - 1]
    assert list(states) == [states[at] for at in range(len(states))]
    assert states[:3] == list(itertools.islice(states, 3))
    with pytest.raises(IndexError):
        states[len(states)]
    assert list(flat.actions)[:4] == flat.actions[:4] == [1, 1, 1, 1]
