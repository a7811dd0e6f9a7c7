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
    """Moves between the places of two layers, or from one to the end: places, reward and probability."""

    begin: Ints
    finish: Ints
    paid: Ints
    chance: Floats

    def take(self, some: Any) -> _Moves:
        return _Moves(self.begin[some], self.finish[some], self.paid[some], self.chance[some])


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
        self.place = np.full(len(layers.program.entries) * self.size, -1, dtype=np.int32)
        # Moves that wait for the layer that they lead to, with the layer that they come from.
        self.waiting: dict[int, list[tuple[int, _Moves]]] = {}
        self.found: dict[int, _Histograms] = {}
        self.ended = _Histograms(np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64), np.zeros(0))
        self.lost = 0.0
        kind, entry = layers.program.kind, layers.program.entry
        self.exits = int(((kind == Kind.END) | ((kind == TERM) & (entry >= 0))).sum())

    def run(self) -> Outcomes:
        first, *others = (layer.number for layer in self.layers.layers)
        sure = _Histograms(np.zeros(1, dtype=np.int64), np.arange(2), np.ones(1))
        self._leave(first, np.array([self.layers.lattice.start_point]), sure)
        for number in others:
            if number in self.waiting:
                self._leave(number, *self._arrive(number))
        there = np.flatnonzero(self.ended.mass)
        totals = (there + self.ended.lowest[0]).astype(np.float64) / self.unit
        return Outcomes(totals, self.ended.mass[there], self.lost)

    def _arrive(self, number: int) -> tuple[Ints, _Histograms]:
        """Entries and points of a layer that plays come to, and their histograms."""
        waiting = self.waiting.pop(number)
        places = np.unique(np.concatenate([moves.finish for _, moves in waiting]))
        self.place[places] = np.arange(len(places))
        into = [
            (self.found[before], moves._replace(finish=self.place[moves.finish].astype(np.int64)))
            for before, moves in waiting
        ]
        histograms = self._sum(into, len(places))
        # Nothing waits any more for layers whose moves have all arrived.
        needed = {before for some in self.waiting.values() for before, _ in some}
        for before in [before for before in self.found if before not in needed]:
            del self.found[before]
        return places, histograms

    def _sum(self, into: list[tuple[_Histograms, _Moves]], count: int, more: _Histograms | None = None) -> _Histograms:
        """Add what moves bring to each of the places to what is there already."""
        kernels = self.kernels
        lowest, highest = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
        if more is not None and len(more.mass):
            lowest[:], highest[:] = more.lowest, more.lowest + np.diff(more.start) - 1
        for old, moves in into:
            kernels.limits(*moves[:3], *old[:2], lowest, highest)
        length = np.where(highest < lowest, 0, highest - lowest + 1)
        lowest[length == 0] = 0
        start = np.concatenate(([0], np.cumsum(length)))
        mass = np.zeros(int(start[-1]))
        if more is not None and len(more.mass):
            at = int(more.lowest[0] - lowest[0])
            mass[at : at + len(more.mass)] = more.mass
        for old, moves in into:
            parts = threads() if count > 1 else 1

            whole = (*moves, *old, lowest, start, mass)

            def add(part: int, whole: tuple[Any, ...] = whole, parts: int = parts) -> None:
                kernels.add(*whole, part, parts)

            list(in_parallel(self.pool, add, range(parts)))
        kept, lost = kernels.trim(lowest, start, mass, LEAST)
        self.lost += float(lost)
        return _Histograms(lowest, kept, mass[: kept[-1]].copy())

    def _leave(self, number: int, places: Ints, histograms: _Histograms) -> None:
        """Find out where plays go from the places of a layer, and let those end that do."""
        entry, point = np.divmod(places, self.size)
        cuts = np.searchsorted(entry, np.arange(len(self.layers.program.entries) + 1))
        jobs = [
            (k, first, point[first : min(first + PIECE, finish)])
            for k, (begin, finish) in enumerate(pairwise(cuts.tolist()))
            for first in range(begin, finish, PIECE)
        ]
        parts = list(in_parallel(self.pool, self._piece, jobs))
        whole = _Moves(*map(np.concatenate, zip(*parts, strict=True)))
        if (ends := whole.finish < 0).any():
            last = whole._replace(finish=np.zeros_like(whole.finish)).take(ends)
            self.ended = self._sum([(histograms, last)], 1, self.ended)
        whole = whole.take(~ends)
        layer = self.layers.ranks.layer[whole.finish % self.size]
        for to in np.unique(layer).tolist():
            self.waiting.setdefault(to, []).append((number, whole.take(layer == to)))
            self.found[number] = histograms

    def _piece(self, job: tuple[int, int, Ints]) -> _Moves:
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
        begin += first
        return found.take(slice(count))


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
