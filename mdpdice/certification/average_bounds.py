"""Gains and biases that prove an average: what a bias is off by, made up for where nothing is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mdpdice.certification.checking.average import ahead, verify
from mdpdice.networks.arrays import ULP
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network

PADDINGS, WAITS = 60, 100_000
"""How often what makes up for rounding is doubled at most, and how many sweeps find out how long plays wait."""


def bound(staying: Any, policy: Ints, bias: Floats, check: Callable[[], None]) -> tuple[Floats, Floats, str]:
    """Return the least and the most that is proved of the gains of a `Staying`, and why there is no proof."""
    net, counted, component = staying.network, staying.counted, staying.component
    nothing, claims = np.full(staying.count, np.inf), []
    follows = net.kind[net.source] == Kind.CHANCE
    follows[policy[net.decides]] = True
    wait = _wait(net, counted, staying.rank, check)
    between, visited = (component >= 0) & ~counted, (component >= 0) & counted
    for sign, edges in ((1.0, np.ones(net.n_edges, dtype=bool)), (-1.0, follows)):
        pad, moved = 2 * ULP * float(np.abs(bias).max()), bias
        for _ in range(PADDINGS):
            beyond = ahead(net, edges, moved, sign)
            if (beyond[between] <= 0).all():
                break
            pad = 2 * max(pad, float(beyond[between].max()))
            moved = bias + sign * pad * wait
        gain = np.full(staying.count, -np.inf)
        np.maximum.at(gain, component[visited], beyond[visited])
        claims.append((sign * gain, moved))
    reason = verify(net, counted, component, staying.rank, policy, claims)
    return (-nothing, nothing, reason) if reason else (claims[1][0], claims[0][0], "")


def _wait(net: Network, counted: Bools, rank: Ints, check: Callable[[], None]) -> Floats:
    """Return ``w >= 1 + P w`` at nodes where nothing is counted, 0 elsewhere."""
    chance, source, dst = net.kind == Kind.CHANCE, net.source, net.dst
    means, options = ~counted[source] & chance[source], ~counted[source] & ~chance[source]
    wait, moves = rank.astype(np.float64), ~counted & (net.kind != Kind.END)
    for _ in range(WAITS):
        check()
        after = moves + np.bincount(source[means], net.weight[means] * wait[dst[means]], minlength=net.n_nodes)
        np.maximum.at(after, source[options], 1 + wait[dst[options]])
        if (after - wait).max(initial=0.0) <= 0.5:
            break
        wait = after
    return 2 * wait  # which is enough where one sweep adds at most 1/2
