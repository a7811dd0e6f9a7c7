"""The best play as tables: up to how many banked points to roll on, and what to take from a roll.

One banked point more adds one point to stopping, and at most one to rolling on, since
the turn may be lost.  So for every field there is one number of banked points up to
which the dice are rolled on, and beyond which the player stops.  What to take depends on
the banked points too, but changes only a few times as they grow: a row of that table
holds from one total to another.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mdpdice import Solution, Table
from mdpdice.games.konijnenhokken.game import Field, Konijnenhokken, Rolled
from mdpdice.games.konijnenhokken.rules import Offer, Take, cage_faces, example_roll, run_points


class StopRow(NamedTuple):
    """Up to how many banked points to roll on, with `r1` ones and `r2` twos that are rabbits, and `c` cages."""

    r1: int
    r2: int
    c: int
    points: int  # what the run is worth when the turn stops here
    roll_up_to: int | None  # None: stop in any case


class TakeRow(NamedTuple):
    """What to take from a roll, with `r1` ones and `r2` twos that are rabbits, and `c` cages."""

    r1: int
    r2: int
    c: int
    roll: str  # one that offers the same: its dice that do not matter show a 6
    ones: int
    twos: int
    cages: int
    t_from: int  # banked points for which the row holds
    t_to: int
    take_ones: int
    take_twos: int
    take_cages: int


def stop_or_roll(game: Konijnenhokken, solution: Solution) -> list[StopRow]:
    """Return the table of stopping, for every field that play can reach; the solution must be proved."""
    solution.value()  # raises unless it was
    found: dict[tuple[int, int, int], int | None] = {}
    for state in solution.network.states:
        if isinstance(state, Field):
            field, t = state[:3], state.t
            if not any(field) and (not t or t >= game.limit):
                continue  # nothing is decided there
            if solution.action(state) == "roll":
                found[field] = max(t, found.get(field) or 0)
            else:
                found.setdefault(field, None)
    fields = sorted(found, key=lambda field: (field[2], *field))  # by cages first
    return [StopRow(*field, run_points(*field), found[field]) for field in fields]


def allocation(game: Konijnenhokken, solution: Solution) -> list[TakeRow]:
    """Return the table of what to take, for every roll that leaves a choice; the solution must be proved."""
    solution.value()
    network, nodes = solution.network, solution.network.state_node
    chosen: dict[tuple[int, ...], list[tuple[int, Take]]] = {}
    first, beyond, best = network.indptr[nodes], network.indptr[nodes + 1], solution.policy.choice[nodes]
    for state, count, at in zip(network.states, (beyond - first).tolist(), (best - first).tolist(), strict=True):
        if count > 1 and isinstance(state, Rolled):
            r1, r2, c, t, *offered = state
            chosen.setdefault((c, r1, r2, *offered), []).append((t, game.takes(state)[at]))
    rows = []
    for (c, r1, r2, *offered), answers in sorted(chosen.items()):
        shown = ",".join(map(str, example_roll(Offer(*offered), c, game.dice - r1 - r2 - c)))
        for take, group in itertools.groupby(sorted(answers), key=lambda answer: answer[1]):
            totals = [t for t, _ in group]
            row = (r1, r2, c, shown, *offered, totals[0], totals[-1], *take)
            rows.append(TakeRow(*row))
    return rows


def tables(game: Konijnenhokken, solution: Solution) -> list[Table]:
    """Return both tables of a proved solution, to be printed and exported: ``stop-or-roll`` and ``allocation``."""
    stops, takes = stop_or_roll(game, solution), allocation(game, solution)
    title, heading = "up to how many banked points to roll on", "what to take from a roll"
    return [
        Table("stop-or-roll", title, StopRow._fields, stops, stop_or_roll_text(game, stops)),
        Table("allocation", heading, TakeRow._fields, takes, [f"{heading}:", *allocation_text(takes)]),
    ]


# --- for people -----------------------------------------------------------------------------------


def stop_or_roll_text(game: Konijnenhokken, stops: Iterable[StopRow]) -> list[str]:
    """Return the table of stopping as lines: one block per number of cages, ones down and twos across."""
    rows = {row[:3]: row for row in stops}
    lines = ["roll on while at most this many points are banked (-: stop, *: always roll):"]
    for c in sorted({row.c for row in rows.values()}):
        twos = sorted({row.r2 for row in rows.values() if row.c == c})
        cages = ", ".join(f"x{face}" for face in cage_faces(0, c)) or "none"
        lines += ["", f"cages: {cages}", " " * 6 + "".join(f"{f'{r2}x2':>5}" for r2 in twos)]
        for r1 in sorted({row.r1 for row in rows.values() if row.c == c}):
            cells = (_cell(game, rows.get((r1, r2, c))) for r2 in twos)
            lines.append((f"  {r1}x1 " + "".join(f"{cell:>5}" for cell in cells)).rstrip())
    return lines


def _cell(game: Konijnenhokken, row: StopRow | None) -> str:
    if row is None:
        return ""
    most = row.roll_up_to
    return "-" if most is None else "*" if most >= game.limit - 1 else str(most)


def allocation_text(takes: Iterable[TakeRow]) -> list[str]:
    """Return the table of what to take as lines."""
    lines = []
    for (r1, r2, c), group in itertools.groupby(takes, key=lambda row: row[:3]):
        lines += [f"r1={r1} r2={r2} c={c}", *_take_lines(group)]
    return lines


def _take_lines(rows: Iterable[TakeRow]) -> Iterator[str]:
    for roll, group in itertools.groupby(rows, key=lambda row: row.roll):
        answers = list(group)
        told = []
        for row in answers:
            taken = " ".join(["1"] * row.take_ones + ["2"] * row.take_twos)
            if row.take_cages:
                taken += " and " + " ".join(f"x{face}" for face in cage_faces(row.c, row.take_cages))
            totals = f"{row.t_from}..{row.t_to}" if row.t_from < row.t_to else f"{row.t_from}"
            told.append(taken if len(answers) == 1 else f"{taken} (t={totals})")
        yield f"  {roll}: {'; '.join(told)}"
