"""Reductions between networks, and the way back.

Each reduction gives a `Lowering`: the simpler network, and what turns a value and a policy of it into a value and a
policy of the one before.  Solvers see the last network of the chain, the canonical problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal, TypeAlias, TypeVar

import attrs
import numpy as np

from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.sense import Sense
from mdpdice.networks.arrays import moved_numbers, split_exact
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network, actions_of, edge_fields
from mdpdice.numerics.graph import attract

_OTHER_SIDE = np.array([Kind.END, Kind.MIN, Kind.MAX, Kind.CHANCE], dtype=np.uint8)
M = TypeVar("M", Network, Lattice)
Because: TypeAlias = Literal["collects", "postpones", "pays", "won", "missed by all", "missed by some"]


@attrs.frozen(eq=False)
class Lowering:
    """A simpler network and the way back from it: its value ``x`` means ``scale * x + shift``."""

    network: Network
    node: Ints = attrs.field(default=attrs.Factory(lambda it: np.arange(it.network.n_nodes), takes_self=True))
    """Node of the simpler network that has the value of each node of the one before; -1 where it is infinite."""
    edge: Ints = attrs.field(default=attrs.Factory(lambda it: np.arange(it.network.n_edges), takes_self=True))
    """Edge of the network before that each edge stands for; -1 for none."""
    scale: float = 1.0  # or -1
    shift: Fraction = Fraction(0)
    merged: Merged | None = None
    """How to act at nodes that were merged into one."""
    infinite: Ints | None = None
    """Edge to take at decision nodes of infinite value."""
    because: Because = "collects"
    """Why a value is infinite."""
    stages: int = 0
    """Number of stages that the simpler network holds side by side, 0 for none."""
    lost: Bools | None = None
    """Where an infinite value is minus infinity, if a game of two players has some of both."""

    @property
    def _infinity(self) -> Floats:
        """The infinite value of every node, where it has one."""
        negative = self.because == "pays" if self.lost is None else self.lost
        return np.where(np.broadcast_to(negative, self.node.shape), -np.inf, np.inf)

    def value(self, array: Floats, *, up: bool | None = None) -> Floats:
        """Lift values; with `up`, bounds, rounded outwards where the shift rounds."""
        if self.stages:
            return array.reshape(self.stages, -1)
        result = np.where(self.node >= 0, array[..., self.node], self._infinity)
        if self.scale < 0:
            # Subtracted from 0, so that no -0.0 comes out.
            result = 0.0 - result
        if self.shift:
            shift = float(self.shift)
            if up is None:
                return result + shift
            # Where the sum is small, what the shift itself was rounded by is more than the next float of the sum.
            outwards = np.inf if up else -np.inf
            if Fraction(shift) != self.shift:
                shift = float(np.nextafter(shift, outwards))
            result = np.nextafter(result + shift, outwards)
        return result

    def exact(self, rows: Sequence[Sequence[Fraction]]) -> list[list[Any]]:
        """Lift exact values, one row per stage; infinite ones are floats."""
        sign = 1 if self.scale > 0 else -1
        places = list(zip(self.node.tolist(), (sign * self._infinity).tolist(), strict=True))
        if self.stages:
            size = len(places) // self.stages
            rows, places = [rows[0][at : at + size] for at in range(0, len(places), size)], places[:size]
        return [[sign * row[node] + self.shift if node >= 0 else infinite for node, infinite in places] for row in rows]

    def bounds(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Lift an interval."""
        low, high = self.value(lower, up=self.scale < 0), self.value(upper, up=self.scale > 0)
        return (low, high) if self.scale > 0 else (high, low)

    def policy(self, chosen: Ints) -> Ints:
        """Lift chosen edges; -1 where nothing is chosen."""
        # The appended -1 answers for "nothing chosen", which indexes it.
        edge = np.append(self.edge, -1)
        if self.stages:
            return edge[chosen].reshape(self.stages, -1)
        result = edge[np.where(self.node >= 0, chosen[..., self.node], -1)]
        if self.merged is not None:
            result = self.merged.policy(result)
        if self.infinite is not None:
            result = np.where(self.node < 0, self.infinite, result)
        return result


