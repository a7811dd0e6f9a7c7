"""The chance prefix of a network: chance before the first decision takes no step."""

from __future__ import annotations

import attrs
import numpy as np

from mdpdice.network import Kind, Network

__all__ = ["separate_prefix"]


def separate_prefix(network: Network) -> Network:
    """Clear the steps on the chance prefix, copying the chance nodes that are reached later too.

    The start, and all states of the prefix, then name the copies, so the value of
    the start state is the value of the game.
    """
    prefix = _prefix(network)
    if not prefix:
        return network
    later = _reached_later(network, prefix)
    copied = [node for node in prefix if node in later]
    copy_of = {node: network.n_nodes + at for at, node in enumerate(copied)}

    step, dst = network.step.copy(), network.dst.copy()
    for node in prefix:
        if node not in later:
            row = slice(int(network.indptr[node]), int(network.indptr[node + 1]))
            step[row] = False
            dst[row] = [copy_of.get(int(target), int(target)) for target in dst[row]]
    if not copied:
        return attrs.evolve(network, step=step, dst=dst)

    rows = [np.arange(network.indptr[node], network.indptr[node + 1]) for node in copied]
    taken = np.concatenate(rows)
    new_dst = np.array(
        [copy_of.get(int(target), int(target)) for target in network.dst[taken]], dtype=np.int64
    )
    exact = dict(network.exact_rewards)
    for at, edge in enumerate(taken.tolist()):
        if edge in network.exact_rewards:
            exact[network.n_edges + at] = network.exact_rewards[edge]
    state_node = network.state_node.copy()
    for node, copy in copy_of.items():
        state_node[network.node_state[node]] = copy
    ends = network.indptr[-1] + np.cumsum([len(row) for row in rows])
    return attrs.evolve(
        network,
        kind=np.concatenate((network.kind, np.full(len(copied), Kind.CHANCE, dtype=np.uint8))),
        indptr=np.concatenate((network.indptr, ends)),
        dst=np.concatenate((dst, new_dst)),
        weight=np.concatenate((network.weight, network.weight[taken])),
        reward=np.concatenate((network.reward, network.reward[taken])),
        sign=np.concatenate((network.sign, network.sign[taken])),
        step=np.concatenate((step, np.zeros(len(taken), dtype=bool))),
        payoff=np.concatenate((network.payoff, np.zeros(len(copied)))),
        start=copy_of.get(network.start, network.start),
        numerator=np.concatenate((network.numerator, network.numerator[taken])),
        state_node=state_node,
        # A state with two nodes: both name it, and it names the one of the prefix.
        node_state=np.concatenate((network.node_state, network.node_state[copied])),
        exact_rewards=exact,
    )


def _prefix(network: Network) -> list[int]:
    """Chance nodes that a play passes before its first decision, in order of discovery."""
    if network.kind[network.start] != Kind.CHANCE:
        return []
    prefix = [network.start]
    seen = {network.start}
    for node in prefix:
        for edge in network.edges(node):
            target = int(network.dst[edge])
            if target not in seen and network.kind[target] == Kind.CHANCE:
                seen.add(target)
                prefix.append(target)
    return prefix


def _reached_later(network: Network, prefix: list[int]) -> set[int]:
    """Nodes of the prefix that a play can enter after its first decision."""
    inside = np.zeros(network.n_nodes, dtype=bool)
    inside[prefix] = True
    later = {int(node) for node in np.unique(network.dst[~inside[network.source] & inside[network.dst]])}
    todo = list(later)
    for node in todo:
        for edge in network.edges(node):
            target = int(network.dst[edge])
            if inside[target] and target not in later:
                later.add(target)
                todo.append(target)
    return later
