"""The table of faults: every error of mdpdice, raised by something that goes wrong, and what its message tells.

A case says where the error is (state, action), which number or object is wrong, and a part of what the message
advises.  An error without a case fails the last test.
"""

from __future__ import annotations

import json
import math
import time
from fractions import Fraction
from pathlib import Path

import pytest
from helpers import sleeping_solver
from helpers.broken_contracts import (
    LOOP,
    Draws,
    Misbehaving,
    NoAction,
    Rogue2,
    Stepping,
    answer_of_another,
    arrays,
    by,
    changed,
    checkpoint_of_another,
    flipped,
    game,
    interrupted,
    locked,
    missing,
    nan_at,
    raising,
    unlocks,
    walk,
    with_changes,
    writes,
)

import mdpdice.errors
from mdpdice import (
    Candidate,
    Discounted,
    Dist,
    Policy,
    Status,
    UntilReward,
    cross_check,
    d6,
    decide,
    end,
    explore,
    go,
    isolate,
    pass_to,
    roll,
    solve,
)
from mdpdice.backend import Run
from mdpdice.errors import MdpDiceError, PluginError
from mdpdice.solvers.linear_programming import LinearProgramming
from mdpdice.solvers.value_iteration import ValueIteration

HAZARDS = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent / "data" / "hazards.json").read_text("utf-8"))["cases"]
}

ANY = object()


