"""The wheel holds the library, all of it, and nothing else."""

from __future__ import annotations

import configparser
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Built from a copy: setuptools leaves traces, and would pick up old ones."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in ("mdpdice", "games", "solvers", "tests", "docs", "examples", "benchmarks"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__", "_build"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    build = "import setuptools.build_meta as backend; backend.build_wheel('dist')"
    subprocess.run([sys.executable, "-P", "-c", build], cwd=tree, check=True, capture_output=True)
    (path,) = (tree / "dist").glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def test_content_is_the_folders(wheel: zipfile.ZipFile) -> None:
    expected = set()
    for package, folder in PYPROJECT["tool"]["setuptools"]["package-dir"].items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                expected.add("/".join((*package.split("."), *path.relative_to(ROOT / folder).parts)))
    content = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert content == expected
    assert "mdpdice/py.typed" in content


def test_entry_points(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    points = configparser.ConfigParser(delimiters="=")
    points.read_string(wheel.read(name).decode())
    assert points["console_scripts"]["mdpdice"] == "mdpdice.cli:main"
    for group, members in PYPROJECT["project"]["entry-points"].items():
        assert dict(points[group]) == members


def test_licence_is_inside(wheel: zipfile.ZipFile) -> None:
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())
