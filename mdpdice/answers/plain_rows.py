"""The rows of a lattice program at a few points, in plain Python: they are known before a loop could be compiled."""

from __future__ import annotations

import math
from functools import cached_property

import attrs
import numpy as np

from mdpdice.compilation import Loop
from mdpdice.lattices.grid_tables import Tables
from mdpdice.lattices.layer_solver import known_rows
from mdpdice.lattices.program import Program
from mdpdice.networks.network import Floats, Kind

ROWS_PLAIN_UP_TO = 2_000_000
"""Rows and edges of a lattice program that plain Python goes through at all points, before its loops are compiled."""


@attrs.define(eq=False, slots=False)
class PlainRows:
    """What is known of every row of a program, from the store `values`."""

    program: Program
    values: Floats
    spent: int = 0  # rows and edges

    @property
    def few(self) -> bool:
        """Whether points are still looked at one by one."""
        return self.spent < ROWS_PLAIN_UP_TO and not Loop.compiling

    def at(self, tables: Tables) -> Floats:
        """Return what `known_rows` does, with the same bits."""
        self.spent += (self.program.n_rows + len(self.program.arg)) * len(tables.points)
        if not self.few:
            return known_rows(self.program, tables, self.values)
        return np.array([self._point(tables, at) for at in range(len(tables.points))]).T

    @cached_property
    def _lists(self) -> list[tuple[int, list[int], list[float], int, int, int, int, int, int, float]]:
        program = self.program
        cuts = program.indptr[1:-1]
        names = "source", "entry", "update", "reward", "flip", "guard", "neutral"
        return list(
            zip(
                program.kind.tolist(),
                [part.tolist() for part in np.split(program.arg, cuts)],
                [part.tolist() for part in np.split(program.weight, cuts)],
                *(getattr(program, name).tolist() for name in names),
                strict=True,
            )
        )

    def _point(self, tables: Tables, at: int) -> list[float]:
        targets, guards, rewards = (part[:, at].tolist() for part in (tables.targets, tables.guards, tables.rewards))
        rows: list[float] = []
        for kind, args, weights, source, entry, update, reward, flip, guard, neutral in self._lists:
            if kind == Kind.CHANCE:
                value = _sum([weight * rows[arg] for weight, arg in zip(weights, args, strict=True)])
            elif args:
                options = [rows[arg] for arg in args]
                best = max(options) if kind == Kind.MAX else min(options)
                value = math.nan if any(map(math.isnan, options)) else best
            elif kind == Kind.END:
                value = rewards[reward] if reward >= 0 else 0.0
            else:
                to = targets[update]  # the last one, which is no update, for -1
                gone = (entry >= 0 and to < 0) or (guard >= 0 and not guards[guard])
                value = neutral
                if not gone:
                    value = rows[source] if entry < 0 else float(self.values[entry, to])
                    value = self.program.lattice.total - value if flip else value
                    value += rewards[reward] if reward >= 0 else 0.0
            rows.append(value)
        return rows


def _sum(parts: list[float]) -> float:
    """Add up six at a time, then two, then one, as the compiled loop does."""
    total, at, past = 0.0, 0, len(parts)
    while at + 5 < past:
        one, two, three, four, five, six = parts[at : at + 6]
        total += ((one + two) + (three + four)) + (five + six)
        at += 6
    while at + 1 < past:
        total += parts[at] + parts[at + 1]
        at += 2
    return total + parts[at] if at < past else total
