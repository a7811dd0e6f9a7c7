"""Solves that are killed at a random moment, and go on from their checkpoint: what was lost, and is anything different?

Each round starts a solve with a checkpoint in a process of its own, kills it with SIGKILL, solves again from the folder
that is left, and compares digest and interval of the values with those of a solve without a checkpoint that nobody
disturbed.  Most rounds are small solves of every kind; of twenty, one each is a race or sheet of full size, and one
dies while it is certified.

A layer is lost if the dead process had said that it was solved, and it had to be solved again; so is a stage, or what
an iteration said.  Those of one interval between two writes, right before the end, count as one together.

    python benchmarks/kill.py --times 200 --json
    python benchmarks/kill.py --times 2 --only yahtzee --only certificate

With `--cost` nothing is killed: solves with and without a checkpoint take turns, and the least time of either is
compared, in CPU seconds of the whole process, in those of its main thread, and on the clock.

    python benchmarks/kill.py --cost --times 3 --json

With `--memory` nothing is killed either: how many megabytes a solve holds beside what lies in files, at most and in the
end, without and with a checkpoint.

    python benchmarks/kill.py --memory --json
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mdpdice
from mdpdice import Counter, Flags, Game, d6, decide, die, end, go, roll, solve, uniform, when
from mdpdice.games.farkle import FarkleRace
from mdpdice.games.konijnenhokken import KonijnenhokkenRace
from mdpdice.games.pig import PigRace
from mdpdice.games.yahtzee import Yahtzee
from mdpdice.solving.checkpoints import GATHER, values_digest

EVERY = 0.02
"""Seconds between two writes of small solves, which take little longer than that."""
INTERVAL = GATHER + 0.5
"""Seconds between two writes of layers, with the time of a write: on the clock, or of a processor that is shared."""


class Sheet(Game[int, int]):
    """Every box takes one roll, box `i` at most `i + 3` points of it; passing it on costs a point."""

    boxes = Flags(8)
    penalty = Counter(range(120), outside="forbid")

    def start(self) -> int:
        """No roll yet."""
        return 0

    def node(self, face: int) -> Any:
        """Fill a box, or pass."""
        if face == 0:
            over = (self.boxes.count() == 8) | (self.penalty == 119)
            return when(over, end(-2 * self.penalty), roll(d6, go))
        fill = [(at, when(~self.boxes[at], go(0, self.boxes.add(at), reward=min(face, at + 3)))) for at in range(8)]
        return decide([*fill, (9, go(0, self.penalty.add(1)))])


def walk(ends: int = 200) -> Game[int, str]:
    """Fair steps between two ends, or a little less at once."""
    return Game.of(
        start=ends // 2,
        node=lambda n: (
            end(n // ends)
            if n in {0, ends}
            else decide({"fair": roll(uniform([-1, 1]), lambda k: go(n + k)), "stop": end(n / (2 * ends + 1))})
        ),
    )


def ladder(steps: int = 3000) -> Game[int, str]:
    """No cycles."""
    return Game.of(
        start=0,
        node=lambda n: (
            end(3)
            if n > steps
            else decide({"on": go(n + 1), "two": roll(die(6), lambda k: go(n + k), reward=1), "stop": end(n / 7)})
        ),
    )


SMALL: dict[str, Callable[..., Any]] = {
    "value iteration": lambda **more: solve(walk(), solver="value-iteration", **more),
    "policy iteration": lambda **more: solve(walk(400), solver="policy-iteration", **more),
    "backward induction": lambda **more: solve(ladder(), solver="backward-induction", **more),
    "horizon": lambda **more: solve(ladder(), horizon=400, **more),
    "exact": lambda **more: solve(ladder(1200), solver="exact", **more),
    "sheet": lambda **more: solve(mdpdice.compile_lattice(Sheet()), **more),
    "race": lambda **more: solve(mdpdice.compile_lattice(PigRace(goal=40)), **more),
    "dice race": lambda **more: solve(mdpdice.compile_lattice(FarkleRace(dice=2, target=800)), **more),
}
LARGE: dict[str, Callable[..., Any]] = {
    "yahtzee": lambda **more: solve(Yahtzee(), **more),
    "farkle-race": lambda **more: solve(FarkleRace(), **more),
    "konijnenhokken-race": lambda **more: solve(KonijnenhokkenRace(), **more),
    "pig-race": lambda **more: solve(mdpdice.compile_lattice(PigRace()), **more),
    "certificate": lambda **more: solve(Yahtzee(), **more),
}
ALL = {**SMALL, **LARGE}
Said = list[dict[str, Any]]


def telling(case: str, say: Callable[..., None], **checkpoint: Any) -> None:
    """Solve a case, and say what happens."""

    def told(phase: str, numbers: Any) -> None:
        counted = next((int(numbers[name]) for name in ("layers", "sweeps", "iterations") if name in numbers), None)
        # A solver that counts in nodes begins with none.
        if phase in {"solve", "resume"} and numbers.get("nodes") != 0:
            left = int(numbers["of"] - numbers["layers"]) if "of" in numbers and "layers" in numbers else None
            say(phase=phase, count=counted, left=left)

    began = time.process_time(), time.thread_time(), time.perf_counter()
    say(phase="ready")
    found = ALL[case](progress=told, **checkpoint)
    ended = time.process_time(), time.thread_time(), time.perf_counter()
    values = found.table.stored if found.lattice is not None else found.nodes.values
    say(
        phase="over",
        answer=[values_digest(values), found.lower(), found.upper(), found.status.value],
        count=found.details.get("resumed_layers", 0),
        took=[end - begin for begin, end in zip(began, ended, strict=True)],
    )


def held() -> float:
    """Megabytes of memory beside what lies in files, as Linux counts them; 0 elsewhere."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("RssAnon:")), 0.0)


