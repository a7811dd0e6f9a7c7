"""Policy iteration goes on from a checkpoint to the same bits, and lies in one cost time only."""

from __future__ import annotations

import shutil
import threading
from fractions import Fraction

import numpy as np
import pytest
from helpers.stopped_solves import (
    Interrupting,
    certify_unwatched,
    components,
    forge,
    put,
    same,
    steps_of,
    walk,
    written,
)

from mdpdice import Game, decide, die, end, explore, go, pass_to, roll, solve
from mdpdice.errors import CorruptFileError, SolveInterrupted
from mdpdice.solvers.policy_iteration import PolicyIteration


def race():
    """Two sides, so that the block at work is written twice."""
    return Game.of(
        start=(0, 0),
        node=lambda s: (
            end(1)
            if s[0] >= 6
            else decide(
                {
                    "one": roll(die(3), lambda k: pass_to((s[1], s[0] + (k == 1)))),
                    "two": roll(die(6), lambda k: pass_to((s[1], s[0] + 2 * (k == 1)))),
                }
            )
        ),
        total=1,
    )


def standoff():
    """Two players who may wait for ever, and a discount of nothing."""
    return Game.of(
        start=0,
        node=lambda n: decide(
            {"wait": go((n + 1) % 6), "risk": roll(die(4), lambda k: go((n + k) % 6) if k < 4 else end(n - 2))},
            player=n % 2,
        ),
    )


def interest():
    """Discounted, with plain sweeps while many decisions switch."""
    return Game.of(
        start=0,
        node=lambda n: decide(
            [(k, roll(die(3), lambda d, k=k: go((n * k + d) % 60), reward=(n * 7 + k * 5) % 11)) for k in range(1, 5)]
        ),
        discount=Fraction(99, 100),
    )


CASES = {
    "walk": (walk, None, PolicyIteration()),
    "iterated": (walk, None, PolicyIteration(direct=0)),
    "components": (components, None, PolicyIteration(direct=0)),
    "horizon": (walk, 3, PolicyIteration(direct=0)),
    "two sides": (race, None, PolicyIteration()),
    "two players": (standoff, None, PolicyIteration(direct=0)),
    "discounted": (interest, None, PolicyIteration(direct=0)),
}


@pytest.fixture(autouse=True)
def _unwatched(monkeypatch):
    certify_unwatched(monkeypatch)


@pytest.mark.parametrize(("case", "every"), [*((case, 0) for case in CASES), ("iterated", 1000), ("discounted", 1000)])
def test_a_resumed_solve_equals_an_uninterrupted_one(case, every, tmp_path):
    make, horizon, solver = CASES[case]
    network = explore(make())
    whole = solve(network, solver=solver, horizon=horizon)
    path = tmp_path / "a"
    legs = resumed = 0

    def told(phase, _):
        nonlocal resumed
        resumed += phase == "resume"

    # What lies between two places that are kept may take more than a few looks at the clock.
    for looks in range(2, 200):
        try:
            cut = solve(
                network, solver=solver, horizon=horizon, progress=told,
                checkpoint=path, checkpoint_seconds=every, cancel=Interrupting(looks),
            )  # fmt: skip
            break
        except SolveInterrupted:
            legs += 1
    print(f"{case}: {legs} interruptions, {resumed} times resumed")
    assert resumed >= 1
    same(whole, cut)
    assert cut.details["resumed_layers"] == 1
    # It stays, and tells the same once more.
    same(whole, solve(network, solver=solver, horizon=horizon, checkpoint=path))


def _stopped(network, path):
    """A checkpoint that was written in the middle of a block, after a few policies."""
    for looks in range(1, 60):
        try:
            solve(network, solver=PolicyIteration(direct=0), checkpoint=path, cancel=Interrupting(looks))
        except SolveInterrupted:
            if list(path.glob("0-state-*")):
                _, entered, _, evaluations = steps_of(written(path))[2][-1]["counts"]
                if entered and evaluations >= 2:
                    return path
            shutil.rmtree(path)
    raise AssertionError("it was never stopped in a block")


LIES = {
    "values": put("value", 1e6),
    "huge values": put("value", 1.7e308),
    "policy": put("policy", -1),
    "values of the block": put("inner value", -1e9),
    "switched": put("switched", 1e300),
    "not entered": put("counts", 0, 1),
    "evaluations": put("counts", 999, 3),
    "evaluations before": put("counts", 123, 2),
}


@pytest.mark.parametrize("game", [interest, race])
@pytest.mark.parametrize("lie", LIES)
def test_a_lying_checkpoint_costs_time_only(lie, game, tmp_path):
    network = explore(game())
    path = _stopped(network, tmp_path / "a")
    forge(path, LIES[lie])
    with np.errstate(all="ignore"):
        found = solve(network, solver=PolicyIteration(direct=0), checkpoint=path)
    assert found.proved
    assert found.value() == pytest.approx(solve(network).value(), rel=1e-6)


@pytest.mark.parametrize("lie", [
    put("counts", 2, 1), put("counts", -1, 0), put("counts", 10**15, 0), put("policy", 10**15), put("policy", 1, 5),
    put("inner policy", -5), put("value", np.inf), put("inner value", -np.inf), put("switched", np.nan),
])  # fmt: skip
def test_numbers_that_lead_out_of_the_arrays_are_refused(lie, tmp_path):
    network = explore(interest())
    path = _stopped(network, tmp_path / "a")
    forge(path, lie)
    with pytest.raises(CorruptFileError, match="out of range|none"):
        solve(network, solver=PolicyIteration(direct=0), checkpoint=path)


def test_cancelled_before_it_begins(tmp_path):
    event = threading.Event()
    event.set()
    with pytest.raises(SolveInterrupted):
        solve(explore(walk()), solver="policy-iteration", checkpoint=tmp_path / "a", cancel=event)
    assert solve(walk(), solver="policy-iteration", checkpoint=tmp_path / "a").proved
