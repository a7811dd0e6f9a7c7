"""The notebooks of the examples run, and what a reader looks for is on the page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(folder: Path, out: Path, *paths: Path) -> None:
    command = [sys.executable, "-P", "-m", "nbconvert", "--to", "notebook", "--execute", "--output-dir", str(out)]
    done = subprocess.run(
        [*command, *map(str, paths)], cwd=folder, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]


def outputs(path: Path, source: str) -> dict:
    """What the cell with this source shows, by its type."""
    cells = json.loads(path.read_text())["cells"]
    (cell,) = [one for one in cells if one["cell_type"] == "code" and source in "".join(one["source"])]
    return {kind: data for one in cell["outputs"] for kind, data in one.get("data", {}).items()}


def test_notebooks_run_and_show_what_they_find(tmp_path):
    notebooks = sorted(EXAMPLES.glob("*.ipynb"))
    assert [one.stem for one in notebooks] == ["author", "player", "teacher"]
    for one in notebooks:
        cells = json.loads(one.read_text())["cells"]
        assert not any(cell.get("outputs") for cell in cells), f"{one.name} is kept without outputs"
    run(EXAMPLES, tmp_path, *notebooks)
    teacher, player, author = (tmp_path / f"{name}.ipynb" for name in ("teacher", "player", "author"))
    for path, source in (
        (teacher, "policy_map("),
        (teacher, "value_curve(gambler"),
        (player, "policy_map(pig"),
        (player, "draw_card("),
        (author, "draw_network("),
    ):
        assert outputs(path, source)["image/png"].startswith("iVBOR")
    for path, source, text in (
        (player, "product(d6, d6)", "Dist of 11 outcomes"),
        (player, "pig = solve(", "the first decisions"),
        (player, "outcomes(PigTurn(), pig)", "chance of a total"),
        (player, "simulate(PigTurn()", "95 % interval"),
        (author, "class DrawLook", "draw one more"),
    ):
        assert text in "".join(outputs(path, source)["text/html"])
    assert re.match(r"<p>\w+: \w+ [0-9,]+", "".join(outputs(player, "CellProgress()")["text/html"]))
