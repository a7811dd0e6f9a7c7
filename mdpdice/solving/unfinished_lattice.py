"""Bounds of a lattice whose solve was stopped, from the layers that are done and from what plays can collect before.

A play takes one pass through the core in every layer that it visits, or any number in a layer that leads to itself.  So
it is worth where it comes to, an end or a layer that is done, and what that many passes collect at most, or at least.
"""

from __future__ import annotations

import time

import attrs
import numpy as np

from mdpdice.certification.checking.lattice import Claim, verify_lattice
from mdpdice.lattices.reachable_layers import Layer, Layers
from mdpdice.networks.network import Floats, Kind

VERIFIED_UP_TO_EDGES = 100_000_000
"""Edges at all points of the layers done up to which their values are verified; else only what plays collect counts."""
SECONDS = 0.4
"""Time that is taken to verify them."""


def start_between(layers: Layers, values: Floats, done: int) -> tuple[float, float]:
    """Bounds of the value of the start, where the last `done` layers have their values."""
    bounds, first = [_between(layers, layers.layers, [])], len(layers.layers) - done
    edges = layers.lattice.n_edges * sum(len(layer.points) for layer in layers.layers[first:])
    if done and edges + values.size <= VERIFIED_UP_TO_EDGES:
        there = layers.reached & (layers.ranks.layer >= layers.layers[first].number)
        stored = np.where(there, values, np.nan)
        off = _off(layers, stored, first)
        known = stored if first else stored[:1, layers.lattice.start_point]
        worth = [float(np.nanmin(known)) - off, float(np.nanmax(known)) + off]
        bounds += [_between(layers, layers.layers[:first], worth)] if off < np.inf else []
    low, high = zip(*bounds, strict=True)
    return max(low), min(high)


def _between(layers: Layers, left: tuple[Layer, ...], worth: list[float]) -> tuple[float, float]:
    """Bounds of plays that visit the layers `left`, and then have a value between the least and the most of `worth`."""
    lattice, passes, total = layers.lattice, float(len(left)), float(layers.lattice.total)
    if not left:
        return min(worth), max(worth)
    low, high = layers.tables.ranges(np.concatenate([layer.points for layer in left]))
    ends = lattice.payoff[lattice.kind == Kind.END]
    worth = [*worth, *low[ends].tolist(), *high[ends].tolist()]
    if any(layer.part is not None for layer in left):
        worth, passes = [*worth, total / 2], np.inf  # a play that never ends
    if (lattice.sign < 0).any():
        # What one side collects the other one pays.
        worth += [total - one for one in worth]
        high = np.maximum(high, -low)
        low = -high
    least, most = (passes * one if one else 0.0 for one in (-_collected(layers, -low), _collected(layers, high)))
    return _wider(min(worth) + least, -1), _wider(max(worth) + most, 1)


def _off(layers: Layers, stored: Floats, first: int) -> float:
    """How far the values from a layer on can be off, as far as that is found at once."""
    point, limit = int(layers.layers[first].points[0]), time.monotonic() + SECONDS
    entry = int(layers.program.entries[np.argmax(layers.reached[:, point])])

    def check() -> None:
        if time.monotonic() > limit:
            raise TimeoutError

    lattice = attrs.evolve(layers.lattice, start=entry, start_point=point)
    claim = Claim(layers.program.entries, stored, layers.ranks.layer, layers.ranks.inner)
    try:
        return float(verify_lattice(lattice, claim, check).optimal[layers.layers[first].number])
    except TimeoutError:
        return np.inf


def _collected(layers: Layers, reward: Floats) -> float:
    """Most that one pass through the core collects, from any node on."""
    lattice, stays = layers.lattice, layers.program.stored < 0
    best = np.zeros(lattice.n_nodes)
    gain = np.where(lattice.weight > 0, reward[lattice.reward], -np.inf)
    for node in layers.program.order.tolist():
        edges = slice(lattice.indptr[node], lattice.indptr[node + 1])
        best[node] = np.max(gain[edges] + np.where(stays[edges], best[lattice.dst[edges]], 0.0), initial=0.0)
    return float(best.max())


def _wider(bound: float, side: int) -> float:
    """Room for the rounding of what is not a whole number."""
    return bound if bound.is_integer() else bound + side * 1e-9 * abs(bound)
