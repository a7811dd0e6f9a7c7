"""The sum of the rewards on the way, beside the state: for objectives of the whole payoff.

Whether a play comes to at least twenty points depends on what it has collected so far.  So every node of a network
stands once for every sum with which play can come there, and its state is ``At(state, collected=sum)``, beside the
counters of the game.  Sums are whole numbers, in parts of one over the common denominator of the rewards: for
whole-number rewards they are the sums themselves.

Where nothing more is taken away, a threshold settles what a play is worth from some sum on: plays end there,
and the sums past it are one.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from mdpdice.errors import GameError, MdpDiceError, UnsupportedError
from mdpdice.modelling.grid import At
from mdpdice.modelling.nearest import nearest
from mdpdice.modelling.number import finite_number
from mdpdice.networks.arrays import moved_numbers, split_exact
from mdpdice.networks.network import Bools, Ints, Kind, Network, actions_of, edge_fields
from mdpdice.numerics.graph import end_components
from mdpdice.numerics.regions import components

if TYPE_CHECKING:
    from mdpdice.objectives.objective import OfPayoff

COLLECTED = "collected"
"""Name of the counter that holds the sum of the rewards."""
MOST_EDGES = 16_000_000
"""Edges of the largest network that is made with the sums beside its states."""


def pay_at_the_end(network: Network, objective: OfPayoff) -> Network:
    """Return the network, without `pass_to`, whose ends pay the worth of the whole payoff, less that of 0."""
    name, sense = type(objective).__name__, objective.wanted(network)
    if network.discount < 1:
        raise UnsupportedError(f"{name} needs the whole payoff, and this network discounts it; use Total")
    nothing = Fraction(objective.worth(Fraction(0)))

    def gain(payoff: Fraction) -> Fraction:
        return Fraction(objective.worth(payoff)) - nothing

    sums, unit = [0] * network.n_nodes, 1
    if network.pays:
        network, sums, unit = with_sums(network, objective.top, name)
        gains = {one: bool(gain(Fraction(one, unit))) for one in set(sums)}
        network = _ending(network, np.array([gains[one] for one in sums]), name)
    found = {}
    for node in np.flatnonzero(network.kind == Kind.END).tolist():
        try:
            value = gain(Fraction(sums[node], unit) + network.exact_payoff(node))
            found[node] = Fraction(finite_number(value, "difference of utilities"))
        except MdpDiceError as error:
            raise error.at(network.describe(node)) from error.__cause__
    payoff, exact = split_exact(network.n_nodes, found)
    return attrs.evolve(network, payoff=payoff, exact_payoffs=exact, total=Fraction(0), sense=sense)


def with_sums(
    network: Network, top: Callable[[int, Fraction], int | None], name: str
) -> tuple[Network, list[int], int]:
    """Return the network without rewards whose nodes stand once for every sum, the sum of every node, and its unit."""
    if network.averaged:
        how = "give it the game, or explore(game, merge=False)"
        raise UnsupportedError(f"{name} needs the rewards themselves, and this network holds means of them; {how}")
    paying = sorted({*np.flatnonzero(network.reward).tolist(), *network.exact_rewards})
    rewards = {edge: network.exact_reward(edge) for edge in paying}
    unit = math.lcm(*(reward.denominator for reward in rewards.values()))
    # Plays that stop without an end are paid nothing more.
    ends = np.flatnonzero(network.kind == Kind.END).tolist()
    least = min([Fraction(0), *(network.exact_payoff(node) for node in ends)])
    limit = top(unit, least) if min(rewards.values()) >= 0 else None
    if limit is None:
        label = components(network)[0]
        if (inside := label[network.source[paying]] == label[network.dst[paying]]).any():
            edge = paying[int(np.argmax(inside))]
            how = "count them in the state up to a largest value, and pay them with end(...)"
            msg = f"{name} of rewards that a play can collect again and again: their sum has no bound; {how}"
            raise UnsupportedError(msg, state=network.describe(int(network.source[edge])), limit=MOST_EDGES)
    found = _Sums(network, {edge: int(reward * unit) for edge, reward in rewards.items()}, limit, name)
    return found.network(least), found.sums, unit


class _Sums:
    """The pairs of a node and a sum that play can come to, breadth first."""

    def __init__(self, network: Network, rewards: dict[int, int], limit: int | None, name: str) -> None:
        self.before = network
        self.limit = limit
        self.nodes = nodes = [network.start]
        self.sums = sums = [0]
        self.edges = array("q")
        self.targets = array("q")
        self.degree = array("q")
        ptr, dst, n = network.indptr.tolist(), network.dst.tolist(), network.n_nodes
        known = {network.start: 0}
        number, reward, follow = known.setdefault, rewards.get, self.targets.append
        for at, node in enumerate(nodes):  # which grows
            collected = sums[at]
            own = () if self.settled(collected) else range(ptr[node], ptr[node + 1])
            for edge in own:
                after = collected + reward(edge, 0)
                if limit is not None and after > limit:
                    after = limit
                new = len(nodes)
                if (to := number(after * n + dst[edge], new)) == new:
                    nodes.append(dst[edge])
                    sums.append(after)
                follow(to)
            self.edges.extend(own)
            self.degree.append(len(own))
            if len(self.edges) > MOST_EDGES:
                how = "pay in larger units, or declare parts of the state as counters, to solve it on their lattice"
                msg = f"{name} of rewards on the way: this network would have more than {MOST_EDGES:,} edges; {how}"
                raise UnsupportedError(msg, limit=MOST_EDGES)

    def settled(self, collected: int) -> bool:
        """Whether it is known what a play is worth that has collected so much."""
        return self.limit is not None and collected >= self.limit

    def network(self, least: Fraction) -> Network:
        """Return the network of the pairs; where a sum settles it all, play ends with the least payoff."""
        net = self.before
        old, edges = np.array(self.nodes, dtype=np.int64), np.array(self.edges, dtype=np.int64)
        settled = np.array([self.settled(one) for one in self.sums])
        payoff = np.where(settled, nearest(least), net.payoff[old])
        exact = moved_numbers(net.exact_payoffs, old)
        for node in np.flatnonzero(settled).tolist():
            exact.pop(node, None)
            if nearest(least) != least:
                exact[node] = least
        states, state_node, node_state = self._states(old)
        canonical = net.canonical
        return attrs.evolve(
            net,
            kind=np.where(settled, np.uint8(Kind.END), net.kind[old]),
            indptr=np.concatenate(([0], np.cumsum(self.degree))).astype(np.int64),
            dst=np.array(self.targets, dtype=np.int64),
            **edge_fields(net, edges) | {"reward": np.zeros(len(edges)), "exact_rewards": {}},
            payoff=payoff,
            start=0,
            states=states,
            state_node=state_node,
            node_state=node_state,
            actions=actions_of(net, edges),
            exact_payoffs=exact,
            canonical=None if canonical is None else lambda state: _representative(canonical, state),
        )

    def _states(self, old: Ints) -> tuple[list[At[Any]], Ints, Ints]:
        """Return the states with their sums, the node of each, and the state of every node."""
        net = self.before
        numbers: dict[tuple[int, int], int] = {}
        nodes: list[int] = []
        owner = np.full(len(old), -1)
        of, main = net.node_state[old].tolist(), net.state_node.tolist()
        for at, (state, node) in enumerate(zip(of, self.nodes, strict=True)):
            if state < 0:
                continue
            number = numbers.setdefault((state, self.sums[at]), len(nodes))
            if number == len(nodes):
                nodes.append(at)
            elif main[state] == node:
                nodes[number] = at
            owner[at] = number
        states = [_with_collected(net.states[state], collected) for state, collected in numbers]
        return states, np.array(nodes, dtype=np.int64), owner


def _with_collected(state: Any, collected: int) -> At[Any]:
    if not isinstance(state, At):
        return At(state, collected=collected)
    refuse_counter(state.counters)
    return At(state.state, **state.counters, collected=collected)


def refuse_counter(names: Iterable[str]) -> None:
    """Refuse a game that has a counter of its own of the name of the sum."""
    if COLLECTED in names:
        msg = f"the game has a counter {COLLECTED!r}, the name of the sum of the rewards; give it another name"
        raise GameError(msg, value=COLLECTED)


def _representative(canonical: Callable[[Any], Any], state: At[Any]) -> At[Any]:
    counters = dict(state.counters)
    collected = counters.pop(COLLECTED)
    return _with_collected(canonical(At(state.state, **counters) if counters else state.state), collected)


def _ending(network: Network, gains: Bools, name: str) -> Network:
    """End the plays that go on for ever without another reward, with what they have collected."""
    if not (loose := gains & (network.kind != Kind.END)).any():
        return network
    if network.horizon is not None:
        how = "count the decisions in the state, and end the play with end(...)"
        msg = f"{name} of rewards on the way with a horizon: a play that is cut off would have to be paid; {how}"
        raise UnsupportedError(msg, value=network.horizon)
    component = end_components(network.indptr, network.dst, network.kind == Kind.CHANCE)
    source = network.source
    for_ever = loose & (component >= 0)
    if (leaving := for_ever[source] & (component[source] != component[network.dst])).any():
        node = int(source[np.argmax(leaving)])
        how = "give the play an end there, or count the points in the state and pay them with end(...)"
        msg = f"{name} of rewards during the play, where a player may go on for ever after collecting some; {how}"
        raise UnsupportedError(msg, state=network.describe(node))
    return network.keep_edges(np.flatnonzero(~for_ever[source]), payoff=np.where(for_ever, 0.0, network.payoff))
