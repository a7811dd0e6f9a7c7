"""``mdpdice dice``: the weighted dice that the library knows."""

from __future__ import annotations

from typing import Any

import mdpdice
from mdpdice.cli.game_command import Answer, command
from mdpdice.cli.options import json_option
from mdpdice.cli.progress_bars import ProgressBars

_KEYS = ("die", "weights", "joker", "points", "bust", "source", "disagrees")


@command("dice")
@json_option
def dice() -> Answer:
    """List the dice of Kingdom Come: Deliverance, with the value of a turn of Farkle with six of each.

    A turn ends at 6,000 points, as in 'mdpdice solve farkle'. A star marks dice whose sources disagree.
    """
    from mdpdice.games.farkle.dice_table import chances, load_dice, other_editions, source
    from mdpdice.games.farkle.game import KcdFarkle

    known: dict[Any, tuple[float, float]] = {}
    found, rows, table = [], [], load_dice()
    with ProgressBars() as progress:
        for at, die in enumerate(table.values()):
            progress("dice", {"dice": at, "of": len(table)})
            if chances(die) not in known:
                turn = KcdFarkle(dice=[die] * 6)
                known[chances(die)] = mdpdice.solve(turn).value(), float(turn.book.rolls(turn.all_dice).bust)
            points, bust = known[chances(die)]
            others = [other.name for other in other_editions(die)]
            facts = (die.name, list(die.weights), die.joker, points, bust, source(die), others)
            found.append(dict(zip(_KEYS, facts, strict=True)))
            weights = f"{' '.join(map(str, die.weights))}{', 1 is a joker' * die.joker}"
            rows.append((f"{die.name}{' *' * bool(others)}", weights, f"{points:.1f}", f"{bust:.2%}", source(die)))
    columns = ("die", "weights of 1 to 6", "turn", "bust", "source")
    title = "points of a turn with six of a die, and the chance that six of it score nothing (*: sources disagree)"
    return Answer({"dice": found}, mdpdice.Table("dice", title, columns, rows).text())
