"""``mdpdice cache``: the answers that are kept."""

from __future__ import annotations

import time
from typing import Any

import click

from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.options import json_option
from mdpdice.cli.text import aligned

__all__ = ["cache"]


@click.group()
def cache() -> None:
    """List the answers that are kept, or delete them.

    They lie in a folder of yours. The environment variable MDPDICE_CACHE names another one; where it is empty, nothing
    is kept.
    """


def _listed(*, clears: bool) -> Answer:
    from mdpdice.solving import kept

    found = kept.clear() if clears else kept.entries()
    data = {
        "folder": None if (where := kept.folder()) is None else str(where),
        "answers": len(found),
        "bytes": sum(entry.size for entry in found),
    }
    told = [("folder", data["folder"] or "none"), ("deleted" if clears else "answers", f"{len(found):,}")]
    lines = [
        aligned([*told, ("size", f"{data['bytes'] / 1e6:,.1f} MB, at most {kept.MOST_BYTES / 1e6:,.0f} MB")])
    ]
    if clears:
        return Answer(data, lines)
    data["kept"] = [
        {**(entry.question or {}), "file": entry.path.name, "bytes": entry.size, "used": entry.used}
        for entry in found
    ]
    return Answer(data, [*lines, *(_line(one) for one in data["kept"])])


def _line(one: dict[str, Any]) -> str:
    from mdpdice.cli.game_parameters import show

    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one["used"]))
    if "game" not in one:
        return f"{when}  {one['bytes'] / 1e6:8,.1f} MB  {one['file']}, which cannot be read"
    given = [f"{key}={show(value)}" for key, value in one["parameters"].items()]
    horizon = [] if one["horizon"] is None else [f"horizon {one['horizon']}"]
    asked = ", ".join([f"{one['objective']} {one['sense']}", *horizon])
    return f"{when}  {one['bytes'] / 1e6:8,.1f} MB  {' '.join([one['game'], *given])}: {asked}"


@command("list")
@json_option
def list_() -> Answer:
    """List the answers that are kept, last used first."""
    return _listed(clears=False)


@command()
@json_option
def clear() -> Answer:
    """Delete all answers that are kept."""
    return _listed(clears=True)


cache.add_command(list_)
cache.add_command(clear)
