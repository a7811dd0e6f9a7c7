"""The compiled checker is mutated: each mutation must make a named case come out wrong.

A case is a claim about a small network with what `verify_large` must say of it, as in `test_inequalities_mutated`.  The
mutants run in plain Python.
"""

from __future__ import annotations

import functools
import operator
import types
from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.mutated_modules import mutated, plain
from helpers.raw_networks import claim, network

from mdpdice.certification.checking import inequalities, kernels
from mdpdice.certification.checking import large as checking_large
from mdpdice.certification.checking.inequalities import Witness
from mdpdice.certification.checking.kernels import large as loops
from mdpdice.networks.network import Kind

END, MAX, MIN, CHANCE = Kind.END, Kind.MAX, Kind.MIN, Kind.CHANCE

CHOICE = network([(MAX, [(1,), (2,)]), (END, []), (END, [])], payoff=[0, 1, 3])
SMALLER = network([(MIN, [(1,), (2,)]), (END, []), (END, [])], payoff=[0, 1, 3])
LOTTERY = network([(CHANCE, [(1, 0.5), (2, 0.5)]), (END, []), (END, [])], payoff=[0, 1, 3])
LEAKY = network([(CHANCE, [(1, 0.5), (2, 0.5 - 14 * 2.0**-52)]), (END, []), (END, [])], payoff=[0, 1, 3])
TENTHS = network([(CHANCE, [(k, 0.1) for k in range(1, 11)])] + [(END, [])] * 10, payoff=[0, *([0.3] * 9), 0.1])
# Rounded after every addition, as a kernel does; `sum` compensates since Python 3.12.
TENTH = functools.reduce(operator.add, [0.1 * number for number in [0.3] * 9 + [0.1]])
PAID = network([(MAX, [(1, 1, 2.2)]), (END, [])], payoff=[0, 1.1])
PRIZE = network([(CHANCE, [(1, 1, 2.0)]), (END, [])], payoff=[0, 1])
OTHERS = network([(MIN, [(2,), (3,)]), (MIN, [(2,)]), (END, []), (END, [])], payoff=[0, 0, 1, 3])
PASSED = network([(MAX, [(1, 1, 0, -1), (2,)]), (END, []), (END, [])], payoff=[0, 2, -3])
TURNED = network([(CHANCE, [(1, 0.5, 0, -1), (2, 0.5)]), (END, []), (END, [])], payoff=[0, 2, 4])
THIRD = attrs.evolve(network([(MAX, [(1,)]), (END, [])], payoff=[0, 1 / 3]), exact_payoffs={1: Fraction(1, 3)})
IDLE = network([(MAX, [(0,), (1,)]), (END, [])], payoff=[0, -5])
# Where all numbers are 0 there is no room for rounding, and only ranks are missing.
ENDLESS = network([(MAX, [(1,), (2,)]), (CHANCE, [(1, 1.0)]), (END, [])])
ROUND = network([(MAX, [(1,), (2,)]), (CHANCE, [(0, 1.0)]), (END, [])])
# Below the range of floats: half of the smallest number, and a probability of 10^-400 that is a float of 5e-324.
HALVED = network([(CHANCE, [(1, 0.5), (2, 0.5)]), (END, []), (END, [])], payoff=[0, 0, 5e-324])
HALVED_COST = network([(CHANCE, [(1, 0.5), (2, 0.5)]), (END, []), (END, [])], payoff=[0, 0, -5e-324])
HALF_PAY = network([(MAX, [(1, 1, 0.0, 1, True)]), (END, [])], payoff=[0, 5e-324], discount=0.5)
RARE = network([(CHANCE, [(1, 1.0), (2, 5e-324)]), (END, []), (END, [])], payoff=[0, 0, 1e300])
RARE = attrs.evolve(RARE, numerator=np.array([10**400, 1], dtype=object))
NOTHING = network([(CHANCE, [(1, 0.5), (2, 0.5)]), (END, []), (END, [])])
# The discount is less than 1, and the nearest float is not.
PATIENT = network([(MAX, [(0, 1, 0.0, 1, True), (1,)]), (END, [])], payoff=[0, -1], discount=1 - Fraction(1, 10**17))
CHAIN = network([(CHANCE, [(1, 1.0)]), (CHANCE, [(2, 1.0)]), (END, [])], payoff=[0, 0, 3])
STEPS = network([(MAX, [(0, 1, 1.0, 1, True), (1,)]), (END, [])], payoff=[0, 0], discount=0.5)
LATER = network([(CHANCE, [(1, 1.0, 0.0, 1, True)]), (END, [])], payoff=[0, 4], discount=0.5)

