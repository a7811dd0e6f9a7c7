"""What is drawn beside a table of the server: how the play may end from here, and what is best at other scores."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

import mdpdice
from mdpdice.answers.grid_values import GridValues, open_edges, place_of, resolved
from mdpdice.errors import MdpDiceError
from mdpdice.looks import Score, parted
from mdpdice.modelling.expressions import Expr
from mdpdice.networks.network import Kind

if TYPE_CHECKING:
    from mdpdice.cli.served import Room
    from mdpdice.policies.playthrough import Turn

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
            ends = mdpdice.outcomes(network, room.solution().policy, state=turn.state)
        elif found is not None and room.alone and found.lattice is not None and not found.lattice.averaged:
            played = mdpdice.simulate(found.lattice, found, PLAYS, seed=1, state=turn.state)
            totals, times = np.unique(played.totals, return_counts=True)
            ends, drawn = mdpdice.Outcomes(totals, times / PLAYS), {"plays": PLAYS, "error": played.standard_error}
        else:
            return None
    except MdpDiceError:  # plays go on for ever, for example
        return None
    totals, chances = ends.totals + so, ends.chances
    goals = {goal.name: float(chances @ list(map(goal.met, totals))) for goal in room.case.look.goals()}
    told = {"totals": totals.tolist(), "chances": chances.tolist(), "mean": ends.mean + so, "goals": goals}
    return told | drawn


def strategy_map(room: Room, turn: Turn) -> dict[str, Any] | None:
    """Return what is best with the dice of a turn, by the first and the last of the scores that are counters."""
    core, counters = parted(turn.state)
    look, scores = room.case.look, list[dict[str, Any]]()
    axes = {axis.name: axis.values for axis in look.axes}
    for part in look.table(core, turn.seen):
        if isinstance(part, Score) and isinstance(part.value, Expr) and part.value.op == "counter":
            values = axes[name := part.value.args[0]]
            label = part.label or ("your score" if part.of == "mover" else "their score")
            scores.append({"label": label, "values": list(values[:: -(-len(values) // MAPPED)]), "name": name})
    if room.found is None or len(scores) < 2 or room.case.game.canonical(turn.state) != turn.state:
        return None
    x, y = scores[-1], scores[0]
    points = [{**counters, y["name"]: i, x["name"]: j} for i in y["values"] for j in x["values"]]
    best = _best(room.found, [mdpdice.At(core, **point) for point in points])
    actions = [one for one in dict.fromkeys(best) if one is not None]
    cells = [None if one is None else actions.index(one) for one in best]
    rows = [cells[first : first + len(x["values"])] for first in range(0, len(cells), len(x["values"]))]
    names = [_name(look.act(core, action, turn.seen).words) for action in actions]
    here = [sum(value <= counters[one["name"]] for value in one["values"]) - 1 for one in (x, y)]
    title = f"what is best here, by {y['label']} and {x['label']}"
    return {"kind": "map", "title": title, "names": names, "cells": rows, "at": here, "x": x, "y": y}


def _name(words: Any) -> str:
    """Return the words of an action up to the first number that depends on counters."""
    pieces = words if isinstance(words, tuple) else (words,)
    until = next((at for at, piece in enumerate(pieces) if isinstance(piece, Expr)), len(pieces))
    return "".join(map(str, pieces[:until])).rstrip(" ,;:")


def _best(solution: mdpdice.Solution, states: list[mdpdice.At[Any]]) -> list[Any]:
    """Return the best action in states of one core state, None where it is not known."""
    best, grid = [None] * len(states), solution.table
    if not isinstance(grid, GridValues):
        for at, state in enumerate(states):
            with contextlib.suppress(MdpDiceError):  # play does not come there
                best[at] = solution.action(state)
        return best
    # All points at once: one after the other they would take a minute.
    lattice = grid.lattice
    start, _ = place_of(lattice, {one: at for at, one in enumerate(lattice.states)}, states[0])
    tables = grid.layers.tables.at(np.array([state.point(lattice.axes) for state in states]))
    rows = grid.known.at(tables)
    for node, columns in resolved(lattice, start, tables, np.arange(len(states))):
        if (kind := lattice.kind[node]) in (Kind.MAX, Kind.MIN):
            edges = np.arange(lattice.indptr[node], lattice.indptr[node + 1])
            there = open_edges(lattice, edges[:, None], columns, tables)
            worth = rows[grid.layers.program.edge_row[edges]][:, columns] * (-1 if kind == Kind.MIN else 1)
            first, worth = lattice.first_action(node), np.where(there, worth, -np.inf)
            for at, which, sure in zip(columns, worth.argmax(axis=0), ~np.isnan(worth).any(axis=0), strict=True):
                best[at] = lattice.actions[first + which] if sure else None
    return best
