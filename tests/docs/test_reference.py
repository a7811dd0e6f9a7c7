"""The reference and the page on errors leave nothing out."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from numpydoc.validate import validate

import mdpdice
from mdpdice import Feature, errors, load_solver, solver_names
from mdpdice.testing import GAME_CHECKS, SOLVER_CHECKS

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_names_of_the_front_door_are_in_the_reference() -> None:
    """Those of other modules are appended by docs/conf.py; these deserve a place that was chosen."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted((DOCS / "reference").glob("*.rst")))
    written = set(re.findall(r"^\.\. auto(?:class|function|data):: (\w+)$", text, flags=re.MULTILINE))
    assert set(mdpdice.__all__) <= written, sorted(set(mdpdice.__all__) - written)


@pytest.fixture(scope="module")
def conf() -> ModuleType:
    """The configuration of Sphinx, which completes the handwritten pages."""
    spec = importlib.util.spec_from_file_location("docs_conf", DOCS / "conf.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def described(conf: ModuleType) -> set[str]:
    """Return the full names, as written and as defined, that the pages of the reference describe."""
    found: set[str] = set()
    for page in sorted((DOCS / "reference").glob("*.rst")):
        source = [page.read_text(encoding="utf-8")]
        conf.complete_reference(SimpleNamespace(), f"reference/{page.stem}", source)
        current = "mdpdice"
        for line, module in re.findall(
            r"^(\.\. (?:currentmodule|auto\w+|py:data):: \S+)(?:\n   :module: (\S+))?", source[0], re.MULTILINE
        ):
            kind, name = line.removeprefix(".. ").split(":: ")
            if kind == "currentmodule":
                current = name
            elif kind == "automodule":
                current = name
                found.add(name)
            elif kind == "py:data":
                found.add(f"{module}.{name}")
            else:
                full = name if name.startswith("mdpdice.") else f"{current}.{name}"
                found |= {full, conf.home(full)}
        for module in re.findall(r"^\.\. automodule:: (\S+)\n   :members:", source[0], re.MULTILINE):
            names = conf.public_names(module)
            found |= {f"{module}.{name}" for name in names}
    return found


def test_every_public_name_of_every_module_is_in_the_reference(conf: ModuleType) -> None:
    found = described(conf)
    modules = conf.modules()
    assert {"mdpdice.modelling.game", "mdpdice.solvers.exact"} <= set(modules)
    missing = {
        f"{name}.{public}"
        for name in modules
        for public in conf.public_names(name)
        if not {f"{name}.{public}", conf.home(f"{name}.{public}")} & found
        # A package hands on the constants of its modules, which are described where they are.
        and not any(other.startswith(f"{name}.") and f"{other}.{public}" in found for other in modules)
    }
    assert not missing


def test_a_name_that_no_page_describes_is_found(conf: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conf, "directives", lambda module, names: iter(()))
    assert "mdpdice.modelling.weights.common_denominator" not in described(conf)


def front_door() -> list[str]:
    """Return the names of `mdpdice` that have docstrings, with the public methods of its classes."""
    names = []
    for name in mdpdice.__all__:
        value = getattr(mdpdice, name)
        if not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        full = f"{value.__module__}.{value.__qualname__}"
        names.append(full)
        if inspect.isclass(value):
            names += [
                f"{full}.{method}"
                for method, what in vars(value).items()
                if not method.startswith("_")
                and (inspect.isfunction(what) or isinstance(what, property | classmethod | staticmethod))
            ]
    return names


def test_docstrings_of_the_front_door_are_there_and_fit_the_signatures() -> None:
    """In numpydoc's words: GL08 no docstring, PR02 a parameter that does not exist, PR01 one that is left out."""
    wrong = []
    names = front_door()
    assert len(names) > 150
    for name in names:
        parts = name.split(".")
        # A method may say all in one sentence; a function of its own says what each parameter is.
        is_function = parts[-1].islower() and parts[-2].islower()
        codes = {"GL08", "PR02", *(["PR01"] if is_function else [])}
        wrong += [(name, *error) for error in validate(name)["errors"] if error[0] in codes]
    assert not wrong


def test_every_check_of_the_kits_is_explained() -> None:
    rows = re.findall(r"^``(\w+)``", (DOCS / "reference" / "testing.rst").read_text(encoding="utf-8"), re.MULTILINE)
    features = [feature.name.lower() for feature in Feature]
    assert [*rows, *features[1:]] == [*GAME_CHECKS, *SOLVER_CHECKS]


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
        said = {feature for feature, cell in zip(columns, row.split("|"), strict=False) if cell.strip() == "yes"}
        assert said == load_solver(name).features & set(columns), name
