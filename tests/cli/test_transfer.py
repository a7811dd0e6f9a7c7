"""The commands export and import."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

ROBOT = Path(__file__).parent.parent / "data" / "formats"


@pytest.fixture
def robot(tmp_path):
    for path in ROBOT.glob("robot.*"):
        shutil.copy(path, tmp_path)
    return tmp_path / "robot.drn"


@pytest.mark.parametrize("name", ["x.npz", "x.drn", "x.tra", "x.prism", "x.petsc", "x.dot", "x.lp", "x.mps"])
def test_a_game_is_written_in_every_format(run, tmp_path, name):
    result = run("export", "pig-turn", "-p", "cap=12", "--to", tmp_path / name, "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.output)
    assert (data["game"], data["file"]) == ("pig-turn", str(tmp_path / name))
    assert (data["states"], data["nodes"]) == (17, 39)
    assert (tmp_path / name).stat().st_size > 100


def test_counters_stay_variables_in_the_prism_language(run, tmp_path):
    result = run("export", "pig-race", "--to", tmp_path / "x.prism", "--json")
    assert result.exit_code == 0, result.output
    assert {"states": 1, "points": 10**6}.items() <= json.loads(result.output).items()
    assert "  turn : [0..99] init 0;" in (tmp_path / "x.prism").read_text()
    assert "1,000,000 points of the counters" in run("export", "pig-race", "--to", tmp_path / "x.prism").output
    # A horizon is one of networks.
    few = run("export", "farkle", "-p", "cap=300", "--horizon", 3, "--to", tmp_path / "x.prism", "--json")
    assert "points" not in json.loads(few.output)


@pytest.mark.parametrize("name", ["x.npz", "x.drn", "x.tra", "x.petsc"])
def test_what_was_exported_is_imported_with_its_value(run, tmp_path, name):
    run("export", "pig-turn", "--to", tmp_path / name)
    result = run("import", tmp_path / name, "--solve", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["value"] == pytest.approx(8.14179489372703, abs=1e-9)


def test_the_text_tells_what_a_file_holds(run, robot):
    result = run("import", robot)
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[1:5] == [
        "kind     mdp",
        "rewards  move, time, wear",
        "labels   init, hazard, goal2, goal1",
        "size     6 states, 11 nodes, 19 edges",
    ]


def test_questions_about_labels(run, robot):
    result = run("import", robot, "--solve", "--reach", "goal1", "--json")
    assert json.loads(result.output)["value"] == pytest.approx(0.5, abs=1e-9)
    result = run("import", robot, "--solve", "--reward", "move", "--until", "goal2", "--sense", "min", "--json")
    assert json.loads(result.output)["value"] == pytest.approx(19 / 15, abs=1e-9)


def test_one_file_becomes_another(run, robot, tmp_path):
    result = run("import", robot, "--reward", "move", "--discount", "9/10", "--to", tmp_path / "y.npz")
    assert result.exit_code == 0, result.output
    assert f"written  {tmp_path / 'y.npz'}" in result.output
    again = run("export", tmp_path / "y.npz", "--to", tmp_path / "y.drn")
    assert again.exit_code == 0, again.output
    one, two = (json.loads(run("import", tmp_path / f"y.{x}", "--solve", "--json").output) for x in ("npz", "drn"))
    assert one["value"] == pytest.approx(two["value"], abs=1e-9)


def test_horizon_and_policy_of_an_export(run, tmp_path):
    assert run("export", "pig-turn", "--horizon", 2, "--to", tmp_path / "x.drn").exit_code == 0
    short, long = (
        json.loads(run("import", tmp_path / "x.drn", "--solve", "--json").output)["value"],
        json.loads(run("solve", "pig-turn", "--horizon", 2, "--json").output)["value"],
    )
    assert short == pytest.approx(long, abs=1e-9)
    assert run("export", "pig-turn", "-p", "cap=6", "--policy", "--to", tmp_path / "x.dot").exit_code == 0
    assert "penwidth=3" in (tmp_path / "x.dot").read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["export", "pig-turn", "--to", "x.gambit"], 2, "formats that can are"),
        (["export", "pig-turn"], 2, "--to"),
        (["export", "pig-trun", "--to", "x.drn"], 2, "did you mean 'pig-turn'"),
        (["export", "piglet", "--to", "x.drn"], 1, "write_prism"),
        (["export", "pig-turn", "--policy", "--to", "x.drn"], 2, ".dot"),
        (["import", "missing.drn"], 2, "does not exist"),
        (["import", "robot.drn", "--reach", "goal1"], 2, "--solve"),
        (["import", "robot.drn", "--solve", "--reach", "a", "--until", "b"], 2, "ask one"),
        (["import", "robot.drn", "--solve"], 1, "'move', 'time', 'wear'"),
        (["import", "robot.drn", "--solve", "--reach", "goal9"], 2, "no label 'goal9'"),
        (["import", "robot.drn", "--reward", "fuel"], 2, "no reward structure 'fuel'"),
        (["import", "robot.drn", "--format", "npz"], 1, "seal"),
        (["import", "robot.lab"], 2, "cannot be read"),
        (["export", "robot.drn", "-p", "cap=3", "--to", "x.drn"], 2, "no parameters"),
        (["import", "robot.drn", "--discount", "2", "--reward", "move"], 2, "outside"),
    ],
)
def test_what_is_refused(run, robot, monkeypatch, arguments, status, told):
    monkeypatch.chdir(robot.parent)
    result = run(*arguments)
    assert (result.exit_code, told in result.output) == (status, True), result.output


def test_a_broken_file_names_its_line(run, robot):
    robot.write_text(robot.read_text().replace("1 : 0.1", "1 : 0.2", 1))
    result = run("import", robot)
    assert result.exit_code == 1
    assert f"{robot}, line 16 (probability)" in result.output


def test_a_page_is_written_with_its_values(run, tmp_path):
    path = tmp_path / "pig.html"
    result = run("export", "pig-turn", "-p", "cap=12", "--to", path, "--seat", "hold-at:9", "--json")
    assert result.exit_code == 0
    data = json.loads(result.output)
    assert data["game"] == "pig-turn"
    assert data["format"] == "html"
    assert data["bytes"] == path.stat().st_size
    assert data["values"] > 0 < data["rounding"] < 1e-6


def test_a_page_refuses_what_it_cannot_hold(run, tmp_path):
    for more in (["--horizon", "3"], ["--policy"], ["--seat", "bob"]):
        result = run("export", "pig-turn", "--to", tmp_path / "pig.html", *more)
        assert result.exit_code in (1, 2)
    assert run("export", "pig-turn", "--to", tmp_path / "pig.drn", "--seat", "hold-at:9").exit_code == 2
    assert not list(tmp_path.iterdir())
