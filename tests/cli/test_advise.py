"""``mdpdice advise``: the best action and the value of every action."""

from __future__ import annotations

import json

import pytest


def answer(result, status=0):
    assert result.exit_code == status, result.output
    return json.loads(result.stdout, parse_constant=pytest.fail)


def test_farkle(run):
    data = answer(
        run("advise", "farkle", "-p", "cap=1000", "-p", "dice=3", "roll=1,1,5", "points=300", "--json")
    )
    assert data["state"] == "roll=1,1,5 points=300"
    assert data["action"] == data["actions"][0]["action"]
    assert {"Bank": {"points": 250}} in [entry["action"] for entry in data["actions"]]
    values = [entry["value"] for entry in data["actions"]]
    assert values == sorted(values, reverse=True)
    assert data["value"] == pytest.approx(values[0])
    assert data["lower"] <= data["value"] <= data["upper"]
    assert data["ties"] == [data["action"]]
    assert data["status"] == "certified"


def test_mixed_dice_are_written_with_spaces(run):
    options = ("-p", "dice=Odd die,Odd die,Lucky die", "-p", "cap=400")
    data = answer(
        run("advise", "farkle", *options, *["roll=1@Odd", "die,5@Lucky", "die", "points=50"], "--json")
    )
    assert data["state"] == "roll=1@Odd die,5@Lucky die points=50"
    assert {"Keep": {"points": 100, "dice": [0, 1]}} in [entry["action"] for entry in data["actions"]]
    text = run("advise", "farkle", *options, "roll=1@Odd die,5@Lucky die points=50")
    assert "Keep(points=100, dice=(0, 1))" in text.output


@pytest.mark.slow
def test_position_of_another_public_solver(run):
    """The README of github.com/phlip9/kcddice, with the wiki's decimals and a maximum of 4000."""
    dice = "Ordinary die," * 3 + "hk=368:105:105:105:105:212," * 2 + "kcd1/Odd die"
    roll = "roll=1@Ordinary die,1@hk,1@hk,5@Ordinary die,5@Ordinary die,5@Odd die"
    options = ("-p", f"dice={dice}", "-p", "cap=4000", "-p", "at_cap=clip")
    data = answer(run("advise", "farkle", *options, *roll.split(), "--json"))
    values = [round(entry["value"], 1) for entry in data["actions"]]
    assert values[0] == 2120.6
    assert {970.2, 953.4, 902.5, 687.7, 660.3} <= set(values)


def test_horizon(run, pig):
    values = [answer(run("advise", pig, 10, "--horizon", n, "--json"))["value"] for n in (1, 2, 20)]
    assert values[0] == 10
    assert values[0] < values[1] < values[2]
    none_left = answer(run("advise", pig, 10, "--horizon", 0, "--json"))
    assert none_left["action"] is None
    assert none_left["notes"] == ["no decision is left"]


def test_text(run, pig):
    result = run("advise", pig, "12")
    assert result.exit_code == 0
    assert "best action  hold" in result.output or "best action  roll" in result.output
    table = result.output.partition("The value of every action")[2].splitlines()[1:]
    assert len(table) == 2
    assert table[0].startswith("* ")
    assert table[1].startswith("  ")
    assert "  -" in table[1]  # how far behind it is


@pytest.mark.parametrize("state", ["1", "5000", "what", '{"a"', "[1, 2]", '{"Unknown": {}}'])
def test_states_that_do_not_exist(run, pig, state):
    result = run("advise", pig, state)
    assert result.exit_code == 2
    if "{" not in state:
        assert "cannot be reached" in result.output
        assert "States like it:\n" in result.output


def test_states_of_farkle_that_cannot_be_read(run):
    small = ("-p", "dice=2", "-p", "cap=300")
    for words in (["hello"], ["roll=1,7"], ["roll=2,3"], ["roll=1,1,1"], ["roll=1@Odd die"]):
        assert run("advise", "farkle", *small, *words).exit_code == 2
    result = run("advise", "farkle", *small, "roll=1,5", "points=77")
    assert result.exit_code == 2
    assert "roll=1,5 points=" in result.output


