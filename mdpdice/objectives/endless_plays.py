"""Reductions for plays that may never end: infinite values left out, idle end components merged."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from mdpdice.errors import TotalRewardUndefinedError, UnsupportedError
from mdpdice.networks.arrays import moved_numbers, split_exact
from mdpdice.networks.network import Bools, Ints, Kind, Network, edge_fields
from mdpdice.numerics.graph import end_components, is_acyclic
from mdpdice.numerics.regions import can_reach, ending_ranks, idle_components, reached_by_some
from mdpdice.objectives.reductions import Because, Lowering, Merged, towards, without


def _plays_may_not_end(network: Network) -> bool:
    """Whether one player maximises an undiscounted total of plays that may be endless."""
    return (
        network.discount == 1
        and network.horizon is None
        and not network.two_player
        and ending_ranks(network) is None
        and not is_acyclic(network.indptr, network.dst)
    )


def _endless(network: Network) -> tuple[Ints, Bools, Bools, bool]:
    """Return the end components, the edges inside of them, the nodes of those that collect, and whether others pay."""
    component = end_components(network.indptr, network.dst, network.kind == Kind.CHANCE)
    source = network.source
    inside = (component[source] >= 0) & (component[source] == component[network.dst])
    gains, pays = (np.unique(component[source[inside & one]]) for one in (network.reward > 0, network.reward < 0))
    if len(both := np.intersect1d(gains, pays)):
        how = "use a discount below 1 or a horizon"
        msg = f"an endless play can collect and pay for ever, so its total reward need not exist; {how}"
        raise TotalRewardUndefinedError(msg, state=network.describe(int(np.argmax(component == both[0]))))
    return component, inside, np.isin(component, gains), bool(len(pays))


def drop_lost(network: Network) -> Lowering | None:
    """Leave out the nodes whose value is -inf, found by the graph alone.

    There no policy is sure to come to an end, to a place where play can idle, or to one
    where it collects; so every policy pays without end with positive probability.
    """
    if not _plays_may_not_end(network) or not (network.reward < 0).any():
        return None
    _, _, rich, pays = _endless(network)
    if not pays:
        return None
    idle = _idle(network)[0] >= 0
    if not (lost := ~reached_by_some(network, (network.kind == Kind.END) | rich | idle)).any():
        return None
    if (torn := lost & can_reach(network, rich)).any():
        how = "so its total has no mean; use a discount or a horizon"
        msg = f"from here a play can come to collect for ever and, whatever is done, to pay for ever, {how}"
        raise UnsupportedError(msg, state=network.describe(int(np.argmax(torn))))
    return without(network, ~lost, because="pays")


def drop_infinite(network: Network, because: Because = "collects") -> Lowering | None:
    """Leave out the nodes whose value is +inf, found by the graph alone.

    In an end component whose rewards are never negative and sometimes positive
    the player collects without end; so the value is infinite wherever play can come
    there with positive probability.  No node of value -inf may be left (`drop_lost`).
    """
    if not _plays_may_not_end(network):
        return None
    component, inside, rich, _ = _endless(network)
    if not rich.any():
        return None
    infinite = can_reach(network, rich)
    return without(network, ~infinite, _infinite_policy(network, component, rich, infinite, inside), because)


def _infinite_policy(network: Network, component: Ints, rich: Bools, infinite: Bools, inside: Bools) -> Ints:
    """Return a policy with an infinite total from every infinite node: go to a positive edge, again and again."""
    edges = np.flatnonzero(inside & rich[network.source])
    paid = edges[network.reward[edges] > 0]
    _, first = np.unique(component[network.source[paid]], return_index=True)
    goals = paid[first]
    policy = np.full(network.n_nodes, -1, dtype=np.int64)
    policy = towards(network, edges, network.source[goals].tolist(), policy)
    policy[network.source[goals]] = goals
    into = np.flatnonzero(infinite[network.source] & infinite[network.dst] & ~rich[network.source])
    policy = towards(network, into, np.flatnonzero(rich).tolist(), policy)
    policy[~network.decides] = -1
    return policy


def missing_policy(network: Network, goal: Bools) -> Ints:
    """Return a policy that misses the goal with positive probability wherever some policy does; -1 elsewhere.

    It goes to an end that is not a goal, or to a place where play can stay, and stays there.
    """
    source, dst = network.source, network.dst
    before = ~goal[source]
    component = end_components(network.indptr, dst, network.kind == Kind.CHANCE, before)
    inside = np.flatnonzero(before & (component[source] >= 0) & (component[source] == component[dst]))
    trap = (component >= 0) | ((network.kind == Kind.END) & ~goal)
    policy = np.full(network.n_nodes, -1, dtype=np.int64)
    policy = towards(network, np.flatnonzero(before & ~trap[source]), np.flatnonzero(trap).tolist(), policy)
    policy[source[inside[::-1]]] = inside[::-1]
    policy[~network.decides] = -1
    return policy


def _idle(network: Network, keep: Bools | None = None) -> tuple[Ints, Bools]:
    return idle_components(network.indptr, network.dst, network.kind == Kind.CHANCE, network.reward != 0, keep)


def collapse_idle(
    network: Network, *, stay: bool = True, worth: Any = (), keeping: Any = None, component: Any = None
) -> Lowering | None:
    """Merge every end component without rewards into one node, with the option to `stay` for 0, or what it is `worth`.

    Without this a Bellman equation has many solutions there: any value that is at least as good as leaving repeats
    itself round the component.  Where staying for ever is worth minus infinity, the option is left out.  To
    stay is to go along the edges of `keeping`, by default the first ones.
    """
    if component is None and not _plays_may_not_end(network):
        return None
    component, keep = _idle(network) if component is None else (component, True)
    if (count := int(component.max()) + 1) == 0:
        return None
    source, dst = network.source, network.dst
    inside = keep & (component[source] >= 0) & (component[source] == component[dst])
    if keeping is None:
        keeping, inside_edges = np.full(network.n_nodes, -1), np.flatnonzero(inside)[::-1]
        keeping[source[inside_edges]] = inside_edges

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
    moved = edge_fields(network, old_edge)
    # To stay takes no step.
    paid, exact = split_exact(len(staying), dict(enumerate(worth)))
    stays = np.flatnonzero(~real)
    for name, number_there in (("weight", 1), ("reward", paid), ("sign", 1), ("step", 0), ("numerator", 1)):
        moved[name][stays] = number_there
    moved["exact_rewards"] |= {int(stays[at]): number for at, number in exact.items()}
    kind = np.concatenate((network.kind[outside], np.full(count, Kind.MAX), [Kind.END])).astype(np.uint8)
    decides = kind == Kind.MAX
    position = np.cumsum(network.decides[source]) - 1
    actions = [
        network.actions[int(position[edge])] if edge >= 0 else "stay"
        for edge, at in zip(old_edge.tolist(), new_source[order].tolist(), strict=True)
        if decides[at]
    ]
    # Of the states that become one the first names it.
    node_state, named = np.full(n_new, -1), np.flatnonzero(network.node_state >= 0)[::-1]
    node_state[number[named]] = network.node_state[named]
    lowered = attrs.evolve(
        network,
        kind=kind,
        indptr=np.concatenate(([0], np.cumsum(np.bincount(new_source, minlength=n_new)))),
        dst=np.where(real, number[dst[old_edge]], n_new - 1),
        **moved,
        payoff=np.concatenate((network.payoff[outside], np.zeros(count + 1))),
        start=int(number[network.start]),
        state_node=number[network.state_node],
        node_state=node_state,
        actions=actions,
        exact_payoffs=moved_numbers(network.exact_payoffs, np.flatnonzero(outside)),
    )
    return Lowering(lowered, number, old_edge, merged=Merged(network, component, keeping))


def end_idle_chance(network: Network) -> Lowering | None:
    """End plays with a horizon where chance alone moves for ever and pays nothing: no decision ever comes."""
    if network.horizon is None:
        return None
    if not (idle := _idle(network, (network.kind == Kind.CHANCE)[network.source])[0] >= 0).any():
        return None
    kept = np.flatnonzero(~idle[network.source])
    return Lowering(network.keep_edges(kept), edge=kept)
