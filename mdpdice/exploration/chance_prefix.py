"""The chance prefix of a network: chance before the first decision takes no step."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdpdice.networks.network import Bools, Ints, Kind

__all__ = ["separate_prefix"]


def separate_prefix(fields: dict[str, Any]) -> dict[str, Any]:
    """Clear the steps on the chance prefix, copying the chance nodes that are reached later too.

    The start, and all states of the prefix, then name the copies, so the value of the start state is the value of the
    game.  Takes and returns fields of `mdpdice.networks.network.Network`; no array is changed itself.
    """
    kind, indptr, dst = fields["kind"], fields["indptr"], fields["dst"]
    if kind[fields["start"]] != Kind.CHANCE:
        return fields
    n_nodes, n_edges = len(kind), len(dst)
    chance = np.flatnonzero(kind == Kind.CHANCE)
    # Chance nodes that a play passes before its first decision, in order of discovery.
    prefix = _reachable(fields, chance, np.array([fields["start"]]))
    inside = np.zeros(n_nodes, dtype=bool)
    inside[prefix] = True
    # Those of them that a play can enter after its first decision.
    entering = np.flatnonzero(inside[dst])
    source = np.searchsorted(indptr, entering, side="right") - 1
    entered = np.unique(dst[entering[~inside[source]]])
    later = np.zeros(n_nodes, dtype=bool)
    later[_reachable(fields, np.flatnonzero(inside), entered)] = True

    copied = prefix[later[prefix]]
    step = fields["step"].copy()
    first_only, _ = _edges(indptr, prefix[~later[prefix]])
    step[first_only] = False
    if not len(copied):
        return fields | {"step": step}

    copy_of = np.arange(n_nodes)
    copy_of[copied] = n_nodes + np.arange(len(copied))
    dst = dst.copy()
    dst[first_only] = copy_of[dst[first_only]]
    taken, ends = _edges(indptr, copied)
    exact = dict(fields["exact_rewards"])
    if exact:
        exact |= {n_edges + at: exact[edge] for at, edge in enumerate(taken.tolist()) if edge in exact}
    state_node, node_state = fields["state_node"].copy(), fields["node_state"]
    named = node_state[copied]
    state_node[named] = copy_of[copied]
    more: dict[str, Any] = {
        name: np.concatenate((fields[name], fields[name][taken]))
        for name in ("weight", "reward", "sign", "numerator")
    }
    return (
        fields
        | more
        | {
            "kind": np.concatenate((kind, np.full(len(copied), Kind.CHANCE, dtype=np.uint8))),
            "indptr": np.concatenate((indptr, indptr[-1] + ends)),
            "dst": np.concatenate((dst, copy_of[fields["dst"][taken]])),
            "step": np.concatenate((step, np.zeros(len(taken), dtype=bool))),
            "payoff": np.concatenate((fields["payoff"], np.zeros(len(copied)))),
            "start": int(copy_of[fields["start"]]),
            "state_node": state_node,
            # A state with two nodes: both name it, and it names the one of the prefix.
            "node_state": np.concatenate((node_state, named)),
            "exact_rewards": exact,
        }
    )


def _edges(indptr: Ints, nodes: Ints) -> tuple[Ints, Ints]:
    """Edges of some nodes, node by node, and where those of each node end in this list."""
    degree = indptr[nodes + 1] - indptr[nodes]
    ends = np.cumsum(degree)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(indptr[nodes] - ends + degree, degree) + np.arange(total), ends


def _reachable(fields: dict[str, Any], nodes: Ints, roots: Ints) -> Ints:
    """Those of some nodes that can be reached from the roots through them alone, breadth first."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    if not len(roots):
        return roots
    place: NDArray[np.int64] = np.full(len(fields["kind"]), -1, dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    edges, ends = _edges(fields["indptr"], nodes)
    to = place[fields["dst"][edges]]
    keep: Bools = to >= 0
    count = np.concatenate(([0], np.cumsum(keep)))
    # One more node leads to all roots.
    indptr = np.concatenate(([0], count[ends], [count[-1] + len(roots)]))
    index = np.concatenate((to[keep], place[roots]))
    size = len(nodes) + 1
    graph = csr_array((np.ones(len(index), dtype=np.int8), index, indptr), shape=(size, size))
    order: Ints = breadth_first_order(graph, len(nodes), return_predecessors=False).astype(np.int64)
    return nodes[order[1:]]
