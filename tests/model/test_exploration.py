"""From a declared game to the arrays of a network."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from fractions import Fraction
from itertools import pairwise, permutations, product

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import Table, acyclic_games, tables, value, written_as_nodes

from mdpdice import (
    At,
    ClassicMDP,
    Counter,
    Dist,
    Game,
    Kind,
    Policy,
    certainly,
    chance,
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
    uniform,
    when,
)
from mdpdice.errors import MdpDiceError, StateLimitError, UnknownStateError

COIN = uniform("ht")


def game(nodes, start="start", **fields):
    return Game.of(start=start, node=lambda state: nodes[state](), **fields)


def rows(network):
    """Kind and edges of every node, with exact numbers: what a network says, without its numbering of edges."""
    return [
        (
            Kind(network.kind[node]).name,
            [
                (int(network.dst[e]), p, network.exact_reward(e), int(network.sign[e]), bool(network.step[e]))
                for e, p in zip(network.edges(node), network.row(node), strict=True)
            ],
            network.exact_payoff(node),
        )
        for node in range(network.n_nodes)
    ]


# --- what becomes a node -------------------------------------------------------------------------


def test_a_small_game_node_by_node():
    network = explore(
        game({
            "start": lambda: decide({"stop": end(2), "roll": roll(d6, lambda k: end() if k == 1 else go("next"))}),
            "next": lambda: roll(COIN, lambda side: go("start") if side == "h" else end(2)),
        })
    )  # fmt: skip
    assert list(network.states) == ["start", "next"]
    assert list(network.actions) == ["stop", "roll"]
    # start, its inline roll, next, and the two ends.
    assert rows(network) == [
        ("MAX", [(3, 1, 0, 1, False), (1, 1, 0, 1, False)], 0),
        ("CHANCE", [(4, Fraction(1, 6), 0, 1, False), (2, Fraction(5, 6), 0, 1, False)], 0),
        ("CHANCE", [(0, Fraction(1, 2), 0, 1, True), (3, Fraction(1, 2), 0, 1, False)], 0),
        ("END", [], 2),
        ("END", [], 0),
    ]
    assert network.start == 0
    assert [network.state_of(i) for i in range(5)] == ["start", None, "next", None, None]


def test_states_come_in_the_order_in_which_they_are_found():
    children = {0: (5, 3), 5: (9, 3), 3: (7, 0), 9: (), 7: (5,)}
    network = explore(
        Game.of(start=0, node=lambda s: decide([(c, go(c)) for c in children[s]]) if children[s] else end(s))
    )
    assert list(network.states) == [0, 5, 3, 9, 7]
    assert [network.node_of(s) for s in network.states] == sorted(network.node_of(s) for s in network.states)


def test_states_inside_nested_rolls_come_in_reading_order():
    # The second branch nests, so the row is read twice; the order must not notice.
    nested = lambda: roll(die(3), lambda k: go(10 * k) if k != 2 else roll(COIN, go))  # noqa: E731
    network = explore(Game.of(start=0, node=lambda s: nested() if s == 0 else end()))
    assert list(network.states) == [0, 10, "h", "t", 30]


def test_every_state_is_asked_once():
    asked = []

    def node(state):
        asked.append(state)
        return decide([(k, go(min(state + k, 5))) for k in (1, 2)]) if state < 5 else end()

    explore(Game.of(start=0, node=node))
    # Afterwards a sample of them is asked again, twice, to see whether the game repeats itself.
    assert asked[:6] == [0, 1, 2, 3, 4, 5]
    assert asked[6:] == [k for k in range(6) for _ in range(2)]


def test_ends_are_shared_by_payoff():
    network = explore(
        game(
            {
                "start": lambda: decide(
                    [(k, end(p)) for k, p in enumerate([1, Fraction(1), 1.0, 2, Fraction(1, 3), 1 / 3])]
                )
            }
        )
    )
    ends = network.dst.tolist()
    assert ends[0] == ends[1] == ends[2]
    assert len(set(ends)) == 4  # 1/3 and the float nearest to it are different numbers
    assert network.exact_payoff(ends[4]) == Fraction(1, 3)
    assert network.exact_payoff(ends[5]) == Fraction(1 / 3) != Fraction(1, 3)
    assert network.payoff[ends[4]] == network.payoff[ends[5]]


def test_a_state_that_ends_has_a_node_of_its_own():
    network = explore(game({"start": lambda: decide({"a": go("over"), "b": end(1)}), "over": lambda: end(1)}))
    assert network.kind.tolist() == [Kind.MAX, Kind.END, Kind.END]
    assert network.node_of("over") != network.dst[1]


def test_a_shared_chance_state_is_one_node_and_an_inline_one_belongs_to_its_option():
    thrown = lambda: roll(d6, end)  # noqa: E731
    inline = explore(game({"start": lambda: decide({"a": thrown(), "b": thrown()})}))
    shared = explore(game({"start": lambda: decide({"a": go("r"), "b": go("r")}), "r": thrown}))
    assert np.count_nonzero(inline.kind == Kind.CHANCE) == 2
    assert np.count_nonzero(shared.kind == Kind.CHANCE) == 1
    assert shared.dst[0] == shared.dst[1]
    assert inline.dst[0] != inline.dst[1]


def test_one_roll_object_in_two_options_is_still_inline():
    once = roll(d6, end)
    network = explore(game({"start": lambda: decide({"a": once, "b": once})}))
    assert np.count_nonzero(network.kind == Kind.CHANCE) == 2


def test_a_roll_with_one_outcome_is_a_plain_edge():
    network = explore(
        game({
            "start": lambda: decide({
                "sure": roll(certainly(1), lambda k: go("x", reward=2), reward=Fraction(1, 3)),
                "same": roll(d6, lambda k: go("x")),
                "nested": roll(COIN, lambda s: roll(d6, lambda k: pass_to("x", reward=1))),
            }),
            "x": end,
        })
    )  # fmt: skip
    assert network.kind.tolist() == [Kind.MAX, Kind.END]
    assert [network.exact_reward(e) for e in range(3)] == [Fraction(7, 3), 0, 1]
    assert network.sign.tolist() == [1, 1, -1]


def test_a_state_that_only_goes_on_is_a_chance_node_with_one_edge():
    network = explore(
        game({"start": lambda: decide({"a": go("x")}), "x": lambda: go("y", reward=3), "y": end})
    )
    node = network.node_of("x")
    assert network.kind[node] == Kind.CHANCE
    assert network.row(node) == [1]
    assert network.reward[network.edges(node)[0]] == 3


def test_players_become_kinds():
    network = explore(
        game({"start": lambda: decide({"a": go("x")}), "x": lambda: decide({"b": end()}, player=1)})
    )
    assert network.kind.tolist() == [Kind.MAX, Kind.MIN, Kind.END]


def test_options_left_out_leave_no_edge_and_no_state():
    network = explore(
        game({"start": lambda: decide({"a": None, "b": end(1), "c": when(False, go("never")), "d": end(2)})})
    )
    assert list(network.actions) == ["b", "d"]
    assert list(network.states) == ["start"]
    assert [network.payoff[t] for t in network.dst] == [1, 2]


# --- parallel edges ------------------------------------------------------------------------------


def test_parallel_edges_are_merged_with_their_mean_reward():
    # 1 pays 1, 2 pays 2, 3 pays 6: to x with weights 1, 2 of 6 and to y with weight 3.
    dist = Dist({1: 1, 2: 2, 3: 3})
    network = explore(
        game(
            {
                "start": lambda: roll(dist, lambda k: go("xxy"[k - 1], reward=(1, 2, 6)[k - 1])),
                "x": end,
                "y": end,
            }
        )
    )
    assert rows(network)[0][1] == [
        (1, Fraction(1, 2), Fraction(5, 3), 1, False),
        (2, Fraction(1, 2), 6, 1, False),
    ]
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
    network = explore(
        game({"start": lambda: roll(COIN, lambda s: (go if s == "h" else pass_to)("x")), "x": end})
    )
    assert [(e[0], e[1], e[3]) for e in rows(network)[0][1]] == [
        (1, Fraction(1, 2), 1),
        (1, Fraction(1, 2), -1),
    ]


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
        {
            "start": lambda: decide({"r": roll(dist, lambda k: go("x", reward=k), reward=Fraction(1, 2))}),
            "x": end,
        }
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


# --- rewards on a roll ---------------------------------------------------------------------------


def test_the_reward_of_a_roll_is_paid_once():
    declared = game({"start": lambda: decide({"r": roll(d6, end, reward=100)})})
    assert solve(declared).value() == pytest.approx(103.5)
    twice = game({"start": lambda: go("r", reward=1000), "r": lambda: roll(d6, end, reward=100)})
    assert solve(twice).value() == pytest.approx(1103.5)


def test_the_reward_of_chance_is_paid_once():
    declared = game({"start": lambda: chance(Dist({end(1): 1, end(2): 3}), reward=10)})
    assert solve(declared).value() == pytest.approx(11.75)


# --- exact weights -------------------------------------------------------------------------------


def test_small_weights_are_64_bit_integers():
    network = explore(game({"start": lambda: roll(Dist({1: 2, 2: 4, 3: 3}), end)}))
    assert network.numerator.dtype == np.int64
    assert network.row(0) == [Fraction(2, 9), Fraction(4, 9), Fraction(3, 9)]
    assert network.weight.tolist() == [2 / 9, 4 / 9, 3 / 9]


def test_weights_up_to_the_last_64_bit_sum():
    big = 2**63 - 2
    network = explore(game({"start": lambda: roll(Dist({1: big, 2: 1}), end)}))
    assert network.numerator.dtype == np.int64
    assert network.row(0) == [Fraction(big, big + 1), Fraction(1, big + 1)]
    beyond = explore(game({"start": lambda: roll(Dist({1: big + 1, 2: 2}), end)}))
    assert beyond.numerator.dtype == object
    assert beyond.row(0) == [Fraction(big + 1, big + 3), Fraction(2, big + 3)]


def test_weights_beyond_64_bits_keep_every_digit():
    # Floats are binary fractions; three of them nested have a denominator of 2^150 and more.
    tenth = Dist({True: 0.1, False: 0.9})
    nested = lambda: roll(tenth, lambda a: roll(tenth, lambda b: roll(tenth, lambda c: end(a + b + c))))  # noqa: E731
    network = explore(game({"start": lambda: decide({"a": end(), "b": nested()}), "x": end}))
    p = tenth.prob(True)
    q = 1 - p
    node = int(network.dst[1])
    got = {network.payoff[t]: w for t, w, *_ in rows(network)[node][1]}
    assert got == {3: p**3, 2: 3 * p**2 * q, 1: 3 * p * q**2, 0: q**3}
    assert network.numerator.dtype == object
    assert network.weight[network.edges(node)].sum() == pytest.approx(1, abs=1e-15)


def test_rows_before_and_after_a_long_one_stay_exact():
    long = Dist({1: 3**50, 2: 1})
    declared = game({
        "start": lambda: roll(d6, lambda k: go("long") if k == 1 else go("short")),
        "long": lambda: roll(long, end),
        "short": lambda: roll(Dist({1: 1, 2: 2}), end),
    })  # fmt: skip
    network = explore(declared)
    assert network.row(network.node_of("start")) == [Fraction(1, 6), Fraction(5, 6)]
    assert network.row(network.node_of("long")) == [Fraction(3**50, 3**50 + 1), Fraction(1, 3**50 + 1)]
    assert network.row(network.node_of("short")) == [Fraction(1, 3), Fraction(2, 3)]


def test_a_probability_below_every_float_is_still_possible():
    tiny = Dist({"never": 1, "surely": 10**400})
    network = explore(game({"start": lambda: roll(tiny, go), "never": end, "surely": end}))
    assert network.row(0)[0] == Fraction(1, 10**400 + 1)
    assert network.weight[0] > 0


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
                decide(
                    {"away": go(min(place + 1, 6), self.left.add(-1)), "stay": go(-place, self.left.add(-1))}
                ),
            )

        def canonical(self, place):
            return abs(place)

    solution = solve(Walk())
    assert solution.value() == 5
    assert solution.value(At(-3, left=2)) == solution.value(At(3, left=2)) == 5


# --- the chance prefix ---------------------------------------------------------------------------


def test_a_start_by_chance_is_copied_where_it_is_reached_again():
    declared = game({
        "deal": lambda: roll(COIN, lambda s: go("choose") if s == "h" else go("bonus")),
        "bonus": lambda: roll(COIN, lambda s: go("choose", reward=1) if s == "h" else end(7)),
        "choose": lambda: decide({"again": go("deal"), "stop": end(1)}),
    }, start="deal")  # fmt: skip
    network = explore(declared)
    # deal and bonus have two nodes each, and each name the one of the prefix.
    roles = [
        [i for i in range(network.n_nodes) if network.state_of(i) == s] for s in ("deal", "bonus", "choose")
    ]
    assert [len(nodes) for nodes in roles] == [2, 2, 1]
    assert network.start == network.node_of("deal")
    into_choose = np.flatnonzero(network.dst == network.node_of("choose"))
    first = {network.node_of("deal"), network.node_of("bonus")}
    assert {int(network.source[e]): bool(network.step[e]) for e in into_choose} == {
        node: node not in first for node in roles[0] + roles[1]
    }
    # Each copy leads to its own kind.
    for again in (False, True):
        deal = next(n for n in roles[0] if (n in first) != again)
        bonus = next(n for n in roles[1] if (n in first) != again)
        assert bonus in network.dst[network.edges(deal)]
        assert [r for *_, r, _, _ in rows(network)[bonus][1]] == [1, 0]
    # The decision leads to the copy that is not the start.
    assert int(network.dst[network.edge_of(network.node_of("choose"), "again")]) != network.start


def test_a_start_by_chance_that_never_returns_is_not_copied():
    declared = game(
        {"deal": lambda: roll(COIN, lambda s: go("choose")), "choose": lambda: decide({"go on": end(1)})},
        start="deal",
    )
    network = explore(declared)
    assert network.n_nodes == 3
    assert network.step.tolist() == [False, False]


def test_only_decisions_are_entered_by_a_step():
    declared = game({
        "start": lambda: decide({"a": go("chance"), "b": go("decision"), "c": end()}),
        "chance": lambda: roll(COIN, lambda s: go("decision") if s == "h" else go("over")),
        "decision": lambda: decide({"x": go("start"), "y": go("over")}),
        "over": end,
    })  # fmt: skip
    network = explore(declared)
    assert network.step.tolist() == network.decides[network.dst].tolist()
    assert network.step.any()
    assert not network.step.all()


def test_only_the_reached_part_of_a_prefix_is_copied():
    declared = game({
        "a": lambda: go("b"),
        "b": lambda: roll(COIN, lambda s: go("c")),
        "c": lambda: roll(COIN, lambda s: go("choose") if s == "h" else go("b")),
        "choose": lambda: decide({"back": go("c"), "stop": end()}),
    }, start="a")  # fmt: skip
    network = explore(declared)
    count = {s: sum(network.state_of(i) == s for i in range(network.n_nodes)) for s in "abc"}
    assert count == {"a": 1, "b": 2, "c": 2}  # b comes after c, so it is reached later as well


# --- the textbook form ---------------------------------------------------------------------------


def renamed(network, names):
    """What a network says with every state and node called by a name that does not depend on numbering."""

    def called(node):
        state = network.state_of(node)
        if state is not None:
            return names(state)
        if network.kind[node] == Kind.END:
            return "end", network.exact_payoff(node)
        return "chance", row(node)

    def row(node):
        return frozenset(
            (
                network.action_of(e) if network.decides[node] else None,
                called(int(network.dst[e])),
                p,
                network.exact_reward(e),
                int(network.sign[e]),
                bool(network.step[e]),
            )
            for e, p in zip(network.edges(node), network.row(node), strict=True)
        )

    return {
        called(n): (int(network.kind[n]), row(n))
        for n in range(network.n_nodes)
        if network.state_of(n) is not None
    }


@given(tables(), st.sampled_from([1, 0.9, Fraction(1, 2)]))
@settings(max_examples=40, deadline=None)
def test_both_forms_of_a_process_give_one_network(table, discount):
    classic = explore(Table(table, discount))
    nodes = explore(attrs_like(written_as_nodes(table, names=lambda s: f"state {s}"), discount))
    assert renamed(classic, lambda s: f"state {s}") == renamed(nodes, lambda s: s)
    assert classic.digest == nodes.digest
    assert [f"state {s}" for s in classic.states] == list(nodes.states)
    assert list(classic.actions) == list(nodes.actions)


def attrs_like(declared, discount):
    declared.discount = discount
    return declared


def test_the_reference_evaluator_agrees_on_the_first_game():
    # So that tests which lean on it cannot all be wrong together: 3.5 by hand.
    assert value(Game.of(start=0, node=lambda s: roll(d6, end))) == Fraction(7, 2)


@given(acyclic_games())
@settings(max_examples=40, deadline=None)
def test_values_are_those_of_the_declaration(declared):
    answer = solve(declared, solver="backward-induction")
    assert answer.value() == pytest.approx(float(value(declared)), rel=1e-12, abs=1e-12)


# --- limits --------------------------------------------------------------------------------------


def toggles(n):
    """2^n states: every action flips one of n switches."""
    return Game.of(
        start=(False,) * n,
        node=lambda s: decide([(i, go((*s[:i], not s[i], *s[i + 1 :]))) for i in range(n)]),
    )


def test_the_limit_of_states():
    with pytest.raises(StateLimitError, match="max_states=1,000") as caught:
        explore(toggles(40), max_states=1000)
    error = caught.value
    assert error.code == "StateLimitExceeded"
    assert error.limit == 1000
    # It stops with the row that passes the limit.
    assert 1000 < error.explored <= 1040
    assert error.value == error.explored
    assert 1 <= len(error.frontier) <= 3
    assert all(len(state) == 40 for state in error.frontier)
    assert repr(error.frontier[0]) in str(error)
    assert "Merge equal futures" in str(error)


def test_a_model_that_just_fits():
    assert explore(toggles(6), max_states=64).n_states == 64
    with pytest.raises(StateLimitError) as caught:
        explore(toggles(6), max_states=63)
    assert caught.value.explored == 64


def test_the_limit_of_memory():
    with pytest.raises(StateLimitError, match="max_bytes=20,000,000") as caught:
        explore(toggles(40), max_bytes=20_000_000)
    assert caught.value.limit == 20_000_000
    assert 10_000 < caught.value.explored < 100_000


def test_solve_hands_the_limit_on():
    with pytest.raises(StateLimitError) as caught:
        solve(toggles(40), max_states=500)
    assert caught.value.limit == 500


def in_a_process(code, megabytes):
    """Run code in a process that may take so much memory beyond what the library itself takes."""
    program = textwrap.dedent("""
        import resource
        from mdpdice import *
        from mdpdice.errors import StateLimitError
        from mdpdice.memory import used_bytes
        with open("/proc/self/statm") as file:
            held = int(file.read().split()[0]) * resource.getpagesize()
        limit = held + ({} << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    """).format(megabytes) + textwrap.dedent(code)
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return run.stdout


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are those of Linux")
def test_an_explosion_of_states_stays_within_the_memory_of_the_process():
    said = in_a_process(
        """
        game = Game.of(
            start=(False,) * 40,
            node=lambda s: decide([(i, go((*s[:i], not s[i], *s[i + 1:]))) for i in range(40)]),
        )
        try:
            explore(game)
        except StateLimitError as error:
            print(error.code, error.explored, error.limit, type(error.__cause__).__name__)
        """,
        megabytes=60,
    )
    code, explored, limit, cause = said.split()
    assert code == "StateLimitExceeded"
    assert int(explored) > 10_000
    assert int(limit) <= 60 << 20
    # It stopped by counting, not by running into the wall.
    assert cause == "NoneType"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are those of Linux")
def test_large_states_count_with_what_they_hold():
    # Ten thousand bytes each: a count of states alone would not see them.
    said = in_a_process(
        """
        game = Game.of(start=(0, ""), node=lambda s: decide([(i, go((2 * s[0] + i, str(i) * 10_000))) for i in (1, 2)]))
        try:
            explore(game)
        except StateLimitError as error:
            print(error.code, error.explored, type(error.__cause__).__name__)
        """,
        megabytes=400,
    )
    code, explored, _ = said.split()
    assert code == "StateLimitExceeded"
    assert 1000 < int(explored) < 60_000


def test_running_out_of_memory_all_the_same_is_a_limit_error():
    def node(state):
        if state == 50:
            raise MemoryError
        return decide({"a": go(state + 1)})

    with pytest.raises(StateLimitError) as caught:
        explore(Game.of(start=0, node=node))
    assert isinstance(caught.value.__cause__, MemoryError)
    assert caught.value.explored == 51


# --- long chains ---------------------------------------------------------------------------------

LONG = 1_000_000


@pytest.mark.slow
def test_a_chain_of_a_million_states():
    network = explore(Game.of(start=0, node=lambda s: go(s + 1, reward=1) if s < LONG else end(5)))
    assert network.n_states == LONG + 1
    assert solve(network).value() == LONG + 5


class Chain(ClassicMDP):
    discount = 1

    def __init__(self, length):
        self.length = length

    def initial(self):
        return 0

    def actions(self, state):
        return ("a",)

    def transition(self, state, action):
        return certainly(state + 1)

    def reward(self, state, action, target):
        return 1

    def terminal(self, state):
        return state == self.length


@pytest.mark.slow
def test_a_textbook_chain_of_a_million_states():
    network = explore(Chain(LONG))
    assert network.n_states == LONG + 1
    assert solve(network).value() == LONG


def test_long_chains_need_no_recursion():
    # The million itself is among the slow tests; this is thirty times what Python would recurse into.
    length = 30_000
    by_chance = explore(Game.of(start=0, node=lambda s: go(s + 1, reward=1) if s < length else end(5)))
    assert solve(by_chance).value() == length + 5
    assert solve(explore(Chain(length))).value() == length


def test_chance_nested_deeper_than_python_recurses():
    edge = end(1)
    for _ in range(3000):
        edge = chance(Dist({edge: 1}))
    network = explore(game({"start": lambda: edge}))
    assert network.n_edges == 1
    assert solve(network).value() == 1


# --- progress and warnings -----------------------------------------------------------------------


def test_progress_is_told_while_exploring():
    told = []
    network = explore(toggles(13), progress=lambda phase, numbers: told.append((phase, dict(numbers))))
    assert {phase for phase, _ in told} == {"explore"}
    assert len(told) >= 3
    for (_, before), (_, after) in pairwise(told):
        assert all(before[key] <= after[key] for key in ("states", "explored", "edges"))
    assert told[-1][1] == {"states": 2**13, "explored": 2**13, "edges": network.n_edges}


def test_progress_may_stop_an_exploration():
    class Enough(Exception):  # noqa: N818
        pass

    def stop(phase, numbers):
        if numbers["states"] > 1000:
            raise Enough

    with pytest.raises(Enough):
        explore(toggles(40), progress=stop)


def test_decimals_that_do_not_sum_to_one_are_normalised_and_told():
    third = Dist({1: 0.3333333333, 2: 0.6666666666})
    network = explore(game({"start": lambda: decide({"a": go("x")}), "x": lambda: roll(third, end)}))
    (warning,) = network.warnings
    assert "state 'x'" in warning
    assert "-1e-10" in warning
    whole = Fraction(0.3333333333) + Fraction(0.6666666666)
    assert network.row(network.node_of("x")) == [
        Fraction(0.3333333333) / whole,
        Fraction(0.6666666666) / whole,
    ]


def test_a_repair_inside_a_nested_roll_is_told_too():
    third = Dist({1: 0.3333333333, 2: 0.6666666666})
    (warning,) = explore(game({"start": lambda: roll(COIN, lambda s: roll(third, end))})).warnings
    assert "state 'start'" in warning


def test_many_repairs_make_one_warning_that_names_the_worst():
    off = [Dist({1: 0.5, 2: 0.5 + k * 1e-12}) for k in range(200)]
    network = explore(
        Game.of(start=0, node=lambda s: roll(off[s], lambda k: go(s + 1)) if s < 200 else end())
    )
    (warning,) = network.warnings
    assert "in state 199" in warning
    assert len(warning) < 300


def test_plain_rounding_is_no_warning():
    tenths = Dist(dict.fromkeys(range(10), 0.1))
    assert explore(game({"start": lambda: roll(tenths, end)})).warnings == ()


def test_exploring_twice_gives_the_same_digest():
    assert explore(toggles(5)).digest == explore(toggles(5)).digest


def test_garbage_collection_is_back_on_after_an_error():
    import gc

    assert gc.isenabled()
    with pytest.raises(MdpDiceError):
        explore(game({"start": lambda: None}))
    assert gc.isenabled()
    explore(game({"start": end}))
    assert gc.isenabled()
