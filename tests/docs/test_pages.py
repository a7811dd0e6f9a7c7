"""The pages of the documentation do what they say: their code runs, their commands answer, their numbers occur.

Sphinx runs the Python of the pages too; this runs them without Sphinx, with the commands of ``console`` blocks,
which it does not know, and against an installed wheel.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from mdpdice.cli import main

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(r"^(?P<fence>```+)(?P<kind>[^\n]*)\n(?P<body>.*?)^(?P=fence)$", re.DOTALL | re.MULTILINE)
RUN = ("{testsetup}", "{testcode}", "{testoutput}", "{doctest}", "console")
OUTPUT = ("{testoutput}", "{doctest}", "console")

# What runs at least; a page whose blocks were no longer found would pass otherwise.
BLOCKS = {
    "after_solving": 5,
    "certificate": 4,
    "command_line": 10,
    "counters": 6,
    "cross_validation": 10,
    "crosscheck": 2,
    "declaring": 5,
    "errors": 7,
    "examples": 2,
    "farkle": 12,
    "faq": 10,
    "formalism": 9,
    "formats": 8,
    "game_examples": 12,
    "gallery": 2,
    "index": 2,
    "looks": 8,
    "merging": 9,
    "objectives": 4,
    "own_dice": 6,
    "server": 5,
    "solvers": 6,
    "teaching": 10,
    "textbook": 5,
    "tutorial": 10,
    "two_players": 6,
    "weighted_dice": 7,
    "writing_a_plugin": 4,
    "writing_a_solver": 5,
}


class Block(NamedTuple):
    """A fenced block of a page: its kind, its text and its line."""

    kind: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        body = re.sub(r"\A(:\w+:[^\n]*\n)+\n?", "", match["body"])
        found.append(Block(match["kind"].strip(), body, text.count("\n", 0, match.start()) + 1))
    return found


def same(want: str, got: str) -> bool:
    """Whether an output is what a page shows; ``...`` stands for anything, and a number may have more digits."""
    pieces = " ".join(want.split()).split("...")
    got, at = " ".join(got.split()), 0
    for k, piece in enumerate(pieces):
        last = k == len(pieces) - 1
        # A number that "..." cuts begins in this way; any other one is rounded to the digits that are shown.
        parts = re.split(r"(\d+\.\d{4,}(?!\d)" + ("" if last else "(?!$)") + ")", piece)
        pattern = "".join(rounded_to(part) if place % 2 else re.escape(part) for place, part in enumerate(parts))
        found = re.compile(pattern + (r"\Z" if last else "")).search(got, at)
        if found is None or (k == 0 and found.start() > 0):
            return False
        at = found.end()
    return True


def rounded_to(shown: str) -> str:
    """Return the pattern of the numbers that are `shown` when they are rounded."""
    less = Decimal(shown) - Decimal(1).scaleb(-len(shown.partition(".")[2]))
    below = "" if less < 0 else rf"|{re.escape(f'{less:f}')}[5-9]\d*"
    return rf"(?<![\d.])(?:{re.escape(shown)}(?:[0-4]\d*)?{below})(?!\d)"


def check(page: Path, block: Block, want: str, got: str) -> None:
    assert same(want, got), f"{page.name}, line {block.line}: expected\n{want}\ngot\n{got}"


def run_console(page: Path, block: Block, output_of: Callable[[str], str]) -> None:
    parts = re.split(r"^\$ (.*)\n", block.text, flags=re.MULTILINE)
    assert not parts[0], f"{page.name}, line {block.line}: a console block begins with $"
    for command, want in zip(parts[1::2], parts[2::2], strict=True):
        program, *arguments = shlex.split(command)
        if program == "mdpdice":
            got = CliRunner().invoke(main, arguments, prog_name="mdpdice").output
        else:
            assert program == "python", f"{page.name}, line {block.line}: {command} cannot be run here"
            got = output_of(Path(arguments[0]).relative_to("examples").with_suffix("").as_posix())
        check(page, block, want, got)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_blocks(page: Path, output_of: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")  # the width of help texts
    names: dict[str, object] = {"__name__": "page"}
    printed = ""
    count = 0
    for block in blocks(page):
        count += block.kind in RUN
        if block.kind == "console":
            run_console(page, block, output_of)
        elif block.kind in ("{testsetup}", "{testcode}"):
            with contextlib.redirect_stdout(io.StringIO()) as stream:
                exec(compile(block.text, f"{page.name}:{block.line}", "exec"), names)
            printed = stream.getvalue()
        elif block.kind == "{testoutput}":
            check(page, block, block.text, printed)
        elif block.kind == "{doctest}":
            test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line)
            assert test.examples, f"{page.name}, line {block.line}: no examples"
            report = io.StringIO()
            failed = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.write, clear_globs=False).failed
            assert not failed, report.getvalue()
            names = test.globs
        else:
            # Code that is shown and not run must not look as if it were.
            assert ">>>" not in block.text, f"{page.name}, line {block.line}: use {{doctest}}"
    assert count >= BLOCKS.get(page.stem, page.parent.name == "games")


# What takes too long here, and the test that computes it.
ELSEWHERE = {
    ("index", "564.432846776"): "farkle/test_thresholds.py",
    ("index", "12.7261195897"): "konijnenhokken/test_values.py",
    ("index", "0.5305927"): "pig/test_race.py",
    ("index", "0.557117"): "farkle/test_race.py",
    ("index", "132.3396105"): "school/test_whole.py",
    ("index", "248.43998938"): "yatzy/test_game.py",
    ("farkle", "0.557117046219"): "farkle/test_race.py",
    **{
        ("farkle", number): "farkle/test_race.py"
        for number in ("0.53651129", "0.53038809", "0.53695303", "0.53503742", "0.53480771")
    },
    ("pig", "0.530592725274"): "pig/test_race.py",
    ("yahtzee", "254.5896095"): "yahtzee/test_game.py",
    ("yahtzee", "245.8707745"): "yahtzee/test_game.py",
    ("yahtzee", "248.4399894"): "yatzy/test_game.py",
    ("knucklebones", "0.143495296"): "knucklebones/test_values.py",
    ("knucklebones", "0.0549715"): "knucklebones/test_values.py",
}

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.\d{4,}(?![\w.]*\d)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_numbers_come_from_what_was_run(page: Path) -> None:
    """Every number with four or more decimals in the text occurs in the checked output of the page."""
    text = page.read_text(encoding="utf-8")
    # test_records compares these tables with the file that they are made of.
    text = re.sub("<!-- records: .*?<!-- end of records -->", "", text, flags=re.DOTALL)
    shown = "".join(block.text for block in blocks(page) if block.kind in OUTPUT)
    known = [number.replace(",", "") for number in re.findall(r"-?\d[\d,]*\.\d+", shown)]
    for found in NUMBER.findall(FENCE.sub("", text)):
        number = found.replace(",", "")
        digits = len(number.partition(".")[2])
        if (elsewhere := ELSEWHERE.get((page.stem, found))) is not None:
            there = re.findall(r"-?\d+\.\d+", (ROOT / "tests" / "games" / elsewhere).read_text(encoding="utf-8"))
            assert float(number) in {round(float(one), digits) for one in there}
            continue
        # The output may have more digits, or be cut off by "..." after at least five.
        assert any(
            round(float(one), digits) == float(number) or (len(one.partition(".")[2]) >= 5 and number.startswith(one))
            for one in known
        ), f"{page.name}: where does {found} come from?"


def test_pages_load_nothing_from_afar() -> None:
    """The sources name no script, style or image of another host; links to read are welcome."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"(!\[[^\]]*\]\(|<(script|link|img)[^>]*)https?:", text), page.name


@pytest.mark.parametrize(
    ("want", "got", "right"),
    [
        ("value 8.1418", "value 8.14179489372710", True),
        ("value 8.1417", "value 8.14179489372710", False),
        ("value 8.1418", "value 18.14179489372710", False),
        ("value -45.0370 [-45.0370, 2.0000]", "value  -45.037037 [-45.03698, 1.99996]", True),
        ("value 8.1417...", "value 8.14179489372710", True),
        ("value 8.1418...", "value 8.14179489372710", False),
        ("a ... 0.5000 end", "a 0.4 and 0.50001 end", True),
        ("a ... 0.5000 end", "a 0.4 and 0.50001 end.", False),
    ],
)
def test_numbers_are_compared_as_far_as_they_are_shown(want: str, got: str, right: bool) -> None:
    assert same(want, got) is right
