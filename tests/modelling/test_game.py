"""The makers, and what a game hears when it uses them wrongly."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from types import MappingProxyType

import icepool
import numpy as np
import pytest
from helpers.small_games import Day, Night, check_error, failure, game

import mdpdice
from mdpdice import (
    Dist,
    Edge,
    Game,
    Node,
    Option,
    certainly,
    chance,
    d6,
    decide,
    die,
    end,
    explore,
    go,
    pass_to,
    roll,
    solve,
    uniform,
    when,
)
from mdpdice.errors import (
    DeadEndError,
    DuplicateActionError,
    EmptySupportError,
    GameError,
    NonDeterministicGameError,
    ProbabilityRangeError,
    ProbabilitySumError,
)

# --- makers --------------------------------------------------------------------------------------


def test_the_readme_game():
    class PigTurn(Game[int, str]):
        cap = 100

        def start(self) -> int:
            return 0

        def node(self, points: int) -> Node[int, str]:
            if points >= self.cap:
                return end(points)
            return decide({
                "hold": end(points),
                "roll": roll(d6, lambda k: end() if k == 1 else go(points + k)),
            })  # fmt: skip

    # Twenty is where one more roll is worth as much as it risks: 5/6 (n + 4) = n.
    answer = solve(PigTurn())
    assert answer.action(19) == "roll"
    assert answer.action(21) == "hold"
    assert answer.ties(20) == ["hold", "roll"]


@pytest.mark.parametrize("edge", [end(), end(3), go(1), pass_to(1), roll(d6, go), chance(certainly(go(1)))])
def test_an_edge_is_a_node_and_an_option(edge):
    assert isinstance(edge, Edge)
    assert isinstance(edge, Node)
    assert isinstance(edge, Option)


def test_a_decision_is_a_node_and_no_option():
    node = decide({"a": end()})
    assert isinstance(node, Node)
    assert not isinstance(node, Option)


def test_when_chooses_between_edges_nodes_and_options():
    assert when(True, end(1), end(2)).payoff == 1
    assert when(False, end(1), end(2)).payoff == 2
    node = decide({"a": end()})
    assert when(np.bool_(False), end(1), node) is node
    only = explore(game({"start": lambda: decide({"a": when(False, end(1)), "b": when(True, end(2)), "c": None})}))
    assert list(only.actions) == ["b"]
    assert only.payoff[only.dst[0]] == 2


@pytest.mark.parametrize("cond", [None, 1, 0, "yes", [], Fraction(1)])
def test_when_wants_a_bool(cond):
    with pytest.raises(GameError, match="comparison that gives True or False") as caught:
        when(cond, end())
    assert caught.value.value == cond


@pytest.mark.parametrize(
    ("payoff", "reward", "instead"), [(1, 2, "end(1 + 2)"), (0, -1, "end(0 + (-1))"), (2.5, 0, "end(2.5 + 0)")]
)
def test_an_end_has_no_reward_beside_its_payoff(payoff, reward, instead):
    with pytest.raises(GameError) as caught:
        end(payoff, reward=reward)
    assert caught.value.value == reward
    assert "an end pays its payoff alone" in caught.value.message
    assert caught.value.message.endswith(instead)


def test_an_end_changes_no_counters():
    class Counting(Game):
        n = mdpdice.Counter(range(5))

        def start(self):
            return "s"

        def node(self, state):
            return decide({"stop": end(self.n, self.n.add(1))})

    with pytest.raises(GameError, match=r"end\(n, n.set\(n \+ 1\)\).* as in end\(n \+ 1\)") as caught:
        explore(Counting())
    assert caught.value.state == "s"
    with pytest.raises(GameError, match="counters change no more"):
        end(1, 2)


def test_options_keep_their_order_and_may_come_from_anything_ordered():
    pairs = [(k, end(k)) for k in (3, 1, 2)]
    for options in (dict(pairs), MappingProxyType(dict(pairs)), dict(pairs).items(), pairs, tuple(pairs), iter(pairs)):
        network = explore(game({"start": lambda options=options: decide(options)}))
        assert list(network.actions) == [3, 1, 2]
        assert [network.payoff[t] for t in network.dst] == [3, 1, 2]


def test_equal_actions_in_different_states_are_fine():
    network = explore(game({"start": lambda: decide({"a": go("x")}), "x": lambda: decide({"a": end()})}))
    assert list(network.actions) == ["a", "a"]


def test_an_icepool_die_is_rolled_like_a_dist():
    # The first player to see a die of his own library: two dice added, exactly.
    mine = explore(game({"start": lambda: roll(icepool.d6 + icepool.d6, end)}))
    ours = explore(game({"start": lambda: roll(d6.bind(lambda a: d6.map(lambda b: a + b)), end)}))
    assert mine.digest == ours.digest
    assert mine.row(0)[6 - 1] == Fraction(6, 36)
    assert mine.payoff[mine.dst[6 - 1]] == 7


def test_anything_with_items_is_rolled():
    class Histogram:
        """The part of dyce's H that counts here."""

        def items(self):
            return Counter({1: 2, 6: 1}).items()

    network = explore(game({"start": lambda: roll(Histogram(), end)}))
    assert network.row(0) == [Fraction(2, 3), Fraction(1, 3)]


