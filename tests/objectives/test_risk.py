"""The worst share and the totals reached with a chance, against every policy followed in fractions."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from math import inf, prod

import attrs
import numpy as np
import pytest
from helpers.counter_games import Jar, make
from helpers.faulty_solvers import Honest, WrongPolicy, truth

from mdpdice import (
    Counter,
    CVaR,
    Dist,
    Game,
    PayoffAtLeast,
    Quantile,
    Status,
    Utility,
    compile_lattice,
    cross_check,
    d6,
    decide,
    end,
    explore,
    go,
    outcomes,
    pass_to,
    roll,
    solve,
)
from mdpdice.errors import GameError, SolveInterrupted, UnsupportedError
from mdpdice.games.pig import PigTurn
from mdpdice.objectives.risk import Worth

MANY = 1000
"""Distributions of a game, from which on it is left aside."""

PIG = {CVaR(0.5): 2.5, CVaR(0.9): 6.630339977180, CVaR(1): 8.141794893727, Quantile(0.5): 13.0}


@pytest.mark.parametrize("objective", PIG, ids=str)
def test_a_turn_of_pig_by_several_back_ends(objective):
    for solver in ("auto", "value-iteration", "policy-iteration", "linear-programming", "exact"):
        found = solve(PigTurn(), objective, solver=solver)
        assert found.value() == pytest.approx(PIG[objective], abs=1e-9)
        assert found.lower() <= found.value() <= found.upper()
        assert found.objective == str(objective)
    assert found.status is Status.EXACT
    assert abs(found.exact() - Fraction(PIG[objective])) < Fraction(1, 10**11)


# --- every policy ---------------------------------------------------------------


def some_game(seed):
    """Two to four rounds of one or two states: some chance, some decisions, rewards on the way."""
    rng = random.Random(seed)
    rounds = rng.randint(1, 3)
    amounts = [0, 0, 1, 2, 3, Fraction(1, 2), -1]

    def edge(depth):
        state = (depth + 1, rng.randint(0, 1))
        return end(rng.choice(amounts)) if depth + 1 == rounds else go(state, reward=rng.choice(amounts))

    def option(depth):
        if rng.random() < 0.3:
            return edge(depth)
        edges = [edge(depth) for _ in range(rng.randint(2, 3))]
        return roll(Dist({at: rng.randint(1, 3) for at in range(len(edges))}), edges.__getitem__)

    nodes = {
        (depth, k): decide((name, option(depth)) for name in range(rng.randint(1, 3)))
        for depth in range(rounds)
        for k in range(2)
    }
    return Game.of(start=(0, 0), node=nodes.__getitem__, sense=rng.choice(["max", "min"])), nodes


def distributions(nodes, state):
    """The distributions of the total, as sets of (total, probability), of all policies that remember the play."""

    def mixed(parts):
        found = set()
        if prod(len(each) for _, each in parts) > MANY:
            raise OverflowError
        for choice in itertools.product(*(each for _, each in parts)):
            sums = {}
            for (weight, _), one in zip(parts, choice, strict=True):
                for total, p in one:
                    sums[total] = sums.get(total, 0) + weight * p
            found.add(frozenset(sums.items()))
        return found

    def after(node):
        match type(node).__name__:
            case "End":
                return {frozenset({(Fraction(node.payoff), Fraction(1))})}
            case "Go":
                paid = Fraction(node.reward)
                return {frozenset((paid + x, p) for x, p in one) for one in of(node.state)}
            case "Chance":
                whole = sum(node.dist.weights)
                return mixed(
                    [(Fraction(w, whole), after(e)) for w, e in zip(node.dist.weights, node.edges, strict=True)]
                )
        return set().union(*(after(option) for option in node.options))

    def of(state):
        return after(nodes[state])

    return of(state)


def worst_share(distribution, alpha, sense):
    """The mean of the worst share, by adding the totals up from the worst one on."""
    left, found = alpha, Fraction(0)
    for total, p in sorted(distribution, reverse=sense == "min"):
        found += total * min(p, left)
        left -= min(p, left)
    return found / alpha


def quantile(distribution, p, sense):
    worth = [
        x for x, _ in distribution if sum(q for y, q in distribution if (y <= x if sense == "min" else y >= x)) >= p
    ]
    return min(worth) if sense == "min" else max(worth)


def compare(seed, solver):
    """Compare both objectives in a random game; whether it is small enough for that."""
    game, nodes = some_game(seed)
    rng = random.Random(seed)
    share = rng.choice([Fraction(k, 12) for k in range(1, 13)])
    best = min if game.sense == "min" else max
    try:
        every = distributions(nodes, (0, 0))
    except OverflowError:
        return False
    for objective, one in ((CVaR(share), worst_share), (Quantile(share), quantile)):
        right = best(one(each, share, game.sense) for each in every)
        found = solve(game, objective, solver=solver)
        assert found.value() == pytest.approx(float(right), abs=1e-9), (seed, objective)
        assert found.lower() <= right <= found.upper(), (seed, objective)
        if solver == "exact":
            assert found.exact() == right, (seed, objective)
    return True


@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_small_games_against_all_policies(solver):
    assert sum(compare(seed, solver) for seed in range(160)) > 130


@pytest.mark.slow
def test_more_small_games_against_all_policies():
    assert sum(compare(seed, ("auto", "exact")[seed % 2]) for seed in range(200, 2600)) > 2000


def test_a_policy_has_the_worst_share_that_is_claimed():
    found = solve(PigTurn(cap=40), CVaR(Fraction(3, 4)), solver="exact")
    threshold = found.details["threshold"]
    again = solve(PigTurn(cap=40), Utility(lambda x: threshold - max(threshold - x, 0) / 0.75))
    assert float(found.exact()) == pytest.approx(again.value(), abs=1e-9)
    assert found.action(int(threshold)) == "hold"


@pytest.mark.parametrize("cap", [30, 100])
def test_the_policy_does_what_is_claimed(cap):
    for share in (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10)):
        game = PigTurn(cap=cap)
        found, spread = solve(game, CVaR(share)), outcomes(game, solve(game, CVaR(share)), exact=True)
        distribution = [(Fraction(total), spread.prob(total)) for total in spread.totals.tolist()]
        assert float(worst_share(distribution, share, "max")) == pytest.approx(found.value(), abs=1e-9)
        found = solve(game, Quantile(share))
        assert outcomes(game, found).at_least(found.value()) >= float(share) - 1e-12


def test_stages():
    found = solve(PigTurn(), CVaR(1), horizon=3)
    assert found.value() == pytest.approx(solve(PigTurn(), horizon=3).value())
    assert found.value(steps_left=1) == 0


# --- lattices -----------------------------------------------------------------


@pytest.mark.parametrize("objective", [CVaR(0.3), CVaR(0.3, "min"), Quantile(0.25), Quantile(0.25, "min")], ids=repr)
def test_lattices_say_what_networks_say(objective):
    flat = solve(explore(Jar()), objective, solver="exact")
    for model in (Jar(), compile_lattice(Jar())):
        assert solve(model, objective).value() == pytest.approx(float(flat.exact()), abs=1e-9)


def test_rewards_on_a_lattice():
    def node(game, core):
        if core == "over":
            return end()
        die = roll(d6, lambda k: go("over", game.n.set(1), reward=2 * k))
        return decide({"six": go("over", reward=6), "die": die})

    game = make(node, n=Counter(range(2)))
    assert solve(compile_lattice(game, merge=False), CVaR(0.5)).value() == pytest.approx(6)
    lattice = compile_lattice(game, merge=False)
    assert solve(lattice, Quantile(0.49)).value() == 8
    # A lattice has no exact arithmetic; the chance of 8 is one half.
    found = solve(lattice, Quantile(0.5))
    assert (found.proved, found.lower(), found.estimate(), found.upper()) == (False, 6, 6, 8)
    assert found.reason == "between 6 and 8 the intervals of thresholds do not tell"


# --- what is proved -------------------------------------------------------------


@attrs.frozen
class WrongSometimes(Honest):
    """Right for half of the problems; in the others every value is a little too large."""

    name = "wrong-sometimes"

    def solve(self, problem, run):
        found = truth(problem, run)
        if problem.payoff.max() > 20:
            return attrs.evolve(found, value=np.where(problem.decides, found.value + 0.01, found.value))
        return found


def test_a_wrong_threshold_spoils_the_answer():
    found = solve(PigTurn(), CVaR(0.5), solver=WrongSometimes())
    assert (found.status, found.lower() <= 2.5 <= found.upper()) == (Status.UNCERTIFIED, True)
    assert found.reason.startswith("at the threshold ")
    assert not solve(PigTurn(), CVaR(0.5), solver=WrongPolicy()).proved
    assert not solve(PigTurn(), Quantile(0.5), solver=WrongPolicy()).proved


def test_the_interval_holds_whatever_the_intervals_of_thresholds_are():
    rng = random.Random(0)
    for _ in range(300):
        points = [Fraction(x) for x in sorted(rng.sample(range(40), rng.randint(1, 12)))]
        plays = [
            [(Fraction(rng.randint(1, 4)), rng.choice(points)) for _ in range(rng.randint(1, 5))] for _ in range(4)
        ]
        alpha, sense = Fraction(rng.randint(1, 8), 8), rng.choice(["max", "min"])
        best = min if sense == "min" else max
        loose = Fraction(rng.choice([0, 0, 1, 2]), 7)

        def value(threshold, plays=plays, alpha=alpha, sense=sense, best=best):
            worth = CVaR(alpha, sense).at(threshold).worth
            return best(sum(w * worth(x) for w, x in one) / sum(w for w, _ in one) for one in plays)

        def ask(threshold, value=value, loose=loose):
            right = value(threshold)
            low, high = right - loose * rng.randint(0, 3), right + loose * rng.randint(0, 3)
            return Worth((low + high) / 2, low, high, threshold)

        found = CVaR(alpha, sense).search(set(points), ask, 1e-6)
        right = best(value(point) for point in points)
        assert found.lower <= right <= found.upper
        assert found.lower <= found.value <= found.upper
        if not loose:
            assert found.lower == found.upper == value(found.threshold)


def test_nothing_is_known_where_nothing_is_known_of_a_threshold():
    def ask(threshold):
        low, high = (-inf, inf) if threshold == 9 else (threshold, threshold)
        return Worth(threshold, low, high, threshold)

    points = {Fraction(x) for x in (0, 5, 9)}
    for sense in ("max", "min"):
        found = CVaR(0.5, sense).search(points, ask, 1e-6)
        assert (found.lower, found.upper) == (-inf, inf)
    assert Quantile(0.5).search(points, ask, 1e-6)[:3] == (5, 5, 9)


def test_few_thresholds_are_solved():
    asked = []

    def ask(threshold):
        asked.append(threshold)
        value = -((threshold - 3333) ** 2) / Fraction(10_000)
        return Worth(value, value, value, threshold)

    found = CVaR(0.5).search({Fraction(x) for x in range(10_001)}, ask, 1e-6)
    assert (found.threshold, found.value) == (3333, 0)
    assert len(asked) == len(set(asked)) < 400


def test_candidates_that_intervals_cannot_tell_apart_are_named():
    def ask(threshold):
        middle = Fraction(1) - Fraction(threshold, 10)
        return Worth(middle, middle - Fraction(1, 100), middle + Fraction(1, 100), threshold)

    points = [Fraction(x) for x in range(11)]
    found = Quantile(Fraction(1, 2)).search(set(points), ask, 1e-6)
    assert (found.lower, found.value, found.upper) == (4, 4, 5)


def test_chances_that_floats_cannot_tell_are_settled_exactly():
    game = Game.of(start=0, node=lambda k: end(k) if k else decide({"throw": roll(d6, go)}))
    for p, best in ((Fraction(1, 2), 4), (Fraction(1, 3), 5), (Fraction(5, 6), 2), (Fraction(1, 6), 6), (1, 1)):
        assert solve(game, Quantile(p)).value() == best


# --- what is refused, and what is said ---------------------------------------------


@pytest.mark.parametrize("share", [0, -1, 1.5, "much", None, float("nan"), inf])
def test_shares_beyond_0_and_1(share):
    with pytest.raises(GameError, match="share"):
        CVaR(share)
    with pytest.raises(GameError, match="share"):
        Quantile(share)


def test_what_cannot_be_asked(tmp_path):
    rivals = Game.of(start=0, node=lambda _: decide({"a": end(1), "b": end(2)}, player=1))
    with pytest.raises(UnsupportedError, match="CVaR knows one player"):
        solve(rivals, CVaR(0.5))
    assert solve(rivals, Quantile(0.5)).value() == 1
    turns = Game.of(start=0, node=lambda n: end(n) if n == 3 else decide({"go": pass_to(n + 1)}))
    for objective in (CVaR(0.5), Quantile(0.5)):
        with pytest.raises(UnsupportedError, match=f"{type(objective).__name__} is not defined on a game with pass_to"):
            solve(turns, objective)
        with pytest.raises(UnsupportedError, match="solve\\(\\) alone"):
            cross_check(PigTurn(cap=10), objective)
        with pytest.raises(UnsupportedError, match="a checkpoint is of one"):
            solve(PigTurn(cap=10), objective, checkpoint=tmp_path / "checkpoint")
        with pytest.raises(UnsupportedError, match="is not saved"):
            solve(PigTurn(cap=10), objective).save(tmp_path / "answer.npz")
        with pytest.raises(SolveInterrupted) as stopped:
            solve(PigTurn(cap=90), objective, time_limit=1e-6)
        assert stopped.value.partial is None
    for_ever = Game.of(start=0, node=lambda _: decide({"pay": go(0, reward=1), "stop": end()}))
    with pytest.raises(UnsupportedError, match="CVaR of rewards that a play can collect again and again"):
        solve(for_ever, CVaR(0.5))


def test_the_objective_of_one_threshold_is_like_any_other(tmp_path):
    found = solve(PigTurn(), CVaR(0.5))
    one = CVaR(0.5).at(found.details["threshold"])
    assert str(one) == "cvar:1/2 at 6"
    again = solve(PigTurn(), one)
    again.save(tmp_path / "answer.npz")
    assert type(again).load(tmp_path / "answer.npz", PigTurn(), one).value() == pytest.approx(found.value(), abs=1e-9)
    assert cross_check(PigTurn(), one).ok
    assert Quantile(0.5).at(13) == PayoffAtLeast(13, "max")
    assert solve(PigTurn(), CVaR(0.5).at(20)).value() < found.value()
