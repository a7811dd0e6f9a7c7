"""The makers, and what a game hears when it uses them wrongly."""

from __future__ import annotations

import enum
import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

import attrs
import icepool
import numpy as np
import pytest

from mdpdice import (
    ClassicMDP,
    Dist,
    Edge,
    Game,
    Kind,
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
    DiscountRangeError,
    DuplicateActionError,
    EmptySupportError,
    GameError,
    HorizonRangeError,
    MdpDiceError,
    NonDeterministicGameError,
    ProbabilityRangeError,
    ProbabilitySumError,
    RewardNotFiniteError,
    StateCollisionError,
)


class Day(NamedTuple):
    cash: int
    left: int


class Night(NamedTuple):
    cash: int
    left: int


@attrs.frozen
class Box:
    inside: object


@dataclass(frozen=True)
class Plain:
    inside: object


class Side(enum.Enum):
    HEADS = 1


class Level(enum.IntEnum):
    ONE = 1


class ByIdentity:
    """Equal to itself alone, like any class without __eq__."""


@attrs.define(eq=False)
class WithoutEq:
    inside: int


def game(nodes, start="start", **fields):
    """A game whose nodes are given by a dict from states to functions without arguments."""
    return Game.of(start=start, node=lambda state: nodes[state](), **fields)


def option_to(state):
    """A game that offers one move to a state, after a move elsewhere."""
    return game({"start": lambda: decide({"first": end(), "move": go(state)})})


def failure(of, **fields):
    with pytest.raises(MdpDiceError) as caught:
        explore(of, **fields)
    return caught.value


def told(error, kind, *words, state=None, action=None):
    assert type(error) is kind, error
    assert error.code == kind.code
    assert (error.state, error.action) == (state, action), error
    for word in words:
        assert word in str(error), error
    if state is not None:
        assert repr(state) in str(error)


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
    only = explore(
        game({"start": lambda: decide({"a": when(False, end(1)), "b": when(True, end(2)), "c": None})})
    )
    assert list(only.actions) == ["b"]
    assert only.payoff[only.dst[0]] == 2


@pytest.mark.parametrize("cond", [None, 1, 0, "yes", [], Fraction(1)])
def test_when_wants_a_bool(cond):
    with pytest.raises(GameError, match="comparison that gives True or False") as caught:
        when(cond, end())
    assert caught.value.value == cond


def test_options_keep_their_order_and_may_come_from_anything_ordered():
    pairs = [(k, end(k)) for k in (3, 1, 2)]
    for options in (
        dict(pairs),
        MappingProxyType(dict(pairs)),
        dict(pairs).items(),
        pairs,
        tuple(pairs),
        iter(pairs),
    ):
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
    told(error, DuplicateActionError, "'a' is given twice", state="start", action="a")


def test_actions_that_python_calls_equal_are_duplicates():
    for twins in ((1, True), (Day(1, 2), Night(1, 2)), (1, 1.0)):
        error = failure(game({"start": lambda twins=twins: decide([(a, end()) for a in twins])}))
        assert type(error) is DuplicateActionError
        assert error.action == twins[0]


@pytest.mark.parametrize("kind", [set, frozenset])
def test_options_from_a_set(kind):
    error = failure(game({"start": lambda: decide(kind([("a", end()), ("b", end(1))]))}))
    told(error, NonDeterministicGameError, "set", "sort them into a list", state="start")
    assert error.code == "NonDeterministicModel"


def test_an_unhashable_action():
    error = failure(game({"start": lambda: decide([(["a"], end())])}))
    told(error, GameError, "an action cannot be hashed", state="start")


@pytest.mark.parametrize("options", [[end()], ["abc"], [("a", end(), 1)], [1]])
def test_options_that_are_no_pairs(options):
    error = failure(game({"start": lambda: decide(options)}))
    told(error, GameError, "pairs (action, option)", state="start")


