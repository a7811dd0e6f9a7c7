"""What a game is made of: a hash of its files, which changes when any of them does.

A game is its class, the classes that it derives from, and what their files import from their own folder, imports inside
functions among them.  What belongs to Python or is installed stands still; what lies elsewhere may change unseen.
Files that a game opens, and what it imports by names made at run time, are not seen.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

MOST_FILES = 2000
"""Files of a package up to which they are read."""


def source_hash(game: object) -> str | None:
    """SHA-256 of the files of a game and of the library; None where something may change unseen."""
    files: set[Path] = set()
    for package in ("mdpdice", "mdpdice.games", "mdpdice.solvers"):
        spec = importlib.util.find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            files |= set(_inside(Path(folder)))
    todo: list[Path] = []
    for cls in type(game).__mro__:
        module = sys.modules.get(cls.__module__)
        if cls.__module__.partition(".")[0] in _STANDING:
            continue
        if module is None or not getattr(module, "__file__", None):
            return None
        todo.append(_whole(Path(str(module.__file__)).resolve()))
    while todo:
        found = todo.pop()
        own = set(_inside(found)) - files
        files |= own
        for path in own:
            for name in _imported(path) if path.suffix == ".py" else ():
                there = _place(name, found.parent)
                if there is None:
                    return None
                todo += there
        if len(files) > MOST_FILES:
            return None
    hasher = hashlib.sha256()
    for path in sorted(files):
        hasher.update(f"{path.name} {path.stat().st_size} ".encode(errors="surrogateescape"))
        hasher.update(path.read_bytes())
    return hasher.hexdigest()


_STANDING = sys.stdlib_module_names | {"mdpdice"}
_INSTALLED = {"site-packages", "dist-packages"}


def _inside(path: Path) -> Iterator[Path]:
    """Yield a file, or the files of a package."""
    if path.is_file():
        yield path
    else:
        yield from (one for one in path.rglob("*") if one.parent.name != "__pycache__" and one.is_file())


def _whole(path: Path) -> Path:
    """Return the package that a file belongs to, or the file."""
    while (path.parent / "__init__.py").exists():
        path = path.parent
    return path


def _imported(path: Path) -> set[str]:
    """Names of the modules at the top of what a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).partition(".")[0])
    return found - _STANDING


def _place(name: str, folder: Path) -> list[Path] | None:
    """Return what has to be read for an import of a file in a folder; None where it lies elsewhere."""
    spec = sys.modules[name].__spec__ if name in sys.modules else importlib.util.find_spec(name)
    if spec is None:  # for type checkers, or where it happens to be installed
        return []
    origins = [spec.origin] if spec.has_location and spec.origin else spec.submodule_search_locations or ()
    places = [_whole(Path(origin).resolve()) for origin in origins]
    own = [place for place in places if folder in place.parents]
    installed = all(_INSTALLED & set(place.parts) for place in places if place not in own)
    return own if installed else None
