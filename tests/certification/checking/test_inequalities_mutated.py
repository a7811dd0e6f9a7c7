"""The checker itself is mutated: each mutation must make a named case come out wrong.

A case is a claim about a small network with what `verify` must say of it; the
unmutated checker gets all of them right.
"""

from __future__ import annotations

import types
from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.mutated_modules import mutated
from helpers.raw_networks import claim, network

from mdpdice.certification.checking import inequalities
from mdpdice.networks.network import Kind

END, MAX, MIN, CHANCE = Kind.END, Kind.MAX, Kind.MIN, Kind.CHANCE


def witness(*, group, rank) -> inequalities.Witness:
    """What shows that a bound on gains is one."""
    return inequalities.Witness(np.array(group), np.array(rank), np.zeros(len(rank), dtype=np.int64))


# --- cases: name -> (claim, whether it is true) --------------------------------------------------------

CHOICE = network([(MAX, [(1,), (2,)]), (END, []), (END, [])], payoff=[0, 1, 3])
SMALLER = network([(MIN, [(1,), (2,)]), (END, []), (END, [])], payoff=[0, 1, 3])
LOTTERY = network([(CHANCE, [(1, 0.5), (2, 0.5)]), (END, []), (END, [])], payoff=[0, 1, 3])
TENTHS = network([(CHANCE, [(k, 0.1) for k in range(1, 11)])] + [(END, [])] * 10, payoff=[0, *([0.3] * 9), 0.1])
ONE_TENTH = float(np.add.reduceat(np.append(0.1 * np.array([0.3] * 9 + [0.1]), 0), [0])[0])
OTHERS = network([(MIN, [(2,), (3,)]), (MIN, [(2,), (3,)]), (END, []), (END, [])], payoff=[0, 0, 1, 3])
PAID = network([(MAX, [(1, 1, 2.0)]), (END, [])], payoff=[0, 1])
PASSED = network([(MAX, [(1, 1, 0, -1), (2,)]), (END, []), (END, [])], payoff=[0, 2, -3])
LOOP = network([(MAX, [(0, 1, -1.0), (1,)]), (END, [])], payoff=[0, -5])
IDLE = network([(MAX, [(0,), (1,)]), (END, [])], payoff=[0, -5])
RICH = network([(MAX, [(0, 1, 1.0), (1,)]), (END, [])], payoff=[0, 0])
# Where all numbers are 0 there is no room for rounding, and only ranks are missing.
ENDLESS = network([(MAX, [(1,), (2,)]), (CHANCE, [(1, 1.0)]), (END, [])])
# Below the range of floats: half of the smallest number, and a probability of 10^-400 that is a float of 5e-324.
HALVED = network([(CHANCE, [(1, 0.5), (2, 0.5)]), (END, []), (END, [])], payoff=[0, 0, 5e-324])
HALVED_COST = network([(CHANCE, [(1, 0.5), (2, 0.5)]), (END, []), (END, [])], payoff=[0, 0, -5e-324])
HALF_PAY = network([(MAX, [(1, 1, 0.0, 1, True)]), (END, [])], payoff=[0, 5e-324], discount=0.5)
RARE = network([(CHANCE, [(1, 1.0), (2, 5e-324)]), (END, []), (END, [])], payoff=[0, 0, 1e300])
RARE = attrs.evolve(RARE, numerator=np.array([10**400, 1], dtype=object))
NOTHING = network([(CHANCE, [(1, 0.5), (2, 0.5)]), (END, []), (END, [])])
# The discount is less than 1, and the nearest float is not.
PATIENT = network([(MAX, [(0, 1, 0.0, 1, True), (1,)]), (END, [])], payoff=[0, -1], discount=1 - Fraction(1, 10**17))
# Round and round for +1 and -1: such a play has no total, so it must not count as one that loses.
SEESAW = network([(MAX, [(1, 1, 1.0)]), (MAX, [(0, 1, -1.0), (2,)]), (END, [])], payoff=[0, 0, -5])
# A loop that pays, and a way round that gains 1 until chance ends it.
DETOUR = network([(MAX, [(1,), (0, 1, -1.0)]), (CHANCE, [(2, 0.5), (3, 0.5)]), (MAX, [(0, 1, 1.0)]), (END, [])])
DETOUR_CLAIM = ([0, -1, 4, -1], [1 - 1e-6, 1 - 9e-7, 2 - 1.1e-6, 0], [1 + 1e-6, 1 + 9e-7, 2 + 1.1e-6, 0])
MOST = np.array([0, 0, 0, 0, 1 + 1e-6, 1 + 9e-7, 2 + 1.1e-6, 0])
PROOF = witness(group=[-1, -1, -1, -1, 0, -1, -1, -1], rank=[2, 1, 3, 0] * 2)
# What is gained round the loop is gained twice in the mean, since chance ends it.
LEAKING = network([(MAX, [(1,), (0, 1, -1.0)]), (CHANCE, [(0, 0.5, 1.0), (2, 0.5, -1.0)]), (END, [])])
# Gains between decisions, round a loop that chance leaves; behind it a loop that pays.
GATE = network(
    [(MAX, [(1, 1, 1.0)]), (MAX, [(2,)]), (CHANCE, [(0, 0.5), (3, 0.5)]), (MAX, [(3, 1, -1.0), (4,)]), (END, [])]
)
STEPS = network([(MAX, [(0, 1, 1.0, 1, True), (1,)]), (END, [])], payoff=[0, 0], discount=0.5)
CUT = network([(MAX, [(0, 1, 1.0, 1, True), (1,)]), (END, [])], payoff=[0, 0.5], horizon=1)

