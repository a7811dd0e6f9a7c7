"""Printed trees, and the search that should see the same."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner

from mdpdice import At, Counter, Dist, Game, decide, end, go, pass_to, roll, solve
from mdpdice.cli import main
from mdpdice.errors import GameError, StateLimitError
from mdpdice.games.knucklebones import Facing, Knucklebones, Rolled
from mdpdice.looks import look_of
from mdpdice.policies.game_tree import tree
from mdpdice.solvers.lookahead import Lookahead


@pytest.mark.parametrize("payoff", ["win", "points"])
@pytest.mark.parametrize("text", ["6 35_/___/___ __4/__4/___", "2 661/142/62_ 256/1_2/62_", "661/142/62_ 256/1_2/62_"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_tree_and_the_search_agree(payoff, text, depth):
    game = Knucklebones(payoff=payoff)
    state = look_of(game).read_state(text)
    grown = tree(game, state, depth=depth)
    found = solve(game.at(state), solver=Lookahead(depth=depth))
    assert grown.value == pytest.approx(found.estimate(), abs=1e-12)
    assert grown.state == look_of(game).show_state(state)
    if isinstance(state, Rolled):
        values = {child.label: child.value for child in grown.children}
        assert values == pytest.approx(found.q(state), abs=1e-12)
        assert grown.decides == "mover"
        assert next(child.label for child in grown.children if child.best) == found.action(state)
    else:
        assert [child.probability for child in grown.children] == [Fraction(1, 6)] * 6


def test_both_sides_are_told_apart():
    game = Game.of(
        start="mine",
        total=1,
        node=lambda state: {
            "mine": decide({"stop": end(0.25), "pass": pass_to("theirs")}),
            "theirs": roll(Dist({"a": 1, "b": 2}), lambda side: end(1) if side == "a" else go("again")),
            "again": decide({"keep": go("late"), "back": pass_to("mine")}),
            "late": decide({"on": end(0.5)}),
        }[state],
    )
    grown = tree(game, depth=2)
    assert list(grown.lines()) == [
        "mine: 0.3333",
        "    you stop: 0.2500 end",
        "  * you pass: 0.3333",
        "      a (1/3): 0.0000 end",
        "      b (2/3): 0.5000",
        "      * they keep: 0.5000 estimate",
        "      * they back: 0.5000 estimate",
    ]
    assert list(grown.lines(best=True))[1] == "  * you pass: 0.3333"


def test_the_minimiser_takes_the_smallest():
    game = Game.of(
        start=0,
        node=lambda state: (
            decide({"a": end(3), "b": end(1), "c": end(1)}, player=1)
            if state
            else decide({"on": go(1, reward=2), "off": end(2.5)})
        ),
    )
    grown = tree(game)
    assert list(grown.lines()) == [
        "0: 3.0000",
        "  * you on: 3.0000",
        "      they a: 3.0000 end",
        "    * they b: 1.0000 end",
        "    * they c: 1.0000 end",
        "    you off: 2.5000 end",
    ]


def test_rewards_and_discount():
    class Paid(Game):
        discount = 0.5

        def start(self):
            return 0

        def node(self, state, /):
            inner = roll(Dist({1: 1, 3: 1}), lambda k: go(state + k, reward=k), reward=4)
            return decide({"on": inner, "stop": end(1)}) if state < 4 else end(state)

        def estimate(self, state):
            return 1.0

    for depth in (1, 2, 3, 4):
        assert tree(Paid(), depth=depth).value == pytest.approx(
            solve(Paid(), solver=Lookahead(depth=depth)).estimate(), abs=1e-12
        )


def test_counters():
    class Climb(Game):
        points = Counter(range(5))

        def start(self):
            return "here"

        def node(self, state, /):
            return decide({"stop": end(self.points), "on": go("here", self.points.add(1))})

    grown = tree(Climb(), At("here", points=2), depth=1)
    assert [child.value for child in grown.children] == [2, 0]


def test_limits():
    with pytest.raises(StateLimitError, match="max_places=50"):
        tree(Knucklebones(), depth=3, max_places=50)
    with pytest.raises(GameError, match="number of decisions"):
        tree(Knucklebones(), depth=-1)
    climb = Game.of(start=0, node=lambda n: roll(Dist({0: 1, 1: 1}), lambda k: go(n + 1) if k else end()))
    with pytest.raises(StateLimitError):
        tree(climb, max_places=100)
    with pytest.raises(GameError, match=r"raised ZeroDivisionError"):
        tree(Game.of(start=0, node=lambda n: 1 / n))
    with pytest.raises(GameError):
        tree(Game.of(start=0, node=lambda n: 5))


def test_depth_nothing_is_an_estimate():
    game = Knucklebones()
    grown = tree(game, depth=0)
    assert (grown.leaf, grown.children) == ("estimate", ())
    assert grown.value == game.estimate(game.start())


# --- on the command line ------------------------------------------------------------------------


def run(*args):
    return CliRunner().invoke(main, list(args))


def test_command_tree():
    result = run("tree", "knucklebones", "-d", "1", "5", "___/_2_/___", "__3/__3/___")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0].startswith("5 _2_/___/___ __3/__3/___: ")
    assert [line.partition(":")[0] for line in lines[1:4]] == [f"  * you column {column}" for column in (1, 2, 3)]
    assert lines[4:] == ["note: the game is too large to be solved, so what lies beyond is estimated"]


def test_command_tree_as_the_public_program_is_called():
    boards = '"___\n_2_\n___"\n\n"__3\n___\n__3"'
    same = [run("tree", "knucklebones", "-d", "2", *words).output for words in (("5", boards), (boards, "5"))]
    assert same[0] == same[1]
    assert same[0].count("they") > 10


def test_command_tree_in_json():
    result = run("tree", "knucklebones", "-p", "columns=1", "-p", "rows=2", "-d", "1", "--json", "4", "1/_", "_/_")
    data = json.loads(result.output)
    assert data["depth"] == 1
    assert data["tree"]["state"] == "4 1/_ _/_"
    assert data["tree"]["best"] == ["1"]
    assert data["tree"]["children"] == [{"value": 1.0, "label": "1", "leaf": "end"}]


def test_command_tree_from_the_start_and_of_best_options():
    whole = run("tree", "pig-turn", "-d", "2").output.splitlines()
    best = run("tree", "pig-turn", "-d", "2", "--best").output.splitlines()
    assert whole[0] == best[0]
    assert len(best) < len(whole)
    assert set(best) <= set(whole)


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (["tree", "knucklebones", "7", "___"], "is not a position"),
        (["tree", "knucklebones", "-d", "-1"], "-1 is not in the range"),
        (["tree", "no-such-game"], "no game is called"),
        (["advise", "knucklebones", "--solver", "lookahead:0", "___/___/___", "___/___/___"], "lookahead:DEPTH"),
        (["solve", "pig-turn", "--solver", "exact:3"], "lookahead:DEPTH"),
        (["solve", "pig-turn", "--solver", "nobody:3"], "no solver is called"),
    ],
)
def test_wrong_usage(args, what):
    result = run(*args)
    assert result.exit_code == 2
    assert what in result.output


def test_advice_by_looking_ahead():
    text = "6 _4/2_ 66/_5"
    result = run(
        *("advise", "knucklebones", "-p", "columns=2", "-p", "rows=2"),
        *(*text.split(), "--solver", "lookahead:3", "--json"),
    )
    assert result.exit_code == 1  # nothing is proved
    data = json.loads(result.output)
    assert data["status"] == "estimate"
    assert data["value"] is None
    game = Knucklebones(columns=2, rows=2)
    state = look_of(game).read_state(text)
    found = solve(game.at(state), solver=Lookahead(depth=3))
    assert data["estimate"] == found.estimate()
    assert data["state"] == look_of(game).show_state(state)  # not a representative
    assert data["action"] == found.action()
    shown = run("solve", "knucklebones", "--solver", "lookahead:1").output
    assert "an estimate from 1 decision ahead" in shown
    assert "to search" in shown


def test_a_roll_to_come_has_no_best_action():
    result = run("advise", "knucklebones", "--solver", "lookahead:1", "__6/___/___", "___/___/___")
    assert "no decision here" in result.output
    game = Knucklebones()
    state = Facing(((), (), (6,)), ((), (), ()))
    assert f"{solve(game.at(state), solver=Lookahead(depth=1)).estimate():.6f}" in result.output
