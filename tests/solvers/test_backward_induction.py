"""Backward induction against formulas and a recursion in fractions."""

import threading
import time
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from helpers.policy_enumeration import CHANCE, END, MAX, MIN, network
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice.backend import Run, Solver
from mdpdice.errors import CycleError, SolveInterrupted
from mdpdice.networks.network import Network
from mdpdice.solvers.backward_induction import BackwardInduction


def reference(net):
    """Values and best edges by recursion in fractions; index [k][node], k = decisions left (0 without a horizon)."""

    def worth(e, k, node):
        factor = (net.discount if net.step[e] else 1) * int(net.sign[e])
        return net.exact_reward(e) + factor * value(k, node)

    @cache
    def value(k, node):
        if net.kind[node] == END:
            return net.exact_payoff(node)
        if net.kind[node] == CHANCE:
            row = zip(net.edges(node), net.row(node), strict=True)
            return sum(p * worth(e, k, int(net.dst[e])) for e, p in row if p)
        if net.horizon is not None and k == 0:
            return Fraction(0)
        best = max if net.kind[node] == MAX else min
        return best(options(k, node))

    def options(k, node):
        return [worth(e, k if net.horizon is None else k - 1, int(net.dst[e])) for e in net.edges(node)]

    def chosen(k, node):
        if not net.decides[node] or (net.horizon is not None and k == 0):
            return -1
        return net.edges(node)[options(k, node).index(value(k, node))]

    stages = range((net.horizon or 0) + 1)
    return (
        [[value(k, i) for i in range(net.n_nodes)] for k in stages],
        [[chosen(k, i) for i in range(net.n_nodes)] for k in stages],
    )


@st.composite
def networks(draw, acyclic):
    """Small random networks; all numbers are dyadic, so that floats make no error and ties are true ties."""
    n = draw(st.integers(1, 7))
    nodes = []
    for i in range(n):
        kind = draw(st.sampled_from([END, MAX, MIN, CHANCE])) if i < n - 1 else END
        if kind == END:
            nodes.append((END, draw(st.integers(-4, 4))))
            continue
        # A horizon cuts cycles through decisions only, so chance nodes always lead onwards.
        first = i + 1 if acyclic or kind == CHANCE else 0
        count = draw(st.sampled_from([1, 2, 4]))
        edge = st.tuples(
            st.integers(first, n - 1),
            st.integers(-3, 3),
            st.just(1 / count if kind == CHANCE else 1.0),
            st.sampled_from([1, 1, -1]),
            st.booleans(),
        )
        nodes.append((kind, draw(st.lists(edge, min_size=count, max_size=count))))
    return network(
        nodes,
        discount=draw(st.sampled_from([1, Fraction(1, 2), Fraction(3, 4)])) if acyclic else 1,
        horizon=None if acyclic else draw(st.integers(0, 5)),
    )


@given(networks(acyclic=True))
@settings(max_examples=100, deadline=None)
def test_acyclic_networks_have_the_values_and_policies_of_the_recursion(net):
    values, policies = reference(net)
    answer = BackwardInduction().solve(net, Run())
    assert answer.value.shape == answer.policy.shape == (net.n_nodes,)
    assert answer.value.tolist() == values[0]
    assert answer.policy.tolist() == policies[0]


@given(networks(acyclic=False))
@settings(max_examples=100, deadline=None)
def test_every_stage_of_a_horizon_has_the_values_and_policies_of_the_recursion(net):
    values, policies = reference(net)
    answer = BackwardInduction().solve(net, Run())
    assert answer.value.shape == answer.policy.shape == (net.horizon + 1, net.n_nodes)
    assert answer.value.tolist() == values
    assert answer.policy.tolist() == policies


def test_horizon_counts_decisions_and_discounts_steps():
    # Each round the player takes 1 and flips a coin: on, or out with 4 more.
    #   0 chance (start) -> 1;  1 MAX -> 2;  2 chance -> 1 or 3;  3 END 4
    net = network(
        [(CHANCE, [(1, 10)]), (MAX, [(2, 1)]), (CHANCE, [(1, 0, 0.5, 1, True), (3, 0, 0.5)]), (END, 4)],
        discount="1/2",
        horizon=2,
    )
    value = BackwardInduction().solve(net, Run()).value
    # v0(1) = 0; v_k(2) = v_k(1)/4 + 2; v_k(1) = 1 + v_{k-1}(2); v_k(0) = 10 + v_k(1).
    assert value.tolist() == [[10, 0, 2, 4], [13, 3, 2.75, 4], [13.75, 3.75, 2.9375, 4]]


