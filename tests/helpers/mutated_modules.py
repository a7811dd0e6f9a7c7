"""Modules with one change in their text, for tests that every such change is noticed."""

from __future__ import annotations

import inspect
import re
import sys
import types
from unittest import mock

COMPILER = re.compile(r"^from mdpdice\.compilation import (?:brief|njit|nested|nested, njit)$", re.MULTILINE)


def mutated(module: types.ModuleType, text: str, replacement: str, at: int | None = None) -> types.ModuleType:
    """A module in which `text` is replaced, and whose loops run in plain Python: compiling every mutant takes minutes.

    Parameters
    ----------
    module : module
        The module as it is, which stays so.
    text, replacement : str
        What is changed, and what to.
    at : int, optional
        Which occurrence of the text, from 0; without it there must be one only.
    """
    source = COMPILER.sub("brief = nested = njit = lambda function: function", inspect.getsource(module))
    assert not re.search(r"import numba|numba\.njit|mdpdice\.compilation", source), (
        f"{module.__name__} compiles its loops in a way that is not known here"
    )
    parts = source.split(text)
    count = len(parts) - 1
    assert count == 1 or (at is not None and at < count), f"{text!r} stands {count} times in {module.__name__}"
    place = (at or 0) + 1
    changed = text.join(parts[:place]) + replacement + text.join(parts[place:])
    mutant = types.ModuleType(f"mutated_{module.__name__.rpartition('.')[2]}")
    # attrs looks the module of its classes up by name.
    with mock.patch.dict(sys.modules, {mutant.__name__: mutant}):
        exec(compile(changed, f"{mutant.__name__}.py", "exec"), mutant.__dict__)
    return mutant


def plain(module: types.ModuleType) -> types.ModuleType:
    """The module as it is, with its loops in plain Python."""
    return mutated(module, "import numpy as np\n", "import numpy as np\n")
