"""The Bellman operator of a network, as arrays that the kernels read.

With ``coef = weight * sign * discount**step`` and ``gain = weight * reward`` on
every edge, the value of a decision is the best of ``gain + coef * v[dst]`` over
its edges, and the value of a chance node is their sum.
"""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.networks.arrays import read_only, read_only_ints
from mdpdice.networks.network import Floats, Ints, Kind, Network
from mdpdice.numerics.kernels import bellman as kernels


@attrs.frozen(eq=False)
class Operator:
    """Arrays of one Bellman operator; see the module for their meaning."""

    kind: NDArray[np.uint8]  # shape (N,)
    indptr: NDArray[np.uint64]  # shape (N + 1,), unsigned for the kernels
    dst: NDArray[np.uint64]  # shape (E,)
    gain: Floats  # shape (E,)
    coef: Floats  # shape (E,)
    base: Floats  # shape (N,): payoff of END nodes and sum of the gains of chance nodes, 0 at decisions

    @cached_property
    def rows(self) -> kernels.Rows:
        """The arrays as kernels take them: read-only, since these are compiled for one type."""
        return kernels.Rows(*map(read_only, attrs.astuple(self, recurse=False)))

    def plays(self) -> Operator:
        """Return the operator whose fixed point is the longest expected play, counted in nodes before the end.

        All players play for time: ``w(i)`` is 0 at an end, else 1 plus the largest (decision) or mean (chance)
        ``|coef| w``, so that ``w - P w >= 1`` for every policy; bounds are made of this ``w``.
        """
        moves = self.indptr[1:] > self.indptr[:-1]
        kind = np.where(self.kind == Kind.MIN, np.uint8(Kind.MAX), self.kind)
        base = (moves & (self.kind == Kind.CHANCE)).astype(np.float64)
        ones = np.ones(len(self.dst))
        coef = np.abs(self.coef) if self.coef.min(initial=0.0) < 0 else self.coef
        return Operator(kind, self.indptr, self.dst, ones, coef, base)


def bellman(problem: Network) -> Operator:
    """Return the Bellman operator of a canonical problem (`total` 0, its horizon left to the caller)."""
    coef = problem.weight * problem.sign
    if problem.discount != 1:
        coef[problem.step] *= problem.factor
    gain = problem.weight * problem.reward
    chance = problem.kind == Kind.CHANCE
    base = np.where(problem.kind == Kind.END, problem.payoff, 0.0)
    if chance.any():
        base[chance] = np.add.reduceat(np.append(gain, 0.0), problem.indptr[:-1])[chance]
    indptr, dst = problem.indptr.view(np.uint64), problem.dst.view(np.uint64)
    return Operator(problem.kind, indptr, dst, gain, coef, base)


def bellman_in_order(problem: Network, order: Ints) -> Operator:
    """Renumber the operator, node ``k`` being ``order[k]``: sweeps then read memory in one direction."""
    n, m = problem.n_nodes, problem.n_edges
    place = np.empty(n, dtype=np.uint64)
    place[order] = np.arange(n, dtype=np.uint64)
    indptr, dst, base = np.zeros(n + 1, dtype=np.uint64), np.empty(m, dtype=np.uint64), np.zeros(n)
    gain, coef = np.empty(m), np.empty(m)
    kernels.write_in_order(
        rows_of(problem), problem.payoff, unsigned(order), read_only(place), indptr, dst, gain, coef, base
    )
    return Operator(problem.kind[order], indptr, dst, gain, coef, base)


def rows_of(problem: Network) -> kernels.Problem:
    """Return the arrays of a problem as kernels take them."""
    rows = problem.kind, unsigned(problem.indptr), unsigned(problem.dst)
    return kernels.Problem(*rows, problem.weight, problem.reward, problem.sign, problem.step, problem.factor)


def unsigned(nodes: Ints) -> NDArray[np.uint64]:
    """Return node numbers as the kernels take them."""
    return read_only_ints(nodes).view(np.uint64)
