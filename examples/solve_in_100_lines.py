"""What `mdpdice.solve` does, on the shortest path: explore, sweep backwards, certify.

One player, no discount, no cycles, no fast path; the library does the same for all of these.
"""

from collections.abc import Iterable
from fractions import Fraction
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

import numpy as np

from mdpdice import Game, solve
from mdpdice.games.pig import PigTurn
from mdpdice.modelling.game import Chance, Decide, End, Go


class Network(NamedTuple):
    """Nodes by number: the player to move, what an end pays, and edges (target, probability, reward)."""

    decides: list[bool]
    payoff: list[Fraction]
    edges: list[list[tuple[int, Fraction, Fraction]]]
    states: dict[Any, int]
    actions: dict[int, list[Any]]


def rational(number: Any) -> Fraction:
    """A payoff or reward; only games with counters have others than numbers."""
    return Fraction(number)


def explore(game: Game[Any, Any]) -> Network:
    """Ask the game about every state that play can reach, and number all nodes."""
    net = Network([], [], [], {}, {})
    todo: list[tuple[int, Any]] = []

    def new(node: Any) -> int:
        net.decides.append(isinstance(node, Decide))
        net.payoff.append(rational(node.payoff) if isinstance(node, End) else Fraction(0))
        net.edges.append([])
        todo.append((len(net.edges) - 1, node))
        return len(net.edges) - 1

    def target(edge: Any) -> tuple[int, Fraction]:
        if not isinstance(edge, Go):
            return new(edge), rational(getattr(edge, "reward", 0))
        if edge.state not in net.states:
            net.states[edge.state] = new(game.node(edge.state))
        return net.states[edge.state], rational(edge.reward)

    net.states[game.start()] = new(game.node(game.start()))
    while todo:
        number, node = todo.pop()
        if isinstance(node, Decide):
            ways = [(option, Fraction(1)) for option in node.options]
            net.actions[number] = list(node.actions)
        elif isinstance(node, Chance):
            chances = (Fraction(weight, node.dist.total) for weight in node.dist.weights)
            ways = list(zip(node.edges, chances, strict=True))
        else:  # an end, or a state that leads to another one
            ways = [(node, Fraction(1))] if isinstance(node, Go) else []
        for edge, chance in ways:
            to, reward = target(edge)
            net.edges[number].append((to, chance, reward))
    return net


def successors_first(net: Network) -> Iterable[int]:
    """Nodes in an order in which all that a node leads to comes before it; a cycle is an error."""
    return TopologicalSorter({i: [to for to, *_ in row] for i, row in enumerate(net.edges)}).static_order()


def sweep(net: Network) -> tuple[np.ndarray, np.ndarray]:
    """Backward induction in floats: value and best option of every node, successors first."""
    value, choice = np.zeros(len(net.edges)), np.full(len(net.edges), -1)
    for i in successors_first(net):
        row = net.edges[i]
        worth = [float(reward) + value[to] for to, _, reward in row]
        if not row:
            value[i] = float(net.payoff[i])
        elif net.decides[i]:
            choice[i] = int(np.argmax(worth))
            value[i] = worth[choice[i]]
        else:
            value[i] = sum(float(row[k][1]) * worth[k] for k in range(len(row)))
    return value, choice


def certify(net: Network, value: np.ndarray, choice: np.ndarray, error: float) -> bool:
    """Prove in rational numbers: the optimal value and the policy's are within `error` times the depth of `value`.

    With no cycles, u >= max_a (r_a + P_a u) at every node gives u >= V*, and l <= r + P l for the policy's
    options gives l <= the value of the policy <= V*: both by induction from the ends.
    """
    depth = np.zeros(len(net.edges), dtype=int)
    for i in successors_first(net):
        depth[i] = 1 + max((depth[to] for to, *_ in net.edges[i]), default=0)
    room = [Fraction(error) * int(d) for d in depth]
    exact = [Fraction(v) for v in value.tolist()]
    for i, row in enumerate(net.edges):
        above = [chance * (reward + exact[to] + room[to]) for to, chance, reward in row]
        below = [chance * (reward + exact[to] - room[to]) for to, chance, reward in row]
        upper = max(above) if net.decides[i] else sum(above, net.payoff[i])
        lower = below[choice[i]] if net.decides[i] else sum(below, net.payoff[i])
        if upper > exact[i] + room[i] or lower < exact[i] - room[i]:
            return False
    return True


if __name__ == "__main__":
    game = PigTurn(cap=60)
    network = explore(game)
    value, choice = sweep(network)
    start = network.states[game.start()]
    print(f"{len(network.states)} states, {len(network.edges)} nodes")
    print(f"value {value[start]:.12f}, {network.actions[start][choice[start]]} at the start")
    print(f"certified: {certify(network, value, choice, error=1e-13)}")
    print(f"the library: {solve(game).value():.12f}")
