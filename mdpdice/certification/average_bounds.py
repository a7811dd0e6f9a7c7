"""Gains and biases that prove an average: what a bias is off by, made up for where nothing is counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mdpdice.certification.checking.average import ahead, verify
from mdpdice.certification.checking.kernels.average import look_ahead
from mdpdice.networks.arrays import ULP
from mdpdice.networks.network import Floats, Ints

PADDINGS, WAITS = 60, 100_000
"""How often what makes up for rounding is doubled at most, and how many sweeps find out how long plays wait."""


def bound(staying: Any, policy: Ints, bias: Floats, check: Callable[[], None]) -> tuple[Floats, Floats, str]:
    """Return the least and the most that is proved of the gains of a `Staying`, and why there is no proof."""
    net, counted, component = staying.network, staying.counted, staying.component
    nothing, claims = np.full(staying.count, np.inf), []
    wait = _wait(staying, policy, check)
    between, visited = (component >= 0) & ~counted, (component >= 0) & counted
    for sign in (1.0, -1.0):
        pad = 2 * ULP * float(np.abs(bias).max())
        for _ in range(PADDINGS):
            moved = bias + sign * pad * wait
            beyond = ahead(net, component, policy, moved, sign)
            if (beyond[between] <= 0).all():
                break
            pad = 2 * max(pad, float(beyond[between].max()))
        gain = np.full(staying.count, -np.inf)
        np.maximum.at(gain, component[visited], beyond[visited])
        claims.append((sign * gain, moved))
    reason = verify(net, counted, component, staying.rank, policy, claims)
    return (-nothing, nothing, reason) if reason else (claims[1][0], claims[0][0], "")


def _wait(staying: Any, policy: Ints, check: Callable[[], None]) -> Floats:
    """Return ``w >= 1 + P w`` at nodes where nothing is counted, 0 elsewhere."""
    net, component = staying.network, staying.component
    rows = net.kind, net.indptr.view(np.uint64), net.dst.view(np.uint64), net.weight, np.zeros(net.n_edges)
    wait: Floats = staying.rank.astype(np.float64)
    between = ~staying.counted & (component >= 0)
    for _ in range(WAITS):
        check()
        more = np.full(net.n_nodes, -np.inf)
        look_ahead(*rows, component, policy, wait, 1.0, more)
        more = np.where(between, 1 + more, 0)
        if more.max(initial=0.0) <= 0.5:
            break
        wait = wait + more
    return 2 * wait  # which is enough where one sweep adds at most 1/2
