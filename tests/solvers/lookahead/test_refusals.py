"""Looking ahead: what it is not asked, what a game does wrong, and the end of its time."""

from __future__ import annotations

import math
import threading
import time

import attrs
import pytest

from mdpdice import (
    Discounted,
    Dist,
    Game,
    Network,
    Status,
    Total,
    cross_check,
    d6,
    decide,
    end,
    explore,
    go,
    load_solver,
    roll,
    solve,
)
from mdpdice.backend import GameSolver, Run, Searched, available_solvers
from mdpdice.errors import CycleError, DeadEndError, GameError, PluginError, SolveInterrupted, UnsupportedError
from mdpdice.games.knucklebones import Knucklebones
from mdpdice.games.pig import PigTurn
from mdpdice.solvers.lookahead import Lookahead
from mdpdice.solvers.lookahead.expansion import Expansions
from mdpdice.solvers.lookahead.expectimax import ESTIMATE, Expectimax

# --- it is asked by name only ---------------------------------------------------------------


def test_auto_never_picks_it():
    assert "lookahead" not in available_solvers()
    assert isinstance(Lookahead(), GameSolver)
    assert load_solver("lookahead") is Lookahead
    assert solve(PigTurn()).solver != "lookahead"
    report = cross_check(PigTurn())
    assert report.ok
    assert "lookahead" not in {entry.solver for entry in report.entries}


def test_it_takes_no_network_and_no_other_question():
    network = explore(PigTurn())
    with pytest.raises(UnsupportedError, match="pass the game itself"):
        solve(network, solver="lookahead")
    with pytest.raises(UnsupportedError, match="leave out the objective"):
        solve(PigTurn(), Discounted("0.9"), solver="lookahead")
    with pytest.raises(UnsupportedError, match="the horizon"):
        solve(PigTurn(), solver="lookahead", horizon=3)
    assert solve(PigTurn(), Total(), solver="lookahead").status is Status.ESTIMATE
    assert solve(PigTurn(), Total("min"), solver="lookahead").sense == "min"
    report = cross_check(PigTurn(), solvers=["backward-induction", "lookahead"])
    assert [entry.outcome for entry in report.entries] == ["ran", "unsupported"]
    assert not report.ok


@pytest.mark.parametrize(
    "wrong", [{"depth": 0}, {"depth": 2.5}, {"depth": 10**400}, {"pruning": "much"}, {"table_size": 0}]
)
def test_parameters_out_of_range(wrong):
    with pytest.raises(GameError, match="it is "):
        Lookahead(**wrong)


# --- what the game does wrong -----------------------------------------------------------------


def ranged(node, low=-1, high=1, guess=0.0):
    class Made(Game):
        payoff_range = (low, high)

        def start(self):
            return "start"

        def node(self, state, /):
            return node(state)

        def estimate(self, state):
            return guess(state) if callable(guess) else guess

    return Made()


@pytest.mark.parametrize("guess", [1.5, -1.0001, math.nan, math.inf, "much", None])
def test_an_estimate_outside_its_range(guess):
    game = ranged(lambda state: decide({"on": go("next")}), guess=guess)
    with pytest.raises(GameError, match=r"estimate\(\) returns .* payoff_range, \[-1, 1\]") as caught:
        solve(game, solver=Lookahead(depth=1))
    assert caught.value.state == "next"


def test_an_estimate_must_be_finite_without_a_range():
    game = Game.of(start=0, node=lambda n: decide({"on": go(n + 1)}))
    assert solve(game, solver="lookahead").estimate() == 0
    object.__setattr__(game, "estimate", lambda state: math.inf)
    with pytest.raises(GameError, match="estimate"):
        solve(game, solver="lookahead")


@pytest.mark.parametrize("payoff", [1.01, -2])
def test_a_payoff_outside_its_range(payoff):
    for option in (end(payoff), go("over"), roll(d6, lambda _: end(payoff))):
        game = ranged(lambda state, o=option: end(payoff) if state == "over" else decide({"stop": o}))
        with pytest.raises(GameError, match="outside payoff_range"):
            solve(game, solver=Lookahead(depth=2))


