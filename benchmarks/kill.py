"""Solves that are killed at a random moment, and go on from their checkpoint: what was lost, and is anything different?

Each round starts a solve with a checkpoint in a process of its own, kills it with SIGKILL, solves again from the folder
that is left, and compares digest and interval of the values with those of a solve that nobody disturbed.  Most rounds
are small solves of every kind; of twenty, one each is a race or sheet of full size, and one dies while it is certified.

A layer is lost if the dead process had said that it was solved, and it had to be solved again.  Those that were said to
be solved within one interval between two writes, right before the end, count as one together.

    python benchmarks/kill.py --times 200 --json
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

INTERVAL = GATHER + 0.5
"""Seconds between two writes of layers, with the time of a write."""


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
    "horizon": lambda **more: solve(ladder(), horizon=2000, **more),
    "exact": lambda **more: solve(ladder(400), solver="exact", **more),
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


def child(case: str, folder: str) -> None:
    """Solve a case, and say what happens, a line each."""

    def say(**what: Any) -> None:
        print(json.dumps({**what, "at": time.monotonic()}), flush=True)

    def told(phase: str, numbers: Any) -> None:
        if phase == "solve" and "layers" in numbers:
            say(layers=int(numbers["layers"]), left=int(numbers["of"] - numbers["layers"]))

    say(ready=True)
    found = {**SMALL, **LARGE}[case](checkpoint=folder, checkpoint_seconds=0.1, progress=told)
    values = found.table.stored if found.lattice is not None else found.nodes.values
    say(
        answer=[values_digest(values), found.lower(), found.upper(), found.status.value],
        resumed=found.details["resumed_layers"],
    )


def run(case: str, folder: Path, seconds: float | None = None) -> tuple[list[dict[str, Any]], float]:
    """What a process says that solves a case, and when it is killed, so many seconds after it began, if that is given.

    A certificate is killed so many seconds after the last layer.
    """
    command = [sys.executable, __file__, "--child", case, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said, killed = [], time.monotonic()
        for line in process.stdout:
            said.append(json.loads(line))
            if seconds is not None and (said[-1].get("left") == 0 if case == "certificate" else "ready" in said[-1]):
                time.sleep(seconds)
                killed = time.monotonic()
                process.kill()
        if process.wait() != 0 and seconds is None:
            raise SystemExit(f"{case} failed")
    return said, killed


def lost(dead: list[dict[str, Any]], resumed: int, killed: float) -> int:
    """Layers that were lost; those of the last interval are one."""
    gone = [one["at"] for one in dead if one.get("layers", 0) > resumed]
    late = [at for at in gone if at > killed - INTERVAL]
    return len(gone) - len(late) + (len(late) > 0)


def rounds(times: int) -> Iterator[str]:
    """The cases, one after the other: one in twenty for each of the large ones."""
    large = [name for name in LARGE for _ in range(times // 20)]
    yield from itertools.islice(itertools.cycle(SMALL), times - len(large))
    yield from large


def main() -> int:
    """Kill, go on, compare; the exit status says whether anything was different, or more than a layer was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=200, help="kills, by default 200")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--child", nargs=2, metavar=("CASE", "DIR"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        child(*asked.child)
        return 0
    rng = random.Random(asked.seed)
    whole: dict[str, tuple[Any, float]] = {}
    kills = different = most = 0
    for number, case in enumerate(rounds(asked.times)):
        with tempfile.TemporaryDirectory() as name:
            if case not in whole:
                said, _ = run(case, Path(name) / "whole")
                begun = [one["at"] for one in said if "ready" in one or (case == "certificate" and "left" in one)][-1]
                whole[case] = said[-1]["answer"], said[-1]["at"] - begun
            answer, seconds = whole[case]
            dead, killed = run(case, Path(name) / "killed", rng.random() * seconds)
            kills += "answer" not in dead[-1]
            after = run(case, Path(name) / "killed")[0][-1]
            gone = lost(dead, after["resumed"], killed)
            most, different = max(most, gone), different + (after["answer"] != answer)
            if not asked.json:
                print(f"{number + 1} {case}: {after['resumed']} layers or steps resumed, {gone} lost")
    result = {"kills": kills, "most_layers_lost": most, "different": different}
    print(json.dumps(result) if asked.json else result)
    return int(most > 1 or different > 0)


if __name__ == "__main__":
    sys.exit(main())
