"""Infinite values of two players: who can collect without end is compared with every pair of policies."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.policy_enumeration import CHANCE, END, MAX, MIN, best_value, network

from mdpdice import Status, Total, cross_check, solve
from mdpdice.certification.checking.infinite import check_won, losing_side
from mdpdice.certification.verdict import _losing, check_infinities
from mdpdice.errors import UnsupportedError
from mdpdice.networks.network import Network
from mdpdice.objectives.two_player_infinities import drop_won

SOLVERS = ["value-iteration", "policy-iteration", "linear-programming", "exact"]
INF = math.inf

# The other one pays in each round; who moves last may end it, and will if that is better for him.
MILKED = network([(MIN, [(1, 1)]), (MAX, [(0, 1), (2, 0)]), (END, 0)])
ENDED = network([(MAX, [(1, 1)]), (MIN, [(0, 1), (2, 0)]), (END, 0)])
# The minimiser may flee, by a coin that sends him back to be milked with probability 1/2.
COIN = network([*[(MIN, [(1, 1), (2, 0)]), (MAX, [(0, 1)])], (CHANCE, [(1, 0, 0.5), (3, 0, 0.5)]), (END, 7)])
# One place where the maximiser collects and one where the minimiser does; he who moves first chooses.
CHOICE = network(
    [(MAX, [(1, 0), (2, 0)]), (MAX, [(1, 1)]), (MIN, [(2, -1)]), (MIN, [(0, 0), (1, 0), (4, 0)]), (END, 4)]
)
# To get to where he collects the maximiser pays in rounds that chance leaves.
TOLL = network([(MAX, [(1, -5), (2, 0)]), (CHANCE, [(0, 0, 0.5), (3, 0, 0.5)]), (END, 1), (MIN, [(3, 1), (3, 2)])])
# One collects when he moves, and when the other one moves; nobody can leave.
PASSED = network([(MAX, [(1, 1, 1.0, -1)]), (MAX, [(0, -1, 1.0, -1)]), (END, 2)])
# A round pays in both directions, but the maximiser need not go on along the edge that costs.
MIXED = network([(MAX, [(1, 0), (2, 0)]), (MAX, [(1, 1), (0, -1)]), (MIN, [(0, 0), (3, 0)]), (END, 0)])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("net", "values"),
    [
        (MILKED, [INF, INF, 0]),
        (ENDED, [1, 0, 0]),
        (COIN, [8, 9, 8, 7]),
        (CHOICE, [INF, INF, -INF, 4, 4]),
        (TOLL, [INF, INF, 1, INF]),
        (PASSED, [INF, -INF, 2]),
        (MIXED, [INF, INF, 0, 0]),
    ],
)
def test_infinite_values(solver: str, net: Network, values: list[float]) -> None:
    found = solve(net, solver=solver)
    assert found.status is (Status.EXACT if solver == "exact" else Status.CERTIFIED), found.reason
    assert found.nodes.values.tolist() == pytest.approx(values)
    infinite = np.isinf(values)
    assert found.nodes.lowers[infinite].tolist() == found.nodes.uppers[infinite].tolist()
    if infinite.any():
        assert found.reason == (
            "the value is infinite where a player can come to collect without end, whatever the other one does"
        )
    turned = solve(attrs.evolve(net, reward=0.0 - net.reward, payoff=0.0 - net.payoff), Total("min"), solver=solver)
    assert turned.nodes.values.tolist() == pytest.approx([-x for x in values])


def test_exact_values_and_the_way_back() -> None:
    found = solve(CHOICE, solver="exact")
    assert found.nodes.exact == [[INF, INF, -INF, Fraction(4), Fraction(4)]]
    # The winner keeps to where he wins, the others to what is finite.
    assert [int(found.network.dst[found.nodes.choice[node]]) for node in range(4)] == [1, 1, 2, 4]


def test_a_cross_check_counts_them() -> None:
    report = cross_check(CHOICE, solvers=SOLVERS)
    assert report.ok, report
    assert report.infinities == 3


def test_both_may_collect_by_chance() -> None:
    torn = network([(CHANCE, [(1, 0, 0.5), (2, 0, 0.5)]), (MAX, [(1, 1)]), (MIN, [(2, -1)])])
    with pytest.raises(UnsupportedError, match="no mean") as caught:
        solve(torn)
    assert caught.value.state == 0


def _random_network(rng: random.Random) -> Network:
    """Up to three nodes of two players, by MIN nodes or by `pass_to`, and an end."""
    n = rng.randrange(2, 4)
    passes = rng.random() < 0.4
    rewards = rng.choice([(0, 1), (0, 0, 1), (0, -1), (0, 0, 1, -1), (1, -1, 0)])
    nodes = []
    for _ in range(n):
        kind = rng.choice([MAX, MAX, CHANCE] if passes else [MAX, MIN, CHANCE])
        count = rng.choice([1, 2])
        row = []
        for _ in range(count):
            sign = -1 if passes and rng.random() < 0.4 else 1
            row.append((rng.randrange(n + 1), rng.choice(rewards), 1 / count if kind == CHANCE else 1.0, sign))
        nodes.append((kind, row))
    return network([*nodes, (END, 1)])


def test_against_every_pair_of_policies_and_false_claims() -> None:
    rng = random.Random(11)
    counts = {"infinite": 0, "finite": 0, "partial": 0, "false": 0}
    for _ in range(250):
        net = _random_network(rng)
        wanted = best_value(net) if net.two_player else None
        if wanted is None:
            continue
        plus, minus = (np.array([value == bound for value in wanted]) for bound in (INF, -INF))
        low = drop_won(net)
        if low is None:
            left = plus | minus
            found_plus = found_minus = np.zeros_like(left)
        else:
            assert check_infinities(net, [low])
            found_plus, found_minus = (low.node < 0) & ~low.lost, (low.node < 0) & low.lost
            assert not (found_plus & ~plus).any()
            assert not (found_minus & ~minus).any()
            left = (plus ^ found_plus) | (minus ^ found_minus)
        # What remains lies among rewards of both signs.
        assert not left.any() or {-1.0, 1.0} <= set(net.reward.tolist())
        counts["partial" if left.any() else "infinite" if (plus | minus).any() else "finite"] += 1
        for node in range(net.n_nodes):
            for which in (0, 1):
                claim = [found_plus.copy(), found_minus.copy()]
                claim[which][node] = True
                if claim[which][node] == (plus, minus)[which][node]:
                    continue
                for _ in range(3):
                    policy = np.array([rng.choice(list(net.edges(i)) or [-1]) for i in range(net.n_nodes)])
                    policy[~net.decides] = -1
                    assert not _confirmed(net, *claim, policy)
                    counts["false"] += 1
    print(counts)
    assert min(counts["infinite"], counts["finite"]) >= 25
    assert counts["false"] >= 400
    assert counts["partial"] <= 5


def _confirmed(net, plus, minus, policy) -> bool:
    return check_won(net, plus, minus, policy, _losing(*losing_side(net, plus, minus, policy)))


def test_a_wrong_policy_of_the_winner_is_rejected() -> None:
    plus, minus = np.array([True, True, False]), np.zeros(3, dtype=bool)
    assert _confirmed(MILKED, plus, minus, np.array([0, 1, -1]))
    assert not _confirmed(MILKED, plus, minus, np.array([0, 2, -1]))
    assert not _confirmed(MILKED, minus, plus, np.array([0, 1, -1]))
    # Left out: the minimiser's node, from where every play comes to a claimed one.
    assert not _confirmed(MILKED, np.array([False, True, False]), minus, np.array([0, 1, -1]))
