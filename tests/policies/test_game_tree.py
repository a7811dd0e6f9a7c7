"""Trees with the values of a solution, what is shown of them, and the page."""

from __future__ import annotations

import html.parser
import json

import pytest
from click.testing import CliRunner

from mdpdice import Dist, Game, Total, d6, decide, end, go, product, roll, solve
from mdpdice.cli import main
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.knucklebones import Knucklebones, Rolled
from mdpdice.games.pig import PigRace, PigTurn
from mdpdice.looks import look_of
from mdpdice.policies.game_tree import tree
from mdpdice.policies.tree_page import page

TWO = product(d6, d6).map(sum)


class PassLine(Game):
    """Bet on the pass line."""

    def start(self):
        return "come out"

    def node(self, state):
        if state == "come out":
            return roll(TWO, lambda k: end(1) if k in (7, 11) else end(-1) if k in (2, 3, 12) else go(k))
        return roll(TWO, lambda k: end(1) if k == state else end(-1) if k == 7 else go(state))


def run(*args):
    return CliRunner().invoke(main, list(args))


def best_words(grown):
    return [child.words for child in grown.children if child.best]


def test_leaves_have_the_values_of_the_solution():
    solution = solve(PigTurn())
    for state in (0, 15, 19, 20, 30):
        for depth in (0, 1, 3):
            grown = tree(PigTurn(), state, depth=depth, solution=solution)
            assert grown.value == pytest.approx(solution.value(state), rel=1e-12)
        assert [child.label for child in grown.children if child.best] == solution.ties(state)
    leaves = [child.leaf for child in tree(PigTurn(), 15, depth=1, solution=solution).children[1].children]
    assert leaves == ["end", *["value"] * 5]


def test_values_of_the_other_player_and_of_a_lattice():
    game = PigRace(goal=20)
    solution = solve(game)
    state = look_of(game).read_state("mine=10 theirs=12 turn=4")
    for depth in (1, 2, 3):
        assert tree(game, state, depth=depth, solution=solution).value == pytest.approx(solution.value(state))


def test_states_that_symmetry_makes_equal():
    game = Knucklebones(columns=2, rows=1)
    solution = solve(game)
    state = Rolled(3, ((5,), ()), ((), (2,)))
    assert game.canonical(state) != state
    assert not solution.reaches(state)
    for depth in (0, 1, 2):
        assert tree(game, state, depth=depth, solution=solution).value == pytest.approx(solution.value(state))
        assert "estimate" not in "".join(tree(game, state, depth=depth, solution=solution).lines())


def test_a_discount_that_chance_before_the_first_decision_does_not_take():
    game = Game.of(
        start="roll",
        discount=0.5,
        node=lambda state: (
            roll(Dist({1: 1, 2: 1}), go)
            if state == "roll"
            else decide({"again": go("roll", reward=1), "stop": end(state)})
        ),
    )
    solution = solve(game)
    for depth in (0, 1, 2, 3):
        assert tree(game, depth=depth, solution=solution).value == pytest.approx(solution.value())


def test_where_the_solution_knows_nothing_the_estimate_counts():
    grown = tree(PigTurn(), 15, depth=0, solution=solve(Game.of(start="else", node=lambda _: end())))
    assert (grown.leaf, grown.value) == ("estimate", 0.0)


def test_little_is_wanted():
    class Golf(Game):
        sense = "min"

        def start(self):
            return 0

        def node(self, state):
            return decide({"long": end(3), "short": go(1)} if not state else {"on": end(2), "off": end(4)})

    grown = tree(Golf())
    assert (grown.value, best_words(grown), grown.decides) == (2.0, ["short"], "mover")
    game = Game.of(start=0, node=lambda _: decide({"a": end(1), "b": end(2)}))
    assert best_words(tree(game, solution=solve(game, Total(sense="min")))) == ["a"]


def test_infinite_values_are_told_apart():
    game = Game.of(start=0, node=lambda _: decide({"on": go(0, reward=1), "off": end(5)}))
    grown = tree(game, depth=1, solution=solve(game))
    assert (grown.value, best_words(grown)) == (float("inf"), ["on"])
    assert grown.to_json()["value"] == "inf"


# --- chance ---------------------------------------------------------------------------------------


def test_chance_that_comes_again_is_cut():
    solution = solve(PassLine())
    grown = tree(PassLine(), depth=2, solution=solution)
    assert grown.value == pytest.approx(-7 / 495)
    assert len(list(grown.lines())) == 1 + 11 + 6 * 11
    four = next(child for child in grown.children if child.label == 4)
    assert [child.leaf for child in four.children].count("again") == 9
    again = [child.value for child in four.children if child.leaf == "again"]
    assert again == pytest.approx([four.value] * 9)
    # Without a solution it is estimated: one roll of a point, and nothing from the second on.
    points = {4: 3 - 6, 5: 4 - 6, 6: 5 - 6, 8: 5 - 6, 9: 4 - 6, 10: 3 - 6}
    ways = {4: 3, 5: 4, 6: 5, 8: 5, 9: 4, 10: 3}
    guess = (8 - 4) / 36 + sum(ways[k] / 36 * points[k] / 36 for k in points)
    assert tree(PassLine(), depth=2).value == pytest.approx(guess)


