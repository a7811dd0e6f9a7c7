"""A part of a network as a matrix over its decisions, for policy iteration in floats.

Decisions are *variables*; so are chance nodes that several edges lead to.  A chance node that one edge leads
to, as every inline chance node, is written into the row of that edge.  With ``v`` the values of the
variables, ``gain + matrix @ v`` are the values of all options; a policy is one row per variable.
"""

from __future__ import annotations

import attrs
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mdpdice.modelling.nearest import nearest
from mdpdice.networks.arrays import Matrix
from mdpdice.networks.network import Bools, Floats, Ints, Kind, Network
from mdpdice.numerics import graph
from mdpdice.numerics.operator import Operator

NESTING = 16
"""Chance nodes nested deeper than this stay variables."""

OTHER_SIDE = np.array([Kind.END, Kind.MIN, Kind.MAX, Kind.CHANCE], dtype=np.uint8)
"""What a node is to the other player."""


@attrs.frozen(eq=False)
class Block:
    """A part of the network with ``n`` variables and ``m`` options.

    Where the players change sides inside, variable ``i + len(nodes)`` is variable ``i`` with the other player
    to move, its value negated; else there are as many variables as nodes.
    """

    nodes: Ints  # of the variables
    kind: NDArray[np.uint8]  # MAX, MIN or CHANCE; shape (n,)
    start: Ints  # the options of variable ``i`` are ``start[i] .. start[i+1] - 1``; shape (n + 1,)
    edge: Ints  # edge of an option, -1 for the only option of a chance node; shape (m,)
    matrix: Matrix  # probability that each variable comes next, times the discount; shape (m, n)
    gain: Floats  # reward until then, with the value of what lies outside; shape (m,)
    leave: Floats  # what the row of the matrix lacks to 1, shape (m,)
    pays: Bools  # whether there is a reward on the way, shape (m,)
    left_out: Ints  # chance nodes that are no variables, successors first


@attrs.define(eq=False)
class _Edges:
    """The edges of a block, node by node: ends of edges that stay inside, -1 for the others.

    `lost` is the probability that a play through the edge is not inside afterwards, by leaving or by discount.
    """

    number: Ints
    source: Ints
    target: Ints
    coef: Floats
    gain: Floats
    lost: Floats
    pays: Bools

    def part(self, mask: Bools) -> _Edges:
        return _Edges(*(getattr(self, field.name)[mask] for field in attrs.fields(_Edges)))


def write_block(problem: Network, operator: Operator, value: Floats, local: Ints, nodes: Ints) -> Block:
    """Write some nodes of the network, no ends among them, as a block.

    `value` holds the values of the nodes outside that edges lead to; `local`, a number for every node, is scratch
    space and -1 everywhere.
    """
    local[nodes] = np.arange(len(nodes))
    edges = _edges(problem, operator, value, local, nodes)
    local[nodes] = -1
    kind = problem.kind[nodes]
    if (edges.coef[edges.target >= 0] < 0).any():
        kind, edges = np.concatenate((kind, OTHER_SIDE[kind])), _both_sides(edges, len(nodes))
    inline, levels = _inline(kind, edges)
    return _rows(kind, edges, inline, nodes, nodes[levels[levels < len(nodes)]])


def _edges(problem: Network, operator: Operator, value: Floats, local: Ints, nodes: Ints) -> _Edges:
    number, source = graph.edges_of(problem.indptr, nodes)
    weight, dst = problem.weight[number], problem.dst[number]
    target = local[dst]
    coef, gain = operator.coef[number], operator.gain[number]
    outside = target < 0
    gain[outside] += coef[outside] * value[dst[outside]]
    lost = np.where(outside, weight, 0.0)
    if problem.discount != 1:
        lost += np.where(~outside & problem.step[number], weight * nearest(1 - problem.discount), 0.0)
    return _Edges(number, source, target, coef, gain, lost, problem.reward[number] != 0)


