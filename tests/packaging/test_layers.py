"""The import contract of pyproject.toml holds, and it notices when it does not."""

from __future__ import annotations

import os
import re
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
APART = "Solvers do not know each other"
GAMES = "A shipped game imports what a user's own game would"
DOOR = "The library does not import its own front door"


def copied(tree: Path) -> Path:
    """A copy of the code, to be spoiled at will."""
    for folder in ("mdpdice", "games", "solvers"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tree / ".ci").mkdir()
    for name in ("pyproject.toml", ".ci/link_tree.py"):
        shutil.copy(ROOT / name, tree / name)
    return tree


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


def imports_against(contract: str, report: str) -> str:
    """The part of a report that lists the imports which break a contract."""
    (part,) = re.findall(rf"^{contract}[^\n]*\n-+\n(.*?)(?=^[^\n]+\n--|\Z)", report, re.DOTALL | re.MULTILINE)
    return part


def test_the_code_keeps_every_contract(tmp_path: Path) -> None:
    kept, report = lint(copied(tmp_path))
    assert kept, report


# Where, what is written there, which import that is and which contract it breaks.
PLANTED = [
    (
        "mdpdice/networks/network.py",
        "from mdpdice.solving.pipeline import solve",
        "networks.network -> mdpdice.solving.pipeline",
        DOWN,
    ),
    (
        "mdpdice/networks/network.py",
        "import mdpdice.solvers.value_iteration",
        "networks.network -> mdpdice.solvers.value_iteration",
        DOWN,
    ),
    ("mdpdice/errors.py", "def late() -> None:\n    from mdpdice import networks", "errors -> mdpdice.networks", DOWN),
    ("mdpdice/solving/pipeline.py", "import mdpdice.games", "solving.pipeline -> mdpdice.games", DOWN),
    (
        "mdpdice/certification/checking/inequalities.py",
        "from mdpdice.numerics import linear",
        "certification.checking.inequalities -> mdpdice.numerics.linear",
        ALONE,
    ),
    (
        "mdpdice/certification/checking/inequalities.py",
        "from mdpdice.modelling import game",
        "certification.checking.inequalities -> mdpdice.modelling.game",
        ALONE,
    ),
    (
        "mdpdice/certification/checking/exact.py",
        "from mdpdice.numerics import rational",
        "certification.checking.exact -> mdpdice.numerics.rational",
        ALONE,
    ),
    (
        "mdpdice/certification/checking/infinite.py",
        "from mdpdice.numerics.regions import can_reach",
        "certification.checking.infinite -> mdpdice.numerics.regions",
        ALONE,
    ),
    (
        "solvers/linear_programming/blocks.py",
        "from mdpdice.solvers import value_iteration",
        "solvers.linear_programming.blocks -> mdpdice.solvers.value_iteration",
        APART,
    ),
    (
        "games/farkle/__init__.py",
        "from mdpdice.networks.network import Network",
        "games.farkle -> mdpdice.networks.network",
        GAMES,
    ),
    ("mdpdice/networks/network.py", "import mdpdice", "networks.network -> mdpdice", DOOR),
]


@pytest.fixture(scope="module")
def report_on_planted(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What is said of a tree with all of them; each is named in it, so one run is enough."""
    tree = copied(tmp_path_factory.mktemp("planted"))
    for place, line, _, _ in PLANTED:
        with (tree / place).open("a", encoding="utf-8") as file:
            file.write(f"\n\n{line}\n")
    kept, report = lint(tree)
    assert not kept
    return report


@pytest.mark.parametrize(("place", "line", "found", "contract"), PLANTED)
def test_a_planted_import_is_found(report_on_planted: str, place: str, line: str, found: str, contract: str) -> None:
    assert f" mdpdice.{found} (l." in imports_against(contract, report_on_planted), report_on_planted


def test_a_module_without_a_place_is_found(tmp_path: Path) -> None:
    tree = copied(tmp_path)
    (tree / "mdpdice" / "somewhere.py").touch()
    kept, report = lint(tree)
    assert not kept
    assert "somewhere" in report


def test_the_back_ends_are_the_modules_and_packages_of_solvers() -> None:
    """The independence contract speaks of everything directly below `mdpdice.solvers`."""
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    registered = setup["project"]["entry-points"]["mdpdice.solvers"].values()
    below = {path.stem for path in (ROOT / "solvers").iterdir() if not path.name.startswith("_")}
    assert {f"mdpdice.solvers.{name}" for name in below} == {target.partition(":")[0] for target in registered}


@pytest.mark.parametrize("name", ["inequalities", "exact", "infinite"])
def test_checking_stays_small_enough_to_be_read(name: str) -> None:
    """Everything rests on it, so one sitting must do."""
    path = ROOT / "mdpdice" / "certification" / "checking" / f"{name}.py"
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 250
