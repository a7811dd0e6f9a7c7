"""Evaluation of policies against independent exact solutions."""

import functools
import random
from fractions import Fraction

import numpy as np
import pytest
from helpers.random_networks import random_network, solve_dense, value_of
from helpers.small_games import PlainRace

from mdpdice import (
    Dist,
    Game,
    Horizon,
    Kind,
    Network,
    Policy,
    Status,
    d6,
    decide,
    end,
    evaluate,
    explore,
    go,
    pass_to,
    roll,
    solve,
)
from mdpdice.errors import GameError, HorizonRangeError, NotCertifiedError, TotalRewardUndefinedError
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigTurn
from mdpdice.numerics import linear
from mdpdice.policies.evaluation import endless


@functools.cache
def pig_turn(points, hold, cap):
    """Expected score of a turn from `points`, holding at `hold`."""
    if points >= min(hold, cap):
        return Fraction(points)
    return sum(pig_turn(points + k, hold, cap) for k in range(2, 7)) / 6


@pytest.mark.parametrize("hold", [1, 10, 19, 20, 21, 25, 100])
def test_hold_at_n(hold):
    network = explore(PigTurn())
    policy = Policy.of(network, lambda p: "hold" if p >= hold else "roll")
    found = evaluate(network, policy)
    assert found.status is Status.CERTIFIED
    exact = evaluate(network, policy, exact=True)
    assert exact.status is Status.EXACT
    for points in (0, 2, 17, 99):
        expected = pig_turn(points, hold, 100)
        assert exact.exact(points) == expected
        assert exact.value(points) == float(expected)
        assert found.lower(points) <= expected <= found.upper(points)
        assert found.value(points) == pytest.approx(float(expected), rel=1e-12)


def test_hold_at_20_is_the_published_value():
    # Neller and Presser 2004: the best single turn of Pig.
    network = explore(PigTurn())
    hold_at_20 = Policy.of(network, lambda p: "hold" if p >= 20 else "roll")
    assert evaluate(network, hold_at_20).value() == pytest.approx(8.141794893727, abs=1e-12)
    assert solve(PigTurn()).value() == pytest.approx(8.141794893727, abs=1e-12)


def chances(network, rng):
    """Random chances of all edges of decisions, as integers."""
    weights = [0] * network.n_edges
    for node in np.flatnonzero(network.decides).tolist():
        edges = network.edges(node)
        for edge in edges:
            weights[edge] = rng.randrange(0, 4)
        if not any(weights[edge] for edge in edges):
            weights[edges[-1]] = 1
    return weights


def normalised(network, weights):
    total = [0] * network.n_nodes
    for edge, weight in enumerate(weights):
        total[network.source[edge]] += weight
    return [Fraction(w, total[network.source[e]] or 1) for e, w in enumerate(weights)]


def chosen(network, weights):
    """Likeliest edge of every decision."""
    edges = np.full(network.n_nodes, -1)
    for node in np.flatnonzero(network.decides).tolist():
        edges[node] = max(network.edges(node), key=weights.__getitem__)
    return edges


@pytest.mark.parametrize("flips", [False, True])
@pytest.mark.parametrize("discount", [Fraction(1), Fraction(3, 4)])
@pytest.mark.parametrize("pure", [False, True])
def test_random_networks(flips, discount, pure):
    compared = 0
    for seed in range(60):
        network = random_network(seed, flips=flips, discount=discount)
        rng = random.Random(seed)
        weights = chances(network, rng)
        edges = chosen(network, weights)
        if pure:
            weights = [int(edge == edges[network.source[edge]]) for edge in range(network.n_edges)]
        policy = Policy(network, edges, None if pure else np.array(weights))
        taken = normalised(network, weights)
        found = evaluate(network, policy, exact=True)
        floats = evaluate(network, policy)
        assert floats.status is Status.CERTIFIED
        assert floats.width < 1e-9
        # Plays that never end, without a discount, are the business of the tests below.
        sure = set(range(network.n_nodes)) if discount < 1 else ending(network, taken)
        expected = value_of(network, taken, sure)
        for node in sure:
            compared += 1
            value = expected[node]
            assert found.nodes.exact[0][node] == value
            assert floats.nodes.lowers[node] <= value <= floats.nodes.uppers[node]
            assert floats.nodes.values[node] == pytest.approx(float(value), rel=1e-9, abs=1e-9)
    assert compared > 200


