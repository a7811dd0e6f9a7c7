r"""Decision tables: every state decides, every choice has a reward and a row of probabilities.

Libraries of arrays know only this form, whose value is

.. math:: v(s) = \max_a \; r(s, a) + \gamma \sum_t p(s, a, t) \, v(t) .

`tabulate` writes a network of one player so.  Chance nodes between decisions become part of the rows; where chance can
come back to itself, or an edge into chance takes a step, they stay as states with one choice.  Payoffs of ends are paid
with the choice that leads to them, and what ends goes on in one absorbing state for 0, the last one.  A minimiser's
rewards are negated.  The value of node ``i`` is then ``sign * (base[i] + (lift @ v)[i])``.

With a horizon of n decisions the table is the same, and n stages of it are played.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from scipy.sparse import csr_array, diags_array, vstack

from mdpdice.errors import StateLimitError, UnsupportedError
from mdpdice.formats.line_reader import require_network, require_one_player
from mdpdice.networks.arrays import Matrix
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.objectives.reductions import for_sense

MAX_ENTRIES = 200_000_000
"""Most probabilities of a table: 2.4 GB."""
TINY = float(np.finfo(np.float64).tiny)
"""Smallest normal float: below it digits are lost, and in the end all of them."""


@attrs.frozen(eq=False)
class Table:
    """A network of one player as a decision table of n states and m choices."""

    choice_ptr: Ints  #: shape (n + 1,): those of state ``s`` are ``choice_ptr[s] .. choice_ptr[s+1] - 1``, at least one
    matrix: Matrix  #: row of probabilities of every choice, shape (m, n)
    reward: Floats  #: expected reward of every choice, shape (m,)
    discount: float  #: factor per step
    horizon: int | None  #: number of stages
    node: Ints  #: node of the network that a state is, -1 for the absorbing one, shape (n,)
    start: int | None  #: state that play starts in; None: it starts with chance, and its value is an entry of `values`
    lift: Matrix  #: shape (N, n), see `values`
    base: Floats  #: shape (N,)
    sign: float  #: 1, or -1 for a minimiser

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

        Where a state has fewer choices, its last one stands in for the others: a choice twice changes no value.
        """
        width = int(np.diff(self.choice_ptr).max())
        last: Ints = np.minimum(self.choice_ptr[:-1, None] + np.arange(width), self.choice_ptr[1:, None] - 1)
        return last


def tabulate(network: Network, name: str) -> Table:
    """Write a network of one player as a decision table, which the format called `name` wants.

    Two players are an `UnsupportedError`; so are a horizon that counts decisions where the table would have more states
    than these, and numbers that floats cannot hold.  More than `MAX_ENTRIES` probabilities are a `StateLimitError`.
    """
    require_network(network)
    network = for_sense(network)
    require_one_player(network, name)
    kept = network.decides | _kept_chance(network)
    if network.horizon is not None and (kept & ~network.decides).any():
        how = "write DRN, where a horizon is unrolled"
        raise UnsupportedError(f"{name} counts stages, and here chance takes steps or comes back to itself; {how}")
    require_floats(network, name)
    table = _table(network, kept)
    if len(table.matrix.data) and table.matrix.data.min() < TINY:
        _refuse(f"a probability of {table.matrix.data.min()}", name)
    return table


def require_floats(network: Network, name: str) -> None:
    """Refuse numbers that are not 0 and would be, or nearly so, in `name`, which holds floats."""
    for what, exact in (("reward", network.exact_rewards), ("payoff", network.exact_payoffs)):
        for number in exact.values():
            if 0 < abs(number) < TINY:
                _refuse(f"a {what} below {TINY}", name)
    if network.n_edges and network.weight.min() < TINY:
        _refuse(f"a probability of {network.weight.min()}", name)
    if network.factor == 1 != network.discount:
        _refuse(f"a discount of 1 - {float(1 - network.discount)}", name)


def _refuse(number: str, name: str) -> None:
    raise UnsupportedError(f"{name} holds floats, and none holds {number}; DRN and the PRISM language hold it exactly")


def _kept_chance(network: Network) -> Bools:
    """Chance nodes that stay states: entered by a step, or on a cycle of chance alone."""
    chance = network.kind == Kind.CHANCE
    kept = np.zeros(network.n_nodes, dtype=bool)
    if network.discount < 1:
        kept[network.dst[network.step & chance[network.dst]]] = True
    inside = chance[network.source] & chance[network.dst] & ~kept[network.dst]
    label = graph.strong_components(network.indptr, network.dst, inside)
    kept |= chance & graph.cyclic_components(network.indptr, network.dst, label, inside)[label]
    return kept


