"""The scripts of examples/, which are no package."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str) -> dict[str, Any]:
    """Return what a script defines; it is not run as the main program."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))
