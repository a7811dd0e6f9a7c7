"""Games as Gymnasium environments, for reinforcement learning and for tools that expect one."""

from __future__ import annotations

import operator
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mdpdice.errors import GameError, UnsupportedError
from mdpdice.formats.decision_tables import tabulate
from mdpdice.networks.network import Bools, Kind, Network
from mdpdice.numerics import graph
from mdpdice.objectives.reductions import for_sense


class NetworkEnv(gymnasium.Env[int, int]):
    """A network of one player as an environment; make it with `mdpdice.to_gymnasium`.

    Observations are the numbers of the decisions in the order of the network's nodes, and, last, that play is over.
    Actions are the numbers of the options of a decision; ``info["action_mask"]`` says which of them exist.  An action
    beyond them stands for the last option, so that every action of the space is defined everywhere.

    A step gives all that is paid up to the next decision or the end.  With a discount it is the agent who discounts:
    the value of the network is the expected sum of ``discount ** k`` times the reward of step ``k``.  What chance pays
    before the first decision comes with the first step.  Where chance cycles for ever and pays nothing, play is over.

    Attributes
    ----------
    network, discount : Network, float
        The network, and its discount.
    node : ndarray of int64, shape (number of decisions,)
        Node of every observation but the last.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it

    def __init__(self, network: Network, render_mode: str | None = None) -> None:
        if network.two_player:
            how = "fix one by a policy, or write the PRISM language (write_prism)"
            raise UnsupportedError(f"an environment of Gymnasium has one agent, and here are two players; {how}")
        _require_steps(network)
        self.network = network
        self.render_mode = render_mode
        self.discount = network.factor
        self.node = np.flatnonzero(network.decides)
        self._number = np.where(network.decides, np.cumsum(network.decides) - 1, len(self.node)).tolist()
        degree = np.diff(network.indptr)[self.node]
        self._sign = -1.0 if (for_sense(network).kind == Kind.MIN).any() else 1.0
        self._kind = np.where(_idle_chance(network), Kind.END, network.kind).tolist()
        self.observation_space: Any = gymnasium.spaces.Discrete(len(self.node) + 1)
        self.action_space: Any = gymnasium.spaces.Discrete(int(degree.max(initial=1)))
        self._at = network.start
        self._left = network.horizon
        self._pending = 0.0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        """Start a play; ``options={"node": i}`` starts it at that node; a `GameError` if there is none."""
        super().reset(seed=seed)
        self._left = self.network.horizon
        start = self.network.start if options is None else options.get("node", self.network.start)
        self._at, self._pending = self._chance(_index(start, self.network.n_nodes, "a node"), 1.0)
        return self._number[self._at], self._info()

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take an option; a `GameError` where the action is not in the action space."""
        network = self.network
        number = _index(action, int(self.action_space.n), "an action")
        reward = self._pending
        self._pending = 0.0
        if network.decides[self._at] and self._left != 0:
            edges = network.edges(self._at)
            edge = edges[min(number, len(edges) - 1)]
            after = self.discount if network.step[edge] else 1.0
            self._at, behind = self._chance(int(network.dst[edge]), after)
            reward += self._sign * float(network.reward[edge]) + behind
            if self._left is not None:
                self._left -= 1
        over = self._kind[self._at] == Kind.END
        return self._number[self._at], reward, over, not over and self._left == 0, self._info()

    def _chance(self, node: int, factor: float) -> tuple[int, float]:
        """Let chance move from a node on; the decision or end that comes, and what was paid, times `factor`."""
        network, reward = self.network, 0.0
        while self._kind[node] == Kind.CHANCE:
            first, last = int(network.indptr[node]), int(network.indptr[node + 1])
            below = np.cumsum(network.weight[first:last])
            # Weights may sum to a little less than 1: then the last edge has what is missing.
            edge = min(first + int(np.searchsorted(below, self.np_random.random(), side="right")), last - 1)
            reward += factor * float(network.reward[edge])
            factor *= self.discount if network.step[edge] else 1.0
            node = int(network.dst[edge])
        if self._kind[node] == Kind.END:
            reward += factor * float(network.payoff[node])
        return node, self._sign * reward

    def _info(self) -> dict[str, Any]:
        mask: NDArray[np.int8] = np.zeros(int(self.action_space.n), dtype=np.int8)
        state = self.network.state_of(self._at)
        actions: list[Any] = []
        if self.network.decides[self._at]:
            actions = [self.network.action_of(edge) for edge in self.network.edges(self._at)]
        mask[: len(actions)] = 1
        return {"action_mask": mask, "state": state, "actions": actions}

    @property
    def P(self) -> dict[int, dict[int, list[tuple[float, int, float, bool]]]]:  # noqa: N802 - as in toy-text
        """The table of the toy-text environments: expected rewards, and the last state for plays that are over."""
        table = tabulate(self.network, "a table P")
        choice, matrix = table.padded(), table.matrix
        over = table.n_states - 1 if table.node[-1] < 0 else -1
        found: dict[int, dict[int, list[tuple[float, int, float, bool]]]] = {}
        for (state, action), row in np.ndenumerate(choice):
            span = slice(*matrix.indptr[row : row + 2].tolist())
            reward = float(table.reward[row])
            found.setdefault(state, {})[action] = [
                (p, to, reward, to == over)
                for to, p in zip(matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True)
            ]
        return found


def _index(value: Any, below: int, what: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < below:
        raise GameError(f"{value!r} is not {what}; they are the numbers 0 to {below - 1}", value=value, limit=below)
    return number


def _idle_chance(network: Network) -> Bools:
    """Chance nodes from which nothing else ever comes; they pay nothing, or no step would come to its end."""
    chance = network.kind == Kind.CHANCE
    idle: Bools = graph.end_components(network.indptr, network.dst, chance, chance[network.source]) >= 0
    if len(paying := np.flatnonzero((idle & chance)[network.source] & (network.reward != 0))):
        msg = "chance cycles here for ever and pays each time, so no step would end; write DRN, which holds such plays"
        raise UnsupportedError(msg, state=network.describe(int(network.source[paying[0]])))
    return idle


def _require_steps(network: Network) -> None:
    """With a discount, every way from one decision to the next takes one step."""
    if network.discount == 1:
        return
    if (late := network.step & (network.kind == Kind.CHANCE)[network.dst]).any():
        node = int(network.source[np.argmax(late)])
        msg = "a step into chance is discounted, and an agent discounts only its own; write DRN, which discounts edges"
        raise UnsupportedError(msg, state=network.describe(node))
    # Before the first decision no step is taken; between decisions `tabulate` asks for exactly one.
    tabulate(network, "an environment")
