"""The checker of averages itself is mutated: each mutation must make a named case come out wrong.

A case is a claim about a small network with what `verify` must say of it; the
unmutated checker gets all of them right.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.mutated_modules import mutated, plain
from helpers.raw_networks import network

from mdpdice.certification.checking import average
from mdpdice.certification.checking.kernels import average as loops
from mdpdice.networks.network import Kind

END, MAX, CHANCE = Kind.END, Kind.MAX, Kind.CHANCE


def claim(net, policy, most, least, *, bias=None, lower_bias=None, counted=None, component=None, rank=None):
    """Arguments of `verify`."""
    n = net.n_nodes
    bias = np.zeros(n) if bias is None else np.array(bias, float)
    lower_bias = bias if lower_bias is None else np.array(lower_bias, float)
    counted = net.decides if counted is None else np.array(counted, bool)
    component = np.zeros(n, int) if component is None else np.array(component)
    rank = np.zeros(n, int) if rank is None else np.array(rank)
    claims = (np.atleast_1d(np.array(most, float)), bias), (np.atleast_1d(np.array(least, float)), lower_bias)
    return net, counted, component, rank, np.array(policy), claims


# One state with two options; two states in turn; a state that may be left; half a chance; tenths.
LOOPS = network([(MAX, [(0, 1, 1.0), (0, 1, 3.0)])])
LOSES = network([(MAX, [(0, 1, -3.0)])])
BACK = network([(MAX, [(0, 1, 3.0), (0, 1, 1.0)])])
TURNS = network([(MAX, [(1, 1, 2.0)]), (MAX, [(0, 1, 4.0)])])
FLIP = network([(MAX, [(1,)]), (CHANCE, [(0, 0.5, 2.0), (0, 0.5, 4.0)])])
LEAVES = network([(MAX, [(0, 1, 1.0), (1, 1, 7.0)]), (MAX, [(1, 1, 5.0)])])
WAITS = network([(MAX, [(0,), (1, 1, 1.0)]), (MAX, [(0,)])])
STUCK = network([(MAX, [(1, 1, 1.0)]), (CHANCE, [(1, 1.0)])])
AWAY = network([(MAX, [(1, 1, 1.0)]), (CHANCE, [(0, 0.5), (2, 0.5)]), (MAX, [(2, 1, 9.0)])])
TENTH = network([(MAX, [(1,)]), (CHANCE, [(0, 0.1, x) for x in [0.3] * 9 + [0.1]])])
UNEVEN = network([(MAX, [(1,)]), (CHANCE, [(0, 0.25, 0.0), (0, 0.75, 4.0)])])
TENTHS = float(np.bincount([0] * 10, 0.1 * np.array([0.3] * 9 + [0.1]))[0])
HALVED = network([(MAX, [(1,)]), (CHANCE, [(0, 0.5, 0.0), (0, 0.5, 5e-324)])])
SUM = network([(MAX, [(1, 1, 0.1)]), (MAX, [(0, 1, 0.2)])])
MAYBE = network([(MAX, [(1, 1, 1.0)]), (CHANCE, [(0, 0.5, 1.0), (1, 0.5, 0.5)])])
LAST = network([(MAX, [(1, 1, 1.0)]), (MAX, [(0, 1, 1.0)])])

CASES: dict[str, tuple[tuple, bool]] = {
    "right": (claim(LOOPS, [1], 3 + 1e-9, 3 - 1e-9), True),
    "better option ignored": (claim(LOOPS, [0], 1 + 1e-9, 1 - 1e-9), False),
    "first option ignored": (claim(BACK, [1], 1 + 1e-9, 1 - 1e-9), False),
    "reward ignored": (claim(LOOPS, [0], 1 + 1e-9, -1), False),
    "loses": (claim(LOSES, [0], 3, 2), False),
    "policy worth less": (claim(LOOPS, [0], 3 + 1e-9, 3 - 1e-9), False),
    "no room": (claim(LOOPS, [1], 3, 3 - 1e-9), False),
    "no room below": (claim(LOOPS, [1], 3 + 1e-9, 3), False),
    "in turn": (claim(TURNS, [0, 1], 3 + 1e-9, 3 - 1e-9, bias=[0, 1]), True),
    "in turn without a bias": (claim(TURNS, [0, 1], 3 + 1e-9, 3 - 1e-9), False),
    "wrong bias of the policy": (claim(TURNS, [0, 1], 3 + 1e-9, 3 - 1e-9, bias=[0, 1], lower_bias=[0, 0]), False),
    "chance": (
        claim(FLIP, [0, -1], 3 + 1e-8, 3 - 1e-8, bias=[0, 3 + 1e-9], lower_bias=[0, 3 - 1e-9], rank=[0, 1]),
        True,
    ),
    "uneven chance": (
        claim(UNEVEN, [0, -1], 3 + 1e-8, 3 - 1e-8, bias=[0, 3 + 1e-9], lower_bias=[0, 3 - 1e-9], rank=[0, 1]),
        True,
    ),
    "mean too low": (claim(FLIP, [0, -1], 2.9, 2.8, bias=[0, 2.9], lower_bias=[0, 2.8], rank=[0, 1]), False),
    "mean too high": (claim(FLIP, [0, -1], 3.2, 3.1, bias=[0, 3.2], lower_bias=[0, 3.1], rank=[0, 1]), False),
    "mean within rounding": (
        claim(TENTH, [0, -1], 1, 0, bias=[0, TENTHS], lower_bias=[0, TENTHS - 1e-9], rank=[0, 1]),
        False,
    ),
    "underflow": (claim(HALVED, [0, -1], 1, -1, bias=[0, 0], lower_bias=[0, -1e-300], rank=[0, 1]), False),
    "option within rounding": (claim(SUM, [0, 1], 0.15, 0.1, bias=[0, 0.05 + 1e-18], lower_bias=[0, 0.1]), False),
    "left": (claim(LEAVES, [0, 2], [1 + 1e-9, 5 + 1e-9], [1 - 1e-9, 5 - 1e-9], component=[0, 1]), True),
    "policy leaves": (claim(LEAVES, [1, 2], [1 + 1e-9, 5 + 1e-9], [-9, 5 - 1e-9], component=[0, 1]), False),
    "edge of another": (claim(TURNS, [1, 0], 3 + 1e-9, 3 - 1e-9, bias=[0, 1]), False),
    "chance leaves": (
        claim(AWAY, [0, -1, 3], [5, 10], [-4, 8], bias=[0, 3, 0], lower_bias=[0, -3, 0], component=[0, 0, 1]),
        False,
    ),
    "never counted again": (claim(WAITS, [0, 2], 9, 4.9, bias=[2, 0], lower_bias=[5, 0], counted=[0, 1]), False),
    "counted by one option": (claim(WAITS, [1, 2], 9, -9, bias=[2, 0], lower_bias=[-2, 0], counted=[0, 1]), False),
    "chance is never counted": (claim(STUCK, [0, -1], 9, -9, bias=[0, 0], rank=[0, 0]), False),
    "not counted every time": (
        claim(LAST, [0, 1], 2 + 1e-9, 2 - 1e-9, bias=[0, 1 + 1e-10], lower_bias=[0, 1 - 1e-10], counted=[1, 0]),
        True,
    ),
    "paid where it is not counted": (
        claim(LAST, [0, 1], 1 + 1e-9, 1 - 1e-9, bias=[0, 0], counted=[1, 0], rank=[1, 1]),
        False,
    ),
    "counted by some chance": (
        claim(MAYBE, [0, -1], 2.5 + 1e-9, 2.5 - 1e-9, bias=[0, 1.5 + 1e-10], lower_bias=[0, 1.5 - 1e-10], rank=[0, 1]),
        True,
    ),
    "another option is worse": (claim(LOOPS, [1], 3 + 1e-9, 3 - 1e-9), True),
    "infinite": (claim(LOOPS, [1], np.inf, 3 - 1e-9), False),
    "not a number": (claim(LOOPS, [1], 3 + 1e-9, np.nan), False),
}


def says(module, name: str) -> bool:
    with np.errstate(all="ignore"):
        return module.verify(*CASES[name][0]) == ""


@pytest.mark.parametrize("name", CASES)
def test_the_checker_is_right(name):
    assert says(average, name) is CASES[name][1], average.verify(*CASES[name][0])


MUTATIONS: dict[str, tuple[str, str, str]] = {
    "graph unchecked": ("if not look_over(", "if None is look_over(", "never counted again"),
    "always counted": (
        "np.where(counted, sign * gain[component], 0.0)",
        "sign * gain[component]",
        "paid where it is not counted",
    ),
    "policy's gain unchecked": ("claims, (1.0, -1.0)", "claims[:1], (1.0,)", "policy worth less"),
    "infinite allowed": ("np.isfinite(gain).all() and", "True and", "infinite"),
}

# Of the compiled loops, which run in plain Python here.
LOOPS: dict[str, tuple[str, str, str]] = {
    "policies may leave": ("(inside and (chance or np.uint64(policy[node]) == e))", "True", "policy leaves"),
    "policies may stay elsewhere": ("(inside and (chance or", "(True and (chance or", "policy leaves"),
    "chance may leave": ("if chance and not inside and", "if False and", "chance leaves"),
    "options leave": ("if component[dst[e]] != component[node]:", "if component[node] < 0:", "left"),
    "ranks skipped": (" or not (component[node] < 0 or", " or not (True or", "never counted again"),
    "one option is enough": ("(some if chance else every)", "some", "never counted again"),
    "ranks need not fall": ("rank[dst[e]] < rank[node]", "rank[dst[e]] <= rank[node]", "never counted again"),
    "nothing comes": ("nearer = counted[dst[e]] or ", "nearer = ", "not counted every time"),
    "all of a chance": ("(some if chance else every)", "every", "counted by some chance"),
    "other options unchecked": (
        "elif sign > 0.0 or np.uint64(policy",
        "elif np.uint64(policy",
        "better option ignored",
    ),
    "every option counted": ("elif sign > 0.0 or np.uint64(policy[node]) == e:", "else:", "another option is worse"),
    "reward left out": ("sign * (reward[e] + move)", "sign * move", "reward ignored"),
    "bias left out": ("sign * (reward[e] + move)", "sign * reward[e]", "in turn"),
    "sign left out": ("sign * (reward[e] + move)", "(reward[e] + move)", "loses"),
    "room of means": (
        "mean + ((2.0 * float(last - first) + 8.0) * ULP + abs(1.0 - total)) * (spread + tiny(whole))",
        "mean",
        "mean within rounding",
    ),
    "room of nothing": ("(spread + tiny(whole))", "spread", "underflow"),
    "room of options": ("value + 4.0 * ULP * (size + tiny(size))", "value", "no room"),
    "last option only": ("np.maximum(result[node], value", "np.maximum(-np.inf, value", "first option ignored"),
    "last chance only": ("mean += weight[e] * value", "mean = weight[e] * value", "chance"),
    "probabilities left out": ("mean += weight[e] * value", "mean += value", "uneven chance"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutated_checker_fails_its_case(name):
    text, replacement, case = MUTATIONS[name]
    assert says(mutated(average, text, replacement), case) is not CASES[case][1]


@pytest.mark.parametrize("name", LOOPS)
def test_mutated_loop_fails_its_case(name, monkeypatch):
    text, replacement, case = LOOPS[name]

    def answer(module):
        for loop in ("look_over", "look_ahead"):
            monkeypatch.setattr(average, loop, getattr(module, loop))
        return says(average, case)

    assert answer(plain(loops)) is CASES[case][1]
    assert answer(mutated(loops, text, replacement)) is not CASES[case][1]
