"""The chance prefix of a network: chance before the first decision takes no step."""

from __future__ import annotations

from typing import Any

import numpy as np

from mdpdice.networks.arrays import moved_numbers
from mdpdice.networks.network import Ints, Kind
from mdpdice.numerics.graph import edges_of, reachable

STEPWISE_UP_TO = 32
"""Chance in a row up to which it is followed a step at a time, which needs no compiler."""


def separate_prefix(fields: dict[str, Any]) -> dict[str, Any]:
    """Clear the steps on the chance prefix, copying the chance nodes that are reached later too.

    The start, and all states of the prefix, then name the copies, so the value of the start state is the value of the
    game.  Takes and returns fields of `mdpdice.networks.network.Network`; no array is changed itself.
    """
    kind, indptr, dst = fields["kind"], fields["indptr"], fields["dst"]
    if kind[fields["start"]] != Kind.CHANCE:
        return fields
    n_nodes, n_edges = len(kind), len(dst)
    # Nodes of chance, and of nature, that a play passes before its first decision, in order of discovery.
    passed = (kind == Kind.CHANCE) | ((kind != Kind.END) & (fields["node_state"] < 0))
    prefix = _reachable(fields, np.flatnonzero(passed), np.array([fields["start"]]))
    inside = np.zeros(n_nodes, dtype=bool)
    inside[prefix] = True
    # Those of them that a play can enter after its first decision.
    entering = np.flatnonzero(inside[dst])
    source = np.searchsorted(indptr, entering, side="right") - 1
    entered = np.unique(dst[entering[~inside[source]]])
    later = np.zeros(n_nodes, dtype=bool)
    later[_reachable(fields, np.flatnonzero(inside), entered)] = True

    copied = prefix[later[prefix]]
    inner, _ = edges_of(indptr, prefix[~later[prefix]])
    if not len(copied):
        step = fields["step"].copy()
        step[inner] = False
        return fields | {"step": step}

    nodes = np.concatenate((np.arange(n_nodes), copied))
    taken, _ = edges_of(indptr, copied)
    edges = np.concatenate((np.arange(n_edges), taken))
    more: dict[str, Any] = {name: fields[name][nodes] for name in ("kind", "payoff", "node_state")}
    more |= {name: fields[name][edges] for name in ("dst", "weight", "reward", "sign", "step", "numerator")}
    copy_of = np.arange(n_nodes)
    copy_of[copied] = np.arange(n_nodes, len(nodes))
    inner = np.concatenate((inner, np.arange(n_edges, len(edges))))
    more["dst"][inner] = copy_of[more["dst"][inner]]
    more["step"][inner] = False
    state_node = fields["state_node"].copy()
    # A state with two nodes: both name it, and it names the one of the prefix.
    named = copied[fields["node_state"][copied] >= 0]
    state_node[fields["node_state"][named]] = copy_of[named]
    more["indptr"] = np.concatenate((indptr, n_edges + np.cumsum(np.diff(indptr)[copied])))
    more["start"], more["state_node"] = int(copy_of[fields["start"]]), state_node
    decided = np.repeat((kind == Kind.MAX) | (kind == Kind.MIN), np.diff(indptr))
    if picked := (np.cumsum(decided) - 1)[taken[decided[taken]]].tolist():
        more["actions"] = [*fields["actions"], *(fields["actions"][at] for at in picked)]
    more["exact_rewards"] = moved_numbers(fields["exact_rewards"], edges)
    return fields | more


def _reachable(fields: dict[str, Any], nodes: Ints, roots: Ints) -> Ints:
    """Those of some nodes that can be reached from the roots through them alone."""
    level, found, ahead = roots, [roots], np.zeros(len(fields["kind"]), dtype=bool)
    ahead[nodes] = True
    ahead[roots] = False
    for _ in range(STEPWISE_UP_TO):
        to = fields["dst"][edges_of(fields["indptr"], level)[0]]
        to = to[ahead[to]]
        level = to[np.sort(np.unique(to, return_index=True)[1])]
        if not len(level):
            return np.concatenate(found)
        ahead[level] = False
        found.append(level)
    rest = reachable(fields["indptr"], fields["dst"], level, ahead[fields["dst"]])
    return np.concatenate((*found[:-1], np.flatnonzero(rest)))
