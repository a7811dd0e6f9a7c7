# Passages of this text are replaced by tests/certification/checking/test_average_mutated.py: change both together.
"""The certificate of averages: a gain of every end component, and a bias of every node.

Let visits of some nodes be counted, ``c = 1`` there and 0 elsewhere.  If

    g c + h >= r + P h    for every option that stays in a component, and every chance node of it,

and plays that stay come to a counted node again in a bounded mean time, whatever is done, then no play that stays there
has a larger average per counted visit than `g`: until the `n`-th it is paid ``n g`` at most, and differences of `h`.
With ``<=`` along the edges of a policy that stays, its plays have at least `g`.  The time is bounded if a rank falls
along every option, and some edge of every chance node, that is not counted, or such an edge comes to a counted node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mdpdice.certification.checking.kernels.average import look_ahead
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network


def verify(network: Network, counted: Bools, component: Ints, rank: Ints, policy: Ints, claims: Any) -> str:
    """Verify the most that plays which stay in a component can have on average, and the least that a policy has there.

    Both are claimed by a gain of every component and a bias of every node, which has component -1 if it is in none.
    Return "" if they hold, else what does not.
    """
    source, dst, chance = network.source, network.dst, network.kind == Kind.CHANCE
    member = component >= 0
    inside = member[source] & (component[source] == component[dst])
    own = (network.indptr[:-1] <= policy) & (policy < network.indptr[1:])
    follows = np.zeros(network.n_edges, dtype=bool)
    follows[policy[own & network.decides]] = True
    follows = inside & (follows | chance[source])
    stays = np.zeros(network.n_nodes, dtype=bool)
    stays[source[follows]] = True
    if not stays[member].all() or (chance & member)[source[~inside]].any():
        return "play does not stay in the components"
    nearer = counted[dst] | (rank[dst] < rank[source])
    comes = np.zeros(network.n_nodes, dtype=bool)
    comes[source[inside & nearer]] = True
    comes[source[inside & ~nearer & ~chance[source]]] = False
    if not (comes | counted)[member].all():
        return "some play may never be counted again"
    for (gain, bias), edges, sign in zip(claims, (inside, follows), (1.0, -1.0), strict=True):
        if not (np.isfinite(gain).all() and np.isfinite(bias).all()):
            return "the gains are not finite"
        beyond = ahead(network, edges, bias, sign)
        if not (beyond <= np.where(counted, sign * gain[component], 0.0))[member].all():
            return "the gains do not contain what one move is worth"
    return ""


def ahead(network: Network, edges: Bools, bias: Floats, sign: float) -> Floats:
    """Return at least what ``sign`` times ``r + P h - h`` is, rounding included, for the best of some edges of a node.

    Nodes without such edges have minus infinity.
    """
    rows = network.kind, network.indptr.view(np.uint64), network.dst.view(np.uint64), network.weight, network.reward
    result = np.full(network.n_nodes, -np.inf)
    look_ahead(*rows, edges, bias, sign, result)
    return result