def test_rewards_that_leave_the_range():
    game = ranged(lambda state: decide({"on": go("next", reward=1)} if state == "start" else {"on": end(1)}), high=1.5)
    engine = Expectimax(Expansions(game, 100), "star2", 100, lambda: None)
    with pytest.raises(GameError, match="payoffs and rewards"):
        engine._run(engine._visit("start", 3, ESTIMATE, -math.inf, math.inf, False))


def test_a_range_the_wrong_way_round():
    with pytest.raises(GameError, match="smaller number first"):
        solve(ranged(lambda state: end(0), low=1, high=-1), solver="lookahead")


def test_functions_that_raise():
    def broken(state):
        raise ZeroDivisionError("no")

    with pytest.raises(GameError, match=r"node\(\) raised ZeroDivisionError"):
        solve(ranged(broken), solver="lookahead")
    with pytest.raises(GameError, match=r"estimate\(\) raised ZeroDivisionError"):
        solve(ranged(lambda state: decide({"on": go("x")}), guess=broken), solver=Lookahead(depth=1))
    with pytest.raises(DeadEndError):
        solve(ranged(lambda state: decide({"on": go("x")} if state == "start" else {})), solver="lookahead")
    with pytest.raises(GameError):
        solve(ranged(lambda state: decide({"on": go("x")}) if state == "start" else 5), solver="lookahead")


def test_chance_alone_must_not_go_round():
    toss = Dist({"heads": 1, "tails": 1})
    node = {
        "start": decide({"on": go("loop")}),
        "loop": roll(toss, lambda side: end(1) if side == "heads" else go("back")),
        "back": roll(toss, lambda side: end(0) if side == "heads" else go("loop")),
    }
    with pytest.raises(CycleError) as caught:
        solve(ranged(node.__getitem__), solver="lookahead")
    assert set(caught.value.cycle) == {"loop", "back"}
    with pytest.raises(CycleError):
        solve(ranged(node.__getitem__).at("loop"), solver="lookahead")


# --- time ---------------------------------------------------------------------------------------


def test_a_stopped_search_hands_over_its_last_round():
    seen = threading.Event()

    def progress(phase, numbers):
        if phase == "look ahead" and numbers["depth"] == 2:
            seen.set()

    class Stopped(Lookahead):
        def search(self, game, run):
            return super().search(game, attrs.evolve(run, cancel=seen))

    with pytest.raises(SolveInterrupted) as caught:
        solve(Knucklebones(), solver=Stopped(depth=9), progress=progress)
    partial = caught.value.partial
    assert partial.status is Status.PARTIAL
    assert partial.details["depth"] == 2
    assert partial.estimate() == solve(Knucklebones(), solver=Lookahead(depth=2)).estimate()
    assert (partial.lower(), partial.upper()) == (-1, 1)


def test_time_limit():
    started = time.monotonic()
    with pytest.raises(SolveInterrupted):
        solve(Knucklebones(), solver=Lookahead(depth=30), time_limit=0.5)
    assert time.monotonic() - started < 20


def test_seconds_end_the_deepening():
    found = solve(Knucklebones(), solver=Lookahead(depth=30, seconds=0.0))
    assert found.status is Status.ESTIMATE
    assert found.details["depth"] == 1


def test_crashes_and_junk_are_named():
    class Junk(Lookahead):
        def search(self, game, run):
            return 5

    class Crash(Lookahead):
        def search(self, game, run):
            raise RuntimeError("no")

    with pytest.raises(PluginError, match="instead of a Searched"):
        solve(PigTurn(), solver=Junk())
    with pytest.raises(PluginError, match="raised RuntimeError"):
        solve(PigTurn(), solver=Crash())
    found = Lookahead().search(PigTurn(), Run())
    assert isinstance(found, Searched)
    assert isinstance(found.network, Network)
