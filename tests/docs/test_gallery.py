"""The pictures of the pages are those that the scripts of the gallery say they draw."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))


def promised(script: Path) -> set[str]:
    """Names that a script says it draws, read without running it."""
    for statement in ast.parse(script.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "PICTURES":
            return set(ast.literal_eval(statement.value))
    return set()


def test_pages_show_what_is_drawn_and_say_what_it_is() -> None:
    shown = set()
    for page in (ROOT / "docs").rglob("*.md"):
        for words, name in re.findall(r"!\[([^\]]*)\]\((?:\.\./)?_gallery/([\w-]+)\.png\)", page.read_text("utf-8")):
            assert len(words) > 20, f"{page.name}: {name} needs words for those who do not see it"
            shown.add(name)
    assert shown == set().union(*map(promised, SCRIPTS))


SLOW = ("farkle_turn", "konijnenhokken", "pig_race")
"""They solve large games, and the build of the documentation runs them anyway."""


@pytest.mark.parametrize(
    "script",
    [pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in SLOW else []) for path in SCRIPTS],
)
def test_scripts_draw_what_they_say(script: Path) -> None:
    pictures = runpy.run_path(str(script))["draw"]()
    assert set(pictures) == promised(script)
