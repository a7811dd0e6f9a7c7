# Passages of this text are replaced by tests/certification/checking/test_inequalities_mutated.py: change both together.
"""The certificate: how far a value and a policy can be off, by inequalities alone.

This module trusts nobody.  It takes a canonical problem, a claimed policy ``s``, two claimed bounds and some
*witnesses* that may have been found in any way, and verifies them with whole-array arithmetic of its own.

Best replies.  From the problem and the policy it builds one network in which a single player maximises.  It has two
sides, each with a copy of every node.  On side 1 the maximiser is free and the minimiser, if there is one, keeps to
the policy; on side 0 it is the other way round and all rewards and payoffs are negated.  Through a `pass_to` edge the
side changes.  The optimal values of the two sides are ``V_1 >= V*`` and ``V_0 >= -V_s >= -V*``, where ``V_s`` is what
the policy is worth against every reply. For one player side 0 is the policy alone:
``V_0 = -V_s``, and ``V_1 = V*``.

Theorem.  Let ``u`` be finite, at least the payoff at ends, and ``u >= r_a + g P_a u`` for every option ``a`` of the
network of best replies (``g`` the discount on steps).  Then ``u`` is at least its optimal value, provided that
endless plays cannot escape this:

* the problem is discounted, and every cycle takes a step, or it has a horizon; or
* every play ends: there is a rank that falls along every edge of a decision and along some edge of every chance node;
  or
* endless plays lose without end: there is such a rank for the edges without negative rewards, and a label that never
  rises along an edge (where it falls ranks need not) and falls along edges with a positive reward, or along another
  edge of a chance node at one of their ends, or ranks as before show that plays leave their label; or, instead of a
  label, the theorem bounds the total without negative rewards and payoffs.

In the last two cases nodes may be grouped: edges inside a group that pay nothing are left out, ``u`` must be the same
and at least 0 on a group, and chance nodes of a group must have no other edges.  (To stay there is worth 0.)

Proof.  Some stationary choice of options is optimal then (Puterman 1994, theorem 7.1.9). Where its plays end almost
surely, their length has a geometric tail, and ``u >= r + g P u`` added up along them gives ``u`` at least the
expected total.  Elsewhere a play may come to a set that it never leaves: a group, where staying is worth ``0 <= u``,
or one where by the ranks it pays for ever, and what it gains has a finite mean: minus infinity. So ``V* <= u`` on
side 1 and ``V* >= V_s >= -u`` on side 0.

Rounding.  With ``m = sum p (|r| + g |u|)`` over the ``k`` edges of a chance node and ``s`` the float sum of their
probabilities, ``(2 k + 8) 2^-52 m + |1 - s| m`` is added to the right-hand side: the first term covers the sums, and
numbers that were rounded once or twice themselves; the second covers float rows that mean the rationals ``p / s``.
An option of a decision needs ``4 2^-52 m``, and nothing where it pays and discounts nothing: then two floats are
compared. What falls below the range of floats is covered by ``t (1 + sum |r| + |u|)``, which is part of every ``m``
and 0 where all numbers are; ``t = 2^-1022`` is the smallest normal float.
"""

from __future__ import annotations

import attrs
import numpy as np

from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network

ULP = 2.0**-52
NORMAL = 2.0**-1022


@attrs.frozen(eq=False)
class Replies:
    """The network of best replies: node ``i`` of side ``k`` is node ``k N + i``.

    Parameters
    ----------
    chance, end : ndarray of bool, shape (2 N,)
        Which nodes are chance nodes, and ends.
    indptr, dst, weight, reward, factor : ndarray of int64 or float64
        The rows: target, probability (1 for options), reward and discount of every edge.
    payoff : ndarray of float64, shape (2 N,)
        Payoff of ends; where it was rounded, the next float.
    """

    chance: Bools
    end: Bools
    indptr: Ints
    dst: Ints
    weight: Floats
    reward: Floats
    factor: Floats
    payoff: Floats

    @property
    def source(self) -> Ints:
        """Node that every edge leaves."""
        return np.repeat(np.arange(len(self.end)), np.diff(self.indptr))


