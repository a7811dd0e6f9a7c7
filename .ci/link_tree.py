"""Lay the installed layout of mdpdice out as links in .typed/, for tools that read files.

The checkout keeps games/ and solvers/ next to mdpdice/, the installed library has them inside.
mypy, pyright and import-linter do not follow that map, so they are pointed at this tree.  Folders
are real and files are links, since pyright does not walk through a linked folder.  It also passes
over folders with a leading dot, so it is run inside the tree and finds its configuration there.
"""

import os
import shutil
import tomllib
from pathlib import Path

root = Path(__file__).resolve().parent.parent
setup = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
tree = root / ".typed"
shutil.rmtree(tree, ignore_errors=True)  # removes links, does not follow them


def link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.symlink_to(os.path.relpath(source, target.parent))


folders = {root / folder: tree.joinpath(*package.split(".")) for package, folder in setup["package-dir"].items()}
folders[root / "examples"] = tree / "examples"
for source, target in folders.items():
    for path in sorted(source.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            link(path, target / path.relative_to(source))
link(root / "pyproject.toml", tree / "pyproject.toml")
