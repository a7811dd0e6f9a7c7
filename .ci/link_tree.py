"""Lay the installed layout of mdpdice out as links in .typed/, for tools that read files.

The checkout keeps games/ and solvers/ next to mdpdice/, the installed library has them inside.
mypy, pyright and import-linter do not follow that map, so they are pointed at this tree.
"""

import os
import shutil
import tomllib
from pathlib import Path

root = Path(__file__).resolve().parent.parent
setup = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
tree = root / ".typed"
shutil.rmtree(tree, ignore_errors=True)  # unlinks links, does not follow them

for package, folder in setup["package-dir"].items():
    target = tree.joinpath(*package.split("."))
    if "." in package:  # a folder that is elsewhere in the checkout: one link to it
        target.symlink_to(os.path.relpath(root / folder, target.parent), target_is_directory=True)
    else:  # the root package: a real folder, so that links can stand inside it
        target.mkdir(parents=True)
        for entry in sorted((root / folder).iterdir()):
            if entry.name != "__pycache__":
                (target / entry.name).symlink_to(os.path.relpath(entry, target))
