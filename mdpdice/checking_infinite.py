"""The certificate of infinite values: graph look-ups, no arithmetic.

The searches are plain worklists that share no code with `mdpdice.numerics.graph`
and `mdpdice.regions`, which found the claims.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from mdpdice.network import Bools, Ints, Kind, Network

__all__ = ["check_infinite", "check_missed"]


def check_infinite(network: Network, infinite: Bools, policy: Ints) -> bool:
    """Verify that exactly the nodes marked in `infinite` have the value +inf for one player, undiscounted.

    Under `policy` no play from a marked node leaves a set in which every node can
    reach a positive reward and none meets a negative one, or it has a chance to get
    there; and no unmarked node can get to a marked one.
    """
    source, dst = network.source, network.dst
    taken = ~network.decides[source]
    taken[policy[network.decides & (policy >= 0)]] = True
    taken &= infinite[source]
    # The largest set that the policy never leaves: throw out nodes until nothing changes.
    trapped = infinite.copy()
    while (out := taken & trapped[source] & ~trapped[dst]).any():
        trapped[source[out]] = False
    inner = taken & trapped[source]
    paid = np.zeros(network.n_nodes, dtype=bool)
    paid[source[inner & (network.reward > 0)]] = True
    good = bool((network.reward[inner] >= 0).all()) and _all_reach(source[inner], dst[inner], trapped, paid)
    closed = not (infinite[dst] & ~infinite[source]).any()
    return good and closed and _all_reach(source[taken], dst[taken], infinite, trapped)


def _all_reach(source: Ints, dst: Ints, nodes: Bools, goal: Bools) -> bool:
    """Whether every marked node reaches a goal along the given edges."""
    reached = goal.copy()
    while (more := reached[dst] & ~reached[source]).any():
        reached[source[more]] = True
    return bool(reached[nodes].all())


def check_missed(network: Network, infinite: Bools, *, by_all: bool) -> bool:
    """Verify that the goals (ends of payoff 0) may be missed from every node marked in `infinite`.

    Parameters
    ----------
    network : Network
        One player.
    infinite : ndarray of bool, shape (N,)
        The claim.
    by_all : bool
        Whether every policy misses them with positive probability, or only some policy.
    """
    kind = network.kind.tolist()
    goal = {i for i, k in enumerate(kind) if k == Kind.END and network.payoff[i] == 0}
    after = [network.dst[network.indptr[i] : network.indptr[i + 1]].tolist() for i in range(len(kind))]
    before: list[list[int]] = [[] for _ in kind]
    for node, targets in enumerate(after):
        for target in targets:
            before[target].append(node)
    chance = {i for i, k in enumerate(kind) if k == Kind.CHANCE}
    missed = (
        _missed_by_all(goal, after, before, chance)
        if by_all
        else _missed_by_some(goal, after, before, chance)
    )
    return all(node in missed for node in np.flatnonzero(infinite).tolist())


def _closure(seeds: set[int], before: list[list[int]], joins: Callable[[int, set[int]], bool]) -> set[int]:
    """The seeds, and step by step every node before them that `joins` those found so far."""
    found, todo = set(seeds), list(seeds)
    while todo:
        for node in before[todo.pop()]:
            if node not in found and joins(node, found):
                found.add(node)
                todo.append(node)
    return found


def _is_outside(bad: set[int], node: int, found: set[int]) -> bool:  # noqa: ARG001 - as `_closure` calls it
    return node not in bad


def _missed_by_all(
    goal: set[int], after: list[list[int]], before: list[list[int]], chance: set[int]
) -> set[int]:
    """Nodes from which no policy reaches the goal with probability one: a greatest fixed point of a least one."""
    bad: set[int] = set()
    while True:
        reach = _closure(goal - bad, before, partial(_is_outside, bad))
        lost = set(range(len(after))) - reach
        forced = _closure(
            bad | lost,
            before,
            lambda node, found: (
                node not in goal and (node in chance or all(target in found for target in after[node]))
            ),
        )
        if forced == bad:
            return bad
        bad = forced


def _missed_by_some(
    goal: set[int], after: list[list[int]], before: list[list[int]], chance: set[int]
) -> set[int]:
    """Nodes from which some policy keeps away from the goal with positive probability."""
    caught = _closure(
        goal,
        before,
        lambda node, found: node in chance or all(target in found for target in after[node]),
    )
    # Outside, play can keep away from the goal for ever; from where it can come there, it may miss.
    away = set(range(len(after))) - caught
    return _closure(away, before, lambda node, _: node not in goal)
