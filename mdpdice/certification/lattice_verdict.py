"""The verdict on an answer of a lattice: how wide its intervals are, by layer, and whether that suffices."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from mdpdice.certification.checking.lattice import Claim, verify_lattice
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.networks.network import Floats


@attrs.frozen(eq=False)
class LatticeVerdict:
    """What was proved of the stored values of a lattice."""

    widths: Floats  # of every layer, how far optimal value and value of the policy may be from the stored values
    width: float  # largest (upper - lower) / max(1, |value|)
    reason: str  # why the answer is not certified, else empty


def certify_lattice(layers: Layers, stored: Floats, epsilon: float, *more: Any) -> LatticeVerdict:
    """Verify the stored values of a lattice, of shape (entries, points of the grid), NaN where play cannot come.

    `epsilon` is the largest relative width of an interval; `more` is for `verify_lattice`: `check`, called between
    layers, which may raise to give up, `found` and `share`.
    """
    ranks = layers.ranks
    claim = Claim(layers.program.entries, stored, ranks.layer, ranks.inner)
    widths = verify_lattice(layers.lattice, claim, *more)
    both = widths.optimal + widths.policy
    width = 0.0
    for layer in layers.layers:
        # The smallest value decides; all but a few are larger than 1, or all are smaller.
        here = np.abs(stored[:, layer.points][layers.reached[:, layer.points]])
        width = max(width, float(both[layer.number]) / max(1.0, float(here.min(initial=np.inf))))
    reason = widths.reason
    if not reason and not width <= epsilon:
        reason = f"the intervals have relative width {width:.3g}, more than {epsilon:.3g}"
    return LatticeVerdict(np.maximum(widths.optimal, widths.policy), width, reason)
