"""Reductions for plays that may never end: infinite values left out, idle end components merged."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from mdpdice.errors import TotalRewardUndefinedError, UnsupportedError
from mdpdice.lowerings import Lowering, Merged, moved_numbers, towards, without
from mdpdice.network import Bools, Ints, Kind, Network
from mdpdice.numerics.graph import end_components, is_acyclic, reachable

__all__ = ["collapse_idle", "drop_infinite"]


def _plays_may_not_end(network: Network) -> bool:
    """Whether one player maximises an undiscounted total of plays that may be endless."""
    return (
        network.discount == 1
        and network.horizon is None
        and not network.two_player
        and not is_acyclic(network.indptr, network.dst)
    )


def drop_infinite(network: Network) -> Lowering | None:
    """Leave out the nodes whose value is +inf, found by the graph alone.

    In an end component whose rewards are never negative and sometimes positive
    the player collects without end; so the value is infinite wherever he can come
    there with positive probability.

    Raises
    ------
    TotalRewardUndefinedError
        An end component holds rewards of both signs, so totals of endless plays need have no limit.
    UnsupportedError
        The network has end components of both kinds, collecting and paying without end.
    """
    if not _plays_may_not_end(network):
        return None
    component = end_components(network.indptr, network.dst, network.kind == Kind.CHANCE)
    source, dst = network.source, network.dst
    inside = (component[source] >= 0) & (component[source] == component[dst])
    count = int(component.max()) + 1
    gains = np.zeros(count, dtype=bool)
    pays = np.zeros(count, dtype=bool)
    gains[component[source[inside & (network.reward > 0)]]] = True
    pays[component[source[inside & (network.reward < 0)]]] = True
    if (gains & pays).any():
        node = int(np.flatnonzero(component == np.flatnonzero(gains & pays)[0])[0])
        msg = (
            "an endless play can collect and pay for ever, so its total reward need not exist; "
            "use a discount below 1 or a horizon"
        )
        raise TotalRewardUndefinedError(msg, state=network.describe(node))
    if not gains.any():
        return None
    if pays.any():
        msg = (
            "plays can collect for ever in one place and pay for ever in another; use a discount or a horizon"
        )
        raise UnsupportedError(msg)
    rich = np.isin(component, np.flatnonzero(gains))
    order = np.argsort(dst, kind="stable")
    entering = np.concatenate(([0], np.cumsum(np.bincount(dst, minlength=network.n_nodes))))
    infinite = reachable(entering, source[order], np.flatnonzero(rich))
    policy = _infinite_policy(network, component, rich, infinite, inside)
    return without(network, ~infinite, policy)


def _infinite_policy(network: Network, component: Ints, rich: Bools, infinite: Bools, inside: Bools) -> Ints:
    """A policy under which the total is infinite from every infinite node: go to a positive edge, for ever again."""
    policy = np.full(network.n_nodes, -1, dtype=np.int64)
    for number in np.unique(component[rich]).tolist():
        edges = np.flatnonzero(inside & (component[network.source] == number))
        goal = int(edges[np.argmax(network.reward[edges] > 0)])
        policy = towards(network, edges, int(network.source[goal]), policy)
        policy[network.source[goal]] = goal
    seen = policy[rich].copy()
    into = np.flatnonzero(infinite[network.source] & infinite[network.dst] & ~rich[network.source])
    for target in np.flatnonzero(rich).tolist():
        policy = towards(network, into, target, policy)
    policy[rich] = seen
    policy[~network.decides] = -1
    return policy


def collapse_idle(network: Network, *, stay: bool = True) -> Lowering | None:
    """Merge every end component without rewards into one node, with the option to `stay` for 0.

    Without this a Bellman equation has many solutions there: any value that is at
    least as good as leaving repeats itself round the component.  Where staying for
    ever is worth minus infinity, the option is left out.
    """
    if not _plays_may_not_end(network):
        return None
    chance = network.kind == Kind.CHANCE
    idle = network.reward == 0
    # A chance node that pays on one of its edges cannot be part of a component without rewards.
    paying = np.zeros(network.n_nodes, dtype=bool)
    paying[network.source[~idle]] = True
    keep = idle & ~(chance & paying)[network.source]
    component = end_components(network.indptr, network.dst, chance, keep)
    count = int(component.max()) + 1
    if count == 0:
        return None
    source, dst = network.source, network.dst
    inside = keep & (component[source] >= 0) & (component[source] == component[dst])
    linger = np.full(network.n_nodes, -1, dtype=np.int64)
    inside_edges = np.flatnonzero(inside)[::-1]
    linger[source[inside_edges]] = inside_edges

    # New nodes: those outside in their order, the components, and the end where play stays for ever.
    outside = component < 0
    n_outside = int(outside.sum())
    number = np.where(outside, np.cumsum(outside) - 1, n_outside + component)
    n_new = n_outside + count + 1
    edges = np.flatnonzero(~inside)
    edges = edges[np.argsort(number[source[edges]], kind="stable")]
    staying = n_outside + np.arange(count if stay else 0)
    new_source = np.concatenate((number[source[edges]], staying))
    old_edge: Ints = np.concatenate((edges, np.full(len(staying), -1)))
    order = np.argsort(new_source, kind="stable")
    old_edge = old_edge[order]
    real = old_edge >= 0

    def moved(array: Any, default: Any) -> Any:
        return np.where(real, array[old_edge], default) if len(array) else np.full(count, default)

    kind = np.concatenate((network.kind[outside], np.full(count, Kind.MAX), [Kind.END])).astype(np.uint8)
    decides = kind == Kind.MAX
    position = np.cumsum(network.decides[source]) - 1
    actions = [
        network.actions[int(position[edge])] if edge >= 0 else "stay"
        for edge, at in zip(old_edge.tolist(), new_source[order].tolist(), strict=True)
        if decides[at]
    ]
    numerator = network.numerator[old_edge]
    numerator[~real] = 1
    lowered = attrs.evolve(
        network,
        kind=kind,
        indptr=np.concatenate(([0], np.cumsum(np.bincount(new_source, minlength=n_new)))),
        dst=moved(number[dst], n_new - 1),
        weight=moved(network.weight, 1.0),
        reward=moved(network.reward, 0.0),
        sign=moved(network.sign, 1),
        step=moved(network.step, False),
        payoff=np.concatenate((network.payoff[outside], np.zeros(count + 1))),
        start=int(number[network.start]),
        numerator=numerator,
        state_node=number[network.state_node],
        node_state=_first_states(network, number, n_new),
        actions=actions,
        exact_rewards=moved_numbers(network.exact_rewards, old_edge),
        exact_payoffs=moved_numbers(network.exact_payoffs, np.flatnonzero(outside)),
    )
    return Lowering(lowered, number, old_edge, merged=Merged(network, component, linger))


def _first_states(network: Network, number: Ints, n_new: int) -> Ints:
    node_state = np.full(n_new, -1, dtype=np.int64)
    named = np.flatnonzero(network.node_state >= 0)[::-1]
    node_state[number[named]] = network.node_state[named]
    return node_state
