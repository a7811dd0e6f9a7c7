"""The example of a third-party package: built, installed elsewhere, found by name, and its own tests pass."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from mdpdice.cli import main

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "examples" / "plugin"

Run = Callable[..., str]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run Python where the plug-in is installed; the copy of its sources is gone by then."""
    place = tmp_path_factory.mktemp("plugin")
    tree, target = place / "tree", place / "site"
    shutil.copytree(PLUGIN, tree, ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
    pip = [sys.executable, "-P", "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", target, tree], check=True, capture_output=True, text=True)
    shutil.rmtree(tree)

    def run(*arguments: str | Path, code: int = 0) -> str:
        environment = os.environ | {"PYTHONPATH": str(target), "COLUMNS": "100", "PYTHONWARNINGS": "error"}
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    return run


# Several commands in one process, whose start takes longer than they do.
COMMANDS = """
import json, sys
from click.testing import CliRunner
from mdpdice.cli import main

told = []
for command in json.loads(sys.argv[1]):
    done = CliRunner().invoke(main, command, prog_name="mdpdice")
    assert done.exit_code == 0, done.output
    told.append(done.stdout)
print(json.dumps(told))
"""


def test_the_command_line_finds_its_game_and_its_solver(installed: Run) -> None:
    small = ["twenty-one", "-p", "limit=10", "-p", "banker_stands=8", "-p", "sides=4"]
    commands = [
        ["list"],
        ["solve", *small, "--solver", "howard", "--json"],
        ["advise", "twenty-one", '{"Player": {"points": 20}}'],
    ]
    listed, solved, advice = json.loads(installed("-P", "-c", COMMANDS, json.dumps(commands)))
    assert "twenty-one" in listed
    found = json.loads(solved)
    assert (found["solver"], found["status"]) == ("howard", "certified")
    assert -1 < found["value"] < 1
    assert "stand" in advice  # its states can be asked about


def test_its_own_tests_pass(installed: Run) -> None:
    """Among them the conformance kits, and that a cross-check asks its solver."""
    told = installed("-P", "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", PLUGIN / "tests")
    assert " passed" in told
    assert "skipped" not in told


def test_without_it_nobody_knows_the_names() -> None:
    done = CliRunner().invoke(main, ["solve", "pig-turn", "--solver", "howard"], prog_name="mdpdice")
    assert done.exit_code == 2
    assert "howard" in done.stderr


def test_it_is_typed_and_asks_for_this_version() -> None:
    setup = tomllib.loads((PLUGIN / "pyproject.toml").read_text(encoding="utf-8"))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    (wanted,) = (each for each in setup["project"]["dependencies"] if each.startswith("mdpdice"))
    assert version.startswith(wanted.partition(">=")[2])
    assert (PLUGIN / "mdpdice_twenty_one" / "py.typed").exists()
