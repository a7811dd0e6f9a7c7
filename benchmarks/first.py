"""What a first command takes, and the same command afterwards: whole processes, side by side with starting numpy.

Every command runs in an empty folder of machine code, and then again with what the first run left there.  Seconds are
those of the processors, of the process and of all that it starts; with ``--clock`` those that pass.  Both are compared
with ``python -c "import numpy"``, measured in the same minute, which says less about the machine than seconds do.
``compiled`` counts the loops that the first run left behind; 0 means that it needed no compiler.

    python benchmarks/first.py [--only NAME ...] [--clock] [--json]

``--json`` prints rows of ``command, first, later, first_ratio, later_ratio, compiled``, else they are a table in
Markdown.  The exit status is 1 if an answer is not the one that is known.
"""

from __future__ import annotations

import argparse
import compileall
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

RUNS = 5
ENOUGH = 10.0
"""Seconds of later runs after which no further one is made."""
VALUES = {
    "solve pig-turn": 8.141794893727,
    "solve pig-race": 0.53059272527,
    "solve yahtzee": 254.5877287,
    "solve farkle": 564.4328467759,
    "crosscheck farkle": 564.4328467759,
}
"""The commands, and the values that are known of them."""


def seconds(command: list[str], folder: Path, *, clock: bool) -> tuple[float, str]:
    """Run a command whose machine code lies in a folder; what it took, and what it printed."""
    # Nothing but machine code is kept from run to run, and the bytecode that an installation comes with.
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "MDPDICE_CACHE": "", "PYTHONDONTWRITEBYTECODE": ""}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    passed, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return passed if clock else used, done.stdout


def measure(name: str, *, clock: bool) -> dict[str, Any]:
    """The row of one command, and whether its answer is right."""
    command = [str(Path(sys.executable).with_name("mdpdice")), *name.split(), "--json"]
    numpy = [sys.executable, "-c", "import numpy"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        unit = min(seconds(numpy, place, clock=clock)[0] for _ in range(RUNS))
        first, text = seconds(command, place, clock=clock)
        compiled = len(list(place.rglob("*.nbc")))
        later: list[float] = []
        while len(later) < RUNS and sum(later) < ENOUGH:
            later.append(seconds(command, place, clock=clock)[0])
            unit = min(unit, seconds(numpy, place, clock=clock)[0])
    known, found = VALUES[name], json.loads(text)
    answers = found.get("solvers", [found])
    right = all(math.isclose(one["value"], known, rel_tol=1e-9) for one in answers if "value" in one)
    return {
        "command": name, "first": first, "later": min(later), "first_ratio": first / unit,
        "later_ratio": min(later) / unit, "compiled": compiled, "right": right,
    }  # fmt: skip


def main() -> int:
    """Print a row for each command; the exit status says whether the answers are right."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=VALUES, default=list(VALUES), metavar="NAME")
    parser.add_argument("--clock", action="store_true", help="seconds that pass instead of those of the processors")
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    asked = parser.parse_args()
    for name in ("mdpdice", "mdpdice.games", "mdpdice.solvers"):
        for folder in import_module(name).__path__:
            compileall.compile_dir(folder, quiet=2)
    rows = [measure(name, clock=asked.clock) for name in asked.only]
    wrong = [row["command"] for row in rows if not row.pop("right")]
    if asked.json:
        print(json.dumps(rows, indent=1))
    else:
        what = "seconds" if asked.clock else "CPU seconds"
        print(f"| command, {what} (as multiples of `import numpy`) | first use | afterwards | loops compiled |")
        print("| --- | ---: | ---: | ---: |")
        for row in rows:
            first, later = (f"{row[key]:.2f} ({row[f'{key}_ratio']:.1f})" for key in ("first", "later"))
            print(f"| `mdpdice {row['command']}` | {first} | {later} | {row['compiled']} |")
    if wrong:
        print(f"wrong: {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
