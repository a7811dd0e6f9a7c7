"""``mdpdice policy``, ``evaluate``, ``simulate`` and ``thresholds``."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from fractions import Fraction

import pytest

from mdpdice import Policy, evaluate, explore, outcomes, solve
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import HoldRace, PigTurn, hold_at
from mdpdice.looks import look_of


def answer(result, status=0):
    assert result.exit_code == status, result.output
    return json.loads(result.stdout, parse_constant=pytest.fail)


# --- evaluate -------------------------------------------------------------------------------------


def test_hold_at_20(run):
    data = answer(run("evaluate", "pig-turn", "--policy", "hold-at:20", "--json"))
    assert data["value"] == pytest.approx(8.141794893727, abs=1e-11)
    assert data["lower"] <= data["value"] <= data["upper"]
    assert data["status"] == "certified"
    spread = data["outcomes"]
    network = explore(PigTurn())
    exact = outcomes(network, Policy.of(network, hold_at(20)))
    assert spread["mean"] == pytest.approx(data["value"])
    assert spread["variance"] == pytest.approx(exact.variance)
    assert spread["sd"] == pytest.approx(math.sqrt(exact.variance))
    assert spread["p_bust"] == pytest.approx(exact.prob(0))
    assert {float(level): x for level, x in spread["quantiles"].items()} == {
        level: exact.quantile(level) for level in (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
    }
    text = run("evaluate", "pig-turn", "--policy", "hold-at:20").output
    assert "value       8.1417948937" in text
    assert "P(bust)    0.6245408342" in text


def test_the_optimal_and_the_random_policy(run):
    values = [
        answer(run("evaluate", "farkle", "-p", "dice=2", "-p", "cap=500", "--policy", name, "--json"))["value"]
        for name in ("optimal", "random", "threshold:0,0", "threshold:300,250")
    ]
    assert values[0] == pytest.approx(solve(KcdFarkle(dice=2, cap=500)).value())
    assert all(values[0] >= value - 1e-9 for value in values)
    assert len(set(values)) == 4
    # Without a name it is the optimal policy.
    assert answer(run("evaluate", "farkle", "-p", "dice=2", "-p", "cap=500", "--json"))["value"] == values[0]


def test_two_players(run):
    for first, second in ((5, 8), (8, 5)):
        data = answer(
            run(
                *("evaluate", "pig-race", "-p", "goal=15", "--json"),
                *("--policy", f"hold-at:{first}", "--against", f"hold-at:{second}"),
            )
        )
        assert data["value"] == pytest.approx(solve(HoldRace(first, second, goal=15)).value(), abs=1e-11)
        assert data["policy"] == f"hold-at:{first}"
        assert data["against"] == f"hold-at:{second}"
        assert data["outcomes"]["mean"] == pytest.approx(data["value"])
    assert run("evaluate", "pig-turn", "--against", "random").exit_code == 2


def test_horizon(run):
    data = answer(run("evaluate", "pig-turn", "--horizon", "3", "--json"))
    assert data["value"] == pytest.approx(solve(PigTurn(), horizon=3).value())
    assert data["horizon"] == 3
    held = answer(run("evaluate", "pig-turn", "--horizon", "3", "--policy", "hold-at:5", "--json"))
    assert 0 < held["value"] < data["value"]


def test_a_policy_from_a_file(run, tmp_path, pig):
    saved, listed = tmp_path / "best.npz", tmp_path / "mine.csv"
    assert run("policy", pig, "--save", saved).exit_code == 0
    best = answer(run("solve", pig, "--json"))["value"]
    assert answer(run("evaluate", pig, "--policy", saved, "--json"))["value"] == pytest.approx(best)
    # A table may be changed by hand and read again.
    table = run("policy", pig, "--table", "decisions", "--csv").stdout
    listed.write_text(table.replace(",roll,", ",hold,"))
    assert answer(run("evaluate", pig, "--policy", listed, "--json"))["value"] == 0
    listed.write_text(table)
    assert answer(run("evaluate", pig, "--policy", listed, "--json"))["value"] == pytest.approx(best)
    for wrong, status, message in (
        (table.replace(",roll,", ",rol,"), 1, "'rol'"),
        ("\n".join(table.splitlines()[:-1]) + "\n", 1, "says nothing here"),
        (table.replace("state,", "stat,"), 2, "no columns 'state'"),
        (table.replace("\n0,", "\n{,"), 2, "line 2: '{' is not a state"),
        (table.replace("\n0,", "\n99,"), 1, "says nothing here"),
    ):
        listed.write_text(wrong)
        result = run("evaluate", pig, "--policy", listed)
        assert result.exit_code == status, result.output
        assert message in result.output
    other = run("evaluate", "pig-turn", "--policy", saved)
    assert other.exit_code == 1
    assert "another network" in other.output


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bold", "optimal, random, lookahead:DEPTH, hold-at:N, or a file"),
        ("threshold:1,2", "has no policy 'threshold:1,2'"),
        ("hold-at:x", "write hold-at:N"),
    ],
)
def test_policies_that_do_not_exist(run, name, message):
    for command in ("evaluate", "simulate"):
        result = run(command, "pig-turn", "--policy", name)
        assert result.exit_code == 2
        assert message in result.output


ENCLOSED = """
    from mdpdice import Enclosure, Game, decide, end, go
    from mdpdice.looks import Look, NamedPolicy
    class Huge(Game[int, str]):
        '''Too large for a network.'''
        def start(self):
            return 0
        def node(self, n):
            return decide({"on": go(n + 1), "off": end(n)})
    class HugeLook(Look[Huge], of=Huge):
        def policies(self):
            known = Enclosure(2.5, 2.5 - 1e-9, 2.5 + 1e-9, "set by set")
            rule = lambda _: lambda state: "off"
            return [
                NamedPolicy("bob", "what Bob does", rule, lambda _, progress: known),
                NamedPolicy("vague", "badly known", rule, lambda _, progress: Enclosure(2, 1, 3)),
            ]
    class Discounted(Game[int, str]):
        discount = 0.5
        def start(self):
            return 0
        def node(self, n):
            return decide({"on": go(0, reward=1), "off": end(n)})
