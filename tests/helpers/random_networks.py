"""Random networks, and an evaluation of policies that shares no code with the library."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np

from mdpdice import Kind, Network


def random_network(seed: int, *, flips: bool = False, discount: Fraction = Fraction(1), horizon: int | None = None):
    """A network with cycles, rewards and both kinds of players, from which every play ends."""
    rng = random.Random(seed)
    n = rng.randrange(4, 10)
    kinds = [Kind.END, *(rng.choice([Kind.MAX, Kind.CHANCE] + [Kind.MIN] * (not flips)) for _ in range(n - 1))]
    indptr, dst, parts, reward, sign = [0], [], [], [], []
    for kind in kinds:
        size = 0 if kind == Kind.END else rng.randrange(1, 4)
        for _ in range(size):
            # Enough ways to the end; edges of decisions lead there or to chance nodes in the end.
            dst.append(0 if rng.random() < 0.35 else rng.randrange(n))
            parts.append(rng.randrange(1, 5))
            reward.append(rng.choice([0.0, 0.0, 1.0, -2.0, 0.5]))
            sign.append(-1 if flips and rng.random() < 0.4 else 1)
        indptr.append(len(dst))
    weight = np.ones(len(dst))
    numerator = np.array(parts)
    for node, kind in enumerate(kinds):
        row = slice(indptr[node], indptr[node + 1])
        if kind == Kind.CHANCE:
            weight[row] = numerator[row] / numerator[row].sum()
        else:
            numerator[row] = 1
    decides = np.isin(kinds, (Kind.MAX, Kind.MIN))
    # Where the discount is below 1, every edge takes a step: then no cycle escapes it.
    step = np.ones(len(dst), dtype=bool) if discount < 1 else decides[dst]
    return Network(
        kind=kinds,
        indptr=indptr,
        dst=dst,
        weight=weight,
        reward=reward,
        sign=sign,
        step=step,
        payoff=[rng.choice([0.0, 1.0, 3.0])] + [0.0] * (n - 1),
        start=n - 1,
        discount=discount,
        horizon=horizon,
        numerator=numerator,
        total=Fraction(1, 2) if flips and discount == 1 and horizon is None else 0,
    )


def solve_dense(matrix, right):
    """Gauss-Jordan elimination in rationals; None if the matrix is singular."""
    size = len(right)
    rows = [[*map(Fraction, row), Fraction(value)] for row, value in zip(matrix, right, strict=True)]
    for column in range(size):
        pivot = next((i for i in range(column, size) if rows[i][column] != 0), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        lead = rows[column][column]
        rows[column] = [entry / lead for entry in rows[column]]
        for i in range(size):
            if i != column and rows[i][column] != 0:
                factor = rows[i][column]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column], strict=True)]
    return [row[-1] for row in rows]


def value_of(network, chances, among):
    """Exact value of the nodes `among`, which no edge leaves, when edge `e` is taken with chance ``chances[e]``."""
    n = network.n_nodes
    matrix = [[Fraction(i == j) for j in range(n)] for i in range(n)]
    right = [Fraction(0)] * n
    for node in range(n):
        if node not in among:
            continue
        if network.kind[node] == Kind.END:
            right[node] = network.exact_payoff(node)
            continue
        row = network.row(node)
        for at, edge in enumerate(network.edges(node)):
            p = chances[edge] if network.decides[node] else row[at]
            g = network.discount if network.step[edge] else 1
            right[node] += p * Fraction(float(network.reward[edge]))
            if network.sign[edge] < 0:
                right[node] += p * g * network.total
            matrix[node][network.dst[edge]] -= p * g * int(network.sign[edge])
    return solve_dense(matrix, right)
