"""A browser for the tests of the page: the Chromium of the system, driven by playwright, without a network."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

STATIC = "http://page.test"
"""Where `served` has its files."""
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


@contextmanager
def chromium() -> Iterator[Any]:
    """A running Chromium; where there is none, tests are skipped, but not on a build machine."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium: the page cannot be tested; install it")
        pytest.skip("no chromium in the path")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def opened(browser: Any, width: int = 1280, **wanted: Any) -> Any:
    """A page of a width whose errors fail the test that looks at `page.errors`."""
    context = browser.new_context(viewport={"width": width, "height": 800}, **wanted)
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda said: page.errors.append(said.text) if said.type == "error" else None)
    page.set_default_timeout(10_000)
    return page


def served(page: Any, folders: list[Path], **texts: str) -> None:
    """Let a page find the files of some folders, and texts by name (``start_js``), under one address."""

    def answer(route: Any) -> None:
        name = urlsplit(route.request.url).path.lstrip("/") or "page.html"
        found = [folder / name for folder in folders if (folder / name).is_file()]
        body = texts.get(name.replace(".", "_"), None if not found else found[0].read_text(encoding="utf-8"))
        kind = KINDS.get(Path(name).suffix, "text/plain")
        route.fulfill(status=404 if body is None else 200, body=body or "", content_type=kind)

    page.route(f"{STATIC}/**", answer)


def faults(page: Any) -> list[str]:
    """What axe finds wrong with a page for people who cannot see or use a mouse."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(page).response["violations"]
    return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]


def overflow(page: Any) -> int:
    """By how many pixels the page is wider than its window."""
    wide: int = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    return wide
