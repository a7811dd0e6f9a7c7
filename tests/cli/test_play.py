"""``mdpdice play``: at the table without a terminal."""

from __future__ import annotations

import functools
import json

import pytest
from click.testing import CliRunner

import mdpdice
from mdpdice import solve
from mdpdice.cli import limits, main, seats
from mdpdice.cli.seats import split_seats
from mdpdice.games.pig import PigRace, PigTurn
from mdpdice.policies import playthrough


@pytest.fixture
def sit():
    """Play with some lines of input."""

    def call(*args, lines=""):
        return CliRunner().invoke(main, ["play", *map(str, args)], input=lines, prog_name="mdpdice")

    return call


def events(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("human", ["human"]),
        ("human,optimal", ["human", "optimal"]),
        ("threshold:250,200,400, random", ["threshold:250,200,400", "random"]),
        ("lookahead:4,threshold:1,2", ["lookahead:4", "threshold:1,2"]),
        ("a.npz,./b.csv", ["a.npz", "./b.csv"]),
    ],
)
def test_seats_are_separated_by_commas(text, names):
    assert split_seats(text) == names


def test_a_person_plays(sit):
    # With seed 5 the die shows 5, 3, 6, ...
    result = sit("pig-turn", "--seed", 5, lines="roll\n2\n  HOLD \n")
    assert result.exit_code == 0
    assert [
        line for line in result.output.splitlines() if line.startswith(("  roll", "total", "  the end"))
    ] == [
        "  roll 5",
        "  roll 3",
        "  the end pays 8",
        "total 8",
    ]


def test_wrong_input_is_asked_again(sit):
    result = sit("pig-turn", "--seed", 5, lines="\nstay\n0\n3\n-1\n?\nhold\n")
    assert result.exit_code == 0
    assert result.output.count("is none of these; write a number or one of the actions:") == 5
    assert "total 0" in result.output


def test_the_value_of_every_choice(sit):
    result = sit("pig-turn", "--seed", 5, lines="roll\n?\nhold\n")
    worth = solve(PigTurn()).q(5)
    assert f"  roll  {worth['roll']:.10g}\n" in result.output
    assert f"  hold  {worth['hold']:.10g}\n" in result.output


@pytest.mark.parametrize("lines", ["", "roll\n", "roll\nq\nhold\n", "quit\n", "roll\nhol"])
def test_the_end_of_the_input_ends_politely(sit, tmp_path, lines):
    record = tmp_path / "record.txt"
    result = sit("pig-turn", "--seed", 5, "--record", record, lines=lines)
    assert result.exit_code == 0
    assert result.output.endswith("You left the table; the play is not over.\n")
    assert not record.exists()


def test_json_keeps_the_talk_away(sit):
    result = sit("pig-turn", "--seed", 5, "--json", lines="roll\nhold\n")
    data = events(result)
    assert "Your choice" in result.stderr
    assert data["over"]
    assert data["total"] == 5
    assert data["seats"] == ["human"]
    kinds = [event["event"] for event in data["events"]]
    assert kinds == ["state", "choice", "roll", "state", "choice", "end"]
    assert data["events"][1]["actions"] == ["hold", "roll"]
    left = events(sit("pig-turn", "--json", lines="q\n"))
    assert (left["over"], left["total"]) == (False, None)


def test_optimal_play(sit):
    for seed in range(1, 6):
        data = events(sit("pig-turn", "--seats", "optimal", "--seed", seed, "--json"))
        points = 0
        for event in data["events"]:
            if event["event"] == "state":
                points = int(event["state"])
            elif event["event"] == "choice":
                assert event["action"] == ("hold" if points >= 20 else "roll")
    assert events(sit("pig-turn", "--seats", "optimal", "--seed", 5, "--json"))["total"] == 23


def test_two_seats(sit):
    data = events(sit("pig-race", "-p", "goal=15", "--seats", "hold-at:4,hold-at:9", "--seed", 2, "--json"))
    held = {0: [], 1: []}
    turn = 0
    for event in data["events"]:
        if event["event"] == "state":
            turn = int(event["state"].rpartition("=")[2])
        elif event["event"] == "choice" and event["action"] == "hold":
            held[event["player"]].append(turn)
    assert all(4 <= points < 10 for points in held[0])
    assert all(points >= 9 for points in held[1])
    assert data["total"] in (0, 1)


