"""Graph searches on the rows of a network, without recursion.

A graph is given as in `mdpdice.networks.network.Network`: the edges of node ``i`` are
``indptr[i] .. indptr[i+1] - 1`` and edge ``e`` leads to ``dst[e]``.  `keep`
masks edges: those that are False are treated as absent (an action ruled out).
Every function takes time linear in nodes and edges, except `end_components`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mdpdice.networks.arrays import Bools, Ints, read_only
from mdpdice.numerics.kernels import graph as kernels

SEARCH_ORDER_UP_TO_NODES = 10_000
"""Nodes of a component up to which it is swept in the order of a search, and larger ones in the order of memory."""


def strong_components(indptr: Ints, dst: Ints, keep: Bools | None = None) -> Ints:
    """Strongly connected component of every node, int64 of shape (N,).

    Every edge leads to a component of equal or smaller label, so increasing labels are a backward-induction order.

    >>> import numpy as np
    >>> strong_components(np.array([0, 1, 3, 3]), np.array([1, 0, 2])).tolist()
    [1, 1, 0]
    """
    nothing = np.zeros(0, dtype=np.int64)
    return kernels.components(*_graph(indptr, dst, keep), read_only(nothing, np.bool_), nothing)[0]


def component_order(label: Ints) -> tuple[Ints, Ints]:
    """Nodes by increasing label, int64 of shape (N,); those of component ``c`` are ``order[ptr[c]:ptr[c+1]]``.

    Within one component the later nodes stand first: exploration numbers nodes as it finds them, so a sweep in this
    order meets successors first, and it reads memory in one direction.
    """
    count = int(label.max()) + 1 if len(label) else 0
    # Every component that has a node is larger than 0.
    return kernels.bucket(read_only(label, np.int64), count, read_only(label[:0], np.int64), 0)


def ordered_components(indptr: Ints, dst: Ints, keep: Bools | None = None) -> tuple[Ints, Ints, Ints]:
    """Label of every node as in `strong_components`, order and ptr as in `component_order`.

    Within a component of at most `SEARCH_ORDER_UP_TO_NODES` nodes, those stand first that a search in depth left
    first, so that a sweep meets as few nodes as possible before their successors.  In larger ones it is more
    important to read memory in one direction.
    """
    nothing = np.zeros(0, dtype=np.int64)
    return ranked_components(*_graph(indptr, dst, keep), nothing.astype(np.bool_), nothing)[:3]


def ranked_components(
    indptr: Ints, dst: Ints, keep: Bools | None, chance: Bools, rank: Ints
) -> tuple[Ints, Ints, Ints, bool]:
    """Do the same, and find ranks that show that play always ends, if they are quickly found.

    `rank`, int64 of shape (N,), or (0,) where nobody asks, is 0 at ends, and -1 elsewhere.  It becomes, where play
    always ends, a number that falls along every edge of a decision and some edge of every chance node; then no edge
    may be left out.  The last result tells whether the search for ranks came to its end: a node that still has -1 then
    shows that some play need not end.
    """
    arrays = _graph(indptr, dst, keep)
    label, order, ptr, whole = kernels.components(*arrays, read_only(chance, np.bool_), rank)
    if np.diff(ptr).max(initial=0) > SEARCH_ORDER_UP_TO_NODES:
        order, ptr = kernels.bucket(
            read_only(label, np.int64), len(ptr) - 1, read_only(order, np.int64), SEARCH_ORDER_UP_TO_NODES
        )
    return label, order, ptr, whole


def cyclic_components(indptr: Ints, dst: Ints, label: Ints, keep: Bools | None = None) -> Bools:
    """Which components hold a cycle, bool of shape (C,): those of two nodes or more, or with an edge to itself."""
    cyclic: Bools = np.bincount(label) > 1
    kernels.looped(*_graph(indptr, dst, keep), read_only(label, np.int64), cyclic)
    return cyclic


def is_acyclic(indptr: Ints, dst: Ints, keep: Bools | None = None) -> bool:
    """Whether the graph has no cycle."""
    # In a large graph a cycle is often found before a mask of all edges is made.
    return kernels.acyclic(*_graph(indptr, dst, np.zeros(0, dtype=np.bool_) if keep is None else keep))


def find_cycle(indptr: Ints, dst: Ints, keep: Bools | None = None) -> list[int]:
    """Nodes of one cycle in order, [] if there is none.

    It is a shortest one through the first node of a smallest cyclic component, since it is meant to be read.

    >>> import numpy as np
    >>> find_cycle(np.array([0, 1, 3, 3]), np.array([1, 0, 2]))
    [0, 1]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    label = strong_components(indptr, dst, keep)
    cyclic = cyclic_components(indptr, dst, label, keep)
    if not cyclic.any():
        return []
    n = len(label)
    size = np.where(cyclic, np.bincount(label), n + 1)
    inside = label == np.argmin(size)
    start = int(np.argmax(inside))
    source = np.repeat(np.arange(n), np.diff(indptr))
    edges = np.flatnonzero(inside[source] & inside[dst] & (True if keep is None else keep))
    ptr = np.concatenate(([0], np.cumsum(np.bincount(source[edges], minlength=n))))
    order, before = breadth_first_order(csr_array((np.ones(len(edges)), dst[edges], ptr), shape=(n, n)), start)
    nodes = [int(order[np.argmax(np.isin(order, source[edges[dst[edges] == start]]))])]
    while nodes[-1] != start:
        nodes.append(int(before[nodes[-1]]))
    return nodes[::-1]


