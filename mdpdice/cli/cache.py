"""``mdpdice cache``: the answers that are kept."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import click

from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.options import json_option
from mdpdice.cli.text import aligned
from mdpdice.solving import kept


@click.group()
def cache() -> None:
    """List the kept answers, or delete them.

    They are in your cache folder. The environment variable MDPDICE_CACHE names another one; if it is empty, nothing
    is kept.
    """


@command("list")
@json_option
def list_() -> Answer:
    """List the answers that are kept, last used first."""
    data, lines = _told("answers", found := kept.entries())
    data["kept"] = [{**_question(x.path), "file": x.path.name, "bytes": x.size, "used": x.used} for x in found]
    return Answer(data, [*lines, *map(_line, data["kept"])])


@command()
@json_option
def clear() -> Answer:
    """Delete all answers that are kept."""
    return Answer(*_told("deleted", kept.clear()))


def _told(what: str, found: list[kept.Entry]) -> tuple[dict[str, Any], list[str]]:
    folder = None if (where := kept.folder()) is None else str(where)
    size = sum(one.size for one in found)
    room = f"{size / 1e6:,.1f} MB, at most {kept.MOST_BYTES / 1e6:,.0f} MB"
    rows = [("folder", folder or "none"), (what, f"{len(found):,}"), ("size", room)]
    return {"folder": folder, what: len(found), "bytes": size}, [aligned(rows)]


def _question(path: Path) -> dict[str, Any]:
    """Return what a kept answer answers; nothing where it cannot be read."""
    import numpy as np  # not for --help

    with contextlib.suppress(Exception), np.load(path, allow_pickle=False) as file:
        return dict(json.loads(file["header"].tobytes())["question"])
    return {}


def _line(one: dict[str, Any]) -> str:
    from mdpdice.cli.game_parameters import show

    told = f"{one['file']}, which cannot be read"
    if "game" in one:
        words = [one["game"], *(f"{key}={show(value)}" for key, value in one["parameters"].items())]
        horizon = "" if one["horizon"] is None else f", horizon {one['horizon']}"
        told = f"{' '.join(words)}: {one['objective']}, {one['sense']}{horizon}{', a page' * ('page' in one)}"
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one["used"]))
    return f"{when}  {one['bytes'] / 1e6:8,.1f} MB  {told}"


cache.add_command(list_)
cache.add_command(clear)
