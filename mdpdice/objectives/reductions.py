"""Reductions between networks, and the way back.

Each reduction gives a `Lowering`: the simpler network, and what turns a value
and a policy of it into a value and a policy of the one before.  Back-ends see
the last network of the chain, the canonical problem.
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
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network

__all__ = [
    "Because",
    "Lowering",
    "Merged",
    "both_sides",
    "chain",
    "for_sense",
    "negate",
    "shift_total",
    "shift_value",
    "stop_at",
    "towards",
    "unroll",
    "without",
]

M = TypeVar("M", Network, Lattice)
Because: TypeAlias = Literal["collects", "postpones", "pays", "won", "missed by all", "missed by some"]


@attrs.frozen(eq=False)
class Lowering:
    """A simpler network and the way back from it.

    Parameters
    ----------
    network : Network
        The simpler network.
    node : ndarray of int64, shape (N,)
        Node of the simpler network that has the value of each node of the one
        before; -1 where the value is infinite.
    edge : ndarray of int64, shape (edges of the simpler network,)
        Edge of the network before that each edge stands for; -1 for none.
    scale : float
    shift : Fraction
        A value ``x`` of the simpler network means ``scale * x + shift``; the
        scale is 1 or -1.
    merged : Merged, optional
        How to act at nodes that were merged into one.
    infinite : ndarray of int64, shape (N,), optional
        Edge to take at decision nodes of infinite value.
    because : str
        Why a value is infinite: play collects without end; it collects as often as the player likes before he
        goes for a target; every policy lets it pay without
        end with positive probability, so the value is minus infinity; one of two players collects
        without end whatever the other does; or a goal is missed with positive probability
        by all policies, or by some.
    stages : int
        Number of stages that the simpler network holds side by side, 0 for none.
    lost : ndarray of bool, shape (N,), optional
        Where an infinite value is minus infinity, if a game of two players has some of both.
    """

    network: Network
    node: Ints
    edge: Ints
    scale: float = 1.0
    shift: Fraction = Fraction(0)
    merged: Merged | None = None
    infinite: Ints | None = None
    because: Because = "collects"
    stages: int = 0
    lost: Bools | None = None

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
        return [
            [sign * row[node] + self.shift if node >= 0 else infinite for node, infinite in places]
            for row in rows
        ]

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
        at_node = np.where(self.node >= 0, chosen[..., self.node], -1)
        result = edge[at_node]
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
        inside = (component[source] >= 0) & (component[source] == component[self.before.dst])
        idle = np.flatnonzero(inside & (self.before.reward == 0))
        result = towards(self.before, idle, source[exits].tolist(), result)
        result[source[exits]] = exits
        result[~self.before.decides] = -1
        return result


def towards(network: Network, edges: Ints, targets: Sequence[int], policy: Ints) -> Ints:
    """Make the decisions among `edges` lead to the nearest of some nodes, in the order of their distance."""
    entering: dict[int, list[int]] = {}
    for edge, to in zip(edges.tolist(), network.dst[edges].tolist(), strict=True):
        entering.setdefault(to, []).append(edge)
    seen, queue = set(targets), list(targets)
    for node in queue:
        for edge in entering.get(node, ()):
            before = int(network.source[edge])
            if before not in seen:
                seen.add(before)
                policy[before] = edge
                queue.append(before)
    return policy


def chain(network: Network, steps: Sequence[Any], check: Callable[[], None] = lambda: None) -> list[Lowering]:
    """Apply reductions one after the other; those that return None have nothing to do, and `check` may raise."""
    done: list[Lowering] = []
    for step in steps:
        check()
        lowering = step(network)
        if lowering is not None:
            done.append(lowering)
            network = lowering.network
    return done


def _identity(network: Network) -> dict[str, Any]:
    return {"node": np.arange(network.n_nodes), "edge": np.arange(network.n_edges)}


def negate(network: Network, *, twice: bool = False) -> Lowering:
    """Turn costs into rewards: every payoff and reward changes its sign, and the values with them.

    With `twice` only the minimiser, who decides alone, becomes a maximiser.

    A network in which only the minimiser decides becomes one in which only the
    maximiser does; with both, or with `pass_to`, each player keeps his nodes, since
    the one who maximised the sum minimises it now.
    """
    kind = network.kind
    if not network.two_player:
        kind = np.where(kind == Kind.MIN, Kind.MAX, kind)
    if twice:
        return Lowering(attrs.evolve(network, kind=kind, sense="max"), **_identity(network))
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
    return Lowering(lowered, scale=-1.0, **_identity(network))


def for_sense(model: M, sense: Sense | None = None) -> M:
    """The network or lattice in which the player to move wants much of what `sense`, by default its own, says."""
    kind, sense = model.kind.copy(), model.sense if sense is None else sense
    if sense == "min":
        kind[model.kind == Kind.MAX], kind[model.kind == Kind.MIN] = Kind.MIN, Kind.MAX
    elif model.sense == "max":
        return model
    return attrs.evolve(model, kind=kind, sense="max")


def shift_total(network: Network) -> Lowering | None:
    """Make a constant-sum game zero-sum: ``V - total / 2`` changes its sign through `pass_to`.

    An endless play is worth 0 there, so ``total / 2`` to both sides.
    """
    if network.total == 0:
        return None
    half = network.total / 2
    ends = np.flatnonzero(network.kind == Kind.END).tolist()
    payoff, exact_payoffs = split_exact(
        network.n_nodes, {node: network.exact_payoff(node) - half for node in ends}
    )
    lowered = attrs.evolve(network, payoff=payoff, total=Fraction(0), exact_payoffs=exact_payoffs)
    return Lowering(lowered, shift=half, **_identity(network))


def shift_value(network: Network, *, shift: Fraction) -> Lowering | None:
    """Say that values of this network lie `shift` below those of the one before."""
    return Lowering(network, shift=shift, **_identity(network)) if shift else None


def stop_at(network: Network, ends: Bools, payoff: Floats, sense: Sense, *, rewards: bool) -> Network:
    """The undiscounted network whose plays stop at the marked nodes with new payoffs, with its rewards or without."""
    kept = np.flatnonzero(~ends[network.source])
    without_rewards = {"reward": np.zeros(len(kept)), "exact_rewards": {}}
    return network.keep_edges(
        kept,
        payoff=np.where(ends, payoff, 0.0),
        discount=Fraction(1),
        total=Fraction(0),
        sense=sense,
        exact_payoffs={},
        **({} if rewards else without_rewards),
    )


def without(
    network: Network,
    keep: Bools,
    policy: Ints | None = None,
    because: Because = "collects",
) -> Lowering:
    """Leave out the nodes that are not kept, whose value is infinite, with the options that may lead to them.

    Parameters
    ----------
    network : Network
        The network.
    keep : ndarray of bool, shape (N,)
        Nodes to keep; every chance node among them has all its successors kept.
    policy : ndarray of int64, shape (N,), optional
        Edges to take at the nodes left out, by default the first.
    because : str
        See `Lowering`.
    """
    if policy is None:
        policy = np.where(network.decides, network.indptr[:-1], -1)
    number = np.cumsum(keep) - 1
    edges = np.flatnonzero(keep[network.source] & keep[network.dst])
    start = network.start
    if not keep.any() or not keep[start]:
        start = int(np.argmax(keep)) if keep.any() else start
    node = np.where(keep, number, -1)
    if not keep.any():
        empty = _one_end()
        return Lowering(empty, node, np.zeros(0, dtype=np.int64), infinite=policy, because=because)
    named = np.flatnonzero(keep[network.state_node])
    cut = network.keep_edges(edges)
    lowered = attrs.evolve(
        cut,
        kind=cut.kind[keep],
        # Nodes that are left out have no edges any more.
        indptr=np.append(0, cut.indptr[1:][keep]),
        dst=number[cut.dst],
        payoff=cut.payoff[keep],
        start=int(number[start]),
        states=[network.states[i] for i in named.tolist()],
        state_node=number[network.state_node[named]],
        node_state=_renumbered(network.node_state[keep], named, network.n_states),
        exact_payoffs=moved_numbers(network.exact_payoffs, np.flatnonzero(keep)),
    )
    return Lowering(lowered, node, edges, infinite=policy, because=because)


def _renumbered(node_state: Ints, named: Ints, n_states: int) -> Ints:
    new = np.full(n_states + 1, -1, dtype=np.int64)
    new[named] = np.arange(len(named))
    return new[node_state]


def _one_end() -> Network:
    return Network(
        kind=[Kind.END], indptr=[0, 0], dst=[], weight=[], reward=[], sign=[], step=[], payoff=[0.0], start=0
    )


def unroll(network: Network) -> Lowering | None:
    """Write the stages of a horizon side by side: node ``k * N + i`` is node ``i`` with ``k`` decisions left.

    For back-ends that know no horizon.
    """
    if network.horizon is None:
        return None
    n, stages = network.n_nodes, network.horizon + 1
    decides = network.decides
    keep0 = ~decides[network.source]
    degree = np.diff(network.indptr)
    degree0 = np.where(decides, 0, degree)
    edges0 = np.flatnonzero(keep0)
    all_edges = np.arange(network.n_edges)
    old_edge = np.concatenate([edges0] + [all_edges] * (stages - 1))
    stage = np.repeat(np.arange(stages), [len(edges0)] + [network.n_edges] * (stages - 1))
    stage_after = stage - decides[network.source[old_edge]]
    kind0 = np.where(decides, Kind.END, network.kind)

    def repeated(array: Any) -> Any:
        return array[old_edge]

    first_copies = moved_numbers(network.exact_rewards, old_edge)
    exact_payoffs = {k * n + at: value for k in range(stages) for at, value in network.exact_payoffs.items()}
    lowered = attrs.evolve(
        network,
        kind=np.concatenate([kind0] + [network.kind] * (stages - 1)),
        indptr=np.concatenate(([0], np.cumsum(np.concatenate([degree0] + [degree] * (stages - 1))))),
        dst=network.dst[old_edge] + n * stage_after,
        weight=repeated(network.weight),
        reward=repeated(network.reward),
        sign=repeated(network.sign),
        step=repeated(network.step),
        payoff=np.tile(network.payoff, stages),
        start=network.start + n * network.horizon,
        horizon=None,
        numerator=repeated(network.numerator),
        states=range(0),
        state_node=np.zeros(0, dtype=np.int64),
        node_state=np.full(n * stages, -1),
        actions=list(network.actions) * (stages - 1),
        exact_rewards=first_copies,
        exact_payoffs=exact_payoffs,
    )
    return Lowering(lowered, np.arange(n * stages), old_edge, stages=stages)


def both_sides(network: Network) -> Network:
    """A zero-sum network without `pass_to`: node ``N + i`` is node ``i`` seen by the opponent of its mover."""
    n, kind = network.n_nodes, network.kind
    other = np.select([kind == Kind.MAX, kind == Kind.MIN], [Kind.MIN, Kind.MAX], kind)
    passing = network.sign < 0
    e = network.n_edges

    def twice(numbers: Mapping[int, Fraction], size: int) -> dict[int, Fraction]:
        return {**numbers, **{size + at: -value for at, value in numbers.items()}}

    return attrs.evolve(
        network,
        kind=np.concatenate((kind, other)),
        indptr=np.concatenate((network.indptr, e + network.indptr[1:])),
        dst=np.concatenate((network.dst + n * passing, network.dst + n * ~passing)),
        weight=np.tile(network.weight, 2),
        reward=np.concatenate((network.reward, 0.0 - network.reward)),
        sign=np.ones(2 * e, dtype=np.int8),
        step=np.tile(network.step, 2),
        payoff=np.concatenate((network.payoff, 0.0 - network.payoff)),
        numerator=np.tile(network.numerator, 2),
        states=network.states,
        state_node=network.state_node,
        node_state=np.concatenate((network.node_state, np.full(n, -1))),
        actions=list(network.actions) * 2,
        exact_rewards=twice(network.exact_rewards, e),
        exact_payoffs=twice(network.exact_payoffs, n),
    )
