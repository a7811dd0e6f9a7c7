"""The reference and the page on errors leave nothing out."""

from __future__ import annotations

import re
from pathlib import Path

import mdpdice
from mdpdice import Feature, errors, load_solver, solver_names

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_names_of_the_front_door_are_in_the_reference() -> None:
    """Those of other modules are appended by docs/conf.py; these deserve a place that was chosen."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "reference").glob("*.rst")))
    written = set(re.findall(r"^\.\. auto(?:class|function|data):: (\w+)$", text, flags=re.MULTILINE))
    assert set(mdpdice.__all__) <= written, sorted(set(mdpdice.__all__) - written)


def test_every_error_is_explained() -> None:
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    missing = [name for name in errors.__all__ if not re.search(rf"\b{name}\b", text)]
    assert not missing


def test_table_of_solvers_agrees_with_their_features() -> None:
    text = (DOCS / "solvers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \|(.*)\|$", text, flags=re.MULTILINE)
    assert {name for name, _ in rows} == {
        name for name in solver_names() if load_solver(name).__module__.startswith("mdpdice.")
    }
    columns = (Feature.CYCLIC, Feature.TWO_PLAYER, Feature.DISCOUNT, Feature.HORIZON)
    for name, row in rows:
        said = {
            feature for feature, cell in zip(columns, row.split("|"), strict=False) if cell.strip() == "yes"
        }
        assert said == load_solver(name).features & set(columns), name
