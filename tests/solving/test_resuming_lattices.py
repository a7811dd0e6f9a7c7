"""Lattices go on from the layers that were found and solved, to the same bits."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from helpers.counter_games import SHIPPED, Race, Sheet
from helpers.stopped_solves import forge, put, written

from mdpdice import PayoffAtLeast, Solution, Status, compile_lattice, solve
from mdpdice.answers.grid_values import GridValues
from mdpdice.certification.checking import lattice as checking
from mdpdice.errors import CheckpointMismatchError, CorruptFileError, SolveInterrupted
from mdpdice.lattices import reachable_layers
from mdpdice.solving import checkpoints, lattice_route, pipeline

GAMES = {"race": Race(10), "sheet": Sheet(), **{name: SHIPPED[name] for name in ("farkle race", "pig race", "school")}}


class StopError(Exception):
    """What ends a solve in these tests, as a kill does, but for the files that are closed."""


def same(one: Solution, other: Solution):
    assert isinstance(one.table, GridValues)
    assert isinstance(other.table, GridValues)
    assert one.table.stored.tobytes() == other.table.stored.tobytes()
    assert one.table.widths.tobytes() == other.table.widths.tobytes()
    assert (one.status, one.width, one.iterations) == (other.status, other.width, other.iterations)
    assert (one.lower(), one.upper(), one.n_states, one.n_edges) == (
        other.lower(), other.upper(), other.n_states, other.n_edges
    )  # fmt: skip


def stopping(at):
    """A progress that ends the solve when it is told so many things."""
    told = []

    def progress(phase, numbers):
        told.append((phase, dict(numbers)))
        if len(told) == at:
            raise StopError

    return told, progress


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """Every layer that is found is kept."""
    monkeypatch.setattr(checkpoints.Checkpoint, "due", lambda *_args: True)


@pytest.mark.parametrize("name", GAMES)
def test_a_stopped_solve_goes_on_to_the_same_bits(name, tmp_path):
    lattice = compile_lattice(GAMES[name])
    whole = solve(lattice)
    phases, done = [], False
    path, at = tmp_path / "a", 1
    while not done:
        told, progress = stopping(at)
        try:
            cut = solve(lattice, checkpoint=path, progress=progress)
            done = True
        except StopError:
            at += 1
        phases += [phase for phase, _ in told if phase == "resume"]
        # Nothing is done twice: a leg begins where the one before ended.
        for phase in ("explore", "solve"):
            mine = [numbers["layers"] for this, numbers in told if this == phase and "layers" in numbers]
            assert mine == sorted(set(mine))
    assert len(phases) >= at // 2 >= 1
    same(whole, cut)
    again = solve(lattice, checkpoint=path)
    same(whole, again)
    assert again.details["resumed_layers"] == len(again.table.layers.layers)


def test_a_layer_that_was_kept_is_not_solved_again(tmp_path):
    lattice = compile_lattice(Sheet())
    explored = len([0 for phase, _ in told_by(lattice) if phase == "explore"])
    told, progress = stopping(explored + 3)
    with pytest.raises(StopError):
        solve(lattice, checkpoint=tmp_path / "a", progress=progress)
    told, progress = stopping(0)
    found = solve(lattice, checkpoint=tmp_path / "a", progress=progress)
    # The layer that was told about when it was stopped was done, but not kept.
    assert found.details["resumed_layers"] == 2
    assert next(numbers["layers"] for phase, numbers in told if phase == "solve") == 3
    assert "explore" not in [phase for phase, _ in told]


def told_by(lattice, **options):
    told, progress = stopping(0)
    solve(lattice, progress=progress, **options)
    return told


def test_a_game_takes_the_same_route_with_a_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(lattice_route, "FLAT_UP_TO_EDGES", 1)
    monkeypatch.setattr(reachable_layers, "LAYERS_FROM_EDGES", 0)
    for objective in (None, PayoffAtLeast(5)):
        whole = solve(Sheet(), objective)
        kept = solve(Sheet(), objective, checkpoint=tmp_path / str(objective))
        assert kept.solver == "layer-sweeps"
        same(whole, kept)


def test_an_interrupted_solve_says_where_it_goes_on(tmp_path):
    with pytest.raises(SolveInterrupted) as caught:
        solve(compile_lattice(Race(10)), checkpoint=tmp_path / "a", time_limit=1e-9)
    assert caught.value.checkpoint is None
    late = iter([None] * 30)

    class Late:
        def is_set(self):
            return next(late, "late") == "late"

    with pytest.raises(SolveInterrupted) as caught:
        solve(compile_lattice(Race(10)), checkpoint=tmp_path / "a", cancel=Late())
    assert caught.value.checkpoint == str(tmp_path / "a")
    assert solve(compile_lattice(Race(10)), checkpoint=tmp_path / "a").details["resumed_layers"] > 0


class Looks(threading.Event):
    """A cancel event that is set at its look number `last`."""

    def __init__(self, last=None):
        super().__init__()
        self.last, self.looks = last, 0

    def is_set(self):
        self.looks += 1
        return self.looks == self.last


def counted(monkeypatch):
    """What the certificate is at work on: pieces, and layers that lead to themselves."""
    calls = []
    for name in ("_look", "_longest_of"):
        method = getattr(checking._Core, name)
        monkeypatch.setattr(checking._Core, name, lambda *args, m=method, n=name: [calls.append(n), m(*args)][1])
    return calls


@pytest.mark.parametrize("name", ["race", "pig race"])
@pytest.mark.parametrize("piece", [4, 8192])
def test_a_certificate_goes_on(name, piece, tmp_path, monkeypatch):
    monkeypatch.setattr(checking, "PIECE", piece)
    monkeypatch.setattr(checking, "BATCH", piece)
    lattice = compile_lattice(GAMES[name])
    calls = counted(monkeypatch)
    looks = Looks()
    whole = solve(lattice, checkpoint=tmp_path / "whole", cancel=looks)
    pieces = len(calls)
    assert pieces > 3
    for back in (pieces - 1, pieces // 2, 1):
        path = tmp_path / str(back)
        with pytest.raises(SolveInterrupted):
            solve(lattice, checkpoint=path, cancel=Looks(looks.looks - back + 1))
        calls.clear()
        same(whole, solve(lattice, checkpoint=path))
        assert len(calls) == back, (back, pieces)
        calls.clear()
        same(whole, solve(lattice, checkpoint=path))
        assert calls == []


def test_what_was_verified_of_other_values_is_never_used(tmp_path, monkeypatch):
    lattice = compile_lattice(Race(10))
    whole = solve(lattice, checkpoint=tmp_path / "a")
    forge(tmp_path / "a", put("values", 0.25), "steps")
    calls = counted(monkeypatch)
    same(whole, solve(lattice, checkpoint=tmp_path / "a"))
    assert len(calls) > 3
    forge(tmp_path / "a", put("values", 1), "verified")
    calls.clear()
    same(whole, solve(lattice, checkpoint=tmp_path / "a"))
    assert len(calls) > 3


class TestWrongFolders:
    @pytest.fixture
    def kept(self, tmp_path):
        solve(compile_lattice(Race(10)), checkpoint=tmp_path / "a")
        return tmp_path / "a"

    def test_another_game(self, kept):
        with pytest.raises(CheckpointMismatchError, match="its problem is"):
            solve(compile_lattice(Race(11)), checkpoint=kept)

    def test_another_route(self, kept):
        with pytest.raises(CheckpointMismatchError, match="its (problem|solver) is"):
            solve(Race(10), checkpoint=kept, solver="value-iteration")

    @pytest.mark.parametrize("series", ["found", "steps"])
    def test_damaged(self, kept, series):
        file = written(kept, series)
        data = bytearray(file.read_bytes())
        data[len(data) // 3] ^= 4
        file.write_bytes(data)
        with pytest.raises(CorruptFileError) as caught:
            solve(compile_lattice(Race(10)), checkpoint=kept)
        assert caught.value.path == str(file)
        file.unlink()
        same(solve(compile_lattice(Race(10))), solve(compile_lattice(Race(10)), checkpoint=kept))

    @pytest.mark.parametrize("lie", [
        put("done", 10**9), put("done", -1), put("points", 10**6), put("points", -3), put("points", 0),
        put("length", -1), put("length", 1 << 40), put("part", 1 << 30), put("part", -9), put("cyclic", False),
    ])  # fmt: skip
    def test_layers_that_are_out_of_range(self, kept, lie):
        forge(kept, lie, "found")
        with pytest.raises(CorruptFileError, match="found"):
            solve(compile_lattice(Race(10)), checkpoint=kept)

    @pytest.mark.parametrize(("series", "lie"), [
        ("found", put("reached", 0)),
        ("found", put("reached", 255)),
        ("found", put("part", 3)),
        ("steps", put("values", 0.25)),
        ("steps", put("values", np.nan)),
        ("steps", put("values", 1e300)),
        ("steps", put("values", -np.inf)),
    ])  # fmt: skip
    def test_numbers_that_are_wrong_cost_time_only(self, kept, series, lie):
        whole = solve(compile_lattice(Race(10)))
        forge(kept, lie, series)
        for path in kept.glob("0-steps-*") if series == "found" else ():
            path.unlink()
        found = solve(compile_lattice(Race(10)), checkpoint=kept)
        assert found.status is Status.CERTIFIED
        assert found.value() == pytest.approx(whole.value(), abs=1e-9)
        assert found.lower() <= whole.upper()
        assert whole.lower() <= found.upper()


def test_all_layers_are_written_before_the_certificate(tmp_path, monkeypatch):
    """Which takes longer than the last of them."""
    monkeypatch.setattr(checkpoints, "GATHER", 1e9)
    file, there = checkpoints.Checkpoint(tmp_path / "a", 1e9), []
    monkeypatch.setattr(pipeline, "Checkpoint", lambda *_args: file)
    look = checking._Core.look

    def looking(*args):
        file._wait()
        there.extend(path.name for path in (tmp_path / "a").glob("0-steps-*"))
        return look(*args)

    monkeypatch.setattr(checking._Core, "look", looking)
    solve(compile_lattice(Sheet()), checkpoint=tmp_path / "a")
    assert there == ["0-steps-000000.npz"]
