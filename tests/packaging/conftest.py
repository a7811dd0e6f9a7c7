"""What is built once for several tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with wheel and source distribution, from a copy: setuptools leaves traces, and picks up old ones."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in ("mdpdice", "games", "solvers", "tests", "docs", "examples", "benchmarks"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__", "_build"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    build = "import setuptools.build_meta as backend; backend.build_wheel('dist'); backend.build_sdist('dist')"
    subprocess.run([sys.executable, "-P", "-c", build], cwd=tree, check=True, capture_output=True)
    return tree / "dist"
