"""Eight solves of every kind that are killed and go on; ``benchmarks/kill.py`` kills more of them, and larger ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "kill.py"


def test_eight_kills():
    done = subprocess.run(
        [sys.executable, PROGRAM, "--times", "8", "--json"], check=True, capture_output=True, text=True
    )
    data = json.loads(done.stdout)
    assert data["kills"] >= 6  # a solve may be over first
    assert data["most_layers_lost"] <= 1
    assert data["different"] == 0
