"""The commands about dice that one owns: ``mdpdice dice`` and ``mdpdice best-set``, and the question to advise."""

from __future__ import annotations

import json

import pytest

import mdpdice.games.farkle.purse
from mdpdice import solve
from mdpdice.games.farkle import FarkleRace, KcdFarkle, load_dice


def test_every_die_is_listed(run):
    lines = run("dice").output.splitlines()
    assert len(lines) == 2 + len(load_dice()) == 68
    assert "kcd2/A/Lucky die               6 1 2 3 4 6                1167.5  0.41%  lowentropy/kcd2-dice" in lines
    assert "kcd2/B/Lu die *                3 3 3 3 3 6                631.4   3.75%  ShaneeexD/KCD-2-Dice-Calc" in lines
    assert "kcd2/A/Devil's head die        1 1 1 1 1 1, 1 is a joker  1175.1  3.09%  lowentropy/kcd2-dice" in lines


def test_dice_as_data(run):
    dice = {one["die"]: one for one in json.loads(run("dice", "--json").output)["dice"]}
    game = KcdFarkle(dice="6 x Odd")
    odd = dice["kcd2/A/Odd die"]
    assert odd["points"] == pytest.approx(solve(game).value(), abs=1e-9)
    assert odd["bust"] == float(game.book.rolls(6).bust)
    assert (odd["weights"], odd["joker"], odd["disagrees"]) == ([8, 2, 8, 2, 8, 2], False, [])
    assert dice["kcd2/A/Lu die"]["disagrees"] == ["kcd2/B/Lu die"]
    assert dice["kcd1/A/Alfonse's devil die"]["joker"] is True


def test_best_set(run):
    told = run("best-set", "2 x Odd,", "5 x Ordinary")
    assert told.exit_code == 0
    lines = told.output.splitlines()
    assert lines[0] == "best six  2 x kcd2/A/Odd die, 4 x kcd2/A/Ordinary die"
    assert lines[1].endswith(" (points of a turn)")
    assert lines[3] == "sets      2: 1 solved, 1 worth less"
    data = json.loads(run("best-set", "2 x Odd, 5 x Ordinary", "--json").output)
    assert data["dice"] == ["kcd2/A/Odd die"] * 2 + ["kcd2/A/Ordinary die"] * 4
    assert data["lower"] <= data["value"] <= data["upper"]
    assert data["value"] == pytest.approx(solve(KcdFarkle(dice="2 x Odd, 4 x Ordinary")).value(), rel=1e-9)
    assert {"sets", "solved", "excluded"} <= data.keys()


def test_best_set_of_a_race(run):
    told = run("best-set", "2 x Odd, 5 x Ordinary", "--race", "--target", 250, "--theirs", "6 x Lucky", "--among", 2)
    assert "(chance to win to 250 points if you begin)" in told.output
    assert "sets      2: 2 solved, 0 had fewer points in a turn, and were not raced" in told.output
    game = FarkleRace(target=250, my_dice="2 x Odd, 4 x Ordinary", their_dice="6 x Lucky")
    assert f"value     {solve(game).value():.9f}" in told.output


def test_best_set_of_wrong_dice(run):
    for dice, told in [
        ("3 x Lucky", "3 dice, "),
        ("7 x Luky die", "no die is called 'Luky die'; the nearest are kcd2/A/Lucky"),
    ]:
        result = run("best-set", dice)
        assert result.exit_code == 2
        assert told in result.output


def test_a_search_that_is_stopped_says_where_it_goes_on(run, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    file = tmp_path / "search.json"
    with monkeypatch.context() as patched:
        patched.setattr(mdpdice.games.farkle.purse, "_solved", stop)
        result = run("best-set", "2 x Odd, 5 x Ordinary", "--checkpoint", file)
    assert result.exit_code == 130
    assert f"Interrupted. {file} holds what was done; the same call goes on from there." in result.output
    assert run("best-set", "2 x Odd, 5 x Ordinary", "--checkpoint", file).exit_code == 0
    assert not file.exists()


def test_the_question_of_a_player(run):
    asked = ("-p", "target=600", "-p", "my_dice=2 x Lucky, Odd", "-p", "their_dice=3", "-p", "my_points=200")
    result = run("advise", "farkle-race", *asked, "-p", "their_points=350", "roll=1@Lucky,5@Lucky,3@Odd")
    assert result.exit_code == 0
    best = result.output.splitlines()[0]
    assert best == "Set aside the 1 (Lucky die) for 100; 100 at risk, roll 1 x Lucky die, 1 x Odd die."
    assert "(chance to win of the player to move)" in result.output


def test_both_seats(run):
    told = run("solve", "farkle-race", "-p", "target=400", "-p", "my_dice=3 x Lucky", "-p", "their_dice=3").output
    assert "your chance to win: 0.7" in told
    summary = json.loads(run("solve", "farkle-race", "-p", "target=400", "-p", "dice=3", "--json").output)["summary"]
    (line,) = summary
    begin, second = (float(part.split()[0]) for part in line.removeprefix("your chance to win: ").split(", "))
    assert begin + second == pytest.approx(1, abs=1e-9)
