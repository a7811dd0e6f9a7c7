r"""Decision tables: every state decides, every choice has a reward and a row of probabilities.

Libraries of arrays know only this form, whose value is

.. math:: v(s) = \max_a \; r(s, a) + \gamma \sum_t p(s, a, t) \, v(t) .

`tabulate` writes a network of one player so.  Chance nodes between decisions become part of the rows; where chance
can come back to itself, or an edge into chance takes a step, they stay as states with one choice.  Payoffs of ends are
paid with the choice that leads to them, and what ends goes on in one absorbing state for 0, the last one.  A
minimiser's rewards are negated.
The value of node ``i`` is then ``sign * (base[i] + (lift @ v)[i])``.

With a horizon of n decisions the table is the same, and n stages of it are played.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from scipy.sparse import csr_array, diags_array, vstack

from mdpdice.errors import StateLimitError, UnsupportedError
from mdpdice.formats.line_reader import require_network
from mdpdice.networks.arrays import Matrix
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.objectives.reductions import for_sense

__all__ = ["Table", "tabulate"]

MAX_ENTRIES = 200_000_000
"""Most probabilities of a table: 2.4 GB."""


@attrs.frozen(eq=False)
class Table:
    """A network of one player as a decision table.

    Parameters
    ----------
    choice_ptr : ndarray of int64, shape (n + 1,)
        The choices of state ``s`` are ``choice_ptr[s] .. choice_ptr[s+1] - 1``; every state has one.
    matrix : csr_array of float64, shape (m, n)
        Row of probabilities of every choice.
    reward : ndarray of float64, shape (m,)
        Expected reward of every choice.
    discount : float
        Factor per step.
    horizon : int or None
        Number of stages.
    node : ndarray of int64, shape (n,)
        Node of the network that a state is, -1 for the absorbing one.
    start : int or None
        State that the play starts in.  None where it starts with chance: the value of the start is then an entry of
        `values`, and of no single state.
    lift : csr_array of float64, shape (N, n)
    base : ndarray of float64, shape (N,)
    sign : float
        See `values`.
    """

    choice_ptr: Ints
    matrix: Matrix
    reward: Floats
    discount: float
    horizon: int | None
    node: Ints
    start: int | None
    lift: Matrix
    base: Floats
    sign: float

    @property
    def n_states(self) -> int:
        """Number of states."""
        return len(self.choice_ptr) - 1

    @property
    def state_of_choice(self) -> Ints:
        """State of every choice, int64 of shape (m,)."""
        return np.repeat(np.arange(self.n_states), np.diff(self.choice_ptr))

    def values(self, v: Any) -> Floats:
        """Values of the nodes of the network, from those of the states of the table."""
        lifted: Floats = self.sign * (self.base + self.lift @ np.asarray(v, dtype=np.float64))
        return lifted

    def padded(self) -> Ints:
        """Choice of every state and action number, int64 of shape (n, largest number of choices).

        Where a state has fewer choices, its last one stands in for the missing ones: a choice that is there twice
        changes no value.
        """
        width = int(np.diff(self.choice_ptr).max())
        last: Ints = np.minimum(self.choice_ptr[:-1, None] + np.arange(width), self.choice_ptr[1:, None] - 1)
        return last


def tabulate(network: Network, name: str) -> Table:
    """Write a network as a decision table.

    Parameters
    ----------
    network : Network
        A network of one player.
    name : str
        Who wants it, for errors.

    Raises
    ------
    UnsupportedError
        There are two players, or a horizon counts decisions where the table would have more states than decisions.
    StateLimitError
        The rows have more than `MAX_ENTRIES` probabilities in all.
    """
    require_network(network)
    network = for_sense(network)
    if network.two_player:
        msg = (
            f"{name} knows one player who decides, and here are two; the PRISM language (write_prism) holds games, "
            "and Network.save everything"
        )
        raise UnsupportedError(msg)
    kept = network.decides | _kept_chance(network)
    if network.horizon is not None and (kept & ~network.decides).any():
        msg = (
            f"{name} counts stages, and here chance takes steps or comes back to itself; write DRN, where a horizon is "
            "unrolled"
        )
        raise UnsupportedError(msg)
    return _Maker(network, kept).table()


def _kept_chance(network: Network) -> Bools:
    """Chance nodes that stay states: entered by a step, or on a cycle of chance alone."""
    chance = network.kind == Kind.CHANCE
    kept = np.zeros(network.n_nodes, dtype=bool)
    if network.discount < 1:
        kept[network.dst[network.step & chance[network.dst]]] = True
    inside = chance[network.source] & chance[network.dst] & ~kept[network.dst] & (network.weight > 0)
    label = graph.strong_components(network.indptr, network.dst, inside)
    cyclic = graph.cyclic_components(network.indptr, network.dst, label, inside)
    kept |= chance & cyclic[label]
    return kept


class _Maker:
    def __init__(self, network: Network, kept: Bools) -> None:
        self.network = network
        self.kept = kept
        self.through = (network.kind == Kind.CHANCE) & ~kept
        self.end = network.kind == Kind.END
        self.sign = -1.0 if (network.kind == Kind.MIN).any() else 1.0
        self.number = np.cumsum(kept) - 1
        self.absorbing = int(self.end.any())
        self.n = int(kept.sum()) + self.absorbing
        # What an edge is worth by itself: its reward, and the payoff of an end behind it.
        step = np.where(network.step, network.factor, 1.0)
        payoff = np.where(self.end, network.payoff, 0.0)[network.dst]
        self.worth = self.sign * network.weight * (network.reward + step * payoff)
        self.discounted = network.weight * step

    def table(self) -> Table:
        network, n_nodes = self.network, self.network.n_nodes
        source = network.source
        inner = self.through[source]
        own: Floats = np.zeros(n_nodes)
        np.add.at(own, source[inner], self.worth[inner])
        nested = self.to(self.through, inner, network.weight, source, (n_nodes, n_nodes))
        rows = self.spread(nested, self.leaving(inner, network.weight, ends=True))
        lift = self.spread(nested, self.leaving(inner, self.discounted, ends=False))
        base = self.spread_base(nested, own)

        choice_of_edge, choice_ptr = self.choices()
        outer = self.kept[source]
        m = int(choice_ptr[-1])
        reward: Floats = np.zeros(m)
        np.add.at(reward, choice_of_edge[outer], self.worth[outer])
        via = self.to(self.through, outer, network.weight, choice_of_edge, (m, n_nodes))
        matrix = self.leaving(outer, network.weight, ends=True, rows=choice_of_edge, count=m) + via @ rows
        self.require_steps(outer, via)
        _require_size(matrix)
        reward = reward + via @ base
        states = np.flatnonzero(self.kept)
        identity = csr_array(
            (np.ones(len(states)), (states, np.arange(len(states)))), shape=(n_nodes, self.n)
        )
        if self.absorbing:
            # It stays where it is, for nothing.
            stay = csr_array(([1.0], ([0], [self.n - 1])), shape=(1, self.n))
            matrix = csr_array(vstack((matrix, stay), format="csr"))
            reward, choice_ptr = np.append(reward, 0.0), np.append(choice_ptr, m + 1)
            states = np.append(states, -1)
        return Table(
            choice_ptr=choice_ptr,
            matrix=_normalised(matrix),
            reward=reward,
            discount=network.factor,
            horizon=network.horizon,
            node=states,
            start=int(self.number[network.start]) if self.kept[network.start] else None,
            lift=csr_array(identity + lift),
            base=base + np.where(self.end, self.sign * network.payoff, 0.0),
            sign=self.sign,
        )

    def choices(self) -> tuple[Ints, Ints]:
        """Choice of every edge of a kept node, and where the choices of every state begin."""
        network = self.network
        single = self.network.kind == Kind.CHANCE
        count = np.where(single, 1, np.diff(network.indptr))[self.kept]
        choice_ptr = np.concatenate(([0], np.cumsum(count)))
        first = np.zeros(network.n_nodes, dtype=np.int64)
        first[self.kept] = choice_ptr[:-1]
        source = network.source
        place = np.arange(network.n_edges) - network.indptr[:-1][source]
        return first[source] + np.where(single[source], 0, place), choice_ptr

    def to(self, targets: Bools, edges: Bools, weight: Floats, rows: Ints, shape: tuple[int, int]) -> Matrix:
        """Edges into some nodes as a matrix over all nodes."""
        at = np.flatnonzero(edges & targets[self.network.dst])
        return csr_array((weight[at], (rows[at], self.network.dst[at])), shape=shape)

    def leaving(
        self, edges: Bools, weight: Floats, *, ends: bool, rows: Ints | None = None, count: int = 0
    ) -> Matrix:
        """Edges into states as a matrix over states; those into ends lead to the absorbing state."""
        network = self.network
        which = self.kept | self.end if ends else self.kept
        at = np.flatnonzero(edges & which[network.dst])
        column = np.where(self.end, self.n - 1, self.number)[network.dst[at]]
        row = network.source[at] if rows is None else rows[at]
        shape = (network.n_nodes if rows is None else count, self.n)
        return csr_array((weight[at], (row, column)), shape=shape)

    def spread(self, nested: Matrix, leaving: Matrix) -> Matrix:
        """Rows of chance nodes, through those that they lead to: as many rounds as chance is nested."""
        total = front = leaving
        while (front := csr_array(nested @ front)).nnz:
            total = csr_array(total + front)
            _require_size(total)
        return total

    def spread_base(self, nested: Matrix, own: Floats) -> Floats:
        total, front = own, own
        while (front := np.asarray(nested @ front)).any():
            total = total + front
        return total

    def require_steps(self, outer: Bools, via: Matrix) -> None:
        """With a discount, exactly one step is taken between two states of the table."""
        network = self.network
        if network.discount == 1:
            return
        entered = np.zeros(network.n_nodes, dtype=bool)
        entered[via.indices] = True
        entered = graph.reachable(
            network.indptr, network.dst, np.flatnonzero(entered), self.through[network.source]
        )
        free = ~network.step & self.kept[network.dst] & (outer | (self.through & entered)[network.source])
        if free.any():
            edge = int(np.flatnonzero(free)[0])
            msg = (
                "an edge that takes no step leads from one decision to another, and a decision table discounts each; "
                "write DRN, which has a discount for every edge"
            )
            raise UnsupportedError(msg, state=network.describe(int(network.source[edge])))


def _require_size(matrix: Matrix) -> None:
    if matrix.nnz > MAX_ENTRIES:
        msg = (
            f"the rows of the table have more than {MAX_ENTRIES:,} probabilities, since many choices lead to the same "
            "chance; write DRN, where that is stored once"
        )
        raise StateLimitError(msg, explored=matrix.nnz, frontier=[], limit=MAX_ENTRIES)


def _normalised(matrix: Matrix) -> Matrix:
    """Rows that sum to 1 as well as floats can; products of rounded probabilities are off by a little more."""
    matrix.sum_duplicates()
    total = np.asarray(matrix.sum(axis=1))
    return csr_array(diags_array(1.0 / total) @ matrix)
