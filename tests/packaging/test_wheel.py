"""The wheel and the source distribution hold the library, all of it, and nothing else."""

from __future__ import annotations

import configparser
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Iterator[zipfile.ZipFile]:
    (path,) = dist.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


@pytest.fixture(scope="module")
def sdist(dist: Path) -> dict[str, bytes]:
    """Files of the source distribution by their path below its one folder."""
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        found = {}
        for member in archive.getmembers():
            assert member.isfile() or member.isdir(), member.name
            if member.isfile():
                folder, _, name = member.name.partition("/")
                assert folder == path.name.removesuffix(".tar.gz")
                file = archive.extractfile(member)
                assert file is not None
                found[name] = file.read()
        return found


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


def test_sdist_holds_what_the_wheel_is_made_of(sdist: dict[str, bytes], wheel: zipfile.ZipFile) -> None:
    assert {"pyproject.toml", "README.md", "LICENSE"} <= sdist.keys()
    sources = {name for name in sdist if name.split("/")[0] in ("mdpdice", "games", "solvers")}
    inside = [name for name in wheel.namelist() if ".dist-info/" not in name]
    folders = {"mdpdice/games/": "games/", "mdpdice/solvers/": "solvers/"}
    for name in inside:
        prefix = next((each for each in folders if name.startswith(each)), "")
        source = folders.get(prefix, "") + name.removeprefix(prefix)
        assert sdist[source] == wheel.read(name), name
    assert len(sources) == len(inside)


def test_sdist_holds_nothing_that_nobody_asked_for(sdist: dict[str, bytes]) -> None:
    folders = {name.split("/")[0] for name in sdist if "/" in name}
    assert folders <= {"mdpdice", "games", "solvers", "tests", "mdpdice.egg-info"}
    top = {name for name in sdist if "/" not in name}
    assert top == {"pyproject.toml", "README.md", "LICENSE", "PKG-INFO", "setup.cfg"}
    assert not [name for name in sdist if name.endswith((".pyc", ".nbi", ".nbc", ".coverage"))]
    # The data of the tests have licences of their own (tests/data/README.md).
    assert not [name for name in sdist if name.startswith("tests/") and not name.endswith(".py")]


def test_nothing_is_under_another_licence(sdist: dict[str, bytes], wheel: zipfile.ZipFile) -> None:
    for name, text in [*sdist.items(), *((name, wheel.read(name)) for name in wheel.namelist())]:
        assert b"General Public License" not in text, name


def test_an_index_could_show_them(dist: Path) -> None:
    """As ``twine check --strict`` sees it: the metadata are valid, and the description can be rendered."""
    files = sorted(map(str, dist.iterdir()))
    assert len(files) == 2
    done = subprocess.run(
        [sys.executable, "-P", "-m", "twine", "check", "--strict", *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2
