"""Regions of a network of one player: where a goal can be reached for sure, or cannot be missed."""

from __future__ import annotations

import numpy as np

from mdpdice.network import Bools, Ints, Kind, Network
from mdpdice.numerics.graph import end_components, reachable

__all__ = ["can_reach", "reached_by_all", "reached_by_some"]


def can_reach(network: Network, goal: Bools, keep: Bools | None = None) -> Bools:
    """Nodes from which some play reaches a marked node, along the edges in `keep`."""
    edges = np.arange(network.n_edges) if keep is None else np.flatnonzero(keep)
    order = edges[np.argsort(network.dst[edges], kind="stable")]
    entering = np.concatenate(([0], np.cumsum(np.bincount(network.dst[order], minlength=network.n_nodes))))
    return reachable(entering, network.source[order], np.flatnonzero(goal))


def reached_by_all(network: Network, goal: Bools) -> Bools:
    """Nodes from which every policy reaches the goal with probability one.

    They are those from which no play comes to a trap: an end that is no goal, or an
    end component, where play can stay for ever.
    """
    # Play stops at a goal, so what comes after it does not count.
    before = ~goal[network.source]
    trap = (network.kind == Kind.END) & ~goal
    trap |= end_components(network.indptr, network.dst, network.kind == Kind.CHANCE, before) >= 0
    return ~can_reach(network, trap & ~goal, before)


def reached_by_some(network: Network, goal: Bools) -> Bools:
    """Nodes from which some policy reaches the goal with probability one.

    The greatest set in which the goal can be reached without an option that may leave the set.
    """
    bad = np.zeros(network.n_nodes, dtype=bool)
    while True:
        good = ~bad
        inside = good[network.source] & good[network.dst] & ~goal[network.source]
        lost = good & ~can_reach(network, goal & good, inside)
        if not lost.any():
            return good
        bad = _forced(network, bad | lost)


def _forced(network: Network, bad: Bools) -> Bools:
    """The marked nodes, and those that cannot keep a play from coming there with positive probability."""
    from mdpdice.numerics import kernels

    rank = np.where(bad, 0, -1)
    wait: Ints = np.diff(network.indptr).astype(np.int64)
    kernels.escape(
        network.source, *kernels.reverse(network.indptr, network.dst), network.kind == Kind.CHANCE, wait, rank
    )
    return np.asarray(rank >= 0)
