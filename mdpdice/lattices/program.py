"""The core of a lattice as a straight-line program over rows of grid points.

At one point of the grid, the core is a network whose edges without an update lead to
nodes at the same point, and whose other edges lead to other points.  The values there
are read from a store, an array with one row per *entry*: a core node that such an edge
enters.  All other nodes are computed again wherever they are needed.

The nodes are put in an order in which successors come first.  A play that comes back
to a core node without touching a counter would be in the way; so some nodes of every
such cycle are made entries, which is to say that their value is read from the store, too.

Every node becomes a row of a table with one column per point.  What an edge adds to
its successor's value (a reward, a change of sides, a guard, another point) becomes a row
of its own, a *term*, which all edges that add the same to the same node share.  Then the
only things left to do for a decision or a chance node are the maximum, the minimum
and the weighted sum of rows, and nothing is looked up or tested in the inner loop.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.lattices.lattice import Lattice
from mdpdice.networks.network import Bools, Floats, Ints, Kind
from mdpdice.numerics import graph

TERM = 4
"""Kind of the rows that are terms, next to those of `Kind`."""

_NEUTRAL = {Kind.MAX: -np.inf, Kind.MIN: np.inf, Kind.CHANCE: 0.0}


@attrs.frozen(eq=False)
class Program:
    """What is computed at every point.

    Parameters
    ----------
    lattice : Lattice
        Whose core this is.
    entries : ndarray of int64, shape (K,)
        Core nodes whose values are stored, the start first.
    order : ndarray of int64, shape (N,)
        Core nodes, successors first.
    stored : ndarray of int64, shape (E,)
        Entry that an edge reads from the store, -1 for edges that stay at the point.
    kind : ndarray of uint8, shape (R,)
        `Kind` of a row, or `TERM`.
    indptr, arg, weight : ndarray
        Rows that a decision or a chance row reads, and their weights (1 in decisions).
    source, entry, update, reward, flip, guard : ndarray of int64, shape (R,)
        What a term is made of: the row or the entry that it reads (the other one is
        -1), where, what it adds, whether the sides change, and the condition; -1 is none.
        For ends, `reward` is the payoff.
    neutral : ndarray of float64, shape (R,)
        What a term is worth where its edge is not there.
    row : ndarray of int64, shape (N,)
        Row of every core node.
    edge_row : ndarray of int64, shape (E,)
        Row that holds what every edge is worth; -1 for edges of probability 0.
    """

    lattice: Lattice
    entries: Ints
    order: Ints
    stored: Ints
    kind: NDArray[np.uint8]
    indptr: Ints
    arg: Ints
    weight: Floats
    source: Ints
    entry: Ints
    update: Ints
    reward: Ints
    flip: Ints
    guard: Ints
    neutral: Floats
    row: Ints
    edge_row: Ints

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.kind)

    @property
    def entry_row(self) -> Ints:
        """Row of every entry."""
        return self.row[self.entries]


Key: TypeAlias = tuple[int, int, int, int, int, int, float]


def compile_program(lattice: Lattice) -> Program:
    """Write the core of a lattice as a program."""
    order, cut = _order(lattice)
    possible = lattice.weight > 0
    leaves = possible & ((lattice.update >= 0) | cut[lattice.dst])
    entries = np.unique(np.concatenate((lattice.dst[leaves], np.flatnonzero(cut))))
    entries = np.concatenate(([lattice.start], entries[entries != lattice.start]))
    number = np.full(lattice.n_nodes, -1)
    number[entries] = np.arange(len(entries))
    stored = np.where(leaves, number[lattice.dst], -1)
    return _written(lattice, entries, order, stored)


def _order(lattice: Lattice) -> tuple[Ints, Bools]:
    """Core nodes in an order with successors first, and the nodes that have to be entries for that."""
    cut = np.zeros(lattice.n_nodes, dtype=bool)
    while True:
        keep = (lattice.update < 0) & (lattice.weight > 0) & ~cut[lattice.dst]
        label, order, ptr = graph.ordered_components(lattice.indptr, lattice.dst, keep)
        cyclic = np.flatnonzero(graph.cyclic_components(lattice.indptr, lattice.dst, label, keep))
        if len(cyclic) == 0:
            return order, cut
        source = np.repeat(np.arange(lattice.n_nodes), np.diff(lattice.indptr))
        inside = keep & (label[source] == label[lattice.dst])
        entering = np.bincount(lattice.dst[inside], minlength=lattice.n_nodes)
        for component in cyclic:
            nodes = order[ptr[component] : ptr[component + 1]]
            # Nodes with a state first: an inline node has one way in, so nothing is saved by storing it.
            cut[nodes[np.lexsort((nodes, -entering[nodes], lattice.node_state[nodes] < 0))[0]]] = True


def _written(lattice: Lattice, entries: Ints, order: Ints, stored: Ints) -> Program:
    kinds: list[int] = []
    degrees: list[int] = []
    args: list[int] = []
    weights: list[float] = []
    parts: list[Key] = []
    terms: dict[Key, int] = {}

    def write(kind: int, own: list[int], shares: list[float], part: Key) -> int:
        kinds.append(kind)
        degrees.append(len(own))
        args.extend(own)
        weights.extend(shares)
        parts.append(part)
        return len(kinds) - 1

    columns = (lattice.dst, stored, lattice.update, lattice.reward, lattice.sign < 0, lattice.guard, lattice.weight)
    edges: list[tuple[Any, ...]] = list(zip(*(column.tolist() for column in columns), strict=True))
    ptr, payoffs = lattice.indptr.tolist(), lattice.payoff.tolist()
    row, edge_row = [-1] * lattice.n_nodes, np.full(lattice.n_edges, -1)
    for node in order.tolist():
        kind = int(lattice.kind[node])
        if kind == Kind.END:
            row[node] = write(kind, [], [], (-1, -1, -1, payoffs[node], 0, -1, 0.0))
            continue
        own, shares = [], []
        for edge in range(ptr[node], ptr[node + 1]):
            dst, entry, update, reward, flip, guard, weight = edges[edge]
            if not weight > 0:
                continue
            at = row[dst] if entry < 0 else -1
            if entry >= 0 or reward >= 0 or flip or guard >= 0:
                key = (at, entry, update, reward, int(flip), guard, _NEUTRAL[Kind(kind)])
                at = terms[key] if key in terms else terms.setdefault(key, write(TERM, [], [], key))
            edge_row[edge] = at
            own.append(at)
            shares.append(weight)
        if kind == Kind.CHANCE and shares == [1.0]:
            row[node] = own[0]
        else:
            row[node] = write(kind, own, shares, (-1, -1, -1, -1, 0, -1, 0.0))
    *numbers, neutral = zip(*parts, strict=True)
    source, entries_read, updates, rewards, flips, guards = (np.array(part, dtype=np.int64) for part in numbers)
    return Program(
        lattice,
        entries,
        order,
        stored,
        np.array(kinds, dtype=np.uint8),
        np.concatenate(([0], np.cumsum(degrees))),
        np.array(args, dtype=np.int64),
        np.array(weights, dtype=np.float64),
        source,
        entries_read,
        updates,
        rewards,
        flips,
        guards,
        np.array(neutral, dtype=np.float64),
        np.array(row),
        edge_row,
    )
