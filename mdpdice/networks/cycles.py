"""The error of a solver that needs a network without cycles."""

from __future__ import annotations

from typing import Any

from mdpdice.errors import CycleError
from mdpdice.networks.network import Network


def cycle_error(name: str, problem: Network, nodes: list[int]) -> CycleError:
    """Return the error of a solver that cannot solve a cycle, whose nodes are given in order."""
    states: list[Any] = [problem.state_of(node) for node in nodes if problem.node_state[node] >= 0]
    # Inline nodes have no state; they are described only where the cycle has nothing else.
    states = states or [problem.describe(node) for node in nodes[:5]]
    text = " -> ".join(repr(state) for state in states[:5]) + (" -> ..." if len(states) > 5 else "")
    text += f" -> {states[0]!r}"
    if problem.horizon is None:
        how = "limit the number of decisions with horizon=n, or use solver='value-iteration'"
        msg = f"{name} needs a network without cycles, but a play can go {text}; {how}"
    else:
        how = "give it a decision, or use solver='value-iteration'"
        msg = f"{name} cannot cut the cycle {text}: it holds no decision for the horizon to count; {how}"
    return CycleError(msg, cycle=states, state=states[0])