def reachable(indptr: Ints, dst: Ints, starts: ArrayLike, keep: Bools | None = None) -> Bools:
    """Nodes that can be reached from `starts` (node numbers), these included; bool of shape (N,)."""
    seen = np.zeros(len(indptr) - 1, dtype=np.bool_)
    seen[np.asarray(starts, dtype=np.int64)] = True
    kernels.reach(*_graph(indptr, dst, keep), seen)
    return seen


def end_components(indptr: Ints, dst: Ints, chance: Bools, keep: Bools | None = None) -> Ints:
    """Maximal end components when one player controls every decision.

    An end component is a set of nodes in which a play can stay for ever: its `chance` nodes have all their edges
    inside, its decisions at least one, and each of its nodes can reach every other one (L. de Alfaro, "Formal
    verification of probabilistic systems", PhD thesis, Stanford 1997, section 3.3).

    Returns the number of the component of every node, int64 of shape (N,), from 0 by its first node, -1 outside.  The
    edges inside are those kept whose two ends have one number.
    """
    indptr, dst, mask = _graph(indptr, dst, keep)
    chance = read_only(chance, np.bool_)
    label = strong_components(indptr, dst, mask)
    if keep is None and len(dst) and not label.any():
        return label
    source = read_only(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), np.int64)
    entering = kernels.reverse(indptr, dst)
    gone = np.zeros(len(indptr) - 1, dtype=np.bool_)
    inside = mask.copy()
    while kernels.end_components(indptr, dst, source, *entering, chance, read_only(label, np.int64), gone, inside):
        label = strong_components(indptr, dst, inside)
    number = np.full(len(indptr) - 1, -1, dtype=np.int64)
    stay = np.flatnonzero(~gone)
    _, first, back = np.unique(label[stay], return_index=True, return_inverse=True)
    number[stay] = np.argsort(np.argsort(first))[back]
    return number


def attract(source: Ints, dst: Ints, some: Bools, rank: Ints, keep: Bools | None = None) -> None:
    """Rank the nodes from which play cannot be kept from those that have a rank, which the others wait for.

    For the nodes in `some`, bool of shape (N,), one edge is enough; the others need all of theirs.  `rank`, int64 of
    shape (N,), goes in and out, -1 for none; a new rank is by 1 larger than the largest that it waited for.
    """
    if keep is not None:
        source, dst = source[keep], dst[keep]
    wait = np.bincount(source, minlength=len(rank))
    entering = kernels.reverse(read_only(np.concatenate(([0], np.cumsum(wait)))), read_only(dst))
    kernels.escape(read_only(source), *entering, read_only(some), wait, rank)


def edges_of(indptr: Ints, node: Ints) -> tuple[Ints, Ints]:
    """Find all edges of some nodes, one node after the other, and the position in `node` that each belongs to."""
    degree = indptr[node + 1] - indptr[node]
    owner = np.repeat(np.arange(len(node)), degree)
    before = np.cumsum(degree) - degree
    return indptr[node][owner] + np.arange(len(owner)) - before[owner], owner


def _graph(indptr: Ints, dst: Ints, keep: Bools | None) -> tuple[Ints, Ints, Bools]:
    mask = np.ones(len(dst), dtype=np.bool_) if keep is None else keep
    return read_only(indptr, np.int64), read_only(dst, np.int64), read_only(mask, np.bool_)
