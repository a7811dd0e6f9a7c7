"""Every example in a docstring and in the README does what it says."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = PYPROJECT["tool"]["setuptools"]["packages"]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def modules() -> list[str]:
    names = set(PACKAGES)
    for package in PACKAGES:
        names.update(
            f"{package}.{module.name}" for module in pkgutil.iter_modules(importlib.import_module(package).__path__)
        )
    return sorted(name for name in names if not name.endswith(".__main__"))


@pytest.mark.parametrize("name", modules())
def test_docstring(name: str) -> None:
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert failures == 0


def test_readme() -> None:
    """Blocks run in order and share their names; those that start with >>> are also compared."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "readme"}
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        if not block.startswith(">>>"):
            exec(compile(block, "README.md", "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, "README.md", "README.md", 0)
        assert doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False).failed == 0
        names = test.globs
