"""The chance prefix of a network: chance before the first decision takes no step."""

from __future__ import annotations

import attrs
import numpy as np

from mdpdice.network import Bools, Ints, Kind, Network

__all__ = ["separate_prefix"]


def separate_prefix(network: Network) -> Network:
    """Clear the steps on the chance prefix, copying the chance nodes that are reached later too.

    The start, and all states of the prefix, then name the copies, so the value of
    the start state is the value of the game.
    """
    if network.kind[network.start] != Kind.CHANCE:
        return network
    # Chance nodes that a play passes before its first decision, in order of discovery.
    chance = network.kind == Kind.CHANCE
    prefix = _reachable(network, chance, np.array([network.start]))
    inside = np.zeros(network.n_nodes, dtype=bool)
    inside[prefix] = True
    # Those of them that a play can enter after its first decision.
    entered = np.unique(network.dst[~inside[network.source] & inside[network.dst]])
    later = np.zeros(network.n_nodes, dtype=bool)
    later[_reachable(network, inside, entered)] = True

    copied = prefix[later[prefix]]
    copy_of = np.arange(network.n_nodes)
    copy_of[copied] = network.n_nodes + np.arange(len(copied))
    step, dst = network.step.copy(), network.dst.copy()
    first_only = (inside & ~later)[network.source]
    step[first_only] = False
    dst[first_only] = copy_of[dst[first_only]]
    if not len(copied):
        return attrs.evolve(network, step=step)

    degree = np.diff(network.indptr)[copied]
    ends = np.cumsum(degree)
    taken = np.repeat(network.indptr[copied] - ends + degree, degree) + np.arange(int(ends[-1]))
    exact = dict(network.exact_rewards)
    if exact:
        new = {network.n_edges + at: exact[edge] for at, edge in enumerate(taken.tolist()) if edge in exact}
        exact |= new
    state_node = network.state_node.copy()
    named = network.node_state[copied]
    state_node[named] = copy_of[copied]
    return attrs.evolve(
        network,
        kind=np.concatenate((network.kind, np.full(len(copied), Kind.CHANCE, dtype=np.uint8))),
        indptr=np.concatenate((network.indptr, network.indptr[-1] + ends)),
        dst=np.concatenate((dst, copy_of[network.dst[taken]])),
        weight=np.concatenate((network.weight, network.weight[taken])),
        reward=np.concatenate((network.reward, network.reward[taken])),
        sign=np.concatenate((network.sign, network.sign[taken])),
        step=np.concatenate((step, np.zeros(len(taken), dtype=bool))),
        payoff=np.concatenate((network.payoff, np.zeros(len(copied)))),
        start=int(copy_of[network.start]),
        numerator=np.concatenate((network.numerator, network.numerator[taken])),
        state_node=state_node,
        # A state with two nodes: both name it, and it names the one of the prefix.
        node_state=np.concatenate((network.node_state, named)),
        exact_rewards=exact,
    )


def _reachable(network: Network, nodes: Bools, roots: Ints) -> Ints:
    """Those of some nodes that can be reached from the roots through them alone, breadth first."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order

    if not len(roots):
        return roots
    # One more node leads to all roots.
    n = network.n_nodes
    keep = nodes[network.source] & nodes[network.dst]
    count = np.concatenate(([0], np.cumsum(keep)))
    indptr = np.concatenate((count[network.indptr], [count[-1] + len(roots)]))
    index = np.concatenate((network.dst[keep], roots))
    graph = csr_array((np.ones(len(index), dtype=np.int8), index, indptr), shape=(n + 1, n + 1))
    order: Ints = breadth_first_order(graph, n, return_predecessors=False).astype(np.int64)
    return order[1:]
