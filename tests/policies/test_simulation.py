"""Simulated means against exact values: within four standard errors, with fixed seeds."""

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from helpers.small_games import three_rounds

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
    simulate,
    solve,
)
from mdpdice.errors import GameError, NotConvergedError, TotalRewardUndefinedError
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigRace, PigTurn, hold_at


def agrees(found, value):
    return abs(found.mean - value) <= 4 * found.standard_error


def test_hold_at_20():
    network = explore(PigTurn())
    policy = Policy.of(network, hold_at(20))
    found = simulate(network, policy, 200_000, seed=1)
    assert agrees(found, 8.141794893727)
    low, high = found.interval()
    assert low < found.mean < high
    reach = statistics.NormalDist().inv_cdf(0.975) * found.standard_error
    assert high - low == pytest.approx(2 * reach)
    assert found.interval(0.5)[0] > low
    exact = outcomes(network, policy)
    for total, chance in zip(exact.totals, exact.chances, strict=True):
        # The share of a total that comes up with chance p has the variance p (1 - p) / n.
        assert abs(found.frequency(total) - chance) < 4 * math.sqrt(chance * (1 - chance) / found.plays)
    assert set(found.totals) == set(exact.totals)
    assert found.sd == pytest.approx(exact.sd, rel=0.01)
    assert repr(found).startswith("<Simulation: 200,000 plays, mean 8.")


def test_equal_seeds_give_equal_plays():
    network = explore(PigTurn())
    policy = Policy.uniform(network)
    one, two = (simulate(network, policy, 40_000, seed=5) for _ in range(2))
    assert np.array_equal(one.totals, two.totals)
    assert one.moves == two.moves
    other = simulate(network, policy, 40_000, seed=6)
    assert not np.array_equal(one.totals, other.totals)
    same = simulate(network, policy, 40_000, seed=np.random.default_rng(5))
    assert np.array_equal(one.totals, same.totals)
    # A generator goes on where it was.
    generator = np.random.default_rng(5)
    assert not np.array_equal(
        simulate(network, policy, 1000, generator).totals, simulate(network, policy, 1000, generator).totals
    )


def test_a_game_and_another_start():
    network = explore(PigTurn())
    policy = Policy.of(network, hold_at(20))
    found = simulate(PigTurn(), policy, 50_000, seed=2, state=18)
    assert agrees(found, evaluate(network, policy).value(18))


@pytest.mark.parametrize("policy", ["optimal", "uniform"])
def test_farkle(policy):
    solution = solve(KcdFarkle())
    network = solution.network
    chosen = Policy.from_solution(solution) if policy == "optimal" else Policy.uniform(network)
    found = simulate(network, chosen, 100_000, seed=3)
    assert agrees(found, evaluate(network, chosen).value())
    exact = outcomes(network, chosen)
    assert abs(found.frequency(0) - exact.prob(0)) < 4 * math.sqrt(exact.prob(0) / found.plays)


def test_farkle_with_at_most_three_rolls():
    solution = solve(KcdFarkle(), horizon=3)
    found = simulate(solution.network, Policy.from_solution(solution), 60_000, seed=4)
    # Published: 547.3522341444.
    assert agrees(found, 547.3522341444)


def test_two_players_with_policies_of_their_own():
    network = explore(PigRace(goal=20))
    bold, meek = (Policy.of(network, hold_at(n)) for n in (12, 3))
    for pair in ((bold, meek), (meek, bold), (bold, bold), bold):
        found = simulate(network, pair, 60_000, seed=5)
        assert agrees(found, evaluate(network, pair).value())
        assert set(found.totals) <= {0, 1}


def test_maximiser_and_minimiser():
    def node(s):
        if s >= 10:
            return end(s)
        return decide({"a": roll(d6, lambda k: go(s + k)), "b": go(s + 1)}, player=s % 2)

    network = explore(Game.of(start=0, node=node))
    a, b = (Policy.of(network, lambda s, way=way: way) for way in "ab")
    for pair in ((a, b), (b, a), (Policy.uniform(network), a)):
        assert agrees(simulate(network, pair, 40_000, seed=6), evaluate(network, pair).value())


