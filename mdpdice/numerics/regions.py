"""Regions of a network of one player: where a goal can be reached for sure, or cannot be missed."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from mdpdice.networks.arrays import read_only
from mdpdice.networks.network import Bools, Ints, Kind, Network
from mdpdice.numerics.graph import attract, end_components, ranked_components

FAST_PATH_FROM_EDGES = 20_000
"""Edges from which an undiscounted network is tried by the methods for special shapes before the general ones."""

_RANKS: WeakKeyDictionary[Network, Ints | None] = WeakKeyDictionary()
_COMPONENTS: WeakKeyDictionary[Network, tuple[Ints, Ints, Ints]] = WeakKeyDictionary()


def ending_ranks(network: Network) -> Ints | None:
    """Ranks that fall along every option and along some edge of every chance node, 0 at ends; None if there are none.

    They show that every play ends, whatever is done.  They are found once for a network, since reductions, solvers
    and bounds all want to know.
    """
    if network not in _RANKS:
        components(network)
    if network not in _RANKS:
        rank = _unranked(network)
        attract(network.source, network.dst, network.kind == Kind.CHANCE, rank)
        _keep_ranks(network, rank)
    return _RANKS[network]


def _unranked(network: Network) -> Ints:
    return np.where(network.kind == Kind.END, 0, -1)


def _keep_ranks(network: Network, rank: Ints) -> None:
    _RANKS[network] = read_only(rank) if (rank >= 0).all() else None


def components(network: Network) -> tuple[Ints, Ints, Ints]:
    """Label of every node, order and ptr of `mdpdice.numerics.graph.ordered_components`.

    They are found once for a network: the choice of a solver, the solver and the bounds want them.
    """
    if network not in _COMPONENTS:
        # Ranks come with the search, where they may be needed.
        rank = _unranked(network) if network.discount == 1 else np.zeros(0, dtype=np.int64)
        chance = network.kind == Kind.CHANCE
        *found, whole = ranked_components(network.indptr, network.dst, None, chance, rank)
        if len(rank) and whole:
            _keep_ranks(network, rank)
        label, order, ptr = map(read_only, found)
        _COMPONENTS[network] = label, order, ptr
    return _COMPONENTS[network]


def largest_component(network: Network) -> int:
    """Nodes of the largest strongly connected component."""
    return int(np.diff(components(network)[2]).max(initial=0))


def idle_components(
    indptr: Ints, dst: Ints, chance: Bools, pays: Bools, keep: Bools | None = None
) -> tuple[Ints, Bools]:
    """Find the end components in which no edge pays, and the edges that they may be made of.

    Takes and gives what `mdpdice.numerics.graph.end_components` does.
    """
    source = np.repeat(np.arange(len(chance)), np.diff(indptr))
    free = ~pays if keep is None else keep & ~pays
    # A chance node that pays on one of its edges belongs to none: without that edge nothing may return from it.
    paying = np.zeros(len(chance), dtype=np.bool_)
    paying[source[pays if keep is None else pays & keep]] = True
    free &= ~(chance & paying)[source]
    return end_components(indptr, dst, chance, free), free


def can_reach(network: Network, goal: Bools, keep: Bools | None = None) -> Bools:
    """Nodes from which some play reaches a marked node, along the edges in `keep`."""
    rank = np.where(goal, 0, -1)
    attract(network.source, network.dst, np.ones(network.n_nodes, dtype=bool), rank, keep)
    return rank >= 0


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

    They are those from which plays can be kept from the places where they may stay before they meet it.
    """
    return settling_ranks(network.indptr, network.dst, network.kind == Kind.CHANCE, goal)[0] < 0


def settling_ranks(indptr: Ints, dst: Ints, chance: Bools, goal: Bools) -> tuple[Ints, Bools]:
    """Ranks of the nodes from which plays may come to stay before they meet a goal, and those where they may stay.

    The rank falls along every edge of a decision, and some edge of a chance node; the nodes of an end component have
    one rank, since they are taken together, so that outside them no play cycles for ever.  It is -1 at goals and
    wherever some policy is sure to come to one.  Plays may stay in end components, and at ends.
    """
    source = np.repeat(np.arange(len(chance)), np.diff(indptr))
    component = end_components(indptr, dst, chance, ~goal[source])
    alone = component < 0
    number = np.where(alone, np.cumsum(alone) - 1, int(alone.sum()) + component)
    count = int(number.max(initial=-1)) + 1
    leaving = ~goal[source] & ((number[source] != number[dst]) | alone[source])
    start, end = number[source[leaving]], number[dst[leaving]]
    by_chance, waits = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    by_chance[number] = chance & alone & ~goal
    waits[number] = goal
    waits[start] = True
    rank = np.where(waits, -1, 0)
    attract(start, end, by_chance, rank)
    ranked = rank[number]
    ends = (np.diff(indptr) == 0) & ~goal
    return ranked, (ranked >= 0) & (~alone | ends)
