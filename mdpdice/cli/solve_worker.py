"""The process that solves for ``mdpdice serve``: a task on its input, progress and an answer on its output."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

import click

from mdpdice.cli.case import open_case
from mdpdice.cli.progress_bars import ProgressBars, share_of
from mdpdice.cli.text import json_number
from mdpdice.errors import MdpDiceError, SolveInterrupted

__all__ = ["main"]

EVERY = 0.1
"""Seconds between two lines of progress."""


def main() -> None:
    """Do one task."""
    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_listen, daemon=True).start()
    # What a game prints is not for those who read the answer.
    out, sys.stdout = sys.stdout, sys.stderr
    out.write(json.dumps(_done(task, out)) + "\n")
    out.flush()


def _done(task: Mapping[str, Any], out: Any) -> dict[str, Any]:
    said = [0.0]

    def progress(phase: str, numbers: Mapping[str, float]) -> None:
        if (now := time.monotonic()) < said[0] + EVERY:
            return
        said[0] = now
        found = share_of(phase, numbers, 1.0)
        data = {"phase": phase, "done": json_number(found.done), "total": found.total}
        data["figures"] = {name: json_number(number) for name, number in found.figures.items()}
        out.write(json.dumps(data) + "\n")
        out.flush()

    try:
        case = open_case(task["name"], task["pairs"], None, 1e-6, None, None, True, ProgressBars())
        case.refuse_infinite("every way to get there is as good as any other")
        solution = case.solve(
            "auto", max_states=task["max_states"], progress=progress, time_limit=task["seconds"]
        )
        solution.save(task["file"])
    except SolveInterrupted as error:
        return {"error": f"the game was not solved within {task['seconds']:g} seconds", "code": error.code}
    except click.ClickException as error:
        return {"error": error.message, "code": ""}
    except MdpDiceError as error:
        return {"error": str(error), "code": error.code}
    answer = {
        "value": json_number(solution.estimate()),
        "lower": json_number(solution.lower()),
        "upper": json_number(solution.upper()),
        "status": solution.status.value,
        "proved": solution.proved,
        "digest": solution.digest,
        "version": solution.version,
        "solver": solution.solver,
        "states": solution.n_states,
    }
    return {"answer": answer}


def _listen() -> None:
    """End when nobody waits any more."""
    with contextlib.suppress(OSError):
        sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
