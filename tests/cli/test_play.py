"""``mdpdice play``: at the table without a terminal."""

from __future__ import annotations

import functools
import json
import re

import pytest
from click.testing import CliRunner

import mdpdice
from mdpdice import solve
from mdpdice.cli import limits, main, seats
from mdpdice.cli.seats import split_seats
from mdpdice.games.pig import PigRace, PigTurn
from mdpdice.looks import look_of
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


ALONE = """\
this turn: 0 at risk
  1  hold 0 points
  2  roll
Your choice (? shows the value of each, q quits):
'stay' matches none of these, or several; write a number, words, their beginning, or what to take:
* roll           8.141794894
  hold 0 points  0  -8.14179
roll → 5
this turn: 5 at risk
  1  hold 5 points
  2  roll
Your choice (? shows the value of each, q quits):
hold 5 points
total 5
you: roll  best
you: hold 5 points  -5.19985, best: roll
you lost 5.19985 in all
(--seed 5 gives the same dice again)
"""

FOR_TWO = """\
you: 0 of 8; optimal: 0 of 8; this turn: 0 at risk
  1  hold 0: 0 in all
  2  roll
Your choice (? shows the value of each, q quits):
you: roll → 2
you: 0 of 8; optimal: 0 of 8; this turn: 2 at risk
  1  hold 2: 2 in all
  2  roll
Your choice (? shows the value of each, q quits):
you: roll → 5
you: 0 of 8; optimal: 0 of 8; this turn: 7 at risk
  1  hold 7: 7 in all
  2  roll
Your choice (? shows the value of each, q quits):
you: hold 7: 7 in all
  [you: 7 of 8; optimal: 0 of 8; this turn: 0 at risk]
optimal: roll (worth 0.6856) → 5
optimal: roll (worth 0.8278) → 2
optimal: roll (worth 0.8524) → 3
optimal: wins with 10 to 7
(--seed 3 gives the same dice again)
"""

BOARDS = """\
you: roll → 2
you board: _ _ = 0+0; random board: _ _ = 0+0; die: 2
  column 1
  column 2
Your choice (? shows the value of each, q quits):
you: column 1
  [you board: 2 _ = 2+0; random board: _ _ = 0+0]
random: roll → 5
random: column 1
you: roll → 3
you board: 2 _ = 2+0; random board: 5 _ = 5+0; die: 3
  column 2
Your choice (? shows the value of each, q quits):
you: column 2
you: draws 5 to 5; own board: 2 3 = 2+3; other board: 5 _ = 5+0
(--seed 3 gives the same dice again)
"""


@pytest.mark.parametrize(
    ("call", "lines", "told"),
    [
        ("pig-turn --seed 5 --review", "stay\n?\nro\n  HOLD \n", ALONE),
        ("pig-race -p goal=8 --seats human,optimal --seed 3", "2\nr\nh\n", FOR_TWO),
        ("knucklebones -p columns=2 -p rows=1 --seats human,random --seed 3", "1\n2\n", BOARDS),
    ],
)
def test_a_whole_play(sit, call, lines, told):
    result = sit(*call.split(), lines=lines)
    assert result.exit_code == 0
    assert result.output == told


def test_what_a_transcript_says_is_true(sit):
    # The numbers of ALONE and of FOR_TWO, from the solver.
    worth, chances = solve(PigTurn()), solve(PigRace(goal=8))
    assert f"{worth.q(0)['roll']:.10g}" == "8.141794894"
    assert f"{worth.value(5) - 5:.6g}" == "5.19985"
    read = look_of(PigRace(goal=8)).read_state
    seen = [chances.q(read(f"mine=0 theirs=7 turn={turn}"))["roll"] for turn in (0, 5, 7)]
    assert [f"{value:.4g}" for value in seen] == ["0.6856", "0.8278", "0.8524"]


def test_side_by_side(sit):
    one_turn_each = ("school", "-p", "open=pair,trash", "--seats", "human,bob", "--seed", 3)
    result = sit(*one_turn_each, lines="pair\ntrash\n")
    assert [line for line in result.output.splitlines() if not line.startswith("  ")] == [
        "you: roll → 2 2 3 5 5",
        "you: sheet: open pair, trash; dice: 2 2 3 5 5; rerolls: 2",
        "Your choice (? shows the value of each, q quits):",
        "you: pair for 20",
        "bob: roll → 1 4 5 5 6",
        "bob: trash for 42",
        "you: roll → 1 3 4 5 5",
        "you: total 20; sheet: open trash; dice: 1 3 4 5 5; rerolls: 2",
        "Your choice (? shows the value of each, q quits):",
        "you: trash for 36",
        "bob: roll → 2 2 4 5 6",
        "bob: reroll 2 2 4 → 4 4 5",
        "bob: reroll 4 4 → 2 6",
        "bob: pair for 12",
        "you: total 56",
        "bob: total 54",
        "you: 56, wins",
        "bob: 54",
        "(--seed 3 gives the same dice again)",
    ]
    data = events(sit(*one_turn_each, "--json", lines="pair\ntrash\n"))
    assert data["results"] == [[56, 54]]
    assert {event["seat"] for event in data["events"]} == {0, 1}


