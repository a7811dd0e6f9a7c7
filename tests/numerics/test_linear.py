"""Linear systems of chains: every way of solving a component against dense algebra and closed forms."""

from fractions import Fraction

import attrs
import numpy as np
import pytest
from scipy.sparse import csr_array

from mdpdice import Dist, Game, Kind, Network, Policy, decide, explore, go, roll
from mdpdice.numerics import linear
from mdpdice.numerics.operator import bellman
from mdpdice.numerics.rational import solve_exactly
from mdpdice.policies.markov_chain import induce


def random_chain(seed, size, back):
    """A chain that mostly moves on, with `back` of its edges leading to anywhere, and one end."""
    rng = np.random.default_rng(seed)
    targets = [[0]]
    for node in range(1, size):
        ahead = min(node + 1, size - 1)
        choices = {ahead, *(int(x) for x in rng.integers(0, size, rng.binomial(2, back)))}
        targets.append(sorted(choices - {node}) or [0])
    targets[size - 1] = [0, 1]
    dst = np.concatenate(targets[1:])
    degree = np.array([0, *map(len, targets[1:])])
    parts = rng.integers(1, 9, len(dst))
    source = np.repeat(np.arange(size), degree)
    weight = parts / np.bincount(source, weights=parts, minlength=size)[source]
    return Network(
        kind=np.where(degree > 0, Kind.CHANCE, Kind.END),
        indptr=np.concatenate(([0], np.cumsum(degree))),
        dst=dst,
        weight=weight,
        reward=rng.integers(-3, 4, len(dst)),
        sign=np.ones(len(dst)),
        step=np.zeros(len(dst)),
        payoff=np.where(degree > 0, 0.0, 5.0),
        start=1,
        numerator=parts,
    )


def dense(chain, operator):
    matrix = np.eye(chain.n_nodes)
    np.add.at(matrix, (chain.source, chain.dst), -operator.coef)
    return np.linalg.solve(matrix, operator.base)