@attrs.frozen(eq=False)
class Merged:
    """How to act inside end components that were merged into one node."""

    before: Network
    component: Ints
    stay: Ints

    def policy(self, result: Ints) -> Ints:
        """Complete a policy: inside a component go to the node of the chosen exit, or stay."""
        source, component = self.before.source, self.component
        members = np.flatnonzero(component >= 0)
        # What is chosen for the node that a component became is what all its members have here.
        exits = np.unique(result[members][result[members] >= 0])
        result = result.copy()
        result[members] = self.stay[members]
        if len(exits):
            inside = (component[source] >= 0) & (component[source] == component[self.before.dst])
            idle = np.flatnonzero(inside & (self.before.reward == 0))
            result = towards(self.before, idle, source[exits].tolist(), result)
            result[source[exits]] = exits
        result[~self.before.decides] = -1
        return result


def towards(network: Network, edges: Ints, targets: Sequence[int] | Ints, policy: Ints) -> Ints:
    """Make the decisions among `edges`, in their order, lead to the nearest of some nodes."""
    rank, source, dst = np.full(network.n_nodes, -1), network.source[edges], network.dst[edges]
    rank[targets] = 0
    attract(source, dst, np.ones(network.n_nodes, dtype=bool), rank)
    nearer = edges[(rank[dst] >= 0) & (rank[dst] < rank[source])][::-1]
    policy[network.source[nearer]] = nearer
    return policy


def chain(network: Network, steps: Sequence[Any], check: Callable[[], None] = lambda: None) -> list[Lowering]:
    """Apply reductions one after the other; those that return None have nothing to do, and `check` may raise."""
    done: list[Lowering] = []
    for step in steps:
        check()
        if (lowering := step(network)) is not None:
            done.append(lowering)
            network = lowering.network
    return done


def negate(network: Network) -> Lowering:
    """Turn costs into rewards: every payoff and reward changes its sign, and the values with them.

    A network in which only the minimiser decides becomes one in which only the maximiser does; with both, or
    with `pass_to`, each player keeps their nodes, since the one who maximised the sum minimises it now.
    """
    kind = network.kind
    if not network.two_player:
        kind = np.where(kind == Kind.MIN, Kind.MAX, kind)
    lowered = attrs.evolve(
        network,
        kind=kind,
        sense="max",
        # Subtracting from 0 keeps zero rewards at +0.0, so that equal problems have equal digests.
        reward=0.0 - network.reward,
        payoff=0.0 - network.payoff,
        total=-network.total,
        exact_rewards={at: -value for at, value in network.exact_rewards.items()},
        exact_payoffs={at: -value for at, value in network.exact_payoffs.items()},
    )
    return Lowering(lowered, scale=-1.0)


def for_sense(model: M, sense: Sense | None = None) -> M:
    """Return the network or lattice whose player to move maximises what `sense`, by default its own, asks for."""
    if (model.sense if sense is None else sense) == "min":
        return attrs.evolve(model, kind=_OTHER_SIDE[model.kind], sense="max")
    return model if model.sense == "max" else attrs.evolve(model, sense="max")


def turn_sides(network: Network) -> Lowering:
    """Make the only player, who minimises the negated sum, a maximiser of the sum."""
    return Lowering(for_sense(network, "min"))


def shift_total(network: Network) -> Lowering | None:
    """Make a constant-sum game zero-sum: ``V - total / 2`` changes its sign through `pass_to`; an endless play is 0."""
    if network.total == 0:
        return None
    half = network.total / 2
    ends = np.flatnonzero(network.kind == Kind.END).tolist()
    payoff, exact = split_exact(network.n_nodes, {node: network.exact_payoff(node) - half for node in ends})
    return Lowering(attrs.evolve(network, payoff=payoff, total=Fraction(0), exact_payoffs=exact), shift=half)


def shift_value(network: Network, *, shift: Fraction) -> Lowering | None:
    """Say that values of this network lie `shift` below those of the one before."""
    return Lowering(network, shift=shift) if shift else None


def stop_at(network: Network, ends: Bools, payoff: Floats, sense: Sense, *, rewards: bool) -> Network:
    """Return the undiscounted network that stops at the marked nodes with new payoffs, with rewards or without."""
    kept = np.flatnonzero(~ends[network.source])
    return network.keep_edges(
        kept,
        payoff=np.where(ends, payoff, 0.0),
        discount=Fraction(1),
        total=Fraction(0),
        sense=sense,
        exact_payoffs={},
        **({} if rewards else {"reward": np.zeros(len(kept)), "exact_rewards": {}}),
    )