def test_many_rounds(sit):
    race = ("pig-race", "-p", "goal=12", "--seats", "optimal,random", "--rounds", 20, "--seed", 1)
    result = sit(*race)
    data = events(sit(*race, "--json"))
    results = data["results"]
    assert len(results) == 20
    assert all(sorted(each) == [0, 1] for each in results)
    won = sum(first > second for first, second in results)
    assert f"optimal: {won / 20:g} on average, {won} of 20 won\n" in result.output
    assert f"random: {1 - won / 20:.10g} on average, {20 - won} of 20 won\n" in result.output
    assert won > 10
    # They begin in turns.
    begins = [next(event["seat"] for event in data["events"] if event["round"] == at) for at in range(1, 21)]
    assert begins == [0, 1] * 10
    # Somebody alone has an average.
    alone = ("pig-turn", "--seats", "hold-at:20", "--rounds", 3, "--seed", 2)
    totals = [each[0] for each in events(sit(*alone, "--json"))["results"]]
    assert f"\n{sum(totals) / 3:.10g} on average\n" in sit(*alone).output


def test_what_seats_are_called(sit):
    def names(*seats):
        return sit("pig-race", "-p", "goal=2", "--seats", ",".join(seats), "--seed", 1, lines="q\n").output

    assert names("human").startswith("player 1: 0 of 2; player 2: 0 of 2")
    assert "player 1, your choice" in names("human", "human")
    assert "[first: 0 of 2; second: 0 of 2" in names("random")
    assert "[random: 0 of 2; hold-at:2: 0 of 2" in names("random", "hold-at:2")


def test_a_new_seed_for_every_play(sit, tmp_path):
    record = tmp_path / "record.txt"
    found = [sit("pig-turn", "--seats", "hold-at:20", "--record", record).output for _ in range(5)]
    seeds = [re.search(r"\(--seed (\d+) gives the same dice again\)\n$", text)[1] for text in found]
    assert len(set(seeds)) > 1
    assert f"\nseed: {seeds[-1]}\n" in record.read_text()
    assert sit("pig-turn", "--seats", "hold-at:20", "--seed", seeds[0]).output == found[0]
    assert events(sit("pig-turn", "--seats", "hold-at:20", "--seed", seeds[0], "--json"))["seed"] == int(seeds[0])


def test_real_dice(sit):
    data = events(sit("farkle", "--seats", "random", "--seed", 3, "--json"))
    rolls = [event for event in data["events"] if event["event"] == "roll"]
    assert rolls[0]["seen"] == [2, 2, 3, 5, 5, 5]
    assert all(1 <= face <= 6 for event in rolls for face in event["seen"])
    text = sit("farkle", "--seats", "random", "--seed", 3).output
    assert "roll → 2 2 3 5 5 5\n" in text
    assert "→ 6: bust\ntotal 0\n" in text
    # The dice are an answer; the first of them are not what they mean alone.
    result = sit("farkle", "--seed", 3, lines="5 5\n1 2\nbank\n")
    assert "\nset aside two of the 5s for 100; 100 at risk, roll four dice → " in result.output
    assert "'1 2' matches none of these, or several" in result.output


def test_wrong_input_is_asked_again(sit):
    result = sit("pig-turn", "--seed", 5, lines="\nstay\n0\n3\n-1\n?\nhold\n")
    assert result.exit_code == 0
    assert result.output.count("matches none of these, or several; write a number, words,") == 5
    assert "total 0" in result.output


def test_the_review_of_two_people(sit):
    call = ("pig-race", "-p", "goal=8", "--seats", "human,human", "--review", "--seed", 3)
    lines = "2\n2\n1\n1\nq\n"
    data = events(sit(*call, "--json", lines=lines))
    assert [(each["seat"], each["action"]) for each in data["review"]] == [
        (0, "roll"),
        (0, "roll"),
        (0, "hold"),
        (1, "hold"),
    ]
    second = solve(PigRace(goal=8)).q(look_of(PigRace(goal=8)).read_state("theirs=7"))
    assert data["review"][3]["lost"] == pytest.approx(second["roll"] - second["hold"])
    assert data["review"][3]["state"] == "mine=0 theirs=7 turn=0"
    text = sit(*call, lines=lines).output
    assert f"player 2 lost {second['roll'] - second['hold']:.6g} in all\n" in text


