"""Distributions of totals against enumerations of all plays."""

import functools
import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from helpers.random_networks import random_network
from helpers.small_games import PlainRace

from mdpdice import (
    Dist,
    Game,
    Horizon,
    Policy,
    d6,
    decide,
    end,
    evaluate,
    explore,
    go,
    outcomes,
    pass_to,
    roll,
    solve,
    uniform,
)
from mdpdice.errors import GameError, TotalRewardUndefinedError, UnsupportedError
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigTurn
from mdpdice.policies.distribution import Outcomes


def hold_at(network, n):
    return Policy.of(network, lambda points: "hold" if points >= n else "roll")


def pig_outcomes(points, hold):
    """Distribution of the score of a turn, by recursion over the rolls."""
    if points >= hold:
        return Counter({points: Fraction(1)})
    found = Counter({0: Fraction(1, 6)})
    for k in range(2, 7):
        for total, chance in pig_outcomes(points + k, hold).items():
            found[total] += chance / 6
    return found


def as_table(found):
    return dict(zip(found.totals.tolist(), found.chances.tolist(), strict=True))


def test_hold_at_20():
    network = explore(PigTurn())
    expected = pig_outcomes(0, 20)
    exact = outcomes(network, hold_at(network, 20), exact=True)
    assert exact.exact == expected
    found = outcomes(network, hold_at(network, 20))
    assert found.missing == 0
    assert as_table(found) == pytest.approx({k: float(v) for k, v in expected.items()}, rel=1e-14)
    assert found.mean == pytest.approx(8.141794893727, abs=1e-12)
    second = sum(v * k * k for k, v in expected.items())
    assert found.variance == pytest.approx(float(second - exact_mean(expected) ** 2), rel=1e-12)
    assert found.sd == math.sqrt(found.variance)
    # The chance of no points; Neller and Presser give it as 62.45 %.
    assert found.prob(0) == pytest.approx(float(expected[0]), rel=1e-14) == pytest.approx(0.6245, abs=5e-5)
    assert found.prob(1) == 0
    assert found.cdf(21) == pytest.approx(float(expected[0] + expected[20] + expected[21]))
    assert found.cdf(-1) == 0
    assert found.at_least(24) == pytest.approx(float(expected[24] + expected[25]))
    assert (found.quantile(0.5), found.quantile(0.63), found.quantile(1)) == (0, 20, 25)
    assert len(found) == 7
    assert repr(found) == "<Outcomes: 7 totals, mean 8.141794894, sd 10.539>"


def exact_mean(table):
    return sum(total * chance for total, chance in table.items())


def test_a_start_elsewhere():
    network = explore(PigTurn())
    found = outcomes(network, hold_at(network, 20), state=18, exact=True)
    assert found.exact == pig_outcomes(18, 20)


def test_rewards_are_added():
    # Three dice, one after the other, paid as rewards.
    game = Game.of(start=0, node=lambda s: end(10) if s == 3 else roll(d6, lambda k: go(s + 1, reward=k)))
    policy = Policy.uniform(explore(game))
    expected = Counter(10 + sum(dice) for dice in itertools.product(range(1, 7), repeat=3))
    found = outcomes(game, policy, exact=True)
    assert found.exact == {total: Fraction(count, 216) for total, count in expected.items()}
    assert as_table(outcomes(game, policy)) == pytest.approx({k: v / 216 for k, v in expected.items()})


def test_rewards_that_were_averaged_are_refused():
    game = Game.of(start=0, node=lambda s: end() if s else roll(d6, lambda k: go(1, reward=k)))
    network = explore(game)
    with pytest.raises(UnsupportedError, match=r"explore\(game, merge=False\)"):
        outcomes(network, Policy.uniform(network))
    found = outcomes(explore(game, merge=False), Policy.uniform(network))
    assert as_table(found) == pytest.approx(dict.fromkeys(range(1, 7), 1 / 6))
    # Gains and costs are not merged, and the network remembers of each what was.
    coin = Game.of(start=0, node=lambda s: end() if s else roll(uniform([1, -1]), lambda k: go(1, reward=k)))
    assert as_table(outcomes(explore(coin), Policy.uniform(explore(coin)))) == {-1: 0.5, 1: 0.5}
    for more in ([1, 0], [1, -1, 0], [-1, -2, 1]):
        mixed = Game.of(start=0, node=lambda s, m=more: end() if s else roll(uniform(m), lambda k: go(1, reward=k)))
        assert explore(mixed).averaged
        assert not explore(mixed, merge=False).averaged
    # Equal rewards lose nothing.
    flat = Game.of(start=0, node=lambda s: end() if s else roll(d6, lambda k: go(1, reward=5)))
    assert as_table(outcomes(explore(flat), Policy.uniform(explore(flat)))) == {5: 1}


