"""Writes the games that can be played in the documentation into docs/_pages/play, each as a page of one file.

A page is written again when anything of the library is newer than it.  ``python docs/pages.py`` does the same
without Sphinx.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdpdice import solve
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigRace
from mdpdice.games.school import School
from mdpdice.web.page import write_page

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = ROOT / "docs" / "_pages"
GAMES: dict[str, Callable[[], Any]] = {"pig": PigRace, "farkle": KcdFarkle, "school": School}
SOURCES = ("mdpdice", "games", "solvers")
KINDS = {".py", ".js", ".css", ".html"}


def write_all() -> None:
    """Write what is missing or older than its sources."""
    folder = WRITTEN / "play"
    folder.mkdir(parents=True, exist_ok=True)
    sources = (path for name in SOURCES for path in (ROOT / name).rglob("*") if path.suffix in KINDS)
    newest = max(path.stat().st_mtime for path in sources)
    for name, game in GAMES.items():
        path = folder / f"{name}.html"
        if not path.is_file() or path.stat().st_mtime < newest:
            write_page(solve(game()), path)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write before HTML is made; Sphinx looks for the folder earlier."""
    WRITTEN.mkdir(exist_ok=True)
    app.connect("builder-inited", lambda app: write_all() if app.builder.format == "html" else None)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    write_all()
