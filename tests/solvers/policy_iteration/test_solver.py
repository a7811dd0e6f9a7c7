"""Policy iteration against trying all policies, against exact arithmetic, and its linear systems against dense ones."""

from __future__ import annotations

import itertools
import math
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from helpers.policy_enumeration import (
    CHANCE,
    END,
    MAX,
    MIN,
    best_value,
    guaranteed,
    haddad_monmege,
    network,
    networks,
    policies,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mdpdice import Status, solve
from mdpdice.backend import Feature, Run, Solver, calls_recorded
from mdpdice.errors import GameError, NotConvergedError, SolveInterrupted, UnsupportedError
from mdpdice.networks.network import Network
from mdpdice.numerics.operator import bellman
from mdpdice.objectives.reductions import unroll
from mdpdice.solvers.exact import Exact
from mdpdice.solvers.policy_iteration import PolicyIteration, blocks, evaluation, reduction

KINDS = {
    "one player, ends may pay": {"rewards": (0, 0, -1)},
    "minimiser": {"kinds": (MIN,), "rewards": (0, 0, 1)},
    "discounted": {"discount": Fraction(2, 3), "rewards": (0, 1, -2)},
    "stopping, two players": {"kinds": (MAX, MIN), "rewards": (0, 1, -2), "stopping": True},
    "endless, two players": {"kinds": (MAX, MIN)},
    "paying, two players": {"kinds": (MAX, MIN), "rewards": (0, 0, 1, -1)},
    "discounted, two players": {"kinds": (MAX, MIN), "discount": Fraction(1, 2), "rewards": (0, 1, -1)},
    "pass_to": {"signs": True},
    "pass_to, discounted": {"signs": True, "discount": Fraction(3, 4), "rewards": (0, 2, -1)},
}
MOST = 150
"""Pairs of policies to try."""


def propose(net, *, run=None, **parameters):
    return PolicyIteration(**parameters).solve(net, run or Run())


@pytest.mark.parametrize("kind", KINDS)
def test_values_and_policies_by_trying_all_policies(kind):
    compared = 0

    @given(networks(**KINDS[kind]))
    @settings(max_examples=50, deadline=None)
    def compare(net):
        nonlocal compared
        assume(policies(net) <= MOST)
        best = best_value(net)
        assume(best is not None)
        if any(abs(x) == math.inf for x in best):
            with pytest.raises(UnsupportedError):
                propose(net)
            return
        found = propose(net)
        np.testing.assert_allclose(found.value, [float(x) for x in best], rtol=1e-12, atol=1e-12)
        assert guaranteed(net, found.policy) == (best, best)
        compared += 1

    compare()
    assert compared >= 6


def test_the_maximiser_flees_to_where_chance_goes_round_for_nothing():
    # Going round costs 1 each time; elsewhere the opponent chooses between an end for -3 and chance that never ends.
    net = Network(
        [CHANCE, MIN, MAX, END], [0, 1, 3, 5, 5], [0, 0, 3, 1, 2], [1] * 5, [0, 0, 0, 0, -1], [1] * 5, [0] * 5,
        [0, 0, 0, -3], 2,
    )  # fmt: skip
    assert propose(net).value.tolist() == [0, -3, -3, -3]


@pytest.mark.parametrize("direct", [0, 2, 1000])
@pytest.mark.parametrize("sweeps", [0, 5])
def test_every_way_to_evaluate_gives_the_exact_values(direct, sweeps):
    rng = np.random.default_rng(direct + sweeps)
    for discount, kinds in itertools.product((1, Fraction(99, 100)), ((MAX,), (MAX, MIN))):
        net = random_component(rng, 60, discount=discount, kinds=kinds)
        expected = Exact().solve(net, Run()).value
        found = propose(net, direct=direct, sweeps=sweeps)
        np.testing.assert_allclose(found.value, expected, rtol=1e-10, atol=1e-10)
        solution = solve(net, solver=PolicyIteration(direct=direct, sweeps=sweeps))
        assert solution.status is Status.CERTIFIED


def random_component(rng, n, *, discount=1, kinds=(MAX,), leave=0.01, options=3, width=4):
    """A strongly connected network of n decisions in a ring, with chance nodes that may end."""
    m = n * options
    target = rng.integers(0, n, (m, width))
    target[::options, 0] = (np.arange(n) + 1) % n
    weight = rng.random((m, width)) + 0.05
    weight *= (1 - leave) / weight.sum(axis=1, keepdims=True)
    end = n + m
    kind = [*rng.choice(kinds, n), *[CHANCE] * m, END]
    dst = np.concatenate((n + np.arange(m), np.column_stack((target, np.full(m, end))).ravel()))
    chance_weight = np.column_stack((weight, 1 - weight.sum(axis=1))).ravel()
    edges = m + m * (width + 1)
    degree = [options] * n + [width + 1] * m + [0]
    return Network(
        kind=kind,
        indptr=np.cumsum([0, *degree]),
        dst=dst,
        weight=np.concatenate((np.ones(m), chance_weight)),
        reward=np.concatenate((rng.integers(-3, 4, m), np.zeros(edges - m))),
        sign=np.ones(edges),
        step=np.arange(edges) >= m,
        payoff=[0.0] * end + [1.0],
        start=0,
        discount=discount,
    )


@pytest.mark.parametrize("discount", [1, Fraction(99, 100)])
def test_a_large_component_by_krylov(discount):
    net = random_component(np.random.default_rng(7), 1500, discount=discount, leave=1e-2)
    solution = solve(net, solver="policy-iteration", epsilon=1e-8)
    assert solution.status is Status.CERTIFIED
    assert solution.iterations < 40


def test_long_plays_keep_every_digit():
    # A float factorisation of this chain gives 0.018 for 0.7.
    answer = propose(haddad_monmege(60))
    assert answer.value[0] == pytest.approx(0.7, rel=1e-13)
    exact = Exact().solve(haddad_monmege(60), Run()).value
    np.testing.assert_allclose(answer.value, exact, rtol=1e-12)


def test_stages_of_a_horizon_side_by_side():
    net = network([(MAX, [(1, 1), (2,)]), (CHANCE, [(0, 0, 0.5), (2, 0, 0.5)]), (END, 3)], horizon=4)
    flat = unroll(net)
    found = propose(flat.network)
    assert flat.value(found.value).tolist() == Exact().solve(net, Run()).value.tolist()


def test_traps_and_pass_to():
    net = network([(MAX, [(2,), (1,)]), (MIN, [(0,), (3,)]), (END, -5), (END, 3)])
    assert propose(net).value.tolist() == [0, 0, -5, 3]
    # The first to toss heads wins 1/2, the other one loses it; the mover may also pass.
    net = network([(MAX, [(1,), (0, 0, 1.0, -1)]), (CHANCE, [(2, 0, 0.5), (0, 0, 0.5, -1)]), (END, 0.5)])
    answer = propose(net)
    assert answer.value[0] == pytest.approx(1 / 6, rel=1e-14)
    assert answer.policy.tolist() == [0, -1, -1]


def test_a_policy_that_pays_for_ever_is_left():
    # Costs everywhere; only a far way leads out, and going in circles is cheaper at first sight.
    n = 30
    nodes = [(MAX, [(max(i - 1, 0), -1), (i + 1, -3)]) for i in range(n)]
    answer = propose(network([*nodes, (END, 0)]))
    assert answer.value.tolist() == [-3.0 * (n - i) for i in range(n)] + [0.0]
    assert answer.policy[:n].tolist() == [2 * i + 1 for i in range(n)]


def test_who_loses_for_ever_makes_for_the_way_out():
    # The maximiser collects 1 on every round from the minimiser, who would rather pay 4 once.
    net = network([(MIN, [(1,), (2,)]), (MAX, [(0, 1), (3,), (4, -2)]), (END, 4), (END, 0), (MIN, [(4,)])])
    answer = propose(net)
    assert answer.value.tolist() == [4, 5, 4, 0, 0]
    assert answer.policy.tolist() == [1, 2, -1, -1, 5]
    # The same with the sides exchanged.
    net = network([(MAX, [(1,), (2,)]), (MIN, [(0, -1), (3,), (4, 2)]), (END, -4), (END, 0), (MAX, [(4,)])])
    assert propose(net).value.tolist() == [-4, -5, -4, 0, 0]


def test_the_incumbent_stays_on_ties():
    # All ways are equally good, and two of them lead around.
    net = network([(MAX, [(1,), (2,)]), (MAX, [(0,), (2,)]), (END, 3)])
    for _ in range(2):
        answer = propose(net)
        assert answer.value.tolist() == [3, 3, 3]
        assert guaranteed(net, answer.policy)[0] == [3, 3, 3]


def test_small_components_come_together():
    # A chain of a thousand pairs of states, each a component of its own.
    nodes = []
    for i in range(1000):
        nodes += [(MAX, [(2 * i + 1,)]), (CHANCE, [(2 * i, -1, 0.5), (2 * i + 2, 0, 0.5)])]
    net = network([*nodes, (END, 0)])
    answer = propose(net)
    assert answer.value[:6].tolist() == [-1000, -1000, -999, -999, -998, -998]
    assert answer.iterations < 20


def test_limits_and_interruption():
    net = random_component(np.random.default_rng(1), 300, leave=1e-4)
    with pytest.raises(NotConvergedError, match="max_iterations=1 ") as caught:
        propose(net, max_iterations=1)
    assert caught.value.partial.value.shape == (net.n_nodes,)
    partial = propose(net, max_iterations=1, run=Run(on_limit="partial"))
    assert partial.details["stopped"]
    solution = solve(net, solver=PolicyIteration(max_iterations=1), on_limit="partial")
    assert solution.status is Status.PARTIAL
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(SolveInterrupted):
        propose(net, run=Run(cancel=cancel))
    told = []
    propose(net, run=Run(progress=lambda phase, numbers: told.append((phase, dict(numbers)))))
    assert told[-1][0] == "solve"
    assert told[-1][1]["nodes"] == net.n_nodes


def test_a_large_solve_stops_soon():
    net = random_component(np.random.default_rng(2), 60_000, leave=1e-6)
    propose(random_component(np.random.default_rng(2), 700))
    began = time.monotonic()
    with pytest.raises(SolveInterrupted):
        propose(net, run=Run(deadline=began + 0.1))
    assert time.monotonic() - began < 3


def test_infinite_values_raise():
    for reward in (1, -1):
        with pytest.raises(UnsupportedError, match="for ever|found no policy") as caught:
            propose(network([(MAX, [(1, reward)]), (MAX, [(0,)]), (END, 0)]))
        assert caught.value.state in (0, 1)


def test_protocol():
    assert isinstance(PolicyIteration(), Solver)
    assert PolicyIteration.available()
    assert {Feature.CYCLIC, Feature.TWO_PLAYER, Feature.DISCOUNT} <= PolicyIteration.features
    for wrong in ({"max_iterations": 0}, {"direct": -1}, {"sweeps": -1}):
        with pytest.raises(GameError, match="it is a number of at least"):
            PolicyIteration(**wrong)
    with calls_recorded() as calls:
        propose(network([(MAX, [(1,)]), (END, 1)]))
    assert calls == {"policy-iteration"}


# --- blocks ------------------------------------------------------------------------------------------


@given(networks(kinds=(MAX, MIN), signs=True, rewards=(0, 1, -2), discount=Fraction(1, 2)), st.randoms())
@settings(max_examples=50, deadline=None)
def test_a_block_holds_the_values_of_all_options(net, rng):
    value = np.array([rng.uniform(-5, 5) for _ in range(net.n_nodes)])
    value[net.kind == END] = net.payoff[net.kind == END]
    nodes = np.flatnonzero(net.kind != END)
    nodes = np.array([i for i in nodes if rng.random() < 0.8] or nodes[:1].tolist())
    block = reduction.write_block(net, bellman(net), value, np.full(net.n_nodes, -1), nodes)
    assert sorted(np.concatenate((block.nodes, block.left_out)).tolist()) == sorted(nodes.tolist())
    # The values of chance nodes that were left out follow from those of the variables.
    for node in block.left_out.tolist():
        value[node] = (
            edge_values(net, value)[net.indptr[node] : net.indptr[node + 1]]
            @ net.weight[net.indptr[node] : net.indptr[node + 1]]
        )
    sides = len(block.kind) // len(block.nodes)
    own = np.concatenate([value[block.nodes], -value[block.nodes]][:sides])
    worth = block.gain + block.matrix @ own
    edges = edge_values(net, value)
    row = np.asarray(block.matrix.sum(axis=1)) + block.leave
    np.testing.assert_allclose(row, 1.0, rtol=1e-13)
    for i in range(len(block.kind)):
        node, flip = int(block.nodes[i % len(block.nodes)]), -1 if i >= len(block.nodes) else 1
        mine = range(block.start[i], block.start[i + 1])
        if net.kind[node] == CHANCE:
            mean = sum(net.weight[e] * edges[e] for e in net.edges(node))
            assert len(mine) == 1
            assert block.edge[mine[0]] == -1
            assert worth[mine[0]] == pytest.approx(flip * mean, abs=1e-12)
        else:
            assert block.edge[mine].tolist() == list(net.edges(node))
            for k in mine:
                assert worth[k] == pytest.approx(flip * edges[block.edge[k]], abs=1e-12)
            other = {MAX: MIN, MIN: MAX}[net.kind[node]]
            assert block.kind[i] == (net.kind[node] if flip == 1 else other)


def edge_values(net, value):
    factor = np.where(net.step, float(net.discount), 1.0) * net.sign
    return net.reward + factor * value[net.dst]


def test_components_that_belong_together():
    # Components of 3, 1, 400, 1, 700 and 1 nodes, the even ones with cycles.
    cyclic = np.array([True, False, True, False, True, False])
    ptr = np.array([0, 3, 4, 404, 405, 1105, 1106])
    assert list(blocks._runs(cyclic, ptr)) == [(0, 3, True), (3, 4, False), (4, 5, True), (5, 6, False)]
    assert list(blocks._runs(np.zeros(3, dtype=bool), np.arange(4))) == [(0, 3, False)]


# --- linear systems ----------------------------------------------------------------------------------


def chain(rng, n, leave, width=4):
    P = np.zeros((n, n))
    for i in range(n):
        for j in rng.integers(0, n, width):
            P[i, j] += rng.random()
    P *= (1 - leave) / P.sum(axis=1, keepdims=True)
    return P, np.full(n, float(leave))


@pytest.mark.parametrize("leave", [0.5, 1e-3, 1e-6])
def test_systems_by_every_method(leave):
    rng = np.random.default_rng(3)
    P, out = chain(rng, 80, leave)
    gain = rng.normal(size=80)
    expected = np.linalg.solve(np.eye(80) - P, gain)
    scale = np.abs(expected).max()
    sparse = csr_array(P)
    assert np.abs(evaluation.solve_directly(sparse, gain, out) - expected).max() < 1e-9 * scale
    assert np.abs(evaluation.without_subtraction(P, gain, out) - expected).max() < 1e-9 * scale
    value, reached = evaluation.iterate(sparse, gain, np.zeros(80), 1e-13 * scale, lambda: None)
    assert reached
    assert np.abs(value - expected).max() < 1e-11 * scale / leave
    for method in (evaluation._preconditioned, evaluation._sweeps):
        value = method(sparse, gain, np.zeros(80), 1e-13 * scale, lambda: None)
        # Sweeps take as many as plays are long, and stop after some thousands.
        if leave > 1e-2 or method is evaluation._preconditioned:
            assert np.abs(gain + P @ value - value).max() < 1e-9 * scale


def test_slow_systems_need_the_preconditioner():
    # A walk on a long line: BiCGSTAB alone would need as many steps as the line has places.
    n = 6000
    place = np.arange(n)
    row = np.concatenate((place[1:], place[:-1]))
    column = np.concatenate((place[1:] - 1, place[:-1] + 1))
    P = csr_array((np.full(2 * n - 2, 0.5), (row, column)), shape=(n, n))
    gain = np.zeros(n)
    gain[-1] = 0.5
    value, reached = evaluation.iterate(P, gain, np.zeros(n), 1e-15, lambda: None)
    assert reached
    # It wins at the far end, loses at the near one: the chance grows with the place.
    np.testing.assert_allclose(value, (place + 1) / (n + 1), rtol=0, atol=1e-7)


def test_without_subtraction_is_accurate_where_plays_are_long():
    # From each of two states play goes to the other one, or leaves with a chance of 1e-25 or 3e-25.
    P = np.array([[0.0, 1.0], [1.0, 0.0]])
    value = evaluation.without_subtraction(P, np.array([1e-25, 0.0]), np.array([1e-25, 3e-25]))
    np.testing.assert_allclose(value, [0.25, 0.25], rtol=1e-14)
    # A class that is never left counts nothing.
    value = evaluation.without_subtraction(np.eye(2)[::-1].copy(), np.zeros(2), np.zeros(2))
    assert value.tolist() == [0, 0]
    assert evaluation.solve_directly(csr_array(np.eye(2)), np.zeros(2), np.zeros(2)).tolist() == [0, 0]


def test_a_system_that_cannot_be_solved_is_told():
    net = random_component(np.random.default_rng(4), 30)
    real = evaluation.iterate
    evaluation.iterate = lambda P, gain, value, target, check: (value, False)
    try:
        with pytest.raises(NotConvergedError, match="too long"):
            propose(net, direct=0)
    finally:
        evaluation.iterate = real
