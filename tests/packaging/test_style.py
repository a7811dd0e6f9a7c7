"""Rules of style that protect something, tried out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("import games", False),
        ("import games.farkle", False),
        ("from games.farkle import KcdFarkle", False),
        ("from solvers import value_iteration", False),
        ("import mdpdice.games.farkle", True),
        ("from mdpdice.solvers import value_iteration", True),
    ],
)
def test_folders_are_imported_under_their_installed_name(line: str, allowed: bool) -> None:
    command = [sys.executable, "-P", "-m", "ruff", "check", "--no-cache", "--select", "TID251"]
    run = subprocess.run(
        [*command, "--config", ROOT / "pyproject.toml", "--stdin-filename", "examples/some.py", "-"],
        cwd=ROOT,
        input=line + "\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode == 0) == allowed, run.stdout + run.stderr
    assert ("TID251" in run.stdout) != allowed
