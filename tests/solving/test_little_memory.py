"""With a checkpoint the values of a lattice lie in its folder, and may be larger than the memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from helpers.little_memory import solved, wide

PROGRAM = Path(__file__).parents[1] / "helpers" / "little_memory.py"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no limit of data that the library would see")
def test_values_are_larger_than_memory(tmp_path):
    """Values of 117 MB, where 100 may be taken."""

    def told(*folder):
        done = subprocess.run([sys.executable, PROGRAM, "100", *folder], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    assert told() == "StateLimitError"
    assert told(tmp_path / "kept") == solved(wide(120, 2000, 60))
    # The file of the values has no name, so that nothing of it is left behind.
    assert {path.suffix for path in (tmp_path / "kept").iterdir()} == {".json", ".npz"}
