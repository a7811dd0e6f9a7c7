"""``import mdpdice`` is quick, and every name is there when it is asked for."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mdpdice


def test_every_name_is_where_type_checkers_think():
    tree = ast.parse(Path(mdpdice.__file__).read_text(encoding="utf-8"))
    told = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mdpdice.")
        for alias in node.names
    }
    assert told == mdpdice._HOME
    assert sorted(told) == mdpdice.__all__
    for name, module in told.items():
        found = getattr(mdpdice, name)
        assert getattr(found, "__module__", module).startswith("mdpdice")
        assert getattr(sys.modules[module], name) is found
    assert set(mdpdice.__all__) <= set(dir(mdpdice))


def test_modules_are_attributes():
    assert mdpdice.errors.CycleError.code
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        mdpdice.slove  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute '_slove'"):
        mdpdice._slove  # noqa: B018


def test_importing_it_imports_nothing_heavy():
    program = "import sys, mdpdice; print([n for n in ('numpy', 'scipy', 'numba', 'networkx') if n in sys.modules])"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