def test_a_state_is_needed(run, pig):
    assert run("advise", pig).exit_code == 2


def test_a_read_state_that_raises_is_no_crash(run, write):
    path = write(
        """
        from mdpdice import Game, end
        class Raising(Game[int, str]):
            def start(self):
                return 0
            def node(self, n):
                return end()
            def read_state(self, text):
                return int(text)
        class Unhashable(Raising):
            def read_state(self, text):
                return [text]
        """
    )
    for name in ("Raising", "Unhashable"):
        result = run("advise", f"{path}:{name}", "zero")
        assert result.exit_code == 2
        assert "could not be read as a state" in result.output


def test_where_nobody_decides(run, pig):
    data = answer(run("advise", "farkle", "-p", "cap=300", "dice=6", "--json"))
    assert data["action"] is None
    assert data["actions"] == []
    assert data["value"] > 0
    result = run("advise", "farkle", "-p", "cap=300", "dice=6")
    assert result.exit_code == 0
    assert "nobody decides" in result.output
    assert run("advise", "farkle", "-p", "dice=one=1:0:0:0:0:0", "-p", "cap=none", "roll=1").exit_code == 1


GAMES = """
    from fractions import Fraction
    from mdpdice import Game, Node, decide, end, go

    class Nim(Game[int, int]):
        '''Take one or two; who takes the last loses.'''
        def start(self) -> int:
            return 4
        def node(self, n: int) -> Node[int, int]:
            if n <= 0:
                return end(1 if n == 0 else -1)
            return decide([(k, go(n - k)) for k in (1, 2)], player=n % 2)

    class Mirror(Game[int, Fraction]):
        '''A state and its negative are the same.'''
        def start(self) -> int:
            return 3
        def canonical(self, n: int) -> int:
            return abs(n)
        def node(self, n: int):
            down = go(1 - n)
            options = [(Fraction(1, 2), down), (Fraction(1, 3), end(0)), ((1, "x"), down)]
            return end(7) if n == 0 else decide(options)

    class Odd(Game[int, object]):
        '''Actions without a text.'''
        def start(self) -> int:
            return 0
        def node(self, n: int):
            return decide([(complex(1, 2), end(1)), (True, end(0)), (None, end(-1))])
"""


def test_the_minimiser_takes_the_least(run, write):
    data = answer(run("advise", f"{write(GAMES)}:Nim", "3", "--json", "--solver", "backward-induction"))
    values = [entry["value"] for entry in data["actions"]]
    assert values == sorted(values)
    assert data["value"] == values[0]


def test_symmetry_and_ties(run, write):
    path = write(GAMES)
    data = answer(run("advise", f"{path}:Mirror", "--json", "--", "-2"))
    assert data["state"] == "2"
    assert any("symmetry" in note for note in data["notes"])
    assert data["ties"] == [{"Fraction": "1/2"}, [1, "x"]]
    text = run("advise", f"{path}:Mirror", "2").output
    assert "* Fraction.1/2" in text
    assert "= (1, x)" in text
    assert "as good as the best" in text


def test_actions_without_a_text(run, write):
    path = write(GAMES)
    data = answer(run("advise", f"{path}:Odd", "0", "--json"))
    assert [entry["action"] for entry in data["actions"]] == ["(1+2j)", True, None]
    assert "* (1+2j)" in run("advise", f"{path}:Odd", "0").output


def test_not_proved(run, pig, plug_in):
    data = answer(run("advise", pig, "10", "--solver", "too-high", "--json"), status=1)
    assert data["value"] is None
    assert {entry["value"] for entry in data["actions"]} == {None}
    assert all(isinstance(entry["estimate"], float) for entry in data["actions"])
    assert "not proved" in run("advise", pig, "10", "--solver", "too-high").output
