"""``--objective`` and ``--sense``: the same answers as in Python, named in the output, and what is refused."""

from __future__ import annotations

import json

import pytest
from click.shell_completion import ShellComplete

from mdpdice import (
    CVaR,
    Discounted,
    Horizon,
    PayoffAtLeast,
    PayoffAtMost,
    Policy,
    Quantile,
    Reach,
    Total,
    UntilReward,
    Win,
    cross_check,
    evaluate,
    explore,
    solve,
)
from mdpdice.cli import main
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigRace, PigTurn

PIG = ("pig-turn", "-p", "cap=40")
GAME = PigTurn(cap=40)

ASKED = {
    "discounted:0.95": (Discounted("0.95"), "discounted:19/20"),
    "discounted: 19/20": (Discounted("19/20"), "discounted:19/20"),
    "payoff-at-least:20": (PayoffAtLeast(20), "payoff-at-least:20"),
    "PAYOFF_AT_LEAST:41/2": (PayoffAtLeast(20.5), "payoff-at-least:41/2"),
    "payoff-at-most: 5": (PayoffAtMost(5), "payoff-at-most:5"),
    "cvar:0.5": (CVaR(0.5), "cvar:1/2"),
    "quantile: 1/2": (Quantile(0.5), "quantile:1/2"),
    "reach:30": (Reach([30]), "reach:30"),
    "reach:30;31": (Reach([30, 31]), "reach:30;31"),
    "until-reward:30": (UntilReward([30]), "until-reward:30"),
    "total": (None, "total"),
}


def answer(result, status=0):
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("text", ASKED)
def test_the_values_of_python(run, text):
    objective, told = ASKED[text]
    data = answer(run("solve", *PIG, "--objective", text, "--json"))
    value = solve(GAME, objective).value()
    assert data["value"] == (value if value < float("inf") else "inf")
    assert (data["objective"], data["sense"], data["horizon"]) == (told, "max", None)


def test_little_of_it(run):
    data = answer(run("solve", *PIG, "--sense", "min", "--json"))
    assert (data["value"], data["objective"], data["sense"]) == (solve(GAME, Total("min")).value(), "total", "min")
    data = answer(run("solve", *PIG, "--objective", "until-reward:30", "--sense", "min", "--json"))
    assert data["value"] == "inf"
    assert "objective   minimise the total" in run("solve", *PIG, "--sense", "min").output


def test_a_horizon_is_the_one_of_the_option(run):
    short, long = ("--objective", "horizon:3"), ("--horizon", 3)
    first, second = (answer(run("solve", *PIG, *how, "--json")) for how in (short, long))
    assert first.pop("seconds") > 0 < second.pop("seconds")
    assert first == second
    assert first["value"] == solve(GAME, Horizon(3)).value()
    both = answer(run("solve", *PIG, *long, "--objective", "discounted:1/2", "--json"))
    assert both["value"] == solve(GAME, Discounted("1/2"), horizon=3).value()


def test_words_of_the_game_are_about_its_total(run):
    farkle = ("farkle", "-p", "dice=3", "-p", "cap=1000", "--objective", "payoff-at-least:500")
    data = answer(run("solve", *farkle, "--json"))
    assert data["value"] == solve(KcdFarkle(dice=3, cap=1000), PayoffAtLeast(500)).value()
    assert data["summary"] == []
    assert [one["name"] for one in answer(run("policy", *farkle, "--json"))["tables"]] == ["decisions"]


def test_the_other_commands(run, tmp_path):
    asked = ("--objective", "payoff-at-least:20")
    greedy = solve(GAME, PayoffAtLeast(20))
    assert answer(run("advise", *PIG, 19, *asked, "--json"))["action"] == "roll" == greedy.action(19)
    checked = answer(run("crosscheck", *PIG, *asked, "--json"))
    assert checked["ok"] is True is cross_check(GAME, PayoffAtLeast(20)).ok
    assert all(one["value"] == pytest.approx(greedy.value(), abs=1e-12) for one in checked["solvers"])
    found = answer(run("evaluate", *PIG, *asked, "--policy", "hold-at:10", "--json"))
    network = greedy.network
    early = Policy.of(network, lambda points: "hold" if points >= 10 else "roll")
    assert found["value"] == evaluate(network, early).value() < greedy.value()
    assert found["outcomes"]["mean"] == pytest.approx(found["value"])
    best = answer(run("evaluate", *PIG, *asked, "--json"))
    assert best["value"] == pytest.approx(greedy.value(), abs=1e-12)
    played = answer(run("simulate", *PIG, *asked, "--plays", 2000, "--json"))
    assert abs(played["mean"] - greedy.value()) < 4 * played["standard_error"]
    assert played["value"] == pytest.approx(greedy.value(), abs=1e-12)
    file = tmp_path / "p.npz"
    assert run("policy", *PIG, *asked, "--save", file).exit_code == 0
    assert answer(run("evaluate", *PIG, *asked, "--policy", file, "--json"))["value"] == best["value"]
    other = run("evaluate", *PIG, "--policy", file)
    assert (other.exit_code, "another objective, discount or horizon" in other.output) == (1, True)
    picture = tmp_path / "p.svg"
    for kind in ("policy", "values", "outcomes"):
        done = answer(run("plot", *PIG, *asked, "--kind", kind, "--to", picture, "--json"))
        assert (done["objective"], picture.stat().st_size > 1000) == ("payoff-at-least:20", True)
        picture.unlink()
    drawn = answer(run("plot", *PIG, *asked, "--kind", "convergence", "--to", picture, "--json"))
    assert drawn["objective"] == "payoff-at-least:20"


