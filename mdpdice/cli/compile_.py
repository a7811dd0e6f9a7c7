"""``mdpdice compile``: what the first commands would compile otherwise."""

from __future__ import annotations

import time

from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.options import json_option
from mdpdice.cli.progress_bars import ProgressBars
from mdpdice.cli.text import aligned


@command("compile")
@json_option
def compile_() -> Answer:
    """Compile what 'solve' and 'crosscheck' need for large games, once for this installation.

    Otherwise a command compiles what it needs when it is first used, which takes up to half a minute.
    """
    from mdpdice.cli import small_runs
    from mdpdice.compilation import Loop

    started = time.monotonic()
    with ProgressBars():
        calls = small_runs.recorded(*small_runs.ROUTES["compile"])
        Loop.route = "compile"
        for loop, types in calls:
            loop.compiled.compile(types)
    names = {loop.name for loop, _ in calls}
    data = {"loops": len(names), "compiled": Loop.begun > 0, "seconds": time.monotonic() - started}
    rows = [("loops", f"{len(names)}, {'compiled now' if data['compiled'] else 'all of them compiled before'}")]
    return Answer(data, [aligned([*rows, ("time", f"{data['seconds']:.1f} s")])])