# name: (error, what raises it, state, action, value, part of the message)
CASES = {
    # --- the model: numbers
    "row sum": ("ProbabilitySumError", lambda p: arrays([0, 1], [0.5, 0.4]), "s", "a", 0.9, "sum"),
    "row sum of a dist": ("ProbabilitySumError", lambda p: Dist({"a": 0.5, "b": 0.4}), None, None, 0.9, "write ints"),
    "negative probability": ("ProbabilityRangeError", lambda p: arrays([0, 1], [1.5, -0.5]), "s", "a", ANY, "probab"),
    "probability nan": ("ProbabilityRangeError", lambda p: arrays([0, 1], [math.nan, 1]), "s", "a", ANY, "nan"),
    "probability inf": ("ProbabilityRangeError", lambda p: Dist({"a": math.inf}), None, None, math.inf, "weights are"),
    "empty support": ("EmptySupportError", lambda p: arrays([0, 1], [0.0, 0.0]), "s", "a", ANY, ""),
    "nothing drawn": ("EmptySupportError", lambda p: Dist({}), None, None, ANY, "leave the draw out"),
    "reward nan": ("RewardNotFiniteError", lambda p: arrays([1], [1], [math.nan]), "s", "a", ANY, "the reward is nan"),
    "payoff inf": (
        "RewardNotFiniteError",
        lambda p: solve(game(lambda s: decide({"a": end(math.inf)}))),
        "s",
        "a",
        math.inf,
        "found by the solver",
    ),
    "discount": (
        "DiscountRangeError",
        lambda p: solve(LOOP, Discounted(Fraction(3, 2))),
        None,
        None,
        Fraction(3, 2),
        "(0, 1]",
    ),
    "discount that never acts": (
        "DiscountRangeError",
        lambda p: explore(game(lambda s: roll(d6, lambda k: end() if k == 6 else go("s")), discount=0.9)),
        ANY,
        None,
        ANY,
        "give it a decision",
    ),
    "horizon": ("HorizonRangeError", lambda p: solve(LOOP, horizon=-1), None, None, -1, "0, 1, 2"),
    # --- the model: states and actions
    "dead end": ("DeadEndError", lambda p: explore(NoAction()), "s", None, ANY, ""),
    "dead end in arrays": ("DeadEndError", lambda p: arrays([1], [1], terminal={}), "t", None, ANY, "terminal"),
    "unknown target": ("UnknownStateError", lambda p: arrays([7], [1]), "s", "a", 7, ""),
    "unknown state": ("UnknownStateError", lambda p: solve(LOOP).value("u"), ANY, None, "u", ""),
    "unknown action": ("UnknownStateError", lambda p: Policy.of(explore(LOOP), lambda s: "jump"), "s", ANY, ANY, ""),
    "equal states": (
        "StateCollisionError",
        lambda p: explore(game(lambda s: decide({"a": go(1), "b": go(True)}) if s == "s" else end())),
        1,
        "b",
        True,
        "attrs.frozen",
    ),
    "duplicate action": (
        "DuplicateActionError",
        lambda p: explore(game(lambda s: decide([("a", end(1)), ("a", end(2))]))),
        "s",
        "a",
        ANY,
        "needs an action of its own",
    ),
    "options of a set": (
        "NonDeterministicGameError",
        lambda p: explore(game(lambda s: decide({("a", end(1)), ("b", end(2))}))),
        "s",
        None,
        ANY,
        "sort them",
    ),
    "random game": ("NonDeterministicGameError", lambda p: explore(Draws()), 0, "draw", ANY, "random numbers"),
    "counter": ("CounterRangeError", lambda p: explore(Stepping()), ANY, "far", 14, "points"),
    # --- the user's functions
    "node raises": (
        "GameError",
        lambda p: explore(game(lambda s: decide({"a": end(1 // 0)}))),
        "s",
        None,
        ANY,
        "ZeroDivisionError",
    ),
    "then raises": (
        "GameError",
        lambda p: explore(game(lambda s: decide({"a": roll(d6, lambda k: end(1 // (k - 3)))}))),
        "s",
        ANY,
        ANY,
        "ZeroDivisionError",
    ),
    "junk": ("GameError", lambda p: explore(game(lambda s: 42)), "s", None, ANY, "42"),
    "no return": ("GameError", lambda p: explore(game(lambda s: None)), "s", None, ANY, "return"),
    "junk in an option": ("GameError", lambda p: explore(game(lambda s: decide({"a": 42}))), "s", "a", ANY, "42"),
    "unhashable state": (
        "GameError",
        lambda p: explore(game(lambda s: decide({"a": go([1])}))),
        "s",
        ANY,
        ANY,
        "frozen attrs",
    ),
    "nan state": (
        "GameError",
        lambda p: explore(game(lambda s: decide({"a": go(math.nan)}))),
        "s",
        ANY,
        ANY,
        "NaN is not a state",
    ),
    "unhashable action": (
        "GameError",
        lambda p: explore(game(lambda s: decide([([], end())]))),
        "s",
        ANY,
        ANY,
        "hashed",
    ),
    "both kinds of players": (
        "GameError",
        lambda p: explore(game(lambda s: decide({"a": pass_to("t")}) if s == "s" else decide({"b": end()}, player=1))),
        ANY,
        ANY,
        ANY,
        "",
    ),
    "not a game": ("GameError", lambda p: solve(Draws), None, None, ANY, "needs to be called"),
    # --- limits
    "too many states": (
        "StateLimitError",
        lambda p: explore(game(lambda n: decide({"a": go(n + 1)}), 0), max_states=50),
        ANY,
        None,
        ANY,
        "50",
    ),
    "not converged": (
        "NotConvergedError",
        lambda p: solve(walk(30), solver=ValueIteration(max_sweeps=3)),
        None,
        None,
        ANY,
        "raise max_sweeps",
    ),
    "cycle": ("CycleError", lambda p: solve(LOOP, solver="backward-induction"), "s", None, ANY, "horizon=n"),
    "interrupted": ("SolveInterrupted", interrupted, None, None, ANY, "cancelled"),
    "out of time": ("SolveInterrupted", lambda p: solve(LOOP, time_limit=0), None, None, ANY, "deadline"),
    # --- what has no answer
    "collect and pay": (
        "TotalRewardUndefinedError",
        lambda p: solve(game(lambda s: decide({"+": go("s", reward=1), "-": go("s", reward=-1)}))),
        "s",
        None,
        ANY,
        "discount below 1 or a horizon",
    ),
    "no such solver": (
        "UnsupportedError",
        lambda p: solve(LOOP, solver="magic"),
        None,
        None,
        "magic",
        "value-iteration",
    ),
    "lacks a feature": (
        "UnsupportedError",
        lambda p: solve(
            game(lambda n: decide({"a": end(1)}, player=n % 2) if n else decide({"b": go(1)}), 0), solver=Rogue2()
        ),
        None,
        None,
        ANY,
        "two players",
    ),
    "until with pass_to": (
        "UnsupportedError",
        lambda p: solve(game(lambda n: end() if n else decide({"a": pass_to(1)}), 0), UntilReward([1])),
        None,
        None,
        ANY,
        "use Total",
    ),
    "lp infeasible": (
        "LPInfeasibleError",
        lambda p: LinearProgramming().solve(arrays([0], [1], [-1]), Run()),
        "s",
        ANY,
        ANY,
        "costs without bound",
    ),
    "lp unbounded": (
        "LPUnboundedError",
        lambda p: LinearProgramming().solve(arrays([0], [1], [1]), Run()),
        "s",
        "a",
        ANY,
        "without bound",
    ),
    # --- plug-ins
    "crashes": ("PluginError", by(raising), None, None, ANY, "ZeroDivisionError"),
    "returns nothing": ("PluginError", by(lambda problem, run: None), None, None, ANY, "instead of a Candidate"),
    "nan": ("PluginError", by(with_changes(value=nan_at)), None, None, ANY, "nan"),
    "wrong shape": ("PluginError", by(with_changes(value=lambda v: v[:-1])), None, None, ANY, "shape"),
    "wrong type": ("PluginError", by(with_changes(policy=lambda s: s.astype(float))), None, None, ANY, "int64"),
    "ragged": ("PluginError", by(lambda problem, run: Candidate([[1], [1, 2]], [0])), None, None, ANY, "invalid"),
    "edges of others": ("PluginError", by(with_changes(policy=lambda s: s + 1)), None, None, ANY, "takes no edge"),
    "writes": ("PluginError", by(writes), None, None, ANY, "read-only"),
    "changes the model": ("PluginError", by(unlocks), None, None, ANY, "changed the problem"),
    "wrong value": (
        "NotCertifiedError",
        lambda p: solve(LOOP, solver=Misbehaving(with_changes(value=lambda v: v + 1))).value(),
        ANY,
        None,
        ANY,
        "estimate()",
    ),
    "changed answer": ("CertificateError", changed, None, None, ANY, "do not use it"),
    # --- files
    "flipped bit": ("CorruptFileError", flipped, None, None, ANY, "save"),
    "another's answer": ("ProblemMismatchError", answer_of_another, None, None, ANY, "total with horizon 3"),
    "another's checkpoint": ("CheckpointMismatchError", checkpoint_of_another, None, None, ANY, "max_sweeps=7"),
    "locked": ("CheckpointLockedError", locked, None, None, ANY, ""),
    "package": ("MissingPackageError", missing, None, None, ANY, "install"),
}


@pytest.mark.parametrize("name", CASES)
def test_fault(name, tmp_path):
    error, deed, state, action, value, words = CASES[name]
    with pytest.raises(MdpDiceError) as caught:
        deed(tmp_path)
    found = caught.value
    assert type(found).__name__ == error, repr(found)
    for field, wanted in (("state", state), ("action", action), ("value", value)):
        if wanted is not ANY:
            got = getattr(found, field)
            assert got == wanted if field != "value" or wanted is None else got == pytest.approx(wanted), field
    if found.state is not None:
        assert repr(found.state) in str(found)
    if found.action is not None:
        assert repr(found.action) in str(found)
    assert words in str(found)
    assert isinstance(found.code, str)
    assert len(found.message) > 25


def test_every_error_has_a_case():
    have = {error for error, *_ in CASES.values()}
    every = set(mdpdice.errors.__all__) - {"MdpDiceError", "ConformanceError"}  # of mdpdice.testing, and tested there
    assert every == have
    codes = [getattr(mdpdice.errors, name).code for name in sorted(every)]
    assert len(set(codes)) == len(codes)


def test_a_back_end_that_hangs_is_ended():
    began = time.monotonic()
    with pytest.raises(PluginError, match="was still running after time_limit=1"):
        solve(LOOP, solver=isolate(sleeping_solver.Sleeper(), time_limit=1))
    assert time.monotonic() - began < 30


def test_a_wrong_value_is_never_handed_out():
    for change in (1e-3, -1e-3, 1e9):
        found = solve(LOOP, solver=Misbehaving(with_changes(value=lambda v, change=change: v + change)))
        assert found.status is Status.UNCERTIFIED
        assert not cross_check(LOOP, solvers=["exact", Misbehaving(with_changes(value=lambda v, c=change: v + c))]).ok


# --- the hazards ----------------------------------------------------------------------------------


def test_the_count_of_hazards(request):
    """All 23 give their value or their error, in exploration/test_hazards.py and objectives/test_hazards_reach.py."""
    values = {name for name, case in HAZARDS.items() if "value" in case["expect"]}
    errors = {name for name, case in HAZARDS.items() if "error" in case["expect"]}
    print(f"{len(HAZARDS)} hazards: {len(values)} values, {len(errors)} errors")
    assert len(HAZARDS) == 23
    raised = {getattr(mdpdice.errors, name).code for name in mdpdice.errors.__all__}
    assert {HAZARDS[name]["expect"]["error"] for name in errors} <= raised