def test_states_are_told_as_they_were_written(run):
    state = "mine=0 theirs=0 turn=5"
    result = run("solve", "pig-race", "-p", "goal=10", "--objective", f"reach:{state}")
    assert (result.exit_code, f"objective   reach:{state}\n" in result.output) == (0, True)


def test_wins_in_time(run):
    best = answer(run("solve", "pig-race", "-p", "goal=10", "--objective", "win-within:03", "--json"))
    assert best["objective"] == "win-within:3"
    assert best["value"] == pytest.approx(solve(PigRace(goal=10), Win(3)).value(), abs=1e-12)
    for text, words in [
        ("win-within:0", "give it a positive number of turns"),
        ("win-within:2.5", "write win-within:5"),
        ("win-within", "write win-within:5"),
    ]:
        wrong = run("solve", "pig-race", "--objective", text)
        assert (wrong.exit_code, words in wrong.output) == (2, True), wrong.output
    refused = run("solve", "pig-turn", "--objective", "win-within:2")
    assert (refused.exit_code, "Win is defined where turns are passed" in refused.output) == (1, True)


COIN = """
from mdpdice import Dist, Game, chance, end, go, decide


class Coin(Game):
    def start(self):
        return "start"

    def node(self, state):
        toss = chance(Dist({go("heads; tails"): 1, go("heads"): 3}))
        return decide({"toss": toss}) if state == "start" else end(0)
"""


def test_a_semicolon_within_a_state(run, write):
    coin = f"{write(COIN, 'coin.py')}:Coin"
    both = answer(run("solve", coin, "--objective", r'reach:"heads\; tails"', "--json"))
    either = answer(run("solve", coin, "--objective", r'reach:"heads\; tails";heads', "--json"))
    assert (both["value"], either["value"]) == (0.25, 1.0)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--objective", "discount:0.9"), "did you mean 'discounted'? write total, discounted:0.95"),
        (("--objective", "median"), "until-reward:STATE"),
        (("--objective", "discounted"), "write discounted:0.95"),
        (("--objective", "discounted:"), "write discounted:0.95"),
        (("--objective", "discounted:95"), "95 % is 0.95"),
        (("--objective", "discounted:much"), "'much' is not a number"),
        (("--objective", "discounted:1/0"), "'1/0' is not a number"),
        (("--objective", "total:3"), "write total"),
        (("--objective", "payoff-at-least:x"), "'x' is not a number"),
        (("--objective", "horizon:-1"), "number of decisions (0, 1, 2, ...)"),
        (("--objective", "horizon:2.5"), "number of decisions (0, 1, 2, ...)"),
        (("--objective", "horizon:3", "--horizon", 3), "given twice"),
        (("--objective", "reach:{"), "'{' is not a state: it breaks off"),
        (("--objective", "reach:1"), "--objective reach:1: state 1 is not in this network; similar states"),
        (("--objective", "reach:30;1"), "--objective reach:30;1: state 1 is not in this network"),
        (("--sense", "most"), "'max', 'min'"),
    ],
)
def test_what_is_no_objective(run, args, words):
    result = run("solve", *PIG, *args)
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (("evaluate", *PIG, "--objective", "until-reward:30"), 2, "no value of their own under until-reward:30"),
        (("evaluate", *PIG, "--objective", "payoff-at-least:0"), 2, "a payoff-at-least above 0"),
        (("crosscheck", *PIG, "--objective", "reach:1"), 2, "state 1 is not in this network"),
        (("evaluate", *PIG, "--objective", "reach:1"), 2, "state 1 is not in this network"),
        (("simulate", *PIG, "--policy", "lookahead:1", "--objective", "reach:30"), 2, "know no --objective"),
        (("solve", *PIG, "--solver", "lookahead:1", "--objective", "reach:30"), 1, "leave out the objective"),
        (("solve", "farkle", "-p", "dice=one=1:0:0:0:0:0", "-p", "cap=none", "--objective", "discounted:0.9"), 2,
         "no network can be made for another objective"),
        (("play", *PIG, "--objective", "total"), 2, "No such option"),
    ],
)  # fmt: skip
def test_what_knows_no_objective(run, args, status, words):
    result = run(*args)
    assert result.exit_code == status, result.output
    assert words in " ".join(result.output.split())


