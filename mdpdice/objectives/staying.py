"""Where plays can stay for ever, and the problems that the average there lowers to.

A play comes to stay in an end component, almost surely, and every one of them has a best average per counted visit,
its gain, that all its nodes share.  With any gain `g` and bias `h` the rewards ``r - g c + h(to) - h(from)``, where `c`
counts visits, have the same averages less `g`; so nothing can be gained from them, however discounted, if and only if
`g` is the gain.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

import attrs
import numpy as np

from mdpdice.errors import UnsupportedError
from mdpdice.networks.arrays import split_exact
from mdpdice.networks.network import Bools, Ints, Kind, Network, edge_fields
from mdpdice.numerics.graph import attract, end_components, strong_components
from mdpdice.numerics.linear import solve_chain
from mdpdice.numerics.operator import bellman
from mdpdice.numerics.rational import solve_exactly

DISCOUNT = Fraction(9, 10)
"""Discount, per edge, of what is gained on a gain."""
SETTLING = 32
"""Steps of a chain after which it is looked where plays are most of the time."""
CLOSE = 1e-11
"""Relative difference of two averages in floats that are taken for equal."""


@attrs.frozen(eq=False)
class Staying:
    """The end components of a network whose only player maximises.

    Its nodes are those of the whole network; `edge` has the edges there, and whatever is in no component ends.
    `rank` falls, until the next `counted` node, along every option and some edge of every chance node.
    """

    network: Network
    edge: Ints
    component: Ints  # -1 for none
    counted: Bools
    rank: Ints

    @classmethod
    def of(cls, whole: Network, counted: Bools, unless: str) -> Self:
        """Find the components; one without ends beside it takes in the nodes that lead to it."""
        component = end_components(whole.indptr, whole.dst, whole.kind == Kind.CHANCE)
        if component.max(initial=-1) == 0 and not (whole.kind == Kind.END).any():
            component = np.zeros_like(component)
        edge = np.flatnonzero((component[whole.source] >= 0) & (component[whole.source] == component[whole.dst]))
        ends = {"payoff": np.zeros(whole.n_nodes), "exact_payoffs": {}, "discount": Fraction(1)}
        network = whole.keep_edges(edge, **ends)
        rank = np.where(counted | (network.kind == Kind.END), 0, -1)
        attract(network.source, network.dst, network.kind == Kind.CHANCE, rank)
        if (rank < 0).any():
            msg = f"from here play can go on for ever without {unless}; there is nothing to divide by"
            raise UnsupportedError(msg, state=whole.describe(int(np.argmax(rank < 0))))
        return cls(network, edge, component, counted, rank)

    @property
    def count(self) -> int:
        """Number of components."""
        return int(self.component.max(initial=-1)) + 1

    def rewards(self, gain: Any, bias: Any) -> Any:
        """Return what every edge is worth beyond a gain, as floats, or as fractions where they are such."""
        net = self.network
        rewards: Any = net.reward
        if bias.dtype == object:
            rewards = np.array([net.exact_reward(edge) for edge in range(net.n_edges)] + [None], dtype=object)[:-1]
        moved = rewards + bias[net.dst] - bias[net.source]
        counted = self.counted[net.source]
        moved[counted] -= gain[self.component[net.source[counted]]]
        return moved

    def discounted(self, gain: Any, bias: Any) -> Network:
        """Return the problem that is worth 0 everywhere if nothing can be gained on a gain."""
        rewards, exact = self.rewards(gain, bias), {}
        if bias.dtype == object:
            rewards, exact = split_exact(len(rewards), dict(enumerate(rewards)))
        step = np.ones(len(rewards), dtype=bool)
        return attrs.evolve(self.network, reward=rewards, exact_rewards=exact, step=step, discount=DISCOUNT)

    def evaluate(self, policy: Ints, before: Any) -> tuple[Ints, Any, Any]:
        """Return a policy that is nowhere worse, the gain of every component under it, and a bias of every node.

        A policy whose plays can come to stay with less than the best average of their component is led to that.  The
        bias is `before`, floats or fractions, at one node of every class where plays stay, so it never falls.
        """
        net = self.network
        while True:
            taken = ~net.decides[net.source]
            taken[policy[net.decides]] = True
            edges = np.flatnonzero(taken)
            label = strong_components(net.indptr, net.dst, taken)
            left = label[net.source[edges]] != label[net.dst[edges]]
            stays = (self.component >= 0) & ~np.isin(label, label[net.source[edges[left]]])
            home = self._homes(edges, label, stays)
            paid, visits = self._returns(edges, home, before)
            average = (paid[home] - before[home]) / visits[home]
            best = np.full(self.count, average.min(initial=0) if len(home) == 0 else average.min(), average.dtype)
            np.maximum.at(best, self.component[home], average)
            there = best[self.component[home]]
            worse = average < there - (0 if before.dtype == object else CLOSE * np.maximum(1.0, np.abs(there)))
            if not worse.any():
                bias = paid - np.append(best, 0)[self.component] * visits
                return policy, best, np.where(self.component >= 0, bias, 0)
            rank = np.where(stays & ~np.isin(label, label[home[worse]]), 0, -1)
            attract(net.source, net.dst, np.ones(net.n_nodes, dtype=bool), rank)
            moved = net.decides & (rank > 0) & np.isin(self.component, self.component[home[worse]])
            nearer = moved[net.source] & (rank[net.dst] >= 0) & (rank[net.dst] < rank[net.source])
            policy = policy.copy()
            policy[net.source[nearer]] = np.flatnonzero(nearer)

    def _homes(self, edges: Ints, label: Ints, stays: Bools) -> Ints:
        """Return a node of every class of nodes that plays stay in, one where they often are."""
        net = self.network
        source, dst, chance = net.source[edges], net.dst[edges], net.weight[edges]
        often = np.ones(net.n_nodes)
        for _ in range(SETTLING):
            often = (often + np.bincount(dst, often[source] * chance, minlength=net.n_nodes)) / 2
        nodes = np.flatnonzero(stays)
        nodes = nodes[np.argsort(often[nodes], kind="stable")]
        home = np.full(int(label.max(initial=-1)) + 1, -1)
        home[label[nodes]] = nodes
        return home[home >= 0]

    def _returns(self, edges: Ints, home: Ints, before: Any) -> tuple[Any, Any]:
        """Return what is paid, with `before` at the end, and how often is counted, until plays come to a home again."""
        net, n = self.network, self.network.n_nodes
        place = np.arange(n)
        place[home] = n + np.arange(len(home))
        degree = np.bincount(net.source[edges], minlength=n)
        payoff, exact = split_exact(n + len(home), dict(enumerate(before[home].tolist(), n)))
        chain = Network(
            kind=np.concatenate((np.where(degree > 0, Kind.CHANCE, Kind.END), np.full(len(home), Kind.END))),
            indptr=np.concatenate(([0], np.cumsum(degree), np.full(len(home), len(edges)))),
            dst=place[net.dst[edges]],
            **edge_fields(net, edges),
            payoff=payoff,
            exact_payoffs=exact,
            start=0,
            states=range(0),
            actions=[],
        )
        visits = np.append(self.counted & (degree > 0), np.zeros(len(home))).astype(np.float64)
        if before.dtype != object:
            operator = bellman(chain)
            counting = attrs.evolve(operator, base=visits)
            return solve_chain(operator, stochastic=True)[:n], solve_chain(counting, stochastic=True)[:n]
        counts = visits[chain.source]
        nothing = {"payoff": np.zeros(n + len(home)), "exact_payoffs": {}, "exact_rewards": {}}
        paid, counted = solve_exactly(chain), solve_exactly(attrs.evolve(chain, reward=counts, **nothing))
        return (np.array([*found[:n], None], dtype=object)[:-1] for found in (paid, counted))  # type: ignore[return-value]