def test_minimiser_and_pass_to():
    net = network([(MAX, [(1,), (2, 0, 1.0, -1)]), (MIN, [(3, 2), (4,)]), (MAX, [(3,), (4,)]), (END, 5), (END, -1)])
    answer = BackwardInduction().solve(net, Run())
    assert answer.value.tolist() == [-1, -1, 5, 5, -1]
    assert answer.policy.tolist() == [0, 3, 4, -1, -1]


def test_ties_go_to_the_first_edge():
    net = network([(MAX, [(2,), (1,), (1,)]), (MIN, [(3,), (3,)]), (END, 0), (END, 1)])
    assert BackwardInduction().solve(net, Run()).policy.tolist() == [1, 3, -1, -1]


def test_a_cycle_is_named_and_a_horizon_offered():
    net = network(
        [(MAX, [(1,), (3,)]), (CHANCE, [(2, 0, 0.5), (3, 0, 0.5)]), (MAX, [(0,)]), (END, 1)],
        states=["start", "far", "out"],
        state_node=[0, 2, 3],
    )
    with pytest.raises(CycleError, match=r"'start' -> 'far' -> 'start'.*horizon=n.*value-iteration") as caught:
        BackwardInduction().solve(net, Run())
    assert caught.value.cycle == ["start", "far"]
    assert caught.value.state == "start"


def test_a_cycle_of_inline_nodes_alone_is_described():
    net = network([(MAX, [(1,), (2,)]), (CHANCE, [(1, 0, 0.5), (2, 0, 0.5)]), (END, 1)], states=["a"], state_node=[0])
    with pytest.raises(CycleError, match="chance node after 0 in state 'a'"):
        BackwardInduction().solve(net, Run())


def test_a_horizon_does_not_cut_a_cycle_of_chance_nodes():
    net = network([(MAX, [(1,)]), (CHANCE, [(2,)]), (CHANCE, [(1, 0, 0.5), (3, 0, 0.5)]), (END, 1)], horizon=3)
    with pytest.raises(CycleError, match="no decision") as caught:
        BackwardInduction().solve(net, Run())
    assert caught.value.cycle == [1, 2]


def test_a_long_cycle_is_not_printed_in_full():
    net = network([(MAX, [((i + 1) % 100,)]) for i in range(100)])
    with pytest.raises(CycleError) as caught:
        BackwardInduction().solve(net, Run())
    assert len(caught.value.cycle) == 100
    assert len(str(caught.value)) < 400


def test_a_chain_of_a_million_decisions():
    n = 10**6
    net = Network(
        kind=np.append(np.ones(n - 1), 0),
        indptr=np.minimum(np.arange(n + 1), n - 1),
        dst=np.arange(1, n),
        weight=np.ones(n - 1),
        reward=np.ones(n - 1),
        sign=np.ones(n - 1),
        step=np.ones(n - 1),
        payoff=np.zeros(n),
        start=0,
    )
    answer = BackwardInduction().solve(net, Run())
    assert (answer.value == np.arange(n - 1, -1, -1)).all()


def test_progress_is_told_and_a_cancelled_or_late_solve_stops():
    net = network([(MAX, [(1,), (2,)]), (END, 0), (END, 1)])
    told = []
    BackwardInduction().solve(net, Run(progress=lambda phase, numbers: told.append((phase, dict(numbers)))))
    assert told == [("solve", {"nodes": 3, "of": 3})]
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(SolveInterrupted, match="cancelled"):
        BackwardInduction().solve(net, Run(cancel=cancel))
    with pytest.raises(SolveInterrupted, match="deadline"):
        BackwardInduction().solve(net, Run(deadline=time.monotonic() - 1))


def test_protocol():
    assert isinstance(BackwardInduction(), Solver)
    assert BackwardInduction.available()
    assert BackwardInduction() == BackwardInduction()
