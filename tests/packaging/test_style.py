"""Rules of style that protect something, tried out."""

from __future__ import annotations

import ast
import re
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


MAY_ASK = {"answers", "certification", "exploration", "formats", "lattices", "policies", "solving"}


def test_only_some_packages_ask_whether_something_is_a_lattice() -> None:
    """Others ask the model, which knows: `Network` and `Lattice` both answer `pays`, `payoffs`, `nature`."""
    trees = {
        path.relative_to(ROOT): ast.parse(path.read_text(encoding="utf-8"))
        for top in ("mdpdice", "solvers", "games")
        for path in (ROOT / top).rglob("*.py")
    }
    tops = ((path, node) for path, tree in trees.items() for node in tree.body if isinstance(node, ast.ClassDef))
    classes = {node.name for path, node in tops if path.parts[1] == "lattices"}
    assert "Lattice" in classes
    asking = {
        path
        for path, tree in trees.items()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "isinstance"
        if classes & set(re.findall(r"\w+", ast.unparse(call.args[1])))
    }
    assert {path.parts[1] for path in asking} <= MAY_ASK, sorted(asking)
    assert asking
