"""What a policy does in a node, whether it comes as a `Policy` or as a `Solution`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeAlias, TypeVar

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution
from mdpdice.errors import HorizonRangeError, UnsupportedError
from mdpdice.networks.network import Ints, Network
from mdpdice.plots.coordinates import Where

__all__ = ["AT_RANDOM", "Drawable", "choice_of", "network_of", "shown", "stage_of", "taken"]

Drawable: TypeAlias = Policy | Solution
"""What has something to draw in its states."""

AT_RANDOM = "at random"
"""What is drawn where the policy leaves the action to chance."""


D = TypeVar("D", Solution, Drawable)


def shown(answer: D, where: Where) -> D:
    """What is drawn: of a solution of a lattice the states that are wanted, anything else as it is.

    Raises
    ------
    StateLimitError
        These are too many states; a mapping `where` makes them fewer.
    """
    if isinstance(answer, Solution) and answer.lattice is not None:
        return answer.excerpt(where if isinstance(where, Mapping) else None)
    return answer


def network_of(answer: Policy | Solution) -> Network:
    """The network of a policy or solution.

    Raises
    ------
    UnsupportedError
        It has none.
    """
    network = getattr(answer, "network", None)
    if isinstance(network, Network):
        return network
    msg = f"{type(answer).__name__} has no network whose states could be drawn; draw a Policy or a Solution"
    raise UnsupportedError(msg, value=answer)


def stage_of(policy: Policy | Solution, steps_left: int | None, least: int = 0) -> int | None:
    """Row of an array with one row per number of decisions left; None where it has no rows.

    Raises
    ------
    HorizonRangeError
        There is no horizon, or no such number of decisions left.
    """
    horizon = network_of(policy).horizon
    if horizon is None:
        if steps_left is not None:
            msg = f"steps_left={steps_left!r} needs a horizon"
            raise HorizonRangeError(msg, value=steps_left)
        return None
    steps = horizon if steps_left is None else steps_left
    if type(steps) is not int or not least <= steps <= horizon:
        msg = f"steps_left={steps!r} is not a number from {least} to the horizon {horizon}"
        raise HorizonRangeError(msg, value=steps, limit=horizon)
    return steps


def choice_of(policy: Policy | Solution, steps_left: int | None) -> Ints:
    """Chosen edge of every decision node, shape (N,)."""
    row = stage_of(policy, steps_left, 1)
    choice = policy.nodes.choice if isinstance(policy, Solution) else policy.choice
    return choice if row is None or choice.ndim == 1 else choice[row]


def taken(
    policy: Policy | Solution,
    nodes: Ints,
    group: Callable[[Any], Hashable] | None,
    steps_left: int | None,
) -> list[Hashable]:
    """Actions, or what `group` makes of them, in decision nodes."""
    network, choice = policy.network, choice_of(policy, steps_left)
    known: dict[Hashable, Hashable] = {}
    found: list[Hashable] = []
    first = network._action_start  # noqa: SLF001 - at once for all nodes: action_of looks for each of them
    for at in (first[nodes] + choice[nodes] - network.indptr[nodes]).tolist():
        action = network.actions[at]
        if group is None:
            found.append(action)
        else:
            if action not in known:
                known[action] = group(action)
            found.append(known[action])
    if isinstance(policy, Policy) and policy.weight is not None:
        row = stage_of(policy, steps_left, 1)
        weight = policy.weight if row is None or policy.weight.ndim == 1 else policy.weight[row]
        for at, node in enumerate(nodes.tolist()):
            edges = network.edges(node)
            if (weight[edges.start : edges.stop] > 0).sum() > 1:
                found[at] = AT_RANDOM
    return found