def child(case: str, folder: str, every: str) -> None:
    """Solve a case with a checkpoint in a folder, if it has a name, and say what happens, a line each."""

    def say(**what: Any) -> None:
        told = {**what, "at": time.monotonic(), "busy": time.process_time(), "held": held()}
        print(json.dumps(told), flush=True)

    telling(case, say, **({"checkpoint": folder, "checkpoint_seconds": float(every)} if folder else {}))


def here(case: str, **checkpoint: Any) -> Said:
    """What this process says when it solves a case."""
    said: Said = []
    telling(case, lambda **what: said.append({**what, "at": time.monotonic()}), **checkpoint)
    return said


def elsewhere(
    case: str, folder: str, every: float, after: int | None = None, seconds: float = 0.0
) -> tuple[Said, float]:
    """What another process says that solves a case, and when it was killed: so many seconds `after` that line."""
    command = [sys.executable, __file__, "--child", case, folder, str(every)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said, killed = [], time.monotonic()
        for line in process.stdout:
            said.append(json.loads(line))
            if len(said) - 1 == after:
                time.sleep(seconds)
                killed = time.monotonic()
                process.kill()
        if process.wait() != 0 and after is None:
            raise SystemExit(f"{case} failed")
    return said, killed


def moment(rng: random.Random, case: str, whole: Said) -> tuple[int, float]:
    """A random moment of a solve: the last line that was said before it, and the seconds since."""
    done = [one["at"] for one in whole if one.get("left") == 0]
    begin = done[-1] if case == "certificate" else whole[0]["at"]
    when_ = rng.uniform(begin, whole[-1]["at"])
    last = sum(one["at"] <= when_ for one in whole) - 1
    return last, when_ - whole[last]["at"]


def lost(dead: Said, after: Said, killed: float) -> int:
    """Layers that were lost; those of the last interval are one."""
    told = [one for one in dead if one["phase"] == "solve"]
    resumed = after[-1]["count"]
    if told and told[0]["count"] and told[0]["left"] is None:  # an iteration, which keeps one state
        resumed = max((one["count"] for one in after if one["phase"] == "resume"), default=0)
    gone = [one for number, one in enumerate(told, 1) if (one["count"] or number) > resumed]
    late = [one for one in gone if one["at"] > killed - INTERVAL or one["busy"] > told[-1]["busy"] - INTERVAL]
    return len(gone) - len(late) + (len(late) > 0)


def rounds(times: int, only: list[str]) -> Iterator[str]:
    """The cases, one after the other: one in twenty for each of the large ones, unless some are named."""
    large = [] if only else [name for name in LARGE for _ in range(times // 20)]
    yield from itertools.islice(itertools.cycle(only or SMALL), times - len(large))
    yield from large


def cost(case: str, times: int) -> dict[str, float]:
    """By what share a solve takes longer with a checkpoint, each at its best."""
    took: dict[bool, list[list[float]]] = {False: [], True: []}
    for _, keeps in itertools.product(range(times), took):
        with tempfile.TemporaryDirectory() as name:
            said, _ = elsewhere(case, str(Path(name) / "kept") if keeps else "", 60.0)
            took[keeps].append(said[-1]["took"])
    plain, kept = ([min(column) for column in zip(*rows, strict=True)] for rows in took.values())
    shares = [round(with_ / without - 1, 4) for with_, without in zip(kept, plain, strict=True)]
    return {**dict(zip(("process", "main_thread", "clock"), shares, strict=True)), "seconds": round(plain[0], 2)}


def memory(case: str) -> dict[str, list[int]]:
    """Megabytes that are held at most, and in the end."""
    with tempfile.TemporaryDirectory() as name:
        runs = {what: elsewhere(case, folder, 60.0)[0] for what, folder in (("plain", ""), ("kept", name + "/a"))}
    held = {what: [one["held"] for one in said] for what, said in runs.items()}
    return {what: [round(max(every)), round(every[-1])] for what, every in held.items()}


def main() -> int:
    """Kill, go on, compare; the exit status says whether anything was different, or more than a layer was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=200, help="kills, by default 200, or solves of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", choices=list(ALL), help="a case, instead of all; may be repeated")
    parser.add_argument("--cost", action="store_true", help="compare times instead, by default of two large games")
    parser.add_argument("--memory", action="store_true", help="measure what memory is held instead")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--child", nargs=3, metavar=("CASE", "DIR", "EVERY"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        child(*asked.child)
        return 0
    result: dict[str, Any]
    if asked.cost:
        result = {case: cost(case, asked.times) for case in asked.only or ["yahtzee", "konijnenhokken-race"]}
        print(json.dumps(result) if asked.json else result)
        return int(max(one["process"] for one in result.values()) > 0.05)
    if asked.memory:
        result = {case: memory(case) for case in asked.only or LARGE if case != "certificate"}
        print(json.dumps(result) if asked.json else result)
        return 0
    rng = random.Random(asked.seed)
    whole: dict[str, Said] = {}
    kills = different = most = 0
    for number, case in enumerate(rounds(asked.times, asked.only or [])):
        if case not in whole:
            whole[case] = here(case)
        with tempfile.TemporaryDirectory() as name:
            every = EVERY if case in SMALL else 60.0
            dead, killed = elsewhere(case, name + "/a", every, *moment(rng, case, whole[case]))
            kills += dead[-1]["phase"] != "over"
            after = here(case, checkpoint=name + "/a", checkpoint_seconds=every)
        gone = lost(dead, after, killed)
        most, different = max(most, gone), different + (after[-1]["answer"] != whole[case][-1]["answer"])
        if not asked.json:
            print(f"{number + 1} {case}: {after[-1]['count']} layers or steps resumed, {gone} lost", flush=True)
    result = {"kills": kills, "most_layers_lost": most, "different": different}
    print(json.dumps(result) if asked.json else result)
    return int(most > 1 or different > 0)


if __name__ == "__main__":
    sys.exit(main())