# The best option of a node is its last edge in CHOICE, its first in SMALLER.
CASES: dict[str, tuple[tuple, bool]] = {
    "right choice": (claim(CHOICE, [1, -1, -1], [3, 1, 3], [3, 1, 3], rank=[1, 0, 0] * 2), True),
    "better option ignored": (claim(CHOICE, [0, -1, -1], [1, 1, 3], [1, 1, 3], rank=[1, 0, 0] * 2), False),
    "policy worth less": (claim(CHOICE, [0, -1, -1], [3, 1, 3], [3, 1, 3], rank=[1, 0, 0] * 2), False),
    "minimiser does worse": (claim(SMALLER, [1, -1, -1], [3, 1, 3], [3, 1, 3], rank=[1, 0, 0] * 2), False),
    "minimiser is right": (claim(SMALLER, [0, -1, -1], [1, 1, 3], [1, 1, 3], rank=[1, 0, 0] * 2), True),
    "mean too low": (claim(LOTTERY, [-1] * 3, [1, 1, 3], [1.9, 1, 3], rank=[1, 0, 0] * 2), False),
    "mean with room": (claim(LOTTERY, [-1] * 3, [1.9, 1, 3], [2.1, 1, 3], rank=[1, 0, 0] * 2), True),
    "no edge": (claim(SMALLER, [-1, -1, -1], [1, 1, 3], [1, 1, 3], rank=[1, 0, 0] * 2), False),
    "edge of another decision": (
        claim(OTHERS, [2, 2, -1, -1], [1, 1, 1, 3], [1, 1, 1, 3], rank=[1, 1, 0, 0] * 2),
        False,
    ),
    "edges of each other": (claim(OTHERS, [2, 0, -1, -1], [1, 1, 1, 3], [1, 1, 1, 3], rank=[1, 1, 0, 0] * 2), False),
    "rounded mean as if exact": (
        claim(
            TENTHS, [-1] * 11, [ONE_TENTH, *([0.3] * 9), 0.1], [ONE_TENTH, *([0.3] * 9), 0.1], rank=[1, *([0] * 10)] * 2
        ),
        False,
    ),
    "end above its payoff": (claim(CHOICE, [1, -1, -1], [3, 1, 3], [3, 0.5, 3], rank=[1, 0, 0] * 2), False),
    "reward on the way": (claim(PAID, [0, -1], [3 - 1e-9, 1], [3 + 1e-9, 1], rank=[1, 0] * 2), True),
    "reward forgotten": (claim(PAID, [0, -1], [1 - 1e-9, 1], [1 + 1e-9, 1], rank=[1, 0] * 2), False),
    "reward gained, upper end right": (claim(PAID, [0, -1], [3.5, 1], [3.6, 1], rank=[1, 0] * 2), False),
    "passed to the opponent": (claim(PASSED, [0, -1, -1], [-2, 2, -3], [-2, 2, -3], rank=[1, 0, 0] * 2), True),
    "sign forgotten": (claim(PASSED, [0, -1, -1], [2, 2, -3], [2, 2, -3], rank=[1, 0, 0] * 2), False),
    "losing loop": (claim(LOOP, [1, -1], [-5, -5], [-5, -5], rank=[1, 0] * 2), True),
    "idle loop below 0": (claim(IDLE, [1, -1], [-5, -5], [-5, -5], rank=[1, 0] * 2, label=[1, 0] * 2), False),
    "idle group below 0": (claim(IDLE, [1, -1], [-5, -5], [-5, -5], group=[-1, -1, 0, -1], rank=[1, 0] * 2), False),
    "idle group at 0": (claim(IDLE, [0, -1], [0, -5], [0, -5], group=[0, -1, 1, -1], rank=[1, 0] * 2), True),
    "paying loop in a group": (claim(RICH, [1, -1], [0, 0], [0, 0], group=[-1, -1, 0, -1], rank=[1, 0] * 2), False),
    "gains for ever": (claim(RICH, [1, -1], [0, 0], [9, 0], rank=[1, 0] * 2, label=[1, 0] * 2), False),
    "gains until chance ends it": (
        claim(LEAKING, [0, -1, -1], [-1e-9, -1e-9, 0], [1e-9] * 2 + [0], rank=[2, 1, 0] * 2, label=[1, 1, 0] * 2),
        True,
    ),
    "gains until it leaves": (
        claim(
            GATE,
            [0, 1, -1, 5, -1],
            [2 - 4e-9, 1 - 3e-9, 1 - 3e-9, 0, 0],
            [2 + 4e-9, 1 + 3e-9, 1 + 3e-9, 0, 0],
            rank=[2, 1, 0, 0, 0] * 2,
            label=[2, 2, 2, 1, 0] * 2,
        ),
        True,
    ),
    "gains that chance cuts short": (claim(DETOUR, *DETOUR_CLAIM, rank=[2, 1, 3, 0] * 2, gains=(MOST, PROOF)), True),
    "gains without a proof": (claim(DETOUR, *DETOUR_CLAIM, rank=[2, 1, 3, 0] * 2), False),
    "gains more than they say": (claim(DETOUR, *DETOUR_CLAIM, rank=[2, 1, 3, 0] * 2, gains=(0 * MOST, PROOF)), False),
    "gains without a bound": (claim(DETOUR, *DETOUR_CLAIM, rank=[2, 1, 3, 0] * 2, gains=(MOST + np.inf, PROOF)), False),
    "endless chance": (claim(ENDLESS, [1, -1, -1], [0] * 3, [0] * 3, rank=[2, 0, 0] * 2), False),
    "half of the smallest number": (claim(HALVED, [-1] * 3, [-1, 0, 5e-324], [0, 0, 5e-324]), False),
    "half of the smallest cost": (claim(HALVED_COST, [-1] * 3, [0, 0, -5e-324], [1, 0, -5e-324]), False),
    "half of the smallest number after a step": (claim(HALF_PAY, [0, -1], [-1, 5e-324], [0, 5e-324]), False),
    "probability below the smallest float": (claim(RARE, [-1] * 3, [4.9e-24, 0, 1e300], [1, 0, 1e300]), False),
    "nothing by chance": (claim(NOTHING, [-1] * 3, [0, 0, 0], [0, 0, 0]), True),
    "patience for ever": (claim(PATIENT, [0, -1], [-1, -1], [-1, -1]), False),
    "group of unequal bounds": (
        claim(
            network([(MAX, [(1,)]), (MAX, [(0,), (2,)]), (END, [])], payoff=[0, 0, 3]),
            [0, 2, -1],
            [0, 3, 3],
            [0, 3, 3],
            group=[-1, -1, -1, 0, 0, -1],
            rank=[2, 1, 0, 1, 1, 0],
        ),
        False,
    ),
    "discounted stay": (claim(STEPS, [0, -1], [2 - 1e-9, 0], [2 + 1e-9, 0]), True),
    "discounted stay in a group": (
        claim(STEPS, [1, -1], [0, 0], [0, 0], group=[-1, -1, 0, -1], rank=[1, 0] * 2),
        False,
    ),
    "cut off after one decision": (
        claim(CUT, [[-1, -1], [0, -1]], [[0, 0.5], [1 - 1e-9, 0.5]], [[0, 0.5], [1 + 1e-9, 0.5]]),
        True,
    ),
    "one decision too many": (
        claim(CUT, [[-1, -1], [0, -1]], [[1, 0.5], [2 - 1e-9, 0.5]], [[1, 0.5], [2 + 1e-9, 0.5]]),
        False,
    ),
    "infinite bound": (claim(CHOICE, [1, -1, -1], [3, 1, 3], [np.inf, 1, 3], rank=[1, 0, 0] * 2), False),
    "not a number": (claim(CHOICE, [1, -1, -1], [np.nan, 1, 3], [np.nan, 1, 3], rank=[1, 0, 0] * 2), False),
}


