"""Where plays can stay for ever, and the problems that the average there lowers to.

A play comes to stay in an end component, almost surely, and every one of them has a best average per counted visit,
its gain, that all its nodes share.  With any gain `g` and bias `h` the rewards ``r - g c + h(to) - h(from)``, where `c`
counts visits, have the same averages less `g`; so nothing can be gained from them, however discounted, if and only if
`g` is the gain.  A sweep that adds as much to `h` at all counted nodes adds the gain: D. J. White, "Dynamic
programming, Markov chains, and the method of successive approximations", J. Math. Anal. Appl. 6 (1963) 373-376.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Self

import attrs
import numpy as np

from mdpdice.errors import UnsupportedError
from mdpdice.networks.arrays import read_only, split_exact
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network, edge_fields
from mdpdice.numerics.graph import attract, end_components, strong_components
from mdpdice.numerics.linear import solve_chain
from mdpdice.numerics.operator import Operator, bellman, unsigned
from mdpdice.numerics.rational import solve_exactly
from mdpdice.objectives.reductions import towards

SWEEPS, AT_ONCE = 300, 5
"""Sweeps after which it is left to policies to come closer to a bias, and those between two checks of the time."""
DISCOUNT = Fraction(9, 10)
"""Discount, per edge, of what is gained on a gain."""
CLOSE = 1e-11
"""Relative difference of averages taken for equal."""


@attrs.frozen(eq=False)
class Staying:
    """The end components of a network whose only player maximises; whatever is in none of them is an end."""

    network: Network
    edge: Ints  # its edges in the network before
    component: Ints  # -1 for none
    counted: Bools
    between: Ints  # the nodes that are not counted, those first that others lead to
    rank: Ints  # falls, until the next counted node, along every option and some edge of every chance node
    count: int  # of components

    @classmethod
    def of(cls, whole: Network) -> Self:
        """Find the components; one without ends beside it takes in the nodes that lead to it."""
        chance, ends = whole.kind == Kind.CHANCE, whole.kind == Kind.END
        component = end_components(whole.indptr, whole.dst, chance)
        if component.max(initial=-1) == 0 and not ends.any():
            component[:] = 0
        place = component[whole.source]
        edge = np.flatnonzero((place >= 0) & (place == component[whole.dst]))
        network = whole if len(edge) == whole.n_edges else whole.keep_edges(edge)
        counted = np.bincount(whole.source[whole.step], minlength=whole.n_nodes) > 0
        between, rank = np.flatnonzero(~counted), 1 - counted
        if not counted[network.dst[~network.step]].all():
            label = strong_components(network.indptr, network.dst, ~network.step)
            between = between[np.argsort(label[between], kind="stable")]
            rank = np.where(counted | (network.kind == Kind.END), 0, -1)
            attract(network.source, network.dst, chance, rank)
        if (rank < 0).any():
            msg = "from here play can go on for ever and nothing is counted; say with per= which states are"
            raise UnsupportedError(msg, state=whole.describe(int(np.argmax(rank < 0))))
        return cls(network, edge, component, counted, between, rank, int(component.max(initial=-1)) + 1)

    def rewards(self, gain: Any, bias: Any, edges: Any = slice(None)) -> Any:
        """Return what edges are worth beyond a gain, as floats, or as fractions where they are such."""
        net, source, rewards = self.network, self.network.source[edges], self.network.reward[edges]
        if bias.dtype == object:
            numbers = np.arange(net.n_edges)[edges].tolist()
            rewards = np.array([*map(net.exact_reward, numbers), None], dtype=object)[:-1]
        moved = rewards + bias[net.dst[edges]] - bias[source]
        return moved - np.where(net.step[edges], np.append(gain, 0)[self.component][source], 0)

    def discounted(self, gain: Any, bias: Any) -> Network:
        """Return the problem that is worth 0 everywhere if nothing can be gained on a gain."""
        rewards, net = self.rewards(gain, bias), self.network
        rewards, exact = split_exact(len(rewards), dict(enumerate(rewards))) if bias.dtype == object else (rewards, {})
        every = np.ones(net.n_edges, dtype=bool)
        return attrs.evolve(net, reward=rewards, exact_rewards=exact, discount=DISCOUNT, step=every)

    def sweep(self, tolerance: float, check: Callable[[], None]) -> tuple[Ints, Floats, Floats]:
        """Return a policy, gains and a bias by relative value iteration, to a relative `tolerance` where plays mix."""
        from mdpdice.numerics.kernels import bellman as kernels

        net, visited = self.network, np.flatnonzero(self.counted & (self.component >= 0))
        # As of `bellman`, without a copy of every array: nothing is discounted, and nobody passes.
        base = np.bincount(net.source, net.weight * net.reward, net.n_nodes) * (net.kind == Kind.CHANCE)
        rows = Operator(net.kind, unsigned(net.indptr), unsigned(net.dst), net.reward, net.weight, base).rows
        policy, (bias, moved), gain = np.full(net.n_nodes, -1), np.zeros((2, net.n_nodes)), np.zeros(self.count)
        share, pace = read_only(1 / np.bincount(self.component[visited])), np.array([1.0, np.inf])
        nodes = unsigned(self.between), unsigned(visited), unsigned(self.component)
        for _ in range(0, SWEEPS, AT_ONCE):
            check()
            if kernels.sweep_averages(rows, *nodes, share, tolerance, AT_ONCE, bias, moved, gain, pace, policy):
                break
        return policy, gain, bias

    def evaluate(self, policy: Ints, before: Any) -> tuple[Ints, Any, Any]:
        """Return a policy that is led to the best average it has in a component, that gain, and a bias of every node.

        The bias is `before`, floats or fractions, at one node of every class where plays stay, so it never falls.
        """
        net, component, close = self.network, self.component, 0 if before.dtype == object else CLOSE
        while True:
            taken = ~net.decides[net.source]
            taken[policy[net.decides]] = True
            edges = np.flatnonzero(taken)
            label = strong_components(net.indptr, net.dst, taken)
            left = label[net.source[edges]] != label[net.dst[edges]]
            stays = (component >= 0) & ~np.isin(label, label[net.source[edges[left]]])
            order = np.argsort(-np.bincount(net.dst[edges], net.weight[edges], net.n_nodes), kind="stable")
            order = order[stays[order]]
            home = order[np.unique(label[order], return_index=True)[1]]  # one where plays often are, of every class
            paid, visits = self._returns(edges, home, before)
            average = (paid[home] - before[home]) / visits[home]
            best = np.full(self.count, average.min(), average.dtype)
            np.maximum.at(best, component[home], average)
            worse = average < best[component[home]] - close * np.maximum(1, np.abs(best[component[home]]))
            if not worse.any():
                return policy, best, np.where(component >= 0, paid - best[component] * visits, 0)
            better = np.flatnonzero(stays & ~np.isin(label, label[home[worse]]))
            led = np.flatnonzero(np.isin(component[net.source], component[home[worse]]))
            policy = np.where(net.decides, towards(net, led, better, policy.copy()), -1)

    def _returns(self, edges: Ints, home: Ints, before: Any) -> Iterable[Any]:
        """Return what is paid, with `before` at the end, and how often is counted, until plays come to a home again."""
        net, n, more = self.network, self.network.n_nodes, len(home)
        place = np.arange(n)
        place[home] = n + np.arange(more)
        degree = np.bincount(net.source[edges], minlength=n + more)
        payoff, exact = split_exact(n + more, dict(enumerate(before[home].tolist(), n)))
        kind, indptr = np.where(degree > 0, Kind.CHANCE, Kind.END), np.append(0, np.cumsum(degree))
        nameless: dict[str, Any] = {"start": 0, "states": range(0), "actions": [], **edge_fields(net, edges)}
        chain = Network(kind, indptr, place[net.dst[edges]], payoff=payoff, exact_payoffs=exact, **nameless)
        visits: Any = np.append(self.counted, np.zeros(more))
        if before.dtype != object:
            paying = bellman(chain)
            return (solve_chain(one, stochastic=True)[:n] for one in (paying, attrs.evolve(paying, base=visits)))
        nothing: dict[str, Any] = {"payoff": np.zeros(n + more), "exact_payoffs": {}, "exact_rewards": {}}
        counting = attrs.evolve(chain, reward=visits[chain.source], **nothing)
        return (np.array([*solve_exactly(one)[:n], None], dtype=object)[:-1] for one in (chain, counting))