def _table(network: Network, kept: Bools) -> Table:
    n_nodes, source, dst = network.n_nodes, network.source, network.dst
    end = network.kind == Kind.END
    through = (network.kind == Kind.CHANCE) & ~kept
    sign = -1.0 if (network.kind == Kind.MIN).any() else 1.0
    states = np.flatnonzero(kept)
    n = len(states) + int(end.any())
    # All ends are one state, the last one.
    number = np.where(end, n - 1, np.cumsum(kept) - 1)
    # What an edge is worth by itself: its reward, and the payoff of an end behind it.
    step = np.where(network.step, network.factor, 1.0)
    payoff = np.where(end, network.payoff, 0.0)
    worth = sign * network.weight * (network.reward + step * payoff[dst])
    choice, choice_ptr = choices(network, kept)
    m = int(choice_ptr[-1])

    def matrix_of(edges: Bools, rows: Ints, count: int, weight: Floats = network.weight) -> Matrix:
        return csr_array((weight[edges], (rows[edges], dst[edges])), shape=(count, n_nodes))

    def states_of(nodes: Ints) -> Matrix:
        return csr_array((np.ones(len(nodes)), (nodes, number[nodes])), shape=(n_nodes, n))

    identity, entered = states_of(states), states_of(np.flatnonzero(kept | end))
    inner, outer, nesting = through[source], kept[source], through[dst]
    nested = matrix_of(inner & nesting, source, n_nodes)
    rows = _spread(nested, matrix_of(inner, source, n_nodes) @ entered)
    lift = _spread(nested, matrix_of(inner, source, n_nodes, network.weight * step) @ identity)
    own = np.bincount(source[inner], worth[inner], n_nodes)
    base: Floats = _spread(nested, csr_array(own[:, None])).toarray().ravel()

    _require_steps(network, kept, through)
    via = matrix_of(outer & nesting, choice, m)
    matrix = csr_array(matrix_of(outer, choice, m) @ entered + via @ rows)
    _require_size(matrix)
    reward: Any = via @ base + np.bincount(choice[outer], worth[outer], m)
    if end.any():
        # It stays where it is, for nothing.
        stay = csr_array(([1.0], ([0], [n - 1])), shape=(1, n))
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
        start=int(number[network.start]) if kept[network.start] else None,
        lift=csr_array(identity + lift),
        base=base + sign * payoff,
        sign=sign,
    )


def choices(network: Network, kept: Bools) -> tuple[Ints, Ints]:
    """Choice of every edge of a kept node, and where the choices of each such node begin; chance has one."""
    single = network.kind == Kind.CHANCE
    choice_ptr = np.concatenate(([0], np.cumsum(np.where(single, 1, np.diff(network.indptr))[kept])))
    first = np.zeros(network.n_nodes, dtype=np.int64)
    first[kept] = choice_ptr[:-1]
    source = network.source
    place = np.arange(network.n_edges) - network.indptr[:-1][source]
    return first[source] + np.where(single[source], 0, place), choice_ptr


def _spread(nested: Matrix, leaving: Matrix) -> Matrix:
    """Rows of chance nodes, through those that they lead to: as many rounds as chance is nested."""
    total = front = leaving
    while (front := csr_array(nested @ front)).nnz:
        total = csr_array(total + front)
        _require_size(total)
    return total


def _require_steps(network: Network, kept: Bools, through: Bools) -> None:
    """With a discount, exactly one step is taken between two states of the table."""
    if network.discount == 1:
        return
    source, dst = network.source, network.dst
    entered = np.unique(dst[kept[source] & through[dst]])
    passed = kept | (through & graph.reachable(network.indptr, dst, entered, through[source]))
    if (free := ~network.step & kept[dst] & passed[source]).any():
        how = "write DRN, which has a discount for every edge"
        msg = f"an edge without a step leads from one decision to another, and a decision table discounts each; {how}"
        raise UnsupportedError(msg, state=network.describe(int(source[np.argmax(free)])))


def _require_size(matrix: Matrix) -> None:
    if matrix.nnz > MAX_ENTRIES:
        how = "many choices lead to the same chance; write DRN, where that is stored once"
        msg = f"the rows of the table have more than {MAX_ENTRIES:,} probabilities, since {how}"
        raise StateLimitError(msg, explored=matrix.nnz, frontier=[], limit=MAX_ENTRIES)


def _normalised(matrix: Matrix) -> Matrix:
    """Rows that sum to 1 as well as floats can; products of rounded probabilities are off by a little more."""
    matrix.sum_duplicates()
    return csr_array(diags_array(1.0 / np.asarray(matrix.sum(axis=1))) @ matrix)