def says(module: types.ModuleType, name: str) -> bool:
    (net, policy, bounds, arrays), _ = CASES[name]
    return not module.verify(net, policy, bounds, module.Witness(**arrays))


@pytest.mark.parametrize("name", CASES)
def test_checker_is_right(name: str) -> None:
    assert says(inequalities, name) is CASES[name][1]


# mutation -> (text, replacement, case that must come out wrong)
MUTATIONS: dict[str, tuple[str, str, str]] = {
    "ends unchecked": ("here >= replies.payoff", "True", "end above its payoff"),
    "chance unchecked": ("here >= mean + slack", "True", "mean too low"),
    "rounding of means skipped": ("here >= mean + slack", "here >= mean", "rounded mean as if exact"),
    "options unchecked": (" and (enough | within_group)[decides[source]].all()", "", "better option ignored"),
    "comparison turned": ("enough = here[source] >= value", "enough = here[source] <= value", "right choice"),
    "policy ignored": ("usable[policy[fixed & own]] = True", "usable[:] = True", "right choice"),
    "edges of others": ("[fixed & own]", "[fixed & (policy >= 0)]", "edges of each other"),
    "nothing chosen": ("np.diff(replies.indptr) > 0)", "True)", "edge of another decision"),
    "no edge chosen": ("np.diff(replies.indptr) > 0)", "True)", "no edge"),
    "sides exchanged": ("(side == 0))", "(side == 1))", "better option ignored"),
    "rewards not negated": ("side_of_edge * network.reward[both]", "network.reward[both]", "reward on the way"),
    "rewards skipped": (
        "value = replies.reward + replies.factor * ahead",
        "value = replies.factor * ahead",
        "reward forgotten",
    ),
    "payoffs not negated": ("np.concatenate((-payoff, payoff))", "np.concatenate((payoff, payoff))", "right choice"),
    "sides never change": ("np.where(network.sign[kept] < 0, 1 - side, side)", "side", "sign forgotten"),
    "discount skipped": ("np.where(network.step, network.factor, 1.0)", "np.ones(network.n_edges)", "discounted stay"),
    "discount of 1": ("network.factor", "float(network.discount)", "patience for ever"),
    "underflow of means": ("spread + NORMAL * (sizes + (sizes > 0))", "spread", "half of the smallest number"),
    "underflow of options": (
        "4 * ULP * (size + NORMAL * (whole + (whole > 0)))",
        "4 * ULP * size",
        "half of the smallest number after a step",
    ),
    "underflow of probabilities": (
        "NORMAL * (sizes + (sizes > 0))",
        "NORMAL * (sizes > 0)",
        "probability below the smallest float",
    ),
    "underflow of products": ("NORMAL * (sizes + (sizes > 0))", "NORMAL * sizes", "half of the smallest number"),
    "underflow of nothing": ("NORMAL * (sizes + (sizes > 0))", "NORMAL * (sizes + 1)", "nothing by chance"),
    "ranks of options skipped": (
        "if _some(source, falls, chance) and falls[options].all():",
        "if _some(source, falls, chance):",
        "idle loop below 0",
    ),
    "ranks of chance skipped": (
        "if _some(source, falls, chance) and falls[options].all():",
        "if falls[options].all():",
        "endless chance",
    ),
    "endless plays allowed": (
        "endless_plays_lose(replies, ~replies.end, bounds, witness)",
        "True",
        "idle loop below 0",
    ),
    "losing loops refused": ("(falls | pays)[options].all()", "falls[options].all()", "losing loop"),
    "chance does not end it": ("(lower | left[source] | left[dst])[among", "lower[among", "gains until chance ends it"),
    "no label is left": ("left = ~np.isin(label, label[stays])", "left = np.zeros_like(live)", "gains until it leaves"),
    "gains unchecked": (
        "finite = finite and _above(gains, most, most, proof.group)",
        "pass",
        "gains more than they say",
    ),
    "infinite gains": ("fits and bool(np.isfinite(most).all()) and", "fits and", "gains without a bound"),
    "groups below 0": (" and (u[grouped] >= 0).all()", "", "idle group below 0"),
    "groups may pay": ("inside &= (reward == 0)", "inside &= (reward == reward)", "paying loop in a group"),
    "groups unequal": ("for array in (u, rank, label)", "for array in (rank, label)", "group of unequal bounds"),
    "groups when discounted": (
        "group = witness.group if problem.discount == 1 else outside",
        "group = witness.group",
        "discounted stay in a group",
    ),
    "last stage decides": ("last=k == 0", "last=False", "cut off after one decision"),
    "stage before skipped": ("bounds[max(k - 1, 0)]", "bounds[k]", "cut off after one decision"),
    "infinite allowed": ('return "the bounds are not finite"', "pass", "infinite bound"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_mutated_checker_fails_its_case(name: str) -> None:
    text, replacement, case = MUTATIONS[name]
    with np.errstate(all="ignore"):
        assert says(mutated(inequalities, text, replacement), case) is not CASES[case][1]


def test_only_chance_ends_gains() -> None:
    """A player who could leave may as well stay; floats need room for rounding here, so only fractions show it."""
    policy, u = np.array([0, 2, -1]), np.array([4.0, 5, 5, -4, -5, -5])
    arrays = {"group": np.full(6, -1), "rank": np.array([2, 1, 0] * 2), "label": np.array([1, 1, 0] * 2)}
    for module, fooled in (
        (inequalities, False),
        (mutated(inequalities, "lower & replies.chance[source]", "lower"), True),
    ):
        replies = module.best_replies(SEESAW, policy)
        assert module.endless_plays_lose(replies, ~replies.end, u, module.Witness(**arrays)) is fooled


def test_no_gain_hides_in_a_group() -> None:
    policy, u = np.array([0, 2, -1]), np.array([4.0, 5, 5, -4, -5, -5])
    gains = np.zeros(6), witness(group=[-1, -1, -1, 0, 0, -1], rank=[2, 1, 0, 1, 1, 0])
    arrays = {"group": np.full(6, -1), "rank": np.array([2, 1, 0] * 2), "label": np.zeros(6, dtype=np.int64)}
    hidden = "and endless_plays_lose(gains, live, most, proof)"
    for module, fooled in ((inequalities, False), (mutated(inequalities, hidden, ""), True)):
        replies = module.best_replies(SEESAW, policy)
        given = module.Witness(**arrays, gains=gains)
        assert module.endless_plays_lose(replies, ~replies.end, u, given) is fooled