# With a horizon: a decision is worth the stage before, and 0 where the play is cut off.
CUT = network([(MAX, [(0, 1, 1.0, 1, True), (1,)]), (END, [])], payoff=[0, 0.5], horizon=1)
# Chance leads to the decision, and the decision to chance.
AGAIN = network([(MAX, [(1, 1, 1.0), (2,)]), (CHANCE, [(0, 0.5), (2, 0.5)]), (END, [])], payoff=[0, 0, 2], horizon=2)
AGAIN_VALUE = np.array([[0, 1, 2], [2, 2, 2], [3, 2.5, 2]])
AGAIN_ROOM = 1e-9 * np.array([[0, 1, 0], [2, 2, 0], [3, 3, 0]])
AGAIN_CLAIM = [[-1, -1, -1], [1, -1, -1], [0, -1, -1]], AGAIN_VALUE - AGAIN_ROOM, AGAIN_VALUE + AGAIN_ROOM
ONLY = network([(MAX, [(1, 1, 1.0), (2,)]), (CHANCE, [(0, 1.0)]), (END, [])], payoff=[0, 0, 2], horizon=1)
LOOPED = attrs.evolve(ENDLESS, horizon=1)

CASES: dict[str, tuple[tuple, bool]] = {
    "right choice": (claim(CHOICE, [1, -1, -1], [3, 1, 3], [3, 1, 3], rank=[1, 0, 0] * 2), True),
    "better option ignored": (claim(CHOICE, [0, -1, -1], [1, 1, 3], [1, 1, 3], rank=[1, 0, 0] * 2), False),
    "policy worth less": (claim(CHOICE, [0, -1, -1], [3, 1, 3], [3, 1, 3], rank=[1, 0, 0] * 2), False),
    "edge of nobody": (claim(OTHERS, [2, 2, -1, -1], [1, 1, 1, 3], [1, 1, 1, 3], rank=[1, 1, 0, 0] * 2), False),
    "minimiser does worse": (claim(SMALLER, [1, -1, -1], [3, 1, 3], [3, 1, 3], rank=[1, 0, 0] * 2), False),
    "minimiser is right": (claim(SMALLER, [0, -1, -1], [1, 1, 3], [1, 1, 3], rank=[1, 0, 0] * 2), True),
    "mean too low": (claim(LOTTERY, [-1] * 3, [1, 1, 3], [1.9, 1, 3]), False),
    "mean too high": (claim(LOTTERY, [-1] * 3, [2.1, 1, 3], [3, 1, 3]), False),
    "mean with room": (claim(LOTTERY, [-1] * 3, [1.9, 1, 3], [2.1, 1, 3]), True),
    "mean from above as if exact": (claim(TENTHS, [-1] * 11, [0, *[0.3] * 9, 0.1], [TENTH, *[0.3] * 9, 0.1]), False),
    "mean from below as if exact": (claim(TENTHS, [-1] * 11, [TENTH, *[0.3] * 9, 0.1], [1, *[0.3] * 9, 0.1]), False),
    "probabilities of 1 as if exact": (claim(LEAKY, [-1] * 3, [1, 1, 3], [2 - 6 * 2.0**-52, 1, 3]), False),
    "end above its payoff": (claim(CHOICE, [1, -1, -1], [3, 1, 3], [3, 0.5, 3], rank=[1, 0, 0] * 2), False),
    "end below its payoff": (claim(CHOICE, [1, -1, -1], [3, 2, 3], [3, 2, 3], rank=[1, 0, 0] * 2), False),
    "last end above its payoff": (claim(TENTHS, [-1] * 11, [0, *[0.3] * 9, 0.05], [1, *[0.3] * 9, 0.05]), False),
    "third from above": (claim(THIRD, [0, -1], [0, 0], [1 / 3, 1 / 3], rank=[1, 0] * 2), False),
    "third from below": (claim(THIRD, [0, -1], [1 / 3, 1 / 3], [1, 1], rank=[1, 0] * 2), False),
    "reward on the way": (claim(PAID, [0, -1], [3.3 - 1e-9, 1.1], [3.3 + 1e-9, 1.1], rank=[1, 0] * 2), True),
    "reward forgotten": (claim(PAID, [0, -1], [1 - 1e-9, 1.1], [1.1 + 1e-9, 1.1], rank=[1, 0] * 2), False),
    "sum as if exact": (claim(PAID, [0, -1], [3, 1.1], [1.1 + 2.2, 1.1], rank=[1, 0] * 2), False),
    "prize by chance": (claim(PRIZE, [-1, -1], [3 - 1e-9, 1], [3 + 1e-9, 1]), True),
    "prize forgotten": (claim(PRIZE, [-1, -1], [1 - 1e-9, 1], [1 + 1e-9, 1]), False),
    "passed to the opponent": (claim(PASSED, [0, -1, -1], [-2, 2, -3], [-2, 2, -3], rank=[1, 0, 0] * 2), True),
    "sign forgotten": (claim(PASSED, [0, -1, -1], [2, 2, -3], [2, 2, -3], rank=[1, 0, 0] * 2), False),
    "passed by chance": (claim(TURNED, [-1] * 3, [1 - 1e-9, 2, 4], [1 + 1e-9, 2, 4]), True),
    "idle loop below 0": (claim(IDLE, [1, -1], [-5, -5], [-5, -5], rank=[1, 0] * 2), False),
    "endless chance": (claim(ENDLESS, [1, -1, -1], [0] * 3, [0] * 3, rank=[2, 0, 0] * 2), False),
    "endless round": (claim(ROUND, [1, -1, -1], [0] * 3, [0] * 3, rank=[2, 1, 0] * 2), False),
    "half of the smallest number": (claim(HALVED, [-1] * 3, [-1, 0, 5e-324], [0, 0, 5e-324]), False),
    "half of the smallest cost": (claim(HALVED_COST, [-1] * 3, [0, 0, -5e-324], [1, 0, -5e-324]), False),
    "half of the smallest number after a step": (claim(HALF_PAY, [0, -1], [-1, 5e-324], [0, 5e-324]), False),
    "probability below the smallest float": (claim(RARE, [-1] * 3, [4.9e-24, 0, 1e300], [1, 0, 1e300]), False),
    "nothing by chance": (claim(NOTHING, [-1] * 3, [0, 0, 0], [0, 0, 0]), True),
    "patience for ever": (claim(PATIENT, [0, -1], [-1, -1], [-1, -1]), False),
    "chain of chance": (claim(CHAIN, [-1] * 3, [2.9, 2.95, 3], [3.1, 3.05, 3], rank=[2, 1, 0] * 2), True),
    "ranks on one side": (claim(CHAIN, [-1] * 3, [2.9, 2.95, 3], [3.1, 3.05, 3], rank=[0, 1, 0, 2, 1, 0]), False),
    "ranks on the other side": (claim(CHAIN, [-1] * 3, [2.9, 2.95, 3], [3.1, 3.05, 3], rank=[2, 1, 0, 0, 1, 0]), False),
    "discounted stay": (claim(STEPS, [0, -1], [2 - 1e-9, 0], [2 + 1e-9, 0]), True),
    "discounted by chance": (claim(LATER, [-1, -1], [2 - 1e-9, 4], [2 + 1e-9, 4]), True),
    "infinite bound": (claim(CHOICE, [1, -1, -1], [3, 1, 3], [np.inf, 1, 3], rank=[1, 0, 0] * 2), False),
    "group": (claim(CHOICE, [1, -1, -1], [3, 1, 3], [3, 1, 3], rank=[1, 0, 0] * 2, group=[0, -1, -1] * 2), False),
    "cut off after one decision": (
        claim(CUT, [[-1, -1], [0, -1]], [[0, 0.5], [1 - 1e-9, 0.5]], [[0, 0.5], [1 + 1e-9, 0.5]]),
        True,
    ),
    "one decision too many": (
        claim(CUT, [[-1, -1], [0, -1]], [[1, 0.5], [2 - 1e-9, 0.5]], [[1, 0.5], [2 + 1e-9, 0.5]]),
        False,
    ),
    "worth of nothing": (claim(CUT, [[-1, -1], [0, -1]], [[0, 0.5], [-1, 0.5]], [[0, 0.5], [0.2, 0.5]]), False),
    "chance to decide": (
        claim(ONLY, [[-1, -1, -1], [1, -1, -1]], [[0, 0, 2], [2, 2 - 1e-9, 2]], [[0, 0, 2], [2, 2 + 1e-9, 2]]),
        True,
    ),
    "chance a stage late": (
        claim(AGAIN, *AGAIN_CLAIM[:2], AGAIN_CLAIM[2] - [[0, 0, 0], [0, 0, 0], [0, 0.3, 0]]),
        False,
    ),
    "stages of chance": (claim(AGAIN, *AGAIN_CLAIM), True),
    "policy of another stage": (claim(AGAIN, AGAIN_CLAIM[0][:1] + AGAIN_CLAIM[0][2:] * 2, *AGAIN_CLAIM[1:]), True),
    "policy that stops": (claim(AGAIN, AGAIN_CLAIM[0][:2] + AGAIN_CLAIM[0][1:2], *AGAIN_CLAIM[1:]), False),
    "no second stage": (claim(CUT, [[-1, -1]], [[0, 0.5]], [[0, 0.5]]), False),
    "endless chance with a horizon": (
        claim(LOOPED, [[-1] * 3, [1, -1, -1]], [[0] * 3] * 2, [[0] * 3] * 2, rank=[2, 0, 0] * 2),
        False,
    ),
}


