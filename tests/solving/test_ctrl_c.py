import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mdpdice import die, solve
from mdpdice.answers.solution import Status
from mdpdice.backend import Candidate, Feature, solver_names
from mdpdice.cli import main as cli
from mdpdice.errors import NotConvergedError, SolveInterrupted
from mdpdice.modelling.game import Game, decide, end, go, roll
from mdpdice.solvers.value_iteration import ValueIteration
from mdpdice.solving.interruption import Interrupts

HELPERS = Path(__file__).parent.parent / "helpers"
BACKENDS = ["backward-induction", "exact", "linear-programming", "policy-iteration", "value-iteration"]
PATIENCE = 4.0
"""Seconds that an answer to Ctrl-C may take here: a second, and machines that have other work as well."""


def test_every_backend_is_tried():
    assert [name for name in solver_names() if name != "lookahead"] == BACKENDS


@pytest.mark.parametrize("name", BACKENDS)
def test_ctrl_c_gives_a_partial_solution_at_once(name):
    command = [sys.executable, HELPERS / "interrupted_program.py", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            pressed = time.time()
            process.send_signal(signal.SIGINT)
            told = json.loads(process.stdout.readline())
            process.wait(60)
        finally:
            process.kill()
    assert "finished" not in told, told
    print(f"{name}: stopped {told['over'] - pressed:.2f} s after Ctrl-C")
    assert told["over"] - pressed < PATIENCE
    assert process.returncode == 0
    assert told["partial"]
    assert told["status"] == "partial"
    if told["truth"] is not None:
        assert told["lower"] <= told["truth"] <= told["upper"]
        assert told["lower"] <= told["value"] <= told["upper"]


def test_command_line(tmp_path):
    (tmp_path / "endless.py").write_text(
        "import time\n"
        "from mdpdice import Game, decide, end, go\n"
        "class Endless(Game[int, str]):\n"
        "    def start(self): return 0\n"
        "    def node(self, n):\n"
        "        if n == 1: print('ready', flush=True)\n"
        "        time.sleep(0.001)\n"
        "        return decide({'on': go(n + 1), 'stop': end(n)})\n"
    )
    command = [sys.executable, "-m", "mdpdice.cli", "solve", f"{tmp_path / 'endless.py'}:Endless"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    assert out == ""
    assert err == "Interrupted.\n"


def test_command_line_tells_what_was_found(monkeypatch):
    from click.testing import CliRunner

    def press(*args, **kwargs):
        game = Game.of(start=0, node=lambda n: decide({"on": go(n + 1), "stop": end(n)}) if n < 9 else end(7))
        return solve(game, solver=Sleeper())

    monkeypatch.setattr("mdpdice.solve", press)
    answer = CliRunner().invoke(cli, ["solve", "pig-turn"])
    assert answer.exit_code == 130
    assert answer.stderr == "Interrupted. The value lies in [8, 8].\n"


WALK = Game.of(start=10, node=lambda n: end(n // 20) if n in {0, 20} else roll(die(2), lambda k: go(n + 2 * k - 3)))
GAME = Game.of(start=0, node=lambda n: decide({"on": go(n + 1), "stop": end(n)}) if n < 9 else end(7))


class Sleeper:
    """A solver during which Ctrl-C is pressed; how it reacts is up to the test."""

    name = "sleeper"
    features = frozenset(Feature)

    def __init__(self, *, looks=True, offers=True, press=1, finishes=False):
        self.looks, self.offers, self.press, self.finishes = looks, offers, press, finishes

    @classmethod
    def available(cls):
        return True

    def solve(self, problem, run):
        found = ValueIteration().solve(problem, run)
        run.offer(lambda: 1 / 0)
        if self.offers:
            run.offer(lambda: found)
        for _ in range(self.press):
            signal.raise_signal(signal.SIGINT)
        if self.looks:
            run.check()
        if not self.finishes:
            time.sleep(30)
        return found


class TestHandler:
    def test_seen_by_the_backend(self):
        with pytest.raises(SolveInterrupted, match="cancelled") as caught:
            solve(GAME, solver=Sleeper())
        partial = caught.value.partial
        assert partial.status is Status.PARTIAL
        assert partial.lower() <= 8 <= partial.upper() <= partial.lower() + 1e-9
        assert partial.reason == "the solve was cancelled"
        assert caught.value.checkpoint is None

    def test_not_seen_by_the_backend(self):
        began = time.perf_counter()
        with pytest.raises(SolveInterrupted, match="the solve was interrupted") as caught:
            solve(GAME, solver=Sleeper(looks=False))
        assert time.perf_counter() - began < PATIENCE
        assert caught.value.partial.lower() == pytest.approx(8)

    def test_swallowed_by_what_the_backend_calls(self):
        """As a compiler does: what it was at work on is not there then, and it says so in its own way."""

        class Swallowing(Sleeper):
            def solve(self, problem, run):
                try:
                    return super().solve(problem, run)
                except KeyboardInterrupt:
                    raise RuntimeError("no compiled object yet") from None

        with pytest.raises(SolveInterrupted, match="the solve was interrupted") as caught:
            solve(GAME, solver=Swallowing(looks=False))
        assert caught.value.partial.lower() == pytest.approx(8)

    def test_nothing_to_hand_over(self):
        with pytest.raises(SolveInterrupted) as caught:
            solve(GAME, solver=Sleeper(offers=False))
        assert caught.value.partial is None

    def test_an_answer_that_is_there_is_handed_over(self):
        with pytest.raises(SolveInterrupted) as caught:
            solve(GAME, solver=Sleeper(looks=False, finishes=True, offers=False))
        assert caught.value.partial.upper() == pytest.approx(8)

    def test_second_ctrl_c_is_an_ordinary_one(self):
        with pytest.raises(KeyboardInterrupt):
            solve(GAME, solver=Sleeper(press=2))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_the_event_is_set(self):
        cancel = threading.Event()
        with pytest.raises(SolveInterrupted):
            solve(GAME, solver=Sleeper(), cancel=cancel)
        assert cancel.is_set()

    def test_put_back(self):
        before = signal.getsignal(signal.SIGINT)
        seen = []
        watching = Game.of(start=0, node=lambda n: seen.append(signal.getsignal(signal.SIGINT)) or end(n))
        solve(watching)
        assert seen[0] is not before
        assert signal.getsignal(signal.SIGINT) is before
        with pytest.raises(SolveInterrupted):
            solve(GAME, solver=Sleeper())
        assert signal.getsignal(signal.SIGINT) is before

    def test_a_handler_of_the_program_is_left_alone(self):
        pressed = []
        before = signal.signal(signal.SIGINT, lambda *_: pressed.append(1))
        try:
            assert solve(GAME, solver=Sleeper(looks=False, finishes=True)).value() == 8
        finally:
            signal.signal(signal.SIGINT, before)
        assert pressed == [1]

    def test_a_handler_that_was_put_in_place_meanwhile_stays(self):
        def mine(*_):
            pass

        before = signal.getsignal(signal.SIGINT)
        try:
            with Interrupts(threading.Event()):
                signal.signal(signal.SIGINT, mine)
            assert signal.getsignal(signal.SIGINT) is mine
        finally:
            signal.signal(signal.SIGINT, before)

    def test_other_threads_have_none(self):
        found = []
        before = signal.getsignal(signal.SIGINT)
        game = Game.of(start=0, node=lambda n: found.append(signal.getsignal(signal.SIGINT)) or end(n))
        worker = threading.Thread(target=lambda: found.append(solve(game).value()))
        worker.start()
        worker.join()
        assert found == [before] * (len(found) - 1) + [0.0]
        assert len(found) > 1


def test_while_exploring():
    def node(n):
        if n == 100:
            os.kill(os.getpid(), signal.SIGINT)
        return decide({"on": go(n + 1), "stop": end(n)})

    with pytest.raises(SolveInterrupted, match="before a solver started") as caught:
        solve(Game.of(start=0, node=node))
    assert caught.value.partial is None


def test_cancelled_while_exploring():
    cancel = threading.Event()
    game = Game.of(start=0, node=lambda n: cancel.set() or decide({"on": go(n + 1), "stop": end(n)}))
    with pytest.raises(SolveInterrupted, match="cancelled before a solver started"):
        solve(game, cancel=cancel)


def test_while_certifying(monkeypatch):
    from mdpdice.solving import pipeline as solving

    certify, calls = solving.certify, []

    def pressed(*args, **options):
        calls.append(args)
        if len(calls) == 1:
            signal.raise_signal(signal.SIGINT)
        return certify(*args, **options)

    monkeypatch.setattr(solving, "certify", pressed)
    with pytest.raises(SolveInterrupted) as caught:
        solve(GAME, solver="backward-induction")
    assert caught.value.partial.lower() == pytest.approx(8)
    assert len(calls) == 2


def test_bounds_take_little_time(monkeypatch):
    """A stopped solve of a large or hard problem has no interval rather than a late one."""
    from mdpdice.solving import pipeline as solving

    monkeypatch.setattr(solving, "PARTIAL_SECONDS", -1)
    with pytest.raises(SolveInterrupted) as caught:
        solve(WALK, solver=Liar(value=0.0))
    assert caught.value.partial.lower() == -float("inf")
    monkeypatch.setattr(solving, "PARTIAL_SECONDS", 60)
    with pytest.raises(SolveInterrupted) as caught:
        solve(WALK, solver=Liar(value=0.0))
    assert caught.value.partial.lower() <= 0.5 <= caught.value.partial.upper() < 1000
    monkeypatch.setattr(solving, "PARTIAL_UP_TO_EDGES", 1)
    with pytest.raises(SolveInterrupted) as caught:
        solve(WALK, solver=Liar(value=0.0))
    assert caught.value.partial.upper() == float("inf")


class Liar(Sleeper):
    """A solver that is stopped with a wrong value, and with bounds that are not true."""

    def __init__(self, value):
        self.value = value

    def solve(self, problem, run):
        import numpy as np

        value = np.where(problem.kind == 0, problem.payoff, self.value)
        policy = np.full(problem.n_nodes, -1)
        bounds = {"lower": value, "upper": value}
        run.cancel.set()
        run.check(Candidate(value, policy, details=bounds))


@pytest.mark.parametrize("value", [7.0, float("nan"), float("inf")])
def test_bounds_of_a_plugin_are_not_believed(value):
    with pytest.raises(SolveInterrupted) as caught:
        solve(GAME, solver=Liar(value))
    assert caught.value.partial.lower() <= 8 <= caught.value.partial.upper()


def test_a_limit_gives_a_partial_solution_as_well():
    with pytest.raises(NotConvergedError) as caught:
        solve(WALK, solver=ValueIteration(max_sweeps=2))
    assert caught.value.partial.status is Status.PARTIAL
    assert caught.value.partial.lower() <= 0.5 <= caught.value.partial.upper()
