"""One block of a network as a linear program, for the solver `linear-programming`.

A block is a set of nodes whose successors outside of it have known values.  `reduce_block` writes it as a
matrix over the block's *variables*: its decisions, and those chance nodes that are better kept than
eliminated.  With ``v`` the values of the variables, one row for every option says ``matrix @ v >= gain``, and one
row for every kept chance node says the same with equality.
"""

from __future__ import annotations

import attrs
import numpy as np
from scipy.sparse import csr_array, eye_array, vstack

from mdpdice.networks.arrays import ULP, Matrix
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.linear import factorise
from mdpdice.numerics.regions import idle_components
from mdpdice.solvers.linear_programming.pulp_adapter import Program

NESTING = 64
"""Chance nodes nested deeper than this are kept."""

STAY = -1
"""Stands in for the edge of the option to stay for ever in a zero-reward end component."""


@attrs.frozen(eq=False)
class View:
    """A network as the maximising player of the program sees it."""

    problem: Network
    sense: float  # 1 if the player of the network maximises, else -1, and all rewards and values here are negated
    gain: Floats  # reward of an edge times its weight
    coef: Floats  # weight of an edge, times the discount where it takes a step
    value: Floats  # of the nodes of the blocks that are done, and payoffs; NaN elsewhere
    local: Ints  # position of a node in the current block, -1 outside of it
    component: Ints  # zero-reward end component of a node, -1 outside of them

    @classmethod
    def of(cls, problem: Network) -> View:
        """Return the view of a problem of one player."""
        sense = -1.0 if (problem.kind == Kind.MIN).any() else 1.0
        coef = np.where(problem.step, problem.weight * problem.factor, problem.weight)
        value = np.where(problem.kind == Kind.END, sense * problem.payoff, np.nan)
        component = np.full(problem.n_nodes, -1, dtype=np.int64)
        if problem.discount == 1:
            chance = problem.kind == Kind.CHANCE
            component, _ = idle_components(problem.indptr, problem.dst, chance, problem.reward != 0)
            # Nobody can leave an end component without decisions: it is worth 0.
            decided = np.zeros(problem.n_nodes + 1, dtype=np.bool_)
            decided[component[problem.decides]] = True
            value[(component >= 0) & ~decided[component]] = 0.0
        local = np.full(problem.n_nodes, -1, dtype=np.int64)
        return cls(problem, sense, sense * problem.weight * problem.reward, coef, value, local, component)


@attrs.frozen(eq=False)
class Block:
    """The reduced program of a block with ``n`` variables, ``m`` options and ``k`` kept chance nodes."""

    variables: Ints  # their nodes, shape (n,)
    owner: Ints  # variable that an option belongs to, shape (m,)
    edge: Ints  # edge of an option, or `STAY`; shape (m,)
    chance: Ints  # variables that are chance nodes, shape (k,)
    matrix: Matrix  # rows of the options, then of the kept chance nodes; shape (m + k, n)
    gain: Floats  # their right-hand sides
    rest: Ints  # nodes of the block that were eliminated, shape (r,)
    expand: Matrix  # their values are ``expand @ v + base``; shape (r, n)
    base: Floats