STAGED = [case for case, (claimed, _) in CASES.items() if claimed[0].horizon is not None]


def says(case: str, large: types.ModuleType = checking_large, *, apart: bool = False) -> bool:
    net, policy, bounds, arrays = CASES[case][0]
    witness = Witness(**{**arrays, "rank": np.asarray(arrays["rank"], dtype=np.int64)})
    if not apart:
        return not large.verify_large(net, policy, bounds, witness)
    # The last stage is a block of its own.
    blocks = [(policy[:-1], bounds[:-1]), (policy[-1:], bounds[-1:])]
    return not large.verify_blocks(net, iter(blocks), witness)


@pytest.mark.parametrize("case", CASES)
def test_compiled_checker_is_right(case: str) -> None:
    assert says(case) is CASES[case][1]


@pytest.mark.parametrize("case", STAGED)
def test_compiled_checker_is_right_block_by_block(case: str) -> None:
    assert says(case, apart=True) is CASES[case][1]


@pytest.mark.parametrize("case", CASES)
def test_compiled_checker_is_right_in_two_threads(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking_large, "TWO_THREADS_FROM_EDGES", 0)
    assert says(case) is CASES[case][1]


# Groups are for the checker in numpy alone.
@pytest.mark.parametrize("case", [case for case in CASES if case != "group"])
def test_the_checker_in_numpy_says_the_same(case: str) -> None:
    net, policy, bounds, arrays = CASES[case][0]
    assert (not inequalities.verify(net, policy, bounds, Witness(**arrays))) is CASES[case][1]