def test_what_comes_again_on_another_path_is_followed():
    game = Game.of(
        start="top",
        node=lambda state: {
            "top": roll(Dist({"left": 1, "right": 1}), go),
            "left": go("both"),
            "right": go("both"),
            "both": end(7),
        }[state],
    )
    assert tree(game).value == 7
    assert "again" not in "".join(tree(game).lines())


def test_outcomes_are_rolls_and_only_the_likeliest_are_shown():
    game = KcdFarkle(cap=300)
    grown = tree(game, depth=1)
    shown = list(grown.lines())
    assert shown[1] == "    2 2 3 3 4 6: bust (3.09 %): 0.0000 end"
    assert shown[2].startswith("    1 2 2 3 5 6 (9.26 %): ")
    assert sum(line.startswith(("    1", "    2")) for line in shown) == 12
    assert shown[-1] == "    and 108 more, together 37.8 %"
    assert any("you set aside the 1 for 100; 100 at risk, roll five dice" in line for line in shown)
    everything = list(grown.lines(max_outcomes=120))
    assert "more, together" not in everything[-1]
    assert not any(word in line for line in everything for word in ("Menu", "At(", "Keep", "{"))
    assert len(json.dumps(grown.to_json())) > 10_000


# --- the page -------------------------------------------------------------------------------------


class Reader(html.parser.HTMLParser):
    """Checks that tags are closed in order, and notes them."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def read(text):
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    return reader


def test_the_page_folds_out():
    grown = tree(PigTurn(), 15, depth=2, solution=solve(PigTurn()))
    text = page(grown.rows(), "pig-turn", ["Pig."], ["a note"])
    reader = read(text)
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    for tag, times in {"title": 1, "h1": 1, "h2": 1, "main": 1, "details": 1 + 5 + 5, "script": 0, "link": 0}.items():
        assert reader.tags.count(tag) == times, tag
    assert "http" not in text
    for words in ("15: 16.0046", "you roll ★ best", "you hold 15 points", "1: bust", "1/6", "a note"):
        assert words in reader.text, words


def test_the_page_escapes():
    game = Game.of(start="<i>", node=lambda _: decide({"<b>&": roll(Dist({"<u>": 1, "x": 1}), lambda k: end(1))}))
    text = page(tree(game).rows(), "<script>", ["<about>"], ["<note>"])
    reader = read(text)
    assert not {"script", "i", "u", "about", "note"} & set(reader.tags)
    assert "<b>&" in reader.text
    assert read(page(tree(game, depth=0).rows(), "one", [])).tags.count("details") == 0


# --- the command ----------------------------------------------------------------------------------


def test_the_command_solves():
    data = json.loads(run("tree", "pig-turn", "15", "-d", "1", "--json").output)
    assert data["tree"]["best"] == ["roll"]
    assert data["notes"] == []
    assert "  * you roll: 16.0046" in run("tree", "pig-turn", "15", "-d", "1").output.splitlines()
    assert "  * you hold 15 points" in run("tree", "pig-turn", "15", "-d", "1", "--no-solve").output


def test_the_command_and_the_advice_agree():
    small, state = ("farkle", "-p", "cap=1000"), ("roll=1,1,5", "points=300")
    told = json.loads(run("advise", *small, *state, "--json").output)
    grown = json.loads(run("tree", *small, "-d", "1", "--json", *state).output)["tree"]
    assert grown["value"] == pytest.approx(told["value"])
    # A position that no play comes to is solved from there on.
    lone = run("tree", *small, "-d", "1", "--best", "roll=1,1,5").output.splitlines()
    assert lone[1].startswith("  * you set aside both 1s and the 5 for 250; 250 at risk, roll all six dice: ")
    assert lone[1].endswith(" value")


def test_the_command_writes_a_page(tmp_path):
    path = tmp_path / "tree.html"
    assert run("tree", "pig-turn", "15", "-d", "1", "--to", str(path)).output.startswith(f"{path}: ")
    assert "★ best" in read(path.read_text(encoding="utf-8")).text


def test_the_command_names_its_own_limits():
    result = run("tree", "pig-turn", "-d", "3", "--max-lines", "20")
    assert result.exit_code == 1
    assert "the tree has more lines than --max-lines 20; look less far ahead, or raise it" in " ".join(
        result.output.split()
    )
    large = run("tree", "pig-turn", "15", "-d", "1", "--max-states", "10", "--no-cache").output
    assert large.endswith("note: the game is too large to be solved, so what lies beyond is estimated\n")
    assert run("tree", "pig-turn", "15", "-d", "1", "--max-outcomes", "2").output.splitlines()[-1] == (
        "      and 4 more, together 66.7 %"
    )