WAYS = {
    "knots": {"REDUCE_UP_TO_KNOTS": 10**6, "REDUCE_FROM_NODES_PER_KNOT": 0},
    "dense": {"REDUCE_UP_TO_KNOTS": -1, "ELIMINATE_UP_TO_NODES": 10**6},
    "large": {"REDUCE_UP_TO_KNOTS": -1, "ELIMINATE_UP_TO_NODES": 0},
    "factorised": {"REDUCE_UP_TO_KNOTS": -1, "ELIMINATE_UP_TO_NODES": 0, "ROUNDS": 0},
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("back", [0.05, 0.5])
def test_every_way_of_solving_a_component(way, signed, back, monkeypatch):
    for name, number in WAYS[way].items():
        monkeypatch.setattr(linear, name, number)
    for seed in range(5):
        chain = random_chain(seed, 60, back)
        if signed:
            rng = np.random.default_rng(seed)
            chain = attrs.evolve(chain, sign=rng.choice([1, -1], chain.n_edges))
        operator = bellman(chain)
        found = linear.solve_chain(operator, stochastic=not signed)
        expected = dense(chain, operator)
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
        if seed == 0:
            exact = solve_exactly(chain)
            assert np.allclose(found, [float(value) for value in exact], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("way", ["knots", "dense"])
def test_nothing_is_subtracted(way, monkeypatch):
    # A walk that leaves upwards with chance 1e-300 for every visit, and downwards with half of that.
    for name, number in WAYS[way].items():
        monkeypatch.setattr(linear, name, number)
    chain = Network(
        kind=[Kind.CHANCE, Kind.CHANCE, Kind.END, Kind.END],
        indptr=[0, 2, 5, 5, 5],
        dst=[1, 0, 0, 2, 3],
        weight=[0.5, 0.5, 1.0, 1e-300, 5e-301],
        reward=[0] * 5,
        sign=[1] * 5,
        step=[False] * 5,
        payoff=[0, 0, 1, 0],
        start=0,
    )
    found = linear.solve_chain(bellman(chain), stochastic=True)
    assert found[:2] == pytest.approx(2 / 3, rel=1e-14)


def test_a_singular_component_is_not_a_number_and_no_crash():
    # Signed cycles may be singular: V = -V' and V' = -V.
    chain = Network(
        kind=[Kind.CHANCE, Kind.CHANCE],
        indptr=[0, 1, 2],
        dst=[1, 0],
        weight=[1, 1],
        reward=[1, 0],
        sign=[-1, -1],
        step=[False] * 2,
        payoff=[0, 0],
        start=0,
    )
    assert np.isnan(linear.solve_chain(bellman(chain))).all()


def test_components_are_reduced_to_few_knots(monkeypatch):
    # A circle of a thousand nodes has one knot; the dense and the large solver must not be asked.
    def refuse(*_args):
        raise AssertionError

    monkeypatch.setattr(linear, "_solve_large", refuse)
    network = explore(
        Game.of(
            start=0,
            node=lambda s: decide(
                {"on": roll(Dist({0: 1, 1: 999}), lambda k: go((s + 1) % 1000 if k else 0, reward=k))}
            ),
            discount=Fraction(99, 100),
        )
    )
    chain = induce(network, Policy.uniform(network)).network
    found = linear.solve_chain(bellman(chain))
    # Every state is worth the same: v = p (1 + g v) + (1 - p) g v.
    assert found[chain.start] == pytest.approx(0.999 / (1 - 0.99), rel=1e-12)


def test_small_and_large_components_one_after_the_other(monkeypatch):
    # Circles of two to nine nodes in a row; those of more than two knots are left to the caller.
    monkeypatch.setattr(linear, "REDUCE_UP_TO_KNOTS", 2)
    targets, start = [[]], 1
    for size in (2, 7, 3, 9, 2, 8, 4):
        # Back to several nodes, so that larger circles have more knots.
        targets += [[start + (at + 1) % size, start + at // 2, max(0, start - 1)] for at in range(size)]
        start += size
    degree = [len(row) for row in targets]
    chain = Network(
        kind=[Kind.CHANCE if row else Kind.END for row in targets],
        indptr=np.concatenate(([0], np.cumsum(degree))),
        dst=np.concatenate([row for row in targets if row]),
        weight=np.tile([0.5, 0.25, 0.25], start - 1),
        reward=np.arange(3 * (start - 1)) % 5,
        sign=np.ones(3 * (start - 1)),
        step=np.zeros(3 * (start - 1)),
        payoff=np.where(np.array(degree) > 0, 0.0, 2.0),
        start=start - 1,
    )
    asked = []
    solve = linear._solve_block

    def watched(chain, block, *args, **options):
        asked.append(len(block))
        return solve(chain, block, *args, **options)

    monkeypatch.setattr(linear, "_solve_block", watched)
    operator = bellman(chain)
    assert np.allclose(linear.solve_chain(operator, stochastic=True), dense(chain, operator), rtol=1e-12)
    assert sorted(asked) == [7, 8, 9]


def test_a_line_is_solved_in_a_band(monkeypatch):
    """An iteration needs as many steps as there are nodes: forty seconds for 20,000 of them."""

    def never(*_args):
        pytest.fail("a line is no case for an iteration")

    monkeypatch.setattr(linear, "compiled_bicgstab", never)
    size = 3001
    inner = np.arange(1, size - 1)
    rng = np.random.default_rng(5)
    chain = Network(
        kind=[Kind.END] + [Kind.CHANCE] * (size - 2) + [Kind.END],
        indptr=np.concatenate(([0, 0], 2 * inner, [2 * (size - 2)])),
        dst=np.stack((inner - 1, inner + 1), 1).ravel(),
        weight=np.full(2 * (size - 2), 0.5),
        reward=np.ones(2 * (size - 2)),
        sign=np.ones(2 * (size - 2)),
        step=np.zeros(2 * (size - 2)),
        payoff=np.zeros(size),
        start=1,
    )
    nodes = np.arange(size)
    wanted = nodes * (size - 1 - nodes)  # steps of a fair walk to either end
    assert linear.solve_chain(bellman(chain)) == pytest.approx(wanted, rel=1e-9)
    # In whatever order the nodes stand.
    place = np.concatenate(([0], 1 + rng.permutation(size - 2), [size - 1]))
    order = np.argsort(place)
    shuffled = attrs.evolve(chain, dst=place[chain.dst.reshape(-1, 2)[order[1:-1] - 1]].ravel())
    assert linear.solve_chain(bellman(shuffled)) == pytest.approx(wanted[order], rel=1e-9)


def test_a_wide_system_has_no_band():
    rng = np.random.default_rng(6)
    chances = csr_array((np.full(900, 0.3), (np.repeat(np.arange(300), 3), rng.integers(0, 300, 900))))
    assert linear._solve_narrow(chances, np.ones(300)) is None
