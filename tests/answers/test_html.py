"""What a notebook shows of networks, solutions and reports, and solutions as data frames."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser

import pytest

from mdpdice import Game, compile_lattice, cross_check, decide, end, errors, explore, go, roll, solve, uniform
from mdpdice.games.pig import PigRace, PigTurn, position


class Tables(HTMLParser):
    """Rows of cells, and every tag."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.open = [], [], []
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.fixture(scope="module")
def odd():
    """A game whose states, actions and messages would break a page that does not escape them."""
    return Game.of(
        start="<b>&start",
        node=lambda s: decide({"<script>alert(1)</script>": go("x"), '"': end(1)}) if s != "x" else end(2),
    )


def test_a_network(odd):
    shown = Tables(explore(odd)._repr_html_())
    rows = {row[0]: row[1] for row in shown.rows}
    assert rows["states"] == "2"
    assert rows["nodes"] == "3: 2 END, 1 MAX"
    assert rows["start"] == "<b>&start"
    assert "horizon" not in rows
    assert "script" not in shown.tags
    race = {row[0]: row[1] for row in Tables(explore(PigRace(goal=5))._repr_html_()).rows}
    assert (race["players"], race["payoffs sum to"]) == ("2", "1")


def test_a_solution(odd):
    solution = solve(odd)
    shown = Tables(solution._repr_html_())
    rows = {row[0]: row[1] for row in shown.rows if len(row) == 2}
    assert rows["value"] == "2"
    assert rows["status"] == "certified"
    assert "reason" not in rows
    # In the words of the look, which puts a text with such signs in quotes.
    assert ['"<b>&start"', "<script>alert(1)</script>", "2"] in shown.rows
    assert "script" not in shown.tags
    long = [row for row in Tables(solve(PigTurn())._repr_html_()).rows if len(row) == 3]
    assert len(long) == 11
    staged = solve(PigTurn(cap=12), horizon=3)
    assert ["0", "roll", f"{staged.value():.12g}"] in Tables(staged._repr_html_()).rows
    assert "the first decisions" not in solve(PigTurn(cap=12), horizon=0)._repr_html_()


def test_a_report(odd):
    report = cross_check(odd)
    shown = Tables(report._repr_html_())
    assert "Cross-check: agree and certified" in report._repr_html_()
    for entry in report.entries:
        (row,) = [row for row in shown.rows if row[0] == entry.solver]
        assert row[1] == (entry.outcome if entry.solution is None else entry.solution.status.value)
        if entry.solution is not None:
            assert row[2:5] == ["2", "2", "2"]
    rows = {row[0]: row[1] for row in shown.rows if len(row) == 2}
    assert rows["states"] == f"{report.states:,}"
    alone = cross_check(odd, solvers=["exact"])
    assert "NOT OK" in alone._repr_html_()
    assert "agreement needs two" in alone._repr_html_()


def test_a_data_frame():
    solution = solve(PigRace(goal=8))
    frame = solution.to_dataframe()
    network = solution.network
    assert len(frame) == network.n_states
    assert list(frame.columns[:6]) == ["state", "kind", "value", "lower", "upper", "action"]
    row = frame[(frame.mine == 2) & (frame.theirs == 3) & (frame.turn == 2)].iloc[0]
    state = position(2, 3, 2)
    assert row.state == state
    assert row.value == solution.value(state)
    assert row.lower == solution.lower(state)
    assert row.upper == solution.upper(state)
    assert row.action == solution.action(state)
    assert row.kind == "MAX"


def test_a_data_frame_of_decisions_and_stages():
    game = Game.of(
        start=("a", 0),
        node=lambda s: decide({"x": go((s[0], s[1] + 1)), ("y", 1): roll(uniform([1, 2]), end)})
        if s[1] < 3 else end(9),
    )  # fmt: skip
    solution = solve(game, horizon=2)
    frame = solution.to_dataframe(decisions=True, steps_left=1)
    assert frame["1"].tolist() == [0, 1, 2]
    assert frame.value.tolist() == [solution.value(("a", n), steps_left=1) for n in range(3)]
    assert frame.action.tolist() == [solution.action(("a", n), steps_left=1) for n in range(3)]
    whole = solution.to_dataframe()
    assert whole.action.isna().tolist() == [False, False, False, True]
    with pytest.raises(errors.HorizonRangeError):
        solution.to_dataframe(steps_left=3)


def test_without_pandas_the_error_says_what_to_do():
    program = (
        "import sys; sys.modules['pandas'] = None\n"
        "from mdpdice import Game, end, solve\n"
        "from mdpdice.errors import MissingPackageError\n"
        "solution = solve(Game.of(start=0, node=end))\n"
        "try: solution.to_dataframe()\n"
        "except MissingPackageError as error: print(error.package, error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "pandas a data frame needs pandas: pip install pandas"


def test_a_solution_of_a_lattice():
    solution = solve(compile_lattice(PigRace(goal=8)))
    rows = {row[0]: row[1] for row in Tables(solution._repr_html_()).rows}
    assert rows["value"] == f"{solution.value():.12g}"
    assert rows["status"] == "certified"
    size = "512 points of mine (8 values), theirs (8 values), turn (8 values), "
    assert rows["size"].startswith(size)
    assert rows["roll"] == f"{solution.q()['roll']:.12g}"


def test_very_long_names_are_cut():
    name = "<x>" * 50_000
    solution = solve(Game.of(start=name, node=lambda _: decide({name: end(1), "b": end(0)})))
    text = solution._repr_html_()
    assert len(text) < 10_000
    assert "<x>" not in text
    assert "…" in text
