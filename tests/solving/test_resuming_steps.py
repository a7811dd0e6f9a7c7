"""Backward induction and exact arithmetic go on from the steps that they kept, to the same bits."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from helpers.stopped_solves import Interrupting, certify_unwatched, components, forge, put, same

from mdpdice import Game, Status, decide, die, end, go, roll, solve
from mdpdice.archives import text_member
from mdpdice.errors import SolveInterrupted
from mdpdice.solvers import exact

backward_induction = importlib.import_module("mdpdice.solvers.backward_induction")


def chain():
    return Game.of(
        start=0,
        node=lambda n: (
            end(3)
            if n > 40
            else decide({"on": go(n + 1), "two": roll(die(3), lambda k: go(n + k), reward=1), "stop": end(n / 7)})
        ),
    )


CASES = {
    "one sweep": (chain, None, "backward-induction"),
    "stages": (chain, 30, "backward-induction"),
    "stages with decisions": (components, 30, "backward-induction"),
    "large stages": (components, 30, "backward-induction"),
    "exact": (chain, None, "exact"),
    "exact, cycles": (components, None, "exact"),
    "exact, stages": (components, 6, "exact"),
}


@pytest.fixture(autouse=True)
def _unwatched(monkeypatch):
    certify_unwatched(monkeypatch)


def shorten(monkeypatch, case):
    nodes = {"one sweep": 20, "large stages": 2}.get(case, 200)
    monkeypatch.setattr(backward_induction, "CHUNK", nodes)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("every", [0, 1000])
def test_a_resumed_solve_equals_an_uninterrupted_one(case, every, tmp_path, monkeypatch):
    shorten(monkeypatch, case)
    make, horizon, solver = CASES[case]
    whole = solve(make(), solver=solver, horizon=horizon)
    resumed, legs = [0], 0
    for looks in range(1, 400):
        try:
            cut = solve(
                make(), solver=solver, horizon=horizon,
                checkpoint=tmp_path / "a", checkpoint_seconds=every, cancel=Interrupting(looks),
            )  # fmt: skip
        except SolveInterrupted:
            legs += 1
            continue
        resumed.append(cut.details["resumed_layers"])
        break
    print(f"{case}: {legs} interruptions, {resumed} steps resumed")
    assert legs >= 1
    assert resumed[-1] >= 1
    again = solve(make(), solver=solver, horizon=horizon, checkpoint=tmp_path / "a")
    assert again.details["resumed_layers"] >= resumed[-1]
    for other in (cut, again):
        same(whole, other)
        assert np.array_equal(whole.details.get("ties"), other.details.get("ties"))
        assert whole.nodes.exact == other.nodes.exact


def zeros(step):
    """Every value is 0, in as many bytes."""
    count = step["exact"].tobytes().count(b",") + 1
    told = text_member(["0 1"] * count).tobytes()
    step["exact"][:] = np.frombuffer(told.ljust(len(step["exact"])), dtype=np.uint8)


LIES = {
    "values": ("backward-induction", put("value", 9.0)),
    "no values": ("backward-induction", put("value", np.nan)),
    "policy": ("backward-induction", put("policy", 10**15)),
    "exact values": ("exact", zeros),
    "no numbers": ("exact", put("exact", ord("7"))),
    "exact policy": ("exact", put("policy", -7)),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("horizon", [None, 9])
def test_lies_cost_time_only(lie, horizon, tmp_path, monkeypatch):
    solver, change = LIES[lie]
    truth = solve(chain(), solver=solver, horizon=horizon)
    solve(chain(), solver=solver, horizon=horizon, checkpoint=tmp_path / "a")
    forge(tmp_path / "a", change, "steps")
    found = solve(chain(), solver=solver, horizon=horizon, checkpoint=tmp_path / "a")
    same(truth, found)
    assert found.details["resumed_layers"] == 0


def test_what_floats_do_not_prove_has_steps_of_its_own(tmp_path, monkeypatch):
    """The second attempt of a solve, in exact arithmetic, goes on as well."""

    def fails(*_args):
        raise KeyboardInterrupt

    game = Game.of(start=0, node=lambda n: roll(die(7), lambda k: end(k) if k > 1 else go(0)))
    tiny = {"epsilon": 1e-300, "checkpoint": tmp_path / "a"}
    whole = solve(game, **tiny)
    assert whole.status is Status.EXACT
    assert {path.name[:7] for path in (tmp_path / "a").glob("*.npz")} == {"1-steps"}
    monkeypatch.setattr(exact.solver.strategy_improvement, "optimise", fails)
    again = solve(game, **tiny)
    assert (again.status, again.value()) == (Status.EXACT, whole.value())
    assert again.details["resumed_layers"] >= 1
