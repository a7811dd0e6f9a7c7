"""Draws the pictures of the documentation into docs/_gallery, from the scripts in examples/gallery.

A picture is drawn again when its script, or anything of the library, is newer than it.
``python docs/pictures.py`` does the same without Sphinx.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING

from mdpdice.errors import MdpDiceError
from mdpdice.plots import save_picture

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "examples" / "gallery"
DRAWN = ROOT / "docs" / "_gallery"
SOURCES = ("mdpdice", "games", "solvers")


def draw_all() -> None:
    """Draw what is missing or older than its sources."""
    DRAWN.mkdir(exist_ok=True)
    library = max(path.stat().st_mtime for folder in SOURCES for path in (ROOT / folder).rglob("*.py"))
    for script in sorted(SCRIPTS.glob("*.py")):
        newest = max(library, script.stat().st_mtime)
        names = runpy.run_path(str(script))
        paths = {name: DRAWN / f"{name}.png" for name in names["PICTURES"]}
        if all(path.is_file() and path.stat().st_mtime > newest for path in paths.values()):
            continue
        pictures = names["draw"]()
        if set(pictures) != set(paths):
            msg = f"{script.name} draws {sorted(pictures)} and says {sorted(paths)}"
            raise MdpDiceError(msg)
        for name, path in paths.items():
            save_picture(pictures[name], path)


def setup(app: Sphinx) -> dict[str, bool]:
    """Draw before the pages are read."""
    app.connect("builder-inited", lambda _: draw_all())
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    draw_all()