def test_policies_of_a_game_too_large_for_a_network(run, monkeypatch):
    monkeypatch.setattr("mdpdice.solving.lattice_route.FALL_BACK_UP_TO_EDGES", 10)
    monkeypatch.setattr("mdpdice.lattices.reachable_layers.LAYERS_FROM_EDGES", 0)
    result = run("evaluate", "pig-race", "-p", "goal=5", "--objective", "reach:mine=0 theirs=0 turn=2")
    assert (result.exit_code, "too many for a policy under an objective" in result.output) == (2, True)


def test_a_game_too_large_for_a_network_is_refused_before_it_is_written_out(run):
    # Yatzy pays on the way: with the sum beside the counters there are hundreds of millions of points.
    result = run("solve", "yatzy", "--objective", "payoff-at-least:1000000")
    assert (result.exit_code, "its sums go up to 1,000,000" in result.output) == (1, True)


def test_advice_says_what_its_values_are(run):
    text = run("advise", "pig-turn", "10", "--objective", "cvar:0.9").output
    assert "(cvar:9/10 at 19)" in text
    text = run("advise", "pig-turn", "10", "--objective", "quantile:0.5", "--sense", "min").output
    assert text.startswith("Roll.")
    assert "(payoff-at-most:0)" in text


@pytest.mark.parametrize("text", ["cvar:0.9", "quantile:0.5", "payoff-at-most:5"])
def test_no_rule_where_a_policy_has_no_value(run, text):
    result = run("explain", "pig-turn", "--objective", text)
    assert (result.exit_code, "policies have no value of their own" in result.output) == (2, True)


def completed(*args):
    *before, beginning = args
    found = ShellComplete(main, {}, "mdpdice", "_MDPDICE_COMPLETE").get_completions(before, beginning)
    return [item.value for item in found]


def test_averages_of_a_game_again_and_again(run):
    asked = ("--repeated", "--objective", "average:0")
    for solver in ("auto", "policy-iteration", "exact"):
        data = answer(run("solve", "pig-turn", *asked, "--solver", solver, "--json"))
        assert data["value"] == pytest.approx(8.141794893727, abs=1e-11)
        assert (data["objective"], data["repeated"]) == ("average:0", True)
    told = run("advise", "pig-turn", "17", *asked).output
    assert told.startswith("Roll.")
    assert "0.527778" in told
    per_decision = answer(run("solve", "pig-turn", "--repeated", "--objective", "average", "--json"))
    assert 2 < per_decision["value"] < data["value"]
    assert answer(run("solve", "pig-turn", "--repeated", "--horizon", "3", "--json"))["summary"] == []


def test_averages_per_class_of_states(run, tmp_path):
    (tmp_path / "wait.py").write_text(
        "import attrs\nfrom mdpdice import Game, decide, go, d6, roll\n\n\n"
        "@attrs.frozen\nclass Turn:\n    pass\n\n\n"
        "@attrs.frozen\nclass Rolled:\n    face: int\n\n\n"
        "class Wait(Game[Turn | Rolled, str]):\n"
        "    def start(self):\n        return Turn()\n\n"
        "    def node(self, state):\n"
        "        if isinstance(state, Turn):\n            return decide({'roll': roll(d6, lambda k: go(Rolled(k)))})\n"
        "        return decide({'take': go(Turn(), reward=state.face)})\n"
    )
    game = f"{tmp_path / 'wait.py'}:Wait"
    assert answer(run("solve", game, "--objective", "average:Turn", "--json"))["value"] == pytest.approx(3.5)
    assert answer(run("solve", game, "--objective", "average", "--json"))["value"] == pytest.approx(1.75)
    assert answer(run("solve", game, "--objective", "average:Turn;Rolled", "--json"))["value"] == pytest.approx(1.75)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--objective", "average:"), "write average, or average:STATE"),
        (("--objective", "average:{"), "is not a state"),
        (("--repeated", "--objective", "average:99"), "nothing is counted"),
    ],
)
def test_averages_that_are_not_said(run, args, words):
    result = run("solve", *PIG, *args)
    assert result.exit_code in (1, 2)
    assert words in result.output


def test_the_shell_completes():
    assert completed("solve", "pig-turn", "--objective", "") == [
        "total", "discounted:", "horizon:", "payoff-at-least:", "payoff-at-most:", "cvar:", "quantile:",
        "average", "reach:", "until-reward:", "win-within:",
    ]  # fmt: skip
    assert completed("evaluate", "pig-turn", "--objective", "r") == ["reach:"]
    assert completed("solve", "pig-turn", "--sense", "m") == ["max", "min"]
    for command in ("tree", "export", "info", "plot"):
        assert completed(command, "pigl") == ["piglet"]


def test_the_help_names_the_forms(run):
    text = " ".join(run("solve", "--help").output.split())
    assert "discounted:0.95" in text
    assert "payoff-at-least:1000" in text
    assert explore(GAME).n_states == 45