# mutation -> (text, replacement, which occurrence, case that must come out wrong)
KERNEL: dict[str, tuple[str, str, int, str]] = {
    "floor of ends": ("here[node] >= room[node] - paid and ", "", 0, "end below its payoff"),
    "ceiling of ends": (" and here[other + node] >= paid + room[node]", "", 0, "end above its payoff"),
    "room below": ("room[node] - paid", "-paid", 0, "third from below"),
    "room above": ("paid + room[node]", "paid", 0, "third from above"),
    "never cut off": (" or (cut and decides)", "", 0, "cut off after one decision"),
    "side kept by chance": ("if sign[e] < 0:", "if False:", 0, "passed by chance"),
    "side kept": ("(here_at if sign[e] > 0 else there_at)", "here_at", 0, "passed to the opponent"),
    "discount of chance": ("discount if step[e] else 1.0", "1.0", 0, "discounted by chance"),
    "discount": ("discount if step[e] else 1.0", "1.0", 1, "discounted stay"),
    "prize below": ("here[near] - reward[e]", "here[near] + reward[e]", 0, "prize by chance"),
    "prize above": ("here[far] + reward[e]", "here[far] - reward[e]", 0, "prize forgotten"),
    "chance a stage late": ("here[near] - reward[e]", "before[near] - reward[e]", 0, "stages of chance"),
    "chance a stage late above": ("here[far] + reward[e]", "before[far] + reward[e]", 0, "chance a stage late"),
    "underflow below": (" + tiny(low_whole)", "", 0, "half of the smallest cost"),
    "underflow above": (" + tiny(high_whole)", "", 0, "half of the smallest number"),
    "underflow of options": (" + tiny(abs(gain) + abs(before[to]))", "", 0, "half of the smallest number after a step"),
    "underflow of probabilities": ("(whole + 1.0)", "1.0", 0, "probability below the smallest float"),
    "underflow of products": ("(whole + 1.0)", "whole", 0, "half of the smallest number"),
    "underflow of nothing": (" if whole > 0.0 else 0.0", "", 0, "nothing by chance"),
    "rounding below": ("low + slack * (low_size + tiny(low_whole))", "low", 0, "mean from below as if exact"),
    "rounding above": ("high + slack * (high_size + tiny(high_whole))", "high", 0, "mean from above as if exact"),
    "floor of chance": ("here[node] >= below and ", "", 0, "mean too high"),
    "ceiling of chance": (" and here[other + node] >= above", "", 0, "mean too low"),
    "sum of probabilities": (" + abs(1.0 - total)", "", 0, "probabilities of 1 as if exact"),
    "ranks below": ("low_falls |= ends or", "low_falls |= True or", 0, "ranks on one side"),
    "ranks above": ("high_falls |= ends or", "high_falls |= True or", 0, "ranks on the other side"),
    "decisions end plays": ("(cut and kind[dst[e]] != CHANCE)", "kind[dst[e]] != CHANCE", 0, "endless round"),
    "decisions are no way out": (" or (cut and kind[dst[e]] != CHANCE)", "", 0, "chance to decide"),
    "sides exchanged": ("(side == 0)", "(side == 1)", 0, "better option ignored"),
    "edges of others": ("not np.int64(first) <= policy[node] < np.int64(last)", "False", 0, "edge of nobody"),
    "reward not negated": ("view * reward[e]", "reward[e]", 0, "reward on the way"),
    "no reward": ("view * reward[e]", "0.0", 0, "reward forgotten"),
    "stage before": ("before[to]", "here[to]", 0, "cut off after one decision"),
    "no rounding": ("else 4 * ULP * size", "else 0.0", 0, "sum as if exact"),
    "rounding of nothing": ("0.0 if gain == 0.0 and factor == 1.0 else 4", "4", 0, "right choice"),
    "ranks of decisions": ("or rank[to] < rank[here_at + node]", "or True", 0, "idle loop below 0"),
    "options unchecked": ("if not bound >= value + slack:", "if False:", 0, "better option ignored"),
    "stage before, of many": ("rows[k - 1], False", "rows[k], False", 0, "cut off after one decision"),
    "always cut off": ("rows[k - 1], False, False", "rows[k - 1], False, True", 0, "worth of nothing"),
    "one policy": ("policies[k]", "policies[0]", 0, "stages of chance"),
    "one stage": ("range(len(rows))", "range(1)", 0, "policy that stops"),
    "not the first": ("range(len(rows))", "range(1, len(rows))", 0, "one decision too many"),
    "chance ends": ("if ranked and not (low_falls and high_falls):", "if False:", 0, "endless chance with a horizon"),
}

