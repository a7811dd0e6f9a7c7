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
from mdpdice.networks.arrays import split_exact
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network, edge_fields
from mdpdice.numerics.graph import attract, end_components, strong_components
from mdpdice.numerics.linear import solve_chain
from mdpdice.numerics.operator import bellman, unsigned
from mdpdice.numerics.rational import solve_exactly
from mdpdice.objectives.reductions import towards

SWEEPS, SHARE = 300, 0.75
"""Sweeps after which it is left to policies to come closer to a bias, and the share of its moves that is taken."""
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
    rank: Ints  # falls, until the next counted node, along every option and some edge of every chance node
    count: int  # of components

    @classmethod
    def of(cls, whole: Network, counted: Bools) -> Self:
        """Find the components; one without ends beside it takes in the nodes that lead to it."""
        component = end_components(whole.indptr, whole.dst, whole.kind == Kind.CHANCE)
        if component.max(initial=-1) == 0 and not (whole.kind == Kind.END).any():
            component = np.zeros_like(component)
        edge = np.flatnonzero((component[whole.source] >= 0) & (component[whole.source] == component[whole.dst]))
        nothing: Any = {"payoff": np.zeros(whole.n_nodes), "exact_payoffs": {}, "step": np.ones(len(edge), dtype=bool)}
        network = whole.keep_edges(edge, discount=DISCOUNT, **nothing)
        rank = np.where(counted | (network.kind == Kind.END), 0, -1)
        attract(network.source, network.dst, network.kind == Kind.CHANCE, rank)
        if (rank < 0).any():
            msg = "from here play can go on for ever and nothing is counted; say with per= which states are"
            raise UnsupportedError(msg, state=whole.describe(int(np.argmax(rank < 0))))
        return cls(network, edge, component, counted, rank, int(component.max(initial=-1)) + 1)

    def rewards(self, gain: Any, bias: Any) -> Any:
        """Return what every edge is worth beyond a gain, as floats, or as fractions where they are such."""
        net, rewards = self.network, self.network.reward
        if bias.dtype == object:
            rewards = np.array([*map(net.exact_reward, range(net.n_edges)), None], dtype=object)[:-1]
        moved = rewards + bias[net.dst] - bias[net.source]
        return moved - np.where(self.counted, np.append(gain, 0)[self.component], 0)[net.source]

    def discounted(self, gain: Any, bias: Any) -> Network:
        """Return the problem that is worth 0 everywhere if nothing can be gained on a gain."""
        rewards = self.rewards(gain, bias)
        rewards, exact = split_exact(len(rewards), dict(enumerate(rewards))) if bias.dtype == object else (rewards, {})
        return attrs.evolve(self.network, reward=rewards, exact_rewards=exact)

    def sweep(self, tolerance: float, check: Callable[[], None]) -> tuple[Ints, Floats, Floats]:
        """Return a policy, gains and a bias by relative value iteration, to a relative `tolerance` where plays mix."""
        from mdpdice.numerics.kernels.bellman import backup

        net, visited = self.network, np.flatnonzero(self.counted & (self.component >= 0))
        order: Any = np.argsort(strong_components(net.indptr, net.dst, ~self.counted[net.source]), kind="stable")
        order, after, at = unsigned(order[~self.counted[order]]), unsigned(visited), self.component[visited]
        rows, share = bellman(attrs.evolve(net, discount=Fraction(1))).rows, 1 / np.bincount(at)
        policy, (bias, moved) = np.full(net.n_nodes, -1), np.zeros((2, net.n_nodes))
        for _ in range(SWEEPS):
            check()
            backup(rows, order, bias, bias, policy)
            backup(rows, after, bias, moved, policy)
            move = moved[visited] - bias[visited]
            gain = share * np.bincount(at, move)
            move -= gain[at]
            if (np.abs(move) <= tolerance * np.maximum(1, np.abs(gain[at]))).all():
                break
            # Not all of the way, so that plays in rounds settle too.
            bias[visited] += SHARE * move
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