def ending(network, taken):
    """Nodes from which every play ends: whatever it comes to, it can go on to an end."""
    edges = [
        (int(network.source[e]), int(network.dst[e]))
        for e in range(network.n_edges)
        if taken[e] > 0 or not network.decides[network.source[e]]
    ]
    ends = {node for node in range(network.n_nodes) if network.kind[node] == Kind.END}
    while more := {a for a, b in edges if b in ends} - ends:
        ends |= more
    lost = set(range(network.n_nodes)) - ends
    while more := {a for a, b in edges if b in lost} - lost:
        lost |= more
    return set(range(network.n_nodes)) - lost


@pytest.mark.parametrize("horizon", [0, 1, 4])
@pytest.mark.parametrize("staged", [False, True])
def test_random_networks_with_a_horizon(horizon, staged):
    compared = 0
    for seed in range(40):
        network = random_network(seed, discount=Fraction(1, 2) if seed % 2 else Fraction(1), horizon=horizon)
        rng = random.Random(seed)
        rows = [chances(network, rng) for _ in range(horizon + 1 if staged else 1)]
        edges = np.array([chosen(network, row) for row in rows])
        edges[0] = -1 if staged else edges[0]
        weights = np.array(rows)
        policy = Policy(network, edges if staged else edges[0], weights if staged else weights[0])
        found = evaluate(network, policy)
        exact = evaluate(network, policy, exact=True)
        assert (found.status, exact.status) == (Status.CERTIFIED, Status.EXACT)
        before = [Fraction(0)] * network.n_nodes
        for stage in range(horizon + 1):
            # Chance nodes look at their own stage, decisions at the one before: one small system per stage.
            here = normalised(network, rows[stage] if staged else rows[0])
            value = one_stage(network, here, before, stage)
            if value is None:
                break
            compared += 1
            for node in range(network.n_nodes):
                assert exact.nodes.exact[stage][node] == value[node]
                assert found.nodes.lowers[stage, node] <= value[node] <= found.nodes.uppers[stage, node]
            before = value
    assert compared > 30


def one_stage(network, chance, before, stage):
    n = network.n_nodes
    matrix = [[Fraction(i == j) for j in range(n)] for i in range(n)]
    right = [Fraction(0)] * n
    for node in range(n):
        if network.kind[node] == Kind.END:
            right[node] = network.exact_payoff(node)
            continue
        if network.decides[node] and stage == 0:
            continue
        row = network.row(node)
        for at, edge in enumerate(network.edges(node)):
            g = network.discount if network.step[edge] else 1
            p = chance[edge] if network.decides[node] else row[at]
            right[node] += p * Fraction(float(network.reward[edge]))
            if network.decides[node]:
                right[node] += p * g * before[network.dst[edge]]
            else:
                matrix[node][network.dst[edge]] -= p * g
    return solve_dense(matrix, right)


def test_values_of_the_stages_of_a_solution():
    # The values of KCD Farkle with at most 1, 2 and 3 rolls.
    solution = solve(KcdFarkle(), horizon=3)
    found = evaluate(solution.network, Policy.from_solution(solution))
    for steps, value in ((1, 399.1126543210), (2, 505.5102004466), (3, 547.3522341444)):
        assert found.value(steps_left=steps) == pytest.approx(value, rel=1e-11)
    assert found.value(steps_left=0) == 0
    assert np.allclose(found.nodes.values, solution.nodes.values, rtol=1e-13, atol=0)


