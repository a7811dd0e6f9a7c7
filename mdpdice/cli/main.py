"""The program: all commands under one name."""

from __future__ import annotations

import atexit
import gc
import io
import sys
from collections import UserDict
from importlib import import_module
from typing import Any, cast

import click

from mdpdice.cli.processes import keep_quiet

_MODULES = (
    *("advise", "best_set", "cache", "check", "compile_", "crosscheck", "dice", "evaluate", "explain", "export"),
    *("import_", "info", "list_", "new", "play", "plot", "policy", "report", "serve", "simulate"),
    *("solve", "thresholds", "tree"),
)


class _Commands(UserDict[str, Any]):
    """The commands by name, each imported when it is asked for."""

    def __getitem__(self, name: str) -> click.Command:
        if name == "solve":
            keep_quiet()  # before its options are read
        module = super().__getitem__(name)
        return cast("click.Command", getattr(import_module(f"mdpdice.cli.{module}"), module))


class _Program(click.Group):
    """The commands; called, and not by way of `main()`, they are all that the process does."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command, with a collector of garbage that a short life suits."""
        # What numba, scipy and a game make stays until the end. To look through it for cycles again and again, and once
        # more when everything goes, takes up to half a second.
        gc.set_threshold(500_000, 50, 50)
        atexit.register(gc.freeze)
        return super().__call__(*args, **kwargs)


@click.group(
    cls=_Program,
    commands=_Commands({module.strip("_").replace("_", "-"): module for module in _MODULES}),
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(package_name="mdpdice")
def main() -> None:
    """Solve games declared as Markov decision processes, and prove the answers.

    NAME is a shipped game ('mdpdice list') or a class in a file of yours, path/to/file.py:ClassName.
    """
    # A terminal may not know the letters of a name, and half of a surrogate pair is known to none.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
