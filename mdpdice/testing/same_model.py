"""Whether two declarations describe one game: their networks are compared by refinement of partitions.

Nodes of both networks are coloured, first by their kind and payoff, then again and again by their colour
together with the actions, probabilities, rewards and colours at the ends of their edges, until no class splits
any more (the coarsest stable partition, or strong bisimulation).  The networks are equal up to names and
copies if the starts have one colour and no colour occurs on one side only.  All numbers are compared as
rationals.  So a state that another declaration splits into several with the same future is no
difference, which is what shows that merging them was right.  Nor is a chance node inside another one's
option whose branches all lead to one place: that is not chance, and the option may as well lead there.

Reference: P. C. Kanellakis and S. A. Smolka, "CCS expressions, finite state processes, and three
problems of equivalence", Information and Computation 86 (1990), 43-68; K. G. Larsen and A. Skou,
"Bisimulation through probabilistic testing", Information and Computation 94 (1991), 1-28.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from mdpdice.errors import UnknownStateError
from mdpdice.exploration.to_network import explore
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Kind, Network
from mdpdice.testing.reports import Conformance, Ledger, subject_of

_Edge = tuple[Any, Fraction, Fraction, int, bool, int]
_Row = list[_Edge]


def check_same(
    first: Game[Any, Any] | Network,
    second: Game[Any, Any] | Network,
    *,
    rename_state: Callable[[Any], Hashable] | None = None,
    rename_action: Callable[[Any], Hashable] | None = None,
    max_states: int = 100_000,
) -> Conformance:
    """Check that two declarations describe the same game, such as a `ClassicMDP` and a `Game` of nodes.

    Where they differ, the message shows a state that has no counterpart, as near to the difference as possible.

    Parameters
    ----------
    first, second : Game or Network
        The two declarations.
    rename_state : callable, optional
        State of the second of a state of the first; by default states are told apart by their future only.
    rename_action : callable, optional
        Action of the second of an action of the first; by default they have the same actions.
    max_states : int
        Limit of the exploration of each.
    """
    ledger = Ledger(f"{subject_of(first)} against {subject_of(second)}", ("same",))
    networks = []
    for game in (first, second):
        with ledger.failing("same", f"{subject_of(game)} cannot be explored, see check_game: "):
            networks.append(game if isinstance(game, Network) else explore(game, max_states=max_states))
    note = compare_networks(ledger, "same", *networks, rename_state=rename_state, rename_action=rename_action)
    ledger.passed("same", networks[0].n_nodes, note)
    return ledger.report()


def compare_networks(
    ledger: Ledger,
    check: str,
    one: Network,
    two: Network,
    *,
    rename_state: Callable[[Any], Hashable] | None = None,
    rename_action: Callable[[Any], Hashable] | None = None,
) -> str:
    """Fail a check unless two networks are equal up to names and copies; say how large they are."""
    side = _Comparison(ledger, check, one, two)
    for what in ("discount", "horizon", "total"):
        if getattr(one, what) != getattr(two, what):
            side.fail(f"the {what} is {getattr(one, what)} in one and {getattr(two, what)} in the other")
    rows = (ledger.ask(check, "rename_action", _rows, one, rename_action), _rows(two, None))
    side.passed = (_without_certainties(one, rows[0]), _without_certainties(two, rows[1]))
    colours = side.refine(rows)
    if colours[0][one.start] != colours[1][two.start]:
        there = (f"in {net.describe(net.start)!r} there is {_shown(net, net.start)}" for net in (one, two))
        side.fail(f"they start differently: {', '.join(there)}")
    if rename_state is not None:
        side.compare_names(colours, rename_state)
    return f"nodes; {one.n_states:,} and {two.n_states:,} states, {len(set(colours[0])):,} different futures"


def _rows(network: Network, rename: Callable[[Any], Hashable] | None) -> list[_Row]:
    """Return the edges of every node: action, probability, reward, sign, step and target."""
    rows: list[_Row] = []
    for node in range(network.n_nodes):
        row: _Row = []
        for edge, p in zip(network.edges(node), network.row(node), strict=True):
            action: Any = None
            if network.decides[node]:
                action = network.action_of(edge)
                action = action if rename is None else rename(action)
                action = (type(action), action)
            sign, step, to = int(network.sign[edge]), bool(network.step[edge]), int(network.dst[edge])
            row.append((action, p, network.exact_reward(edge), sign, step, to))
        rows.append(row)
    return rows


def _without_certainties(network: Network, rows: list[_Row]) -> set[int]:
    """Have edges into chance nodes without a choice of ways lead past them; the nodes that are passed by."""
    ways: dict[int, tuple[Fraction, int, bool, int]] = {}
    for node, row in enumerate(rows):
        if network.kind[node] != Kind.CHANCE or network.node_state[node] >= 0:
            continue
        if len(on := {(sign, step, to) for *_, sign, step, to in row}) == 1:
            ways[node] = (sum((p * reward for _, p, reward, *_ in row), Fraction(0)), *on.pop())
    passed: set[int] = set()
    for row in rows:
        row[:] = [_beyond(edge, ways, passed) for edge in row]
    return passed - {edge[-1] for row in rows for edge in row} - {network.start}


def _beyond(edge: _Edge, ways: dict[int, tuple[Fraction, int, bool, int]], passed: set[int]) -> _Edge:
    action, p, reward, sign, step, to = edge
    for _ in ways:  # one after the other, but never round in a circle
        if to not in ways or sign < 0 or step:
            break
        passed.add(to)
        more, sign, step, to = ways[to]
        reward += more
    return action, p, reward, sign, step, to


def _signature(row: _Row, colours: list[int], own: int) -> Any:
    if row and row[0][0] is not None:
        return own, frozenset((name, paid, sign, step, colours[to]) for name, _, paid, sign, step, to in row)
    # Copies of one target are one target, as far as chances go.
    chances: dict[Any, Fraction] = {}
    for _, p, reward, sign, step, to in row:
        key = (reward, sign, step, colours[to])
        chances[key] = chances.get(key, Fraction(0)) + p
    return own, frozenset(chances.items())


def _near(network: Network, node: int) -> Hashable | None:
    """Return the state of a node, or one that leads there."""
    for _ in range(network.n_nodes):
        entering = np.flatnonzero(network.dst == node)
        if network.node_state[node] >= 0 or not len(entering):
            break
        node = int(network.source[entering[0]])
    return network.state_of(node)


def _shown(network: Network, node: int) -> str:
    """Return what happens at a node, in a few words."""
    if network.kind[node] == Kind.END:
        return f"end({network.exact_payoff(node)})"
    if not network.decides[node]:
        edges = zip(network.edges(node), network.row(node), strict=True)
        parts = [f"{p} to {network.describe(int(network.dst[edge]))!r}" for edge, p in edges]
        return f"chance of {', '.join(parts[:4])}" + (", ..." if len(parts) > 4 else "")
    parts = []
    for edge in network.edges(node):
        reward = network.exact_reward(edge)
        parts.append(f"{network.action_of(edge)!r}" + (f" with reward {reward}" if reward else ""))
    return f"a choice of {', '.join(parts[:6])}" + (", ..." if len(parts) > 6 else "")


class _Comparison:
    """Two networks, and the check that fails where they differ."""

    def __init__(self, ledger: Ledger, check: str, one: Network, two: Network) -> None:
        self.ledger = ledger
        self.check = check
        self.networks = (one, two)
        self.passed: tuple[set[int], ...] = (set(), set())

    def fail(self, message: str, **place: Any) -> NoReturn:
        self.ledger.fail(self.check, message, **place)

    def refine(self, rows: tuple[list[_Row], list[_Row]]) -> tuple[list[int], list[int]]:
        """Colours of the nodes of both networks; fails as soon as one occurs on one side only."""
        names: dict[Any, int] = {}
        first = [
            [(int(kind), net.exact_payoff(i) if kind == Kind.END else 0) for i, kind in enumerate(net.kind)]
            for net in self.networks
        ]
        one, two = ([names.setdefault(colour, len(names)) for colour in side] for side in first)
        count = 0
        while True:
            self.compare_sides(one, two)
            if len(names) == count:
                return one, two
            count, names = len(names), {}
            one, two = (
                [names.setdefault(_signature(row, old, own), len(names)) for row, own in zip(side, old, strict=True)]
                for side, old in zip(rows, (one, two), strict=True)
            )

    def compare_sides(self, one: list[int], two: list[int]) -> None:
        sides = zip(self.networks, (one, two), (set(two), set(one)), self.passed, ("first", "second"), strict=True)
        for net, mine, others, passed, which in sides:
            for node, colour in enumerate(mine):
                if colour not in others and node not in passed:
                    what = f"{net.describe(node)!r} of the {which}, where there is {_shown(net, node)}"
                    msg = f"nothing in the other declaration corresponds to {what}; compare the rules there"
                    self.fail(msg, state=_near(net, node))

    def compare_names(self, colours: tuple[list[int], list[int]], rename: Callable[[Any], Hashable]) -> None:
        one, two = self.networks
        for state, node in zip(one.states, one.state_node.tolist(), strict=True):
            name = self.ledger.ask(self.check, "rename_state", rename, state, state=state)
            try:
                other = two.node_of(name)
            except UnknownStateError as error:
                self.fail(f"the second declaration does not reach {name!r}", state=state, cause=error)
            if colours[0][node] != colours[1][other]:
                msg = f"there is {_shown(one, node)}, but in {name!r} of the second there is {_shown(two, other)}"
                self.fail(msg, state=state)
