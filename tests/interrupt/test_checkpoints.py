import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import attrs
import numpy as np
import pytest

from mdpdice import Game, decide, die, end, go, roll, solve
from mdpdice.archives import text_member, write_archive
from mdpdice.backend import Candidate, Feature, Run
from mdpdice.checkpoints import Checkpoint
from mdpdice.errors import (
    CheckpointLockedError,
    CheckpointMismatchError,
    CorruptFileError,
    MdpDiceError,
    NotConvergedError,
    PluginError,
    SolveInterrupted,
    UnsupportedError,
)
from mdpdice.solution import Status
from mdpdice.solvers import value_iteration
from mdpdice.solvers.value_iteration import ValueIteration

HERE = Path(__file__).parent
KEY = {"problem": "a", "solver": "b"}
SIZE = 2000


def program(*args):
    command = [sys.executable, HERE / "keeper.py", *map(str, args)]
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
        with pytest.raises(
            CheckpointMismatchError, match=rf"its {field} is {KEY[field]}, not x .*Total"
        ) as caught:
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


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
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


def test_a_killed_solve_goes_on_to_the_same_result(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    import keeper

    path = tmp_path / "a"
    # The kill comes at another place every time.
    for _ in range(2):
        with program("solve", path) as solver:
            assert solver.stdout.readline() == "ready\n"
            time.sleep(0.3)
            solver.kill()
            rest = solver.stdout.read()
        assert "over" not in rest
        assert path.exists()
    phases = []
    game = keeper.problem()
    resumed = solve(
        game, solver="value-iteration", checkpoint=path, progress=lambda phase, numbers: phases.append(phase)
    )
    assert "resume" in phases
    same(resumed, solve(game, solver="value-iteration"))
    assert not list(tmp_path.iterdir())


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


# --- solves --------------------------------------------------------------------


def walk(ends=30):
    """Fair steps between two ends; slow enough to be stopped."""
    return Game.of(
        start=ends // 2,
        node=lambda n: end(n // ends) if n in {0, ends} else roll(die(2), lambda k: go(n + 2 * k - 3)),
    )


def chance_first():
    """No play ever has to stop, so there is no bound on the length of plays."""
    return Game.of(
        start=10,
        node=lambda n: (
            end(n // 10)
            if n in {0, 20}
            else decide({"stay": go(n), "fair": roll(die(2), lambda k: go(n + 2 * k - 3))})
        ),
    )


def components():
    return Game.of(
        start=(0, 5),
        node=lambda s: (
            end(3)
            if s[0] == 4
            else decide(
                {"on": go((s[0] + 1, 5)), "round": roll(die(6), lambda k: go((s[0] + (k == 6), k)), reward=1)}
            )
        ),
    )


def same(one, two):
    assert one.values.tobytes() == two.values.tobytes()
    assert one.lowers.tobytes() == two.lowers.tobytes()
    assert one.policy.tobytes() == two.policy.tobytes()
    assert (one.status, one.iterations) == (two.status, two.iterations)
    assert one.value() == two.value()


CASES = {
    "walk": (walk, None),
    "no bounds": (chance_first, None),
    "components": (components, None),
    "horizon": (walk, 40),
    "horizon, decisions": (components, 12),
}


class Interrupting(threading.Event):
    """A cancel event that is set when it was looked at so many times."""

    def __init__(self, looks):
        super().__init__()
        self.looks = looks

    def is_set(self):
        self.looks -= 1
        return self.looks < 0


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("every", [0, 1000])
def test_a_resumed_solve_equals_an_uninterrupted_one(case, every, tmp_path, monkeypatch):
    """Stopped after a few looks at the clock, again and again, it gives the same bits in the end."""
    monkeypatch.setattr(value_iteration, "BUDGET", 300)
    game, horizon = CASES[case][0](), CASES[case][1]
    whole = solve(game, solver="value-iteration", horizon=horizon)
    path = tmp_path / "a"
    legs = 0
    while True:
        try:
            cut = solve(
                game, solver="value-iteration", horizon=horizon,
                checkpoint=path, checkpoint_seconds=every, cancel=Interrupting(12),
            )  # fmt: skip
            break
        except SolveInterrupted as stop:
            legs += 1
            partial = stop.partial
        if legs > 1000:
            pytest.fail("it gets nowhere")
        if partial is not None:
            assert partial.lower() <= whole.upper()
            assert whole.lower() <= partial.upper()
    print(f"{case}: {legs} interruptions")
    assert legs >= 2
    same(whole, cut)
    assert not list(tmp_path.iterdir())


def stopped(game, path, looks=40, **options):
    with pytest.raises(SolveInterrupted) as caught:
        solve(game, checkpoint=path, checkpoint_seconds=0, cancel=Interrupting(looks), **options)
    assert caught.value.checkpoint == str(path)
    return path


@pytest.fixture
def interrupted(tmp_path, monkeypatch):
    monkeypatch.setattr(value_iteration, "BUDGET", 300)
    return stopped(walk(), tmp_path / "a", solver="value-iteration")


class TestMismatch:
    def test_game(self, interrupted):
        before = interrupted.read_bytes()
        with pytest.raises(CheckpointMismatchError, match="its problem is"):
            solve(walk(32), solver="value-iteration", checkpoint=interrupted)
        assert interrupted.read_bytes() == before

    def test_parameters(self, interrupted):
        with pytest.raises(CheckpointMismatchError, match="max_sweeps=7"):
            solve(walk(), solver=ValueIteration(max_sweeps=7), checkpoint=interrupted)

    def test_epsilon(self, interrupted):
        with pytest.raises(CheckpointMismatchError, match="tolerance"):
            solve(walk(), solver="value-iteration", checkpoint=interrupted, epsilon=1e-10)

    def test_another_backend(self, interrupted):
        with pytest.raises(CheckpointMismatchError, match="its solver is value-iteration, not keeps-nothing"):
            solve(walk(), solver=KeepsNothing(), checkpoint=interrupted)

    def test_damaged(self, interrupted):
        data = bytearray(interrupted.read_bytes())
        data[len(data) // 2] ^= 1
        interrupted.write_bytes(data)
        with pytest.raises(CorruptFileError, match="delete it to start anew"):
            solve(walk(), solver="value-iteration", checkpoint=interrupted)
        assert interrupted.read_bytes() == data

    def test_locked(self, interrupted):
        with Checkpoint(interrupted), pytest.raises(CheckpointLockedError):
            solve(walk(), solver="value-iteration", checkpoint=interrupted)


@attrs.frozen
class KeepsNothing:
    name = "keeps-nothing"
    features = frozenset(Feature)

    @classmethod
    def available(cls):
        return True

    def solve(self, problem, run):
        return ValueIteration().solve(problem, Run())


def test_a_backend_that_keeps_nothing(tmp_path):
    assert solve(walk(), solver=KeepsNothing(), checkpoint=tmp_path / "a").proved
    assert not list(tmp_path.iterdir())


def test_a_backend_without_checkpoints(tmp_path):
    with pytest.raises(UnsupportedError, match="cannot do: checkpoints; use .*value-iteration"):
        solve(walk(), solver="policy-iteration", checkpoint=tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_auto_takes_one_that_has_them(tmp_path):
    acyclic = Game.of(start=0, node=lambda n: decide({"on": go(n + 1), "stop": end(n)}) if n < 9 else end(7))
    assert solve(acyclic).solver == "backward-induction"
    assert solve(acyclic, checkpoint=tmp_path / "a").solver == "value-iteration"


def test_deadline(tmp_path):
    with pytest.raises(SolveInterrupted) as caught:
        solve(walk(), solver="value-iteration", checkpoint=tmp_path / "a", time_limit=0)
    assert caught.value.checkpoint == str(tmp_path / "a")
    assert solve(walk(), solver="value-iteration", checkpoint=tmp_path / "a").proved


def test_a_limit_leaves_no_checkpoint(tmp_path):
    with pytest.raises(NotConvergedError):
        solve(walk(), solver=ValueIteration(max_sweeps=5), checkpoint=tmp_path / "a")
    assert not list(tmp_path.iterdir())


# --- checkpoints that lie --------------------------------------------------------


def forge(path, change):
    """Change the arrays of a checkpoint and seal it again."""
    with np.load(path) as members:
        header = json.loads(members["header"].tobytes())
        stores = {name: members[name].copy() for name in ("ints", "floats")}
    at, views = {"ints": 0, "floats": 0}, {}
    for name, store, shape in header["arrays"]:
        size = int(np.prod(shape))
        views[name] = stores[store][at[store] : at[store] + size].reshape(shape)
        at[store] += size
    change(views)
    write_archive(path, {"header": text_member(header), **stores})


def put(name, value, at=...):
    def change(views):
        views[name][at] = value

    return change


LIES = {
    "values": put("value", 1e6),
    "huge values": put("value", 1.7e308),
    "negative values": put("value", -3.0),
    "policy": put("policy", -1),
    "lengths": put("w", 0.0),
    "negative lengths": put("w", -1.0),
    "huge lengths": put("w", 1e300),
    "windows": put("at", 1 << 40, slice(4, 9)),
    "unsettled": put("at", 5, 3),
    "all components done": put("at", 0, 0),
    "sweeps of the component": put("at", 1 << 50, 1),
    "moves": put("number", 1e9),
    "no moves": put("number", 0.0),
    "room": put("room", 1e200),
    "limit": put("counts", 0, 2),
    "measured": put("counts", 1, 3),
    "not measured": put("counts", 0, 3),
    "gave up": put("counts", 1, 4),
    "sweeps": put("counts", 12345, 0),
}


@pytest.mark.parametrize("game", [walk, chance_first, components])
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("looks", [6, 25])
def test_a_lying_checkpoint_costs_time_only(lie, game, looks, tmp_path, monkeypatch):
    monkeypatch.setattr(value_iteration, "BUDGET", 300)
    truth = solve(game(), solver="value-iteration")
    path = tmp_path / "a"
    try:
        solve(game(), solver="value-iteration", checkpoint=path, cancel=Interrupting(looks))
    except SolveInterrupted:
        assert path.exists()
    else:
        looks = 6
        stopped(game(), path, looks=6, solver="value-iteration")
    forge(path, LIES[lie])
    monkeypatch.setattr(value_iteration, "BUDGET", 1 << 20)
    found = solve(game(), solver=ValueIteration(), checkpoint=path)
    assert found.status is truth.status
    assert found.lower() <= truth.upper()
    assert truth.lower() <= found.upper()
    assert found.value() == pytest.approx(truth.value(), abs=1e-6)


@pytest.mark.parametrize(
    "lie", [put("value", 9.0), put("carried", 1e9), put("error", 3.0), put("counts", 0, 2)]
)
def test_a_lying_checkpoint_with_a_horizon(lie, tmp_path, monkeypatch):
    monkeypatch.setattr(value_iteration, "BUDGET", 300)
    truth = solve(walk(), solver="value-iteration", horizon=20)
    path = stopped(walk(), tmp_path / "a", solver="value-iteration", horizon=20)
    forge(path, lie)
    found = solve(walk(), solver="value-iteration", horizon=20, checkpoint=path)
    assert found.status is truth.status
    assert found.value() == pytest.approx(truth.value(), abs=1e-9)


OUT_OF_RANGE = {
    "policy": put("policy", 10**15, 3),
    "policy, negative": put("policy", -2, 3),
    "edge of another node": put("policy", 0, 3),
    "moves": put("moves", 10**15, 3),
    "component": put("at", 1000, 0),
    "negative component": put("at", -1, 0),
    "window": put("at", 1 << 60, 5),
    "counts": put("counts", -1, 0),
    "value": put("value", np.inf, 1),
    "value, nan": put("value", np.nan, 1),
    "w": put("w", -np.inf, 1),
    "room": put("room", np.inf, (0, 1)),
    "aim": put("number", -1.0, 4),
}


@pytest.mark.parametrize("lie", OUT_OF_RANGE)
def test_numbers_that_lead_out_of_the_arrays_are_refused(lie, interrupted):
    forge(interrupted, OUT_OF_RANGE[lie])
    with pytest.raises(CorruptFileError, match="delete it to start anew"):
        solve(walk(), solver="value-iteration", checkpoint=interrupted)


@pytest.mark.parametrize("lie", [
    put("counts", 22, 0), put("counts", -1, 0), put("policy", 10**15), put("value", np.inf), put("carried", np.inf),
])  # fmt: skip
def test_numbers_that_lead_out_of_the_stages_are_refused(lie, tmp_path, monkeypatch):
    monkeypatch.setattr(value_iteration, "BUDGET", 300)
    path = stopped(walk(), tmp_path / "a", solver="value-iteration", horizon=20)
    forge(path, lie)
    with pytest.raises(CorruptFileError, match="out of range"):
        solve(walk(), solver="value-iteration", horizon=20, checkpoint=path)


class Gullible(KeepsNothing):
    """A back-end that believes the checkpoint, and fails in the way that it says."""

    def solve(self, problem, run):
        state = {"way": np.array([0])}
        if run.resume(state):
            way = int(state["way"][0])
            if way == 1:
                raise RuntimeError
            if way == 2:
                raise NotConvergedError("never", iterations=1, width=1.0)
            if way == 3:
                return Candidate(np.full(problem.n_nodes, np.nan), np.full(problem.n_nodes, -1))
            if way == 4:
                found = ValueIteration().solve(problem, Run())
                return attrs.evolve(found, value=found.value + 1.0)
        return ValueIteration().solve(problem, Run())


@pytest.mark.parametrize("way", [0, 1, 2, 3, 4])
def test_what_a_checkpoint_has_led_to_is_done_again(way, tmp_path):
    path = tmp_path / "a"
    game = walk()
    from mdpdice.solving import prepare

    with Checkpoint(path) as file:
        file.open(
            {
                "problem": prepare(game).canonical.digest,
                "solver": "keeps-nothing",
                "parameters": "Gullible()",
                "tolerance": "1e-09",
            },
            {},
        )
        file.save({"way": np.array([way])}, 1)
    assert solve(game, solver=attrs.frozen(Gullible)(), checkpoint=path).status is Status.CERTIFIED
    assert not list(tmp_path.iterdir())


def test_failures_of_a_fresh_solve_are_told(tmp_path):
    class Broken(KeepsNothing):
        def solve(self, problem, run):
            raise RuntimeError

    with pytest.raises(PluginError):
        solve(walk(), solver=Broken(), checkpoint=tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_errors_have_the_common_base():
    assert issubclass(CheckpointLockedError, MdpDiceError)
    assert issubclass(CheckpointMismatchError, MdpDiceError)
