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
    outputs: dict[str, str] = {}

    def run(name: str) -> str:
        if name not in outputs:
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
            outputs[name] = done.stdout
        return outputs[name]

    return run
