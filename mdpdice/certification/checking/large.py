# Passages of this text are replaced by tests/certification/checking/test_large_mutated.py: change both together.
"""The certificate of large problems: the inequalities of `mdpdice.certification.checking.inequalities`,
verified without a copy of the problem.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdpdice.certification.checking.inequalities import Witness
from mdpdice.networks.network import Floats, Ints, Network

AT_ONCE = 1 << 20
"""Bounds that are looked at together."""
TWO_THREADS_FROM_EDGES = 2_000_000
"""Edges, of the stages looked at together, from which two threads share the nodes and read bounds ahead."""


def verify_large(problem: Network, policy: Ints, bounds: Floats, witness: Witness) -> str:
    """Verify that ``-bounds[..., :N] <= V_s <= V* <= bounds[..., N:]``, as
    `mdpdice.certification.checking.inequalities.verify` does.

    Parameters
    ----------
    problem : Network
        The canonical problem.
    policy : ndarray of int64, shape (N,) or (horizon + 1, N)
        The claimed policy.
    bounds : ndarray of float64, shape (2 N,) or (horizon + 1, 2 N)
        The claimed bounds; with a horizon, one row per stage.
    witness : Witness
        Without groups, and with ranks that show that every play ends, where there is no discount; with a horizon,
        that every play of chance alone does.

    Returns
    -------
    str
        Empty if the claims hold, else what does not.
    """
    return verify_blocks(problem, [(policy, bounds)], witness)


def verify_blocks(problem: Network, blocks: Iterable[tuple[Ints, Floats]], witness: Witness) -> str:
    """Verify policy and bounds as `verify_large` does, some stages at a time, of which only the last is kept."""
    from mdpdice.certification.checking.kernels import large as kernels

    n = problem.n_nodes
    staged = problem.horizon is not None
    left = problem.horizon + 1 if problem.horizon is not None else 1
    if witness.rank.shape != (2 * n,) or problem.total != 0 or witness.group.max(initial=-1) >= 0:
        return "the witnesses do not fit the problem"
    # What all stages share is made once: they can be a million, of two nodes each.
    nodes = problem.kind, _read(problem.indptr).view(np.uint64), _read(problem.dst).view(np.uint64)
    edges = problem.weight, problem.reward, problem.sign, problem.step, problem.factor
    network = *nodes, *edges, problem.payoff, _read(problem.payoff_room)
    endless = problem.discount == 1
    # Where a discount ends plays, nobody looks at ranks.
    rank = _read(witness.rank if endless else witness.rank[:0])
    at_once = 1 + AT_ONCE // (2 * n)
    before = None
    for policy, bounds in blocks:
        stages = (len(bounds),) if staged else ()
        if bounds.shape != (*stages, 2 * n) or policy.shape != (*stages, n):
            return "the witnesses do not fit the problem"
        rows, choices = _read(np.atleast_2d(bounds)), _read(np.atleast_2d(policy))
        for k in range(0, len(rows), at_once):
            some, first = rows[k : k + at_once], before is None
            if not np.isfinite(some).all():
                return "the bounds are not finite"
            ahead = some[0] if before is None else before
            claims = *network, choices[k : k + at_once], some, ahead, rank, endless and first, staged and first
            if len(some) * problem.n_edges < TWO_THREADS_FROM_EDGES:
                found = kernels.holds(0, n, *claims)
            else:
                cuts = [n * piece // 8 for piece in range(9)]
                with ThreadPoolExecutor(2) as pool:
                    found = next(filter(None, pool.map(kernels.holds_far, cuts[:-1], cuts[1:], repeat(claims))), 0)
            if found == kernels.BOUNDS:
                return "the bounds do not contain what one move ahead is worth"
            if found == kernels.ENDLESS:
                return "some play of chance alone may never end" if staged else "some play may never end"
            if staged:
                # Of its own: whoever makes the blocks may use the memory again.
                before = _read(some[-1].copy())
        left -= len(rows)
    return "the witnesses do not fit the problem" if left else ""


def _read(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous, read-only view: numba compiles again for each kind of array."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view
