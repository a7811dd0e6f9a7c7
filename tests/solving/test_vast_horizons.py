"""Horizons: refused before anything is allocated where they cannot fit, and solved without a call for each stage."""

from __future__ import annotations

import numpy as np
import pytest

from mdpdice import Dist, Game, Horizon, decide, end, explore, go, roll, solve
from mdpdice.errors import HorizonRangeError
from mdpdice.numerics.kernels import bellman, residuals
from mdpdice.solvers import backward_induction

PAIR = explore(
    Game.of(
        start=0,
        node=lambda s: decide(
            {"roll": roll(Dist({0: 1, 1: 2}), lambda k: go(k, reward=s)), "turn": go(1 - s), "out": end(s)}
        ),
    )
)


@pytest.mark.parametrize("ask", [{"horizon": 10**15}, {"objective": Horizon(10**30)}])
def test_what_cannot_fit_is_refused(ask):
    with pytest.raises(HorizonRangeError, match="GiB free; horizons up to .* fit") as caught:
        solve(PAIR, **ask)
    assert caught.value.limit < 10**12


def test_what_fits_is_told(monkeypatch):
    monkeypatch.setattr("mdpdice.solving.problem.ASKED_BYTES", 0)
    monkeypatch.setattr("mdpdice.solving.problem.available_bytes", lambda: 100_000)
    with pytest.raises(HorizonRangeError) as caught:
        solve(PAIR, horizon=10_000)
    assert solve(PAIR, horizon=caught.value.limit).proved
    with pytest.raises(HorizonRangeError):
        solve(PAIR, horizon=caught.value.limit + 1)


def test_many_stages_take_few_calls(monkeypatch):
    calls = []

    def counted(module, name):
        kernel = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *args: calls.append(name) or kernel(*args))

    for module, name in ((bellman, "backup_stages"), (bellman, "backup"), (residuals, "stages")):
        counted(module, name)
    assert solve(PAIR, horizon=5000).proved
    assert set(calls) == {"backup_stages", "stages"}
    assert len(calls) <= 4


def test_one_way_of_sweeping_gives_what_the_other_does(monkeypatch):
    found = solve(PAIR, horizon=50)
    monkeypatch.setattr(backward_induction, "CHUNK", 1)
    other = solve(PAIR, horizon=50)
    assert np.array_equal(found.nodes.values, other.nodes.values)
    assert np.array_equal(found.nodes.choice, other.nodes.choice)
