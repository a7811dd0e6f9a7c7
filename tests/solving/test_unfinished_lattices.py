"""A lattice whose solve is stopped: the interval that holds all the same, and what it says."""

from __future__ import annotations

import signal
import threading
import time

import pytest
from helpers.counter_games import SHIPPED, Race, Sheet
from helpers.random_counter_games import counter_games
from hypothesis import given, settings

from mdpdice import Status, compile_lattice, solve
from mdpdice.errors import MdpDiceError, SolveInterrupted
from mdpdice.lattices.reachable_layers import find_layers
from mdpdice.solving import unfinished_lattice

GAMES = {"race": Race(10), "sheet": Sheet(), **SHIPPED}


def stopped(lattice, layers, **options):
    """The error of a solve that is stopped when so many layers are done."""
    cancel = threading.Event()

    def progress(phase, numbers):
        if phase == "solve" and numbers["layers"] >= layers:
            cancel.set()

    with pytest.raises(SolveInterrupted) as caught:
        solve(lattice, cancel=cancel, progress=progress, **options)
    return caught.value


@pytest.mark.parametrize("verified", [True, False])
@pytest.mark.parametrize("name", GAMES)
def test_the_interval_holds_the_value(name, verified, monkeypatch):
    lattice = compile_lattice(GAMES[name])
    whole, count = solve(lattice), len(find_layers(lattice).layers)
    if not verified:
        monkeypatch.setattr(unfinished_lattice, "VERIFIED_UP_TO_EDGES", 0)
    for layers in sorted({1, count // 2, count - 1, count} - {0}):
        partial = stopped(lattice, layers).partial
        assert partial.status is Status.PARTIAL
        assert -float("inf") < partial.lower() <= whole.value() <= partial.upper() < float("inf")
        assert partial.lower() <= partial.estimate() <= partial.upper()
    assert (partial.upper() - partial.lower() < 1e-6) == verified


def test_layers_that_are_done_make_it_narrower():
    lattice = compile_lattice(Sheet())
    count = len(find_layers(lattice).layers)
    tops = [stopped(lattice, layers).partial.upper() for layers in range(1, count)]
    assert tops == sorted(tops, reverse=True)
    assert tops[-1] < tops[0]


def test_what_it_says(tmp_path):
    lattice = compile_lattice(Race(10))
    folder = tmp_path / "kept"
    assert str(stopped(lattice, 2)) == "the solve was cancelled; the value lies in [0, 1]"
    error = stopped(lattice, 2, checkpoint=folder)
    end = f"; the value lies in [0, 1]; {folder} holds what was done, and the same call goes on from there"
    assert str(error) == f"the solve was cancelled{end}"
    assert error.partial.reason == "the solve was cancelled"
    assert solve(lattice, checkpoint=folder).details["resumed_layers"] >= 2


def test_ctrl_c():
    """Whoever does not look at the event in time is interrupted, and has an interval as well."""

    def progress(phase, numbers):
        if phase == "solve":
            signal.raise_signal(signal.SIGINT)
            time.sleep(30)

    began = time.monotonic()
    with pytest.raises(SolveInterrupted, match=r"the solve was interrupted; the value lies in \[0, 1\]") as caught:
        solve(compile_lattice(Race(10)), progress=progress)
    assert time.monotonic() - began < 20
    assert (caught.value.partial.lower(), caught.value.partial.upper()) == (0, 1)


def test_a_time_limit_before_the_first_layer():
    with pytest.raises(SolveInterrupted, match="deadline") as caught:
        solve(compile_lattice(Race(10)), time_limit=1e-9)
    assert caught.value.partial is None


@settings(deadline=None)
@given(game=counter_games())
def test_random_games(game):
    try:
        lattice = compile_lattice(game)
        whole, count = solve(lattice), len(find_layers(lattice).layers)
    except MdpDiceError:
        return
    if whole.proved:
        for layers in {1, (count + 1) // 2, count}:
            partial = stopped(lattice, layers).partial
            assert partial.lower() <= whole.upper()
            assert whole.lower() <= partial.upper()
