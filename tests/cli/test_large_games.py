"""``mdpdice simulate``, ``evaluate``, ``policy`` and ``play`` on games that are too large for a network, made small."""

from __future__ import annotations

import json

import pytest

from mdpdice import explore, solve
from mdpdice.cli import limits, simulate
from mdpdice.games.knucklebones import Knucklebones
from mdpdice.games.school import School
from mdpdice.solving import lattice_route as solving_lattice

SCHOOL = ("school", "-p", "open=grade-6,pair,trash")
SMALL_BOARD = ("knucklebones", "-p", "columns=1", "-p", "rows=2")


def answer(result, status=0):
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


def near(data, value):
    return abs(data["mean"] - value) <= 4 * data["standard_error"]


@pytest.fixture
def always_on_lattices(monkeypatch):
    monkeypatch.setattr(solving_lattice, "FLAT_UP_TO_EDGES", 0)
    monkeypatch.setattr(solving_lattice, "FALL_BACK_UP_TO_EDGES", 0)


@pytest.fixture(scope="module")
def value():
    return solve(explore(School(open=SCHOOL[2].removeprefix("open=")))).value()


def test_simulated_on_the_lattice(run, always_on_lattices, value):
    best = answer(run("simulate", *SCHOOL, "--plays", 5000, "--json"))
    assert best["value"] == pytest.approx(value, abs=1e-9)
    assert near(best, value)
    assert best["errors_away"] == pytest.approx((best["mean"] - best["value"]) / best["standard_error"])
    assert answer(run("simulate", *SCHOOL, "--plays", 5000, "--json"))["mean"] == best["mean"]
    bob = answer(run("simulate", *SCHOOL, "--policy", "bob", "--plays", 500, "--json"))
    assert bob["status"] == "certified"
    assert near(bob, bob["value"])
    assert best["states"] > 1000
    wild = answer(run("simulate", *SCHOOL, "--policy", "random", "--plays", 2000, "--json"))
    assert wild["status"] == "certified"
    assert near(wild, wild["value"])
    assert wild["value"] < bob["value"] <= best["value"]


def test_a_saved_solution_is_a_policy(run, always_on_lattices, value, tmp_path):
    file = tmp_path / "school.npz"
    saved = answer(run("policy", *SCHOOL, "--save", file, "--json"))
    assert (saved["value"], saved["tables"]) == (pytest.approx(value, abs=1e-9), [])
    found = answer(run("evaluate", *SCHOOL, "--policy", file, "--json"))
    optimal = answer(run("evaluate", *SCHOOL, "--json"))
    assert found["value"] == optimal["value"] == pytest.approx(value, abs=1e-9)
    assert found["outcomes"] == optimal["outcomes"]
    assert optimal["outcomes"]["sd"] > 1
    assert "deviation  " in run("evaluate", *SCHOOL).output
    assert near(answer(run("simulate", *SCHOOL, "--policy", file, "--plays", 2000, "--json")), value)
    by_file, by_solving = (
        answer(run("play", *SCHOOL, "--seats", seat, "--seed", 3, "--json"))["events"] for seat in (file, "optimal")
    )
    assert by_file == by_solving
    other = run("evaluate", "school", "-p", "open=grade-6,full", "--policy", file)
    assert (other.exit_code, "answers another game" in other.output) == (1, True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            ("evaluate", *SCHOOL, "--policy", "alice"),
            "school has no policy 'alice'; write optimal, random, lookahead:DEPTH, bob",
        ),
        (
            ("simulate", *SCHOOL, "--policy", "alice"),
            "school has no policy 'alice'; write optimal, random, lookahead:DEPTH, bob",
        ),
        (("simulate", *SCHOOL, "--against", "bob"), "--against is for two players, and school has one"),
        (
            ("policy", *SCHOOL, "--table", "decisions"),
            "too many for a table of decisions; its tables are: first-roll; ask advise about one of them",
        ),
        (("policy", *SCHOOL, "--table", "decisions", "--csv", "--save", "x"), "too many for a table"),
    ],
)
def test_what_a_large_game_refuses(run, always_on_lattices, call, message):
    result = run(*call)
    assert result.exit_code == 2
    assert message in result.output


