"""Games in which nature picks the die, on the command line."""

from __future__ import annotations

import json

import pytest

from mdpdice.cli.catalogue import find_game
from mdpdice.cli.seats import for_two

PIG = """
    import attrs
    from mdpdice import Counter, Dist, Game, d6, decide, end, go, pass_to, uncertain, when

    LOADED = Dist({1: 2, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1})

    @attrs.frozen
    class Pig(Game):
        cap: int = 40

        def start(self):
            return 0

        def node(self, points):
            if points >= self.cap:
                return end(points)
            rolled = uncertain(d6, LOADED, then=lambda k: end() if k == 1 else go(points + k))
            return decide({"hold": end(points), "roll": rolled})

    class Race(Game):
        total = 1
        mine, theirs, turn = Counter(range(8)), Counter(range(8)), Counter(range(14))

        def start(self):
            return "turn"

        def node(self, state):
            mine, theirs, turn = self.mine, self.theirs, self.turn
            lost = pass_to(state, mine.set(theirs), theirs.set(mine), turn.set(0))
            rolled = uncertain(d6, LOADED, then=lambda k: lost if k == 1 else go(state, turn.add(k)))
            hold = pass_to(state, mine.set(theirs), theirs.set(mine + turn), turn.set(0))
            return when(mine + turn >= 8, end(1), decide({"roll": rolled, "hold": hold}))
"""


@pytest.fixture
def pig(write):
    return f"{write(PIG)}:Pig"


def test_solve_says_what_each_die_is_worth(run, pig):
    data = json.loads(run("solve", pig, "--json").output)
    assert data["value"] == pytest.approx(4.426369964896, abs=1e-11)
    assert data["notes"] == [
        "the value is a lower bound for dice that are fixed, but unknown: nature picks again every time",
        "with the same every time, and known: die 1 8.141794894, die 2 4.426369965",
    ]
    data = json.loads(run("solve", pig, "--json", "--horizon", 2, "--solver", "exact").output)
    # With two decisions: roll once, and hold.
    assert data["notes"][1] == "with the same every time, and known: die 1 3.333333333, die 2 2.857142857"


def test_play(run, pig):
    played = run("play", pig, "--seats", "optimal", "--seed", 3)
    assert played.exit_code == 0
    assert "roll (worth 4.426) → nature: die 2, 1" in played.output
    events = json.loads(run("play", pig, "--seats", "random", "--seed", 3, "--json").stdout)["events"]
    assert {event["dice"] for event in events if event["event"] == "nature"} <= {"die 2"}


def test_nature_is_no_player(write, pig):
    assert not for_two(find_game(pig)())
    assert for_two(find_game(f"{write(PIG)}:Race")())


def test_a_race(run, write):
    game = f"{write(PIG)}:Race"
    assert json.loads(run("solve", game, "--json").output)["notes"] == [
        "with the same every time, and known: die 1 0.7380410023, die 2 0.6445637584"
    ]
    played = run("play", game, "--seats", "optimal,optimal", "--seed", 1)
    assert played.exit_code == 0
    assert "nature: die 2" in played.output


def test_tree_and_advice(run, pig):
    shown = run("tree", pig, "4", "--depth", 1, "--best").output
    assert "* nature: die 2: 6.1458" in shown
    assert "die 1" not in shown
    assert "* roll  6.145772595" in run("advise", pig, "4").output


def test_a_page_refuses_it(run, pig, tmp_path):
    refused = run("export", pig, "--to", tmp_path / "pig.html")
    assert refused.exit_code != 0
    assert "nature picks some of its dice" in refused.output


def test_a_policy_against_nature(run, pig):
    alone = run("evaluate", pig, "--policy", "lookahead:1")
    assert alone.exit_code != 0
    both = json.loads(run("evaluate", pig, "--policy", "random", "--against", "optimal", "--json").stdout)
    assert 0 < both["value"] < 4.42
    mean = json.loads(run("simulate", pig, "--plays", 2000, "--seed", 1, "--json").stdout)
    assert abs(mean["mean"] - 4.426369964896) < 4 * mean["standard_error"]
