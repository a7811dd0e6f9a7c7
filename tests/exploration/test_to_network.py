"""From a declared game to the arrays of a network."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.random_games import Table, acyclic_games, tables, value, written_as_nodes
from helpers.small_games import COIN, game, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice import Dist, Game, Kind, certainly, chance, d6, decide, die, end, explore, go, pass_to, roll, solve, when

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
    network = explore(game({"start": lambda: decide({"a": go("x")}), "x": lambda: go("y", reward=3), "y": end}))
    node = network.node_of("x")
    assert network.kind[node] == Kind.CHANCE
    assert network.row(node) == [1]
    assert network.reward[network.edges(node)[0]] == 3


def test_players_become_kinds():
    network = explore(game({"start": lambda: decide({"a": go("x")}), "x": lambda: decide({"b": end()}, player=1)}))
    assert network.kind.tolist() == [Kind.MAX, Kind.MIN, Kind.END]


def test_options_left_out_leave_no_edge_and_no_state():
    network = explore(
        game({"start": lambda: decide({"a": None, "b": end(1), "c": when(False, go("never")), "d": end(2)})})
    )
    assert list(network.actions) == ["b", "d"]
    assert list(network.states) == ["start"]
    assert [network.payoff[t] for t in network.dst] == [1, 2]


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


# --- the chance prefix ---------------------------------------------------------------------------


def test_a_start_by_chance_is_copied_where_it_is_reached_again():
    declared = game({
        "deal": lambda: roll(COIN, lambda s: go("choose") if s == "h" else go("bonus")),
        "bonus": lambda: roll(COIN, lambda s: go("choose", reward=1) if s == "h" else end(7)),
        "choose": lambda: decide({"again": go("deal"), "stop": end(1)}),
    }, start="deal")  # fmt: skip
    network = explore(declared)
    # deal and bonus have two nodes each, and each name the one of the prefix.
    roles = [[i for i in range(network.n_nodes) if network.state_of(i) == s] for s in ("deal", "bonus", "choose")]
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
        {"deal": lambda: roll(COIN, lambda s: go("choose")), "choose": lambda: decide({"go on": end(1)})}, start="deal"
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
        called(n): (int(network.kind[n]), row(n)) for n in range(network.n_nodes) if network.state_of(n) is not None
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
