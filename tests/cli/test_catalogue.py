"""Games by name and by file, and ``mdpdice list``."""

from __future__ import annotations

import json
import re
from importlib.metadata import EntryPoint

import click
import pytest

from mdpdice.cli import catalogue, main


def test_list(run, plug_in, monkeypatch):
    real = catalogue.entry_points
    planted = [
        EntryPoint("absent", "no_such_module:Game", catalogue.GROUP),
        EntryPoint("number", "math:pi", catalogue.GROUP),
    ]
    monkeypatch.setattr(catalogue, "entry_points", lambda *, group: [*real(group=group), *planted])
    result = run("list")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert re.search(r"^  farkle +One turn of Farkle", result.output, flags=re.MULTILINE)
    assert re.search(r"^  backward-induction +acyclic.*a horizon", result.output, flags=re.MULTILINE)
    assert re.search(
        r"^  absent +broken: game 'absent' could not be loaded.*no_such_module", result.output, flags=re.MULTILINE
    )
    assert re.search(r"^  number +broken: .*not a Game", result.output, flags=re.MULTILINE)
    assert sum("broken: solver 'absent'" in line for line in lines) == 1
    for name in ("absent", "number"):
        assert run("solve", name).exit_code == 1
        assert run("solve", name, "--help").exit_code == 1


def test_list_as_json(run):
    data = json.loads(run("list", "--json").output)
    assert data["games"]["farkle"].startswith("One turn of Farkle")
    assert "exact rational answers" in data["solvers"]["exact"]


def test_every_command_has_json(run):
    for name, command in [*main.commands.items(), *main.commands["cache"].commands.items()]:
        if name == "cache":
            continue
        context = click.Context(command)
        assert any("--json" in param.opts for param in command.get_params(context)), name


def test_a_name_that_is_taken_is_not_taken_over(run, monkeypatch):
    real = catalogue.entry_points
    thief = EntryPoint("farkle", "elsewhere:Farkle", catalogue.GROUP)
    monkeypatch.setattr(catalogue, "entry_points", lambda *, group: [thief, *real(group=group)])
    with pytest.warns(RuntimeWarning, match="registered twice; elsewhere:Farkle is left out"):
        assert catalogue.load_game("farkle").__name__ == "KcdFarkle"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("farkel", "did you mean 'farkle'"),
        ("chess", "shipped are: farkle"),
        ("nowhere.py:Game", "no Python file 'nowhere.py'"),
        ("nowhere.py", "no Python file 'nowhere.py'"),
        ("farkle:KcdFarkle", "path/to/file.py:ClassName"),
        (":", "path/to/file.py:ClassName"),
        ("", "no game is called"),
    ],
)
def test_unknown_games(run, name, message):
    for command in (["solve", name], ["crosscheck", name], ["advise", name, "x"], ["solve", name, "--help"]):
        result = run(*command)
        assert result.exit_code == 2
        assert message in result.output


FILE = """
    import abc
    from neighbour import SIX
    from mdpdice import Game, end
    class Fine(Game[int, str]):
        def start(self):
            return 0
        def node(self, n):
            return end(SIX)
    ready = Game.of(start=0, node=lambda n: end(7))
    class Half(Game[int, str]):
        def start(self):
            return 0
    number = 3
"""


def test_games_of_a_file(run, write):
    write("SIX = 6\n", "neighbour.py")
    path = write(FILE, "random.py")  # a name that a library has
    assert "value     6\n" in run("solve", f"{path}:Fine").output
    assert "value     7\n" in run("solve", f"{path}:ready").output
    for name, status, message in (
        ("", 2, f"say which game of the file is meant, as {path}:ClassName; games in {path} are: Fine, ready"),
        (":Missing", 2, "has no 'Missing'; games in"),
        (":number", 2, "not a mdpdice Game"),
        (":Half", 1, "does not define node"),
    ):
        result = run("solve", f"{path}{name}")
        assert result.exit_code == status, name
        assert message in result.output
    result = run("solve", f"{write('x = 1')}:Game")
    assert result.exit_code == 2
    assert "no class in" in result.output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module' (mine.py, line 1)"),
        ("x = 1\ndef f(:\n    pass", "SyntaxError: invalid syntax (mine.py, line 2)"),
        ("x = 1\n\nint('x')", "ValueError: invalid literal for int() with base 10: 'x' (mine.py, line 3)"),
        ("import sys\nsys.exit(5)", "SystemExit: 5 (mine.py, line 2)"),
        ("from mdpdice import Dist\nDist({1: -1})", "(mine.py, line 2)"),
    ],
)
def test_broken_files(run, write, text, message):
    result = run("solve", f"{write(text)}:Game")
    assert result.exit_code == 1
    assert message in result.output
    assert "Traceback" not in result.output