def test_the_optimal_policy_of_farkle_has_the_optimal_value():
    solution = solve(KcdFarkle())
    policy = Policy.from_solution(solution)
    found = evaluate(solution.network, policy)
    assert found.value() == pytest.approx(564.4328467759, rel=1e-12)
    assert np.allclose(found.nodes.values, solution.nodes.values, rtol=1e-13, atol=1e-13)
    uniform = evaluate(solution.network, Policy.uniform(solution.network))
    assert uniform.value() < found.value() / 2
    assert (uniform.nodes.values <= solution.nodes.uppers).all()


def test_two_players_with_policies_of_their_own():
    network = explore(PlainRace(12))
    bold = Policy.of(network, lambda s: "hold" if s[2] >= 12 else "roll")
    meek = Policy.of(network, lambda s: "hold" if s[2] >= 4 else "roll")

    # The two sides as one system of equations over (who moves, state), in chances of the first player.
    states = [(who, *network.states[i]) for who in (0, 1) for i in range(network.n_states)]
    place = {state: at for at, state in enumerate(states)}
    size = len(states)
    matrix, right = np.eye(size), np.zeros(size)
    for at, (who, mine, his, turn) in enumerate(states):
        if mine + turn >= 12:
            right[at] = 1 - who
            continue
        if turn >= (12, 4)[who]:
            matrix[at, place[1 - who, his, mine + turn, 0]] -= 1
            continue
        matrix[at, place[1 - who, his, mine, 0]] -= 1 / 6
        for k in range(2, 7):
            matrix[at, place[who, mine, his, turn + k]] -= 1 / 6
    expected = np.linalg.solve(matrix, right)
    found = evaluate(network, (bold, meek))
    assert found.status is Status.CERTIFIED
    for i, state in enumerate(network.states):
        assert found.value(state) == pytest.approx(expected[place[0, *network.states[i]]], abs=1e-12)
    # Changing places changes the player, not the chances.
    other = evaluate(network, (meek, bold))
    assert other.value() == pytest.approx(1 - expected[place[1, 0, 0, 0]], abs=1e-12)
    short = explore(PlainRace(5))
    both = (bold.on(short), meek.on(short))
    exact = evaluate(short, both, exact=True).exact()
    assert float(exact) == pytest.approx(evaluate(short, (bold, meek)).value(), rel=1e-13)


def test_maximiser_and_minimiser_with_policies_of_their_own():
    tree = {
        "top": decide({"l": go("left"), "r": end(3)}),
        "left": decide({"l": end(5), "r": go("low")}, player=1),
        "low": decide({"l": end(-2), "r": end(7)}),
    }
    network = explore(Game.of(start="top", node=tree.__getitem__))
    left, right = (Policy.of(network, lambda _, way=way: way) for way in "lr")
    assert evaluate(network, (left, right)).value() == -2
    assert evaluate(network, (right, left)).value() == 3
    assert evaluate(network, (left, left)).value() == 5
    mixed = Policy.of(network, lambda _: Dist({"l": 1, "r": 3}))
    assert (
        evaluate(network, (mixed, right), exact=True).exact()
        == Fraction(1, 4) * (Fraction(1, 4) * -2 + Fraction(3, 4) * 7) + Fraction(3, 4) * 3
    )


def test_the_optimal_policies_of_a_race_against_each_other():
    solution = solve(PlainRace(20))
    policy = Policy.from_solution(solution)
    assert evaluate(solution.network, policy).value() == pytest.approx(solution.value(), abs=1e-9)
    weak = Policy.of(solution.network, lambda s: "hold" if s[2] >= 2 else "roll")
    assert evaluate(solution.network, (policy, weak)).value() > solution.value() + 0.1
    assert evaluate(solution.network, (weak, policy)).value() < solution.value() - 0.1


# --- plays that never end -----------------------------------------------------------------------------


