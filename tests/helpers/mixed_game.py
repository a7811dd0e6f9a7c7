"""A game with everything that a file has to carry, and networks compared bit for bit."""

from __future__ import annotations

import enum
from fractions import Fraction
from typing import NamedTuple

import attrs
import numpy as np

from mdpdice import Dist, Game, Network, decide, end, go, pass_to, roll


class Side(enum.Enum):
    HEADS = 1
    TAILS = 2


@attrs.frozen
class Box:
    inside: object


class Pick(NamedTuple):
    number: int


tenth = Dist({True: 0.1, False: 0.9})
NODES = {
    "start": lambda: decide([(Pick(1), go((1, "x"))), ("roll", roll(Dist({1: 1, 2: 2}), lambda k: go(Box(k))))]),
    (1, "x"): lambda: roll(tenth, lambda a: roll(tenth, lambda b: roll(tenth, lambda c: go(Box(1 + (a and b and c)))))),
    Box(1): lambda: decide({1.5: end(Fraction(1, 3)), None: pass_to(Side.HEADS, reward=Fraction(1, 7))}),
    Box(2): lambda: go(Side.TAILS, reward=-0.0),
    Side.HEADS: lambda: decide({True: end(2**53 + 1)}),
    Side.TAILS: lambda: end(10**300),
}


class Mixed(Game[str | tuple | Box | Side, Pick | str]):
    """Everything that a file has to carry: names of all kinds, long weights, numbers that no float equals."""

    def start(self):
        return "start"

    def node(self, state):
        return NODES[state]()


def same(one, other):
    """Equal in every array, bit for bit, and in every exact number."""
    for field in attrs.fields(Network):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype, field.name
            assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes(), field.name
        elif field.name in ("states", "actions"):
            assert list(a) == list(b)
            assert [type(x) for x in a] == [type(x) for x in b]
        else:
            assert a == b, field.name
    assert one.digest == other.digest
