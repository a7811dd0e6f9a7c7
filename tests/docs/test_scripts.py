"""The scripts of docs/: the table of thresholds is that of the code, and lines are counted as they say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/architecture.md"


def run(script: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", script, *args], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The page, the script and a little of the code, to be changed at will."""
    for folder in ("mdpdice/networks", "solvers/exact"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs").mkdir()
    for name in ("docs/thresholds.py", PAGE):
        shutil.copy(ROOT / name, tmp_path / name)
    assert run(tmp_path / "docs" / "thresholds.py").returncode == 0
    return tmp_path


def test_the_table_of_thresholds_is_up_to_date():
    done = run(ROOT / "docs" / "thresholds.py", "--check")
    assert done.returncode == 0, done.stderr


def test_a_threshold_that_changes_is_noticed_and_written(tree):
    script, module = tree / "docs" / "thresholds.py", tree / "mdpdice" / "networks" / "arrays.py"
    text, many = re.subn(
        r"^COMPILE_FROM_EDGES = .*$", "COMPILE_FROM_EDGES = 3 << 4", module.read_text(), flags=re.MULTILINE
    )
    assert many == 1
    module.write_text(text)
    late = run(script, "--check")
    assert late.returncode == 1
    assert "run python docs/thresholds.py" in late.stderr
    assert run(script).returncode == 0
    assert "| `COMPILE_FROM_EDGES` | 48 |" in (tree / PAGE).read_text()
    assert run(script, "--check").returncode == 0


def test_a_threshold_says_what_it_gates(tree):
    (tree / "solvers" / "quick.py").write_text("QUICK_FROM_NODES = 5\n\nX = 1\n")
    done = run(tree / "docs" / "thresholds.py", "--check")
    assert done.returncode == 1
    assert "write below QUICK_FROM_NODES what changes there" in done.stderr


MODULE = '''"""Docstring,

three lines."""

import math  # counts

# does not
LEAST = 3
"""Nor does this."""


def area(r):
    """Nor this."""
    text = """this
    does"""
    return math.pi * (
        r
        ** 2
    ), text
'''


def test_lines_of_code_are_counted(tmp_path):
    for folder in ("mdpdice/inner", "solvers", "games"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "mdpdice" / "inner" / "area.py").write_text(MODULE)
    (tmp_path / "games" / "empty.py").write_text("")
    done = run(ROOT / "docs" / "lines.py", "--json", str(tmp_path))
    assert json.loads(done.stdout) == {
        "mdpdice/inner": {"files": 1, "lines": 19, "code": 9},
        "games": {"files": 1, "lines": 0, "code": 0},
        "all": {"files": 2, "lines": 19, "code": 9},
    }
    last = run(ROOT / "docs" / "lines.py", str(tmp_path)).stdout.splitlines()[-1]
    assert last.split() == ["all", "2", "19", "9"]
