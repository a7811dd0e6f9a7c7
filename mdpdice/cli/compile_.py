"""``mdpdice compile``: what the first commands would compile otherwise."""

from __future__ import annotations

from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.options import json_option
from mdpdice.cli.progress_bars import ProgressBars


@command("compile")
@json_option
def compile_() -> Answer:
    """Compile what 'solve' and 'crosscheck' need for large games, once for this installation.

    Otherwise a command compiles what it needs when it is first used.
    """
    from mdpdice.cli.small_runs import ROUTES, recorded
    from mdpdice.compilation import Loop

    with ProgressBars():
        calls = [call for run in ROUTES["compile"] for call in recorded(run)]
        Loop.recorded, Loop.route = None, "compile"
        for loop, types in calls:
            loop.compiled.compile(types)
    count = len({loop.name for loop, _ in calls})
    return Answer({"loops": count, "compiled": Loop.begun > 0}, [f"{count} loops are compiled"])
