"""Horizons of more stages than are kept: every question is answered as if all of them were."""

from __future__ import annotations

import tracemalloc

import attrs
import numpy as np
import pytest

from mdpdice import (
    Dist,
    Game,
    Horizon,
    Network,
    Policy,
    Solution,
    cross_check,
    decide,
    end,
    evaluate,
    explore,
    go,
    roll,
)
from mdpdice import solve as solved
from mdpdice.answers.node_values import NodeValues
from mdpdice.certification.residual_bounds import order_of_stages
from mdpdice.errors import SolveInterrupted
from mdpdice.networks.network import Kind
from mdpdice.solving import stages

PAIR = Game.of(
    start=0,
    node=lambda s: decide(
        {"roll": roll(Dist({0: 1, 1: 2}), lambda k: go(k, reward=s)), "turn": go(1 - s), "out": end(s)}
    ),
)


def random_network(seed: int, *, sense: str, passed: bool, discount: str) -> Network:
    """Decisions of one or two players that lead anywhere, and chance that leads to decisions and ends."""
    rng = np.random.default_rng(seed)
    players = [Kind.MAX, Kind.MIN] if sense == "both" else [Kind.MIN if sense == "min" else Kind.MAX]
    kind = np.array([players[0], Kind.END, *rng.choice([Kind.END, *players, Kind.CHANCE], 9)], dtype=np.uint8)
    degree = np.where(kind == Kind.END, 0, rng.integers(1, 4, len(kind)))
    source = np.repeat(np.arange(len(kind)), degree)
    chance = kind[source] == Kind.CHANCE
    there = np.where(kind == Kind.CHANCE, 1, np.arange(len(kind)))
    dst = rng.integers(0, len(kind), len(source))
    dst = np.where(chance, there[dst], dst)
    weight = np.where(chance, 1.0 / degree[source], 1.0)
    return Network(
        kind=kind,
        indptr=np.concatenate(([0], np.cumsum(degree))),
        dst=dst,
        weight=weight,
        reward=np.round(rng.normal(size=len(source)), 2),
        sign=np.where(passed & (rng.random(len(source)) < 0.3), -1, 1),
        step=np.ones(len(source), dtype=bool),
        payoff=np.where(kind == Kind.END, np.round(rng.normal(size=len(kind)), 2), 0.0),
        start=0,
        discount=discount,
        sense="min" if sense == "min" else "max",
    )


def both_ways(monkeypatch, game, horizon, **more):
    """Answers with all stages kept, and with few."""
    whole = solved(game, horizon=horizon, **more)
    monkeypatch.setattr(stages, "KEPT_UP_TO", 0)
    few = solved(game, horizon=horizon, **more)
    assert type(whole.table) is NodeValues
    assert isinstance(few.table, stages.Stages)
    return whole, few


@pytest.mark.parametrize("horizon", [11, 15, 16, 17, 99])
@pytest.mark.parametrize(("sense", "passed", "discount"), [
    ("max", False, "1"), ("min", False, "1"), ("both", False, "1"), ("max", True, "1"), ("both", True, "9/10"),
])  # fmt: skip
def test_every_stage_is_as_if_all_were_kept(monkeypatch, horizon, sense, passed, discount):
    monkeypatch.setattr("mdpdice.certification.residual_bounds.RESIDUALS_FROM_EDGES", 0)
    for seed in range(4):
        net = random_network(seed, sense=sense, passed=passed, discount=discount)
        whole, few = both_ways(monkeypatch, net, horizon)
        monkeypatch.setattr(stages, "KEPT_UP_TO", 1 << 20)
        assert whole.proved
        assert few.status is whole.status
        assert (few.width, few.reason, few.iterations) == (whole.width, whole.reason, whole.iterations)
        for k in np.random.default_rng(seed).permutation(horizon + 1).tolist():
            for one, other in zip(few.nodes.rows(k), whole.nodes.rows(k), strict=True):
                np.testing.assert_array_equal(one, other)
        for name in ("values", "lowers", "uppers", "choice"):
            np.testing.assert_array_equal(getattr(few.nodes, name), getattr(whole.nodes, name))
            assert getattr(few.nodes, name).shape == (horizon + 1, net.n_nodes)