# --- by the rules -----------------------------------------------------------------------------------


def test_players_who_look_ahead_are_evaluated(run):
    board = ("knucklebones", "-p", "columns=2", "-p", "rows=1", "--against", "optimal", "--json")
    found, wild = (answer(run("evaluate", *board, "--policy", name))["value"] for name in ("lookahead:2", "random"))
    # The best play is worth 125/252, and on so small a board two decisions ahead are enough.
    assert found == pytest.approx(125 / 252, abs=1e-9)
    assert wild < 0.48


def test_players_who_look_ahead_are_simulated(run):
    call = ("simulate", *SMALL_BOARD, "--policy", "lookahead:2", "--against", "random", "--plays", 200)
    found = answer(run(*call, "--json"))
    assert found["plays"] == 200
    assert found["mean"] > 0.2
    assert found["value"] is found["status"] is None
    assert answer(run(*call, "--json"))["mean"] == found["mean"]
    assert "not computed, since players look ahead" in run(*call).output


def test_games_that_cannot_be_explored_are_simulated(run, monkeypatch):
    monkeypatch.setattr(limits, "SOLVE_UP_TO", 50)
    monkeypatch.setattr(simulate, "FEW_PLAYS", 400)
    wild = answer(run("simulate", *SMALL_BOARD, "--policy", "random", "--json"))
    assert wild["plays"] == 400
    assert wild["reason"].startswith("not computed, since the game has at least 217 states")
    # Exact, by exploring it after all.
    monkeypatch.undo()
    exact = answer(run("evaluate", *SMALL_BOARD, "--policy", "random", "--json"))
    assert near(wild, exact["value"])
    assert explore(Knucklebones(columns=1, rows=2)).n_states > 50


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        ((), 1, "knucklebones is too large for the policy 'optimal'; lookahead:DEPTH is played by the rules"),
        (("--policy", "lookahead:0"), 2, "lookahead:0: write lookahead:DEPTH with a positive number"),
        (
            ("--policy", "lookahead:1", "--against", "alice"),
            2,
            "has no policy 'alice'; write optimal, random, lookahead:DEPTH, ",
        ),
        (("--policy", "lookahead:1", "--horizon", "3"), 2, "lookahead knows no --horizon"),
    ],
)
def test_what_plays_by_the_rules_refuse(run, monkeypatch, more, status, message):
    monkeypatch.setattr(simulate, "MOST_STATES", 50)
    result = run("simulate", *SMALL_BOARD, *more)
    assert (result.exit_code, message in result.output) == (status, True), result.output


def test_a_game_known_to_be_too_large_is_told_at_once(run):
    result = run("solve", "knucklebones")
    assert result.exit_code == 1
    words = " ".join(result.output.split())
    assert "at least 5,756,735,376 states, more than max_states=10,000,000, so it was not explored" in words
    assert "--solver lookahead:DEPTH of 'solve' and 'advise'" in words
    told = run("info", "knucklebones").output
    assert "at least 5,756,735,376 states" in told
    assert "with --solver lookahead:DEPTH" in told


def test_one_player_has_no_opponent(run):
    result = run("simulate", "pig-turn", "--policy", "lookahead:1", "--against", "random", "--plays", 5)
    assert (result.exit_code, "--against is for two players" in result.output) == (2, True)


THROWN = """
from mdpdice import Counter, Game, d6, end, go, roll, when


class Thrown(Game[int, int]):
    throws = Counter(range(3))

    def start(self):
        return 0

    def node(self, state):
        return when(self.throws == 2, end(), roll(d6, lambda k: go(0, self.throws.add(1), reward=k)))
"""


def test_rewards_that_differ_are_kept_apart(run, always_on_lattices, tmp_path):
    file = tmp_path / "thrown.py"
    file.write_text(THROWN)
    found = answer(run("evaluate", f"{file}:Thrown", "--json"))
    assert found["outcomes"]["sd"] == pytest.approx((2 * 35 / 12) ** 0.5)
    played = answer(run("simulate", f"{file}:Thrown", "--plays", 2000, "--json"))
    assert 2 < played["sd"] < 3
    assert near(played, 7)
