"""One recorded play of every registered game, played again: rules, texts and rolls are what they were.

A file is written anew by the call that its head tells, as in

    mdpdice play pig-turn --seats optimal --seed 5 --record tests/data/playthroughs/pig-turn.txt
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from mdpdice.cli import main
from mdpdice.cli.catalogue import game_names, load_game

RECORDS = Path(__file__).resolve().parent.parent / "data" / "playthroughs"
SHIPPED = [name for name in game_names() if getattr(load_game(name), "__module__", "").startswith("mdpdice.games.")]


def call_of(text: str) -> list[str]:
    """The arguments of the call that wrote a record."""
    head = re.findall(r"^(\w+): (.*)$", text.partition("\n\n")[0], flags=re.MULTILINE)
    named = dict(head)
    pairs = [part for key, value in head if key == "parameter" for part in ("-p", value)]
    more = ["--horizon", named["horizon"]] if "horizon" in named else []
    return ["play", named["game"], *pairs, *more, "--seats", named["seats"], "--seed", named["seed"]]


@pytest.mark.parametrize("name", SHIPPED)
def test_the_same_play_again(name: str, tmp_path: Path) -> None:
    recorded = RECORDS / f"{name}.txt"
    assert recorded.is_file(), (
        f"{name} has no recorded play: run 'mdpdice play {name} --seats optimal --record {RECORDS}/{name}.txt'"
    )
    text = recorded.read_text(encoding="utf-8")
    assert f"\ngame: {name}\n" in text
    again = tmp_path / "again.txt"
    result = CliRunner().invoke(main, [*call_of(text), "--json", "--record", str(again)])
    assert result.exit_code == 0, result.output
    # A play in which nothing is decided, or that has no end, records nothing.
    kinds = [event["event"] for event in json.loads(result.stdout)["events"]]
    assert "choice" in kinds
    assert kinds[-1] == "end"
    # What people read is words.
    assert not re.search(r"[{}]|Menu|At\(|[A-Z]\w*\(", text.partition("\n\n")[2])
    assert again.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("name", ["pig-turn", "piglet", "pig-race", "farkle"])
def test_a_record_is_read(name: str, tmp_path: Path) -> None:
    recorded = RECORDS / f"{name}.txt"
    text = recorded.read_text(encoding="utf-8")
    asked, again = call_of(text), tmp_path / "again.txt"
    asked = [*asked[: asked.index("--seats")], "--replay", str(recorded), "--record", str(again)]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    assert again.read_text(encoding="utf-8") == text


def test_a_record_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    text = (RECORDS / "pig-turn.txt").read_text(encoding="utf-8")
    other = tmp_path / "other.txt"
    for given, words in (
        (text.replace("cap=100", "cap=50"), "it has parameter: cap=50"),
        (text.replace("seats:", "horizon: 3\nseats:"), "it has horizon: 3"),
        (text.replace("seats:", "sense: min\nseats:"), "it has sense: min"),
        (text.replace("moves: [", "moves: [9,"), "there is no move 9"),
        (re.sub(r"moves: .*", "moves: []", text), "there is no move null"),
        (re.sub(r"moves: .*\n", "", text), "not a record of this game"),
        (re.sub(r"moves: .*", "moves: [0,", text), "not a record of this game"),
        (re.sub(r"moves: .*", "moves: 0", text), "not a record of this game"),
        (re.sub(r"seed: .*", "seed: x", text), "not a record of this game"),
    ):
        assert given != text
        other.write_text(given, encoding="utf-8")
        result = CliRunner().invoke(main, ["play", "pig-turn", "--replay", str(other)])
        assert isinstance(result.exception, SystemExit)
        assert result.exit_code != 0
        assert words in result.output


def test_every_record_belongs_to_a_game() -> None:
    assert {file.stem for file in RECORDS.glob("*.txt")} <= set(SHIPPED)
