"""Takes the picture of the page that README and documentation show: ``python docs/screenshot.py``.

It needs a chromium and playwright, and is run by hand when the page has changed.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from mdpdice import solve
from mdpdice.games.farkle import FarkleRace
from mdpdice.web.page import write_page

PICTURE = Path(__file__).resolve().parent / "_static" / "playing.png"
COLOURS = 64
"""Enough for the page, and a third of the bytes."""


def main() -> None:
    """Play a few moves of the race of Farkle with advice, and take a picture."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "farkle.html"
        write_page(solve(FarkleRace(target=2000)), file)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 620})
        page.goto(file.as_uri())
        page.fill("#seed", "12")
        page.click("#play")
        page.check("input[value=always]")
        for _ in range(4):
            page.click("#now .choice.best")
            page.wait_for_selector(".choice .worth")
        page.locator("#table .tappable:not([aria-disabled])").first.click()
        picture = Image.open(io.BytesIO(page.screenshot()))
        picture.convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
