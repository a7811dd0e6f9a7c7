"""The distribution of what a play is worth in the end, on a lattice whose network would be too large.

All players follow the stored values of a lattice.  Layers are taken from the first to
the last.  For every entry and point that plays come to there is a histogram: how likely plays are to be there,
with which total so far.  One pass through the core, predecessors first, tells with which probability a play
leaves to which other entry and point, and what it collects during the move; the histogram is added there, moved by that
reward.  What comes to an end is added to the result, moved by the payoff.  Where layers lead to themselves or sides
change, only two totals are told apart, which takes no more than their mean.

Totals are added as integers, over the common denominator of all rewards and payoffs.  Of the histograms the
ends are left out that weigh less than `LEAST` each; what that comes to in all is `Outcomes.missing`.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from mdpdice.answers.grid_values import GridValues
from mdpdice.errors import UnsupportedError
from mdpdice.lattices.layer_solver import kernel_arguments, refuse_averaged
from mdpdice.lattices.program import TERM
from mdpdice.modelling.expressions import INT, Expr
from mdpdice.networks.network import Floats, Ints, Kind
from mdpdice.numerics.threads import in_parallel, threads, workers
from mdpdice.policies.totals import Outcomes

LEAST = 1e-22
"""Mass on one total, at the end of a histogram, that is left out."""
LARGEST_UNIT = 1 << 20
"""Largest common denominator of rewards."""
PIECE = 4096
"""Points whose moves are found at once."""


class _Histograms(NamedTuple):
    """Mass on successive totals, for many places."""

    lowest: Ints
    start: Ints
    mass: Floats


class _Moves(NamedTuple):
    """Moves between the places of two layers, or from one to the end, which is -1: places, reward and probability."""

    begin: Ints
    finish: Ints
    paid: Ints
    chance: Floats


_STAY = _Moves(np.zeros(1, dtype=np.int64), np.full(1, -1), np.zeros(1, dtype=np.int64), np.ones(1))
"""What has ended stays there."""


def lattice_outcomes(table: GridValues) -> Outcomes:
    """Distribution of the total of a play from the start, when all players follow the values of a lattice."""
    if (table.layers.cyclic or table.layers.program.flip.any()) and (known := _two_totals(table)) is not None:
        return known
    _check(table)
    if (unit := math.lcm(*(_denominator(reward) for reward in table.lattice.rewards))) > LARGEST_UNIT:
        msg = "rewards have no common denominator; write them as Fractions, or use outcomes(explore(game), policy)"
        raise UnsupportedError(msg, value=unit, limit=LARGEST_UNIT)
    with workers() as pool:
        return _Spread(table, unit, pool).run()


class _Spread:
    def __init__(self, table: GridValues, unit: int, pool: ThreadPoolExecutor) -> None:
        from mdpdice.numerics.kernels import outcomes as kernels

        self.kernels: Any = kernels
        self.pool = pool
        self.stored = table.stored
        self.unit = unit
        self.layers = layers = table.layers
        self.size = layers.lattice.size
        # Number of the histogram of every place; the last one is the end.
        self.place = np.full(len(layers.program.entries) * self.size + 1, -1, dtype=np.int32)
        self.place[-1] = 0
        # Moves that wait for the layer that they lead to, with what they begin with.
        self.waiting: dict[int, list[tuple[_Histograms, _Moves]]] = {}
        self.ended = _Histograms(np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros(0))
        self.lost = 0.0
        kind, entry = layers.program.kind, layers.program.entry
        self.exits = int(((kind == Kind.END) | ((kind == TERM) & (entry >= 0))).sum())

    def run(self) -> Outcomes:
        sure = _Histograms(np.zeros(1, dtype=np.int64), np.arange(2), np.ones(1))
        self._leave(np.array([self.layers.lattice.start_point]), sure)
        for layer in self.layers.layers[1:]:
            if layer.number in self.waiting:
                self._leave(*self._arrive(self.waiting.pop(layer.number)))
        there = np.flatnonzero(self.ended.mass)
        totals = (there + self.ended.lowest[0]).astype(np.float64) / self.unit
        return Outcomes(totals, self.ended.mass[there], self.lost)

    def _arrive(self, into: list[tuple[_Histograms, _Moves]]) -> tuple[Ints, _Histograms]:
        """Entries and points of a layer that plays come to, and their histograms."""
        for _, moves in into:
            self.place[moves.finish] = 0
        places = np.flatnonzero(self.place[:-1] >= 0)
        self.place[places] = np.arange(len(places))
        histograms = self._sum(into, len(places))
        self.place[places] = -1
        return places, histograms

    def _sum(self, into: list[tuple[_Histograms, _Moves]], count: int) -> _Histograms:
        """Add what moves bring to each of the places."""
        kernels = self.kernels
        lowest, highest = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
        for old, moves in into:
            kernels.limits(*moves[:3], self.place, *old[:2], lowest, highest)
        length = np.where(highest < lowest, 0, highest - lowest + 1)
        lowest[length == 0] = 0
        start = np.concatenate(([0], np.cumsum(length)))
        mass = np.zeros(int(start[-1]))

        def add(some: tuple[int, int]) -> None:
            for old, moves in into:
                kernels.add(*moves, self.place, *old, lowest, start, mass, *some)

        cuts = np.searchsorted(start, np.linspace(0, len(mass), threads() + 1)).tolist()
        list(in_parallel(self.pool, add, [*pairwise(cuts)]))
        kept, lost = kernels.trim(lowest, start, mass, LEAST)
        self.lost += float(lost)
        return _Histograms(lowest, kept, mass[: kept[-1]].copy())

    def _leave(self, places: Ints, histograms: _Histograms) -> None:
        """Find out where plays go from the places of a layer, and let those end that do."""
        entry, point = np.divmod(places, self.size)
        cuts = np.searchsorted(entry, np.arange(len(self.layers.program.entries) + 1))
        jobs = [
            (k, first, point[first : min(first + PIECE, finish)])
            for k, (begin, finish) in enumerate(pairwise(cuts.tolist()))
            for first in range(begin, finish, PIECE)
        ]
        for part in in_parallel(self.pool, self._piece, jobs):
            for to, moves in part:
                self.waiting.setdefault(to, []).append((histograms, moves))
        if ends := self.waiting.pop(-1, None):
            self.ended = self._sum([(self.ended, _STAY), *ends], 1)

    def _piece(self, job: tuple[int, int, Ints]) -> list[tuple[int, _Moves]]:
        """Find the moves from some points, by the layer that they lead to; -1 for the end."""
        kernels = self.kernels
        k, first, points = job
        program = self.layers.program
        tables = self.layers.tables.at(points)
        most = self.exits * len(points)
        begin, finish, paid = np.empty((3, most), dtype=np.int64)
        found = _Moves(begin, finish, paid, np.empty(most))
        arguments = kernel_arguments(program, tables, self.stored)
        numbers = self.size, float(self.unit), int(program.entry_row[k])
        count = kernels.moves(*arguments, *numbers, *np.zeros((2, program.n_rows, kernels.WIDTH)), *found)
        begin[:count] += first
        layer = self.layers.ranks.layer[finish[:count] % self.size].astype(np.int64)
        to = np.where(finish[:count] < 0, -1, layer)
        layers = np.flatnonzero(np.bincount(to + 1)) - 1
        return [(layer, _Moves(*(part[:count][to == layer] for part in found))) for layer in layers.tolist()]


def _check(table: GridValues) -> None:
    layers, program = table.layers, table.layers.program
    what = ""
    if layers.cyclic:
        what = "a layer that leads to itself"
    elif program.flip.any():
        what = "sides that change"
    elif ((program.kind == TERM) & (program.source >= 0) & (program.reward >= 0)).any():
        what = "a reward that is paid where no counter changes"
    if what:
        msg = f"the distribution of totals is computed for lattices without {what}; use outcomes(explore(game), policy)"
        raise UnsupportedError(msg)
    refuse_averaged(table.lattice)


def _two_totals(table: GridValues) -> Outcomes | None:
    """Return the distribution where there are at most two totals and every play ends: it follows from the mean.

    That bounds were proved for a layer that leads to itself shows that plays leave it.
    """
    lattice = table.lattice
    widths = table.widths[[layer.number for layer in table.layers.layers]]
    paid = lattice.payoffs
    if lattice.averaged or lattice.pays or not np.isfinite(widths).all() or None in paid:
        return None
    totals = {Fraction(one) for one in paid if one is not None}
    if (lattice.sign < 0).any():
        totals |= {lattice.total - total for total in totals}
    if len(totals) > 2:
        return None
    low, high = float(min(totals)), float(max(totals))
    mean = float(table.stored[0, lattice.start_point])
    upper = min(max((mean - low) / (high - low), 0.0), 1.0) if low < high else 1.0
    chances = np.array([1.0 - upper, upper])
    return Outcomes(np.array([low, high])[chances > 0], chances[chances > 0])


def _denominator(expr: Expr) -> int:
    """Return a common denominator of the values of an expression."""
    if expr.kind <= INT:
        return 1
    if expr.op == "constant":
        return Fraction(expr.args[0]).denominator
    if expr.op == "table":
        return math.lcm(*(Fraction(entry).denominator for entry in expr.args[0]))
    parts = [_denominator(arg) for arg in expr.args if isinstance(arg, Expr)]
    return math.prod(parts) if expr.op == "*" else math.lcm(*parts)
