import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.stopped_solves import forge, put, steps_of, written

from mdpdice.archives import text_member, write_archive
from mdpdice.backend import Run
from mdpdice.errors import CheckpointLockedError, CheckpointMismatchError, CorruptFileError
from mdpdice.solving.checkpoints import Checkpoint

HELPERS = Path(__file__).parent.parent / "helpers"
KEY = {"problem": "a", "solver": "b"}
SIZE = 2000


def program(*args):
    command = [sys.executable, HELPERS / "checkpoint_programs.py", *map(str, args)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def arrays(n=0, size=SIZE):
    return {"count": np.full(3, n), "value": np.full((2, size), float(n)), "policy": np.full(size, n)}


def opened(path, key=KEY, every=60.0):
    stack = contextlib.ExitStack()
    file = stack.enter_context(Checkpoint(path, every))
    with contextlib.ExitStack() as undo:
        undo.push(stack)
        file.open(key, {"objective": "Total()"})
        undo.pop_all()
    return stack, file


def kept(path, n=7, size=SIZE):
    stack, file = opened(path)
    with stack:
        file.put("state", arrays(n, size), n)
    return path


def read(path, key=KEY, size=SIZE):
    """The number that a checkpoint is full of, None if there is none."""
    found = arrays(-1, size)
    stack, file = opened(path, key)
    with stack:
        if not file.resume(found):
            return None
    numbers = {float(x) for array in found.values() for x in array.flat}
    assert len(numbers) == 1, "a mixture of two states"
    return numbers.pop()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# --- the folder ----------------------------------------------------------------


class TestFolder:
    def test_round_trip(self, tmp_path):
        assert read(kept(tmp_path / "a")) == 7
        assert names(tmp_path / "a") == ["0-state-000000.npz", "manifest.json"]

    def test_a_state_takes_the_place_of_those_before(self, tmp_path):
        path = kept(kept(tmp_path / "a", 1), 2)
        assert read(path) == 2
        assert names(path) == ["0-state-000001.npz", "manifest.json"]

    def test_nothing_kept(self, tmp_path):
        assert read(tmp_path / "a") is None
        with Checkpoint(tmp_path / "b"):
            pass
        assert names(tmp_path) == []

    @pytest.mark.parametrize("field", KEY)
    def test_of_something_else(self, tmp_path, field):
        path = kept(tmp_path / "a")
        with pytest.raises(CheckpointMismatchError, match=rf"its {field} is {KEY[field]}, not x .*Total") as caught:
            read(path, {**KEY, field: "x"})
        assert (caught.value.path, caught.value.field, caught.value.value) == (str(path), field, KEY[field])
        assert caught.value.code == "CheckpointMismatch"
        assert read(path) == 7

    def test_other_arrays(self, tmp_path):
        path = kept(tmp_path / "a")
        with pytest.raises(CorruptFileError, match="arrays"):
            read(path, size=SIZE - 1)

    def test_folders_of_others_are_left_alone(self, tmp_path):
        (tmp_path / "thesis.tex").write_text("years of work")
        (tmp_path / ".thesis.tex.1.tmp").write_text("more")
        with pytest.raises(CorruptFileError, match=r"other files \(.thesis.tex.1.tmp\) and is no checkpoint"):
            read(tmp_path)
        assert names(tmp_path) == [".thesis.tex.1.tmp", "thesis.tex"]
        (tmp_path / "manifest.json").write_text('{"name": "a page"}')
        with pytest.raises(CorruptFileError, match=r"manifest.json cannot be used"):
            read(tmp_path)
        assert len(names(tmp_path)) == 3

    @pytest.mark.parametrize("change", [{"format": "another"}, {"version": 1}, {"attempts": [1]}, {"attempts": 1}])
    def test_nonsense_in_the_manifest(self, tmp_path, change):
        path = kept(tmp_path / "a") / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        with pytest.raises(CorruptFileError, match="delete the folder to start again"):
            read(path.parent)

    @pytest.mark.parametrize(("change", "error"), [
        ({"format": "mdpdice-network"}, CorruptFileError),
        ({"version": 1}, CorruptFileError),
        ({"version": True}, CorruptFileError),
        ({"attempt": []}, CorruptFileError),
        ({"attempt": "of another"}, CheckpointMismatchError),
        ({"series": "steps"}, CheckpointMismatchError),
        ({"first": 1}, CheckpointMismatchError),
        ({"iterations": "many"}, CorruptFileError),
        ({"steps": None}, CorruptFileError),
        ({"steps": [[["count", "<i8", [3]]]]}, CorruptFileError),
        ({"steps": [[["count", "<i8", [1 << 40]]]]}, CorruptFileError),
        ({"steps": [[["count", "|O", [3]]]]}, CorruptFileError),
        ({"steps": [[["count", "<i8", [-1]]]]}, CorruptFileError),
        ({"steps": [["count"]]}, CorruptFileError),
    ])  # fmt: skip
    def test_sealed_nonsense(self, tmp_path, change, error):
        file = written(kept(tmp_path / "a"))
        header, data, _ = steps_of(file)
        write_archive(file, {"header": text_member(header), "data": data})
        assert read(tmp_path / "a") == 7
        write_archive(file, {"header": text_member(header | change), "data": data})
        with pytest.raises(error):
            read(tmp_path / "a")

    def test_numbers_that_are_missing(self, tmp_path):
        forge(kept(tmp_path / "a"), put("value", np.nan))
        with pytest.raises(CorruptFileError, match="value"):
            read(tmp_path / "a")

    def test_what_a_killed_writer_left_is_cleared_away(self, tmp_path):
        path = kept(tmp_path / "a")
        (path / ".0-state-000001.npz.999-0.tmp").write_text("half of it")
        assert read(path) == 7
        assert names(path) == ["0-state-000000.npz", "manifest.json"]
        # Killed before anything was kept.
        (tmp_path / "b").mkdir()
        (tmp_path / "b" / ".manifest.json.999-0.tmp").write_text("half of it")
        (tmp_path / "b" / "lock").write_text("{}")
        assert read(tmp_path / "b") is None

    def test_not_more_often_than_asked(self, tmp_path):
        for every, now, there in ((1000, False, []), (1000, True, [0]), (0, False, [0])):
            path = tmp_path / f"{every} {now}"
            stack, file = opened(path, every=every)
            with stack:
                Run(checkpoint=file).save(arrays(1), 1, now=now)
            found = names(path) if path.exists() else []
            assert found == ([*(f"0-state-{n:06d}.npz" for n in there), "manifest.json"] if there else [])

    def test_without_a_checkpoint(self):
        Run().save(arrays(1), 1, now=True)
        Run().step(lambda: 1 / 0)
        assert not Run().resume(arrays(1))
        assert not list(Run().steps())


class TestSteps:
    def keep(self, path, *numbers, every=0):
        stack, file = opened(path, every=every)
        with stack:
            run = Run(checkpoint=file)
            found = [int(step["n"][0]) for step in run.steps()]
            for n in numbers:
                run.step(lambda n=n: {"n": np.array([n]), "none": np.zeros((0, 3), dtype=bool)})
                if every == 0:
                    file._wait()
        return found

    @pytest.mark.parametrize("every", [0, 1000])
    def test_go_on_behind_those_before(self, tmp_path, every):
        assert self.keep(tmp_path / "a", 5, 6, every=every) == []
        assert self.keep(tmp_path / "a", 7, every=every) == [5, 6]
        assert self.keep(tmp_path / "a") == [5, 6, 7]
        # Those that follow fast share a file.
        assert len(list((tmp_path / "a").glob("*.npz"))) == (3 if every == 0 else 2)

    def test_up_to_the_first_that_is_missing(self, tmp_path):
        self.keep(tmp_path / "a", 5, 6, 7)
        (tmp_path / "a" / "0-steps-000001.npz").unlink()
        assert self.keep(tmp_path / "a", 8) == [5]
        assert self.keep(tmp_path / "a") == [5, 8, 7]

    def test_a_later_attempt_has_its_own(self, tmp_path):
        with Checkpoint(tmp_path / "a", 0) as file:
            for name in ("one", "two"):
                file.open({"problem": name}, {})
                file.add("steps", {"n": np.arange(3)})
        with Checkpoint(tmp_path / "a", 0) as file:
            file.open({"problem": "one"}, {})
            assert [step["n"].tolist() for step in file.steps("steps")] == [[0, 1, 2]]
            file.forget()
            assert not list(file.steps("steps"))
            file.open({"problem": "two"}, {})
            assert len(list(file.steps("steps"))) == file.resumed["steps"] == 1
        with Checkpoint(tmp_path / "a", 0) as file, pytest.raises(CheckpointMismatchError, match="problem is one"):
            file.open({"problem": "two"}, {})


def mutated(data, rng):
    kind = rng.randrange(5)
    at = rng.randrange(len(data))
    if kind == 0:
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if kind == 1:
        return data[:at]
    if kind == 2:
        return data[:at] + rng.randbytes(rng.randrange(1, 20)) + data[at:]
    if kind == 3:
        return data[:at] + data[at + rng.randrange(1, 20) :]
    length = rng.randrange(1, 200)
    other = rng.randrange(len(data))
    return data[:at] + data[other : other + length] + data[at + length :]


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_no_mutated_file_is_loaded(tmp_path, count):
    rng = random.Random(count)
    folder = kept(tmp_path / "a", size=50)
    path = written(folder)
    data = path.read_bytes()
    tried = 0
    while tried < count:
        changed = mutated(data, rng)
        if changed == data:
            continue
        path.write_bytes(changed)
        with pytest.raises(CorruptFileError):
            read(folder, size=50)
        tried += 1
    path.write_bytes(data)
    assert read(folder, size=50) == 7
    print(f"{tried} mutated checkpoints, 0 loaded")


# --- kill -9 -------------------------------------------------------------------


@pytest.mark.parametrize("count", [10, pytest.param(200, marks=pytest.mark.slow)])
def test_kill_9_never_loses_the_checkpoint(tmp_path, count):
    """Half of the kills come at a random line of the library, half at a random moment."""
    rng = random.Random(count)
    left_behind = 0
    for number in range(count):
        path = tmp_path / f"{number}"
        step = rng.randrange(1, 1500) if number % 2 else 0
        with program("write", path, SIZE, step) as writer:
            assert writer.stdout.readline() == "ready\n"
            if not step:
                time.sleep(rng.random() * 0.05)
                writer.kill()
            assert writer.wait(60) == -signal.SIGKILL
        left_behind += any(name.endswith(".tmp") for name in names(path))
        # The lock of the dead is taken over, and the file holds one whole state.
        assert read(path) >= 1
        assert len(names(path)) <= 3
        assert not [name for name in names(path) if name.endswith(".tmp") or name == "lock"]
    print(f"{count} kills, {left_behind} in the middle of a file, 0 checkpoints lost")
    assert left_behind >= 1


# --- the lock ------------------------------------------------------------------


class TestLock:
    def test_two_processes(self, tmp_path):
        path = kept(tmp_path / "a")
        with program("hold", path) as holder:
            assert holder.stdout.readline() == "ready\n"
            with pytest.raises(CheckpointLockedError, match=f"pid {holder.pid}.*delete .*lock if you") as caught:
                read(path)
            assert caught.value.holder["pid"] == holder.pid
            assert {"host", "started"} <= set(caught.value.holder)
            assert caught.value.code == "CheckpointLocked"
            holder.kill()
            holder.wait()
        assert (path / "lock").exists()
        assert read(path) == 7
        assert not (path / "lock").exists()

    def test_twice_in_one_process(self, tmp_path):
        with Checkpoint(tmp_path / "a"), pytest.raises(CheckpointLockedError, match=f"pid {os.getpid()}"):
            Checkpoint(tmp_path / "a").__enter__()
        with Checkpoint(tmp_path / "a"):
            pass

    @pytest.mark.parametrize("text", ["", "[1]", "{", "\xff", '{"pid": 1}'])
    def test_what_nobody_holds_is_taken(self, tmp_path, text):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "lock").write_text(text, encoding="latin-1")
        assert read(tmp_path / "a") is None

    def test_one_of_many(self, tmp_path):
        """Many threads want a folder that appears and goes away."""
        for _ in range(20):
            inside, most, refused = [], [], []
            gate = threading.Barrier(8)

            def work(inside=inside, most=most, refused=refused, gate=gate):
                gate.wait()
                try:
                    with Checkpoint(tmp_path / "a"):
                        inside.append(1)
                        most.append(len(inside))
                        time.sleep(0.01)
                        inside.pop()
                except CheckpointLockedError:
                    refused.append(1)

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert max(most) == 1
            assert len(most) + len(refused) == 8
            assert not list(tmp_path.iterdir())
