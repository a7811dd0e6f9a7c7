"""``mdpdice policy --rows --cols --where --to``: strategies to pin to a wall."""

from __future__ import annotations

import csv
import io
import re
import xml.etree.ElementTree as ET

import pytest

from mdpdice import At, explore, solve
from mdpdice.games.pig import PigRace
from mdpdice.games.school import School
from mdpdice.games.yahtzee import Yahtzee
from mdpdice.looks import look_of

GAME = """
    import attrs
    from mdpdice import Game, decide, end, go, roll, die

    @attrs.frozen
    class Hand:
        total: int
        soft: bool
        up: int

    class Cards(Game[Hand | str, str]):
        def start(self):
            return "deal"

        def node(self, state):
            if state == "deal":
                return roll(die(2), lambda soft: roll(die(3), lambda up: go(Hand(0, soft == 2, up))))
            if state.total > 6:
                return end(-1)
            limit = state.total + state.up
            return decide({
                "hit": roll(die(3), lambda card: go(Hand(state.total + card, state.soft and card > 1, state.up))),
                "stand": end(limit / 2 if state.soft else limit),
            })
"""
CARD = ("--rows", "total", "--cols", "up", "--where", "soft=false")


@pytest.fixture
def cards(write):
    return f"{write(GAME)}:Cards"


def test_a_card_says_what_the_solution_does(run, cards, tmp_path):
    text = run("policy", cards, *CARD).output
    assert "total down, up across, soft=no" in text
    listed = tmp_path / "card.csv"
    assert run("policy", cards, *CARD, "--to", listed).exit_code == 0
    rows = list(csv.DictReader(io.StringIO(listed.read_text())))
    assert set(rows[0]) == {"state", "action", "value", "total", "soft", "up"}
    assert {row["soft"] for row in rows} == {"no"}
    shown = {}
    lines = text.splitlines()
    head = next(at for at, line in enumerate(lines) if line.startswith("total \\ up"))
    for line in lines[head + 1 :]:
        total, *actions = line.split()
        shown |= {(total, str(up)): action for up, action in enumerate(actions, start=1)}
    assert shown == {(row["total"], row["up"]): row["action"] for row in rows}
    assert len(set(shown.values())) == 2
    # What was written is a policy.
    whole = tmp_path / "all.csv"
    run("policy", cards, "--table", "decisions", "--to", whole)
    values = [
        re.search(r"value +(\S+)", run("evaluate", cards, "--policy", name).output)[1] for name in (whole, "optimal")
    ]
    assert float(values[0]) == pytest.approx(float(values[1]), abs=1e-12)


@pytest.mark.parametrize("form", ["txt", "md", "html", "svg", "pdf"])
def test_forms_of_a_card(run, cards, tmp_path, form):
    path = tmp_path / f"card.{form}"
    result = run("policy", cards, *CARD, "--to", path)
    assert result.exit_code == 0, result.output
    if form == "pdf":
        assert path.read_bytes().startswith(b"%PDF")
        return
    text = path.read_text(encoding="utf-8")
    if form == "md":
        assert re.search(r"\| 0 \| hit \|", text)
    elif form == "html":
        assert "@page" in text
        assert '<td style="background:' in text
        assert "http" not in text
    elif form == "svg":
        assert ET.fromstring(text).get("width") == "595.44pt"
    else:
        assert "Optimal play is worth" in text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--cols", "up"), "--cols goes with --rows"),
        (("--rows", "points"), "no state has the fields points; the fields are"),
        (("--rows", "total", "--where", "up=9"), "no decision has"),
        (("--rows", "total", "--where", "up"), "write NAME=VALUE"),
        (("--rows", "total", "--table", "x"), "take no --table"),
        (("--to", "card.docx"), "write a file that ends in .txt"),
    ],
)
def test_cards_that_cannot_be(run, cards, more, message):
    result = run("policy", cards, *more)
    assert result.exit_code in {1, 2}
    assert message in result.output


def test_a_cell_tells_from_where_on(run):
    """One number is left, so a cell of Pig's race is the threshold."""
    solution = solve(explore(PigRace(goal=60)))
    text = run("policy", "pig-race", "-p", "goal=60", "--rows", "mine", "--cols", "theirs").output.splitlines()
    head = next(at for at, line in enumerate(text) if line.startswith("mine \\ theirs"))
    across = text[head].split()[3:]
    checked = 0
    for line in text[head + 1 :]:
        mine = line.split()[0]
        places = [found.start() for found in re.finditer(r"\d+", text[head])]
        cells = [line[at:].split("  ")[0].strip() for at in places]
        for theirs, cell in zip(across, cells, strict=True):
            if found := re.fullmatch(r"hold (\d+)(?:\+|-(\d+))", cell):
                first = int(found[1])
                at = {"mine": int(mine), "theirs": int(theirs)}
                assert solution.action(At("play", **at, turn=first)) == "hold"
                assert solution.action(At("play", **at, turn=first - 1)) == "roll"
                checked += 1
    assert checked > 20


def test_what_open_boxes_are_worth():
    game = School(open="grade-6,pair,poker")
    (table,) = look_of(game).tables(solve(game))
    worth = {row[0]: row[1:] for row in table.rows}
    for name, (_, last) in worth.items():
        assert last == pytest.approx(solve(School(open=name)).value(), abs=1e-9)
    assert worth["pair"][0] > worth["pair"][1] > 0
    assert look_of(Yahtzee()).tables(None) == []


def test_the_card_of_farkle(run):
    text = run("policy", "farkle").output
    # Two ones of six dice: one is kept and five are rolled, until 2050 points are at risk.
    assert re.search(r"^1 1 - - - - +1 +100 +5 +2050$", text, re.MULTILINE)
    for points, told in ((2000, "set aside one of the 1s for 100"), (2050, "bank")):
        advice = run("advise", "farkle", "roll=1,1,2,2,3,3", f"points={points}").output
        assert told in advice.lower().splitlines()[0]
    summary = run("solve", "farkle").output
    name = re.search(r"threshold:[0-9,]+", summary)[0]
    value = re.search(r"value +(\S+)", run("evaluate", "farkle", "--policy", name).output)[1]
    assert float(value) == pytest.approx(float(re.search(r"value +(\S+)", summary)[1]), abs=1e-9)