def test_who_minimises_wants_little(sit, write):
    path = write(
        """
        from mdpdice import Game, decide, end, go
        class Duel(Game[str, str]):
            def start(self):
                return "first"
            def node(self, state):
                if state == "first":
                    return decide({"on": go("second"), "off": end(2)})
                return decide({"much": end(5), "little": end(3)}, player=1)
        """
    )
    result = sit(f"{path}:Duel", "--seats", "human,human", "--review", "--seed", 1, lines="on\n?\nmuch\n")
    assert "* little  3\n  much    5  -2\n" in result.output
    assert "player 2: the end pays 5\n" in result.output
    assert "player 1 lost 0 in all\nplayer 2 lost 2 in all\n" in result.output


WORDS = """
import enum
import attrs
from mdpdice import Dist, Game, chance, decide, end, go, roll
class Suit(enum.Enum):
    RED_ONE = 1
    BLUE = 2
@attrs.frozen
class Card:
    rank: int
    suit: Suit
DECK = Dist({Card(2, Suit.BLUE): 1, Card(3, Suit.RED_ONE): 2})
class Draws(Game):
    def start(self):
        return 0
    def node(self, n):
        if n == 3:
            return chance({end(1): 1, end(0): 1})
        return decide({
            Card(1, Suit.BLUE): roll(DECK, lambda card: go(n + 1, reward=card.rank)),
            ("b", 2): go(n + 1, reward=1),
            Suit.RED_ONE: roll(Dist({Suit.BLUE: 1, Suit.RED_ONE: 1}), lambda suit: go(n + 1)),
        })
"""


def test_words_without_a_look(sit, write):
    name = f"{write(WORDS)}:Draws"
    for seed in range(1, 6):
        result = sit(name, "--seats", "human", "--seed", seed, lines="?\nb\n1\nred one\n")
        assert result.exit_code == 0
        assert "\nb 2 (+1)\n" in result.output
        assert re.search(r"\ncard rank 1 suit blue → card rank [23] suit (blue|red one) \(\+[23]\)\n", result.output)
        assert re.search(r"\nred one → (blue|red one)\n", result.output)
        assert not re.search(r"[{}<>=]|Card|Suit|End", result.output)


@pytest.mark.parametrize("lines", ["", "roll\n", "roll\nq\nhold\n", "quit\n", "roll\nhox"])
def test_the_end_of_the_input_ends_politely(sit, tmp_path, lines):
    record = tmp_path / "record.txt"
    result = sit("pig-turn", "--seed", 5, "--record", record, lines=lines)
    assert result.exit_code == 0
    assert "You left the table; the play is not over.\n(--seed 5 gives" in result.output
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
    assert [event["seen"] for event in data["events"]] == [None, None, [5], [5], [5], None]
    assert data["seed"] == 5
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
    plays = [events(sit("piglet", "--seats", seats, "--seed", 3, "--json"))["events"] for seats in (file, "optimal")]
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
    assert "* 4  4.5\n  7  4.5\n  9  2  -2.5\n" in result.output
    # Actions that are numbers are not numbered.
    assert "'1' matches none of these, or several; write words" in result.output
    assert "\n2\n" in result.output
    optimal = events(sit(name, "--seats", "optimal", "--json"))
    assert [event["action"] for event in optimal["events"] if event["event"] == "choice"] == [4, 4, 7]


@pytest.mark.parametrize(
    ("who", "message"),
    [
        ("bold", "there is no seat 'bold'; write human, optimal, random, lookahead:DEPTH, hold-at:N"),
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
        from mdpdice.looks import Look
        class Rich(Game[int, str]):
            def start(self):
                return 0
            def node(self, n):
                return decide({"on": go(0, reward=1), "off": end()})
        class RichLook(Look, of=Rich):
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
    result = sit(*small, "--seats", "human,lookahead:1", "--no-cache", lines="?\n")
    assert result.exit_code == 0
    assert ("too large to be solved" in result.output) == (quick == 100)
    values = [float(line.split()[-1]) for line in result.output.splitlines() if re.match(r"[* ] column \d  ", line)]
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
    for name in ("pig-turn", "farkle"):  # one with counters
        data = events(sit(name, "--seats", "random,random", "--seed", 1, "--json"))
        assert [event["event"] for event in data["events"]].count("end") == 2
        assert len(data["results"][0]) == 2


def test_a_second_player_who_comes_late(write, sit):
    # No random play gets there, but the states are few.
    path = write(
        """
        from mdpdice import Dist, Game, decide, end, go, pass_to, roll
        class Late(Game[int, str]):
            def start(self):
                return 0
            def node(self, n):
                rare = Dist({0: 10**9, 1: 1})
                return decide({"on": end(1) if n else roll(rare, lambda k: pass_to(1) if k else end(2))})
        """
    )
    data = events(sit(f"{path}:Late", "--seats", "random,random", "--json"))
    assert [event["event"] for event in data["events"]].count("end") == 1


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
    assert f"* roll              {worth['roll']:.10g}\n" in result.output
