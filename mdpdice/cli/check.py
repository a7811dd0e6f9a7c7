"""``mdpdice check``: whether a game keeps what the library relies on, and a few plays of it to read."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import Any

import click

from mdpdice.cli.case import Case
from mdpdice.cli.game_command import Answer, command_words, game_command
from mdpdice.cli.limits import limit_options, most_states
from mdpdice.cli.options import json_option, parameters_option, seed_option
from mdpdice.cli.seats import for_two
from mdpdice.cli.text import aligned
from mdpdice.errors import ConformanceError, MdpDiceError

_PLAYS, _LINES = 3, 40


@game_command()
@parameters_option(" 'mdpdice solve NAME --help' describes them.")
@click.option("--endless", is_flag=True, help="Plays may go on for ever.")
@seed_option
@limit_options
@json_option
def check(case: Case, endless: bool, seed: int) -> Answer:
    """Check what the library relies on in a game, and play it three times at random.

    At most 100,000 states are checked, unless --max-states says more: mistakes show with parameters that make the
    game small as well.

    Exit status: 0 all is well, 1 a check failed, 2 wrong usage.
    """
    from mdpdice.testing.games import GAME_CHECKS, examine
    from mdpdice.testing.reports import Check, Ledger, subject_of

    asked: dict[str, Any] = {"max_states": most_states(100_000), "progress": case.progress}
    ledger = Ledger(subject_of(case.game), GAME_CHECKS, **asked)
    try:
        examine(ledger, case.game, endless=endless)
    except ConformanceError as error:
        why = command_words(str(error).partition(": ")[2].replace("max_states", "--max-states"))
        ledger.checks.append(Check(error.check, "failed", note=why))
    told, ok = [], all(one.outcome != "failed" for one in ledger.checks)
    for one in ledger.checks:
        outcome = "ok" if one.outcome == "passed" else one.outcome
        told.append({"check": one.name, "outcome": outcome, "count": one.count, "note": one.note})
    generator = random.Random(seed)  # noqa: S311 - no secrets
    plays = [list(islice(_play(case, generator), _LINES)) for _ in range(_PLAYS)]
    data = {**case.data(), "ok": ok, "checks": told, "seed": seed, "plays": plays}
    return Answer(data, _lines(case, data), ok)


def _play(case: Case, generator: random.Random) -> Iterator[str]:
    """Yield a play at random, in words; what stops it is its last line."""
    from mdpdice.policies.playthrough import play
    from mdpdice.policies.telling import Teller

    teller = Teller(case.look)
    try:
        if for_two(case.game, sure=False):
            teller = Teller(case.look, ("first", "second"))
        for event in play(case.game, [lambda turn: turn.actions[generator.randrange(len(turn.actions))]], generator):
            yield from teller.lines(event)
    except MdpDiceError as error:
        yield from teller.flush()
        yield f"  stopped: {error}"


def _lines(case: Case, data: dict[str, Any]) -> Iterator[str]:
    from mdpdice.testing.games import SAID

    rows = [(one["outcome"], f"{SAID[one['check']]}{_note(one)}") for one in data["checks"]]
    yield from (aligned(case.rows()), "", aligned(rows))
    if not data["ok"]:
        yield "later checks were not made"
    for number, play in enumerate(data["plays"], start=1):
        yield f"\nplay {number} at random"
        yield from play
        if len(play) == _LINES:
            yield "  ... and so on"


def _note(one: dict[str, Any]) -> str:
    if one["outcome"] != "ok":
        return f": {one['note']}"
    if not one["note"]:
        return ""
    counted = one["count"] > 1 and not one["note"][:1].isdigit()
    return f" ({one['count']:,} {one['note']})" if counted else f" ({one['note']})"
