"""What a second question about a game costs: processor time of the whole process, where the first has kept the answer.

Every command is run twice in a cache folder of its own, `solve` once before, and the second run counts: it finds the
answer, and what `policy`, `evaluate` and `export` made of it the first time.  What their first run took is shown in a
column of its own: it finds the answer alone.  What a command takes on an idle machine is about the processor time; so
that is measured, and the goal is less than `GOAL`.

    python benchmarks/kept.py [--json] [NAME ...]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

GOAL = 1.3
"""Seconds of user and system time."""
GOING_ON = "r1=1", "r2=1", "c=1", "ones=3", "twos=1", "cages=0"
"""All of a throw of Konijnenhokken but the points of the turn."""
GAMES = {
    "farkle": ["roll=1,1,5", "points=300"],
    "farkle-race": ["mine=500", "theirs=1000", "roll=1,1,5", "points=300"],
    "knucklebones": [],
    "konijnenhokken": ["r1=1", "r2=1", "c=1", "t=20"],
    "konijnenhokken-race": ["mine=20", "theirs=30", "r1=1", "r2=1", "c=1", "t=20"],
    "pig-race": ["mine=40", "theirs=52", "turn=11"],
    "pig-turn": ["17"],
    "piglet": ["mine=0", "theirs=1", "turn=0"],
    "school": ["open=grade-6,pair,full,poker", "dice=2,2,6,6,6", "rerolls=2"],
    "school-combination": ["dice=2,2,6,6,6", "rerolls=2"],
    "yahtzee": ["boxes=6143", "upper=50"],
    "yatzy": ["boxes=24575", "upper=50"],
}
"""A position of every game that is asked about; none: whatever comes first."""
MORE = {"knucklebones": ["-p", "columns=2", "-p", "rows=2"]}
"""Parameters of games that are too large to be solved without any."""
MAKE = "policy", "evaluate", "export"
"""Commands whose findings are kept as well."""
FIRST = " (1st)"


def _where(*conditions: str) -> list[str]:
    return [word for one in conditions for word in ("--where", one)]


PICTURES = {
    "farkle": ["thresholds"],
    "farkle-race": ["values", "--x", "turn", "--where", "mine=500", "--where", "theirs=1000", "--where", "dice=6"],
    "konijnenhokken": ["values", "--x", "t", *_where(*GOING_ON)],
    "konijnenhokken-race": ["values", "--x", "t", *_where(*GOING_ON, "mine=20", "theirs=30")],
    "pig-race": ["policy", "--x", "turn", "--y", "mine", "--where", "theirs=30"],
    "pig-turn": ["values", "--actions"],
    "piglet": ["network"],
    "school-combination": ["outcomes"],
    "yahtzee": ["values", "--x", "upper", *_where("boxes=6143", "fifty=0", "state=turn")],
    "yatzy": ["values", "--x", "upper", *_where("boxes=24575", "state=turn")],
}
"""A kind of picture of every game that has one."""


def main(arguments: list[str]) -> int:
    """Print the table; the exit status says whether the goal was met."""
    names = [one for one in arguments if one != "--json"] or list(GAMES)
    with tempfile.TemporaryDirectory() as folder:
        found = {name: _times(name, Path(folder)) for name in names}
    if "--json" in arguments:
        print(json.dumps(found))
    else:
        commands = list(found[names[0]])
        print(f"{'':20}{''.join(f'{one:>15}' for one in commands)}")
        for name, times in found.items():
            cells = ("-" if times[one] is None else f"{times[one]:.2f}" for one in commands)
            print(f"{name:20}{''.join(f'{one:>15}' for one in cells)}")
    again = [times[key] for times in found.values() for key in times if not key.endswith(FIRST)]
    return int(any(seconds is not None and seconds >= GOAL for seconds in again))


def _times(name: str, folder: Path) -> dict[str, float | None]:
    """Processor seconds of every command, by name; None where it is refused, or there is no such picture."""
    game, state = [name, *MORE.get(name, [])], GAMES[name]
    commands = {
        "advise": ["advise", *game, *state],
        "policy": ["policy", *game],
        "tree": ["tree", *game, "-d", "1"],
        "tree STATE": ["tree", *game, "-d", "1", *state],
        "evaluate": ["evaluate", *game],
        "plot": ["plot", *game, "--to", str(folder / "plot.png"), "--kind", *PICTURES.get(name, [])],
        "play": ["play", *game, "--seed", "1"],
        "export": ["export", *game, "--to", str(folder / "page.html")],
    }
    _run(["solve", *game], folder)
    found: dict[str, float | None] = {}
    for key, words in commands.items():
        first = None if key == "plot" and name not in PICTURES else _run(words, folder)
        found[key] = None if first is None else _run(words, folder)
        if key in MAKE:
            found[key + FIRST] = first
    return found


def _run(words: list[str], folder: Path) -> float | None:
    """Processor seconds of a command; None where it is refused."""
    began = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-P", "-m", "mdpdice.cli", *words]
    environment = {**os.environ, "MDPDICE_CACHE": str(folder / "answers")}
    done = subprocess.run(command, env=environment, input="?\nq\n", text=True, capture_output=True, check=False)
    if done.returncode:
        print(f"{' '.join(words)}: {done.stderr.strip()[-150:]}", file=sys.stderr)
        return None
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    taken = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    print(f"{taken:6.2f} s  mdpdice {' '.join(words)}", file=sys.stderr)
    return taken


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