def reduce_block(view: View, nodes: Ints) -> Block:
    """Write the program of the block of some nodes, no ends, eliminating chance nodes where that adds no non-zeros.

    `View.value` holds the values of all successors outside the block.
    """
    problem = view.problem
    n = len(nodes)
    view.local[nodes] = np.arange(n)
    edge, source = graph.edges_of(problem.indptr, nodes)
    target = view.local[problem.dst[edge]]
    coef, gain = view.coef[edge], view.gain[edge]
    known = target < 0
    gain[known] += coef[known] * view.value[problem.dst[edge[known]]]
    view.local[nodes] = -1

    decides = problem.decides[nodes]
    chance = ~decides[source]
    kept, levels = _eliminate(decides, source[chance & ~known], target[chance & ~known], target[~known])

    # Every node as a row over the variables: the variables first, then level by level what reads them.
    variables = np.flatnonzero(kept)
    position = np.full(n, -1, dtype=np.int64)
    position[variables] = np.arange(len(variables))
    mean = np.bincount(source[chance], gain[chance], minlength=n)
    expand: Matrix = eye_array(len(variables), format="csr")
    base = np.zeros(len(variables))
    for members in levels:
        mine = np.flatnonzero(chance & ~known & np.isin(source, members))
        row = np.searchsorted(members, source[mine])
        shape = (len(members), expand.shape[0])
        mix: Matrix = csr_array((coef[mine], (row, position[target[mine]])), shape=shape)
        position[members] = expand.shape[0] + np.arange(len(members))
        base = np.concatenate((base, mean[members] + np.asarray(mix @ base, dtype=np.float64)))
        expand = vstack((expand, mix @ expand), format="csr")

    options = _options(view, nodes, decides, (source, edge, target, coef, gain), position, expand, base)
    owner, option_edge, matrix, option_gain = options
    count = len(variables)
    lasting = np.flatnonzero(~decides[variables])
    mine = np.flatnonzero(chance & ~known & kept[source])
    shape = (count, expand.shape[0])
    mix = csr_array((coef[mine], (position[source[mine]], position[target[mine]])), shape=shape)
    equal: Matrix = (eye_array(count, format="csr") - mix @ expand)[lasting]
    equal_gain = mean[variables[lasting]] + np.asarray(mix @ base, dtype=np.float64)[lasting]
    return Block(
        variables=nodes[variables],
        owner=owner,
        edge=option_edge,
        chance=lasting,
        matrix=vstack((matrix, equal), format="csr"),
        gain=np.concatenate((option_gain, equal_gain)),
        rest=nodes[np.concatenate([np.zeros(0, dtype=np.int64), *levels])],
        expand=expand[count:],
        base=base[count:],
    )


def _eliminate(decides: Bools, source: Ints, target: Ints, entered: Ints) -> tuple[Bools, list[Ints]]:
    """Which nodes stay as variables, and the others in levels such that each reads lower ones only.

    Copying a chance node of ``w`` non-zeros into the ``k`` rows that lead to it replaces ``k`` non-zeros, and
    the ``1 + w`` of its own row, by ``k w``.
    """
    n = len(decides)
    entering = np.bincount(entered, minlength=n)
    width = np.where(decides, 1, -1)
    kept = decides.copy()
    levels: list[Ints] = []
    for _ in range(NESTING):
        ready = np.flatnonzero((width < 0) & (np.bincount(source[width[target] < 0], minlength=n) == 0))
        if len(ready) == 0:
            break
        size = np.bincount(source, np.maximum(width[target], 0), minlength=n)[ready].astype(np.int64)
        drop = (entering[ready] - 1) * (size - 1) <= 2
        width[ready] = np.where(drop, size, 1)
        kept[ready[~drop]] = True
        levels.append(ready[drop])
    # What is left lies on a cycle of chance nodes, leads to one, or is nested too deeply.
    kept |= width < 0
    return kept, levels


def _options(
    view: View,
    nodes: Ints,
    decides: Bools,
    edges: tuple[Ints, Ints, Ints, Floats, Floats],
    position: Ints,
    expand: Matrix,
    base: Floats,
) -> tuple[Ints, Ints, Matrix, Floats]:
    """Owner, edge, row and gain of every option that is not dominated by one with the same row."""
    mine = decides[edges[0]]
    source, edge, target = edges[0][mine], edges[1][mine], edges[2][mine]
    coef, gain = edges[3][mine], edges[4][mine]
    constant = np.diff(expand.indptr) == 0
    at = np.where(target < 0, -1, position[target])
    inside = at >= 0
    gain[inside] += coef[inside] * base[at[inside]]
    at[inside] = np.where(constant[at[inside]], -1, at[inside])
    weigh = np.where(at < 0, 0.0, coef)
    order = np.lexsort((edge, -gain, weigh, at, source))
    key = np.stack((source, at, weigh.view(np.int64)))[:, order]
    fresh = np.ones(len(order), dtype=np.bool_)
    fresh[1:] = (key[:, 1:] != key[:, :-1]).any(axis=0)
    best = np.sort(order[fresh])
    source, edge, at, weigh, gain = source[best], edge[best], at[best], weigh[best], gain[best]

    staying = np.flatnonzero(decides & (view.component[nodes] >= 0))
    m, s = len(source), len(staying)
    owner = position[np.concatenate((source, staying))]
    edge = np.concatenate((edge, np.full(s, STAY)))
    gain = np.concatenate((gain, np.zeros(s)))
    inside = at >= 0
    shape = (m + s, expand.shape[0])
    moves: Matrix = csr_array((weigh[inside], (np.flatnonzero(inside), at[inside])), shape=shape)
    own: Matrix = csr_array((np.ones(m + s), (np.arange(m + s), owner)), shape=(m + s, expand.shape[1]))
    matrix = own - moves @ expand
    matrix.eliminate_zeros()
    # "v >= v - 1" says nothing; "v >= v + 1" has to stay, since it has no solution.
    says = (np.diff(matrix.indptr) > 0) | (gain > 0)
    return owner[says], edge[says], matrix[says], gain[says]


