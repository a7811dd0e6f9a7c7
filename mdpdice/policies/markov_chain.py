"""The chain that is left of a network when all players follow a policy.

Nobody decides any more then: the network becomes a Markov chain with rewards. `induce` writes that `Chain`, itself a
network in which all nodes are chance nodes and ends, and the rest of the library (evaluation, distributions,
simulation) works on it.  Where the policy depends on more than the node, the chain holds several copies of the nodes
side by side: one per stage of a horizon, and one per seat where two players with different policies pass the move to
each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from mdpdice.answers.policy import Policy, Weights
from mdpdice.errors import UnsupportedError
from mdpdice.modelling.game import Game
from mdpdice.modelling.nearest import SMALLEST
from mdpdice.networks.network import Bools, Ints, Kind, Network, edge_fields
from mdpdice.numerics import graph
from mdpdice.objectives.reductions import both_sides, shift_total
from mdpdice.policies.players import Players, model_of, policies_of


@attrs.frozen(eq=False)
class Chain:
    """What happens when all players follow a policy: a Markov chain with rewards.

    Node ``(k * seats + s) * N + i`` of `network` is node ``i`` of `base` with ``k`` decisions left and the player of
    seat ``s`` to move.
    """

    base: Network  # where the decisions were taken
    network: Network  # the chain, without decisions
    policies: tuple[Policy, ...]  # those of `base` that are followed
    seats: int  # 2 if two players with different policies pass the move to each other, else 1

    def describe(self, node: int) -> Any:
        """Return the state of a node, or words that say which inline node it is."""
        return self.base.describe(node % self.base.n_nodes)

    def start(self, state: Hashable = None) -> int:
        """Node where plays from a state begin, by default from the start."""
        return self.network.start + (0 if state is None else self.base.node_of(state) - self.base.start)

    def per_node(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the nodes of `base` as its solutions have them: shape (N,) or (horizon + 1, N).

        With two seats, those of the player of seat 0 when that one is to move.
        """
        rows: NDArray[Any] = values.reshape(-1, self.seats, self.base.n_nodes)[:, 0]
        return rows if self.base.horizon is not None else rows[0]


def markov_chain(game: Game[Any, Any] | Network, policy: Players) -> Network:
    """Return the Markov chain with rewards that a policy makes of a game, as a network without decisions.

    Parameters
    ----------
    game : Game or Network
        What is played.
    policy : Policy, Solution, callable or str, or sequence of two
        As for `mdpdice.evaluate`.

    Returns
    -------
    Network
        Its nodes are those of the game's network, and its start is worth what the policy is worth.  With a horizon, or
        with two policies and `pass_to`, it has copies of them without names.

    Raises
    ------
    UnsupportedError
        The game is too large for a network.

    Examples
    --------
    >>> from mdpdice import markov_chain, solve
    >>> from mdpdice.games.pig import PigTurn
    >>> chain = markov_chain(PigTurn(), "hold-at:20")
    >>> bool(chain.decides.any()), round(solve(chain).value(), 6)
    (False, 8.141795)
    """
    policies = policies_of(game, policy)
    network = model_of(game, policies)
    if not isinstance(network, Network):
        raise UnsupportedError("this game is too large for a chain; evaluate and outcomes work on its lattice")
    return induce(network, policies).network


def induce(network: Network, policies: Policy | Sequence[Policy]) -> Chain:
    """Return the chain that is left when all players follow a policy, given as for `mdpdice.evaluate`."""
    placed = tuple(policy.on(network) for policy in ([policies] if isinstance(policies, Policy) else policies))
    seats = 2 if placed[0] is not placed[-1] and bool((network.sign < 0).any()) else 1
    kept, numerators = [], []
    decided = network.decides[network.source]
    for stage in range(1 if network.horizon is None else network.horizon + 1):
        for seat in range(seats):
            mine = _decisions(network, placed[seat : seat + 1] if seats == 2 else placed, stage)
            edges = np.flatnonzero(~decided | (mine > 0))
            if (stuck := network.nature & (np.bincount(network.source[edges], minlength=network.n_nodes) == 0)).any():
                msg = "the policy does not say what nature picks here; give nature's too, such as [policy, solution]"
                raise UnsupportedError(msg, state=network.describe(int(np.argmax(stuck))))
            kept.append(edges)
            numerators.append(_joined(decided[edges], mine[edges], network.numerator[edges]))
    if len({array.dtype for array in numerators}) > 1:
        numerators = [array.astype(object) for array in numerators]
    return Chain(network, _side_by_side(network, kept, np.concatenate(numerators), seats), placed, seats)


def _decisions(network: Network, policies: Sequence[Policy], stage: int) -> Weights:
    """Exact weights of all edges of decisions in one stage, by the policy of the player who decides."""
    first, last = (_edge_weights(policy, stage) for policy in (policies[0], policies[-1]))
    if network.horizon is not None and stage == 0:  # nature alone goes on
        return _joined(network.nature[network.source], last, np.zeros(network.n_edges, dtype=np.int64))
    return first if first is last else _joined((network.kind == Kind.MAX)[network.source], first, last)


