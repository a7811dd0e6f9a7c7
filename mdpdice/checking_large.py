"""The certificate of large problems: the inequalities of `mdpdice.checking`, verified without a copy of the problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdpdice.checking import Witness
from mdpdice.network import Floats, Ints, Network

__all__ = ["verify_large"]


def verify_large(problem: Network, policy: Ints, bounds: Floats, witness: Witness) -> str:
    """Verify that ``-bounds[:N] <= V_s <= V* <= bounds[N:]``, as `mdpdice.checking.verify` does.

    Parameters
    ----------
    problem : Network
        The canonical problem, without a horizon.
    policy : ndarray of int64, shape (N,)
        The claimed policy.
    bounds : ndarray of float64, shape (2 N,)
        The claimed bounds.
    witness : Witness
        Without groups, and with ranks that show that every play ends, where there is no discount.

    Returns
    -------
    str
        Empty if the claims hold, else what does not.
    """
    from mdpdice import checking_kernels

    n = problem.n_nodes
    if bounds.shape != (2 * n,) or witness.rank.shape != (2 * n,) or policy.shape != (n,):
        return "the witnesses do not fit the problem"
    if problem.total != 0 or problem.horizon is not None or (witness.group >= 0).any():
        return "the witnesses do not fit the problem"
    if not np.isfinite(bounds).all():
        return "the bounds are not finite"
    found = checking_kernels.holds(
        problem.kind,
        _read(problem.indptr).view(np.uint64),
        _read(problem.dst).view(np.uint64),
        problem.weight,
        problem.reward,
        problem.sign,
        problem.step,
        float(problem.discount),
        problem.payoff,
        _read(problem.payoff_room),
        _read(policy),
        _read(bounds),
        _read(witness.rank),
        problem.discount == 1,
    )
    if found == checking_kernels.BOUNDS:
        return "the bounds do not contain what one move ahead is worth"
    return "some play may never end" if found == checking_kernels.ENDLESS else ""


def _read(array: NDArray[Any]) -> NDArray[Any]:
    """A contiguous, read-only view: numba compiles for each kind of array anew."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
