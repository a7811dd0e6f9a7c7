"""Infinite values of one player: found by the graph, compared with every policy, and claims that are not true."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import attrs
import networkx as nx
import numpy as np
import pytest
from helpers.policy_enumeration import CHANCE, END, MAX, MIN, best_value, network, networks
from hypothesis import HealthCheck, given, settings

from mdpdice import Reach, Status, Total, UntilReward, cross_check, solve
from mdpdice.certification.checking.infinite import (
    Losing,
    check_infinite,
    check_lost,
    check_missed,
    check_missed_by_all,
)
from mdpdice.certification.verdict import _losing, check_infinities
from mdpdice.errors import TotalRewardUndefinedError, UnsupportedError
from mdpdice.networks.network import Network
from mdpdice.objectives.endless_plays import drop_infinite, drop_lost

SOLVERS = ["value-iteration", "policy-iteration", "linear-programming", "exact"]
SIGNED = networks((MAX,), rewards=(-2, -1, 0, 0, 1))

# The player must go to 1, where he pays for ever.
FORCED = network([(MAX, [(1, -1), (1, 5)]), (MAX, [(1, -1)]), (END, 3)])
# He may pay for ever, or leave for 3.
AVOIDABLE = network([(MAX, [(1, -1), (2, -4)]), (MAX, [(1, -1), (0, -1)]), (END, 3)])
# A coin decides whether he pays for ever; the other branch ends.
CHANCED = network([(MAX, [(1, 7), (3, 0)]), (CHANCE, [(2, 0, 0.5), (3, 0, 0.5)]), (MAX, [(2, -1)]), (END, 3)])
# As before, without the way out.
TOSSED = network([(MAX, [(1, 7)]), (CHANCE, [(2, 0, 0.5), (3, 0, 0.5)]), (MAX, [(2, -1)]), (END, 3)])
# Positive rewards round a loop that chance leaves, and then he pays for ever.
LEAKING = network([(CHANCE, [(0, 5, 0.5), (1, 0, 0.5)]), (MAX, [(1, -1), (1, -2)])])
# Collect for ever, or pay for ever: he chooses.
BOTH = network([(MAX, [(1, 0), (2, 0)]), (MAX, [(1, 1)]), (MAX, [(2, -1), (0, -1)])])
# A coin decides which.
TORN = network([(CHANCE, [(1, 0, 0.5), (2, 0, 0.5)]), (MAX, [(1, 1)]), (MAX, [(2, -1)])])
# On the way to collecting for ever he pays once; there is no way back.
TOLL = network([(MAX, [(1, -5)]), (MAX, [(1, 1)])])

INF = math.inf


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("net", "values"),
    [
        (FORCED, [-INF, -INF, 3]),
        (AVOIDABLE, [-1, -2, 3]),
        (CHANCED, [3, -INF, -INF, 3]),
        (TOSSED, [-INF, -INF, -INF, 3]),
        (LEAKING, [-INF, -INF]),
        (BOTH, [INF, INF, INF]),
        (TOLL, [INF, INF]),
    ],
)
def test_minus_infinity(solver, net, values):
    found = solve(net, solver=solver)
    assert found.status is (Status.EXACT if solver == "exact" else Status.CERTIFIED)
    assert found.nodes.values.tolist() == pytest.approx(values)
    assert found.nodes.lowers[np.isinf(values)].tolist() == found.nodes.uppers[np.isinf(values)].tolist()
    if -INF in values:
        assert found.reason == (
            "the value is infinite where every policy lets a play lose without end with positive probability"
        )
    turned = solve(_negated(net), Total(sense="min"), solver=solver)
    assert turned.status is found.status
    assert turned.nodes.values.tolist() == pytest.approx([-x for x in values])


def _negated(net: Network) -> Network:
    return attrs.evolve(net, reward=0.0 - net.reward, payoff=0.0 - net.payoff)


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_player_who_minimises(solver):
    net = network([(MIN, [(1, 1), (1, 5)]), (MIN, [(1, 1)]), (END, 3)])
    found = solve(net, solver=solver)
    assert found.nodes.values.tolist() == [INF, INF, 3]
    assert found.proved


def test_paying_and_collecting_torn_by_chance_has_no_mean():
    with pytest.raises(UnsupportedError, match="no mean") as caught:
        solve(TORN)
    assert caught.value.state == 0


def test_the_policy_of_a_finite_state_keeps_away():
    found = solve(CHANCED)
    assert found.network.dst[found.nodes.choice[0]] == 3
    exact = solve(CHANCED, solver="exact")
    assert exact.nodes.exact[0] == [Fraction(3), -INF, -INF, Fraction(3)]


def test_a_cross_check_counts_infinities():
    report = cross_check(TOSSED, solvers=SOLVERS)
    assert report.ok, report
    assert report.infinities == 3


def test_reaching_and_until_are_as_they_were():
    assert solve(TOSSED, Reach([3])).value(0) == pytest.approx(0.5)
    assert solve(TOSSED, UntilReward([3])).value(0) == INF


def _mixed(net):
    """Whether a play can come round to rewards of both signs; every policy by itself may still have a total."""
    graph = net.to_networkx()
    label = {node: i for i, part in enumerate(nx.strongly_connected_components(graph)) for node in part}
    inside = [label[int(a)] == label[int(b)] for a, b in zip(net.source, net.dst, strict=True)]
    signs = {(label[int(a)], np.sign(r)) for a, r, ok in zip(net.source, net.reward, inside, strict=True) if ok and r}
    return any((part, -sign) in signs for part, sign in signs)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(SIGNED)
def test_against_every_policy(net):
    wanted = best_value(net)
    try:
        found = solve(net, solver="exact")
    except TotalRewardUndefinedError:
        assert _mixed(net)
        return
    except UnsupportedError:
        assert wanted is None
        return
    assert found.status is Status.EXACT, found.reason
    if wanted is not None:
        assert found.nodes.exact[0] == wanted


def _random_network(rng: random.Random) -> Network:
    n = rng.randrange(2, 6)
    nodes = []
    for _ in range(n):
        kind = rng.choice([MAX, MAX, CHANCE])
        count = rng.choice([1, 2])
        nodes.append(
            (kind, [(rng.randrange(n + 1), rng.choice([-1, 0, 1]), 1 / count if kind == CHANCE else 1.0)
                    for _ in range(count)])
        )  # fmt: skip
    return network([*nodes, (END, 0)])


def _witness(net: Network, lost) -> Losing:
    return _losing(net.source, net.dst, net.reward, net.kind == CHANCE, lost)


def _guessed(rng: random.Random, n: int) -> Losing:
    def ranks():
        return np.array([rng.randrange(3) for _ in range(n)])

    def marks():
        return np.array([rng.random() < 0.6 for _ in range(n)])

    return Losing(ranks(), marks(), ranks(), ranks(), marks())


def test_false_claims_are_rejected():
    rng = random.Random(4)
    counts = {"-inf": 0, "+inf": 0, "false -inf": 0, "false +inf": 0}
    for _ in range(400):
        net = _random_network(rng)
        wanted = best_value(net)
        if wanted is None or _mixed(net):
            continue
        lost = np.array([value == -INF for value in wanted])
        rich = np.array([value == INF for value in wanted])
        if lost.any():
            assert check_lost(net, lost, _witness(net, lost))
            counts["-inf"] += 1
        for node in np.flatnonzero(~lost).tolist():
            claim = lost.copy()
            claim[node] = True
            for losing in (_witness(net, claim), _guessed(rng, net.n_nodes), _guessed(rng, net.n_nodes)):
                assert not check_lost(net, claim, losing)
                counts["false -inf"] += 1
        if rich.any() and not lost.any():
            assert check_infinities(net, [low for low in [drop_infinite(net)] if low is not None])
            counts["+inf"] += 1
        for node in np.flatnonzero(~rich).tolist():
            claim = rich.copy()
            claim[node] = True
            # Whatever witness is given with it.
            for _ in range(3):
                policy = np.array([rng.choice(list(net.edges(i)) or [-1]) for i in range(net.n_nodes)])
                policy[~net.decides] = -1
                trap = claim & np.array([rng.random() < 0.7 for _ in wanted])
                rank = np.array([rng.randrange(3) for _ in wanted])
                assert not check_infinite(net, claim, policy, trap, rank)
                counts["false +inf"] += 1
    print(counts)
    assert min(counts.values()) >= 50


def test_an_infinite_claim_must_leave_nobody_out():
    (low,) = [drop_infinite(BOTH)]
    part = np.array([False, True, False])
    assert not check_infinite(BOTH, part, low.infinite, part, np.zeros(3, dtype=np.int64))


def test_a_long_chain_takes_no_time():
    n = 100_000
    net = Network(
        kind=[MAX] * n,
        indptr=np.arange(n + 1),
        dst=np.minimum(np.arange(n) + 1, n - 1),
        weight=np.ones(n),
        reward=np.append(np.zeros(n - 1), 1.0),
        sign=np.ones(n, dtype=int),
        step=np.ones(n, dtype=bool),
        payoff=np.zeros(n),
        start=0,
    )
    assert solve(net).value() == INF
    assert check_infinities(net, [drop_infinite(net)])
    lost = _negated(net)
    assert solve(lost).value() == -INF
    assert check_infinities(lost, [drop_lost(lost)])


def test_the_policy_misses_the_target():
    """Reaching it for sure is worth something finite, so what is handed out where the value is infinite matters."""
    net = network([(MAX, [(1,), (2,)]), (END, 0), (MAX, [(2, 1)])])
    found = solve(net, UntilReward([1]))
    assert found.nodes.values.tolist() == [INF, 0, INF]
    assert found.nodes.choice.tolist() == [1, -1, 2]
    claim = np.array([True, False, True])
    assert check_missed(net, claim, np.array([1, -1, 2]))
    for wrong in ([0, -1, 2], [-1, -1, 2], [2, -1, 2]):
        assert not check_missed(net, claim, np.array(wrong))


def test_a_target_that_all_miss_comes_with_ranks():
    """A coin at each of three nodes: on to the next, the last of which is a trap, or to the target."""
    net = network(
        [
            (CHANCE, [(1, 0, 0.5), (4, 0, 0.5)]),
            (CHANCE, [(2, 0, 0.5), (4, 0, 0.5)]),
            (MAX, [(2,), (3,)]),
            (MAX, [(2,)]),
            (END, 0),
        ]
    )
    claim, settled = np.array([True] * 4 + [False]), np.array([False, False, True, True, False])
    assert check_missed_by_all(net, claim, np.array([2, 1, 0, 0, -1]), settled)
    for wrong in ([1, 1, 0, 0, -1], [2, 0, 1, 1, -1], [2, 1, 0, 1, -1]):
        assert not check_missed_by_all(net, claim, np.array(wrong), settled)
    assert not check_missed_by_all(net, claim, np.array([2, 1, 0, 0, -1]), np.zeros(5, dtype=bool))
    assert not check_missed_by_all(net, np.ones(5, dtype=bool), np.array([2, 1, 0, 0, 0]), net.kind != CHANCE)


@pytest.mark.parametrize(
    "objective", [UntilReward([0], sense="min"), UntilReward([0]), Total(sense="min"), Reach([0], sense="min")]
)
def test_no_search_goes_through_a_long_chain_node_by_node(objective):
    """Searches that start anew at every node of the chain would take minutes; the suite's own limit would end them."""
    n = 50_000
    # Decision i: stay, or toss a coin for the target or decision i - 1; nodes: target, end, decisions, coins.
    decisions, coins = 2 + np.arange(n), 2 + n + np.arange(n)
    before = np.where(np.arange(n) > 0, decisions - 1, 1)
    net = Network(
        kind=[END, END] + [MAX] * n + [CHANCE] * n,
        indptr=np.concatenate(([0, 0, 0], 2 * np.arange(1, 2 * n + 1))),
        dst=np.concatenate(
            (np.stack((decisions, coins), axis=1).ravel(), np.stack((np.zeros(n), before), axis=1).ravel())
        ).astype(int),
        weight=np.concatenate((np.ones(2 * n), np.full(2 * n, 0.5))),
        reward=np.concatenate((np.tile([1.0, 0.0], n), np.zeros(2 * n))),
        sign=np.ones(4 * n, dtype=int),
        step=np.ones(4 * n, dtype=bool),
        payoff=np.zeros(2 * n + 2),
        start=1 + n,
        states=range(2 * n + 2),
        state_node=np.arange(2 * n + 2),
        node_state=np.arange(2 * n + 2),
    )
    found = solve(net, objective)
    assert found.proved
