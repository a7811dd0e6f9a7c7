"""A game of which little is wanted: no command needs --sense for it, and --sense says otherwise."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import helpers.few_points
import pytest
from click.testing import CliRunner
from helpers.few_points import ShutTheBox, Threes
from helpers.prism_interpreter import Program

from mdpdice import At, Network, Total, solve
from mdpdice.cli import main
from mdpdice.looks import look_of

FILE = Path(helpers.few_points.__file__)
BOX = f"{FILE}:ShutTheBox", "-p", "tiles=4"
THREES = f"{FILE}:Threes", "-p", "dice=2"
GAME = ShutTheBox(tiles=4)
LEAST, MOST = (solve(GAME, Total(sense)).value() for sense in ("min", "max"))


def answer(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_solve(run):
    data = answer(run("solve", *BOX, "--json"))
    assert (data["value"], data["sense"], data["objective"]) == (LEAST, "min", "total")
    assert "objective   minimise the total" in run("solve", *BOX).output
    data = answer(run("solve", *BOX, "--sense", "max", "--json"))
    assert (data["value"], data["sense"]) == (MOST, "max")
    assert "objective   maximise the total" in run("solve", *BOX, "--sense", "max").output
    assert "minimise discounted:9/10" in run("solve", *BOX, "--objective", "discounted:0.9").output


def test_a_chance_is_made_large(run):
    few = ("solve", *THREES, "--objective", "payoff-at-most:2", "--json")
    large, small = answer(run(*few)), answer(run(*few, "--sense", "min"))
    assert (large["sense"], small["sense"]) == ("max", "min")
    assert large["value"] > small["value"]


def test_crosscheck_and_policy(run):
    data = answer(run("crosscheck", *BOX, "--json"))
    assert (data["sense"], data["ok"]) == ("min", True)
    found = solve(GAME)
    for row in answer(run("policy", *BOX, "--table", "decisions", "--json"))["tables"][0]["rows"]:
        state = look_of(GAME).read_state(row["state"])
        assert row["value"] == found.value(state)


def test_the_best_move_comes_first(run):
    state = look_of(GAME).show_state(((1, 2, 3, 4), 4))
    data = answer(run("advise", *BOX, state, "--json"))
    values = [entry["value"] for entry in data["actions"]]
    assert values == sorted(values)
    assert len(set(values)) == 2
    assert data["action"] == data["actions"][0]["action"] == [4]
    other = answer(run("advise", *BOX, state, "--sense", "max", "--json"))
    assert other["action"] == [1, 3]


@pytest.mark.parametrize("seat", ["optimal", "lookahead:9"])
def test_a_seat_plays_what_is_best(run, seat):
    found = solve(GAME)
    moves = 0
    for seed in range(6):
        events = answer(run("play", *BOX, "--seats", seat, "--seed", seed, "--json"))["events"]
        for before, event in pairwise(events):
            if event["event"] == "choice":
                values = found.q(look_of(GAME).read_state(before["state"]))
                chosen = event["action"] if isinstance(event["action"], str) else tuple(event["action"])
                assert values[chosen] == pytest.approx(min(values.values()), abs=1e-9)
                moves += len(values) > 1
    assert moves > 3


def test_ratings(run):
    for more, best in (((), min), (("--sense", "max"), max)):
        args = [str(arg) for arg in ("play", *THREES, "--seed", 3, *more)]
        text = CliRunner().invoke(main, args, input="?\nq\n", prog_name="mdpdice").output
        thrown = tuple(map(int, re.findall(r"\d", text.partition("roll ")[2].partition("\n")[0])))
        listed = text.partition("quits):\n")[2].partition("You left")[0].splitlines()
        rated = [float(re.split(r"\s{2,}", line[2:])[1]) for line in listed]
        worth = solve(Threes(dice=2), sense=best.__name__).value(At(thrown, points=0))
        assert best(rated) == pytest.approx(worth)
        assert len(set(rated)) > 1


def test_records(run, tmp_path):
    record = tmp_path / "record.txt"
    for more, kept in (((), ""), (("--sense", "max"), "sense: max\n")):
        assert run("play", *BOX, "--seats", "optimal", "--record", record, *more).exit_code == 0
        assert ("sense:" in record.read_text()) == bool(kept)
        assert kept in record.read_text()


def test_the_tree_follows_what_is_best(run):
    state = look_of(GAME).show_state(((1, 2, 3, 4), 4))
    grown = answer(run("tree", *BOX, state, "-d", 9, "--json"))["tree"]
    assert grown["value"] == pytest.approx(solve(GAME).value(((1, 2, 3, 4), 4)), abs=1e-9)
    assert grown["best"] == ["4"]
    other = answer(run("tree", *BOX, state, "-d", 9, "--sense", "max", "--json"))["tree"]
    assert other["best"] == ["1 3"]


def test_evaluate_and_simulate_know_no_bust(run):
    for command in (("evaluate",), ("simulate", "--plays", 2000)):
        for game in (BOX, THREES, ("pig-race", "-p", "goal=20")):
            text = run(command[0], *game, *command[1:]).output
            assert "P(bust)" not in text
            assert answer(run(command[0], *game, *command[1:], "--json"))["value"] is not None
        assert "P(bust)" in run(command[0], "pig-turn", *command[1:]).output
    best = answer(run("evaluate", *BOX, "--json"))
    assert (best["value"], best["sense"]) == (pytest.approx(LEAST, abs=1e-12), "min")
    assert best["outcomes"]["p_bust"] is None
    assert best["outcomes"]["quantiles"]


def test_export_asks_for_the_least(run, tmp_path):
    for game, name in ((BOX, "box"), (THREES, "threes")):
        value = answer(run("solve", *game, "--json"))["value"]
        for more, word in (((), "min"), (("--sense", "max"), "max")):
            path = tmp_path / f"{name}.prism"
            assert run("export", *game, "--to", path, *more).exit_code == 0
            assert f'R{{"reward"}}{word}=? [ C ]' in path.read_text()
            program = Program(path).network
            found = solve(program, sense=word).value()
            assert (found == pytest.approx(value, abs=1e-9)) == (word == "min")


def test_files_keep_it(run, tmp_path):
    path, other = tmp_path / "box.npz", tmp_path / "other.npz"
    assert run("export", *BOX, "--to", path).exit_code == 0
    assert Network.load(path).sense == "min"
    data = answer(run("import", path, "--solve", "--json"))
    assert data["value"] == pytest.approx(LEAST, abs=1e-12)
    data = answer(run("import", path, "--solve", "--sense", "max", "--to", other, "--json"))
    assert data["value"] == pytest.approx(MOST, abs=1e-12)
    assert Network.load(other).sense == "max"


def test_a_drawing_shows_who_wants_little(run, tmp_path):
    path = tmp_path / "box.dot"
    for more, shape, other in (((), "invhouse", "box"), (("--sense", "max"), "box", "invhouse")):
        assert run("export", *BOX, "--to", path, "--policy", *more).exit_code == 0
        assert f"shape={shape}" in path.read_text()
        assert f"shape={other}" not in path.read_text()


def test_pictures(run, tmp_path):
    path = tmp_path / "box.svg"
    assert run("plot", *BOX, "--kind", "outcomes", "--to", path).exit_code == 0
    assert path.stat().st_size > 0
