"""What several processes cost that share a solve: processor time of each by phase, what they exchange, and memory.

Every count of processes is a job of its own, by mpiexec, each process bound to a processor; the phases are those of a
second solve in the same processes, when all loops are compiled.  Processor time is what was spent outside of calls of
MPI: a process that waits there keeps its processor busy.  `communication` is the time in such calls, of the process
that waited least.  The goals are `GOAL` times less processor time of sweeps and certificate in each of two processes
than in one, and at most `SPENT` of the time of these phases in communication.

    python benchmarks/ranks.py [--json] [--ranks 1,2,3] [NAME ...]
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, ClassVar

GOAL, SPENT = 1.7, 0.05
PHASES = {"finding": "large_layers", "sweeps": "solve_layers", "certificate": "certify_lattice"}
"""Phases, and the functions that are what they do."""
WHERE = {
    "large_layers": "mdpdice.solving.pipeline",
    "solve_layers": "mdpdice.solving.lattice_route",
    "certify_lattice": "mdpdice.certification.lattice_verdict",
}


class Counted:
    """A communicator that counts what goes through it: time in calls, processor time there and bytes, by phase."""

    phase = ""
    spent: ClassVar[dict[str, list[float]]] = defaultdict(lambda: [0.0, 0.0, 0.0])

    def __init__(self, comm: Any) -> None:
        self._comm = comm

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._comm, name)
        if not callable(found) or name == "Free":
            return found

        def call(*arguments: Any) -> Any:
            began, cpu = time.perf_counter(), time.process_time()
            result = found(*arguments)
            spent = self.spent[self.phase]
            spent[0] += time.perf_counter() - began
            spent[1] += time.process_time() - cpu
            if name == "Allgather":
                spent[2] += arguments[1].nbytes
            elif name == "Allgatherv":
                spent[2] += arguments[1][0].nbytes
            elif name == "Bcast":
                spent[2] += arguments[0].nbytes
            return Counted(result) if name in ("Dup", "Split", "Split_type") else result

        return call

    def __bool__(self) -> bool:
        return bool(self._comm)


def _measure(name: str) -> None:
    """Solve a game twice in this process, one of several, and let the first one print what was spent."""
    from mpi4py import MPI

    import mdpdice
    from mdpdice.cli.catalogue import find_game
    from mdpdice.cli.solve import _digest

    cpu: dict[str, float] = defaultdict(float)

    def timed(phase: str, function: Any) -> Any:
        def run(*arguments: Any, **more: Any) -> Any:
            Counted.phase, began = phase, time.process_time()
            try:
                return function(*arguments, **more)
            finally:
                cpu[phase] += time.process_time() - began
                Counted.phase = ""

        return run

    for phase, function in PHASES.items():
        module = importlib.import_module(WHERE[function])
        setattr(module, function, timed(phase, getattr(module, function)))
    world, found = MPI.COMM_WORLD, None
    for _ in range(2):
        cpu.clear()
        Counted.spent.clear()
        world.Barrier()
        found = mdpdice.solve(find_game(name)(), comm=Counted(world))
    assert found is not None
    own = {f"{phase}_cpu": cpu[phase] - Counted.spent[phase][1] for phase in PHASES}
    own |= {f"{phase}_communication": Counted.spent[phase][0] for phase in PHASES}
    own |= {"bytes": sum(spent[2] for spent in Counted.spent.values())}
    own |= {"memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    everyone = world.gather(own)
    if everyone is not None:
        row: dict[str, Any] = {"game": name, "ranks": world.size}
        row |= {key: [round(one[key], 3) for one in everyone] for key in own if key.endswith(("_cpu", "_mb"))}
        row |= {"exchanged_bytes": int(everyone[0]["bytes"])}
        waited = {phase: min(one[f"{phase}_communication"] for one in everyone) for phase in PHASES}
        row |= {"communication": {phase: round(seconds, 3) for phase, seconds in waited.items()}}
        row |= {"values_digest": _digest(found), "lower": found.lower(), "upper": found.upper()}
        print(json.dumps(row))


def _row(name: str, ranks: int) -> dict[str, Any]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    mpiexec = shutil.which("mpiexec", path=path)
    if mpiexec is None:
        sys.exit("mpiexec is not installed: pip install mpich")
    bound = ["-bind-to", "core"] if ranks <= (os.cpu_count() or 1) else []
    command = [mpiexec, *bound, "-n", str(ranks), sys.executable, __file__, "--measure", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    row: dict[str, Any] = json.loads(done.stdout)
    return row


def main() -> None:
    """Print a row per game and count of processes; exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=["yahtzee", "yatzy"])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ranks", default="1,2,3")
    parser.add_argument("--measure")
    asked = parser.parse_args()
    if asked.measure:
        _measure(asked.measure)
        return
    rows = [_row(name, int(ranks)) for name in asked.names for ranks in asked.ranks.split(",")]
    ratios, missed = [], []
    for name in asked.names:
        by = {row["ranks"]: row for row in rows if row["game"] == name}
        if len({(row["values_digest"], row["lower"], row["upper"]) for row in by.values()}) != 1:
            missed.append(f"{name}: other numbers of processes give other bits")
        if not {1, 2} <= set(by):
            continue
        for phase in PHASES:
            ratio = max(by[1][f"{phase}_cpu"]) / max(by[2][f"{phase}_cpu"])
            share = by[2]["communication"][phase] / max(by[2][f"{phase}_cpu"])
            ratios.append({"game": name, "phase": phase, "ratio": round(ratio, 2), "communication": round(share, 3)})
            if phase != "finding" and (ratio < GOAL or share > SPENT):
                missed.append(f"{name}, {phase}: {ratio:.2f} times, {share:.1%} in communication")
    if asked.json:
        print(json.dumps({"rows": rows, "ratios": ratios, "missed": missed}))
    else:
        for row in [*rows, *ratios]:
            print("  ".join(f"{key} {value}" for key, value in row.items()))
        for goal in missed:
            print(f"missed: {goal}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
