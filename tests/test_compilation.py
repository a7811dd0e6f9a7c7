"""Machine code that numba keeps is that of the sources, also of those that a loop was taken from."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from mdpdice import compilation

PACKAGE = Path(compilation.__file__).parent
COMPILED = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if any(line in ("@njit", "@nested", "@inlined", "@brief") for line in path.read_text(encoding="utf-8").splitlines())
)

ROUNDS = '''
import importlib, pathlib, sys

def call():
    """What a fresh import of the package answers, and whether the machine code was there."""
    for name in [name for name in sys.modules if name.startswith("mdpdice")]:
        del sys.modules[name]
    two = importlib.import_module("mdpdice.b").two
    return two(1), sum(two.compiled.stats.cache_hits.values())

here = pathlib.Path("mdpdice")
print(*call(), *call(), sep=",")
for old, new in (("x + 1", "x + 5"), ("K = 10", "K = 20")):
    loops = here / "a.py"
    loops.write_text(loops.read_text().replace(old, new))
    print(*call(), *call(), sep=",")
'''


def test_an_edit_where_a_loop_is_taken_from_is_seen(tmp_path: Path) -> None:
    package = tmp_path / "mdpdice"
    package.mkdir()
    (package / "__init__.py").touch()
    for name in ("compilation.py", "compiled_parts.py"):
        shutil.copy(PACKAGE / name, package)
    decorated = "from mdpdice.compilation import njit\n\n@njit\n"
    (package / "a.py").write_text(f"K = 10\n{decorated}def one(x):\n    return x + 1\n")
    taken = "from mdpdice import a as loops\nfrom mdpdice.a import K\n"
    (package / "b.py").write_text(f"{taken}{decorated}def two(x):\n    return loops.one(x) * K\n")
    # Python itself takes bytecode for that of a file which was edited within the same second.
    run = subprocess.run(
        [sys.executable, "-B", "-c", ROUNDS], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=100
    )
    # Compiled, and taken from the cache; after each edit anew.
    assert run.stdout.split() == ["20,0,20,1", "60,0,60,1", "120,0,120,1"]


BLAS = """
import sys
from mdpdice.compilation import _numba
_numba()
from numba.core.registry import cpu_target
from numba.np import arraymath, linalg
cpu_target.target_context.refresh()
print("scipy.linalg" in sys.modules, arraymath._HAVE_BLAS, arraymath.ensure_blas is linalg.ensure_blas)
linalg.ensure_blas()
print("scipy.linalg" in sys.modules)
"""


def test_numba_looks_for_the_blas_only_where_a_loop_needs_it() -> None:
    run = subprocess.run([sys.executable, "-c", BLAS], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["False", "True", "True", "True"]


@pytest.mark.parametrize("path", COMPILED, ids=lambda path: path.stem)
def test_every_import_of_loops_is_in_the_stamp(path: Path) -> None:
    """A statement of another form would not be seen."""
    import_module(".".join(("mdpdice", *path.relative_to(PACKAGE).with_suffix("").parts)))
    text = path.read_text(encoding="utf-8")
    imported = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        if isinstance(node, ast.ImportFrom):
            imported |= {str(node.module)} | {f"{node.module}.{name.name}" for name in node.names}
    known = (imported & sys.modules.keys()) - {"numba"}
    loops = {name for name in known if {"njit", "brief", "nested"} & vars(sys.modules[name]).keys()}
    assert loops == compilation.loops_in(text)