"""


def test_a_game_that_knows_the_value_itself(run, write):
    path = write(ENCLOSED)
    data = answer(run("evaluate", f"{path}:Huge", "--policy", "bob", "--json"))
    assert (data["value"], data["status"], data["outcomes"]) == (2.5, "certified", None)
    assert data["notes"] == ["set by set"]
    vague = answer(run("evaluate", f"{path}:Huge", "--policy", "vague", "--json"), status=1)
    assert (vague["value"], vague["estimate"], vague["status"]) == (None, 2, "uncertified")
    assert "not proved" in run("evaluate", f"{path}:Huge", "--policy", "vague").output


def test_a_discount(run, write):
    data = answer(run("evaluate", f"{write(ENCLOSED)}:Discounted", "--json"))
    assert data["value"] == pytest.approx(2)
    assert data["outcomes"] is None
    assert "discounted" in data["notes"][0]


def test_an_infinite_value(run):
    endless = ("farkle", "-p", "dice=one=1:0:0:0:0:0", "-p", "cap=none")
    for command in ("evaluate", "simulate", "policy", "thresholds"):
        result = run(command, *endless)
        assert result.exit_code == 1
        assert "infinite" in result.output


# --- simulate -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "policy"),
    [
        (("pig-turn",), "hold-at:20"),
        (("farkle", "-p", "dice=3", "-p", "cap=1000"), "threshold:250,200,400"),
        (("farkle", "-p", "dice=3", "-p", "cap=1000"), "optimal"),
        (("konijnenhokken", "-p", "dice=4"), "random"),
        (("piglet",), "optimal"),
    ],
)
def test_the_mean_is_near_the_exact_value(run, game, policy):
    data = answer(run("simulate", *game, "--policy", policy, "--plays", 50_000, "--seed", 7, "--json"))
    assert data["status"] == "certified"
    assert abs(data["errors_away"]) <= 4
    assert abs(data["mean"] - data["value"]) <= 4 * data["standard_error"]
    span = data["confidence"]
    assert span["level"] == 0.95
    assert span["low"] < data["mean"] < span["high"]
    assert data["plays"] == 50_000
    again = answer(run("simulate", *game, "--policy", policy, "--plays", 50_000, "--seed", 7, "--json"))
    assert again["mean"] == data["mean"]
    other = answer(run("simulate", *game, "--policy", policy, "--plays", 50_000, "--seed", 8, "--json"))
    assert other["mean"] != data["mean"]


def test_two_players_simulated(run):
    data = answer(
        run(
            *("simulate", "pig-race", "-p", "goal=15", "--plays", 20_000, "--json"),
            *("--policy", "hold-at:5", "--against", "hold-at:8"),
        )
    )
    assert data["value"] == pytest.approx(solve(HoldRace(5, 8, goal=15)).value(), abs=1e-11)
    assert abs(data["errors_away"]) <= 4


def test_simulated_text(run):
    text = run("simulate", "pig-turn", "--policy", "hold-at:20", "--plays", 1000).output
    for label in ("mean ", "95 % interval ", "exact value    8.14179489", "mean - exact ", "P(bust) "):
        assert label in text
    one = run("simulate", "pig-turn", "--plays", 1)
    assert one.exit_code == 0
    assert "95 %" not in one.output
    assert answer(run("simulate", "pig-turn", "--plays", 1, "--json"))["confidence"]["low"] is None


# --- policy ---------------------------------------------------------------------------------------


def test_tables_of_a_game(run):
    small = ("konijnenhokken", "-p", "dice=4")
    data = answer(run("policy", *small, "--json"))
    assert [table["name"] for table in data["tables"]] == ["stop-or-roll", "allocation"]
    assert data["status"] == "certified"
    for table in data["tables"]:
        text = run("policy", *small, "--table", table["name"], "--csv").stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        assert rows == [
            {key: "" if value is None else str(value) for key, value in row.items()} for row in table["rows"]
        ]
    # The first one where none is named.
    assert run("policy", *small, "--csv").stdout == run("policy", *small, "--table", "stop-or-roll", "--csv").stdout
    text = run("policy", *small).output
    assert "roll on while at most this many points are banked" in text
    assert "what to take from a roll:" in text


def test_all_decisions(run):
    data = answer(run("policy", "pig-turn", "--json"))
    (table,) = data["tables"]
    assert table["name"] == "decisions"
    assert len(table["rows"]) == 99
    solution = solve(PigTurn())
    for row in table["rows"]:
        assert row["action"].split()[0] == solution.action(int(row["state"]))
        if row["action"] != "roll":
            assert row["action"] == f"hold {row['state']} points"
        assert row["value"] == pytest.approx(solution.value(int(row["state"])))
    text = run("policy", "pig-turn").output
    assert "... and 59 more rows" in text
    # With a horizon: what to do while all of it is left.
    rows = answer(run("policy", "pig-turn", "--horizon", 1, "--json"))["tables"][0]["rows"]
    assert {row["action"] for row in rows} == {f"hold {row['state']} points" for row in rows}


def test_words_of_a_table_are_read_back(run, tmp_path):
    listed, small = tmp_path / "mine.csv", ("farkle", "-p", "dice=2", "-p", "cap=300")
    table = run("policy", *small, "--table", "decisions", "--csv").stdout
    for words in ("Keep", "Bank", "Menu", "At(", "{"):
        assert words not in table
    game = KcdFarkle(dice=2, cap=300)
    best = solve(game)
    # Files that were written before games had words.
    old = [("state", "action"), *((look_of(game).show_state(state), "") for state in best.decisions().states)]
    for at, (state, action) in enumerate(zip(best.decisions().states, best.decisions().actions, strict=True)):
        fields = ", ".join(f"{name}={value}" for name, value in action._asdict().items())
        old[at + 1] = (look_of(game).show_state(state), f"{type(action).__name__}({fields})")
    before = io.StringIO()
    csv.writer(before).writerows(old)
    assert "Keep(points=50, dice=2)" in before.getvalue()
    for text in (table, before.getvalue()):
        listed.write_text(text)
        data = answer(run("evaluate", *small, "--policy", listed, "--json"))
        assert data["value"] == pytest.approx(best.value(), rel=1e-12)


# --- tables that follow from the rules -------------------------------------------------------------


def test_the_first_roll_of_school(run):
    data = answer(run("policy", "school", "--table", "first-roll", "--json"))
    (table,) = data["tables"]
    fits = dict.fromkeys((row["combination"] for row in table["rows"]), 0)
    for dice in itertools.product(range(1, 7), repeat=5):
        times = sorted(map(dice.count, set(dice)), reverse=True)
        fits["pair"] += times[0] >= 2
        fits["set"] += times[0] >= 3
        fits["care"] += times[0] >= 4
        fits["poker"] += times == [5]
        fits["full"] += times in ([3, 2], [5])
        fits["two-pairs"] += times in ([2, 2, 1], [3, 2], [4, 1])
        fits["little-straight"] += set(dice) == {1, 2, 3, 4, 5}
        fits["big-straight"] += set(dice) == {2, 3, 4, 5, 6}
        for name in ("trash", *(f"grade-{face}" for face in range(1, 7))):
            fits[name] += 1
    assert {row["combination"]: row["ways"] for row in table["rows"]} == fits
    assert all(row["chance"] == row["ways"] / 6**5 for row in table["rows"])
    some = run("policy", "school", "-p", "open=care,full", "--table", "first-roll", "--csv").stdout
    assert [line.split(",")[0] for line in some.splitlines()] == ["combination", "full", "care"]
    refused = run("policy", "school", "--table", "bob")
    assert refused.exit_code == 2
    assert "its tables are: first-roll" in refused.output


def _scores(dice):
    """Whether some faces score in Farkle, by its rules in words."""
    whole = {frozenset(range(1, 6)), frozenset(range(2, 7)), frozenset(range(1, 7))}
    return (
        1 in dice or 5 in dice or any(dice.count(face) >= 3 for face in dice) or any(run <= set(dice) for run in whole)
    )


def test_the_busts_of_farkle(run):
    (table,) = answer(run("policy", "farkle", "--table", "busts", "--json"))["tables"]
    for number, row in enumerate(table["rows"], start=1):
        busts = sum(not _scores(dice) for dice in itertools.product(range(1, 7), repeat=number))
        assert row["dice"] == f"{number} x Ordinary die"
        assert Fraction(row["exact"]) == Fraction(busts, 6**number)
        assert row["chance"] == pytest.approx(busts / 6**number)
    assert len(table["rows"]) == 6
    # A race has the same dice, and is too large for a table of decisions.
    race = answer(run("policy", "farkle-race", "--table", "busts", "--json"))["tables"]
    assert race == [table]
    # A 1 or a 6; and 2, 3 or, half of the time, 6.
    mixed = ("farkle", "-p", "dice=one=4:0:0:0:0:1,hi=0:1:1:0:0:2,hi=0:1:1:0:0:2")
    rows = answer(run("policy", *mixed, "--table", "busts", "--json"))["tables"][0]["rows"]
    assert {row["dice"]: Fraction(row["exact"]) for row in rows} == {
        "1 x hi": 1,
        "2 x hi": 1,
        "1 x one": Fraction(1, 5),
        "1 x one, 1 x hi": Fraction(1, 5),
        "1 x one, 2 x hi": Fraction(1, 5) * (1 - Fraction(1, 2) ** 2),
    }


def test_the_openings_of_knucklebones(run):
    data = answer(run("policy", "knucklebones", "--table", "openings", "--json"))
    (table,) = data["tables"]
    assert "an estimate from 3 decisions ahead" in table["title"]
    assert [row["die"] for row in table["rows"]] == [1, 2, 3, 4, 5, 6]
    for row in table["rows"][::5]:
        empty = "___/___/___"
        asked = ("knucklebones", str(row["die"]), empty, empty, "--solver", "lookahead:3", "--json")
        advice = answer(run("advise", *asked), status=1)
        told = {f"column {entry['action']}": entry["estimate"] for entry in advice["actions"]}
        assert told == {key: value for key, value in row.items() if key != "die"}
    refused = run("policy", "knucklebones")
    assert refused.exit_code == 1
    assert "without a solution there are the tables: openings" in refused.output


def test_other_tables(run):
    rows = answer(run("policy", "farkle", "-p", "dice=2", "-p", "cap=500", "--json"))["tables"][0]["rows"]
    assert [row["dice"] for row in rows] == ["1 x Ordinary die", "2 x Ordinary die"]
    race = answer(run("policy", "pig-race", "-p", "goal=15", "--json"))["tables"][0]
    assert race["name"] == "hold"
    assert {"mine", "theirs", "hold_from", "hold_to"} == set(race["rows"][0])
    wrong = run("policy", "piglet", "--table", "grades")
    assert wrong.exit_code == 2
    assert "its tables are: hold, decisions" in wrong.output
    assert run("policy", "piglet", "--csv", "--json").exit_code == 2


def test_a_policy_that_is_not_proved(run, pig, plug_in):
    data = answer(run("policy", pig, "--solver", "too-high", "--json"), status=1)
    assert data["value"] is None
    assert data["tables"][0]["rows"]


# --- thresholds -----------------------------------------------------------------------------------


def test_thresholds(run):
    small = ("farkle", "-p", "dice=3", "-p", "cap=1000")
    data = answer(run("thresholds", *small, "--monotone", "--search", 50, "--seed", 3, "--json"))
    optimal, found = data["thresholds"]
    assert optimal["value"] == data["value"] == pytest.approx(solve(KcdFarkle(dice=3, cap=1000)).value())
    assert found["vector"] == sorted(found["vector"])
    assert found["loss"] == optimal["value"] - found["value"]
    assert found["value"] <= found["bound"]
    for one in data["thresholds"]:
        evaluated = answer(run("evaluate", *small, "--policy", one["policy"], "--json"))
        assert evaluated["value"] == pytest.approx(one["value"], rel=1e-12)
    assert len(answer(run("thresholds", *small, "--json"))["thresholds"]) == 1
    text = run("thresholds", *small, "--search", 50).output
    assert "best found" in text
    assert "loss" in text


def test_games_without_thresholds(run):
    for command in (("konijnenhokken",), ("farkle", "-p", "dice=Odd die,Lucky die", "-p", "cap=100")):
        result = run("thresholds", *command)
        assert result.exit_code == 2
        assert "has no thresholds" in result.output
        assert f"in the tables of 'mdpdice solve {command[0]}'" in result.output
    assert "--kind thresholds" in run("thresholds", "pig-race").output
    assert run("thresholds", "farkle", "--horizon", 3).exit_code == 2


# --- all of them ----------------------------------------------------------------------------------


def test_the_same_keys_where_the_meaning_is_the_same(run):
    asked = {"game", "parameters", "horizon", "objective", "sense", "notes"}
    told = {"value", "estimate", "lower", "upper", "width", "status", "reason", "states", "edges", "seconds"}
    found = [set(answer(run(name, "piglet", "--json"))) for name in ("solve", "policy", "evaluate", "simulate")]
    assert all(asked | told <= keys for keys in found)
    assert all({"policy", "against"} <= keys for keys in found[2:])


def test_the_value_of_a_policy_given_as_a_library_call(run):
    network = explore(PigTurn())
    value = evaluate(network, Policy.of(network, hold_at(10))).value()
    assert answer(run("evaluate", "pig-turn", "--policy", "hold-at:10", "--json"))["value"] == value


def test_tables_of_decisions_as_spreadsheets_and_others_leave_them(run, tmp_path):
    pig, listed = ("pig-turn", "-p", "cap=24"), tmp_path / "mine.csv"
    table = run("policy", *pig, "--table", "decisions", "--csv").stdout
    evaluate = ("evaluate", *pig, "--json", "--policy", listed)
    listed.write_bytes(b"\xef\xbb\xbf" + table.replace("\n", "\r\n").encode())
    best = json.loads(run(*evaluate).stdout)["value"]
    assert best == pytest.approx(json.loads(run("solve", *pig, "--json").stdout)["value"])
    for text, says in (
        (table.encode() + b"20,roll,1\n", "line 25: another action of 20"),
        (table.encode() + b"\xff,hold,1\n", "not UTF-8"),
        (table.encode() + b"5\n", "too few entries"),
    ):
        listed.write_bytes(text)
        found = run(*evaluate)
        assert found.exit_code == 2
        assert says in found.output
