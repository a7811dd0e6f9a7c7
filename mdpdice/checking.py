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

from mdpdice.errors import PluginError
from mdpdice.network import Bools, Floats, Ints, Kind, Network

__all__ = ["Enclosure", "check_candidate", "check_infinite", "enclose", "edge_values", "operator", "within"]

ULP = 2.0**-52


@attrs.frozen(eq=False)
class Enclosure:
    """What was proved of a candidate.

    Parameters
    ----------
    radius : ndarray of float64, the shape of the value
        Half width of the interval round the claimed value, in payoff units;
        inf where nothing was proved.
    reason : str
        Why nothing was proved, empty otherwise.
    """

    radius: Floats
    reason: str = ""


def check_candidate(network: Network, value: Floats, policy: Ints, name: str) -> None:
    """Refuse an answer that is not one: wrong shape, NaN, or edges of other nodes.

    Raises
    ------
    PluginError
        The message says what is wrong.
    """
    shape = (network.n_nodes,) if network.horizon is None else (network.horizon + 1, network.n_nodes)
    problem = ""
    if not isinstance(value, np.ndarray) or value.shape != shape or value.dtype != np.float64:
        problem = f"its value is not a float64 array of shape {shape}"
    elif not isinstance(policy, np.ndarray) or policy.shape != shape or policy.dtype != np.int64:
        problem = f"its policy is not an int64 array of shape {shape}"
    elif not np.isfinite(value).all():
        node = int(np.argwhere(~np.isfinite(value))[0][-1])
        problem = f"its value of {network.describe(node)!r} is {value[..., node].ravel()[0]}"
    else:
        rows = policy if network.horizon is None else policy[1:]
        first, last = network.indptr[:-1], network.indptr[1:]
        wrong = network.decides & ~((first <= rows) & (rows < last))
        if wrong.any():
            node = int(np.argwhere(wrong)[0][-1])
            problem = f"its policy takes no edge of the decision {network.describe(node)!r}"
    if problem:
        msg = f"solver {name!r} gave an answer that is none: {problem}"
        raise PluginError(msg, name=name, phase="answer")


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


def _ahead(network: Network, after_decision: Floats, after_chance: Floats, reward: Floats) -> Floats:
    """Largest ``sum p (reward + discount^step x)`` over the options of every node, for ``x >= 0``; 0 at ends."""
    if network.n_edges == 0:
        return np.zeros(network.n_nodes)
    factor = np.where(network.step, float(network.discount), 1.0)
    ahead = np.where(network.decides[network.source], after_decision[network.dst], after_chance[network.dst])
    edges = reward + factor * ahead
    starts = network.indptr[:-1]
    mean = np.add.reduceat(np.append(edges * network.weight, 0.0), starts)
    largest = np.maximum.reduceat(np.append(edges, 0.0), starts)
    result = np.where(network.kind == Kind.CHANCE, mean, largest)
    return np.where(network.kind == Kind.END, 0.0, result)


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


def _excess(network: Network, x: Floats, after_decision: Floats) -> Floats:
    """``x - max_a P_a x - rho``, per node, rounded down."""
    ahead = _ahead(network, after_decision, x, np.zeros(network.n_edges))
    return x - ahead - _rounding(network, x, ahead)


def enclose(network: Network, value: Floats, policy: Ints, w: Floats, e0: Floats) -> Enclosure:
    """Radius round a claimed value that contains the optimal value and the value of the policy.

    Parameters
    ----------
    network : Network
        The canonical problem.
    value, policy : ndarray, shape (N,) or (horizon + 1, N)
        The claims; with a horizon, row k is the stage with k decisions left.
    w, e0 : ndarray of float64, of that shape
        The witnesses.
    """
    nothing = np.full(value.shape, np.inf)
    if w.shape != value.shape or e0.shape != value.shape or network.total != 0:
        return Enclosure(nothing, "the witnesses do not fit the network")
    stages = [0] if network.horizon is None else list(range(network.horizon + 1))
    rows = [np.atleast_2d(array) for array in (value, w, e0)]
    chosen = np.atleast_2d(policy)
    delta, slack, margin = np.zeros(rows[0].shape), np.zeros(rows[0].shape), np.inf
    for k in stages:
        v, w_k, e_k = (array[k] for array in rows)
        flat = network.horizon is None
        before = [array[k if flat else max(k - 1, 0)] for array in rows]
        # Ends, and decisions with none left, are known; the theorem starts from them.
        known = network.kind == Kind.END
        if not flat and k == 0:
            known = known | network.decides
        truth = np.where(network.kind == Kind.END, network.payoff, 0.0)
        if not (v[known] == truth[known]).all() or w_k[known].any() or e_k[known].any():
            return Enclosure(nothing, "an end does not have the value of its payoff")
        if not ((w_k >= 0).all() and (e_k >= 0).all() and np.isfinite(w_k).all() and np.isfinite(e_k).all()):
            return Enclosure(nothing, "the witnesses are not finite and non-negative")
        edges = edge_values(network, before[0], v)
        off = np.abs(operator(network, edges) - v)
        off_policy = np.abs(operator(network, edges, chosen[k]) - v)
        ahead = _ahead(network, np.abs(before[0]), np.abs(v), np.abs(network.reward))
        rho = _rounding(network, v, ahead)
        delta[k] = np.where(known, 0.0, np.maximum(off, off_policy) + rho)
        slack[k] = np.where(known, 0.0, _excess(network, e_k, before[2]))
        free = _excess(network, w_k, before[1])[~known]
        margin = min(margin, float(free.min()) if len(free) else np.inf)
    if not margin > 0:
        return Enclosure(nothing, "no bound on the length of plays: some play may never end")
    k_needed = float((delta - slack).max(initial=0.0))
    if not np.isfinite(k_needed):
        return Enclosure(nothing, "the residual is not finite")
    radius = (rows[2] + (k_needed / margin) * rows[1]) * (1 + 8 * ULP)
    return Enclosure(radius.reshape(value.shape))


def check_infinite(network: Network, infinite: Bools, policy: Ints) -> bool:
    """Verify that exactly the nodes marked in `infinite` have the value +inf, by graph look-ups.

    One player maximises, undiscounted.  Under `policy` no play from a marked node
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
    return good and _all_reach(source[taken], dst[taken], infinite, trapped) and not (
        infinite[dst] & ~infinite[source]
    ).any()


def _all_reach(source: Ints, dst: Ints, nodes: Bools, goal: Bools) -> bool:
    """Whether every marked node reaches a goal along the given edges."""
    reached = goal.copy()
    while True:
        more = reached[dst] & ~reached[source]
        if not more.any():
            return bool(reached[nodes].all())
        reached[source[more]] = True


def within(value: Floats, radius: Floats, epsilon: float) -> bool:
    """Whether every interval is narrow: its width at most ``epsilon * max(1, |value|)``."""
    return bool((2 * radius <= epsilon * np.maximum(1.0, np.abs(value))).all())
