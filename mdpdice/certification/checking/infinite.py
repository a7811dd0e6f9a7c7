"""The certificate of infinite values: graph look-ups, no arithmetic.

A claim of +inf comes with a policy, the place where it collects, and ranks.  For the
other claims the searches are made again, as plain worklists that share no code with
`mdpdice.numerics.graph` and `mdpdice.numerics.regions`, which found the claims.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from mdpdice.certification.checking.inequalities import best_replies
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network

__all__ = ["check_infinite", "check_lost", "check_missed", "check_won"]


def check_infinite(network: Network, infinite: Bools, policy: Ints, trap: Bools, rank: Ints) -> bool:
    """Verify that the nodes marked in `infinite` have the value +inf for one player, undiscounted.

    Under `policy` no play leaves the trap or pays there, and from every marked node a play may
    come, again and again, to a node of the trap where it may collect.  No unmarked node can get
    to a marked one, so none is left out.

    Parameters
    ----------
    network : Network
        One player.
    infinite : ndarray of bool, shape (N,)
        The claim.
    policy : ndarray of int64, shape (N,)
        What he plays there.
    trap : ndarray of bool, shape (N,)
        Marked nodes that the policy never leaves.
    rank : ndarray of int64, shape (N,)
        At least 0 on marked nodes; falls along some edge of each that does not collect itself.
    """
    source, dst = network.source, network.dst
    taken = _taken(network, infinite, policy)
    inner = taken & trap[source]
    comes = np.zeros(network.n_nodes, dtype=bool)
    comes[source[inner & (network.reward > 0)]] = True
    comes[source[taken & infinite[dst] & (rank[dst] < rank[source])]] = True
    stays = trap[dst[inner]].all() and (network.reward[inner] >= 0).all() and infinite[trap].all()
    closed = not (infinite[dst] & ~infinite[source]).any()
    return bool(stays and closed and comes[infinite].all() and (rank[infinite] >= 0).all())


def check_lost(network: Network, lost: Bools) -> bool:
    """Verify that the nodes marked in `lost` have the value -inf for one player, undiscounted.

    From each of them every policy pays without end with positive probability, and none comes to
    a place where it collects without end.  The first holds where no policy is sure to come to
    nodes from which it need never pay again; for if plays pay finitely often only, then from
    some move on they stay at such nodes.
    """
    chance = network.kind == Kind.CHANCE
    return _is_lost(network.source, network.dst, network.reward, chance, lost)


def check_won(network: Network, plus: Bools, minus: Bools, policy: Ints) -> bool:
    """Verify the nodes whose value is plus or minus infinity in a game of two players, undiscounted.

    When the winner keeps to the policy, the other one is alone in the network of best replies, and lost
    as in `check_lost`; what lies beyond the claim, where values are finite, counts as an end there.
    No other node comes to a claimed one but by an option that its player does not want.

    Parameters
    ----------
    network : Network
        Two players.
    plus, minus : ndarray of bool, shape (N,)
        The claims.
    policy : ndarray of int64, shape (N,)
        What the winner plays there.
    """
    source, dst, kind = network.source, network.dst, network.kind
    claimed = plus | minus
    worth = network.sign * (plus[dst].astype(np.int64) - minus[dst])
    comes = (network.weight > 0) & claimed[dst] & ~claimed[source]
    wanted = np.select([kind[source] == Kind.MAX, kind[source] == Kind.MIN], [worth > 0, worth < 0], True)
    able = np.zeros(network.n_nodes, dtype=bool)
    able[source[~claimed[dst]]] = True
    if (plus & minus).any() or (comes & wanted).any() or not able[network.decides & ~claimed].all():
        return False
    replies = best_replies(network, policy)
    # Side 0 keeps the maximiser to the policy and turns the signs, side 1 the minimiser.
    lost, won = np.concatenate((plus, minus)), np.concatenate((minus, plus))
    within = lost[replies.source]
    start, end = replies.source[within], replies.dst[within]
    return not won[end].any() and _is_lost(start, end, replies.reward[within], replies.chance, lost)


def _is_lost(source: Ints, dst: Ints, reward: Floats, chance: Bools, lost: Bools) -> bool:
    after, before, random = _lists(source, dst, chance)
    free, _, _ = _lists(source[reward >= 0], dst[reward >= 0], chance)
    decides = {i for i, targets in enumerate(after) if targets} - random
    pays = {node for node in random if len(free[node]) < len(after[node])}
    pays |= {node for node in decides if not free[node]}
    pays = _closure(pays, before, lambda node, found: node in random or found.issuperset(free[node]))
    missed = _missed_by_all(set(range(len(after))) - pays, after, before, random)
    gains = reward > 0
    gain_edges = list(zip(source[gains].tolist(), dst[gains].tolist(), strict=True))
    collects = _collecting(gain_edges, after, before, random)
    return all(node in missed and node not in collects for node in np.flatnonzero(lost).tolist())


def _collecting(
    gains: list[tuple[int, int]], after: list[list[int]], before: list[list[int]], chance: set[int]
) -> set[int]:
    """Nodes from which some policy collects without end with positive probability."""
    out = {node for node, targets in enumerate(after) if not targets}
    while True:
        out = _closure(out, before, lambda node, found: node in chance or found.issuperset(after[node]))
        seeds = {node for node, target in gains if node not in out and target not in out}
        again = _closure(seeds, before, partial(_is_outside, out))
        if len(again) + len(out) == len(after):
            return _closure(again, before, lambda _, __: True)
        out = set(range(len(after))) - again


def check_missed(network: Network, infinite: Bools, policy: Ints, *, by_all: bool) -> bool:
    """Verify that the goals (ends of payoff 0) may be missed from every node marked in `infinite`.

    Parameters
    ----------
    network : Network
        One player.
    infinite : ndarray of bool, shape (N,)
        The claim.
    policy : ndarray of int64, shape (N,)
        What he plays there.
    by_all : bool
        Whether every policy misses them with positive probability, or only this one.
    """
    goal = set(np.flatnonzero((network.kind == Kind.END) & (network.payoff == 0)).tolist())
    claimed = set(np.flatnonzero(infinite).tolist())
    chance = network.kind == Kind.CHANCE
    if by_all:
        return claimed <= _missed_by_all(goal, *_lists(network.source, network.dst, chance))
    taken = _taken(network, infinite, policy)
    moves = np.bincount(network.source[taken], minlength=network.n_nodes) > 0
    # What comes after a node that is not claimed is as good as the goal.
    goal |= set(range(network.n_nodes)) - claimed
    return bool(moves[infinite & network.decides].all()) and claimed <= _missed_by_some(
        goal, *_lists(network.source[taken], network.dst[taken], chance)
    )


def _taken(network: Network, nodes: Bools, policy: Ints) -> Bools:
    """Edges that leave marked nodes when the player follows a policy there."""
    taken = ~network.decides[network.source]
    decided = np.flatnonzero(network.decides & (policy >= 0))
    taken[policy[decided][network.source[policy[decided]] == decided]] = True
    return np.asarray(taken & nodes[network.source])


def _lists(source: Ints, dst: Ints, chance: Bools) -> tuple[list[list[int]], list[list[int]], set[int]]:
    """Successors and predecessors of every node along some edges, and the chance nodes."""
    after: list[list[int]] = [[] for _ in range(len(chance))]
    before: list[list[int]] = [[] for _ in range(len(chance))]
    for node, target in zip(source.tolist(), dst.tolist(), strict=True):
        after[node].append(target)
        before[target].append(node)
    return after, before, set(np.flatnonzero(chance).tolist())


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
