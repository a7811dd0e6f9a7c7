"""The values of an answer by the nodes of a network."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import attrs

from mdpdice.answers.passed_on import PassedOn
from mdpdice.errors import GameError, HorizonRangeError
from mdpdice.networks.network import Floats, Ints, Kind, Network


def steps_of(network: Network, steps_left: int | None, least: int = 0) -> int | None:
    """Decisions left, by default the whole horizon; a `HorizonRangeError` if there is no such number."""
    if (horizon := network.horizon) is None:
        if steps_left is not None:
            raise HorizonRangeError(f"steps_left={steps_left!r} needs a horizon", value=steps_left)
        return None
    steps = horizon if steps_left is None else steps_left
    if type(steps) is not int or not least <= steps <= horizon:
        msg = f"steps_left={steps!r} is not a number from {least} to the horizon {horizon}"
        raise HorizonRangeError(msg, value=steps, limit=horizon)
    return steps


@attrs.frozen(eq=False, repr=False)
class NodeValues:
    """Value, interval and chosen edge of every node of a network, of shape (N,) or (horizon + 1, N).

    Row k belongs to k decisions left; the interval holds the optimal value and the value of the policy.
    """

    network: Network
    values: Floats
    lowers: Floats
    uppers: Floats
    choice: Ints  # -1 without a decision
    exact: Sequence[Sequence[Any]] | None = None  # rows of `Fraction`; infinite values are floats

    digest = PassedOn[str]("network.digest", "Digest of the network.")
    reward = PassedOn[Floats]("network.reward", "What every edge is worth beyond the value of where it leads.")

    @property
    def start(self) -> Any:
        """State where a play starts."""
        return self.network.state_of(self.network.start)

    n_states = PassedOn[int]("network.n_states", "Number of states.")
    n_edges = PassedOn[int]("network.n_edges", "Number of edges.")
    warnings = PassedOn[tuple[str, ...]]("network.warnings", "What was repaired while the network was made.")

    def nearest(self, state: Hashable) -> list[Any]:
        """States that are like one that does not exist."""
        return list(self.network.nearest(state))

    @property
    def size(self) -> str:
        """How large the network is, in words."""
        net = self.network
        horizon = "" if net.horizon is None else f", at most {net.horizon:,} decisions"
        return f"{net.n_states:,} states, {net.n_edges:,} edges{horizon}"

    def value(self, state: Hashable, steps_left: int | None) -> float:
        """Value of a state, NaN where it is undefined."""
        return float(self.rows(steps_left)[0][self._node(state)])

    def interval(self, state: Hashable, steps_left: int | None) -> tuple[float, float]:
        """Lower and upper end of the interval of a state."""
        node, (_, lower, upper, _) = self._node(state), self.rows(steps_left)
        return float(lower[node]), float(upper[node])

    def exact_value(self, state: Hashable, steps_left: int | None) -> Any:
        """Exact value of a state, if there are any."""
        assert self.exact is not None
        return self.exact[steps_of(self.network, steps_left) or 0][self._node(state)]

    def kind(self, state: Hashable) -> Kind:
        """Return the node of a state."""
        return Kind(int(self.network.kind[self._node(state)]))

    def reaches(self, state: Hashable) -> bool:
        """Whether play can come to a state."""
        return self.network.index_of(state) is not None

    def action(self, state: Hashable, steps_left: int | None) -> Any:
        """Chosen action of a decision state."""
        return self.network.action_of(int(self.rows(steps_left)[3][self._decision(state, steps_left)]))

    def options(
        self, state: Hashable, steps_left: int | None, sense: str
    ) -> tuple[bool, list[tuple[Any, float, float, float]]]:
        """Whether the player minimises, and every action with its value and interval, best play afterwards."""
        net = self.network
        node = self._decision(state, steps_left)
        steps = steps_of(net, steps_left)
        after = self.rows(None if steps is None else steps - 1)[:3]
        found = []
        for edge in net.edges(node):
            ahead = [float(row[net.dst[edge]]) for row in after]
            ahead = [float(net.total) - value for value in ahead] if net.sign[edge] < 0 else ahead
            factor = net.factor if net.step[edge] else 1.0
            value, low, high = (float(self.reward[edge]) + factor * one for one in ahead)
            found.append((net.action_of(edge), value, min(low, high), max(low, high)))
        return bool(net.kind[node] == Kind.MIN) != (sense == "min"), found

    # --- look-ups -----------------------------------------------------------

    def rows(self, steps_left: int | None) -> tuple[Floats, Floats, Floats, Ints]:
        """Return values, lower and upper ends, and chosen edges for a number of decisions left."""
        steps, arrays = steps_of(self.network, steps_left), (self.values, self.lowers, self.uppers, self.choice)
        return arrays if steps is None else tuple(array[steps] for array in arrays)

    def _node(self, state: Hashable) -> int:
        return self.network.start if state is None else self.network.value_node_of(state)

    def _decision(self, state: Hashable, steps_left: int | None) -> int:
        # Equal states have equal values; their actions differ.
        node = self.network.start if state is None else self.network.node_of(state)
        if not self.network.decides[node]:
            raise GameError("this state has no decision; ask value() instead", state=self.network.describe(node))
        if steps_of(self.network, steps_left) == 0:
            raise HorizonRangeError("no decision is left", state=self.network.describe(node), value=0)
        return node


@attrs.frozen(eq=False, repr=False)
class Averages(NodeValues):
    """Long-run averages, and what proves them: of every node the gain of staying, a bias, and an edge that stays."""

    gain: Floats = attrs.field(kw_only=True)
    bias: Any = attrs.field(kw_only=True)  # floats, or fractions
    keeping: Ints = attrs.field(kw_only=True)
    reward: Floats = attrs.field(kw_only=True)
    """What it costs to take an edge once, where every state has one average; else nothing."""
