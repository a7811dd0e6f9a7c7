"""``mdpdice check``: the conformance kit in plain words, and three plays."""

from __future__ import annotations

import json

from mdpdice.testing import GAME_CHECKS

FAULTY = """
    from mdpdice import Game, d6, decide, end, go, roll
    class Endless(Game[int, str]):
        def start(self):
            return 0
        def node(self, n):
            return decide({"roll": roll(d6, lambda k: go((n + k) % 10))})
    class Forgetful(Game[int, str]):
        cap: int = 3
        def start(self):
            return 0
        def node(self, n):
            return decide({"hold": end(n), "on": n + 1})
"""


def test_a_sound_game(run, pig):
    result = run("check", pig, "-p", "cap=24", "--seed", 3)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert "parameters  cap=24 bust=nothing" in lines
    assert "ok       asked again, it answers the same (29 states asked again, all explored again)" in lines
    assert "skipped  counters keep their ranges: the game has no counters" in lines
    assert [line for line in lines if line.startswith("play ")] == [f"play {n} at random" for n in (1, 2, 3)]
    assert sum(line.startswith("total ") for line in lines) == 3
    assert run("check", pig, "-p", "cap=24", "--seed", 3).output == result.output
    assert run("check", pig, "-p", "cap=24", "--seed", 4).output != result.output


def test_json(run, pig):
    data = json.loads(run("check", pig, "--json").output)
    assert data["ok"] is True
    assert {one["outcome"] for one in data["checks"]} == {"ok", "skipped"}
    assert {one["check"] for one in data["checks"]} == set(GAME_CHECKS)
    assert len(data["plays"]) == 3


def test_a_check_that_fails(run, write):
    path = write(FAULTY)
    result = run("check", f"{path}:Endless")
    assert result.exit_code == 1
    assert "failed   every play can end" in result.output or "failed  every play can end" in result.output
    assert "no play that gets there can end" in result.output
    assert "later checks were not made" in result.output
    assert "... and so on" in result.output
    assert run("check", f"{path}:Endless", "--endless").exit_code == 0
    data = json.loads(run("check", f"{path}:Endless", "--json").output)
    assert data["ok"] is False
    assert data["checks"][-1]["check"] == "termination"
    assert data["checks"][-1]["outcome"] == "failed"


def test_a_game_that_breaks_says_so_in_check_and_play(run, write):
    result = run("check", f"{write(FAULTY)}:Forgetful")
    assert result.exit_code == 1
    assert "1 is not an edge; did you mean go(1)?" in result.output
    assert "[state 0, action 'on']" in result.output


def test_limits(run, pig):
    result = run("check", pig, "--max-states", 5)
    assert result.exit_code == 1
    assert "failed" in result.output
    assert "or a larger --max-states" in result.output
    late = run("check", "farkle", "--time-limit", "0.000001")
    assert late.exit_code == 130
    assert "Out of time" in late.output


def test_parameters_that_wait_for_attrs(run, write):
    result = run("check", f"{write(FAULTY)}:Forgetful", "-p", "cap=4")
    assert result.exit_code == 2
    assert "has no parameters; decorate the class with @attrs.frozen, and cap will be some" in result.output
