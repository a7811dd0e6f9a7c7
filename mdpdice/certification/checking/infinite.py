"""The certificate of infinite values: graph look-ups, no arithmetic.

A claim comes with a policy, or with ranks that show where plays come to stay, and is verified in one or two
passes over the edges that share no code with `mdpdice.numerics.graph` and `mdpdice.numerics.regions`,
which found it.
"""

from __future__ import annotations

import attrs
import numpy as np

from mdpdice.certification.checking.inequalities import best_replies
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network


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
        What that player does there.
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


@attrs.frozen(eq=False)
class Losing:
    """What shows that nodes are worth minus infinity.

    Parameters
    ----------
    misses, settled : ndarray, shape (N,)
        Ranks and marks, as in `_falls`, that keep plays from all other nodes.
    pays : ndarray of int64, shape (N,)
        Ranks that fall along edges on which nothing is paid.
    gathers, gathered : ndarray, shape (N,)
        Ranks and marks of all nodes that plays may come to; the ranks are -1 elsewhere.
    """

    misses: Ints
    settled: Bools
    pays: Ints
    gathers: Ints
    gathered: Bools


def check_lost(network: Network, lost: Bools, losing: Losing) -> bool:
    """Verify that the nodes marked in `lost` have the value -inf for one player, undiscounted.

    From each of them every policy pays without end with positive probability, and none comes to
    a place where it collects without end.  The first holds where no policy is sure to come to
    nodes from which it need never pay again; for if plays pay finitely often only, then from
    some move on they stay at such nodes.
    """
    chance = network.kind == Kind.CHANCE
    return _is_lost(network.source, network.dst, network.reward, chance, lost, losing)


def check_won(network: Network, plus: Bools, minus: Bools, policy: Ints, losing: Losing) -> bool:
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
    losing : Losing
        For the network of best replies, without what lies beyond the claim.
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
    start, end, reward, chance, lost = losing_side(network, plus, minus, policy)
    won = np.concatenate((minus, plus))
    return not won[end].any() and _is_lost(start, end, reward, chance, lost, losing)


def losing_side(network: Network, plus: Bools, minus: Bools, policy: Ints) -> tuple[Ints, Ints, Floats, Bools, Bools]:
    """Return the loser's edges (source, target, reward) under the winner's policy, chance nodes, and the claim."""
    replies = best_replies(network, policy)
    # Side 0 keeps the maximiser to the policy and turns the signs, side 1 the minimiser.
    lost = np.concatenate((plus, minus))
    within = lost[replies.source]
    return replies.source[within], replies.dst[within], replies.reward[within], replies.chance, lost


def _is_lost(source: Ints, dst: Ints, reward: Floats, chance: Bools, lost: Bools, losing: Losing) -> bool:
    nowhere, near = np.zeros(len(lost), dtype=bool), losing.gathers >= 0
    graph = source, dst, chance
    same = near[source] & losing.gathered[source] & (losing.gathers[dst] == losing.gathers[source])
    return (
        _falls(*graph, lost, losing.misses, losing.settled)
        # No claimed node can do without paying for ever.
        and _falls(*graph, lost, losing.pays, nowhere, reward < 0)
        # Where plays come to stay nothing is collected.
        and bool(near[lost].all() and near[dst[near[source]]].all())
        and _falls(*graph, near, losing.gathers, losing.gathered)
        and not (same & (reward > 0)).any()
    )


def _falls(
    source: Ints, dst: Ints, chance: Bools, claimed: Bools, rank: Ints, settled: Bools, done: Bools | None = None
) -> bool:
    """Whether plays from claimed nodes come, with positive probability, to stay at claimed nodes of one rank.

    From a settled node every edge leads to a claimed node of lower rank, or to a settled one of the same.  Of the
    others, every edge of a decision, and some edge of a chance node, leads to a claimed node of lower rank.  So
    whatever is done, with positive probability ranks fall until the play stays among settled nodes; and if all nodes
    that it may come to are claimed, that happens almost surely, since it passes by the lowest rank that it
    meets again and again.  Edges that are `done` count as lower ones: the play has what was asked for.
    """
    lower = claimed[dst] & (rank[dst] < rank[source])
    if done is not None:
        lower |= done
    stays = claimed[dst] & settled[source] & settled[dst] & (rank[dst] == rank[source])
    some, every = np.zeros(len(chance), dtype=bool), np.ones(len(chance), dtype=bool)
    some[source[lower]] = True
    every[source[~(lower | stays)]] = False
    leaves = np.zeros(len(chance), dtype=bool)
    leaves[source] = True
    moves = settled | leaves
    return bool((np.where(chance & ~settled, some, every) & moves)[claimed].all())


def check_missed_by_all(network: Network, infinite: Bools, rank: Ints, settled: Bools) -> bool:
    """Verify that every policy may miss the goals (ends of payoff 0) from the nodes marked in `infinite`.

    Parameters
    ----------
    network : Network
        One player.
    infinite : ndarray of bool, shape (N,)
        The claim.
    rank, settled : ndarray, shape (N,)
        Ranks and marks, as in `_falls`: plays come to stay away from the goals.
    """
    goal = (network.kind == Kind.END) & (network.payoff == 0)
    falls = _falls(network.source, network.dst, network.kind == Kind.CHANCE, infinite, rank, settled)
    return falls and not (goal & infinite).any()


def check_missed(network: Network, infinite: Bools, policy: Ints) -> bool:
    """Verify that the policy may miss the goals (ends of payoff 0) from the nodes marked in `infinite`.

    Parameters
    ----------
    network : Network
        One player.
    infinite : ndarray of bool, shape (N,)
        The claim.
    policy : ndarray of int64, shape (N,)
        What that player does there.
    """
    # What comes after a node that is not claimed is as good as the goal.
    goal = ~infinite | ((network.kind == Kind.END) & (network.payoff == 0))
    taken = _taken(network, infinite, policy)
    moves = np.bincount(network.source[taken], minlength=network.n_nodes) > 0
    before: list[list[int]] = [[] for _ in range(network.n_nodes)]
    for node, target in zip(network.source[taken].tolist(), network.dst[taken].tolist(), strict=True):
        before[target].append(node)
    # From where a play cannot come to a goal it misses it, and so it may from where it can come there.
    away = ~_closure(goal, before, np.zeros_like(goal))
    missed = _closure(away, before, goal)
    return bool(moves[infinite & network.decides].all() and missed[infinite].all())


def _taken(network: Network, nodes: Bools, policy: Ints) -> Bools:
    """Edges that leave marked nodes when the player follows a policy there."""
    taken = ~network.decides[network.source]
    decided = np.flatnonzero(network.decides & (policy >= 0))
    taken[policy[decided][network.source[policy[decided]] == decided]] = True
    return np.asarray(taken & nodes[network.source])


def _closure(seeds: Bools, before: list[list[int]], stop: Bools) -> Bools:
    """Return the seeds, and every node from which a play comes there without passing a `stop`."""
    found, todo = seeds.copy(), np.flatnonzero(seeds).tolist()
    while todo:
        for node in before[todo.pop()]:
            if not found[node] and not stop[node]:
                found[node] = True
                todo.append(node)
    return found
