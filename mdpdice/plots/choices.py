"""What a policy does in a node, whether it comes as a `Policy` or as a `Solution`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias, TypeVar

from mdpdice.answers.node_values import steps_of
from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.errors import UnsupportedError
from mdpdice.networks.network import Ints, Network
from mdpdice.plots.coordinates import Where

Drawable: TypeAlias = Policy | Solution
"""What has something to draw in its states."""

AT_RANDOM = "at random"
"""What is drawn where the policy leaves the action to chance."""


D = TypeVar("D", Solution, Drawable)


def shown(answer: D, where: Where) -> tuple[D, Network]:
    """Return what is drawn, of a solution of a lattice the states that are wanted, and its network.

    Too many of them are a StateLimitError; a mapping `where` makes them fewer.
    """
    if isinstance(answer, Solution) and answer.lattice is not None:
        answer = answer.excerpt(where if isinstance(where, Mapping) else None)
    return answer, network_of(answer)


def network_of(answer: Policy | Solution) -> Network:
    """Return the network of a policy or solution; it is an error if there is none."""
    network = getattr(answer, "network", None)
    if isinstance(network, Network):
        return network
    msg = f"{type(answer).__name__} has no network whose states could be drawn; draw a Policy or a Solution"
    raise UnsupportedError(msg, value=answer)


def choice_of(policy: Policy | Solution, steps_left: int | None) -> Ints:
    """Chosen edge of every decision node, shape (N,)."""
    choice = policy.nodes.choice if isinstance(policy, Solution) else policy.choice
    chosen: Ints = _of_stage(policy.network, choice, steps_left)
    return chosen


def _of_stage(network: Network, array: Any, steps_left: int | None) -> Any:
    steps = steps_of(network, steps_left, 1)  # which looks at the number, whatever the array
    return array if array.ndim == 1 else array[steps]


def taken(
    policy: Policy | Solution, nodes: Ints, group: Callable[[Any], Hashable] | None, steps_left: int | None
) -> list[Hashable]:
    """Actions, or what `group` makes of them, in decision nodes."""
    network, choice = policy.network, choice_of(policy, steps_left)
    first = network._action_start  # noqa: SLF001 - at once for all nodes: action_of looks for each of them
    places = (first[nodes] + choice[nodes] - network.indptr[nodes]).tolist()
    found: list[Hashable] = [network.actions[at] for at in places]
    if group is not None:
        found = list(map(functools.cache(group), found))
    if isinstance(policy, Policy) and policy.weight is not None:
        weight = _of_stage(network, policy.weight, steps_left)
        for at, node in enumerate(nodes.tolist()):
            edges = network.edges(node)
            if (weight[edges.start : edges.stop] > 0).sum() > 1:
                found[at] = AT_RANDOM
    return found
