"""Running the examples, once each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="session")
def output_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Output of an example by its name; it must not fail, and not write to the error stream."""
    base = tmp_path_factory.getbasetemp()
    # All processes of pytest-xdist look into one folder.
    outputs = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "outputs"
    outputs.mkdir(exist_ok=True)

    def run(name: str) -> str:
        known = outputs / f"{name}.txt"
        if not known.exists():
            done = subprocess.run(
                # Away from the checkout, whose folders would hide an installed mdpdice.
                [sys.executable, "-P", EXAMPLES / f"{name}.py"],
                cwd=tmp_path_factory.mktemp(name),
                env={**os.environ, "PYTHONWARNINGS": "error"},
                capture_output=True,
                text=True,
                check=False,
                timeout=300,
            )
            assert done.returncode == 0, done.stderr
            assert not done.stderr
            written = tmp_path_factory.mktemp("output") / known.name
            written.write_text(done.stdout, encoding="utf-8")
            written.replace(known)  # in one step: another process may be looking
        return known.read_text(encoding="utf-8")

    return run
