"""``mdpdice solve``: values, JSON, exit statuses."""

from __future__ import annotations

import json
import re
import threading

import pytest

from mdpdice import solve
from mdpdice.cli.catalogue import find_game
from mdpdice.errors import SolveInterrupted
from mdpdice.solvers.value_iteration import solver as value_iteration

SCHEMA = {
    "values_digest": (str, type(None)),
    "game": str,
    "parameters": dict,
    "horizon": (int, type(None)),
    "objective": str,
    "sense": str,
    "value": (float, str, type(None)),
    "estimate": (float, str),
    "lower": (float, str),
    "upper": (float, str),
    "width": (float, str),
    "status": str,
    "reason": str,
    "proof": str,
    "solver": (str, type(None)),
    "seconds": float,
    "states": int,
    "edges": int,
    "ranks": int,
    "notes": list,
    "summary": list,
}


def answer(result, status=0):
    assert result.exit_code == status, result.output
    data = json.loads(result.stdout, parse_constant=pytest.fail)  # NaN and Infinity are no JSON
    assert set(data) == set(SCHEMA)
    for key, kind in SCHEMA.items():
        assert isinstance(data[key], kind), key
    return data


@pytest.mark.parametrize(("horizon", "value"), [(1, 399.1126543210), (2, 505.5102004466), (3, 547.3522341444)])
def test_farkle_by_horizon(run, horizon, value):
    data = answer(run("solve", "farkle", "-p", "cap=6000", "--horizon", horizon, "--json"))
    assert data["lower"] - 5e-11 <= value <= data["upper"] + 5e-11  # the digits that were published
    assert data["lower"] <= data["value"] <= data["upper"]
    assert data["upper"] - data["lower"] < 1e-9
    assert data["value"] == data["estimate"]
    assert data["status"] == "certified"
    assert data["horizon"] == horizon
    assert data["states"] > 1000 < data["edges"]
    assert data["parameters"] == {
        "rules": "kcd",
        "dice": 6,
        "cap": 6000,
        "at_cap": "stop",
        "hot_dice": True,
        "defects": "none",
    }


def test_parameters_reach_the_game(run):
    data = answer(run("solve", "farkle", "-p", "hot_dice=false", "--json", "--solver", "backward-induction"))
    assert data["value"] == pytest.approx(509.0500146359, abs=1e-9)
    assert data["parameters"]["hot_dice"] is False
    assert data["solver"] == "backward-induction"


def test_no_cap_is_null_in_json_and_explained(run):
    data = answer(run("solve", "farkle", "-p", "cap=none", "-p", "dice=2", "--json"))
    assert data["parameters"]["cap"] is None
    assert any("banking is proved optimal" in note for note in data["notes"])


def test_dice_by_name(run):
    data = answer(run("solve", "farkle", "-p", "dice=Odd die, Ordinary die", "-p", "cap=300", "--json"))
    assert data["parameters"]["dice"] == "Odd die, Ordinary die"


SURE = "-p", "dice=one=1:0:0:0:0:0", "-p", "cap=none"


def test_infinite_value(run):
    data = answer(run("solve", "farkle", *SURE, "--json"))
    assert [float(data[key]) for key in ("value", "lower", "upper")] == [float("inf")] * 3
    assert "without a bust" in data["reason"]
    text = run("solve", "farkle", *SURE)
    assert text.exit_code == 0
    assert "inf" in text.output
    assert text.output.count("without a bust") == 1


def test_text(run, pig):
    result = run("solve", pig, "-p", "cap=40", "--horizon", 2)
    assert result.exit_code == 0
    rows = dict(line.split("  ", 1) for line in result.output.splitlines())
    assert rows["game"].endswith("Pig: One turn of Pig: the state is the points at risk.")
    assert rows["parameters"].strip() == "cap=40 bust=nothing"
    assert rows["horizon"].strip() == "at most 2 decisions"
    assert rows["status"].strip() == "certified"
    assert {"value", "interval", "solver", "size", "time"} <= set(rows)


def test_what_is_not_proved_has_no_value(run, pig, plug_in):
    data = answer(run("solve", pig, "--solver", "too-high", "--json"), status=1)
    assert data["value"] is None
    assert data["status"] == "uncertified"
    assert data["reason"]
    right = answer(run("solve", pig, "--json"))
    assert data["estimate"] == pytest.approx(right["value"] + 0.1)
    text = run("solve", pig, "--solver", "too-high")
    assert text.exit_code == 1
    assert "not proved" in text.output


def test_epsilon(run, pig):
    assert answer(run("solve", pig, "--epsilon", "1e-3", "--json"))["status"] == "certified"
    named = ("--solver", "backward-induction")
    assert answer(run("solve", pig, "--epsilon", "1e-300", "--json", *named), status=1)["value"] is None
    found = answer(run("solve", pig, "--epsilon", "1e-300", "--json"))
    assert found["status"] == "exact"
    assert found["notes"][0].startswith("backward-induction gave no proof (")
    for wrong in ("0", "-1", "nan", "inf", "x"):
        assert run("solve", pig, "--epsilon", wrong).exit_code == 2