def loop(reward, *, other=None, **more):
    """A game in which one action stays for ever, for a reward each time."""
    options = {"stay": go(0, reward=reward), "leave": end(2)}
    if other is not None:
        options["other"] = other
    return explore(Game.of(start=0, node=lambda s: decide(options), **more))


def test_idle_plays_are_worth_what_they_collected():
    network = loop(0)
    stay = Policy.of(network, lambda s: "stay")
    assert evaluate(network, stay).value() == 0
    assert evaluate(network, stay, exact=True).exact() == 0
    passing = explore(Game.of(start=0, node=lambda s: decide({"pass": pass_to(0), "win": end(1)}), total=1))
    assert evaluate(passing, Policy.of(passing, lambda s: "pass")).value() == 0.5
    paid = explore(Game.of(start="a", node=lambda s: decide({"on": go("b", reward=4 if s == "a" else 0)})))
    assert evaluate(paid, Policy.uniform(paid)).value() == 4


def test_plays_that_collect_or_pay_for_ever():
    for reward in (1, -1):
        network = loop(reward)
        found = evaluate(network, Policy.of(network, lambda s: "stay"))
        assert found.value() == reward * np.inf
        assert found.lower() == found.upper() == reward * np.inf
        exact = evaluate(network, Policy.of(network, lambda s: "stay"), exact=True)
        assert exact.exact() == reward * np.inf
        assert evaluate(network, Policy.of(network, lambda s: "leave")).value() == 2
        # A play that leaves some day is worth a finite amount: 2 and one reward on the way.
        assert evaluate(network, Policy.uniform(network)).value() == pytest.approx(2 + reward)
    discounted = loop(1, discount=Fraction(1, 2))
    assert evaluate(discounted, Policy.of(discounted, lambda s: "stay")).value() == pytest.approx(2)


def test_a_chance_of_collecting_for_ever_is_enough():
    network = explore(
        Game.of(
            start="s",
            node=lambda s: {
                "s": roll(d6, lambda k: go("rich") if k == 1 else end(-100)),
                "rich": decide({"on": go("rich", reward=1)}),
            }[s],
        )
    )
    assert evaluate(network, Policy.uniform(network)).value() == np.inf


def test_collecting_and_paying_for_ever_is_undefined():
    network = explore(
        Game.of(start=0, node=lambda s: decide({"on": go(1 - s, reward=1 if s == 0 else -1), "stop": end()}))
    )
    on = evaluate(network, Policy.of(network, lambda s: "on"))
    with pytest.raises(TotalRewardUndefinedError):
        on.value()
    assert evaluate(network, Policy.of(network, lambda s: "stop" if s else "on")).value() == 1


def test_endless_rewards_through_the_eyes_of_the_mover():
    # Both sides collect on their own moves: one's gain is the other's loss, so the total is undefined.
    network = explore(Game.of(start=0, node=lambda s: decide({"on": pass_to(0, reward=1)})))
    with pytest.raises(TotalRewardUndefinedError):
        evaluate(network, Policy.uniform(network)).value()
    # Only the mover of even states collects: he gets infinitely much, at the cost of the other one.
    network = explore(Game.of(start=0, node=lambda s: decide({"on": pass_to(1 - s, reward=1 - s)})))
    found = evaluate(network, Policy.uniform(network))
    assert (found.value(0), found.value(1)) == (np.inf, -np.inf)


def test_idle_nodes_are_exactly_the_closed_sets_without_rewards():
    idle, infinite = endless(loop_chain())
    assert idle.tolist() == [True, True, False, False]
    assert infinite.tolist() == [0, 0, 0, 0]


def loop_chain():
    """Nodes 0 and 1 go round; 2 goes there or to the end 3."""
    return Network(
        kind=[Kind.CHANCE, Kind.CHANCE, Kind.CHANCE, Kind.END],
        indptr=[0, 1, 2, 4, 4],
        dst=[1, 0, 0, 3],
        weight=[1, 1, 0.5, 0.5],
        reward=[0, 0, 1, 0],
        sign=[1, 1, 1, 1],
        step=[False] * 4,
        payoff=[0, 0, 0, 5],
        start=2,
    )