def test_other_seats(sit, tmp_path):
    threshold = events(
        sit("farkle", "-p", "dice=2", "-p", "cap=500", "--seats", "threshold:0,0", "--seed", 1, "--json")
    )
    # Banks what the first roll scores, if it scores.
    assert sum(event["event"] == "choice" for event in threshold["events"]) <= 1
    wild = [events(sit("konijnenhokken", "--seats", "random", "--seed", 4, "--json")) for _ in range(2)]
    assert wild[0] == wild[1]
    file = tmp_path / "best.npz"
    assert CliRunner().invoke(main, ["policy", "piglet", "--save", str(file)]).exit_code == 0
    plays = [
        events(sit("piglet", "--seats", seats, "--seed", 3, "--json"))["events"]
        for seats in (file, "optimal")
    ]
    assert plays[0] == plays[1]


def test_horizon(sit):
    data = events(sit("pig-turn", "--seats", "optimal", "--horizon", 2, "--seed", 5, "--json"))
    assert [event["action"] for event in data["events"] if event["event"] == "choice"] == ["roll", "hold"]
    cut = events(sit("pig-turn", "--seats", "human", "--horizon", 1, "--seed", 5, "--json", lines="roll\n"))
    assert cut["events"][-1]["event"] == "cut off"


SYMMETRIC = """
    from mdpdice import Game, decide, end, go, pass_to, roll, d6
    class Mirror(Game[int, int]):
        '''A state and its negative are the same; actions are numbers, and states are left as they are.'''
        def start(self):
            return -3
        def canonical(self, n):
            return abs(n)
        def node(self, n):
            if n in (0, 9):
                return end(n)
            sign = 1 if n > 0 else -1
            return decide([(4, go(-(n - sign))), (7, roll(d6, lambda k: end(k), reward=1)), (9, end(2))])
"""


def test_a_game_with_symmetry(sit, write):
    name = f"{write(SYMMETRIC)}:Mirror"
    result = sit(name, lines="?\n1\n4\n7\n")
    # Nothing is canonical here, so the values are those of where the actions lead.
    assert "  4  4.5\n  7  4.5\n  9  2\n" in result.output
    # Actions that are numbers are not numbered.
    assert "'1' is none of these; write one of the actions" in result.output
    assert "\n2\n" in result.output
    optimal = events(sit(name, "--seats", "optimal", "--json"))
    assert [event["action"] for event in optimal["events"] if event["event"] == "choice"] == [4, 4, 7]


@pytest.mark.parametrize(
    ("who", "message"),
    [
        ("bold", "nobody is called 'bold'; write human, optimal, random, lookahead:DEPTH, hold-at:N"),
        ("hold-at:x", "write hold-at:N"),
        ("lookahead:x", "write lookahead:DEPTH"),
        ("human,human,human", "one or two players, not 3"),
    ],
)
def test_seats_that_do_not_exist(sit, who, message):
    result = sit("pig-turn", "--seats", who)
    assert result.exit_code == 2
    assert message in result.output


def test_an_infinite_value(sit):
    endless = ("farkle", "-p", "dice=one=1:0:0:0:0:0", "-p", "cap=none")
    for who in ("optimal", "human"):
        result = sit(*endless, "--seats", who, lines="?\n")
        assert result.exit_code == 1
        assert "infinite" in result.output


def test_a_question_that_has_no_answer(sit, write):
    path = write(
        """
        from mdpdice import Game, decide, end, go
        class Rich(Game[int, str]):
            def start(self):
                return 0
            def node(self, n):
                return decide({"on": go(0, reward=1), "off": end()})
            def infinite_reason(self):
                return "it pays for ever"
        """
    )
    result = sit(f"{path}:Rich", lines="?\non\n?\noff\n")
    assert result.exit_code == 0
    assert result.output.count("this is not known: it pays for ever") == 2
    assert "total 1" in result.output


