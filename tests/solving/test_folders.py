"""Checkpoints at URLs."""

from __future__ import annotations

import json
import platform
import sys

import pytest
from helpers.counter_games import Race, Sheet
from helpers.stopped_solves import walk

from mdpdice import Game, compile_lattice, decide, end, go, solve
from mdpdice.errors import CheckpointLockedError, CorruptFileError, MissingPackageError
from mdpdice.solving.checkpoints import Checkpoint

fsspec = pytest.importorskip("fsspec")
LADDER = Game.of(start=0, node=lambda n: decide({"on": go(n + 1), "stop": end(n)}) if n < 9 else end(7))


@pytest.fixture
def memory():
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    return files


@pytest.mark.parametrize("where", ["memory://runs/a", "file:{}/b", "file://{}/c", "{}/d"])
@pytest.mark.parametrize("game", [compile_lattice(Sheet()), LADDER])
def test_a_solve_goes_on_from_a_url(where, game, tmp_path, memory):
    where = where.format(tmp_path)
    whole = solve(game)
    kept = solve(game, checkpoint=where, checkpoint_seconds=0)
    again = solve(game, checkpoint=where)
    assert again.details["resumed_layers"] > 0
    assert whole.value() == kept.value() == again.value()
    assert (whole.width, whole.iterations) == (again.width, again.iterations)
    if not where.startswith("memory"):
        assert len(list(tmp_path.glob("*/manifest.json"))) == 1
    else:
        names = [path.rpartition("/")[2] for path in memory.ls("/runs/a", detail=False)]
        assert "manifest.json" in names
        assert "lock" not in names


def test_layers_are_read_from_a_url(memory):
    lattice = compile_lattice(Race(10))
    whole = solve(lattice, checkpoint="memory://a")
    again = solve(lattice, checkpoint="memory://a")
    assert again.details["resumed_layers"] == len(whole.table.layers.layers)


def test_damaged(memory):
    solve(compile_lattice(Sheet()), checkpoint="memory://a")
    (path,) = memory.glob("/a/0-steps-*")
    data = bytearray(memory.cat_file(path))
    data[len(data) // 2] ^= 1
    memory.pipe_file(path, bytes(data))
    with pytest.raises(CorruptFileError, match=r"memory://a/0-steps-000000.npz cannot be used \(seal\)"):
        solve(compile_lattice(Sheet()), checkpoint="memory://a")


def test_one_at_a_time(memory):
    with Checkpoint("memory://a"), pytest.raises(CheckpointLockedError, match="memory://a/lock"):
        Checkpoint("memory://a").__enter__()
    with Checkpoint("memory://a"):
        pass


@pytest.mark.parametrize(("holder", "taken"), [
    ({"pid": 2**40, "host": platform.node()}, True),
    ({"pid": 2**40, "host": "another"}, False),
    ({"pid": "?", "host": platform.node()}, False),
    ([], False),
])  # fmt: skip
def test_the_lock_of_a_dead_process(memory, holder, taken):
    memory.pipe_file("/a/lock", json.dumps(holder).encode())
    if taken:
        assert solve(walk(), checkpoint="memory://a").proved
        assert not memory.exists("/a/lock")
    else:
        with pytest.raises(CheckpointLockedError):
            solve(walk(), checkpoint="memory://a")


def test_without_fsspec(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(MissingPackageError, match=r"mdpdice\[remote\]") as caught:
        solve(walk(), checkpoint="memory://a")
    assert caught.value.package == "fsspec"
