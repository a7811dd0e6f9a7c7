"""The records: their file has one form, the page shows it, and cheap ones are found again to the last bit."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from mdpdice import compile_lattice, outcomes, solve
from mdpdice.games.yahtzee import Yahtzee

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs" / "records.py"
RECORDS = json.loads((ROOT / "docs" / "records.json").read_text(encoding="utf-8"))
FOUND = [record for record in RECORDS if record["value"] is not None]
FORM = {
    "name": str,
    "rules": str,
    "value": float,
    "lower": float,
    "upper": float,
    "states": int,
    "command": str,
    "digest": str,
    "cpu_seconds": float,
    "peak_mb": int,
    "version": str,
    "known_before": str,
}
SPOT = "farkle-turn-patch"


def run(*args: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", SCRIPT, *args], capture_output=True, text=True, check=False, timeout=300
    )


def test_records_that_wait_for_their_numbers_have_none_at_all() -> None:
    """They are not on the page, and ``--write`` without names computes them."""
    assert len(FOUND) > len(RECORDS) / 2
    for record in RECORDS:
        if record["value"] is None:
            assert {key for key in FORM if record[key] is not None} == {"name", "rules", "command", "known_before"}


@pytest.mark.parametrize("record", FOUND, ids=lambda record: record["name"])
def test_every_record_has_the_same_form(record) -> None:
    assert list(record) == list(FORM)
    # A search for the best set has neither states nor values of its own.
    absent = {"states", "digest"} if record["command"].startswith("mdpdice best-set") else set()
    for key, kind in FORM.items():
        assert record[key] is None if key in absent else type(record[key]) is kind, key
    assert record["lower"] <= record["value"] <= record["upper"]
    assert record["upper"] - record["lower"] <= 1e-6 * max(1, abs(record["value"]))
    assert record["rules"].endswith(".")
    assert record["known_before"].endswith(".")


def test_names_and_commands_are_different() -> None:
    for key in ("name", "command", "digest"):
        values = [record[key] for record in RECORDS if record[key] is not None]
        assert len(set(values)) == len(values), key


def test_the_page_shows_the_records() -> None:
    done = run("--check")
    assert done.returncode == 0, done.stderr


def test_a_cheap_record_is_found_again() -> None:
    done = run(SPOT, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)
    (record,) = (one for one in RECORDS if one["name"] == SPOT)
    assert (found["digest"], found["differs"]) == (record["digest"], "")
    assert found["cpu_seconds"] > 0
    assert found["peak_mb"] > 0


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("digest", "0" * 64, "differs, within both intervals: digest"),
        ("states", 7, "differs, within both intervals: states 79460 was 7"),
        ("lower", 1000.0, "contradicts"),
        ("upper", 1.0, "contradicts"),
    ],
)
def test_a_record_that_is_wrong_is_noticed(key: str, value: object, message: str) -> None:
    compare = runpy.run_path(str(SCRIPT))["compare"]
    (record,) = (one for one in RECORDS if one["name"] == SPOT)
    assert compare(record, record) == ""
    assert compare({**record, key: value}, record).startswith(message)


def best_chances(name: str, most: int) -> list[tuple[float, float, float]]:
    """Chance of every goal and its interval, from a file that has the form that the page promises."""
    head, *lines = (ROOT / "docs" / name).read_text(encoding="utf-8").splitlines()
    assert head == "points,chance,lower,upper"
    rows = [[float(number) for number in line.split(",")] for line in lines]
    assert [goal for goal, *_ in rows] == list(range(1, most + 1))
    assert all(lower <= chance <= upper and upper - lower < 1e-11 for _, chance, lower, upper in rows)
    assert all(one[1] >= other[1] for one, other in pairwise(rows))
    return [(chance, lower, upper) for _, chance, lower, upper in rows]


FILES = {"yahtzee_chances.csv": (1575, {}), "yahtzee_plain_chances.csv": (375, {"bonus": "none", "joker": "none"})}


@pytest.mark.parametrize("name", FILES)
def test_no_goal_of_yahtzee_is_reached_more_often_than_its_best_chance(name: str) -> None:
    """The play for the highest mean stays below the best chances."""
    most, rules = FILES[name]
    rows = best_chances(name, most)
    solution = solve(Yahtzee(**rules))
    found = outcomes(compile_lattice(solution.game, merge=False), solution)
    reached = [float(found.chances[found.totals >= goal].sum()) for goal in range(1, most + 1)]
    assert all(chance <= upper + found.missing for chance, (*_, upper) in zip(reached, rows, strict=True))
    # And it does not stay far below where most totals are.
    assert reached[249] > 0.8 * rows[249][0]


def test_the_page_shows_chances_of_the_files() -> None:
    page = (ROOT / "docs" / "records.md").read_text(encoding="utf-8").partition("## Yahtzee's chances")[2]
    shown = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", page, re.MULTILINE)
    assert len(shown) == 14
    both = [best_chances(name, most) for name, (most, _) in FILES.items()]
    for goal, *cells in shown:
        for cell, rows in zip(cells, both, strict=True):
            ends = rows[int(goal) - 1][1:] if int(goal) <= len(rows) else ()
            assert {f"{100 * abs(end):.1f} %" for end in ends} == ({cell} if ends else set())
            assert ends or cell == "–"


def test_what_is_not_a_record_is_refused(tmp_path: Path) -> None:
    assert "no record is called chess" in run("chess").stderr
    other = tmp_path / "records.json"
    other.write_text(json.dumps([{**RECORDS[0], "command": "rm -r ."}]), encoding="utf-8")
    assert "is not a command of mdpdice" in run("--records", other, RECORDS[0]["name"]).stderr