@pytest.mark.parametrize("quick", [100_000, 100])
def test_looking_ahead(sit, monkeypatch, quick):
    monkeypatch.setattr(limits, "SOLVE_UP_TO", quick)
    small = ("knucklebones", "-p", "columns=2", "-p", "rows=1", "--seed", 3)
    # Both boards have room for two dice, so four decisions see the end of nearly every play.
    looked = events(sit(*small, "--seats", "lookahead:6,optimal", "--json"))
    assert looked["total"] in (-1, 0, 1)
    result = sit(*small, "--seats", "human,lookahead:1", lines="?\n")
    assert result.exit_code == 0
    assert ("too large to be solved" in result.output) == (quick == 100)
    values = [
        float(line.split()[1]) for line in result.output.splitlines() if line.startswith(("  1  ", "  2  "))
    ]
    # Where the first die goes cannot matter.
    assert len(values) == 2
    assert values[0] == pytest.approx(values[1])


def test_players_who_look_ahead_do_not_pass_for_ever(sit):
    # Nothing that two decisions see tells hold and roll apart at the start, and who always held would never end.
    race = ("pig-race", "-p", "goal=12", "--seats", "lookahead:2,lookahead:1", "--json")
    found = [events(sit(*race, "--seed", seed)) for seed in range(1, 6)]
    assert {data["total"] for data in found} == {0, 1}
    chosen = [event["action"] for data in found for event in data["events"] if event["event"] == "choice"]
    assert {"hold", "roll"} <= set(chosen)
    assert events(sit(*race, "--seed", 3)) == found[2]


LAZY = """
from mdpdice import Game, decide, end, go
class Lazy(Game[str, str]):
    payoff_range = (0, 2)
    def start(self):
        return "bed"
    def node(self, state):
        return decide({"stay": go("bed"), "rise": end(1)})
    def estimate(self, state):
        return 2.0
"""


@pytest.mark.parametrize("call", [("play", "--seats"), ("simulate", "--plays", 2, "--policy")])
def test_an_estimate_that_wants_to_stay(run, write, monkeypatch, call):
    monkeypatch.setattr(playthrough, "play", functools.partial(playthrough.play, max_moves=100))
    monkeypatch.setattr(mdpdice, "simulate", functools.partial(mdpdice.simulate, max_moves=100))
    command, *options = call
    result = run(command, f"{write(LAZY)}:Lazy", *options, "lookahead:2")
    assert result.exit_code == 1
    assert "the play is not over after" in result.output
    assert "let the game's estimate() prefer what brings the end nearer" in " ".join(result.output.split())


@pytest.mark.parametrize("glance", [20_000, 20])
def test_a_second_seat_in_a_game_for_one(sit, monkeypatch, glance):
    monkeypatch.setattr(seats, "GLANCE", glance)
    result = sit("pig-turn", "--seats", "random,random")
    assert (result.exit_code, "pig-turn has one player, so name one seat" in result.output) == (2, True)
    # It is told before anything is played, unless that would take long to find out.
    assert ("the end pays" in result.output) == (glance == 20)
    assert "one seat" in sit("farkle", "--seats", "random,random").output  # one with counters


def test_a_race_that_the_second_seat_never_enters(sit):
    shortest = ("pig-race", "-p", "goal=2", "--seats", "optimal,random", "--json")
    found = [events(sit(*shortest, "--seed", seed)) for seed in range(1, 9)]
    assert any(all(event["player"] == 0 for event in data["events"]) for data in found)


def test_counters_are_part_of_the_states(sit):
    data = events(sit("pig-race", "-p", "goal=12", "--seats", "optimal,hold-at:3", "--seed", 2, "--json"))
    assert data["events"][0]["state"] == "mine=0 theirs=0 turn=0"
    assert data["total"] in (0, 1)
    result = sit("pig-race", "-p", "goal=12", lines="?\n")
    worth = solve(PigRace(goal=12)).q()
    assert f"  roll  {worth['roll']:.10g}\n" in result.output
