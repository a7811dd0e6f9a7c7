"""The package of the page."""

import re
import runpy
from pathlib import Path

import mdpdice.web

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_it_says_what_it_is() -> None:
    assert "browser" in (mdpdice.web.__doc__ or "")


def test_the_games_that_the_documentation_links_are_written() -> None:
    linked = re.findall(r'href="play/(\w+)\.html"', (DOCS / "playing.md").read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(runpy.run_path(str(DOCS / "pages.py"))["GAMES"])
