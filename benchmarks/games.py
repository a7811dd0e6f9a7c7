"""The large games, each by one command in a process of its own: value, time, memory, and how fast edges are worked off.

Every game is solved by ``mdpdice solve``, certificate included; the first run fills the cache of compiled
loops and is not counted, and of the others the fastest one is.  Seconds are those of the whole process, from its
start to its end, as GNU time tells them; memory is the peak of what it held.  A value is compared with
the reference that the tests have for it, and must be certified.

The network of such a game is never made.  To have a figure that does not depend on the machine, edges of the
network per CPU second of the whole process are compared with non-zeros per CPU second of a product of a scipy
matrix in CSR form, measured here on 4 million of them: 1 means that a certified solution takes as long as one product
with the whole network would, if it fitted the memory.

    python benchmarks/games.py [--only NAME ...] [--table FILE]
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import models
import numpy as np

RUNS = 3
ENOUGH = 40.0
"""Seconds of a first run beside which what it compiles does not count, so that no further one is made."""
ROOM = 1e-6
"""What a value may be off the reference, relative to it."""
SIX = "Odd die,Heavenly Kingdom die,Lucky die,Strip die,Even die,Shrinking die"


class Case(NamedTuple):
    """A question, its answer if one is known, and the seconds that it should take on two cores."""

    arguments: tuple[str, ...]
    value: float | None
    goal: float = math.inf


CASES = {
    "yahtzee": Case(("yahtzee",), 254.5877287, 8),
    "yahtzee, joker if both are filled": Case(("yahtzee", "-p", "joker=only-when-both-filled"), 254.589609481963, 8),
    "yahtzee, free joker": Case(("yahtzee", "-p", "joker=free"), None, 8),
    "yahtzee, no extras": Case(("yahtzee", "-p", "bonus=none", "-p", "joker=none"), 245.870774514112, 8),
    "yatzy": Case(("yatzy",), 248.439989377855, 12),
    "school": Case(("school",), 132.339610477114, 3),
    "pig-race": Case(("pig-race",), 0.53059272527, 3),
    "farkle-race": Case(("farkle-race", "-p", "target=4000"), 0.557117046219, 60),
    "konijnenhokken-race": Case(("konijnenhokken-race",), 0.5513049),
    "farkle, six weighted dice": Case(("farkle", "-p", f"dice={SIX}"), None, 5),
}


class Measured(NamedTuple):
    """What one process took, and its answer."""

    clock: float
    processor: float
    memory: int
    answer: dict[str, Any]


def run(arguments: tuple[str, ...]) -> Measured:
    """Solve a game in a process of its own."""
    command = [str(Path(sys.executable).with_name("mdpdice")), "solve", *arguments, "--json"]
    begun = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        text = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    clock = time.perf_counter() - begun
    if process.returncode:
        msg = f"{' '.join(command)} ended with status {process.returncode}"
        raise SystemExit(msg)
    # On Linux in units of 1024 bytes, on macOS of bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return Measured(clock, used.ru_utime + used.ru_stime, used.ru_maxrss * unit, json.loads(text))


def product_rate() -> float:
    """Non-zeros per CPU second of a product of a scipy matrix in CSR form, the best of several."""
    matrix = models.discounted(10**5, 10).matrix()
    vector, rates = np.ones(matrix.shape[1]), []
    for _ in range(20):
        begun = time.process_time()
        matrix @ vector
        rates.append(matrix.nnz / (time.process_time() - begun))
    return max(rates)


def verdict(case: Case, answer: dict[str, Any]) -> str:
    """Whether the answer is proved and right."""
    if answer["status"] not in ("certified", "exact"):
        return f"NOT PROVED: {answer['status']}"
    if case.value is None:
        return "certified"
    away = abs(answer["value"] - case.value)
    return "certified, right" if away <= ROOM * abs(case.value) else f"WRONG by {away:.2g}"


def main() -> int:
    """Print a line for each game; the exit status says whether values are right and goals met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES), metavar="NAME")
    parser.add_argument("--table", type=Path)
    asked = parser.parse_args()
    rate = product_rate()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"scipy's product: {rate / 1e6:,.0f} million non-zeros per CPU second")
    lines = ["| game | states | edges | peak memory, MB | products |", "| --- |" + " ---: |" * 4]
    bad = []
    for name in asked.only:
        case = CASES[name]
        first = run(case.arguments)
        again = [run(case.arguments) for _ in range(RUNS)] if first.clock < ENOUGH else [first]
        best = min(again, key=lambda found: found.clock)
        answer, said = best.answer, verdict(case, best.answer)
        goal = f" (goal {case.goal:g})" if math.isfinite(case.goal) else ""
        ratio = best.processor * rate / answer["edges"]
        products = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"
        print(
            f"{name}: {answer['value']:.12g} +- {answer['width'] / 2:.1g}, {said}; {best.clock:.1f} s{goal}, "
            f"{best.processor:.1f} CPU seconds, {best.memory / 1e6:,.0f} MB; {answer['edges']:,} edges, "
            f"as long as {products} products",
            flush=True,
        )
        lines.append(f"| {name} | {answer['states']:,} | {answer['edges']:,} | {best.memory / 1e6:,.0f} | {products} |")
        if not said.startswith("certified"):
            bad.append(f"{name} ({said})")
        elif best.clock > case.goal:
            bad.append(f"{name} ({best.clock:.1f} s, goal {case.goal:g})")
    text = "\n".join(lines) + "\n"
    print(f"\n{text}")
    if asked.table:
        asked.table.write_text(text, encoding="utf-8")
    print(f"goals not met: {', '.join(bad) or 'none'}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
