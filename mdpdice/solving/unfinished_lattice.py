"""Bounds of a lattice whose solve was stopped, from the layers that are done and from what plays can collect before.

A play takes one pass through the core in every layer that it visits, or any number in a layer that leads to itself.  So
it is worth where it comes to, an end or a layer that is done, and what that many passes collect at most, or at least.
"""

from __future__ import annotations

import time

import attrs
import numpy as np

from mdpdice.certification.checking.lattice import Claim, verify_lattice
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.networks.network import Floats, Kind

VERIFIED_UP_TO = 3_000_000
"""Values up to which those of the layers that are done are verified; of more, only what plays can collect counts."""
SECONDS = 0.4
"""Time that is taken to verify them."""


def start_between(layers: Layers, values: Floats, done: int) -> tuple[float, float]:
    """Bounds of the value of the start, where the last `done` layers have their values."""
    lattice, first = layers.lattice, len(layers.layers) - done
    stored, off = values, np.inf
    if done and values.size <= VERIFIED_UP_TO:
        stored = np.where(layers.reached & (layers.ranks.layer >= layers.layers[first].number), values, np.nan)
        off = _off(layers, stored, first)
    if not first and off < np.inf:
        value = float(stored[0, lattice.start_point])
        return value - off, value + off
    here = layers.layers[:first] if off < np.inf else layers.layers
    low, high = layers.tables.ranges(np.concatenate([layer.points for layer in here]))
    ends = lattice.payoff[lattice.kind == Kind.END]
    worth = [*low[ends], *high[ends]]
    passes = float(len(here))
    if any(layer.part is not None for layer in here):
        worth, passes = [*worth, float(lattice.total) / 2], np.inf  # a play that never ends
    if off < np.inf:
        worth += [np.nanmin(stored) - off, np.nanmax(stored) + off]
    if (lattice.sign < 0).any():
        # What one side collects the other one pays.
        worth += [float(lattice.total) - one for one in worth]
        high = np.maximum(high, -low)
        low = -high
    least, most = (passes * one if one else 0.0 for one in (-_collected(layers, -low), _collected(layers, high)))
    return _wider(float(min(worth)) + least, -1), _wider(float(max(worth)) + most, 1)


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