def test_totals_are_added_exactly():
    # As floats, 0.1 + 0.2 and 0.3 differ; thirds have no float at all.
    def node(s):
        if s == 2:
            return end()
        return decide({"on": roll(uniform([Fraction(1, 3), Fraction(2, 3)]), lambda r: go(s + 1, reward=r))})

    game = Game.of(start=0, node=node)
    network = explore(game, merge=False)
    found = outcomes(network, Policy.uniform(network))
    assert as_table(found) == {2 / 3: 0.25, 1: 0.5, 4 / 3: 0.25}
    assert outcomes(network, Policy.uniform(network), exact=True).exact == {
        Fraction(2, 3): Fraction(1, 4),
        Fraction(1): Fraction(1, 2),
        Fraction(4, 3): Fraction(1, 4),
    }


def test_numbers_of_very_different_size():
    rewards = [1e300, 1e-300, 0.1]
    game = Game.of(start=0, node=lambda s: end(0.5) if s else roll(uniform(rewards), lambda r: go(1, reward=r)))
    network = explore(game, merge=False)
    found = outcomes(network, Policy.uniform(network))
    assert as_table(found) == pytest.approx({0.5: 1 / 3, 0.6: 1 / 3, 1e300: 1 / 3})


def race_outcome(goal, thresholds):
    """Chance that the starter wins a race, by a dense system over (who, mine, his, turn)."""
    states = [
        (who, mine, his, turn)
        for who in (0, 1)
        for mine in range(goal)
        for his in range(goal)
        for turn in range(goal + 6)
    ]
    place = {state: at for at, state in enumerate(states)}
    matrix, right = np.eye(len(states)), np.zeros(len(states))
    for at, (who, mine, his, turn) in enumerate(states):
        if mine + turn >= goal:
            right[at] = 1 - who
        elif turn >= thresholds[who]:
            matrix[at, place[1 - who, his, mine + turn, 0]] -= 1
        else:
            matrix[at, place[1 - who, his, mine, 0]] -= 1 / 6
            for k in range(2, 7):
                matrix[at, place[who, mine, his, turn + k]] -= 1 / 6
    return float(np.linalg.solve(matrix, right)[place[0, 0, 0, 0]])


def test_races_have_cycles_and_two_sides():
    network = explore(PlainRace(8))
    bold, meek = (Policy.of(network, lambda s, n=n: "hold" if s[2] >= n else "roll") for n in (6, 3))
    expected = race_outcome(8, (6, 3))
    found = outcomes(network, (bold, meek))
    assert found.missing == 0
    assert as_table(found) == pytest.approx({0: 1 - expected, 1: expected}, abs=1e-13)
    with pytest.raises(UnsupportedError, match="acyclic"):
        outcomes(network, (bold, meek), exact=True)


def paid_race(s):
    """Who rolls a six wins 10; every other roll costs its number, and passes the dice."""
    return roll(d6, lambda k: end(10) if k == 6 else pass_to(s, reward=-k))


@pytest.mark.parametrize("missing", [1e-3, 1e-6, 1e-12])
def test_cycles_with_rewards_are_followed_until_little_is_left(missing):
    game = Game.of(start=0, node=paid_race)
    policy = Policy.uniform(explore(game))
    # The first player pays what he rolls and gains what the other one pays, move by move.
    expected, going = Counter(), Counter({0: 1.0})
    sign = 1
    for _ in range(200):
        ahead = Counter()
        for total, mass in going.items():
            expected[total + 10 * sign] += mass / 6
            for k in range(1, 6):
                ahead[total - k * sign] += mass / 6
        going, sign = ahead, -sign
    found = outcomes(game, policy, missing=missing)
    assert 0 < found.missing <= missing
    assert found.chances.sum() + found.missing == pytest.approx(1, abs=1e-13)
    table = as_table(found)
    assert set(table) <= set(expected)
    for total, chance in expected.items():
        assert table.get(total, 0) <= chance + 1e-14 <= table.get(total, 0) + found.missing + 2e-14


def test_the_rounds_in_a_cycle_can_be_limited():
    game = Game.of(start=0, node=lambda s: roll(Dist({0: 3, 1: 1}), lambda k: end() if k else go(0, reward=1)))
    network = explore(game)
    found = outcomes(network, Policy.uniform(network), max_rounds=10)
    # A geometric number of rewards; what is left after ten rounds is missing.
    assert as_table(found) == pytest.approx({k: 0.75**k / 4 for k in range(10)})
    assert found.missing == pytest.approx(0.75**10)
    assert found.quantile(0.9) == 8
    with pytest.raises(GameError, match="missing"):
        found.quantile(0.96)
    full = outcomes(network, Policy.uniform(network))
    assert full.missing <= 1e-12
    assert full.mean == pytest.approx(3, abs=1e-10)
    assert full.variance == pytest.approx(12, abs=1e-8)


@pytest.mark.parametrize("level", [0, -0.1, 1.1, math.nan])
def test_levels_of_quantiles(level):
    with pytest.raises(GameError, match=r"\(0, 1\]"):
        Outcomes(np.array([1.0]), np.array([1.0])).quantile(level)


