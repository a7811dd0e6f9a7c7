"""What is drawn beside a table of the server: how the play may end from here, and what is best at other scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from mdpdice.answers.grid_values import GridValues, open_edges, place_of, resolved
from mdpdice.errors import MdpDiceError
from mdpdice.looks import Score, parted
from mdpdice.modelling.expressions import Expr
from mdpdice.modelling.grid import At
from mdpdice.networks.network import Kind
from mdpdice.policies.distribution import Outcomes, outcomes
from mdpdice.policies.playthrough import Turn
from mdpdice.policies.simulation import simulate

if TYPE_CHECKING:
    from mdpdice.cli.served import Room

PLAYS = 4_000
"""Plays that are drawn where the totals are too many to be followed: that takes a second, even on a large lattice."""
MAPPED = 40
"""Values of a counter on a map."""


def distribution(room: Room, turn: Turn, so: float) -> dict[str, Any] | None:
    """Return the totals that best play comes to from a turn, after `so` many points, where that is known.

    On a lattice they are those of `plays` that were drawn, with the standard `error` of their mean.
    """
    found, network, drawn = room.found, room.followed(turn), {}
    try:
        if network is not None:
            ends = outcomes(network, room.solution().policy, state=turn.state)
        elif found is not None and room.alone and found.lattice is not None and not found.lattice.averaged:
            plays = simulate(found.lattice, found, PLAYS, seed=1, state=turn.state)
            totals, times = np.unique(plays.totals, return_counts=True)
            ends, drawn = Outcomes(totals, times / PLAYS), {"plays": PLAYS, "error": plays.standard_error}
        else:
            return None
    except MdpDiceError:  # plays go on for ever, for example
        return None
    totals, chances = ends.totals + so, ends.chances
    goals = {goal.name: float(chances @ list(map(goal.met, totals))) for goal in room.case.look.goals()}
    return {"totals": totals.tolist(), "chances": chances.tolist(), "mean": ends.mean + so, "goals": goals, **drawn}


def strategy_map(room: Room, turn: Turn) -> list[dict[str, Any]] | None:
    """Map what is best with the dice of a turn, by the first and the last of the scores that are counters."""
    (core, counters), look, sides = parted(turn.state), room.case.look, list[dict[str, Any]]()
    axes = {axis.name: axis.values for axis in look.axes}
    for part in look.table(core, turn.seen):
        if isinstance(part, Score) and isinstance(part.value, Expr) and part.value.op == "counter":
            values = axes[name := part.value.args[0]]
            label = part.label or ("your score" if part.of == "mover" else "their score")
            sides.append({"label": label, "values": list(values[:: -(-len(values) // MAPPED)]), "name": name})
    grid = None if room.found is None else room.found.table
    if not isinstance(grid, GridValues) or len(sides) < 2 or room.case.game.canonical(turn.state) != turn.state:
        return None
    x, y = sides[-1], sides[0]
    best = _best(grid, [At(core, **{**counters, y["name"]: i, x["name"]: j}) for i in y["values"] for j in x["values"]])
    places = {action: place for place, action in enumerate(one for one in dict.fromkeys(best) if one is not None)}
    cells = np.array([places.get(one) for one in best], dtype=object).reshape(len(y["values"]), -1).tolist()
    names = [_name(look.act(core, action, turn.seen).words) for action in places]
    here = [sum(value <= counters[one["name"]] for value in one["values"]) - 1 for one in (x, y)]
    title = f"what is best here, by {y['label']} and {x['label']}"
    return [{"kind": "map", "title": title, "names": names, "cells": cells, "at": here, "x": x, "y": y}]


def _name(words: Any) -> str:
    """Return the words of an action up to the first number that depends on counters."""
    pieces = words if isinstance(words, tuple) else (words,)
    return "".join(piece if isinstance(piece, str) else "\n" for piece in pieces).partition("\n")[0].rstrip(" ,;:")


def _best(grid: GridValues, states: list[At[Any]]) -> list[Any]:
    """Return the best action in states of one core state, None where it is not known."""
    # All points at once: one after the other they would take a minute.
    lattice, best = grid.lattice, [None] * len(states)
    start, _ = place_of(lattice, {one: at for at, one in enumerate(lattice.states)}, states[0])
    tables = grid.layers.tables.at(np.array([state.point(lattice.axes) for state in states]))
    for node, columns in resolved(lattice, start, tables, np.arange(len(states))):
        if lattice.kind[node] in (Kind.MAX, Kind.MIN):
            edges = np.arange(lattice.indptr[node], lattice.indptr[node + 1])
            worth = grid.known.at(tables)[grid.layers.program.edge_row[edges]][:, columns]
            # What is not there is infinitely bad, and so is what leaves the grid where it may not.
            known: Any = np.isfinite(worth) | ~open_edges(lattice, edges[:, None], columns, tables)
            which = (worth if lattice.kind[node] == Kind.MAX else -worth).argmax(axis=0)
            for at, action, sure in zip(columns, which, known.all(axis=0), strict=True):
                best[at] = lattice.actions[lattice.first_action(node) + action] if sure else None
    return best
