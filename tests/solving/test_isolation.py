import os
import signal
import threading
import time
from pathlib import Path

import attrs
import pytest
from helpers import hanging_solvers

from mdpdice import Game, decide, end, go, isolate, solve
from mdpdice.answers.solution import Status
from mdpdice.crosscheck.report import cross_check
from mdpdice.errors import GameError, NotConvergedError, PluginError, SolveInterrupted, UnsupportedError
from mdpdice.solvers.value_iteration import ValueIteration

GAME = Game.of(start=0, node=lambda n: decide({"on": go(n + 1), "stop": end(n)}) if n < 9 else end(7))


def isolated(what, more=None, **limits):
    return isolate(hanging_solvers.Misbehaving(what, more), **limits)


def test_answer():
    solution = solve(GAME, solver=isolated("well"))
    assert solution.value() == pytest.approx(8)
    assert solution.action(8) == "stop"
    assert solution.solver == "rogue"
    details = dict(solution.details)
    assert details.pop("pid") != os.getpid()
    details.pop("called")
    assert details == {"note": "text", "number": 0.5}


def test_every_kind_of_backend():
    assert solve(GAME, solver=isolate("backward-induction")).proved
    assert solve(GAME, solver=isolate(ValueIteration(max_sweeps=500)), horizon=3).value() == pytest.approx(2)
    assert solve(GAME, solver=isolate(hanging_solvers.Plain())).proved
    assert solve(GAME, solver=isolate(hanging_solvers.Plain(1.0))).status is Status.UNCERTIFIED


def test_states_need_no_text():
    @attrs.frozen
    class Mine:
        number: int

    one, two = Mine(1), Mine(2)
    game = Game.of(start=one, node=lambda s: decide({two: end(3), one: go(two)}) if s == one else end(2))
    solution = solve(game, solver=isolate("value-iteration"))
    assert solution.action(one) == two


@pytest.mark.parametrize(
    ("what", "phase", "message"),
    [
        ("leave", "solve", "process of solver 'rogue' ended with status 3 without an answer: that was it"),
        ("crash", "solve", "process of solver 'rogue' was ended by signal 11 without an answer"),
        ("raises", "solve", "solver 'rogue' raised ValueError: no"),
        ("junk", "answer", "solver 'rogue' returned 42 instead of a Candidate"),
        ("integers", "answer", "instead of a Candidate with arrays of float64"),
        ("short", "answer", "its value is not a float64 array of shape"),
    ],
)
def test_faults(what, phase, message):
    with pytest.raises(PluginError, match=message) as caught:
        solve(GAME, solver=isolated(what))
    assert (caught.value.name, caught.value.phase) == ("rogue", phase)


def test_out_of_memory():
    with pytest.raises(PluginError, match=r"raised \w*MemoryError"):
        solve(GAME, solver=isolated("eat", max_bytes=4 << 30))


def test_hang():
    began = time.monotonic()
    with pytest.raises(PluginError, match="'rogue' was still running after time_limit=1 s") as caught:
        solve(GAME, solver=isolated("hang", time_limit=1))
    assert caught.value.limit == 1
    assert time.monotonic() - began < 8


def test_wrong_answers_are_not_believed():
    assert solve(GAME, solver=isolated("wrong")).status is Status.UNCERTIFIED


def test_limits_and_refusals_pass_through():
    with pytest.raises(NotConvergedError, match="not yet") as caught:
        solve(GAME, solver=isolated("limit"))
    assert caught.value.iterations == 5
    assert caught.value.width == float("inf")
    assert caught.value.partial.lower() == pytest.approx(8)
    with pytest.raises(UnsupportedError, match="not I"):
        solve(GAME, solver=isolated("unable"))


def test_deadline_of_a_backend_that_looks():
    with pytest.raises(SolveInterrupted, match="deadline") as caught:
        solve(GAME, solver=isolated("listen"), time_limit=6)
    assert caught.value.partial.upper() == pytest.approx(8)


@pytest.mark.parametrize("how", ["time_limit", "cancel", "ctrl-c"])
def test_a_backend_that_does_not_look_is_ended(how):
    began = time.monotonic()
    cancel = threading.Event()
    timer = threading.Timer(2, {"cancel": cancel.set, "ctrl-c": press}.get(how, str))
    timer.start()
    with pytest.raises(SolveInterrupted) as caught:
        solve(GAME, solver=isolated("hang"), time_limit=2 if how == "time_limit" else None, cancel=cancel)
    timer.join()
    assert caught.value.partial is None
    assert time.monotonic() - began < 7


def press():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def test_its_children_are_ended_too(tmp_path):
    with pytest.raises(PluginError):
        solve(GAME, solver=isolated("family", str(tmp_path / "pid"), time_limit=5))
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except FileNotFoundError:
            return
        time.sleep(0.05)
    pytest.fail("a process of the solver is still there")


class TestRefused:
    def test_class_that_cannot_be_imported(self):
        class Local(ValueIteration):
            name = "local"

        with pytest.raises(UnsupportedError, match="'local' cannot be isolated: move its class .*Local to a module"):
            solve(GAME, solver=isolate(Local()))

    def test_class_of_the_program_itself(self, monkeypatch):
        monkeypatch.setattr(hanging_solvers.Misbehaving, "__module__", "__main__")
        with pytest.raises(UnsupportedError, match="move its class Misbehaving to a module"):
            solve(GAME, solver=isolated("well"))

    @pytest.mark.parametrize("more", [(1, 2), {1: 2}, object(), float("nan"), print])
    def test_parameters_that_are_not_data(self, more):
        with pytest.raises(UnsupportedError, match="its parameter more="):
            solve(GAME, solver=isolated("well", more))

    @pytest.mark.parametrize("limits", [{"time_limit": 0}, {"max_bytes": -1}])
    def test_limits(self, limits):
        with pytest.raises(GameError, match="it is a number above 0"):
            isolate("value-iteration", **limits)

    def test_checkpoints(self, tmp_path):
        with pytest.raises(UnsupportedError, match="checkpoints"):
            solve(GAME, solver=isolate("value-iteration"), checkpoint=tmp_path / "a")


def test_no_files_are_left(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    solve(GAME, solver=isolated("well"))
    with pytest.raises(PluginError):
        solve(GAME, solver=isolated("leave"))
    assert not list(tmp_path.iterdir())


def test_cross_check_takes_it():
    report = cross_check(GAME, solvers=[isolate("value-iteration"), "backward-induction"])
    assert report.ok


def test_frozen():
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        isolate("value-iteration").time_limit = 3