def test_endless_plays():
    def network_of(reward, **more):
        options = {"stay": go(0, reward=reward), "risk": roll(d6, lambda k: go(0) if k == 1 else end(k))}
        return explore(Game.of(start=0, node=lambda s: decide(options), **more))

    idle = network_of(0)
    assert as_table(outcomes(idle, Policy.of(idle, lambda s: "stay"))) == {0: 1}
    for sign in (1, -1):
        rich = network_of(sign)
        found = outcomes(rich, Policy.of(rich, lambda s: "stay"))
        assert as_table(found) == {sign * math.inf: 1}
        assert found.mean == sign * math.inf
        assert math.isnan(found.variance)
    with pytest.raises(UnsupportedError, match="rational"):
        outcomes(rich, Policy.of(rich, lambda s: "stay"), exact=True)
    waiting = explore(Game.of(start=0, node=lambda s: decide({"pass": pass_to(0), "win": end(1)}), total=1))
    assert as_table(outcomes(waiting, Policy.of(waiting, lambda s: "pass"))) == {0.5: 1}
    both = explore(Game.of(start=0, node=lambda s: decide({"on": pass_to(0, reward=1)})))
    with pytest.raises(TotalRewardUndefinedError):
        outcomes(both, Policy.uniform(both))


def test_some_plays_end_and_others_collect_for_ever():
    network = explore(
        Game.of(
            start="s",
            node=lambda s: {
                "s": roll(uniform([1, 2, 3]), lambda k: go("rich") if k == 1 else end(Fraction(k, 3))),
                "rich": decide({"on": go("rich", reward=1)}),
            }[s],
        )
    )
    found = outcomes(network, Policy.uniform(network))
    assert as_table(found) == pytest.approx({2 / 3: 1 / 3, 1: 1 / 3, math.inf: 1 / 3})


def test_both_infinities_have_no_mean():
    step = {"up": 1, "down": -1}
    network = explore(
        Game.of(
            start="s",
            node=lambda s: (
                roll(d6, lambda k: go("up") if k > 2 else go("down"))
                if s == "s"
                else decide({"on": go(s, reward=step[s])})
            ),
        )
    )
    found = outcomes(network, Policy.uniform(network))
    assert as_table(found) == pytest.approx({-math.inf: 1 / 3, math.inf: 2 / 3})
    assert math.isnan(found.mean)
    assert found.quantile(0.5) == math.inf
    with pytest.raises(TotalRewardUndefinedError):
        evaluate(network, Policy.uniform(network)).value()


def test_discounted_networks_are_refused():
    game = Game.of(start=0, node=lambda s: decide({"a": end(1)}), discount=Fraction(1, 2))
    network = explore(game)
    with pytest.raises(UnsupportedError, match="discount"):
        outcomes(network, Policy.uniform(network))
    with pytest.raises(GameError, match="needs to be called"):
        outcomes(PigTurn, Policy.uniform(network))


@pytest.mark.parametrize("seed", range(20))
def test_means_agree_with_the_evaluation(seed):
    network = random_network(seed, flips=seed % 2 == 1)
    policy = Policy.uniform(network)
    value = float(evaluate(network, policy).nodes.values[network.start])
    if math.isnan(value):
        with pytest.raises(TotalRewardUndefinedError):
            outcomes(network, policy)
        return
    found = outcomes(network, policy)
    assert found.mean == (pytest.approx(value, abs=1e-8) if math.isfinite(value) else value)
    assert found.chances.sum() + found.missing == pytest.approx(1)


def test_farkle_outcomes():
    solution = solve(KcdFarkle())
    policy = Policy.from_solution(solution)
    found = outcomes(solution.network, policy)
    assert found.mean == pytest.approx(solution.value(), rel=1e-12)
    assert found.missing == 0
    # The chance of a bust, by a recursion over the states.
    network = solution.network

    @functools.cache
    def bust(state):
        node = network.node_of(state)
        if network.decides[node]:
            edge = network.edge_of(node, solution.action(state))
            return after(edge)
        row = network.weight[network.indptr[node] : network.indptr[node + 1]].tolist()
        return sum(p * after(e) for p, e in zip(row, network.edges(node), strict=True))

    def after(edge):
        node = int(network.dst[edge])
        state = network.state_of(node)
        return bust(state) if state is not None else float(network.payoff[node] == 0)

    assert found.prob(0) == pytest.approx(bust(network.states[0]), rel=1e-12)
    assert found.quantile(0.5) == 450


def test_a_horizon():
    network = Horizon(2).apply(explore(PigTurn()))
    found = outcomes(network, hold_at(network, 20), exact=True)
    # Two decisions: roll and roll; what is not banked then is worth nothing.
    assert found.exact == {0: 1}
    found = outcomes(network, Policy.of(network, lambda p, n: "hold" if n == 1 else "roll", staged=True), exact=True)
    assert found.exact == {0: Fraction(1, 6), **{k: Fraction(1, 6) for k in range(2, 7)}}