# --- decide --------------------------------------------------------------------------------------


def test_two_options_with_one_action():
    error = failure(game({"start": lambda: decide([("a", end()), ("b", end()), ("a", go("x"))])}))
    check_error(error, DuplicateActionError, "'a' is given twice", state="start", action="a")


def test_actions_that_python_calls_equal_are_duplicates():
    for twins in ((1, True), (Day(1, 2), Night(1, 2)), (1, 1.0)):
        error = failure(game({"start": lambda twins=twins: decide([(a, end()) for a in twins])}))
        assert type(error) is DuplicateActionError
        assert error.action == twins[0]


@pytest.mark.parametrize("kind", [set, frozenset])
def test_options_from_a_set(kind):
    error = failure(game({"start": lambda: decide(kind([("a", end()), ("b", end(1))]))}))
    check_error(error, NonDeterministicGameError, "set", "sort them into a list", state="start")
    assert error.code == "NonDeterministicModel"


def test_an_unhashable_action():
    error = failure(game({"start": lambda: decide([(["a"], end())])}))
    check_error(error, GameError, "an action cannot be hashed", state="start")


@pytest.mark.parametrize("options", [[end()], ["abc"], [("a", end(), 1)], [1]])
def test_options_that_are_no_pairs(options):
    error = failure(game({"start": lambda: decide(options)}))
    check_error(error, GameError, "pairs (action, option)", state="start")


@pytest.mark.parametrize("options", [None, 5, end()])
def test_options_that_are_no_collection(options):
    error = failure(game({"start": lambda: decide(options)}))
    check_error(error, GameError, "decide() takes a mapping or pairs", state="start")
    assert error.value is options


