"""``mdpdice crosscheck``: exit status 0 only if the solvers agree and are certified."""

from __future__ import annotations

import json
import warnings

import pytest

TWO = "backward-induction,value-iteration"


def answer(result, status):
    assert result.exit_code == status, result.output
    return json.loads(result.stdout, parse_constant=pytest.fail)


def test_agreement(run, pig):
    data = answer(run("crosscheck", pig, "-p", "cap=30", "--solvers", TWO, "--json"), 0)
    assert data["ok"] is True
    assert data["parameters"] == {"cap": 30, "bust": "nothing"}
    assert [entry["status"] for entry in data["solvers"]] == ["certified", "certified"]
    assert data["independent"] == 2
    text = run("crosscheck", pig, "--solvers", TWO.replace(",", ", "))
    assert text.exit_code == 0
    assert text.output.splitlines()[-1] == "agree and certified"


def test_all_solvers_by_default(run):
    data = answer(run("crosscheck", "farkle", "-p", "cap=500", "-p", "dice=4", "--json"), 0)
    ran = {entry["solver"] for entry in data["solvers"] if entry["outcome"] == "ran"}
    assert {"backward-induction", "value-iteration", "linear-programming"} <= ran


def test_a_horizon(run, pig):
    data = answer(run("crosscheck", pig, "--horizon", 3, "--solvers", TWO, "--json"), 0)
    assert data["horizon"] == 3


def test_one_solver_is_no_cross_check(run, pig):
    data = answer(run("crosscheck", pig, "--solvers", "backward-induction", "--json"), 1)
    assert data["ok"] is False
    assert data["problems"]


def test_a_wrong_back_end_is_caught(run, pig, plug_in):
    data = answer(run("crosscheck", pig, "--solvers", f"{TWO},too-high", "--json"), 1)
    assert any("too-high" in problem for problem in data["problems"])
    text = run("crosscheck", pig, "--solvers", f"{TWO},too-high")
    assert text.exit_code == 1
    assert "NOT OK" in text.output


@pytest.mark.parametrize("solvers", ["magic", "", "backward-induction,", "auto", "backward-induction;value-iteration"])
def test_wrong_names_are_wrong_usage(run, pig, solvers):
    assert run("crosscheck", pig, "--solvers", solvers).exit_code == 2


def test_an_infinite_value_is_not_agreement(run):
    result = run("crosscheck", "farkle", "-p", "dice=one=1:0:0:0:0:0", "-p", "cap=none")
    assert result.exit_code == 1
    assert "without a bust" in result.output


def test_a_broken_plug_in_is_told_and_left_out(run, pig, plug_in):
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        result = run("crosscheck", pig, "-p", "cap=10")
    assert "Warning: solver 'absent' could not be loaded" in result.output
    assert "too-high is uncertified" in result.output
    assert result.exit_code == 1
