import subprocess
import sys
import time
from pathlib import Path

import attrs
import numpy as np
import pytest
from helpers.stopped_solves import Interrupting, certify_unwatched, components, forge, put, same, walk

from mdpdice import Game, decide, die, end, go, roll, solve
from mdpdice.answers.solution import Status
from mdpdice.backend import Candidate, Feature, Run
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
from mdpdice.solvers.value_iteration import ValueIteration
from mdpdice.solvers.value_iteration import solver as value_iteration
from mdpdice.solving.checkpoints import Checkpoint

HELPERS = Path(__file__).parent.parent / "helpers"


# --- solves --------------------------------------------------------------------


def chance_first():
    """No play ever has to stop, so there is no bound on the length of plays."""
    return Game.of(
        start=10,
        node=lambda n: (
            end(n // 10) if n in {0, 20} else decide({"stay": go(n), "fair": roll(die(2), lambda k: go(n + 2 * k - 3))})
        ),
    )


CASES = {
    "walk": (walk, None, 12),
    "no bounds": (chance_first, None, 12),
    "components": (components, None, 12),
    # What comes before the first stage is not kept.
    "horizon": (walk, 8, 200),
    "horizon, decisions": (components, 40, 12),
}


@pytest.fixture(autouse=True)
def _unwatched(monkeypatch):
    certify_unwatched(monkeypatch)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("every", [0, 1000])
def test_a_resumed_solve_equals_an_uninterrupted_one(case, every, tmp_path, monkeypatch):
    """Stopped after a few looks at the clock, again and again, it gives the same bits in the end."""
    monkeypatch.setattr(value_iteration, "BUDGET", 300)
    make, horizon, looks = CASES[case]
    game = make()
    whole = solve(game, solver="value-iteration", horizon=horizon)
    path = tmp_path / "a"
    legs = 0
    while True:
        try:
            cut = solve(
                game, solver="value-iteration", horizon=horizon,
                checkpoint=path, checkpoint_seconds=every, cancel=Interrupting(looks),
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


def test_a_killed_solve_goes_on_to_the_same_result(tmp_path, monkeypatch):
    from helpers import checkpoint_programs

    path = tmp_path / "a"
    # The kill comes at another place every time.
    for _ in range(2):
        command = [sys.executable, HELPERS / "checkpoint_programs.py", "solve", path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as solver:
            assert solver.stdout.readline() == "ready\n"
            time.sleep(0.3)
            solver.kill()
            rest = solver.stdout.read()
        assert "over" not in rest
        assert path.exists()
    phases = []
    game = checkpoint_programs.problem()
    resumed = solve(
        game, solver="value-iteration", checkpoint=path, progress=lambda phase, numbers: phases.append(phase)
    )
    assert "resume" in phases
    same(resumed, solve(game, solver="value-iteration"))
    assert not list(tmp_path.iterdir())


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
        with pytest.raises(CorruptFileError, match="delete it to start again"):
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
    with pytest.raises(UnsupportedError, match="cannot do: checkpoints; use policy-iteration or value-iteration"):
        solve(walk(), solver="linear-programming", checkpoint=tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_auto_takes_one_that_has_them(tmp_path):
    acyclic = Game.of(start=0, node=lambda n: decide({"on": go(n + 1), "stop": end(n)}) if n < 9 else end(7))
    assert solve(acyclic).solver == "backward-induction"
    assert solve(acyclic, checkpoint=tmp_path / "a").solver == "value-iteration"


def test_deadline(tmp_path):
    def late(phase, _):
        time.sleep(0.6 if phase == "solve" else 0)

    with pytest.raises(SolveInterrupted) as caught:
        solve(walk(), solver="value-iteration", checkpoint=tmp_path / "a", time_limit=0.5, progress=late)
    assert caught.value.checkpoint == str(tmp_path / "a")
    assert solve(walk(), solver="value-iteration", checkpoint=tmp_path / "a").proved


def test_a_limit_leaves_no_checkpoint(tmp_path):
    with pytest.raises(NotConvergedError):
        solve(walk(), solver=ValueIteration(max_sweeps=5), checkpoint=tmp_path / "a")
    assert not list(tmp_path.iterdir())


# --- checkpoints that lie --------------------------------------------------------


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


@pytest.mark.parametrize("lie", [put("value", 9.0), put("carried", 1e9), put("error", 3.0), put("counts", 0, 2)])
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
    with pytest.raises(CorruptFileError, match="delete it to start again"):
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
    """A solver that believes the checkpoint, and fails in the way that it says."""

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
    from mdpdice.solving.problem import prepare

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
