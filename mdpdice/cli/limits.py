"""The limits ``--max-states`` and ``--time-limit``, which hold for all that a command does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import click

import mdpdice

F = TypeVar("F", bound=Callable[..., Any])

_LIMITS = "mdpdice.cli.limits"

MOST_STATES = 10_000_000
"""States up to which a game is explored, where nobody says otherwise."""
SOLVE_UP_TO = 100_000
"""States up to which a game made for looking ahead is solved for advice; in larger ones the advice looks ahead."""


def _note(ctx: click.Context, option: click.Parameter, value: float | None) -> None:
    """Keep a limit where `limits` finds it, the time as the moment when it is over."""
    if value is None:
        return
    if option.name == "time_limit":
        if not 0 < value < float("inf"):
            raise click.BadParameter("write a positive number of seconds")
        value += time.monotonic()
    ctx.meta.setdefault(_LIMITS, {})[option.name] = value


def limit_options(function: F) -> F:
    """Add ``--max-states`` and ``--time-limit``, which `limits` tells and no function is given."""
    kept: dict[str, Any] = {"expose_value": False, "callback": _note}
    states = "Stop exploring after N states; by default after ten million, or where a number only rises."
    seconds = "Stop after this many seconds, at whatever stage, and report what is known by then."
    function = click.option("--time-limit", type=float, metavar="SECONDS", help=seconds, **kept)(function)
    return click.option("--max-states", type=click.IntRange(1), metavar="N", help=states, **kept)(function)


def limits() -> dict[str, Any]:
    """Return the limits of the command that is being run, as `mdpdice.solve` takes them."""
    context = click.get_current_context(silent=True)
    asked = {} if context is None else dict(context.meta.get(_LIMITS, {}))
    if "time_limit" in asked:
        asked["time_limit"] = max(0.0, asked["time_limit"] - time.monotonic())
    return asked


def most_states(default: int = MOST_STATES) -> int:
    """Return the limit of states alone, as `mdpdice.explore` takes it."""
    return int(limits().get("max_states", default))


def advised_up_to(game: mdpdice.Game[Any, Any]) -> int:
    """States up to which a game is solved for advice: fewer where an estimate of its own says to look ahead."""
    return SOLVE_UP_TO if type(game).estimate is not mdpdice.Game.estimate else MOST_STATES
