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


def written(path, n=7, size=SIZE):
    with Checkpoint(path) as file:
        file.open(KEY, {"objective": "Total()"})
        file.save(arrays(n, size), n)
    return path


def read(path, key=KEY, size=SIZE):
    """The number that a checkpoint is full of, None if there is no file."""
    found = arrays(-1, size)
    with Checkpoint(path) as file:
        file.open(key, {})
        if not file.resume(found):
            assert not path.exists()
            return None
    numbers = {float(x) for array in found.values() for x in array.flat}
    assert len(numbers) == 1, "a mixture of two states"
    return numbers.pop()


# --- the file ------------------------------------------------------------------


class TestFile:
    def test_round_trip(self, tmp_path):
        assert read(written(tmp_path / "a")) == 7
        assert [path.name for path in tmp_path.iterdir()] == ["a"]

    def test_no_file(self, tmp_path):
        assert read(tmp_path / "a") is None

    @pytest.mark.parametrize("field", KEY)
    def test_of_something_else(self, tmp_path, field):
        path = written(tmp_path / "a")
        with pytest.raises(CheckpointMismatchError, match=rf"its {field} is {KEY[field]}, not x .*Total") as caught:
            read(path, {**KEY, field: "x"})
        assert (caught.value.path, caught.value.field, caught.value.value) == (str(path), field, KEY[field])
        assert caught.value.code == "CheckpointMismatch"
        assert read(path) == 7

    def test_other_arrays(self, tmp_path):
        path = written(tmp_path / "a")
        with pytest.raises(CorruptFileError, match="arrays"):
            read(path, size=SIZE - 1)

    @pytest.mark.parametrize("change", [
        {"format": "mdpdice-network"},
        {"version": 2},
        {"version": True},
        {"key": []},
        {"iterations": "many"},
        {"arrays": None},
        {"arrays": [["count", "ints", [3]]]},
    ])  # fmt: skip
    def test_sealed_nonsense_in_the_header(self, tmp_path, change):
        path = tmp_path / "a"
        layout = [["count", "ints", [3]], ["value", "floats", [2, SIZE]], ["policy", "ints", [SIZE]]]
        header = {"format": "mdpdice-checkpoint", "version": 1, "key": KEY, "iterations": 1, "arrays": layout}
        ints, floats = np.zeros(SIZE + 3, dtype=np.int64), np.zeros(2 * SIZE)

        def write(header, ints=ints, floats=floats):
            write_archive(path, {"header": text_member(header), "ints": ints, "floats": floats})

        write(header)
        assert read(path) == 0
        write(header | change)
        with pytest.raises(CorruptFileError):
            read(path)
        write([header])
        with pytest.raises(CorruptFileError, match="header"):
            read(path)
        write(header, ints=ints[1:])
        with pytest.raises(CorruptFileError, match="policy"):
            read(path)
        write(header, floats=np.full(2 * SIZE, np.nan))
        with pytest.raises(CorruptFileError, match="value"):
            read(path)

    def test_what_a_killed_writer_left_is_cleared_away(self, tmp_path):
        path = written(tmp_path / "a")
        (tmp_path / ".a.999-0.tmp").write_text("half of it")
        (tmp_path / ".ab.999-0.tmp").write_text("of another file")
        assert read(path) == 7
        assert sorted(path.name for path in tmp_path.iterdir()) == [".ab.999-0.tmp", "a"]

    def test_not_more_often_than_asked(self, tmp_path):
        with Checkpoint(tmp_path / "a", every=1000) as file:
            file.open(KEY, {})
            run = Run(checkpoint=file)
            run.save(arrays(1), 1)
            assert not file.path.exists()
            run.save(arrays(1), 1, now=True)
            assert file.path.exists()
        with Checkpoint(tmp_path / "b", every=0) as file:
            file.open(KEY, {})
            Run(checkpoint=file).save(arrays(1), 1)
            assert file.path.exists()

    def test_without_a_checkpoint(self):
        Run().save(arrays(1), 1, now=True)
        assert not Run().resume(arrays(1))


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
    path = written(tmp_path / "a", size=50)
    data = path.read_bytes()
    tried = 0
    while tried < count:
        changed = mutated(data, rng)
        if changed == data:
            continue
        path.write_bytes(changed)
        with Checkpoint(path) as file, pytest.raises(CorruptFileError):
            file.open(KEY, {})
        tried += 1
    path.write_bytes(data)
    assert read(path, size=50) == 7
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
        left_behind += any(left.name.startswith(f".{number}.") for left in tmp_path.iterdir())
        # The lock of the dead is taken over, and the file holds one whole state.
        assert read(path) >= 1
        assert not (tmp_path / f"{number}.lock").exists()
        assert not [left for left in tmp_path.iterdir() if left.name.startswith(f".{number}.")]
    print(f"{count} kills, {left_behind} in the middle of a file, 0 checkpoints lost")
    assert left_behind >= 1