def test_every_question_is_answered(monkeypatch, tmp_path):
    monkeypatch.setattr("mdpdice.certification.residual_bounds.RESIDUALS_FROM_EDGES", 0)
    whole, few = both_ways(monkeypatch, PAIR, 50)
    assert few.value() == whole.value()
    assert few.value(1, steps_left=7) == whole.value(1, steps_left=7)
    assert few.q(1, steps_left=7) == whole.q(1, steps_left=7)
    assert few.ties(1, steps_left=1) == whole.ties(1, steps_left=1)
    assert few.action(1, steps_left=7) == whole.policy.action(1, steps_left=7)
    assert few.to_dataframe(steps_left=3).equals(whole.to_dataframe(steps_left=3))
    assert few.decisions().actions == whole.decisions().actions
    assert np.array_equal(few.policy.choice, whole.policy.choice)
    worth = evaluate(few.network, few.policy)
    assert worth.lower() <= few.value() <= worth.upper()
    few.save(tmp_path / "few.npz")
    whole.save(tmp_path / "whole.npz")
    for name in ("few", "whole"):
        again = Solution.load(tmp_path / f"{name}.npz", PAIR, horizon=50)
        assert again.proved
        assert np.array_equal(again.nodes.values, whole.nodes.values)
    few.policy.save(tmp_path / "policy.npz")
    assert np.array_equal(Policy.load(tmp_path / "policy.npz", few.network).choice, whole.policy.choice)


def test_a_million_stages_take_little_memory():
    network = explore(PAIR)
    solved(network, horizon=500_000)  # compiles
    tracemalloc.start()
    try:
        found = solved(network, horizon=1_000_000)
        assert found.proved
        assert found.value(steps_left=123_456) < found.value()
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # All stages of the four nodes would be 160 MB.
    assert used < 4e6


def test_the_objective_may_hold_the_horizon(monkeypatch):
    monkeypatch.setattr(stages, "KEPT_UP_TO", 0)
    assert isinstance(solved(PAIR, Horizon(40)).table, stages.Stages)


def test_other_solvers_keep_every_stage(monkeypatch, tmp_path):
    monkeypatch.setattr(stages, "KEPT_UP_TO", 0)
    for more in ({"solver": "value-iteration"}, {"solver": "exact"}, {"checkpoint": tmp_path / "folder"}):
        assert type(solved(PAIR, horizon=40, **more).table) is NodeValues


def test_what_is_not_narrow_is_left_to_the_others(monkeypatch):
    monkeypatch.setattr(stages, "KEPT_UP_TO", 0)
    found = solved(PAIR, horizon=40, epsilon=1e-300, solver="backward-induction")
    assert type(found.table) is NodeValues
    assert not found.proved


@pytest.mark.parametrize("lie", ["value", "policy", "bound"])
def test_a_block_that_lies_is_refused(monkeypatch, lie):
    find = stages.Stages.find

    def lying(self, at):
        value, policy, bounds = (array.copy() for array in find(self, at))
        if at == 2:
            if lie == "value":
                value[1, 0] += 1
            elif lie == "policy":
                policy[1, 0] = 0 if policy[1, 0] else 1
            else:
                bounds[1, 0] -= 1e-6
        return value, policy, bounds

    monkeypatch.setattr(stages, "KEPT_UP_TO", 0)
    assert isinstance(solved(PAIR, horizon=50).table, stages.Stages)
    monkeypatch.setattr(stages.Stages, "find", lying)
    assert type(solved(PAIR, horizon=50).table) is NodeValues


def test_chance_that_goes_round_keeps_every_stage(monkeypatch):
    monkeypatch.setattr(stages, "KEPT_UP_TO", 0)
    round_trip = Game.of(
        start=0,
        node=lambda s: (
            decide({"on": go(1), "out": end(1)})
            if s == 0
            else roll(Dist({0: 1, 2: 1}), go)
            if s == 1
            else roll(Dist({0: 1, 1: 1}), lambda k: go(k, reward=1))
        ),
    )
    assert order_of_stages(attrs.evolve(explore(round_trip), horizon=9)) is None
    found = solved(round_trip, horizon=9)
    assert found.proved
    assert type(found.table) is NodeValues


def test_a_long_horizon_can_be_stopped():
    with pytest.raises(SolveInterrupted):
        solved(PAIR, horizon=1_000_000, time_limit=1e-3)


def test_a_cross_check_knows_who_answered(monkeypatch):
    monkeypatch.setattr(stages, "KEPT_UP_TO", 0)
    report = cross_check(PAIR, horizon=40)
    assert report.ok
    assert report.independent >= 2
    [asked] = [entry.asked for entry in report.entries if entry.solver == "backward-induction"]
    assert asked == ()
