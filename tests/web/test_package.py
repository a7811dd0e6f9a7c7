"""The package of the page."""

import re
import runpy
from pathlib import Path

import mdpdice.web

STATIC = Path(mdpdice.web.__file__).parent / "static"
DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_it_says_what_it_is() -> None:
    assert "browser" in (mdpdice.web.__doc__ or "")


def test_the_games_that_the_documentation_links_are_written() -> None:
    linked = re.findall(r'href="play/(\w+)\.html"', (DOCS / "playing.md").read_text(encoding="utf-8"))
    assert sorted(linked) == sorted(runpy.run_path(str(DOCS / "pages.py"))["GAMES"])


def test_the_page_is_short_and_can_be_read() -> None:
    lines = [line for path in sorted(STATIC.iterdir()) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) <= 2_500
    assert max(map(len, lines)) <= 120