LARGE: dict[str, tuple[str, str, int, str]] = {
    "discount of 1": ("problem.factor", "float(problem.discount)", 0, "patience for ever"),
    "never cut off": ("staged and first", "False", 0, "cut off after one decision"),
    "no ranks": ("endless and first", "False", 0, "endless chance with a horizon"),
    "infinite": ("np.isfinite(some).all()", "True", 0, "infinite bound"),
    "stages left out": ("left -= len(rows)", "left = 0", 0, "no second stage"),
    "groups": ("witness.group.max(initial=-1) >= 0", "False", 0, "group"),
    "bounds ignored": ("found == kernels.BOUNDS", "False", 0, "policy worth less"),
    "endless ignored": ("found == kernels.ENDLESS", "False", 0, "endless chance"),
}

BLOCKS: dict[str, tuple[str, str, int, str]] = {
    "no stage before": ("some[0] if before is None else before", "some[0]", 0, "policy of another stage"),
    "first stage before": ("some[-1].copy()", "some[0].copy()", 0, "stages of chance"),
    "cut off again": ("staged and first", "staged", 0, "worth of nothing"),
}

THREADS: dict[str, tuple[str, str, int, str]] = {
    "last piece left out": ("range(9)", "range(8)", 0, "third from above"),
    "all pieces ignored": ("cuts[1:], repeat", "cuts[:-1], repeat", 0, "policy worth less"),
}