@attrs.frozen(eq=False)
class Witness:
    """What has to be shown besides the bounds.

    Parameters
    ----------
    group : ndarray of int64, shape (2 N,)
        Number of the group of a node, -1 for none.
    rank, label : ndarray of int64, shape (2 N,)
        See the theorem; a group has one rank and one label.
    gains : (ndarray of float64, Witness), optional
        The bound on what can be gained, and what has to be shown besides.
    """

    group: Ints
    rank: Ints
    label: Ints
    gains: tuple[Floats, Witness] | None = None


def best_replies(network: Network, policy: Ints, *, last: bool = False) -> Replies:
    """Build the network of best replies to a policy, of its own edges; `last` makes decisions ends of payoff 0."""
    n, source, decides = network.n_nodes, network.source, network.decides
    factor = np.where(network.step, network.factor, 1.0)
    own = (network.indptr[:-1] <= policy) & (policy < network.indptr[1:])
    edges, targets, degrees = [], [], []
    for side in (0, 1):
        fixed = decides & ((network.kind == Kind.MAX) == (side == 0))
        usable = ~fixed[source]
        usable[policy[fixed & own]] = True
        usable &= ~(last & decides[source])
        kept = np.flatnonzero(usable)
        edges.append(kept)
        targets.append(network.dst[kept] + n * np.where(network.sign[kept] < 0, 1 - side, side))
        degrees.append(np.bincount(source[kept], minlength=n))
    both = np.concatenate(edges)
    side_of_edge = np.repeat([-1.0, 1.0], [len(edges[0]), len(edges[1])])
    end = (network.kind == Kind.END) | (last & decides)
    payoff = np.where(network.kind == Kind.END, network.payoff, 0.0)
    return Replies(
        chance=np.tile(network.kind == Kind.CHANCE, 2),
        end=np.tile(end, 2),
        indptr=np.concatenate(([0], np.cumsum(np.concatenate(degrees)))),
        dst=np.concatenate(targets),
        weight=network.weight[both],
        reward=side_of_edge * network.reward[both],
        factor=factor[both],
        payoff=np.concatenate((-payoff, payoff)) + np.tile(network.payoff_room, 2),
    )


def verify(problem: Network, policy: Ints, bounds: Floats, witness: Witness) -> str:
    """Verify that ``-bounds[0] <= V_s <= V* <= bounds[1]`` at every node.

    Parameters
    ----------
    problem : Network
        The canonical problem.
    policy : ndarray of int64, shape (N,) or (horizon + 1, N)
        The claimed policy.
    bounds : ndarray of float64, shape (2 N,) or (horizon + 1, 2 N)
        The claimed ``u`` of side 0 and side 1; with a horizon, one row per stage.
    witness : Witness
        With a horizon it is about chance nodes among themselves.

    Returns
    -------
    str
        Empty if the claims hold, else what does not.
    """
    n = problem.n_nodes
    flat = problem.horizon is None
    shape = (2 * n,) if flat else (problem.horizon + 1, 2 * n)  # type: ignore[operator]
    sizes = {array.shape for array in (witness.group, witness.rank, witness.label)}
    if bounds.shape != shape or sizes != {(2 * n,)} or problem.total != 0:
        return "the witnesses do not fit the problem"
    if not np.isfinite(bounds).all():
        return "the bounds are not finite"
    outside = np.full(2 * n, -1)
    if flat:
        replies = best_replies(problem, policy)
        group = witness.group if problem.discount == 1 else outside
        if not _above(replies, bounds, bounds, group):
            return "the bounds do not contain what one move ahead is worth"
        if problem.discount < 1 or endless_plays_lose(replies, ~replies.end, bounds, witness):
            return ""
        return "some play may never end"
    for k in range(len(bounds)):
        replies = best_replies(problem, policy[k], last=k == 0)
        if not _above(replies, bounds[k], bounds[max(k - 1, 0)], outside):
            return "the bounds do not contain what one move ahead is worth"
        if problem.discount == 1 and not endless_plays_lose(replies, replies.chance, bounds[k], witness):
            return "some play of chance alone may never end"
    return ""