def without(network: Network, keep: Bools, policy: Ints | None = None, because: Because = "collects") -> Lowering:
    """Leave out the nodes that are not kept, whose value is infinite, with the options that may lead to them.

    Every chance node that is kept has all its successors kept; `policy` has the edges to take at the nodes left out,
    by default the first.
    """
    if policy is None:
        policy = np.where(network.decides, network.indptr[:-1], -1)
    node = np.where(keep, np.cumsum(keep) - 1, -1)
    edges = np.flatnonzero(keep[network.source] & keep[network.dst])
    if not keep.any():
        one_end = Network([Kind.END], [0, 0], [], [], [], [], [], [0.0], 0)
        return Lowering(one_end, node, edges, infinite=policy, because=because)
    named, renumbered = np.flatnonzero(keep[network.state_node]), np.full(network.n_states + 1, -1)
    renumbered[named] = np.arange(len(named))
    cut = network.keep_edges(edges)
    lowered = attrs.evolve(
        cut,
        kind=cut.kind[keep],
        # Nodes that are left out have no edges any more.
        indptr=np.append(0, cut.indptr[1:][keep]),
        dst=node[cut.dst],
        payoff=cut.payoff[keep],
        start=max(0, int(node[network.start])),
        states=[network.states[i] for i in named.tolist()],
        state_node=node[network.state_node[named]],
        node_state=renumbered[network.node_state[keep]],
        exact_payoffs=moved_numbers(network.exact_payoffs, np.flatnonzero(keep)),
    )
    return Lowering(lowered, node, edges, infinite=policy, because=because)


def unroll(network: Network) -> Lowering | None:
    """Write the stages of a horizon side by side: node ``k * N + i`` is node ``i`` with ``k`` decisions left."""
    if network.horizon is None:
        return None
    n, stages = network.n_nodes, network.horizon + 1
    decides = network.decides & ~network.nature
    # With none left decisions are ends; nature goes on.
    degree, edges0 = np.diff(network.indptr), np.flatnonzero(~decides[network.source])
    old_edge = np.concatenate([edges0] + [np.arange(network.n_edges)] * (stages - 1))
    stage = np.repeat(np.arange(stages), [len(edges0)] + [network.n_edges] * (stages - 1))
    stage_after = stage - decides[network.source[old_edge]]
    per_node = np.concatenate([np.where(decides, 0, degree)] + [degree] * (stages - 1))
    lowered = attrs.evolve(
        network,
        kind=np.concatenate([np.where(decides, Kind.END, network.kind)] + [network.kind] * (stages - 1)),
        indptr=np.concatenate(([0], np.cumsum(per_node))),
        dst=network.dst[old_edge] + n * stage_after,
        **edge_fields(network, old_edge),
        payoff=np.tile(network.payoff, stages),
        start=network.start + n * network.horizon,
        horizon=None,
        states=range(0),
        state_node=np.zeros(0, dtype=np.int64),
        node_state=np.full(n * stages, -1),
        actions=[*actions_of(network, edges0), *list(network.actions) * (stages - 1)],
        exact_payoffs={k * n + at: x for k in range(stages) for at, x in network.exact_payoffs.items()},
    )
    return Lowering(lowered, np.arange(n * stages), old_edge, stages=stages)


def one_view(model: M) -> M:
    """Return the model as the player who starts sees it: node ``N + i`` is node ``i`` with the other one to move."""
    n, e, passing = model.n_nodes, model.n_edges, model.sign < 0
    fields = ("weight", "numerator", "reward", "payoff", "step", "switch", "guard", "update")
    twice: dict[str, Any] = {name: np.tile(getattr(model, name), 2) for name in fields if hasattr(model, name)}
    return attrs.evolve(
        model,
        **twice,
        kind=np.concatenate((model.kind, _OTHER_SIDE[model.kind])),
        indptr=np.concatenate((model.indptr, e + model.indptr[1:])),
        dst=np.concatenate((model.dst + n * passing, model.dst + n * ~passing)),
        sign=np.ones(2 * e, dtype=np.int8),
        node_state=np.tile(model.node_state, 2),
        actions=list(model.actions) * 2,
        total=Fraction(0),
    )


def both_sides(network: Network) -> Network:
    """Return a zero-sum network without `pass_to`: node ``N + i`` is node ``i`` seen by the opponent of its mover."""

    def twice(numbers: Mapping[int, Fraction], size: int) -> dict[int, Fraction]:
        return {**numbers, **{size + at: -value for at, value in numbers.items()}}

    return attrs.evolve(
        one_view(network),
        reward=np.concatenate((network.reward, 0.0 - network.reward)),
        payoff=np.concatenate((network.payoff, 0.0 - network.payoff)),
        exact_rewards=twice(network.exact_rewards, network.n_edges),
        exact_payoffs=twice(network.exact_payoffs, network.n_nodes),
    )