@pytest.mark.parametrize("options", [None, 5, end()])
def test_options_that_are_no_collection(options):
    error = failure(game({"start": lambda: decide(options)}))
    told(error, GameError, "decide() takes a mapping or pairs", state="start")
    assert error.value is options


def test_options_that_raise_on_the_way():
    error = failure(game({"start": lambda: decide((k, end(1 // k)) for k in (1, 0))}))
    told(error, GameError, "ZeroDivisionError", state="start")
    assert isinstance(error.__cause__, ZeroDivisionError)


@pytest.mark.parametrize("player", [2, -1, None, "MIN"])
def test_an_unknown_player(player):
    error = failure(game({"start": lambda: decide({"a": end()}, player=player)}))
    told(error, GameError, "0 (maximises) and 1 (minimises)", state="start")
    assert error.value == player


@pytest.mark.parametrize("options", [{}, {"a": None}, {"a": when(False, end()), "b": None}])
def test_a_decision_without_options_is_a_dead_end(options):
    error = failure(game({"start": lambda: decide({"go": go("x")}), "x": lambda: decide(options)}))
    told(error, DeadEndError, "end the play here", state="x")


@pytest.mark.parametrize("junk", [5, "x", decide({"a": end()}), d6, ("a", end())])
def test_an_option_that_is_no_edge(junk):
    error = failure(game({"start": lambda: decide({"fine": end(), "bad": junk})}))
    told(error, GameError, "go(", state="start", action="bad")
    assert error.value is junk


def test_a_decision_inside_an_option_is_told_to_get_a_state():
    error = failure(game({"start": lambda: decide({"a": decide({"b": end()})})}))
    told(
        error,
        GameError,
        "a decision stands inside",
        "state of its own",
        "go(state)",
        state="start",
        action="a",
    )


# --- roll and chance -----------------------------------------------------------------------------


def test_then_that_returns_none():
    def then(k):
        if k > 5:
            return end(k)
        return None

    error = failure(game({"start": lambda: decide({"safe": end(), "risk": roll(d6, then)})}))
    told(error, GameError, "`then` returned None", "return go(...)", state="start", action="risk")
    error = failure(game({"start": lambda: roll(d6, then)}))
    told(error, GameError, "`then` returned None", state="start")


def test_then_that_returns_a_decision():
    error = failure(game({"start": lambda: roll(d6, lambda k: decide({"a": end(k)}))}))
    told(error, GameError, "a decision stands inside an option or a roll", "go(state)", state="start")


def test_then_that_returns_a_guard():
    error = failure(game({"start": lambda: roll(d6, lambda k: when(k > 1, end()))}))
    told(error, GameError, "stands inside chance", "third argument", state="start")


def test_then_that_returns_a_state():
    error = failure(game({"start": lambda: decide({"r": roll(d6, lambda k: k)})}))
    told(error, GameError, "1 is not an edge", "go(...)", state="start", action="r")


def test_then_that_raises():
    def then(k):
        return {1: end()}[k]

    error = failure(game({"start": lambda: decide({"a": go("x")}), "x": lambda: roll(d6, then)}))
    told(error, GameError, "KeyError", state="x")
    assert isinstance(error.__cause__, KeyError)


def test_a_roll_deep_inside_is_checked_too():
    nested = lambda: roll(d6, lambda k: roll(d6, lambda j: None if j == k == 6 else end()))  # noqa: E731
    error = failure(game({"start": lambda: decide({"a": nested()})}))
    told(error, GameError, "`then` returned None", state="start", action="a")


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
    told(error, kind, state="x")
    assert error.value == pytest.approx(number, abs=0)


def test_nan_is_no_probability():
    error = failure(game({"start": lambda: roll(Dist({1: math.nan, 2: 0.5}), end)}))
    told(error, ProbabilityRangeError, state="start")
    assert math.isnan(error.value)


@pytest.mark.parametrize("junk", [6, [1, 2], None, range(6), die])
def test_rolling_something_else(junk):
    error = failure(game({"start": lambda: roll(junk, end)}))
    told(error, GameError, "expected a distribution", "uniform([...])", state="start")


def test_outcomes_from_a_set():
    error = failure(game({"start": lambda: roll(uniform({"a", "b"}), go)}))
    told(error, NonDeterministicGameError, "sorted(...)", state="start")


def test_chance_over_something_else():
    error = failure(game({"start": lambda: chance(d6)}))
    told(error, GameError, "1 is not an edge", state="start")


# --- what node() returns -------------------------------------------------------------------------


@pytest.mark.parametrize("junk", [5, "x", d6, [end()], {"a": end()}, ("go", 1), True])
def test_node_that_returns_something_else(junk):
    error = failure(game({"start": lambda: go("x"), "x": lambda: junk}))
    told(error, GameError, "node() returned", "decide(...)", state="x")
    assert error.value is junk


def test_node_that_returns_none():
    error = failure(game({"start": lambda: None}))
    told(error, GameError, "None (a missing return?)", state="start")


def test_node_that_returns_a_guard():
    error = failure(game({"start": lambda: when(False, end())}))
    told(
        error,
        GameError,
        "node() returned when(cond, edge) with a false condition",
        "third argument",
        state="start",
    )
    assert "inside chance" not in str(error)


def test_node_that_raises():
    error = failure(game({"start": lambda: go("x")}))
    told(error, GameError, "node() raised KeyError: 'x'", state="x")
    assert error.code == "ModelFunctionError"
    assert isinstance(error.__cause__, KeyError)


def test_an_error_of_the_library_inside_node_keeps_its_kind_and_gets_a_state():
    error = failure(game({"start": lambda: decide({"a": when("yes", end())})}))
    told(error, GameError, "condition of when()", state="start")


def test_start_that_raises():
    class Broken(Game[int, str]):
        def start(self):
            return 1 // 0

        def node(self, state):
            return end()

    error = failure(Broken())
    told(error, GameError, "start() raised ZeroDivisionError")
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
    told(error, GameError, "canonical() raised IndexError", state=1, action="up")
    assert isinstance(error.__cause__, IndexError)


def test_a_class_instead_of_a_game():
    class Fine(Game[int, str]):
        def start(self):
            return 0

        def node(self, state):
            return end()

    told(failure(Fine), GameError, "needs to be called")
    with pytest.raises(GameError, match="needs to be called"):
        solve(Fine)


# --- states --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "new"),
    [
        (Day(10, 10), Night(10, 10)),
        (Day(10, 10), (10, 10)),
        (1, True),
        (1, 1.0),
        (0, False),
        (1, Fraction(1)),
        (Level.ONE, 1),
        ((1, 2), (True, 2)),
        (((1,), 2), ((1.0,), 2)),
        (Box(1), Box(True)),
        (Box((1, 2)), Box((1.0, 2))),
        (Box(Day(1, 2)), Box(Night(1, 2))),
        (Plain(1), Plain(True)),
        (frozenset({1, 2}), frozenset({True, 2})),
        ((frozenset({(1, 2)}),), (frozenset({(1, 2.0)}),)),
    ],
)
class TestStatesThatPythonCallsEqual:
    def test_two_options(self, known, new):
        assert known == new  # else there is no collision to find
        error = failure(game({"start": lambda: decide({"one": go(known), "other": go(new)})}))
        told(error, StateCollisionError, "equal in Python", "attrs.frozen", state=known, action="other")
        assert type(error.value) is type(new)
        assert error.value == new

    def test_two_outcomes(self, known, new):
        error = failure(
            game({"start": lambda: roll(uniform("ab"), lambda k: go(known if k == "a" else new))})
        )
        told(error, StateCollisionError, state=known)

    def test_a_state_and_one_found_before(self, known, new):
        error = failure(Game.of(start=known, node=lambda _: go(new)))
        told(error, StateCollisionError, state=known)

    def test_through_canonical(self, known, new):
        class Mapped(Game):
            def start(self):
                return "start"

            def node(self, state):
                return decide({"one": go("known"), "other": go("new")})

            def canonical(self, state):
                return {"known": known, "new": new}.get(state, state)

        assert type(failure(Mapped())) is StateCollisionError


def test_equal_states_of_one_type_are_one_state():
    for make in (
        lambda: Day(1, 2),
        lambda: Box((1, "x")),
        lambda: (1.5, Box(None)),
        lambda: frozenset({1, 2}),
    ):
        network = explore(
            game({"start": lambda make=make: decide({1: go(make()), 2: go(make())}), make(): end})
        )
        assert network.n_states == 2


def test_what_equality_ignores_is_no_difference():
    @attrs.frozen
    class Noted:
        number: int
        note: object = attrs.field(eq=False)

    nodes = {"start": lambda: decide({1: go(Noted(1, 1)), 2: go(Noted(1, True))}), Noted(1, None): end}
    assert explore(game(nodes)).n_states == 2


@pytest.mark.parametrize(
    ("junk", "words"),
    [
        (None, "None is not a state"),
        (math.nan, "NaN"),
        ((1, math.nan), "NaN"),
        (Box(math.nan), "NaN"),
        (Decimal("nan"), "NaN"),
        ([1], "unhashable"),
        ({1}, "unhashable"),
        ((1, [2]), "unhashable"),
        (Box([1]), "unhashable"),
        (ByIdentity(), "compared by identity"),
        ((ByIdentity(), 1), "compared by identity"),
        (Box(ByIdentity()), "compared by identity"),
        (WithoutEq(1), "@attrs.frozen"),
        (len, "not a state"),
        ((len, 1), "not a state"),
        (int, "not a state"),
        (go(1), "not a state"),
        (end(), "not a state"),
        (object(), "compared by identity"),
    ],
)
class TestJunkStates:
    def test_as_a_target(self, junk, words):
        told(failure(option_to(junk)), GameError, words, state="start", action="move")

    def test_in_a_roll(self, junk, words):
        told(failure(game({"start": lambda: roll(d6, lambda k: go(junk))})), GameError, words, state="start")

    def test_as_the_start(self, junk, words):
        error = failure(game({}, start=junk))
        assert type(error) is GameError
        assert words in str(error)


@pytest.mark.parametrize(
    "make", [lambda x: x, Box, Plain, lambda x: Day(x, 0), lambda x: (0, x), lambda x: Box((x,))]
)
def test_nan_is_found_after_sound_states_of_the_same_class(make):
    error = failure(Game.of(start=make(1.5), node=lambda _: go(make(float("nan")))), max_states=100)
    told(error, GameError, "NaN", state=make(1.5))


@pytest.mark.parametrize("state", [1, "x", 1.5, True, Side.HEADS, Level.ONE, (), Day(1, 2), Box(len), Fraction(1, 2),
                                   frozenset({1}), b"x", ((1, None), Side.HEADS)])  # fmt: skip
def test_sound_states(state):
    network = explore(option_to(state).__class__.of(start=state, node=lambda _: end(3)))
    assert network.states[0] is state
    assert network.payoff[network.node_of(state)] == 3


def test_hash_that_raises():
    class Odd:
        def __eq__(self, other):
            return self is other

        def __hash__(self):
            raise RuntimeError("no hash today")

    error = failure(option_to(Odd()))
    told(error, GameError, "RuntimeError: no hash today", "hashing", state="start", action="move")
    assert isinstance(error.__cause__, RuntimeError)


# --- numbers -------------------------------------------------------------------------------------

PLACES = {
    "end": lambda x: game({"start": lambda: end(x)}),
    "option end": lambda x: game({"start": lambda: decide({"a": end(), "b": end(x)})}),
    "option go": lambda x: game({"start": lambda: decide({"a": end(), "b": go("start", reward=x)})}),
    "option pass_to": lambda x: game(
        {"start": lambda: decide({"a": end(), "b": pass_to("start", reward=x)})}
    ),
    "option roll": lambda x: game({"start": lambda: decide({"a": end(), "b": roll(d6, end, reward=x)})}),
    "option rolled end": lambda x: game(
        {"start": lambda: decide({"a": end(), "b": roll(d6, lambda _: end(x))})}
    ),
    "option rolled go": lambda x: game(
        {"start": lambda: decide({"a": end(), "b": roll(d6, lambda _: go("start", reward=x))})}
    ),
    "go": lambda x: game({"start": lambda: go("start", reward=x)}),
    "pass_to": lambda x: game({"start": lambda: pass_to("start", reward=x)}),
    "roll": lambda x: game({"start": lambda: roll(d6, end, reward=x)}),
    "rolled end": lambda x: game({"start": lambda: roll(d6, lambda _: end(x))}),
    "rolled go": lambda x: game({"start": lambda: roll(d6, lambda _: go("start", reward=x))}),
    "rolled pass_to": lambda x: game({"start": lambda: roll(d6, lambda _: pass_to("start", reward=x))}),
    "chance": lambda x: game({"start": lambda: chance(Dist({end(): 1, end(1): 1}), reward=x)}),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "number", [math.nan, math.inf, -math.inf, np.float64("inf"), 10**400, Fraction(10**400, 3)]
)
def test_numbers_that_are_not_finite(place, number):
    error = failure(PLACES[place](number))
    told(error, RewardNotFiniteError, state="start", action="b" if place.startswith("option") else None)
    assert error.value == number or (math.isnan(error.value) and math.isnan(number))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("junk", [None, "", "1", [], 1j, Decimal(1)])
def test_numbers_that_are_none(place, junk):
    error = failure(PLACES[place](junk))
    assert type(error) is GameError
    assert error.state == "start"
    assert error.action == ("b" if place.startswith("option") else None)


@pytest.mark.parametrize("place", PLACES)
def test_every_kind_of_number_is_a_number(place):
    for number in (3, 3.0, Fraction(3), np.int64(3), np.float32(3), np.float64(3)):
        assert explore(PLACES[place](number)).digest == explore(PLACES[place](3)).digest


def test_a_reward_of_true_is_one():
    assert explore(PLACES["go"](True)).reward[0] == 1


# --- the game's own settings ---------------------------------------------------------------------


@pytest.mark.parametrize("discount", [0, -0.5, 1.5, Fraction(3, 2), math.inf, math.nan])
def test_a_discount_outside_its_range(discount):
    error = failure(game({"start": end}, discount=discount))
    told(error, DiscountRangeError, "outside (0, 1]")
    assert error.value == discount or math.isnan(error.value)


@pytest.mark.parametrize("field", ["discount", "total"])
@pytest.mark.parametrize("junk", [None, "9/10", [1]])
def test_settings_that_are_no_number(field, junk):
    told(failure(game({"start": end}, **{field: junk})), GameError, f"the {field} is {junk!r}")


def test_settings_are_exact():
    network = explore(game({"start": end}, discount=0.1))
    assert network.discount == Fraction(0.1) != Fraction(1, 10)
    assert explore(game({"start": end}, total=Fraction(1, 3))).total == Fraction(1, 3)


def test_a_constant_sum_is_not_discounted_and_has_no_horizon():
    both = game({"start": lambda: decide({"a": pass_to("start"), "b": end(1)})}, total=1, discount=0.9)
    told(failure(both), DiscountRangeError, "`total` other than 0", "discount 1")
    with pytest.raises(HorizonRangeError, match="`total` other than 0"):
        solve(game({"start": lambda: decide({"a": pass_to("start"), "b": end(1)})}, total=1), horizon=3)


def test_both_ways_to_have_two_players():
    error = failure(
        game({"start": lambda: decide({"a": pass_to("x")}), "x": lambda: decide({"b": end()}, player=1)})
    )
    told(error, GameError, "pass_to", "player=1", "not both")


def test_each_way_alone_is_fine():
    assert explore(
        game({"start": lambda: decide({"a": pass_to("x")}), "x": lambda: decide({"b": end()})})
    ).two_player
    by_player = explore(
        game({"start": lambda: decide({"a": go("x")}), "x": lambda: decide({"b": end()}, player=1)})
    )
    assert by_player.two_player
    assert by_player.kind.tolist() == [Kind.MAX, Kind.MIN, Kind.END]


# --- the textbook form ---------------------------------------------------------------------------


class Walk(ClassicMDP[int, str]):
    """Down from 2 to 0, a step at a time; fields replace the parts that a test wants to break."""

    def __init__(self, **parts):
        self.__dict__.update(parts)

    def initial(self):
        return 2

    def actions(self, state):
        return ["down", "wait"]

    def transition(self, state, action):
        return certainly(state - 1) if action == "down" else Dist({state: 1, state - 1: 1})

    def reward(self, state, action, target):
        return 10 * state + target

    def terminal(self, state):
        return state == 0


def broken(*place):
    def part(*given):
        if given == place:
            raise KeyError(place)
        return Walk.reward(None, *given) if len(given) == 3 else Walk.transition(None, *given)

    return part


def test_the_textbook_form():
    network = explore(Walk())
    assert list(network.states) == [2, 1, 0]
    assert list(network.actions) == ["down", "wait"] * 2
    assert network.payoff[network.node_of(0)] == 0
    first = network.edge_of(network.node_of(2), "down")
    assert network.reward[first] == 21
    assert network.dst[first] == network.node_of(1)


def test_transition_that_raises():
    error = failure(Walk(transition=broken(1, "wait")))
    told(error, GameError, "KeyError", state=1, action="wait")
    assert isinstance(error.__cause__, KeyError)


def test_reward_that_raises():
    error = failure(Walk(reward=broken(1, "wait", 0)))
    told(error, GameError, "KeyError", state=1, action="wait")
    assert isinstance(error.__cause__, KeyError)


@pytest.mark.parametrize("part", ["actions", "terminal"])
def test_actions_or_terminal_that_raises(part):
    def fail(state):
        return {2: Walk.actions if part == "actions" else Walk.terminal}[state](None, state)

    error = failure(Walk(**{part: fail}))
    told(error, GameError, "KeyError", state=1)


def test_reward_without_a_return():
    error = failure(Walk(reward=lambda *_: None))
    told(error, GameError, "the reward is None", state=2, action="down")


def test_reward_that_is_nan():
    told(failure(Walk(reward=lambda *_: math.nan)), RewardNotFiniteError, "nan", state=2, action="down")


def test_transition_without_a_return():
    told(
        failure(Walk(transition=lambda *_: None)),
        GameError,
        "expected a distribution",
        state=2,
        action="down",
    )


def test_transition_that_does_not_sum_to_one():
    error = failure(Walk(transition=lambda s, a: Dist({s: 0.5, s - 1: 0.4})))
    told(error, ProbabilitySumError, "0.9", state=2, action="down")
    assert error.value == pytest.approx(0.9, abs=1e-15)


def test_actions_from_a_set():
    told(failure(Walk(actions=lambda _: {"down", "wait"})), NonDeterministicGameError, "actions()", state=2)


def test_actions_given_twice():
    told(failure(Walk(actions=lambda _: ["down", "down"])), DuplicateActionError, state=2, action="down")


def test_a_state_without_actions():
    told(failure(Walk(actions=lambda s: [] if s == 1 else ["down"])), DeadEndError, state=1)