def _edge_weights(policy: Policy, stage: int) -> Weights:
    if policy.weight is not None:
        return policy.weight[stage] if policy.staged else policy.weight
    choice = policy.choice[stage] if policy.staged else policy.choice
    weight = np.zeros(policy.network.n_edges, dtype=np.int64)
    weight[choice[policy.network.decides]] = 1
    return weight


def _joined(condition: Any, first: Weights, second: Weights) -> Weights:
    """``np.where`` that rounds nothing: different types meet as Python's own numbers."""
    if first.dtype != second.dtype:
        taken = first[condition]
        if ((taken == 0) | (taken == 1)).all():
            # The common case, and the only one in large networks: every type holds 0 and 1.
            return np.where(condition, first.astype(second.dtype), second)
        first, second = first.astype(object), second.astype(object)
    return np.where(condition, first, second)


def _side_by_side(network: Network, kept: Sequence[Ints], numerator: Weights, seats: int) -> Network:
    """Return the chain whose copies of the nodes keep these edges."""
    n, copies = network.n_nodes, len(kept)
    old = np.concatenate(kept)
    copy = np.repeat(np.arange(copies), [len(edges) for edges in kept])
    source = network.source[old]
    decided = network.decides[source]
    to = copy if network.horizon is None else copy - seats * (network.decides & ~network.nature)[source]
    if seats == 2:
        to = np.where(network.sign[old] < 0, to ^ 1, to)
    degree = np.bincount(copy * n + source, minlength=n * copies)
    weight = network.weight[old].copy()
    whole = np.zeros(n * copies, dtype=numerator.dtype)
    np.add.at(whole, (copy * n + source)[decided], numerator[decided])
    quotients = numerator[decided] / whole[(copy * n + source)[decided]]
    # A probability below the smallest float is still one.
    weight[decided] = np.maximum(quotients.astype(np.float64), SMALLEST)
    alone, half = copies == 1, network.total / 2
    cut = (degree == 0) & np.tile(network.decides, copies)
    exact = {c * n + at: value for c in range(copies) for at, value in network.exact_payoffs.items()}
    return attrs.evolve(
        network,
        # Decisions that the horizon cuts off become ends; nodes other than ends have payoff 0 already.
        kind=np.where(degree > 0, Kind.CHANCE, Kind.END),
        indptr=np.concatenate(([0], np.cumsum(degree))),
        dst=network.dst[old] + n * to,
        **edge_fields(network, old) | {"weight": weight, "numerator": numerator},
        payoff=np.where(cut, float(half), np.tile(network.payoff, copies)),
        start=network.start + n * (copies - seats),
        horizon=None,
        states=network.states if alone else range(0),
        state_node=network.state_node if alone else np.zeros(0, dtype=np.int64),
        node_state=network.node_state if alone else np.full(n * copies, -1),
        actions=(),
        exact_payoffs=exact if float(half) == half else exact | dict.fromkeys(np.flatnonzero(cut).tolist(), half),
    )


def one_sided(chain: Network) -> Network:
    """Return a chain as the player sees it who starts: node ``N + i`` is node ``i`` when the other player is to move.

    Half of `total` is taken off every payoff, so an endless play without rewards is worth 0.
    """
    lowered = shift_total(chain)
    whole = chain if lowered is None else lowered.network
    return both_sides(whole) if (whole.sign < 0).any() else whole


def closed(seen: Network) -> tuple[Bools, Bools, Bools]:
    """Nodes in closed sets, which a play never leaves: without any reward, with gains, and with losses."""
    label = graph.strong_components(seen.indptr, seen.dst)
    source, reward = label[seen.source], seen.reward
    shut, gains, loses = np.zeros((3, int(label.max()) + 1), dtype=bool)
    shut[source] = True
    shut[source[source != label[seen.dst]]] = False
    gains[source[reward > 0]] = True
    loses[source[reward < 0]] = True
    return (shut & ~gains & ~loses)[label], (shut & gains)[label], (shut & loses)[label]


def component_levels(label: Ints, source: Ints, dst: Ints) -> Ints:
    """Longest path to every component of a graph, counted in components: edges lead to higher levels."""
    before, after = label[source], label[dst]
    across = before != after
    before, after = before[across], after[across]
    after = after[np.argsort(before, kind="stable")]
    count = int(label.max()) + 1
    ptr = np.concatenate(([0], np.cumsum(np.bincount(before, minlength=count))))
    waits = np.bincount(after, minlength=count)
    level = np.zeros(count, dtype=np.int64)
    front, at = np.flatnonzero(waits == 0), 0
    while len(front):
        at += 1
        found, times = np.unique(after[graph.edges_of(ptr, front)[0]], return_counts=True)
        waits[found] -= times
        front = found[waits[found] == 0]
        level[front] = at
    return level
