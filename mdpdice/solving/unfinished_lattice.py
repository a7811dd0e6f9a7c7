"""What is known of a lattice whose solve was stopped: an interval of its start.

A play takes one pass through the core in every layer that it visits, or any number in a layer that leads to itself.  So
it is worth where it comes to, an end or a layer that is done, and what that many passes collect at most, or at least.
"""

from __future__ import annotations

import attrs
import numpy as np

from mdpdice.answers.answer import Provenance, Status
from mdpdice.answers.grid_values import GridValues
from mdpdice.answers.solution import Solution
from mdpdice.backend import Run
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.networks.network import Floats, Kind
from mdpdice.objectives.objective import Objective
from mdpdice.solving.problem import library_version

VERIFIED_UP_TO_EDGES = 50_000_000
"""Edges at all points of the layers done up to which their values are verified, in less than a second."""


def unfinished(layers: Layers, objective: Objective, run: Run, reason: str) -> Solution | None:
    """Return what is known where the sweeps of the layers were stopped; None if they were not begun."""
    left = run.offered()
    if left is None or left.value.shape != layers.reached.shape:
        return None
    from mdpdice.certification.checking.lattice import Claim, verify_lattice  # numba

    lattice, ranks, first = layers.lattice, layers.ranks, len(layers.layers) - left.iterations
    low, high = _between(layers, len(layers.layers), [])
    points = sum(len(layer.points) for layer in layers.layers[first:])
    if 0 < points * lattice.n_edges <= VERIFIED_UP_TO_EDGES - left.value.size:
        number, point, entries = layers.layers[first].number, layers.layers[first].points[0], layers.program.entries
        stored = np.where(layers.reached & (ranks.layer >= number), left.value, np.nan)
        begins = attrs.evolve(lattice, start=int(entries[layers.reached[:, point]][0]), start_point=int(point))
        off = verify_lattice(begins, Claim(entries, stored, ranks.layer, ranks.inner)).optimal[number]
        known = stored if first else stored[:1, lattice.start_point]
        if off < np.inf:
            least, most = _between(layers, first, [float(np.nanmin(known) - off), float(np.nanmax(known) + off)])
            low, high = max(low, least), min(high, most)
    made = Provenance("layer-sweeps", str(objective), objective.wanted(lattice), version=library_version())
    table = GridValues(layers, left.value, np.full(ranks.count, np.inf), made.sense)
    middle = low + (high - low) / 2 if high - low < np.inf else 0.0
    return Solution(table, Status.PARTIAL, made, reason=reason, at_start=(middle, low, high))


def _between(layers: Layers, count: int, worth: list[float]) -> tuple[float, float]:
    """Bounds where play has the first `count` layers before it, and behind them the least to the most of `worth`."""
    lattice, left, passes = layers.lattice, layers.layers[:count], float(count)
    if left:
        low, high = layers.tables.ranges(np.concatenate([layer.points for layer in left]))
        ends = lattice.payoff[lattice.kind == Kind.END]
        worth = [*worth, *low[ends].tolist(), *high[ends].tolist()]
        if any(layer.part is not None for layer in left):
            worth, passes = [*worth, float(lattice.total) / 2], np.inf  # a play that never ends
        if (lattice.sign < 0).any():
            # What one side collects the other one pays.
            worth += [float(lattice.total) - one for one in worth]
            low, high = np.minimum(low, -high), np.maximum(high, -low)
        most, least = (passes * one if one else 0.0 for one in (_collected(layers, high), _collected(layers, -low)))
        rounding = 1e-9 * (most + least) if most % 1 or least % 1 else 0.0
        worth = [min(worth) - least - rounding, max(worth) + most + rounding]
    return worth[0], worth[1]


def _collected(layers: Layers, reward: Floats) -> float:
    """Most that one pass through the core collects, from any node on."""
    lattice, best = layers.lattice, np.zeros(layers.lattice.n_nodes)
    gain, stays = np.where(lattice.weight > 0, reward[lattice.reward], -np.inf), layers.program.stored < 0
    for node in layers.program.order.tolist():
        edges = slice(lattice.indptr[node], lattice.indptr[node + 1])
        best[node] = np.max(gain[edges] + np.where(stays[edges], best[lattice.dst[edges]], 0.0), initial=0.0)
    return float(best.max())