# --- the lock ------------------------------------------------------------------


class TestLock:
    def test_two_processes(self, tmp_path):
        path = written(tmp_path / "a")
        with program("hold", path) as holder:
            assert holder.stdout.readline() == "ready\n"
            with pytest.raises(CheckpointLockedError, match=f"pid {holder.pid}") as caught:
                read(path)
            assert caught.value.holder["pid"] == holder.pid
            assert {"host", "started"} <= set(caught.value.holder)
            assert caught.value.code == "CheckpointLocked"
            holder.kill()
            holder.wait()
        assert read(path) == 7

    def test_a_dead_holder_that_nobody_has_waited_for(self, tmp_path):
        path = written(tmp_path / "a")
        with program("hold", path) as holder:
            assert holder.stdout.readline() == "ready\n"
            os.kill(holder.pid, signal.SIGKILL)
            assert holder.stdout.read() == ""  # closed: it is dead
            deadline = time.monotonic() + 30
            while "Z" not in Path(f"/proc/{holder.pid}/stat").read_text().rpartition(")")[2].split()[0]:
                assert time.monotonic() < deadline
            assert read(path) == 7

    def test_twice_in_one_process(self, tmp_path):
        with Checkpoint(tmp_path / "a"), pytest.raises(CheckpointLockedError, match=f"pid {os.getpid()}"):
            Checkpoint(tmp_path / "a").__enter__()
        with Checkpoint(tmp_path / "a"):
            pass

    def test_of_an_earlier_process_with_our_number(self, tmp_path):
        self.lock(tmp_path, pid=os.getpid())
        assert read(tmp_path / "a") is None

    def test_of_an_earlier_process_with_the_number_of_one_that_lives(self, tmp_path):
        self.lock(tmp_path, pid=os.getppid(), born="1")
        assert read(tmp_path / "a") is None

    @pytest.mark.parametrize("entries", [
        {"pid": 2**22 + 1, "host": "another"},
        {"pid": 0},
        {"pid": -1},
        {"pid": True},
        {"pid": "1"},
        {},
    ])  # fmt: skip
    def test_there_is_no_telling_whether_it_lives(self, tmp_path, entries):
        self.lock(tmp_path, **entries)
        with pytest.raises(CheckpointLockedError, match="delete .*a.lock if you are sure"):
            read(tmp_path / "a")
        assert (tmp_path / "a.lock").exists()

    @pytest.mark.parametrize("text", ["", "[1]", "{", "\xff"])
    def test_not_a_lock_of_ours(self, tmp_path, text):
        (tmp_path / "a.lock").write_text(text, encoding="latin-1")
        with pytest.raises(CheckpointLockedError, match="does not say who"):
            read(tmp_path / "a")

    def test_no_such_process(self, tmp_path):
        self.lock(tmp_path, pid=2**40)
        assert read(tmp_path / "a") is None

    def test_one_of_many_takes_over(self, tmp_path):
        """Many threads want the lock of a dead process at once."""
        for _ in range(20):
            self.lock(tmp_path, pid=2**40)
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

    def test_a_lock_that_was_stolen_is_not_given_back(self, tmp_path):
        with Checkpoint(tmp_path / "a"):
            (tmp_path / "a.lock").write_text("mine")
        assert (tmp_path / "a.lock").read_text() == "mine"

    def lock(self, folder, **entries):
        import platform

        if "pid" in entries:
            entries = {"host": platform.node(), "started": "then", **entries}
        (folder / "a.lock").write_text(json.dumps(entries))