def test_options_that_raise_on_the_way():
    error = failure(game({"start": lambda: decide((k, end(1 // k)) for k in (1, 0))}))
    check_error(error, GameError, "ZeroDivisionError", state="start")
    assert isinstance(error.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("player", [2, -1, None, "MIN"])
def test_an_unknown_player(player):
    error = failure(game({"start": lambda: decide({"a": end()}, player=player)}))
    check_error(error, GameError, "0 (maximises) and 1 (minimises)", state="start")
    assert error.value == player


@pytest.mark.parametrize("options", [{}, {"a": None}, {"a": when(False, end()), "b": None}])
def test_a_decision_without_options_is_a_dead_end(options):
    error = failure(game({"start": lambda: decide({"go": go("x")}), "x": lambda: decide(options)}))
    check_error(error, DeadEndError, "end the play here", state="x")


@pytest.mark.parametrize("junk", [5, "x", decide({"a": end()}), d6, ("a", end())])
def test_an_option_that_is_no_edge(junk):
    error = failure(game({"start": lambda: decide({"fine": end(), "bad": junk})}))
    check_error(error, GameError, "go(", state="start", action="bad")
    assert error.value is junk


def test_a_decision_inside_an_option_is_told_to_get_a_state():
    error = failure(game({"start": lambda: decide({"a": decide({"b": end()})})}))
    check_error(
        error, GameError, "a decision stands inside", "state of its own", "go(state)", state="start", action="a"
    )


# --- roll and chance -----------------------------------------------------------------------------


def test_then_that_returns_none():
    def then(k):
        if k > 5:
            return end(k)
        return None

    error = failure(game({"start": lambda: decide({"safe": end(), "risk": roll(d6, then)})}))
    check_error(error, GameError, "`then` returned None", "return go(...)", state="start", action="risk")
    error = failure(game({"start": lambda: roll(d6, then)}))
    check_error(error, GameError, "`then` returned None", state="start")


def test_then_that_returns_a_decision():
    error = failure(game({"start": lambda: roll(d6, lambda k: decide({"a": end(k)}))}))
    check_error(error, GameError, "a decision stands inside an option or a roll", "go(state)", state="start")


def test_then_that_returns_a_guard():
    error = failure(game({"start": lambda: roll(d6, lambda k: when(k > 1, end()))}))
    check_error(error, GameError, "stands inside chance", "third argument", state="start")


def test_then_that_returns_a_state():
    error = failure(game({"start": lambda: decide({"r": roll(d6, lambda k: k)})}))
    check_error(error, GameError, "1 is not an edge", "go(...)", state="start", action="r")


def test_then_that_raises():
    def then(k):
        return {1: end()}[k]

    error = failure(game({"start": lambda: decide({"a": go("x")}), "x": lambda: roll(d6, then)}))
    check_error(error, GameError, "KeyError", state="x")
    assert isinstance(error.__cause__, KeyError)


def test_a_roll_deep_inside_is_checked_too():
    nested = lambda: roll(d6, lambda k: roll(d6, lambda j: None if j == k == 6 else end()))  # noqa: E731
    error = failure(game({"start": lambda: decide({"a": nested()})}))
    check_error(error, GameError, "`then` returned None", state="start", action="a")


@pytest.mark.parametrize(
    ("weights", "kind", "number"),
    [
        ({1: 0.5, 2: 0.4}, ProbabilitySumError, 0.9),
        ({1: 0.5, 2: 0.6}, ProbabilitySumError, 1.1),
        ({1: Fraction(1, 2), 2: Fraction(1, 3)}, ProbabilitySumError, 5 / 6),
        ({1: -1, 2: 2}, ProbabilityRangeError, -1),
        ({1: math.inf, 2: 0.5}, ProbabilityRangeError, math.inf),
        ({}, EmptySupportError, None),
        ({1: 0}, EmptySupportError, None),
    ],
)
def test_a_bad_distribution_inside_a_node_names_the_state(weights, kind, number):
    error = failure(game({"start": lambda: go("x"), "x": lambda: roll(Dist(weights), end)}))
    check_error(error, kind, state="x")
    assert error.value == pytest.approx(number, abs=0)


def test_nan_is_no_probability():
    error = failure(game({"start": lambda: roll(Dist({1: math.nan, 2: 0.5}), end)}))
    check_error(error, ProbabilityRangeError, state="start")
    assert math.isnan(error.value)


@pytest.mark.parametrize("junk", [6, [1, 2], None, range(6), die])
def test_rolling_something_else(junk):
    error = failure(game({"start": lambda: roll(junk, end)}))
    check_error(error, GameError, "expected a distribution", "uniform([...])", state="start")


def test_outcomes_from_a_set():
    error = failure(game({"start": lambda: roll(uniform({"a", "b"}), go)}))
    check_error(error, NonDeterministicGameError, "sorted(...)", state="start")


def test_chance_over_something_else():
    error = failure(game({"start": lambda: chance(d6)}))
    check_error(error, GameError, "1 is not an edge", state="start")


# --- what node() returns -------------------------------------------------------------------------


@pytest.mark.parametrize("junk", [5, "x", d6, [end()], {"a": end()}, ("go", 1), True])
def test_node_that_returns_something_else(junk):
    error = failure(game({"start": lambda: go("x"), "x": lambda: junk}))
    check_error(error, GameError, "node() returned", "decide(...)", state="x")
    assert error.value is junk


def test_node_that_returns_none():
    error = failure(game({"start": lambda: None}))
    check_error(error, GameError, "None (a missing return?)", state="start")


def test_node_that_returns_a_guard():
    error = failure(game({"start": lambda: when(False, end())}))
    check_error(
        error, GameError, "node() returned when(cond, edge) with a false condition", "third argument", state="start"
    )
    assert "inside chance" not in str(error)


def test_node_that_raises():
    error = failure(game({"start": lambda: go("x")}))
    check_error(error, GameError, "node() raised KeyError: 'x'", state="x")
    assert error.code == "ModelFunctionError"
    assert isinstance(error.__cause__, KeyError)


def test_an_error_of_the_library_inside_node_keeps_its_kind_and_gets_a_state():
    error = failure(game({"start": lambda: decide({"a": when("yes", end())})}))
    check_error(error, GameError, "condition of when()", state="start")


def test_start_that_raises():
    class Broken(Game[int, str]):
        def start(self):
            return 1 // 0

        def node(self, state):
            return end()

    error = failure(Broken())
    check_error(error, GameError, "start() raised ZeroDivisionError")
    assert isinstance(error.__cause__, ZeroDivisionError)


def test_canonical_that_raises():
    class Broken(Game[int, str]):
        def start(self):
            return 0

        def node(self, state):
            return decide({"up": go(state + 1)})

        def canonical(self, state):
            return [0][state]

    error = failure(Broken())
    check_error(error, GameError, "canonical() raised IndexError", state=1, action="up")
    assert isinstance(error.__cause__, IndexError)


def test_a_class_instead_of_a_game():
    class Fine(Game[int, str]):
        def start(self):
            return 0

        def node(self, state):
            return end()

    check_error(failure(Fine), GameError, "needs to be called")
    with pytest.raises(GameError, match="needs to be called"):
        solve(Fine)
