"""A `ClassicMDP` that gives its transitions in batches, beside the same one that is asked choice by choice."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import attrs
import numpy as np
import pytest

from mdpdice import ClassicMDP, Dist, Kind, explore, solve
from mdpdice.errors import (
    DeadEndError,
    DuplicateActionError,
    GameError,
    NonDeterministicGameError,
    ProbabilitySumError,
    RewardNotFiniteError,
    StateCollisionError,
    StateLimitError,
)
from mdpdice.exploration.repeatability import check_batches


@attrs.frozen
class Stock(ClassicMDP):
    """Order up to `room` items of a shelf; demand is 0, 1, 2 or 3; an empty shelf may close for good."""

    room: int = 6
    closes: bool = False
    discount = Fraction(9, 10)

    def initial(self):
        return 2

    def actions(self, stock):
        return range(self.room - stock + 1)

    def transition(self, stock, order):
        chances = self.chances(stock).tolist()
        return Dist([(max(stock + order - sold, 0), p) for sold, p in enumerate(chances)])

    def reward(self, stock, order, left):
        return -2 * order - 0.25 * left

    def terminal(self, stock):
        return self.closes and stock == 0

    @staticmethod
    def chances(stock):
        return np.array([0.125, 0.5, 0.375, 0]) if stock % 2 else np.array([0.25, 0.25, 0.25, 0.25])


class Batched(Stock):
    def transition(self, stock, order):
        raise AssertionError("asked choice by choice")

    def transitions(self, states, order):
        stock = np.array(states)[:, None]
        left = np.maximum(stock + order - np.arange(4), 0)
        return left, np.array([self.chances(one) for one in states]), -2 * order - 0.25 * left


@pytest.fixture(autouse=True)
def unasked(monkeypatch):
    """Batches alone are of interest here: a few states are asked again choice by choice otherwise."""
    for name in ("check_batches", "check_repeatable"):
        monkeypatch.setattr(f"mdpdice.exploration.to_network.{name}", lambda *_: None)


def rows(network, rename=lambda state: state):
    """Payoff, or action -> next state -> exact probability and mean reward, of every state."""
    found = {}
    for state in network.states:
        node = network.node_of(state)
        if network.kind[node] == Kind.END:
            found[rename(state)] = network.exact_payoff(node)
            continue
        actions = found[rename(state)] = {}
        for edge in network.edges(node):
            to = int(network.dst[edge])
            inline = network.node_state[to] < 0
            branches = [(edge, Fraction(1))]
            if inline:
                branches = list(zip(network.edges(to), network.row(to), strict=True))
                assert network.reward[edge] == 0
            drawn = actions[network.action_of(edge)] = {}
            for branch, chance in branches:
                target = rename(network.state_of(int(network.dst[branch])))
                before, paid = drawn.get(target, (0, 0))
                drawn[target] = before + chance, paid + chance * network.exact_reward(branch)
    return found


@pytest.mark.parametrize("closes", [False, True])
def test_the_same_network_as_choice_by_choice(closes):
    one_by_one, batched = explore(Stock(closes=closes)), explore(Batched(closes=closes))
    assert rows(batched) == rows(one_by_one)
    assert batched.states[0] == 2
    assert (batched.discount, batched.sense, batched.n_states) == (Fraction(9, 10), "max", 7)
    steps = {state for state, step in zip(batched.dst.tolist(), batched.step.tolist(), strict=True) if not step}
    assert all(batched.kind[node] != Kind.MAX or batched.decides[node] for node in steps)
    assert solve(batched).value() == pytest.approx(solve(one_by_one).value(), rel=1e-9)
    for horizon in (1, 2, 5):
        ahead = solve(batched, horizon=horizon).value(), solve(one_by_one, horizon=horizon).value()
        assert ahead[0] == pytest.approx(ahead[1], rel=1e-12)


def renamed(name):
    """The batches with other names of states: a list of lists, from which numpy would make something else."""

    class Renamed(Batched):
        def initial(self):
            return name(2)

        def actions(self, state):
            return super().actions(self.back(state))

        def terminal(self, state):
            return super().terminal(self.back(state))

        def back(self, state):
            return next(stock for stock in range(self.room + 1) if name(stock) == state)

        def transitions(self, states, order):
            left, chance, reward = super().transitions([self.back(state) for state in states], order)
            return [[name(one) for one in row] for row in left.tolist()], chance, reward

    return Renamed(closes=True)


@attrs.frozen
class Shelf:
    stock: int


@pytest.mark.parametrize("name", [str, lambda k: (k, k + 1), Shelf, float], ids=["str", "tuple", "attrs", "float"])
def test_states_of_any_kind(name):
    network = explore(renamed(name))
    back = {name(k): k for k in range(7)}
    assert rows(network, back.__getitem__) == rows(explore(Stock(closes=True)))
    assert {type(state) for state in network.states} == {type(name(0))}


def test_equal_states_become_their_representative():
    class Folded(Batched):
        def canonical(self, stock):
            return min(stock, 4)

        def actions(self, stock):
            return range(3)

    network = explore(Folded())
    assert sorted(network.states) == [0, 1, 2, 3, 4]
    assert network.canonical(6) == 4


def test_a_start_that_is_terminal():
    class Empty(Batched):
        def initial(self):
            return 0

    network = explore(Empty(closes=True))
    assert (network.n_states, network.n_edges, solve(network).value()) == (1, 0, 0)


class Both(Batched):
    """Batches, and single states that say the same unless something is put into the way."""

    transition = Stock.transition


@pytest.mark.parametrize("game", [Both(), Both(closes=True), Both(room=40)])
def test_single_states_say_what_batches_say(game):
    check_batches(game, explore(game))


OFF = {
    "transitions() gives 5 a probability that is": ("transitions", lambda part: (part[0] + (part[0] == 4), *part[1:])),
    "transitions() gives 4 a probability that is 0.125 more": (
        "transition",
        lambda dist: Dist([(to - (to == 4) * 4, p) for to, p in zip(dist.outcomes, dist.probabilities(), strict=True)]),
    ),
    "and transition() with reward()": ("reward", lambda reward: reward + 1e-6),
}


@pytest.mark.parametrize("words", OFF)
def test_single_states_that_say_something_else(words, monkeypatch):
    name, change = OFF[words]
    old = getattr(Both, name)
    monkeypatch.setattr(Both, name, lambda *asked: change(old(*asked)))
    game = Both()
    network = explore(game)
    with pytest.raises(GameError, match=re.escape(words)) as caught:
        check_batches(game, network)
    assert caught.value.state is not None
    assert caught.value.action is not None
    monkeypatch.setattr("mdpdice.exploration.to_network.check_batches", check_batches)
    with pytest.raises(GameError, match=re.escape(words)):
        explore(game)


# --- what is refused ------------------------------------------------------------------------------


class Two(ClassicMDP):
    """One action, `go`, between 0 and 1; `given` is what it gives."""

    def __init__(self, given, actions=("go",), initial=0):
        self.given, self.named, self.first = given, actions, initial

    def initial(self):
        return self.first

    def actions(self, state):
        return self.named

    def transition(self, state, action):
        raise NotImplementedError

    def transitions(self, states, action):
        return self.given(states) if callable(self.given) else self.given


def refused(game, kind, *words, state=0, action="go", **limits):
    with pytest.raises(kind) as caught:
        explore(game, **limits)
    assert type(caught.value) is kind
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert (caught.value.state, caught.value.action) == (state, action)


def sure(*targets):
    return lambda states: ([list(targets)] * len(states), [1.0 / len(targets)] * len(targets), 0)


@pytest.mark.parametrize(
    "given",
    [
        None,
        ([[1]], [1.0]),
        ([[0, 1]], [0.5, 0.25, 0.25], 0),
        ([[0, 1], [0]], [0.5, 0.5], 0),
        (7, [1.0], 0),
        ([[0, 1]], [[0.5, 0.5]] * 3, 0),
        ([[0, 1]], [0.5, 0.5], [1, 2, 3]),
        ([], [1.0], 0),
    ],
)
def test_arrays_that_do_not_fit(given):
    refused(Two(given), GameError, "transitions()", "1 times k")


def test_an_exception_of_the_game():
    refused(Two(lambda states: 1 // 0), GameError, "transitions() raised ZeroDivisionError")


def test_what_is_no_state():
    refused(Two(sure(0, [1])), GameError, "[1] cannot be hashed", "tuple(...)")
    refused(Two(sure(0, math.nan)), GameError, "NaN is not a state")
    refused(Two(sure(0, None)), GameError, "None is not a state")
    refused(Two(sure(0, 1, True)), StateCollisionError, "equal in Python", state=1)


def test_numbers_out_of_their_range():
    refused(Two(([[0, 1]], [0.5, 0.25], 0)), ProbabilitySumError, "0.75")
    refused(Two(([[0, 0]], [0.5, 0.5], [1, math.inf])), RewardNotFiniteError, "reward")


def test_a_later_state_is_named():
    def given(states):
        return [[1] for _ in states], [[0.5 if state == 1 else 1.0] for state in states], 0

    refused(Two(given), ProbabilitySumError, state=1)


def test_actions():
    refused(Two(sure(0), actions=()), DeadEndError, action=None)
    refused(Two(sure(0), actions=("go", "go")), DuplicateActionError)
    refused(Two(sure(0), actions={"go"}), NonDeterministicGameError, "set", action=None)


def test_limits():
    endless = Two(lambda states: (np.array(states)[:, None] + [[1, 2]], [0.5, 0.5], 0))
    with pytest.raises(StateLimitError, match="max_states=1,000"):
        explore(endless, max_states=1000)
    seen = []
    with pytest.raises(StateLimitError):
        explore(endless, max_states=100, progress=lambda phase, counts: seen.append((phase, counts["states"])))
    assert seen
    assert seen[0][0] == "explore"


def test_probability_zero_is_no_branch_and_fractions_are_exact():
    chances = [[Fraction(1, 3), Fraction(2, 3), 0]]
    network = explore(Two(lambda states: ([[0, 1, "never"]] * len(states), chances, Fraction(1, 7))))
    assert network.states == [0, 1]
    assert rows(network)[1] == {"go": {0: (Fraction(1, 3), Fraction(1, 21)), 1: (Fraction(2, 3), Fraction(2, 21))}}
