"""What pyproject.toml says about the layout is true of the folders and of what is installed."""

from __future__ import annotations

import importlib
import re
import tomllib
from importlib.metadata import distribution, entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUP = PYPROJECT["tool"]["setuptools"]
ENTRY_POINTS = [
    (group, name, target)
    for group, members in PYPROJECT["project"]["entry-points"].items()
    for name, target in members.items()
]


def packages_in_folders() -> list[str]:
    """Every folder with an __init__.py below a mapped folder, under the name it has once installed."""
    found = []
    for package, folder in SETUP["package-dir"].items():
        for init in (ROOT / folder).rglob("__init__.py"):
            below = init.parent.relative_to(ROOT / folder).parts
            found.append(".".join((package, *below)))
    return sorted(found)


def test_listed_packages_are_the_folders() -> None:
    assert sorted(SETUP["packages"]) == packages_in_folders()


def test_tests_mirror_the_packages() -> None:
    """Compiled loops are tested through the modules that call them, so a package of kernels has no tests of its own."""
    packages = {Path(*name.split(".")[1:]) for name in packages_in_folders() if not name.endswith(".kernels")}
    packages.discard(Path())  # mdpdice itself: tests of the modules at its top stand at the top
    rooms = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - {Path()}
    assert rooms == packages | {Path("docs"), Path("packaging"), Path("formats", "peers")}


def test_tests_have_no_other_folder() -> None:
    files = (path for path in TESTS.glob("*/**/*") if path.is_file() and "__pycache__" not in path.parts)
    packages = {name.split(".")[1] for name in packages_in_folders() if "." in name}
    others = {path.relative_to(TESTS).parts[0] for path in files} - packages
    assert others == {"data", "docs", "fuzz", "helpers", "packaging"}


def test_no_module_hides_a_mapped_folder() -> None:
    for package in SETUP["package-dir"]:
        if "." in package:
            inside = ROOT.joinpath(*package.split("."))
            assert not inside.exists()
            assert not inside.with_suffix(".py").exists()


def test_every_data_file_is_package_data() -> None:
    for package, folder in SETUP["package-dir"].items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_dir() or path.suffix == ".py" or "__pycache__" in path.parts:
                continue
            owner = next(above for above in path.parents if (above / "__init__.py").exists())
            name = ".".join((package, *owner.relative_to(ROOT / folder).parts))
            # A pattern stands for files beside the package, and not for those in folders below.
            fits = [path in owner.glob(pattern) for pattern in SETUP["package-data"].get(name, [])]
            assert any(fits), f"{path} would not be installed"


@pytest.mark.parametrize("package", SETUP["packages"])
def test_package_is_importable_and_says_what_it_is(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__name__ == package
    assert module.__doc__


@pytest.mark.parametrize(("group", "name", "target"), ENTRY_POINTS)
def test_entry_point_is_installed_and_loads(group: str, name: str, target: str) -> None:
    (installed,) = (point for point in entry_points(group=group, name=name) if point.dist.name == "mdpdice")
    assert installed.value == target
    assert installed.load().__name__ == target.partition(":")[2]


def test_version_and_licence() -> None:
    import mdpdice

    metadata = distribution("mdpdice").metadata
    assert metadata["Version"] == PYPROJECT["project"]["version"] == mdpdice.__version__
    assert metadata["License-Expression"] == "MIT"


def test_changelog_knows_the_version() -> None:
    assert f"## {PYPROJECT['project']['version']}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_citation_agrees_with_the_metadata() -> None:
    """Its lines of one word each are read by themselves: YAML that is that simple needs no parser."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^([a-z-]+): (.+)$", text, flags=re.MULTILINE))
    project = PYPROJECT["project"]
    assert fields["cff-version"] == "1.2.0"
    assert fields["version"] == project["version"]
    assert fields["license"] == project["license"]
    assert fields["type"] == "software"
    assert {"message", "title"} <= fields.keys()
    assert re.findall(r"^  - name: (.+)$", text, flags=re.MULTILINE) == [each["name"] for each in project["authors"]]
    keywords = text.partition("keywords:\n")[2]
    assert [word.lower() for word in re.findall(r"^  - (.+)$", keywords, flags=re.MULTILINE)] == [
        word.lower() for word in project["keywords"]
    ]
