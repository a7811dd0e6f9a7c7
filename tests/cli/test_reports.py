"""``mdpdice report`` and ``mdpdice explain``."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

import mdpdice
from mdpdice.games.pig import PigTurn

PARTS = [
    "What was asked",
    "The answer",
    "Cross-check",
    "Strategy",
    "Pictures",
    "How the total of a play is spread",
    "What could be wrong",
    "How to cite",
    "The commands that made it",
]


class Page(HTMLParser):
    """Headings, texts and addresses of a page, and whether its tags are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.text, self.sources = [], [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag not in {"meta", "img"}:
            self.open.append(tag)
        self.sources += [value for name, value in attrs if name in {"src", "href"}]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)
        self.text.append(data)


def page(run, tmp_path, *call, status=0):
    path = tmp_path / "report.html"
    result = run("report", *call, "--to", path)
    assert result.exit_code == status, result.output
    return Page(path.read_text(encoding="utf-8"))


def test_a_report(run, tmp_path):
    found = page(run, tmp_path, "pig-turn", "-p", "cap=60")
    assert found.headings == PARTS
    text = " ".join(found.text)
    assert f"{mdpdice.solve(PigTurn(cap=60)).value():.10g}"[:9] in text
    assert "agree and certified" in text
    assert "mdpdice crosscheck pig-turn -p cap=60" in text
    assert "standard deviation" in text
    # One file: pictures are in it, and nothing is loaded.
    assert len(found.sources) == 3
    assert all(source.startswith("data:image/svg+xml;base64,") for source in found.sources)


def test_a_report_of_ones_own_game(run, tmp_path, pig):
    assert page(run, tmp_path, pig, "--horizon", 3).headings == PARTS
    found = page(run, tmp_path, pig, "--objective", "payoff-at-least:10")
    assert "totals are not what counts" in " ".join(found.text)


def test_a_report_of_a_large_game(run, tmp_path):
    text = " ".join(page(run, tmp_path, "school").text)
    assert "Left out: other solvers need a network." in text
    assert "what an open combination is worth" in text


@pytest.mark.filterwarnings("ignore:solver 'absent' could not be loaded")
def test_a_report_that_is_not_proved(run, tmp_path, pig, plug_in):
    text = " ".join(page(run, tmp_path, pig, "--solver", "too-high", status=1).text)
    assert "The answer is not proved" in text


def test_a_report_has_an_ending(run, tmp_path):
    assert "ends in .html" in run("report", "pig-turn", "--to", tmp_path / "report.pdf").output
    assert run("report", "pig-turn").exit_code == 2


def test_a_rule_is_a_policy(run, tmp_path):
    path = tmp_path / "rule.npz"
    told = run("explain", "pig-turn", "--size", 1, "--to", path)
    assert "1. hold from 20\n   otherwise roll\n" in told.output
    data = json.loads(run("explain", "farkle", "-p", "cap=1000", "--size", 2, "--to", path, "--json").output)
    assert len(data["lines"]) == 3
    assert 0 < data["loss"] == pytest.approx(data["value"] - data["rule"]["value"])
    worth = json.loads(run("evaluate", "farkle", "-p", "cap=1000", "--policy", path, "--json").output)
    assert worth["value"] == pytest.approx(data["rule"]["value"], abs=1e-9)


def test_a_rule_for_two(run):
    text = run("explain", "pig-race", "-p", "goal=20", "--size", 1).output
    assert "the rule is that of the one who starts" in text


def test_what_explain_refuses(run):
    assert "leave out --horizon" in run("explain", "pig-turn", "--horizon", 3).output
    refused = run("explain", "yahtzee")
    assert refused.exit_code == 2
    assert "explain what is ahead of one with --at STATE" in refused.output
    assert run("explain", "pig-turn", "--at", "19", "--size", 1).exit_code == 0