def test_horizon(run, pig, write):
    assert answer(run("solve", pig, "--horizon", 0, "--json"))["value"] == 0
    for wrong in ("-1", "x", "1.5"):
        assert run("solve", pig, "--horizon", wrong).exit_code == 2
    # Nobody decides here, so no horizon cuts anything off.
    path = write(
        """
        from mdpdice import Game, end, pass_to
        class Duel(Game[int, str]):
            total = 1
            def start(self):
                return 2
            def node(self, n):
                return end(1) if n == 0 else pass_to(n - 1)
        """
    )
    assert answer(run("solve", f"{path}:Duel", "--json"))["value"] == 1
    assert answer(run("solve", f"{path}:Duel", "--horizon", 3, "--json"))["value"] == 1


def test_unknown_solver(run, pig):
    result = run("solve", pig, "--solver", "magic")
    assert result.exit_code == 2
    assert "backward-induction" in result.output


def test_a_solver_that_cannot_do_it(run, write):
    path = write(
        """
        from mdpdice import Game, chance, d6, end, go, roll
        class Again(Game[int, str]):
            def start(self):
                return 0
            def node(self, n):
                return roll(d6, lambda k: end(k) if k > 1 else go(0))
        """
    )
    result = run("solve", f"{path}:Again", "--solver", "backward-induction")
    assert result.exit_code == 1
    assert "cycle" in result.output
    assert result.output.startswith("Error: ")


def test_errors_of_the_game_are_told_with_their_line(run, write):
    path = write(
        """
        from mdpdice import Game
        class Broken(Game[int, str]):
            def start(self):
                return 0
            def node(self, n):
                return {}["key"]
        """
    )
    result = run("solve", f"{path}:Broken", "--json")
    assert result.exit_code == 1
    assert "KeyError" in result.output
    assert "(mine.py, line 7)" in result.output


def test_notes_and_summary_are_told(run, write):
    path = write(
        """
        from mdpdice import Game, end
        from mdpdice.looks import Look
        class Talker(Game[int, str]):
            def start(self):
                return 0
            def node(self, n):
                return end(5)
        class TalkerLook(Look[Talker], of=Talker):
            def notes(self):
                return ["a remark"]
            def summary(self, solution):
                return [f"worth {solution.value():g}"]
        """
    )
    data = answer(run("solve", f"{path}:Talker", "--json"))
    assert data["notes"] == ["a remark"]
    assert data["summary"] == ["worth 5"]
    lines = run("solve", f"{path}:Talker").output.splitlines()
    assert lines[-3:] == ["note: a remark", "", "worth 5"]


def test_repaired_probabilities_are_noted(run, write):
    path = write(
        """
        from mdpdice import Dist, Game, end, roll
        class Rounded(Game[int, str]):
            def start(self):
                return 0
            def node(self, n):
                return roll(Dist({1: 0.3333333333, 2: 0.6666666667 - 1e-13}), end)
        """
    )
    data = answer(run("solve", f"{path}:Rounded", "--json"))
    assert any("normalised" in note for note in data["notes"])


WALK = """
from mdpdice import Game, die, end, go, roll

class Walk(Game[int, str]):
    def start(self):
        return 15

    def node(self, n):
        return end(n // 30) if n in {0, 30} else roll(die(2), lambda k: go(n + 2 * k - 3))
"""


def test_a_stopped_solve_goes_on_from_its_checkpoint(run, write, tmp_path, monkeypatch):
    monkeypatch.setattr(value_iteration, "BUDGET", 300)
    name, path = f"{write(WALK, 'walk.py')}:Walk", tmp_path / "kept"
    stop, calls = threading.Event(), []

    def progress(phase, numbers):
        calls.append(phase)
        if calls.count("solve") == 3:
            stop.set()

    with pytest.raises(SolveInterrupted):
        solve(find_game(name)(), solver="value-iteration", checkpoint=path, cancel=stop, progress=progress)
    kept = {file.name: file.read_bytes() for file in path.iterdir()}
    options = ("solve", name, "--solver", "value-iteration", "--json", "--checkpoint", path)
    other = run(*options, "--epsilon", "1e-10")
    assert other.exit_code == 1
    assert "its tolerance is" in other.output
    assert {file.name: file.read_bytes() for file in path.iterdir()} == kept
    data = json.loads(run(*options).stdout)
    assert data["value"] == pytest.approx(0.5)
    assert data["resumed_layers"] == 1
    assert data["values_digest"] == answer(run(*options[:-2]))["values_digest"]


def test_a_checkpoint_changes_nothing(run, pig, tmp_path):
    path = tmp_path / "kept"
    plain = run("solve", pig, "--solver", "value-iteration", "--json")
    kept = run("solve", pig, "--solver", "value-iteration", "--json", "--checkpoint", path)
    for key in ("value", "lower", "upper", "values_digest"):
        assert json.loads(plain.stdout)[key] == json.loads(kept.stdout)[key]
    refused = run("solve", pig, "--solver", "linear-programming", "--checkpoint", tmp_path / "other")
    assert refused.exit_code == 1
    assert re.search(r"checkpoints; use .*value-iteration", " ".join(refused.output.split()))
