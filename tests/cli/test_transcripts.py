"""What people read of every shipped game and of four others: words, and nothing of the modeller's language."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TRIALS = Path(__file__).parents[1] / "helpers" / "trial_games.py"
CODE = re.compile(r"Menu\.of|At\(|Keep\(|[{}]")

# Name, parameters, and whether a table of all decisions is small enough to be shown.
SMALL = {
    "farkle": ("dice=2", "cap=600"),
    "farkle-race": ("dice=2", "target=300"),
    "konijnenhokken": ("dice=3", "t_max=12"),
    "konijnenhokken-race": ("dice=3", "target=5"),
    "knucklebones": ("columns=2", "rows=1"),
    "pig-turn": (),
    "pig-race": ("goal=20",),
    "piglet": ("goal=3",),
    "school": ("open=pair,poker",),
    "school-combination": ("combination=pair",),
    f"{TRIALS}:ShutTheBox": ("tiles=4",),
    f"{TRIALS}:Threes": (),
    f"{TRIALS}:TwoDicePig": ("goal=15",),
    f"{TRIALS}:Hog": ("goal=12",),
}
LARGE = ("yahtzee", "yatzy", "knucklebones", "school")


def parameters(pairs):
    return [word for pair in pairs for word in ("-p", pair)]


def ids(name):
    return name.rpartition(":")[2]


@pytest.mark.parametrize("name", SMALL, ids=ids)
@pytest.mark.parametrize("command", ["play", "tree", "policy", "evaluate"])
def test_words_only(run, name, command):
    more = {
        "play": ["--seats", "random", "--seed", "3", "--rounds", "2"],
        "tree": ["-d", "1"],
        "policy": [],
        "evaluate": ["--policy", "random"],
    }[command]
    answer = run(command, name, *parameters(SMALL[name]), *more)
    assert answer.exit_code == 0, answer.output
    assert len(answer.output.splitlines()) > 3
    assert not CODE.search(answer.output), answer.output


@pytest.mark.parametrize("name", SMALL, ids=ids)
def test_advice_in_words(run, name):
    from mdpdice import explore, solve
    from mdpdice.cli.catalogue import find_game
    from mdpdice.cli.game_parameters import build_game
    from mdpdice.looks import look_of

    game, _ = build_game(name, find_game(name), SMALL[name])
    decisions = solve(explore(game)).decisions().states
    shown = look_of(game)
    for state in decisions[:: max(1, len(decisions) // 3)][:3]:
        answer = run("advise", name, shown.show_state(state), *parameters(SMALL[name]))
        assert answer.exit_code == 0, answer.output
        assert not CODE.search(answer.output), answer.output


@pytest.mark.parametrize("name", LARGE)
def test_games_too_large_for_a_table(run, name):
    played = run("play", name, "--seats", "random", "--seed", "3")
    assert played.exit_code == 0
    assert not CODE.search(played.output)
    refused = run("policy", name, "--max-states", "1000")
    assert refused.exit_code != 0
    assert not CODE.search(refused.output)
