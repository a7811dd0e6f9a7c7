"""Drawing edges of many nodes at once, each with its probability."""

from __future__ import annotations

import attrs
import numpy as np

from mdpdice.networks.arrays import Floats, Ints


@attrs.frozen(eq=False)
class Sampler:
    """The edges of some nodes, ready to be drawn by a guided search in cumulative probabilities.

    With ``k`` edges at a node, a number in ``[j/k, (j+1)/k)`` is looked for from the edge ``guide[first + j]`` on; on
    average that is at most one edge too early (H.-C. Chen and Y. Asau, "On generating random variates from an
    empirical distribution", AIIE Transactions 6 (1974) 163-166).
    """

    indptr: Ints  # shape (N + 1,): start of the edges of every node
    degree: Floats  # shape (N,)
    below: Floats  # shape (E,): probability of an edge and those before it at its node; 2 at the last one
    guide: Ints  # shape (E,): where to start looking

    @classmethod
    def of(cls, indptr: Ints, weight: Floats) -> Sampler:
        """Make one of the weights of the edges, float64 of shape (E,); they need not sum to one."""
        below, guide = np.empty(len(weight)), np.empty(len(weight), dtype=np.int64)
        degree = np.diff(indptr)
        for size in np.unique(degree[degree > 0]).tolist():
            # Sums are taken node by node: a running sum over all edges would round.
            edges = indptr[:-1][degree == size][:, None] + np.arange(size)
            sums = np.cumsum(weight[edges], axis=1)
            sums /= sums[:, -1:]
            row = np.arange(len(edges))[:, None]
            # All rows in one search; the small number makes up for what adding the row rounds off.
            wanted = row + np.arange(size) / size - 1e-9
            found = np.searchsorted((row + np.minimum(sums, 1.0)).ravel(), wanted.ravel())
            guide[edges] = edges[:, :1] + np.maximum(found.reshape(edges.shape) - row * size, 0)
            sums[:, -1] = 2.0
            below[edges] = sums
        return cls(indptr, degree.astype(np.float64), below, guide)

    def draw(self, node: Ints, number: Floats) -> Ints:
        """Edge of every node whose interval of probabilities holds the number, which is in [0, 1)."""
        edge: Ints = self.guide[self.indptr[node] + (number * self.degree[node]).astype(np.int64)]
        beyond = np.flatnonzero(number >= self.below[edge])
        while len(beyond):
            edge[beyond] += 1
            beyond = beyond[number[beyond] >= self.below[edge[beyond]]]
        return edge
