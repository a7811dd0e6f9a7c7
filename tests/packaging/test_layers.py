"""The import contract of pyproject.toml holds, and it notices when it does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT_IMPORTS = Path(sysconfig.get_path("scripts")) / "lint-imports"


DOWN = "Imports go downwards only"
ALONE = "checking stands alone"
APART = "Back-ends do not know each other"
GAMES = "A shipped game imports what a user's own game would"
DOOR = "The library does not import its own front door"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the code, to be spoiled at will."""
    for folder in ("mdpdice", "games", "solvers"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / ".ci").mkdir()
    for name in ("pyproject.toml", ".ci/link_tree.py"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def lint(tree: Path) -> tuple[bool, str]:
    subprocess.run([sys.executable, tree / ".ci" / "link_tree.py"], check=True)
    run = subprocess.run(
        [LINT_IMPORTS, "../pyproject.toml", "--no-cache"],
        cwd=tree / ".typed",
        env=os.environ | {"COLUMNS": "200"},  # names of contracts on one line
        capture_output=True,
        text=True,
        check=False,
    )
    return run.returncode == 0, run.stdout + run.stderr


def broken(report: str) -> list[str]:
    """Names of the contracts that a report calls broken."""
    return [line.partition(" BROKEN")[0] for line in report.splitlines() if " BROKEN" in line]


def test_the_code_keeps_every_contract(tree: Path) -> None:
    kept, report = lint(tree)
    assert kept, report


@pytest.mark.parametrize(
    ("place", "line", "contract"),
    [
        ("mdpdice/networks/network.py", "from mdpdice.solving.pipeline import solve", DOWN),
        ("mdpdice/networks/network.py", "import mdpdice.solvers.value_iteration", DOWN),
        ("mdpdice/errors.py", "def late() -> None:\n    from mdpdice import networks", DOWN),
        ("mdpdice/solving/pipeline.py", "import mdpdice.games", DOWN),
        ("mdpdice/certification/checking/inequalities.py", "from mdpdice.numerics import linear", ALONE),
        ("mdpdice/certification/checking/inequalities.py", "from mdpdice.modelling import game", ALONE),
        ("mdpdice/certification/checking/exact.py", "from mdpdice.numerics import rational", ALONE),
        (
            "mdpdice/certification/checking/infinite.py",
            "from mdpdice.numerics.regions import can_reach",
            ALONE,
        ),
        ("solvers/linear_programming/blocks.py", "from mdpdice.solvers import value_iteration", APART),
        ("games/farkle/__init__.py", "from mdpdice.networks.network import Network", GAMES),
        ("mdpdice/networks/network.py", "import mdpdice", DOOR),
    ],
)
def test_a_planted_import_is_found(tree: Path, place: str, line: str, contract: str) -> None:
    with (tree / place).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{line}\n")
    kept, report = lint(tree)
    assert not kept
    assert any(name.startswith(contract) for name in broken(report)), report


def test_a_module_without_a_place_is_found(tree: Path) -> None:
    (tree / "mdpdice" / "somewhere.py").touch()
    kept, report = lint(tree)
    assert not kept
    assert "somewhere" in report


def test_the_back_ends_are_the_modules_and_packages_of_solvers() -> None:
    """The independence contract speaks of everything directly below `mdpdice.solvers`."""
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    registered = setup["project"]["entry-points"]["mdpdice.solvers"].values()
    below = {path.stem for path in (ROOT / "solvers").iterdir() if not path.name.startswith("_")}
    assert {f"mdpdice.solvers.{name}" for name in below} == {
        target.partition(":")[0] for target in registered
    }


@pytest.mark.parametrize("name", ["inequalities", "exact", "infinite"])
def test_checking_stays_small_enough_to_be_read(name: str) -> None:
    """Everything rests on it, so one sitting must do."""
    path = ROOT / "mdpdice" / "certification" / "checking" / f"{name}.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 250
