"""The rows of a lattice program at a few points, in plain Python: they are known before a loop could be compiled."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from mdpdice.compilation import Loop
from mdpdice.lattices.grid_tables import Tables
from mdpdice.lattices.layer_solver import known_rows
from mdpdice.lattices.program import Program
from mdpdice.networks.network import Floats, Kind

ROWS_PLAIN_UP_TO = 2_000_000
"""Rows and edges of a lattice program that plain Python goes through at all points, before its loops are compiled."""
_TERM = "source", "entry", "update", "reward", "flip", "guard", "neutral"


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
    def _lists(self) -> list[tuple[Any, ...]]:
        program, terms = self.program, (getattr(self.program, name).tolist() for name in _TERM)
        cut = (np.split(part, program.indptr[1:-1]) for part in (program.arg, program.weight))
        parts = ([one.tolist() for one in part] for part in cut)
        return list(zip(program.kind.tolist(), *parts, *terms, strict=True))

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
            elif (entry >= 0 and targets[update] < 0) or (guard >= 0 and not guards[guard]):
                value = neutral
            else:
                # The last of the targets is no update, -1.
                value = rows[source] if source >= 0 else self.values[entry, targets[update]] if entry >= 0 else 0.0
                value = (self.program.lattice.total - value if flip else value) + (reward >= 0 and rewards[reward])
            rows.append(float(value))
        return rows


def _sum(parts: list[float]) -> float:
    """Add up six at a time, then two, then one, as the compiled loop does."""
    total, sixes = 0.0, len(parts) // 6 * 6
    for at in range(0, sixes, 6):
        one, two, three, four, five, six = parts[at : at + 6]
        total += ((one + two) + (three + four)) + (five + six)
    for at in range(sixes, len(parts), 2):
        total += sum(parts[at : at + 2])
    return total
