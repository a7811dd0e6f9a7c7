"""The certificate: how far a value and a policy can be off, by inequalities alone.

This module trusts nobody.  It takes a network, a claimed value ``v``, a claimed
policy ``s`` and two *witnesses* ``w`` and ``e0`` that anybody may have computed in
any way, and verifies them with whole-array arithmetic of its own.

Theorem.  Let ``T`` be the Bellman operator of the network, ``T_s`` that of the
policy, and ``P_a`` the transition operator of option ``a`` with the discount on its
steps and without signs.  Let ``w, e0 >= 0`` vanish at ends, and

    c     = min over nodes and options of  w - P_a w - rho_w            (> 0),
    delta = max(|T v - v|, |T_s v - v|) + rho_v                         (per node),
    k     = max over nodes of              delta - (e0 - max_a P_a e0 - rho_e), at least 0.

Then ``e = e0 + (k / c) w`` satisfies ``e >= P_a e + delta`` for every option, so the
optimal value ``V*``, the value ``V_s`` of the policy against every reply, and every
reply's value against the policy lie in ``[v - e, v + e]``, with one or two players.

Proof sketch.  ``c > 0`` bounds the expected discounted length of every play by ``w /
c``, so ``T`` has one fixed point.  For any choice of options that attains ``T`` or
``T_s``, the difference ``x`` of its value and ``v`` satisfies ``|x| <= P_a |x| + delta``;
subtracting this from the inequality for ``e`` gives ``e - |x| >= P_a (e - |x|)``, and
iterating along a play that stops gives ``e - |x| >= 0``.  With ``e0 = 0`` this is the
interval ``v +- (d / c) w`` with ``d = max delta``; an ``e0`` that adds up the errors along
the plays makes it sharper.

Two sides.  Where some plays never end because both players wait, no ``w`` serves
all options.  Then the witnesses come in pairs.  On side 0 the player to move (on a
network with MIN nodes: the maximiser) keeps to the policy and the other one is
free; on side 1 it is the other way round; a `pass_to` edge leads to the other side.
The same argument, for the options that each side allows, gives ``V* >= V_0 >= v - e_0``
and ``V* <= V_1 <= v + e_1``: two best responses.

Rounding.  With ``k`` edges at a node, ``m = sum p (|r| + |v|)`` and ``s`` the float sum of the
probabilities, ``rho_v = (2 k + 8) 2^-52 (|v| + m) + |1 - s| m`` bounds what float arithmetic
can add to one backup.  The first term covers the sums, and probabilities, rewards and
a discount that were rounded once or twice themselves; the second covers float rows
that mean the rationals ``p / s``.  ``rho_w`` and ``rho_e`` are the same without rewards.
Everything is written so that NaN fails.
"""

from __future__ import annotations

import attrs
import numpy as np

from mdpdice.network import Bools, Floats, Ints, Kind, Network

__all__ = ["Enclosure", "check_infinite", "edge_values", "enclose", "operator"]

ULP = 2.0**-52


@attrs.frozen(eq=False)
class Enclosure:
    """What was proved of a candidate.

    Parameters
    ----------
    below, above : ndarray of float64, the shape of the value
        The optimal value lies in ``[value - below, value + above]`` and the value of
        the policy is at least ``value - below``, in payoff units; inf where nothing
        was proved.
    reason : str
        Why nothing was proved, empty otherwise.
    """

    below: Floats
    above: Floats
    reason: str = ""


def edge_values(network: Network, after_decision: Floats, after_chance: Floats) -> Floats:
    """Value of every edge, when `after_decision` holds for edges of decisions and `after_chance` for the others."""
    factor = np.where(network.step, float(network.discount), 1.0) * network.sign
    ahead = np.where(network.decides[network.source], after_decision[network.dst], after_chance[network.dst])
    return network.reward + factor * ahead


def operator(network: Network, edges: Floats, policy: Ints | None = None) -> Floats:
    """One backup of every node from the values of its edges; ends keep their payoff."""
    if network.n_edges == 0:
        return network.payoff.copy()
    # reduceat needs no empty rows: ends are written over afterwards.
    padded, starts = np.append(edges, 0.0), network.indptr[:-1]
    mean = np.add.reduceat(np.append(edges * network.weight, 0.0), starts)
    result = np.where(network.kind == Kind.CHANCE, mean, network.payoff)
    if policy is not None:
        chosen = network.decides & (policy >= 0)
        result[chosen] = edges[policy[chosen]]
        return result
    largest, smallest = np.maximum.reduceat(padded, starts), np.minimum.reduceat(padded, starts)
    result = np.where(network.kind == Kind.MAX, largest, result)
    return np.where(network.kind == Kind.MIN, smallest, result)


def _ahead(network: Network, edges: Floats, usable: Bools | None) -> Floats:
    """Mean (chance) or largest (usable edges of a decision) of edge values that are not negative; 0 at ends."""
    if network.n_edges == 0:
        return np.zeros(network.n_nodes)
    starts = network.indptr[:-1]
    mean = np.add.reduceat(np.append(edges * network.weight, 0.0), starts)
    taken = edges if usable is None else np.where(usable, edges, 0.0)
    largest = np.maximum.reduceat(np.append(taken, 0.0), starts)
    return np.where(network.kind == Kind.CHANCE, mean, np.where(network.kind == Kind.END, 0.0, largest))


def _rounding(network: Network, here: Floats, ahead: Floats) -> Floats:
    """The rho of the module's text, from the value here and the sum of the magnitudes ahead."""
    chance = network.kind == Kind.CHANCE
    size = np.where(chance, np.diff(network.indptr), 1)
    defect = np.zeros(network.n_nodes)
    if network.n_edges:
        total = np.add.reduceat(np.append(network.weight, 0.0), network.indptr[:-1])
        # This sum rounds too, by less than one unit per entry: hence 2 k.
        defect = np.where(chance, np.abs(1.0 - total), 0.0)
    return (2 * size + 8) * ULP * (np.abs(here) + ahead) + defect * ahead