def test_rewards_discount_and_steps():
    network = explore(Game.of(start=0, node=three_rounds, discount=Fraction(3, 4)))
    policy = Policy.uniform(network)
    assert agrees(simulate(network, policy, 60_000, seed=7), evaluate(network, policy).value())
    # A play that never ends is worth a finite amount here, and is followed until nothing is left of it.
    endless = explore(
        Game.of(start=0, node=lambda s: decide({"on": roll(d6, lambda k: go(0), reward=1)}), discount=0.5)
    )
    found = simulate(endless, Policy.uniform(endless), 10, seed=0)
    assert found.mean == pytest.approx(2, abs=1e-15)
    assert found.standard_error == 0


def test_rewards_of_two_sides():
    def node(s):
        return roll(d6, lambda k: end(k) if k > 4 else pass_to(s, reward=k))

    network = explore(Game.of(start=0, node=node), merge=False)
    policy = Policy.uniform(network)
    found = simulate(network, policy, 60_000, seed=8)
    assert agrees(found, evaluate(network, policy).value())


def test_plays_that_wait_for_ever():
    options = {"pass": pass_to(0), "win": end(1)}
    network = explore(Game.of(start=0, node=lambda s: decide(options), total=1))
    found = simulate(network, Policy.of(network, lambda s: "pass"), 10, seed=0)
    assert found.mean == 0.5
    rich = explore(Game.of(start=0, node=lambda s: decide({"on": go(0, reward=1), "off": end()})))
    with pytest.raises(TotalRewardUndefinedError):
        simulate(rich, Policy.of(rich, lambda s: "on"), 10, seed=0)
    assert simulate(rich, Policy.of(rich, lambda s: "off"), 10, seed=0).mean == 0
    assert agrees(simulate(rich, Policy.uniform(rich), 20_000, seed=0), 1)


def test_a_play_that_takes_too_long():
    slow = explore(Game.of(start=0, node=lambda s: roll(Dist({0: 10**6, 1: 1}), lambda k: end() if k else go(0))))
    with pytest.raises(NotConvergedError, match="max_moves") as caught:
        simulate(slow, Policy.uniform(slow), 10, seed=0, max_moves=20)
    assert caught.value.iterations == 20
    # Exactly as many moves as are needed are enough.
    pig = explore(PigTurn())
    assert simulate(pig, Policy.of(pig, hold_at(0)), 10, seed=0, max_moves=1).moves == 10


def test_very_unequal_chances():
    # 400 outcomes, one of them nearly sure; the others must come up as often as they should.
    weights = {0: 10**6} | dict.fromkeys(range(1, 400), 50)
    network = explore(Game.of(start=0, node=lambda s: roll(Dist(weights), end)))
    found = simulate(network, Policy.uniform(network), 400_000, seed=9)
    total = sum(weights.values())
    counts = np.bincount(found.totals.astype(int), minlength=400)
    expected = np.array([weights[k] for k in range(400)]) / total * found.plays
    # Pearson's statistic has mean 399 and standard deviation sqrt(798) here.
    statistic = float(((counts - expected) ** 2 / expected).sum())
    assert abs(statistic - 399) < 4 * math.sqrt(2 * 399)


def test_questions_that_have_no_answer():
    network = explore(PigTurn())
    policy = Policy.uniform(network)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(GameError, match="number of plays"):
            simulate(network, policy, wrong)
    with pytest.raises(GameError, match="needs to be called"):
        simulate(PigTurn, policy, 10)
    found = simulate(network, policy, 1, seed=0)
    assert math.isnan(found.standard_error)
    for level in (0, 1, -1, math.nan):
        with pytest.raises(GameError, match="level"):
            found.interval(level)


def test_a_horizon_that_is_over_at_once():
    network = Horizon(0).apply(explore(PigTurn()))
    found = simulate(network, Policy.uniform(network), 100, seed=0)
    assert found.mean == 0
    assert found.moves == 0


@pytest.mark.slow
def test_a_million_moves_a_second():
    solution = solve(KcdFarkle())
    found = simulate(solution.network, Policy.from_solution(solution), 1_000_000, seed=0)
    assert found.moves / found.seconds > 1e6
    assert agrees(found, solution.value())