def _above(replies: Replies, here: Floats, before: Floats, group: Ints) -> bool:
    """Whether ``here`` is at least one backup; decisions look at the stage `before`.  NaN is not."""
    source, dst = replies.source, replies.dst
    ahead = np.where(replies.chance[source], here[dst], before[dst])
    value = replies.reward + replies.factor * ahead
    size = np.abs(replies.reward) + replies.factor * np.abs(ahead)
    whole = np.abs(replies.reward) + np.abs(ahead)
    starts, decides = replies.indptr[:-1], ~replies.chance & ~replies.end
    good = np.where(replies.end, here >= replies.payoff, np.diff(replies.indptr) > 0)
    if len(dst):
        # reduceat gives nonsense for empty rows; only rows of chance nodes are used, which are not empty.
        terms = (replies.weight * value, replies.weight, replies.weight * size, whole)
        # One more, so that an empty last row has a start.
        mean, total, spread, sizes = (np.add.reduceat(np.append(term, 0.0), starts) for term in terms)
        spread = spread + NORMAL * (sizes + (sizes > 0))
        slack = ((2 * np.diff(replies.indptr) + 8) * ULP + np.abs(1.0 - total)) * spread
        inner = (group >= 0) & replies.chance
        good &= np.where(replies.chance & ~inner, here >= mean + slack, True)
    plain = (replies.reward == 0) & (replies.factor == 1)
    enough = here[source] >= value + np.where(plain, 0.0, 4 * ULP * (size + NORMAL * (whole + (whole > 0))))
    within_group = (group[source] >= 0) & (group[source] == group[dst])
    return bool(good.all() and (enough | within_group)[decides[source]].all())


def endless_plays_lose(replies: Replies, live: Bools, u: Floats, witness: Witness) -> bool:
    """Whether endless plays among the `live` nodes lose without end, or stay in a group where ``u >= 0``."""
    group, rank, label = witness.group, witness.rank, witness.label
    source, dst, reward = replies.source, replies.dst, replies.reward
    among = live[source]
    inside = (group[source] >= 0) & (group[source] == group[dst])
    inside &= (reward == 0) & (replies.factor == 1)
    grouped = group >= 0
    if grouped.any():
        first = np.zeros(int(group.max()) + 1, dtype=np.int64)
        first[group[grouped]] = np.flatnonzero(grouped)
        lead = first[group[grouped]]
        same = all((array[grouped] == array[lead]).all() for array in (u, rank, label))
        alone = not (replies.chance[source] & grouped[source] & ~inside).any()
        if not (same and (u[grouped] >= 0).all() and alone):
            return False
    falls = ~live[dst] | (rank[dst] < rank[source])
    chance = live & replies.chance & ~grouped
    options = among & ~replies.chance[source] & ~inside
    if _some(source, falls, chance) and falls[options].all():
        return True
    lower = ~live[dst] | (label[dst] < label[source])
    never_rises = (lower | (label[dst] == label[source]))[among].all()
    falls = lower | (rank[dst] < rank[source])
    stays = chance.copy()
    stays[source[falls]] = False
    stays[source[options & ~falls]] = True
    left = ~np.isin(label, label[stays])
    left[source[lower & replies.chance[source]]] = True
    finite = bool((lower | left[source] | left[dst])[among & (reward > 0)].all())
    if not finite and witness.gains is not None:
        most, proof = witness.gains
        fits = {array.shape for array in (most, proof.group, proof.rank, proof.label)} == {u.shape}
        gains = attrs.evolve(replies, reward=np.maximum(reward, 0.0), payoff=np.zeros(len(u)))
        finite = fits and bool(np.isfinite(most).all()) and endless_plays_lose(gains, live, most, proof)
        finite = finite and _above(gains, most, most, proof.group)
    pays = reward < 0
    ranked = _some(source, falls | pays, chance) and (falls | pays)[options].all()
    return bool(never_rises and finite and ranked)


def _some(source: Ints, good: Bools, nodes: Bools) -> bool:
    """Whether every marked node has a good edge."""
    has = np.zeros(len(nodes), dtype=bool)
    has[source[good]] = True
    return bool(has[nodes].all())
