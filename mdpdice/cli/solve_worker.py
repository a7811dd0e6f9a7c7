"""The process that solves for ``mdpdice serve``: a task on its input, progress and an answer on its output."""

from __future__ import annotations

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
from mdpdice.cli.values import value_data
from mdpdice.errors import MdpDiceError, SolveInterrupted

EVERY = 0.1
"""Seconds between two lines of progress."""


def main() -> None:
    """Do one task (`mdpdice.web.worker`)."""
    task = json.loads(sys.stdin.readline())
    threading.Thread(target=_listen, daemon=True).start()
    # What a game prints is not for those who read the answer.
    out, sys.stdout = sys.stdout, sys.stderr
    said = 0.0

    def say(**data: Any) -> None:
        print(json.dumps(data), file=out, flush=True)

    def progress(phase: str, numbers: Mapping[str, float]) -> None:
        nonlocal said
        if (now := time.monotonic()) >= said + EVERY:
            said, share = now, share_of(phase, numbers, 1.0)
            figures = {name: json_number(figure) for name, figure in share.figures.items()}
            say(phase=phase, done=json_number(share.done), total=share.total, figures=figures)

    try:
        case = open_case(task["name"], task["pairs"], as_json=True, progress=ProgressBars())
        case.refuse_infinite("every way to get there is as good as any other")
        limits = {"max_states": task["max_states"], "time_limit": task["seconds"]}
        solution = case.answer("auto", progress=progress, **limits)
        solution.save(task["file"])
        proved = {"proved": "the value lies between lower and upper"} if solution.proved else {}
        proved |= {"digest": solution.digest, "version": solution.version}
        say(answer=value_data(solution) | proved)
    except SolveInterrupted as error:
        say(error=f"the game was not solved within {task['seconds']:g} seconds", code=error.code)
    except click.ClickException as error:
        say(error=error.message, code="")
    except MdpDiceError as error:
        say(error=str(error), code=error.code)


def _listen() -> None:
    """End when nobody waits any more."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    main()
