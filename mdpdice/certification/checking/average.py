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

from mdpdice.certification.checking.kernels.average import look_ahead, look_over
from mdpdice.networks.network import Bools, Floats, Ints, Network


def verify(network: Network, counted: Bools, component: Ints, rank: Ints, policy: Ints, claims: Any) -> str:
    """Verify the most that plays which stay in a component can have on average, and the least that a policy has there.

    Both are claimed by a gain of every component and a bias of every node, which has component -1 if it is in none.
    Return "" if they hold, else what does not.
    """
    rows = network.kind, network.indptr.view(np.uint64), network.dst.view(np.uint64)
    if not look_over(*rows, component, counted, rank, policy):
        return "play does not stay in the components, or may never be counted again"
    member = component >= 0
    for (gain, bias), sign in zip(claims, (1.0, -1.0), strict=True):
        if not (np.isfinite(gain).all() and np.isfinite(bias).all()):
            return "the gains are not finite"
        beyond = ahead(network, component, policy, bias, sign)
        if not (beyond <= np.where(counted, sign * gain[component], 0.0))[member].all():
            return "the gains do not contain what one move is worth"
    return ""


def ahead(network: Network, component: Ints, policy: Ints, bias: Floats, sign: float) -> Floats:
    """Return at least what ``sign`` times ``r + P h - h`` is, rounding included, for the best move inside a component.

    With sign -1 for the move of the policy.  Nodes without such a move have minus infinity.
    """
    rows = network.kind, network.indptr.view(np.uint64), network.dst.view(np.uint64), network.weight, network.reward
    result = np.full(network.n_nodes, -np.inf)
    look_ahead(*rows, component, policy, bias, sign, result)
    return result
