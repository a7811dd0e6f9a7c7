"""``mdpdice list``: the known games and solvers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mdpdice
from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.options import json_option
from mdpdice.cli.text import aligned
from mdpdice.errors import PluginError


@command("list")
@json_option
def list_() -> Answer:
    """List the shipped games and the solvers with what they can do."""
    from mdpdice.cli.catalogue import game_names

    data = {
        "games": {name: _about_game(name) for name in game_names()},
        "solvers": {name: _about_solver(name) for name in mdpdice.solver_names()},
    }
    return Answer(data, _lines(data))


def _lines(data: dict[str, Any]) -> Iterator[str]:
    for title, rows in data.items():
        indented = [(f"  {name}", about) for name, about in rows.items()] or [("  none", "")]
        yield from (f"{title.capitalize()}:", aligned(indented), "")
    yield "'mdpdice solve NAME --help' describes the parameters of a game."


def _about_game(name: str) -> str:
    from mdpdice.cli.catalogue import load_game, summary

    try:
        return summary(load_game(name))
    except PluginError as error:  # it must not hide the others
        return f"broken: {error}"


def _about_solver(name: str) -> str:
    try:
        cls = mdpdice.load_solver(name)
        features = sorted(feature.value for feature in cls.features)
        missing = "" if cls.available() else " (not available here)"
    except Exception as error:  # noqa: BLE001 - the code of a plug-in can raise anything
        return f"broken: {error}"
    return f"{', '.join(['acyclic networks of one player', *features])}{missing}"
