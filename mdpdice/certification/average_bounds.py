"""Gains and biases that prove an average: what a bias is off by, made up for where nothing is counted.

`mdpdice.certification.checking.average` verifies them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mdpdice.certification.checking.average import Claim, ahead, verify
from mdpdice.networks.arrays import ULP
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network

PADDINGS = 60
"""How often what makes up for rounding is doubled at most."""
WAITS = 100_000
"""Sweeps after which it is given up to find out how long plays wait until they are counted."""


def bound(
    network: Network, counted: Bools, component: Ints, rank: Ints, policy: Ints, bias: Floats, check: Callable[[], None]
) -> tuple[Floats, Floats, str]:
    """Return the least and the most that is proved of the gain of every component, and why there is no proof.

    See `mdpdice.certification.checking.average.verify`.
    """
    count = int(component.max(initial=-1)) + 1
    nothing = np.full(count, np.inf)
    follows = network.kind[network.source] == Kind.CHANCE
    follows[policy[network.decides]] = True
    inside = component[network.source] == component[network.dst]
    found: list[Claim] = []
    wait = _wait(network, counted, inside, check)
    for sign, edges in ((1.0, inside), (-1.0, inside & follows)):
        claim = None if wait is None else _claim(network, counted, component, edges, bias, wait, sign)
        if claim is None:
            return -nothing, nothing, "floats cannot tell what is gained between counted visits"
        found.append(claim)
    reason = verify(network, counted, component, rank, policy, *found)
    return (-nothing, nothing, reason) if reason else (found[1][0], found[0][0], "")


def _claim(
    network: Network, counted: Bools, component: Ints, edges: Bools, bias: Floats, wait: Floats, sign: float
) -> Claim | None:
    """Return gains and a bias that the inequalities hold for."""
    between = (component >= 0) & ~counted
    beyond = ahead(network, edges, bias, sign)
    error = float(beyond[between].max(initial=0.0))
    pad = max(2 * error, 4 * ULP * float(np.abs(bias).max(initial=0.0))) if error > 0 else 0.0
    for _ in range(PADDINGS):
        moved = bias + sign * pad * wait
        beyond = ahead(network, edges, moved, sign) if pad else beyond
        if (beyond[between] <= 0).all():
            gain = np.full(int(component.max(initial=-1)) + 1, -np.inf)
            visited = (component >= 0) & counted
            np.maximum.at(gain, component[visited], beyond[visited])
            return sign * gain, moved
        pad *= 2
    return None


def _wait(network: Network, counted: Bools, inside: Bools, check: Callable[[], None]) -> Floats | None:
    """Return ``w >= 1 + P w`` at nodes where nothing is counted, 0 elsewhere, or None."""
    chance, source, dst = network.kind == Kind.CHANCE, network.source, network.dst
    wait = np.zeros(network.n_nodes)
    open_ = inside & ~counted[source]
    means, options = open_ & chance[source], open_ & ~chance[source]
    waiting = np.zeros(network.n_nodes, dtype=bool)
    waiting[source[open_]] = True
    for _ in range(WAITS):
        check()
        after = np.bincount(source[means], network.weight[means] * wait[dst[means]], network.n_nodes).astype(float)
        np.maximum.at(after, source[options], wait[dst[options]])
        after[waiting] += 1.0
        if (after - wait).max(initial=0.0) <= 0.5:
            # Then twice as much is enough.
            return 2 * wait
        wait = after
    return None
