"""Objectives of the whole payoff where rewards are paid on the way, on networks, against every play followed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import pytest
from helpers.counter_games import Sheet, make
from helpers.plays import best
from helpers.policy_enumeration import CHANCE, END, MAX, network

from mdpdice import (
    At,
    Counter,
    Game,
    Horizon,
    PayoffAtLeast,
    PayoffAtMost,
    Utility,
    chance,
    compile_lattice,
    d6,
    decide,
    end,
    explore,
    go,
    pool,
    roll,
    solve,
)
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.modelling.distribution import uniform


class Threes(Game):
    """Five dice; keep one or more after every throw, for their pips, and throw the others again; threes are free."""

    def start(self):
        return 5

    def node(self, state):
        if state == 0:
            return end()
        if isinstance(state, int):
            return roll(pool([d6] * state).map(tuple), go)
        dice = [face for face, count in enumerate(state, start=1) for _ in range(count)]
        kept = {
            some
            for size in range(1, len(dice) + 1)
            for some in combinations_with_replacement(range(1, 7), size)
            if all(some.count(face) <= dice.count(face) for face in some)
        }
        return decide(
            (some, go(len(dice) - len(some), reward=sum(face for face in some if face != 3))) for some in sorted(kept)
        )


def test_few_points_by_rewards():
    # The chance that was found by a game with a counter in place of the rewards, and by enumeration.
    found = solve(Threes(), PayoffAtMost(5), solver="exact")
    assert found.exact() == Fraction(117390693547, 235092492288)
    assert found.action(At((0, 0, 2, 0, 0, 3), collected=0)) == (3, 3)
    # Whoever has more than five has lost, however much more it is.
    assert max(state.counters["collected"] for state in found.network.states) == 6
    assert found.value(At(2, collected=6)) == 0
    assert solve(Threes(), PayoffAtLeast(6, sense="min"), solver="exact").exact() == 1 - found.exact()


class Purse(Game):
    """Three rounds: take a half, or toss for a whole one or nothing; both end with a debt of two thirds."""

    def start(self):
        return 0

    def node(self, round_):
        if round_ == 3:
            return end(Fraction(-2, 3))
        toss = chance(uniform([go(round_ + 1), go(round_ + 1, reward=1)]))
        return decide({"take": go(round_ + 1, reward=Fraction(1, 2)), "toss": toss})


OBJECTIVES = [
    PayoffAtLeast(Fraction(1, 3)),
    PayoffAtLeast(2, sense="min"),
    PayoffAtLeast(-1),
    PayoffAtLeast(-math.inf),
    PayoffAtLeast(math.inf, sense="min"),
    PayoffAtMost(Fraction(5, 6)),
    PayoffAtMost(0, sense="min"),
    PayoffAtMost(math.inf),
    Utility(lambda payoff: payoff * payoff),
    Utility(lambda payoff: (payoff + 1) ** 0.5, sense="min"),
]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda objective: f"{objective}-{objective.sense}")
def test_every_play_of_a_game_without_counters(objective):
    # Tosses are told apart only where rewards are not merged, which solve() sees to.
    assert explore(Purse()).averaged
    found = solve(Purse(), objective, solver="exact")
    assert found.exact() == best(Purse(), objective.worth, objective.sense or "max")


@pytest.mark.parametrize(
    "objective",
    [PayoffAtLeast(12), PayoffAtMost(11, sense="min"), Utility(lambda payoff: payoff * payoff, sense="min")],
    ids=str,
)
def test_every_play_of_a_game_with_counters(objective):
    found = solve(explore(Sheet()), objective, solver="exact")
    assert found.exact() == best(Sheet().unrolled(), objective.worth, objective.sense or "max")
    assert found.start == At(0, boxes=0, penalty=0, collected=0)


def test_symmetric_states_keep_their_sums():
    class Pair(Game):
        """Two boxes, one of which is filled in every round, for as much as the other one holds, and one more."""

        def start(self):
            return (0, 0)

        def canonical(self, state):
            return tuple(sorted(state))

        def node(self, state):
            a, b = state
            return end() if a + b == 4 else decide({0: go((a + 1, b), reward=b + 1), 1: go((a, b + 1), reward=a + 1)})

    found = solve(Pair(), PayoffAtLeast(8))
    assert found.value() == 1
    assert found.value(At((1, 0), collected=1)) == found.value(At((0, 1), collected=1)) == 1


def test_rewards_that_were_averaged_are_lost():
    with pytest.raises(UnsupportedError, match=r"give it the game, or explore\(game, merge=False\)"):
        solve(explore(Purse()), PayoffAtLeast(1))
    apart = explore(Purse(), merge=False)
    found = solve(apart, PayoffAtLeast(1), solver="exact")
    assert found.exact() == best(Purse(), PayoffAtLeast(1).worth) == Fraction(5, 8)


def test_a_sum_without_a_bound_is_refused_where_it_matters():
    # Toss as long as you like, for a point each, but the purse is lost one time in six.
    game = Game.of(
        start="on",
        node=lambda _: decide({"stop": end(), "toss": roll(d6, lambda k: end(-9) if k == 1 else go("on", reward=1))}),
    )
    for objective in (Utility(lambda payoff: -payoff), Utility(math.exp)):
        with pytest.raises(UnsupportedError, match="again and again") as caught:
            solve(game, objective)
        assert "'on'" in caught.value.state
    assert solve(game, PayoffAtLeast(2), solver="exact").exact() == Fraction(25, 36)
    # A payoff of -9 may follow, so nothing is settled before that.
    assert solve(game, PayoffAtLeast(2)).value(At("on", collected=2)) == 1


def test_the_most_edges(monkeypatch):
    monkeypatch.setattr("mdpdice.objectives.collected.MOST_EDGES", 1000)
    with pytest.raises(
        UnsupportedError, match="PayoffAtMost of rewards on the way: .* more than 1,000 edges"
    ) as caught:
        solve(Threes(), PayoffAtMost(20))
    assert caught.value.limit == 1000


def test_plays_without_an_end_are_worth_what_they_collected():
    # After a reward of 1 or of 3 play stays where it is.
    net = network(
        [(MAX, [(1, 1), (3, 0)]), (CHANCE, [(2, 0)]), (MAX, [(2, 0)]), (CHANCE, [(2, 3, 0.5), (4, 0, 0.5)]), (END, 0)]
    )
    found = solve(net, Utility(lambda payoff: payoff * payoff), solver="exact")
    assert found.exact() == Fraction(9, 2)
    assert found.value(At(2, collected=1)) == 1
    assert solve(net, PayoffAtMost(1), solver="exact").exact() == 1
    assert solve(net, PayoffAtLeast(1, sense="min"), solver="exact").exact() == Fraction(1, 2)


def test_who_may_go_round_for_ever_is_not_paid_for_it():
    net = network([(MAX, [(1, 1)]), (MAX, [(1, 0), (2, 0)]), (END, 0)])
    with pytest.raises(UnsupportedError, match="go on for ever after collecting some") as caught:
        solve(net, Utility(lambda payoff: payoff * payoff))
    assert caught.value.state == At(1, collected=1)
    assert solve(net, PayoffAtLeast(1)).value() == 1


def test_plays_that_are_cut_off():
    net = explore(
        Game.of(start=0, node=lambda n: end() if n == 5 else decide({"go": go(n + 1, reward=1), "stop": end(9)}))
    )
    found = solve(net, PayoffAtLeast(3), horizon=3)
    assert found.value() == 1
    assert solve(net, PayoffAtMost(2, sense="min"), horizon=2).value() == 0
    assert solve(Horizon(2).apply(net), PayoffAtMost(2)).value() == 1
    with pytest.raises(UnsupportedError, match="with a horizon"):
        solve(net, Utility(lambda payoff: payoff * payoff), horizon=3)


def test_the_name_of_the_sum_is_taken():
    game = make(
        lambda self, _: decide({1: go("s", self.collected.add(1), reward=1), 2: end()}),
        collected=Counter(range(3), outside="forbid"),
    )
    with pytest.raises(GameError, match="has a counter 'collected'"):
        solve(explore(game), PayoffAtLeast(1))
    with pytest.raises(GameError, match="has a counter 'collected'"):
        solve(compile_lattice(game), PayoffAtLeast(1))


def test_discounts_are_refused_by_name():
    game = Game.of(start=0, node=lambda n: end() if n else decide({"go": go(1, reward=1)}))
    game.discount = Fraction(1, 2)
    with pytest.raises(UnsupportedError, match="PayoffAtMost needs the whole payoff, and this network discounts it"):
        solve(game, PayoffAtMost(1))
