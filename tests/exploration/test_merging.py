"""What exploration makes one: parallel edges, and states that a symmetry calls equal."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

import attrs
import pytest
from helpers.random_games import acyclic_games, value
from helpers.small_games import COIN, game, rows
from hypothesis import given, settings

from mdpdice import (
    At,
    Counter,
    Dist,
    Game,
    Kind,
    Policy,
    certainly,
    compile_lattice,
    d6,
    decide,
    die,
    end,
    evaluate,
    explore,
    go,
    pass_to,
    roll,
    solve,
    when,
)
from mdpdice.errors import NotConvergedError, TotalRewardUndefinedError, UnknownStateError

# --- parallel edges ------------------------------------------------------------------------------


def spins(rewards, *, quit_for=0):
    """A wheel that may be spun again and again, and left."""
    dist = Dist(dict.fromkeys(range(len(rewards)), 1))
    spin = roll(dist, lambda k: go(0, reward=rewards[k]))
    return Game.of(start=0, node=lambda s: decide({"spin": spin, "quit": end(quit_for)}))


@pytest.mark.parametrize("rewards", [[1, -1], [2, -1], [1, -2], [1, 0, -1], [1, 1, -2, 0]])
def test_merging_hides_no_cycle_that_collects_and_pays(rewards):
    for merge in (True, False):
        network = explore(spins(rewards), merge=merge)
        with pytest.raises(TotalRewardUndefinedError):
            solve(network)
        # With a horizon there is a total.
        assert solve(network, horizon=2).value() == pytest.approx(max(0, 2 * sum(rewards) / len(rewards)))


@pytest.mark.parametrize(
    ("rewards", "worth"), [([1, 0], math.inf), ([0, 2, 1], math.inf), ([-1, 0], 3), ([0, -2, -1], 3), ([0, 0], 3)]
)
def test_merging_keeps_what_a_cycle_is_worth(rewards, worth):
    merged, apart = (explore(spins(rewards, quit_for=3), merge=merge) for merge in (True, False))
    assert solve(merged).value() == solve(apart).value() == worth
    # Nothing, and something beside it, are one edge.
    assert merged.n_edges < apart.n_edges


def test_merged_edges_pay_their_mean_gain_and_their_mean_cost():
    network = explore(spins([3, 1, 0, -5, -3, 0]))
    inline = int(network.dst[0])
    edges = network.edges(inline)
    paid = {network.exact_reward(edge): network.row(inline)[edge - edges.start] for edge in edges}
    assert paid == {Fraction(1): Fraction(2, 3), Fraction(-4): Fraction(1, 3)}
    assert network.averaged


def test_a_lattice_merges_as_a_network_does():
    class Spins(Game[str, str]):
        left = Counter(range(2), start=1)

        def start(self):
            return "wheel"

        def node(self, state):
            coin = roll(Dist({1: 1, -1: 1}), lambda k: go(state, reward=k))
            return when(self.left == 0, end(0), decide({"spin": coin, "quit": go(state, self.left.set(0))}))

    for network in (explore(Spins()), explore(Spins().unrolled())):
        with pytest.raises(TotalRewardUndefinedError):
            solve(network)
    # On the lattice itself nothing is proved.
    try:
        found = solve(compile_lattice(Spins()))
    except NotConvergedError:
        return
    assert not found.proved


def test_parallel_edges_are_merged_with_their_mean_reward():
    # 1 pays 1, 2 pays 2, 3 pays 6: to x with weights 1, 2 of 6 and to y with weight 3.
    dist = Dist({1: 1, 2: 2, 3: 3})
    network = explore(
        game({"start": lambda: roll(dist, lambda k: go("xxy"[k - 1], reward=(1, 2, 6)[k - 1])), "x": end, "y": end})
    )
    assert rows(network)[0][1] == [(1, Fraction(1, 2), Fraction(5, 3), 1, False), (2, Fraction(1, 2), 6, 1, False)]
    assert network.reward[0] == float(Fraction(5, 3))


def test_the_mean_is_taken_over_fractions_not_floats():
    # The float sum 0.1 + 0.2 + 0.3 rounds; the exact mean of the three rationals does not.
    rewards = {1: 0.1, 2: 0.2, 3: 0.3}
    network = explore(game({"start": lambda: roll(die(3), lambda k: go("x", reward=rewards[k])), "x": end}))
    assert network.exact_reward(0) == sum(map(Fraction, rewards.values())) / 3


def test_merging_goes_through_nested_rolls():
    # Two dice, one after the other: the sum 7 comes in six ways, 12 in one.
    two = lambda: roll(d6, lambda a: roll(d6, lambda b: go(a + b)))  # noqa: E731
    network = explore(Game.of(start=0, node=lambda s: two() if s == 0 else end(s)))
    assert network.kind.tolist().count(Kind.CHANCE) == 1
    assert dict(zip((network.state_of(t) for t in network.dst), network.row(0), strict=True)) == {
        s: Fraction(6 - abs(s - 7), 36) for s in range(2, 13)
    }


def test_rewards_inside_nested_rolls_add_up():
    network = explore(
        game({
            "start": lambda: roll(
                COIN,
                lambda s: go("x", reward=1) if s == "h" else roll(d6, lambda k: go("x", reward=k), reward=10),
                reward=Fraction(1, 7),
            ),
            "x": end,
        })
    )  # fmt: skip
    # 1/7 + (1 + (10 + 7/2)) / 2, on one edge.
    assert rows(network)[0][1] == [(1, 1, Fraction(1, 7) + Fraction(29, 4), 1, False)]


def test_an_edge_and_one_that_passes_on_stay_apart():
    network = explore(game({"start": lambda: roll(COIN, lambda s: (go if s == "h" else pass_to)("x")), "x": end}))
    assert [(e[0], e[1], e[3]) for e in rows(network)[0][1]] == [(1, Fraction(1, 2), 1), (1, Fraction(1, 2), -1)]


def test_rewards_of_merged_ends_add_to_the_payoff_not_to_each_other():
    # Ends of one payoff are one node; the roll's reward is on the edge.
    network = explore(game({"start": lambda: roll(d6, lambda k: end(k % 2), reward=5)}))
    assert sorted((network.payoff[t], w, r) for t, w, r, _, _ in rows(network)[0][1]) == [
        (0, Fraction(1, 2), 5),
        (1, Fraction(1, 2), 5),
    ]


def test_without_merging_every_outcome_keeps_its_edge():
    dist = Dist({1: 1, 2: 2, 3: 3})
    declared = game(
        {"start": lambda: decide({"r": roll(dist, lambda k: go("x", reward=k), reward=Fraction(1, 2))}), "x": end}
    )
    apart = explore(declared, merge=False)
    node = int(apart.dst[0])
    assert [(p, r) for _, p, r, _, _ in rows(apart)[node][1]] == [
        (Fraction(k, 6), k + Fraction(1, 2)) for k in (1, 2, 3)
    ]
    merged = explore(declared)
    assert merged.n_edges == 1
    assert merged.exact_reward(0) == Fraction(14, 6) + Fraction(1, 2)


def test_without_merging_plain_rolls_stay_apart_too():
    declared = game({"start": lambda: roll(d6, lambda k: go("x" if k > 1 else "y")), "x": end, "y": end})
    assert explore(declared, merge=False).n_edges == 6
    assert explore(declared).n_edges == 2


@given(acyclic_games(pass_on=True))
@settings(max_examples=30, deadline=None)
def test_merging_changes_no_value(declared):
    expected = float(value(declared))
    for merge in (True, False):
        assert solve(explore(declared, merge=merge)).value() == pytest.approx(expected, rel=1e-12, abs=1e-12)


# --- symmetry ------------------------------------------------------------------------------------


@attrs.frozen
class Piles(Game):
    """Nim: take from one pile; whoever takes the last one wins. The order of the piles does not matter."""

    piles: tuple
    sort: bool = True
    total = 1

    def start(self):
        return self.piles

    def node(self, piles):
        if not any(piles):
            return end(0)
        return decide([
            ((i, n), pass_to((*piles[:i], piles[i] - n, *piles[i + 1 :])))
            for i in range(len(piles))
            for n in range(1, piles[i] + 1)
        ])  # fmt: skip

    def canonical(self, piles):
        return tuple(sorted(piles)) if self.sort else piles


def test_canonical_is_applied_to_every_target_and_to_the_start():
    network = explore(Piles((3, 1, 2)))
    assert network.states[0] == (1, 2, 3)
    assert set(network.states) == {tuple(sorted(p)) for p in product(range(4), range(2), range(3))}
    # Nim: the mover loses exactly where the piles XOR to 0.
    answer = solve(Piles((3, 1, 2)))
    for piles in network.states:
        assert answer.value(piles) == (piles[0] ^ piles[1] ^ piles[2] != 0)


def test_canonical_makes_fewer_states_of_equal_value():
    small, large = explore(Piles((2, 2, 2))), explore(Piles((2, 2, 2), sort=False))
    assert small.n_states == 10
    assert large.n_states == 27
    assert solve(small).value() == solve(large).value() == 1


def test_values_of_equal_states_are_found_and_actions_are_not():
    solution = solve(Piles((3, 1, 2)))
    network = solution.network
    policy = evaluate(network, Policy.from_solution(solution))
    for piles in product(range(4), range(2), range(3)):
        for order in permutations(piles):
            value = solution.value(tuple(sorted(piles)))
            assert solution.value(order) == solution.estimate(order) == policy.value(order) == value
            assert solution.lower(order) <= value <= solution.upper(order)
            if list(order) != sorted(order):
                # (0, 1) takes one of the second pile; which pile that is depends on the order.
                for look_up in (solution.action, solution.q, solution.ties):
                    with pytest.raises(UnknownStateError):
                        look_up(order)
    for nowhere in ((9, 9, 9), 7, "piles", None):
        with pytest.raises(UnknownStateError):
            network.value_node_of(nowhere)
    with pytest.raises(UnknownStateError):
        solve(Piles((2, 1), sort=False)).value((1, 2))


def test_symmetry_beside_counters():
    class Walk(Game[int, str]):
        left = Counter(range(4), start=3)

        def start(self):
            return 2

        def node(self, place):
            return when(
                self.left == 0,
                end(place),
                decide({"away": go(min(place + 1, 6), self.left.add(-1)), "stay": go(-place, self.left.add(-1))}),
            )

        def canonical(self, place):
            return abs(place)

    solution = solve(Walk())
    assert solution.value() == 5
    assert solution.value(At(-3, left=2)) == solution.value(At(3, left=2)) == 5


@pytest.mark.parametrize("paid", [0, 2, -0.5, Fraction(1, 3), "1/7"])
@pytest.mark.parametrize("entering", [0, 3, 0.1, Fraction(-1, 3)])
def test_plain_chance_is_written_as_chance_inside_chance_is(paid, entering):
    """The quick way for edges straight to states, beside the general one, which adds fractions."""

    def drawn(state):
        # Targets that occur once, and twice with one reward, or with two.
        to = (state % 6, 2, 2, end(), 3, 3)
        rewards = (paid, paid, paid, 0, 1, state % 2)
        edges = [one if one is to[3] else go(one, reward=reward) for one, reward in zip(to, rewards, strict=True)]
        return roll(Dist(dict(zip(range(6), (4, 2, 6, 2, 8, 2), strict=True))), lambda k: edges[k], reward=entering)

    plain = explore(Game.of(start=0, node=lambda s: decide({"a": drawn(s), "b": go((s + 1) % 9)})))
    within = explore(
        Game.of(start=0, node=lambda s: decide({"a": roll(certainly(0), lambda _: drawn(s)), "b": go((s + 1) % 9)}))
    )
    assert plain.digest == within.digest
    assert plain.numerator.tolist() == within.numerator.tolist()
    assert plain.averaged == within.averaged
