"""What other tools hand over: several reward files, several starts, few digits, numbers that come twice."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import gymnasium
import numpy as np
import pytest

from mdpdice import UntilReward, solve
from mdpdice.errors import CorruptFileError, GameError, UnsupportedError
from mdpdice.formats import (
    from_gymnasium,
    from_pymdptoolbox,
    from_quantecon,
    read_file,
    read_petsc,
    read_prism_explicit,
    write_drn,
    write_petsc,
    write_prism_explicit,
)

TWO_STARTS = {
    "m.tra": "3 2\n0 2 1\n1 2 1\n",
    "m.lab": '0="init" 1="deadlock"\n0: 0\n1: 0\n',
    "m.srew": "3 2\n0 4\n1 7\n",
}


def write(folder, texts):
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder / "m.tra"


def test_numbered_reward_files_are_structures_by_the_names_in_them(robot, tmp_path):
    for suffix in (".tra", ".lab"):
        shutil.copy(robot / f"robot{suffix}", tmp_path)
    rewards = (robot / "robot.trew").read_text()
    (tmp_path / "robot1.trew").write_text(rewards)
    (tmp_path / "robot2.srew").write_text('# Reward structure: "time"\n6 1\n0 3\n')
    (tmp_path / "robots.srew").write_text("of another model")
    model = read_prism_explicit(tmp_path / "robot.tra", exact=True)
    assert sorted(model.rewards) == ["move", "time"]
    goal = UntilReward(model.labelled("goal2"), sense="min")
    assert solve(model.network("move"), goal, solver="exact").exact() == Fraction(19, 15)
    with pytest.raises(GameError, match="move"):
        model.network()


def test_a_model_that_is_written_leaves_no_reward_file_of_an_earlier_one(tmp_path):
    path = write(tmp_path, TWO_STARTS)
    (tmp_path / "m1.srew").write_text("3 1\n0 9\n")
    (tmp_path / "m12.trew").write_text("3 1\n0 2 9\n")
    write_prism_explicit(read_prism_explicit(path, start=0).network("reward"), path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["m.lab", "m.tra", "m.trew"]


def test_a_reward_where_play_ends_is_told(tmp_path):
    path = write(tmp_path, {"m.tra": "2 1 1\n0 0 1 1\n", "m.srew": "2 1\n1 5\n"})
    (note,) = read_prism_explicit(path).network().warnings
    assert "m.srew" in note
    assert "state 1" in note


@pytest.mark.parametrize("suffix", [".tra", ".drn"])
def test_several_initial_states_want_a_start(suffix, tmp_path):
    path = write(tmp_path, TWO_STARTS)
    if suffix == ".drn":
        write_drn(read_prism_explicit(path, start=0).network(), tmp_path / "m.drn")
        text = (tmp_path / "m.drn").read_text()
        assert text.count("state 1 [7]") == 1 or "state 1" in text
        path = tmp_path / "m.drn"
        path.write_text(text.replace("state 1", "state 1 init", 1) if "state 1 [" not in text else _second(text))
    with pytest.raises(UnsupportedError, match=r"2 initial states: 0, 1; say where play starts"):
        read_file(path)
    assert solve(read_file(path, start=1).network()).value() == 7
    both = read_file(path, start={0: "1/3", 1: "2/3"}).network()
    assert solve(both, solver="exact").exact() == 6


def _second(text):
    head, rest = text.split("state 1 [", 1)
    inside, more = rest.split("]", 1)
    return f"{head}state 1 [{inside}] init{more}"


@pytest.mark.parametrize("word", ["ctmc", "POMDP", "smg", "Imdp"])
def test_other_kinds_of_models_are_named(word, tmp_path):
    with pytest.raises(UnsupportedError, match=word):
        read_prism_explicit(write(tmp_path, {"m.tra": f"{word}\n0 0 1\n"}))


def test_intervals_are_named_and_kinds_are_read_in_any_case(tmp_path):
    with pytest.raises(UnsupportedError, match="interval"):
        read_prism_explicit(write(tmp_path, {"m.tra": "2 2\n0 1 [0.4,0.6]\n1 1 1\n"}))
    model = read_prism_explicit(write(tmp_path, {"m.tra": "MDP\n0 0 1 1\n1 0 1 1\n"}))
    assert (model.kind, model.n_states) == ("mdp", 2)


def test_equal_targets_are_added(tmp_path):
    texts = {"m.tra": "3 4\n0 1 0.3\n0 2 0.4\n0 1 0.3\n1 1 1\n", "m.srew": "3 1\n1 0\n"}
    model = read_prism_explicit(write(tmp_path, texts), exact=True)
    assert list(zip(model.target.tolist(), model.probability, strict=True))[:2] == [
        (1, Fraction(3, 5)),
        (2, Fraction(2, 5)),
    ]
    tenth = [(0.1, 0, 1.0, True)] * 10
    row = from_gymnasium({0: {0: [*tenth[:5], *[(0.1, 1, 0.0, True)] * 5]}, 1: {}})
    assert solve(row, solver="exact").exact() == Fraction(1, 2)


def test_few_digits_are_read_with_a_tolerance(tmp_path):
    third = np.full((1, 3, 3), np.float32(1 / 3))
    assert solve(from_pymdptoolbox(third, np.arange(3.0), 0.9, tolerance=1e-6)).value() == pytest.approx(9)
    table = {0: {0: [(0.333333, 0, k, True) for k in range(3)]}}
    assert solve(from_gymnasium(table, tolerance=1e-5)).value() == pytest.approx(1)
    exact = from_gymnasium(table, max_denominator=3, tolerance=1e-5)
    assert solve(exact, solver="exact").exact() == 1
    with pytest.raises(GameError, match="tolerance"):
        from_gymnasium(table, max_denominator=3)
    path = write(tmp_path, {"m.tra": "3 3\n0 0 0.333333\n0 1 0.333333\n0 2 0.333333\n"})
    with pytest.raises(CorruptFileError, match="tolerance"):
        read_prism_explicit(path)
    assert read_prism_explicit(path, tolerance=1e-5, exact=True).probability[0] == Fraction(1, 3)


def test_quantecon_may_look_one_decision_ahead():
    arrays = [5.0, 10.0, -1.0], [(0.5, 0.5), (0, 1), (0, 1)]
    pairs = [0, 0, 1], [0, 1, 0]
    found = solve(from_quantecon(*arrays, 0, *pairs))
    assert [found.value(0), found.value(1)] == [10, -1]
    spread = from_quantecon(*arrays, 0, *pairs, start={0: 0.5, 1: 0.5})
    assert solve(spread).value() == 4.5
    with pytest.raises(GameError, match="s_indices holds float64"):
        from_quantecon(*arrays, 0.5, [0.0, 0.0, 1.0], pairs[1])


def test_petsc_takes_starts(tmp_path):
    network = from_pymdptoolbox([np.eye(2)[::-1]], [1.0, 3.0], 0.5)
    write_petsc(network, tmp_path / "p", tmp_path / "g")
    means = [
        solve(read_petsc(tmp_path / "p", tmp_path / "g", discount=0.5, start=s)).value() for s in (0, 1, {0: 1, 1: 1})
    ]
    assert means[2] == pytest.approx((means[0] + means[1]) / 2)


def test_a_wrapper_is_looked_through_and_decimals_are_taken():
    with pytest.raises(GameError, match="BlackjackEnv has no table"):
        from_gymnasium(gymnasium.make("Blackjack-v1"))
    table = {0: {0: [(Decimal("0.1"), 0, Decimal("0.3"), True), (Decimal("0.9"), 1, 0, True)]}, 1: {}}
    assert solve(from_gymnasium(table), solver="exact").exact() == Fraction(3, 100)


def told(*arguments):
    run = subprocess.run(
        [sys.executable, "-m", "mdpdice.cli", "import", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout, run.stderr


def test_import_takes_start_tolerance_exact_and_solver(tmp_path):
    path = write(tmp_path, TWO_STARTS | {"m.tra": "3 4\n0 2 0.333333\n0 1 0.333333\n0 0 0.333333\n1 2 1\n"})
    code, out, _ = told(
        path, "--solve", "--start", "0:1/2,1:1/2", "--tolerance", "1e-5", "--exact", "--solver", "exact", "--json"
    )
    said = json.loads(out)
    # From 0: 4 + (0 + 7 + V) / 3, so V = 9.5; from 1: 7.
    assert (code, said["value"], said["status"]) == (0, 8.25, "exact")
    assert said["notes"] == [f"{path}: probabilities are scaled to sum to 1; the worst row was 1e-06 off"]
    assert {"lower", "upper"} <= set(said)
    assert told(path, "--tolerance", "1e-5")[0] == 1
    for wrong in ("x", "0:1/0", "0:1,"):
        code, _, err = told(path, "--start", wrong)
        assert (code, "0:1/2,3:1/2" in err) == (2, True)
    (tmp_path / "m.srew").write_text("3 1\n2 5\n")
    said = json.loads(told(path, "--start", "1", "--tolerance", "1e-5", "--json")[1])
    assert "state 2" in said["notes"][0]
