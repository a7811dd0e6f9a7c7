"""Nodes are asked and written several at a time: what is wrong in one is told as if they were taken one by one."""

from __future__ import annotations

import math
from fractions import Fraction

import attrs
import pytest

from mdpdice import Game, Kind, chance, decide, end, explore, go
from mdpdice.errors import DeadEndError, DuplicateActionError, GameError, RewardNotFiniteError, StateCollisionError
from mdpdice.modelling.distribution import uniform

WIDE = 200


def fan(answer, **named):
    """A start that leads to states 0 to 199, of which every third goes back to another; `answer` gives some nodes."""

    def node(state):
        if state == ("start",):
            return decide([(i, go((i,))) for i in range(WIDE)])
        found = answer(*state)
        plain = {"back": go(((state[0] * 7) % WIDE,)), "stop": end(state[0] % 5)}
        return decide(plain) if found is None else found

    return Game.of(start=("start",), node=node, **named)


def at(places):
    return lambda i: places[i]() if i in places else None


@attrs.frozen
class Stubborn:
    """A state that cannot be hashed, and says so with an error that ends loops."""

    def __hash__(self):
        raise StopIteration


def raising():
    raise KeyError(1)


FAULTS = {
    "collision": (lambda: decide({"stop": end(1), "odd": go((5.0,))}), StateCollisionError, "odd"),
    "two states alike": (lambda: decide({"a": go((1, True)), "b": go((1, 1))}), StateCollisionError, "b"),
    "unhashable": (lambda: decide({"a": go((5,)), "b": go(([],))}), GameError, "b"),
    "NaN": (lambda: decide({"a": go((5,)), "b": go((math.nan,))}), GameError, "b"),
    "stubborn": (lambda: decide({"a": go((5,)), "b": go(Stubborn())}), GameError, "b"),
    "payoff": (lambda: decide({"a": end(math.inf), "b": go((5.0,))}), RewardNotFiniteError, "a"),
    "reward": (lambda: decide({"a": go((5,)), "b": go((6,), reward=math.nan)}), RewardNotFiniteError, "b"),
    "no edge": (lambda: decide({"a": go((5,)), "b": (6,)}), GameError, "b"),
    "empty": (lambda: decide({}), DeadEndError, None),
    "twice": (lambda: decide([("a", end(0)), ("a", end(1))]), DuplicateActionError, "a"),
    "raises": (raising, GameError, None),
}


@pytest.mark.parametrize("second", FAULTS)
@pytest.mark.parametrize("first", FAULTS)
def test_the_first_fault_is_told_with_its_place(first, second):
    make, kind, action = FAULTS[first]
    game = fan(at({40: make, 43: FAULTS[second][0]}))
    with pytest.raises(kind) as caught:
        explore(game)
    assert caught.value.state == (40,) or kind is StateCollisionError
    assert caught.value.action == action
    assert "state" in str(caught.value)


@pytest.mark.parametrize("other", [at({}), at({3: lambda: end(7), 50: lambda: chance(uniform([go((1,)), end(2)]))})])
@pytest.mark.parametrize("paid", [None, Fraction(1, 3)])
def test_rows_are_those_of_one_at_a_time(monkeypatch, other, paid):
    def answer(i):
        if paid is not None and i % 11 == 0:
            return decide({"back": go((i // 2,), reward=paid), "none": None, "new": go((i, "new"))})
        return other(i)

    game = fan(lambda *state: answer(*state) if len(state) == 1 else end(state[0]), discount=Fraction(9, 10))
    together = explore(game)
    monkeypatch.setattr("mdpdice.exploration.traversal._AT_ONCE", 1)
    monkeypatch.setattr("mdpdice.exploration.to_network._FlatTraversal._write_plain", lambda *_: False)
    alone = explore(game)
    assert together.digest == alone.digest
    assert together.states == alone.states
    assert list(together.actions) == list(alone.actions)
    assert (together.kind == Kind.MAX).sum() >= WIDE - 2


def test_a_game_is_asked_for_a_state_once():
    asked = []

    def node(n):
        asked.append(n)
        return decide({"up": go(min(n + 1, 99)), "stop": end(n)})

    network = explore(Game.of(start=0, node=node, discount=Fraction(1, 2)))
    assert asked[:100] == list(range(100)) == list(network.states)
    assert len(asked) == 100 + 2 * 16  # those that are asked again, see `check_repeatable`