def _excess(network: Network, here: Floats, other: Floats, before: Floats, usable: Bools | None) -> Floats:
    """``x - max_a P_a x - rho`` per node, rounded down, where `other` holds beyond a `pass_to` edge.

    Decisions look at `before`, the stage before (its two rows are this side and the other).
    """
    factor = np.where(network.step, float(network.discount), 1.0)
    near = np.where(network.decides[network.source], before[0][network.dst], here[network.dst])
    far = np.where(network.decides[network.source], before[1][network.dst], other[network.dst])
    ahead = _ahead(network, factor * np.where(network.sign > 0, near, far), usable)
    return here - ahead - _rounding(network, here, ahead)


def enclose(network: Network, value: Floats, policy: Ints, w: Floats, e0: Floats) -> Enclosure:
    """Interval round a claimed value that contains the optimal value and the value of the policy.

    Parameters
    ----------
    network : Network
        The canonical problem.
    value, policy : ndarray, shape (N,) or (horizon + 1, N)
        The claims; with a horizon, row k is the stage with k decisions left.
    w, e0 : ndarray of float64, shape (sides,) + the shape of the value
        The witnesses, for 1 side (all options) or for 2.
    """
    nothing = np.full(value.shape, np.inf)
    flat = network.horizon is None
    sides = len(w)
    if w.shape != (sides, *value.shape) or e0.shape != w.shape or sides not in (1, 2) or network.total != 0:
        return Enclosure(nothing, nothing, "the witnesses do not fit the network")
    if not ((w >= 0).all() and (e0 >= 0).all() and np.isfinite(w).all() and np.isfinite(e0).all()):
        return Enclosure(nothing, nothing, "the witnesses are not finite and non-negative")
    if flat:
        value, policy = value[None], policy[None]
        w, e0 = w[:, None], e0[:, None]
    delta, slack, margin = np.zeros(w.shape), np.zeros(w.shape), np.inf
    for k in range(len(value)):
        before = k if flat else max(k - 1, 0)
        # Ends, and decisions with none left, are known; the theorem starts from them.
        known = (network.kind == Kind.END) | (network.decides & (not flat and k == 0))
        truth = np.where(network.kind == Kind.END, network.payoff, 0.0)
        if not (value[k][known] == truth[known]).all() or w[:, k, known].any() or e0[:, k, known].any():
            return Enclosure(nothing, nothing, "an end does not have the value of its payoff")
        edges = edge_values(network, value[before], value[k])
        off = np.abs(operator(network, edges) - value[k])
        off_policy = np.abs(operator(network, edges, policy[k]) - value[k])
        ahead = _ahead(network, np.abs(network.reward) + np.abs(edges - network.reward), None)
        rho = _rounding(network, value[k], ahead)
        for side in range(sides):
            fixed = network.decides & ((network.kind == Kind.MAX) == (side == 0))
            usable = None
            error = np.maximum(off, off_policy)
            if sides == 2:
                usable = ~fixed[network.source]
                usable[policy[k][fixed & (policy[k] >= 0)]] = True
                error = np.where(fixed, off_policy, off)
            delta[side, k] = np.where(known, 0.0, error + rho)
            pair = [side, (side + 1) % sides]
            slack[side, k] = np.where(
                known, 0.0, _excess(network, e0[side, k], e0[pair[1], k], e0[pair, before], usable)
            )
            free = _excess(network, w[side, k], w[pair[1], k], w[pair, before], usable)[~known]
            margin = min(margin, float(free.min(initial=np.inf)))
    if not margin > 0:
        return Enclosure(nothing, nothing, "no bound on the length of plays: some play may never end")
    needed = float((delta - slack).max(initial=0.0))
    if not np.isfinite(needed):
        return Enclosure(nothing, nothing, "the residual is not finite")
    radius = (e0 + (needed / margin) * w) * (1 + 8 * ULP)
    if flat:
        radius = radius[:, 0]
    return Enclosure(radius[0], radius[-1])


def check_infinite(network: Network, infinite: Bools, policy: Ints) -> bool:
    """Verify that exactly the nodes marked in `infinite` have the value +inf for one player, undiscounted.

    Under `policy` no play from a marked node
    leaves a set in which every node can reach a positive reward and none meets a
    negative one, or it has a chance to get there; and no unmarked node can get to a
    marked one.
    """
    source, dst = network.source, network.dst
    taken = ~network.decides[source]
    taken[policy[network.decides & (policy >= 0)]] = True
    taken &= infinite[source]
    # The largest set that the policy never leaves: throw out nodes until nothing changes.
    trapped = infinite.copy()
    while True:
        out = taken & trapped[source] & ~trapped[dst]
        if not out.any():
            break
        trapped[source[out]] = False
    inner = taken & trapped[source]
    paid = np.zeros(network.n_nodes, dtype=bool)
    paid[source[inner & (network.reward > 0)]] = True
    good = bool((network.reward[inner] >= 0).all()) and _all_reach(source[inner], dst[inner], trapped, paid)
    return (
        good
        and _all_reach(source[taken], dst[taken], infinite, trapped)
        and not (infinite[dst] & ~infinite[source]).any()
    )


def _all_reach(source: Ints, dst: Ints, nodes: Bools, goal: Bools) -> bool:
    """Whether every marked node reaches a goal along the given edges."""
    reached = goal.copy()
    while True:
        more = reached[dst] & ~reached[source]
        if not more.any():
            return bool(reached[nodes].all())
        reached[source[more]] = True
