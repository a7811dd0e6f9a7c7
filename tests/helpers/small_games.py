"""Games written as a dictionary, what their networks and their errors say, and classes for their states."""

from __future__ import annotations

from typing import NamedTuple

import attrs
import pytest

from mdpdice import Game, Kind, d6, decide, end, explore, go, pass_to, roll, uniform
from mdpdice.errors import MdpDiceError

COIN = uniform("ht")


class Day(NamedTuple):
    cash: int
    left: int


class Night(NamedTuple):
    """Equal to a `Day` of the same numbers in Python, and another state."""

    cash: int
    left: int


@attrs.frozen
class PlainRace(Game[tuple[int, int, int], str]):
    """The race of Pig, with three numbers as a state: mine, theirs, and the points at risk."""

    goal: int = 10
    total = 1

    def start(self):
        return (0, 0, 0)

    def node(self, state):
        mine, theirs, turn = state
        if mine + turn >= self.goal:
            return end(1)
        lost = pass_to((theirs, mine, 0))
        return decide(
            {
                "hold": pass_to((theirs, mine + turn, 0)),
                "roll": roll(d6, lambda k: lost if k == 1 else go((mine, theirs, turn + k))),
            }
        )


def game(nodes, start="start", **fields):
    """A game whose nodes are given by a dict from states to functions without arguments."""
    return Game.of(start=start, node=lambda state: nodes[state](), **fields)


def three_rounds(done):
    """Nodes of a game in which a round costs 1 and pays the die, and counts from 3 on; after three it pays 8."""
    if done == 3:
        return end(8)
    return decide({"on": roll(d6, lambda k: go(done + 1 if k > 2 else done, reward=k), reward=-1)})


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


def failure(of, **fields):
    """The error of exploring a game."""
    with pytest.raises(MdpDiceError) as caught:
        explore(of, **fields)
    return caught.value


def check_error(error, kind, *words, state=None, action=None):
    """The error is of a kind, says where it is, and holds some words."""
    assert type(error) is kind, error
    assert error.code == kind.code
    assert (error.state, error.action) == (state, action), error
    for word in words:
        assert word in str(error), error
    if state is not None:
        assert repr(state) in str(error)
