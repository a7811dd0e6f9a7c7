"""mdpdice and its peers, side by side on the same seeded models: who is how fast, how large, and right?

Every measurement is a process of its own, which makes the model, builds the tool's form of it, solves it to
six digits, for mdpdice with its certificate, and reports CPU seconds and memory.  A small model of the same
kind is solved before, so that no compiling is measured.  Of several runs the fastest counts, of building and of
solving; what takes less than a second is measured in several processes, in turn with the others, since a machine that
is shared has slow minutes.  Memory is what both take at their peak, beyond the model, as a multiple of the arrays of
the model.

The exit status is 1 where a peer takes less time, by CPU or by the clock, with building the tool's form or without,
and where mdpdice is wrong.

Every answer is compared at every state with the intervals that mdpdice certified, and those, where there
is a discount, with an interval made here by one product of a sparse matrix: ``max |T v - v| / (1 - discount)``.
An answer outside by more than six digits is shown as wrong.  Last comes what it costs to start: ``import mdpdice`` and
``mdpdice --help``.

    python benchmarks/flat.py [--quick] [--table FILE]

``--table`` writes ratios, memory and growth as Markdown; ``--quick`` leaves the models of a million states out, and one
of ten million, which takes 18 GB, is run where ``--only`` names it.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import models
import numpy as np
from contestants import CONTESTANTS, DIGITS, Contestant, installed
from models import Floats, Model

TIMEOUT = 300
"""Seconds after which a contestant is stopped."""
ENOUGH = 2.0
"""CPU seconds of solving after which no further run is made; those of building, after which one model is enough."""
RUNS = 7
ROUNDS = 4
"""Processes that measure what takes less than a second."""
SEEN = 2**23
"""Bytes of arrays from which memory is compared: below it, only what packages set aside for themselves is seen."""


class Case(NamedTuple):
    """A model, a small one of its kind, whether it is among the large ones, and whether it is run by name alone."""

    title: str
    make: Callable[[], Model]
    small: Callable[[], Model]
    large: bool = False
    vast: bool = False


CASES = {
    "discounted-1e3-5": Case(
        "discounted, 10³ × 4 × 5", lambda: models.discounted(10**3, 5), lambda: models.discounted(2000, 5)
    ),
    "discounted-1e4-5": Case(
        "discounted, 10⁴ × 4 × 5", lambda: models.discounted(10**4, 5), lambda: models.discounted(2000, 5)
    ),
    "discounted-1e5-10": Case(
        "discounted, 10⁵ × 4 × 10", lambda: models.discounted(10**5, 10), lambda: models.discounted(2000, 10)
    ),
    "discounted-1e6-5": Case(
        "discounted, 10⁶ × 4 × 5", lambda: models.discounted(10**6, 5), lambda: models.discounted(2000, 5), True
    ),
    "discounted-1e7-5": Case(
        "discounted, 10⁷ × 4 × 5", lambda: models.discounted(10**7, 5), lambda: models.discounted(2000, 5), True, True
    ),
    "reachability-1e4": Case(
        "reachability, 10⁴ × 4 × 7", lambda: models.reachability(10**4), lambda: models.reachability(2000)
    ),
    "reachability-1e5": Case(
        "reachability, 10⁵ × 4 × 7", lambda: models.reachability(10**5), lambda: models.reachability(2000)
    ),
    "pig-100": Case("Pig against hold at 20", lambda: models.pig(100), lambda: models.pig(25)),
}


class Measured(NamedTuple):
    """What one process reports."""

    build: float
    solve: float
    build_clock: float
    clock: float
    memory: float
    n_bytes: int

    def seconds(self) -> dict[str, float]:
        """Seconds of solving, and of building and solving, by CPU time and by the clock."""
        return {
            "CPU": self.solve,
            "clock": self.clock,
            "CPU with building": self.build + self.solve,
            "clock with building": self.build_clock + self.clock,
        }


def resident(*, peak: bool) -> int:
    """Bytes of memory in use, or their peak since the last question that was not for the peak."""
    status = Path("/proc/self/status")
    if not status.exists():  # elsewhere only the peak of the whole process is known
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if not peak:
        gc.collect()
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    name = "VmHWM:" if peak else "VmRSS:"
    line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def measure(case: Case, contestant: Contestant, out: Path) -> None:
    """Run one contestant on one model; write its values and print the figures."""
    contestant.build(case.small())
    contestant.solve()
    model = case.make()
    n_bytes = model.n_bytes
    np.ones(3 * n_bytes, dtype=np.uint8)  # a virtual machine is given memory, which takes longer than to fill it
    before = resident(peak=False)
    builds, solves, build_clocks, clocks, memory = [], [], [], [], 0
    while not solves or (len(solves) < RUNS and sum(solves) < ENOUGH):
        if contestant.fresh or sum(builds) < ENOUGH:
            begun, clock = time.process_time(), time.perf_counter()
            contestant.build(model)
            builds.append(time.process_time() - begun)
            build_clocks.append(time.perf_counter() - clock)
        begun, clock = time.process_time(), time.perf_counter()
        contestant.solve()
        solves.append(time.process_time() - begun)
        clocks.append(time.perf_counter() - clock)
        if len(solves) == 1:
            memory = resident(peak=True) - before
    bounds = contestant.bounds()
    arrays = {"values": contestant.values()}
    if bounds is not None:
        arrays |= {"lower": bounds[0], "upper": bounds[1]}
    np.savez(out, **arrays)
    best = map(min, (builds, solves, build_clocks, clocks))
    print(json.dumps(Measured(*best, memory, n_bytes)._asdict()))


def ask(case: str, contestant: str, out: Path) -> Measured | str:
    """Measure in a process of its own; a text says why there is nothing."""
    command = [sys.executable, __file__, "--measure", case, contestant, str(out)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return f"stopped after {TIMEOUT} s"
    if done.returncode:
        return "failed: " + (done.stderr.strip().splitlines() or ["?"])[-1][:100]
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def ask_in_turn(case: str, contestants: list[str], folder: Path) -> dict[str, Measured | str]:
    """Measure contestants one after the other, the quick ones again in further rounds; the best of each."""
    found: dict[str, Measured | str] = {}
    quick = contestants
    for _ in range(ROUNDS):
        for contestant in quick:
            now, before = ask(case, contestant, folder / f"{case}-{contestant}.npz"), found.get(contestant)
            if isinstance(now, Measured) and isinstance(before, Measured):
                best = [min(one, other) for one, other in zip(now, before, strict=True)]
                now = Measured(*best)._replace(memory=before.memory)
            found[contestant] = now
        measured = {name: one for name, one in found.items() if isinstance(one, Measured)}
        quick = [name for name in quick if name in measured and sum(measured[name][:2]) < 1]
    return found


def off(values: Floats, lower: Floats, upper: Floats) -> float:
    """Largest distance from the interval, relative to ``max(1, |value|)``; NaN is infinitely far."""
    away = np.maximum(0.0, np.maximum(lower - values, values - upper)) / np.maximum(1.0, np.abs(upper))
    return float(np.where(np.isnan(away), np.inf, away).max())


def contains(model: Model, lower: Floats, upper: Floats) -> bool | None:
    """Whether an interval found here overlaps everywhere; None where there is no discount to find one by."""
    discount = float(Fraction(model.discount))
    if discount == 1:
        return None
    value = (lower + upper) / 2
    best = np.maximum.reduceat(model.reward + discount * (model.matrix() @ value), model.choice_ptr[:-1])
    away = np.abs(best - value).max() / (1 - discount) + 1e-9
    return bool((lower <= value + away).all() and (upper >= value - away).all() and away < DIGITS * 100)


def compare(name: str, case: Case, folder: Path) -> dict[str, Any]:
    """Measure all contestants on one model; print a line for each."""
    row: dict[str, Any] = {"title": case.title}
    interval: tuple[Floats, Floats] | None = None
    model = case.make()
    branches, undiscounted = len(model.target), model.discount == "1"
    print(f"\n{case.title}: {len(model.choice_ptr) - 1:,} states, {branches:,} branches")
    usable = [
        contestant
        for contestant, cls in CONTESTANTS.items()
        if installed(contestant) and branches <= cls.largest and (cls.undiscounted or not undiscounted)
    ]
    answers = ask_in_turn(name, usable, folder)
    for contestant, cls in CONTESTANTS.items():
        out = folder / f"{name}-{contestant}.npz"
        if contestant in answers:
            found = answers[contestant]
        elif not installed(contestant):
            found = "not installed"
        else:
            found = "too large" if cls.undiscounted or not undiscounted else "needs a discount"
        row[contestant] = found
        if isinstance(found, str):
            print(f"  {contestant:13} {found}")
            continue
        with np.load(out) as answer:
            if interval is None and "lower" in answer:
                interval = answer["lower"], answer["upper"]
                checked = contains(model, *interval)
                verdict = {True: "certified, confirmed", False: "WRONG", None: "certified"}[checked]
            else:
                assert interval is not None, "mdpdice comes first"
                error = off(answer["values"], *interval)
                verdict = "right" if error <= DIGITS else f"WRONG by {error:.2g}"
        row[contestant, "verdict"] = verdict
        mine: Measured = row["mdpdice"]
        whole = (found.build + found.solve) / (mine.build + mine.solve)
        print(
            f"  {contestant:13} solve {found.solve:8.3f} s ({found.solve / mine.solve:5.2f}x; {found.clock:.3f} by the "
            f"clock), build {found.build:7.3f} s ({whole:.2f}x with it), "
            f"{found.memory / 2**20:6.0f} MB ({multiple(row, contestant)} of the arrays), {verdict}",
            flush=True,
        )
    return row


def starting() -> dict[str, float]:
    """CPU seconds of starting, the best of several processes."""
    script = Path(sys.executable).with_name("mdpdice")
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import mdpdice": [sys.executable, "-c", "import mdpdice"],
        "mdpdice --help": [str(script), "--help"],
    }
    found = {}
    for name, command in commands.items():
        taken = []
        for _ in range(RUNS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        found[name] = min(taken)
        print(f"{name}: {found[name]:.3f} CPU seconds{'' if name.startswith('python') else ' (goal 0.3)'}")
    return found


def ratio(row: dict[str, Any], name: str) -> str:
    """How many times as long as mdpdice a contestant takes to solve a model; with building in brackets."""
    found, mine = row[name], row["mdpdice"]
    if isinstance(found, str):
        return {"needs a discount": "–", "too large": "·"}.get(found, found)
    wrong = row[name, "verdict"].startswith("WRONG")
    whole = (found.build + found.solve) / (mine.build + mine.solve)
    return f"{two_digits(found.solve / mine.solve)} ({two_digits(whole)})" + (
        f" **{row[name, 'verdict'].lower()}**" if wrong else ""
    )


def two_digits(number: float) -> str:
    """A number to two digits, without an exponent where it is large."""
    text = f"{number:.2g}"
    return f"{float(text):,.0f}" if "e+" in text else text


def multiple(row: dict[str, Any], name: str) -> str:
    """Memory of a contestant as a multiple of the arrays of the model."""
    found = row[name]
    return f"{found.memory / found.n_bytes:.1f}" if isinstance(found, Measured) else "·"


def growth(rows: list[dict[str, Any]]) -> list[list[str]]:
    """How time and memory grow with size among the discounted models."""
    same = [row for row in rows if row["title"].startswith("discounted")]
    lines = []
    for small, large in itertools.pairwise(same):
        line = [
            f"{small['title']} → {large['title'].removeprefix('discounted, ')}",
            f"{large['mdpdice'].n_bytes / small['mdpdice'].n_bytes:.3g}",
        ]
        for name in CONTESTANTS:
            both = small[name], large[name]
            known = all(isinstance(found, Measured) for found in both)
            line.append(f"{both[1].solve / both[0].solve:.3g}" if known else "·")
        lines.append(line)
    return lines


def table(rows: list[dict[str, Any]]) -> str:
    """The figures of one run, in Markdown."""
    peers = [name for name in CONTESTANTS if name != "mdpdice"]
    large = [row for row in rows if row["mdpdice"].n_bytes >= SEEN]
    times = [[row["title"], *(ratio(row, name) for name in peers)] for row in rows]
    spaces = [[row["title"], *(multiple(row, name) for name in CONTESTANTS)] for row in large]
    parts = [
        (["CPU seconds, mdpdice = 1", *peers], times),
        (["memory, arrays = 1", *CONTESTANTS], spaces),
        (["growth of the time to solve", "data", *CONTESTANTS], growth(rows)),
    ]
    lines = []
    for head, body in parts:
        if body:
            lines += ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
            lines += ["| " + " | ".join(line) + " |" for line in body] + [""]
    return "\n".join(lines)


def slower_than_a_peer(rows: list[dict[str, Any]]) -> list[str]:
    """Lines for the models that a peer solves in less time, by any of the four ways to measure it."""
    lines = []
    for row in rows:
        for name in CONTESTANTS:
            if not isinstance(row[name], Measured):
                continue
            mine, theirs = row["mdpdice"].seconds(), row[name].seconds()
            ratios = {what: theirs[what] / mine[what] for what in mine}
            if below := {what: ratio for what, ratio in ratios.items() if ratio < 1}:
                shown = ", ".join(f"{ratio:.2f} by {what}" for what, ratio in below.items())
                lines.append(f"  {row['title']}, {name}: {shown}")
    return lines


def main() -> int:
    """Print everything; the exit status says whether mdpdice was right, and no slower than any peer in any way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", choices=CASES, default=[name for name in CASES if not CASES[name].vast])
    parser.add_argument("--table", type=Path)
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        case, contestant, out = asked.measure
        measure(CASES[case], CONTESTANTS[contestant](), Path(out))
        return 0
    load = os.getloadavg()[0]
    print(f"load {load:.1f} on {os.cpu_count()} cores")
    starting()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            compare(name, CASES[name], Path(folder)) for name in asked.only if not (asked.quick and CASES[name].large)
        ]
    failed = [row["title"] for row in rows if isinstance(row["mdpdice"], str)]
    if failed:
        print(f"\nmdpdice gave no answer: {', '.join(failed)}")
        return 1
    text = table(rows)
    print(f"\n{text}")
    if asked.table:
        asked.table.write_text(text, encoding="utf-8")
    slower = slower_than_a_peer(rows)
    print("\n".join(["slower than a peer:", *slower]) if slower else "slower than a peer: never")
    wrong = any(row["mdpdice", "verdict"] == "WRONG" for row in rows)
    return 1 if slower or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