# --- hard and large chains -----------------------------------------------------------------------------


def haddad_monmege(n):
    """A walk that moves up with chance 1/2, else starts again, on two sides of a start that leans to one."""
    rows = []
    for side in (1, -1):
        for at in range(1, n):
            up = side * (at + 1)
            rows.append((side * at, {up: 1, side: 1}))
    table = dict(rows)

    def node(state):
        if state == 0:
            return roll(Dist({1: 7, -1: 3}), go)
        if abs(state) == n:
            return end(int(state > 0))
        return decide({"on": roll(Dist(table[state]), go)})

    return Game.of(start=0, node=node)


def test_slow_mixing_is_not_certified_but_exact():
    network = explore(haddad_monmege(60))
    policy = Policy.uniform(network)
    found = evaluate(network, policy)
    # Elimination without subtractions has the value; no float bound can prove it.
    assert found.estimate() == pytest.approx(0.7, abs=1e-12)
    assert found.status is Status.UNCERTIFIED
    with pytest.raises(NotCertifiedError, match="estimate"):
        found.value()
    assert evaluate(network, policy, exact=True).exact() == Fraction(7, 10)
    assert evaluate(explore(haddad_monmege(10)), Policy.uniform(explore(haddad_monmege(10)))).value() == pytest.approx(
        0.7, abs=1e-10
    )


@pytest.mark.parametrize("size", [linear.ELIMINATE_UP_TO_NODES - 50, linear.ELIMINATE_UP_TO_NODES + 1, 3000])
def test_large_components(size):
    # A biased walk on a line, absorbed at both ends: the gambler's ruin, with a closed form.
    p = Fraction(9, 20)
    die = Dist({1: 9, -1: 11})
    network = explore(
        Game.of(
            start=size // 2,
            node=lambda s: end(int(s == size)) if s in (0, size) else decide({"bet": roll(die, lambda k: go(s + k))}),
        )
    )
    found = evaluate(network, Policy.uniform(network))
    assert found.status is Status.CERTIFIED
    ratio = float((1 - p) / p)
    for start in (1, size // 2, size - 1):
        # (ratio**start - 1) / (ratio**size - 1), without overflow.
        expected = ratio ** (start - size) * (1 - ratio**-start) / (1 - ratio**-size)
        assert found.value(start) == pytest.approx(expected, abs=1e-10)


def test_questions_that_have_no_answer():
    network = explore(PigTurn())
    found = evaluate(network, Policy.uniform(network))
    with pytest.raises(HorizonRangeError):
        found.value(steps_left=1)
    with pytest.raises(NotCertifiedError, match="exact=True"):
        found.exact()
    bounded = evaluate(Horizon(2).apply(network), Policy.uniform(network))
    for steps in (-1, 3, 1.0):
        with pytest.raises(HorizonRangeError):
            bounded.value(steps_left=steps)
    with pytest.raises(GameError, match="needs to be called"):
        evaluate(PigTurn, Policy.uniform(network))


def test_a_game_is_explored():
    network = explore(PigTurn())
    policy = Policy.of(network, lambda p: "hold" if p >= 20 else "roll")
    assert evaluate(PigTurn(), policy).value() == evaluate(network, policy).value()
    assert repr(evaluate(network, policy)) == (
        "<Solution: 8.14179489373 in [8.14179489373, 8.14179489373], certified by evaluation>"
    )
    assert (
        repr(evaluate(network, policy, exact=True))
        == "<Solution: 8.14179489373 in [8.14179489373, 8.14179489373], exact by evaluation>"
    )


def test_an_epsilon_that_is_too_small():
    network = explore(PigTurn())
    found = evaluate(network, Policy.uniform(network), epsilon=1e-18)
    assert found.status is Status.UNCERTIFIED
    assert "relative width" in found.reason
    assert "uncertified" in repr(found)