FAR: dict[str, tuple[str, str, int, str]] = {
    "every other piece": ("range(begin, end, AHEAD)", "range(begin, end, 2 * AHEAD)", 0, "last end above its payoff"),
    "end of pieces": ("last = min(first + AHEAD, end)", "last = first", 0, "last end above its payoff"),
    "found and ignored": ("if found != 0:", "if False:", 0, "policy worth less"),
}


@pytest.mark.parametrize("name", KERNEL)
def test_mutated_kernel_fails_its_case(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, replacement, at, case = KERNEL[name]
    # In plain Python and unchanged it is right.
    monkeypatch.setattr(kernels, "large", plain(loops))
    assert says(case) is CASES[case][1]
    monkeypatch.setattr(kernels, "large", mutated(loops, text, replacement, at))
    with np.errstate(all="ignore"):
        assert says(case) is not CASES[case][1]


@pytest.mark.parametrize("name", LARGE)
def test_mutated_caller_fails_its_case(name: str) -> None:
    text, replacement, at, case = LARGE[name]
    with np.errstate(all="ignore"):
        assert says(case, mutated(checking_large, text, replacement, at)) is not CASES[case][1]


@pytest.mark.parametrize("name", BLOCKS)
def test_mutated_caller_fails_its_case_block_by_block(name: str) -> None:
    text, replacement, at, case = BLOCKS[name]
    with np.errstate(all="ignore"):
        assert says(case, mutated(checking_large, text, replacement, at), apart=True) is not CASES[case][1]


@pytest.mark.parametrize("name", THREADS)
def test_mutated_caller_fails_its_case_in_two_threads(name: str) -> None:
    text, replacement, at, case = THREADS[name]
    mutant = mutated(checking_large, text, replacement, at)
    mutant.__dict__["TWO_THREADS_FROM_EDGES"] = 0
    assert says(case, mutant) is not CASES[case][1]


@pytest.mark.parametrize("name", FAR)
def test_mutated_kernel_fails_its_case_piece_by_piece(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, replacement, at, case = FAR[name]
    monkeypatch.setattr(checking_large, "TWO_THREADS_FROM_EDGES", 0)
    for module, right in ((plain(loops), True), (mutated(loops, text, replacement, at), False)):
        module.__dict__["AHEAD"] = 1
        monkeypatch.setattr(kernels, "large", module)
        assert (says(case) is CASES[case][1]) is right