def _both_sides(edges: _Edges, n: int) -> _Edges:
    """Return the edges of nodes ``0 .. n - 1``, and of their copies with the other player to move."""
    inside = edges.target >= 0
    crosses = edges.coef < 0
    near, far = (np.where(inside, edges.target + n * turns, -1) for turns in (crosses, ~crosses))
    return _Edges(
        number=np.tile(edges.number, 2),
        source=np.concatenate((edges.source, edges.source + n)),
        target=np.concatenate((near, far)),
        coef=np.tile(np.abs(edges.coef), 2),
        gain=np.concatenate((edges.gain, -edges.gain)),
        lost=np.tile(edges.lost, 2),
        pays=np.tile(edges.pays, 2),
    )


def _inline(kind: NDArray[np.uint8], edges: _Edges) -> tuple[Bools, Ints]:
    """Chance nodes to write into the one edge that leads to them, and the same, successors first."""
    n = len(kind)
    inside = edges.target >= 0
    inline = (kind == Kind.CHANCE) & (np.bincount(edges.target[inside], minlength=n) == 1)
    among = inside & inline[edges.source]
    among[among] = inline[edges.target[among]]
    source, target = edges.source[among], edges.target[among]
    waits, levels = inline.copy(), []
    for _ in range(NESTING):
        if not (ready := waits & (np.bincount(source[waits[target]], minlength=n) == 0)).any():
            break
        levels.append(np.flatnonzero(ready))
        waits &= ~ready
    # What still waits is nested too deeply, or lies on a cycle of chance nodes.
    return inline & ~waits, np.concatenate([np.zeros(0, dtype=np.int64), *levels])


def _rows(kind: NDArray[np.uint8], edges: _Edges, inline: Bools, nodes: Ints, left_out: Ints) -> Block:
    n = len(kind)
    chance = kind == Kind.CHANCE
    own = edges.part(~inline[edges.source])
    # Every edge of a decision is a row; the edges of a chance node are one row together.
    opens = np.ones(len(own.source), dtype=np.bool_)
    opens[1:] = ~chance[own.source[1:]] | (own.source[1:] != own.source[:-1])
    row_of = np.cumsum(opens) - 1
    m = int(opens.sum())
    gain, leave = np.bincount(row_of, own.gain, minlength=m), np.bincount(row_of, own.lost, minlength=m)
    pays = np.bincount(row_of, own.pays, minlength=m) > 0

    inner = edges.part(inline[edges.source])
    mean = np.bincount(inner.source, inner.gain, minlength=n)
    lost = np.bincount(inner.source, inner.lost, minlength=n)
    paying = np.bincount(inner.source, inner.pays, minlength=n) > 0
    inner = inner.part(inner.target >= 0)
    degree = np.bincount(inner.source, minlength=n)
    begin = np.cumsum(degree) - degree

    stays = own.target >= 0
    row, column, weight = row_of[stays], own.target[stays], own.coef[stays]
    while (hit := inline[column]).any():
        where, what, share = row[hit], column[hit], weight[hit]
        gain += np.bincount(where, share * mean[what], minlength=m)
        leave += np.bincount(where, share * lost[what], minlength=m)
        pays |= np.bincount(where, paying[what], minlength=m) > 0
        # Every entry is repeated once per edge of the chance node that it stands for.
        count = np.where(hit, degree[column], 1)
        old = np.repeat(np.arange(len(column)), count)
        place = np.arange(len(old)) - np.repeat(np.cumsum(count) - count, count)
        row, weight, hit = row[old], weight[old], hit[old]
        taken = begin[column[old][hit]] + place[hit]
        column = column[old]
        column[hit] = inner.target[taken]
        weight[hit] *= inner.coef[taken]

    variables = np.flatnonzero(~inline)
    position = np.zeros(n, dtype=np.int32)
    position[variables] = np.arange(len(variables))
    ptr = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=m)))).astype(np.int32)
    matrix: Matrix = csr_array((weight, position[column], ptr), shape=(m, len(variables)))
    first = np.flatnonzero(opens)
    options = np.bincount(position[own.source[first]], minlength=len(variables))
    return Block(
        # Those of the second side come behind.
        nodes=nodes[variables[variables < len(nodes)]],
        kind=kind[variables],
        start=np.concatenate(([0], np.cumsum(options))),
        edge=np.where(chance[own.source[first]], -1, own.number[first]),
        matrix=matrix,
        gain=np.asarray(gain, dtype=np.float64),
        leave=np.asarray(leave, dtype=np.float64),
        pays=pays,
        left_out=left_out,
    )