def program(block: Block, form: str, gain: Floats) -> Program:
    """Return the primal or dual program of a block with the right-hand sides `gain`."""
    rows, n = block.matrix.shape
    equal = np.arange(rows) >= len(block.edge)
    ones = np.ones(n)
    if form == "primal":
        return Program(False, ones, np.zeros(n, dtype=np.bool_), block.matrix, gain, equal)
    return Program(True, gain, ~equal, block.matrix.T.tocsr(), ones, np.ones(n, dtype=np.bool_))


def choose(block: Block, flow: Floats, *, cyclic: bool) -> Ints | None:
    """Return the row that the flow of the dual takes at every variable, shape (n,); None if there is no such choice.

    At a vertex of the dual one option of each decision has a positive flow.  Where a solver hands back a
    mixture of optimal vertices, the largest flows may run in a circle; then those options of the mixture
    are taken that lead out of the block, which it must have since its flow is finite.
    """
    m = len(block.edge)
    row = np.full(len(block.variables), -1, dtype=np.int64)
    row[block.chance] = m + np.arange(len(block.chance))
    order = np.argsort(-flow[:m], kind="stable")
    owners, first = np.unique(block.owner[order], return_index=True)
    row[owners] = order[first]
    if (row < 0).any():
        return None
    taken = np.zeros(len(flow), dtype=np.bool_)
    taken[row] = True
    if not cyclic or (stopping_rows(block, taken) >= 0).all():
        return row
    largest = np.zeros(len(row))
    largest[block.owner] = flow[row[block.owner]]
    taken[:m] = flow[:m] > 1e-7 * largest[block.owner]
    row = stopping_rows(block, taken)
    return row if (row >= 0).all() else None


def leaving(block: Block) -> Bools:
    """Rows through which a play may leave the block at once, or is discounted; shape (m + k,)."""
    # The coefficients of the successors sum up to less than 1; what rounding lacks is no way out.
    return np.asarray(block.matrix.sum(axis=1) > 1e-14)


def stopping_rows(block: Block, usable: Bools) -> Ints:
    """For every variable a usable row through which a play surely leaves the block in the end, or -1."""
    n = len(block.variables)
    owner = np.concatenate((block.owner, block.chance))
    leaves = leaving(block)
    own: Matrix = csr_array((np.ones(len(owner)), (np.arange(len(owner)), owner)), shape=block.matrix.shape)
    moves = own - block.matrix
    moves.data = (moves.data > 0).astype(np.float64)
    row = np.full(n, -1, dtype=np.int64)
    found = usable & leaves
    while found.any():
        rows = np.flatnonzero(found)[::-1]
        row[owner[rows]] = rows
        found = usable & (row[owner] < 0) & (moves @ (row >= 0).astype(np.float64) > 0)
    return row


def evaluate(block: Block, row: Ints) -> Floats | None:
    """Return the basic solution of a choice of rows: values of the variables, None if the basis is singular."""
    basis = block.matrix[row]
    gain = block.gain[row]
    try:
        factor = factorise(basis)
    except RuntimeError:
        return None
    value = factor.solve(gain)
    value += factor.solve(gain - basis @ value)
    return value if np.isfinite(value).all() else None


def excess(block: Block, value: Floats) -> tuple[Floats, Floats]:
    """By how much the rows are violated, and how much of that rounding explains; both of shape (m + k,)."""
    size = np.abs(block.gain) + abs(block.matrix) @ np.abs(value)
    terms = np.diff(block.matrix.indptr) + 8
    return block.gain - block.matrix @ value, terms * ULP * size
