"""What two networks have in common that are the same problem: the hash of their canonical arrays.

Names of states and actions are not part of it, nor is what was repaired while a network was made.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from mdpdice.archives import exact_text

if TYPE_CHECKING:
    from mdpdice.networks.network import Network

CANONICAL = ("kind", "indptr", "dst", "weight", "reward", "sign", "step", "payoff")
"""The arrays, without the exact numbers beside them."""


def network_digest(net: Network) -> str:
    """SHA-256 of the canonical arrays of a network: see `Network.digest`."""
    hasher = hashlib.sha256(f"mdpdice-network-1 {net.start} {net.discount} {net.horizon} {net.total}".encode())
    for name in CANONICAL:
        array = getattr(net, name)
        hasher.update(f"{array.dtype.str}{array.shape}".encode())
        hasher.update(np.ascontiguousarray(array).tobytes())
    for exact in (net.exact_rewards, net.exact_payoffs):
        hasher.update(";".join(f"{at}:{exact_text(exact[at])}" for at in sorted(exact)).encode() + b"|")
    if net.numerator.dtype == object:
        hasher.update(",".join(map(exact_text, net.numerator.tolist())).encode())
    elif net.numerator.dtype.kind == "f" and not np.array_equal(net.numerator, net.weight):
        hasher.update(net.numerator.tobytes())
    elif net.numerator.dtype.kind in "iu" and net.numerator.max(initial=0) >= 1 << 26:
        # Smaller numbers are told apart by their quotients, the weights.
        hasher.update(net.numerator.tobytes())
    return hasher.hexdigest()
