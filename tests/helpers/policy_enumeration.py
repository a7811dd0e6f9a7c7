"""Small networks, and their values by trying every policy, in fractions and by plain loops.

Everything works on the network seen from both sides: ``(node, side)``, where side 1 has the other
player to move and rewards negated, and `pass_to` edges cross.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import inf, prod

import numpy as np
from hypothesis import strategies as st

from mdpdice.networks.network import Kind, Network

END, MAX, MIN, CHANCE = Kind.END, Kind.MAX, Kind.MIN, Kind.CHANCE


def network(nodes, *, start=0, discount=1, horizon=None, **fields):
    """Network from (END, payoff) and (kind, [edge, ...]); an edge is (target, reward, weight, sign, step)."""
    rows = [[] if kind == END else rest for kind, rest in nodes]
    edges = [tuple(edge) + (0, 1.0, 1, False)[len(edge) - 1 :] for row in rows for edge in row]
    dst, reward, weight, sign, step = zip(*edges, strict=True) if edges else ((),) * 5
    return Network(
        kind=[kind for kind, _ in nodes],
        indptr=np.cumsum([0, *map(len, rows)]),
        dst=dst,
        weight=weight,
        reward=reward,
        sign=sign,
        step=step,
        payoff=[rest if kind == END else 0 for kind, rest in nodes],
        start=start,
        discount=discount,
        horizon=horizon,
        **fields,
    )


@st.composite
def networks(draw, kinds=(MAX,), *, signs=False, discount=1, rewards=(0,), ends=True, stopping=False):
    """Random networks of up to 6 nodes with cycles; `stopping` ones end from every chance node, so from everywhere."""
    n = draw(st.integers(2, 5))
    nodes = []
    for i in range(n):
        kind = draw(st.sampled_from([CHANCE, *kinds, *kinds]))
        count = draw(st.sampled_from([1, 2, 4] if kind == CHANCE else [1, 2, 3]))
        reward = st.sampled_from(rewards)
        sign = st.sampled_from([1, -1] if signs else [1])
        # A stopping network comes back only through chance, which may end instead.
        back = kind == CHANCE or not stopping
        target = st.integers(0 if back else i + 1, n)
        step = st.just(True) if discount != 1 else st.booleans()
        weight = 1 / count if kind == CHANCE else 1.0
        row = draw(st.lists(st.tuples(target, reward, st.just(weight), sign, step), min_size=count, max_size=count))
        if stopping and kind == CHANCE:
            row[0] = (n, *row[0][1:])
        nodes.append((kind, row))
    nodes.append((END, draw(st.sampled_from([-3, 0, 2]) if ends else st.just(0))))
    return network(nodes, discount=discount)


def _rows(net, policy):
    """(gain, {next: coefficient}, pays) of every (node, side) when everybody follows a policy."""
    rows = {}
    for side, i in itertools.product((0, 1), range(net.n_nodes)):
        flip = -1 if side else 1
        if net.kind[i] == END:
            rows[i, side] = (flip * net.exact_payoff(i), {}, False)
            continue
        gain, ahead, pays = Fraction(0), {}, False
        for e, p in zip(net.edges(i), net.row(i), strict=True):
            if p == 0 or (net.decides[i] and e != policy[i, side]):
                continue
            gain += flip * p * net.exact_reward(e)
            pays |= net.exact_reward(e) != 0
            to = (int(net.dst[e]), side ^ int(net.sign[e] < 0))
            ahead[to] = ahead.get(to, 0) + p * (net.discount if net.step[e] else 1)
        rows[i, side] = (gain, ahead, pays)
    return rows


def _reach(rows):
    reach = {key: {key, *ahead} for key, (_, ahead, _) in rows.items()}
    while True:
        more = {key: set().union(*(reach[to] for to in found)) for key, found in reach.items()}
        if more == reach:
            return reach
        reach = more


def chain_value(net, policy):
    """Value of every (node, side) under a policy for both sides; None where an endless play has no total."""
    rows = _rows(net, policy)
    known = {}
    if net.discount == 1:
        reach = _reach(rows)
        for key in rows:
            lasting = rows[key][1] and all(key in reach[to] for to in reach[key])
            if not lasting:
                continue
            gains = {g > 0 for g, _, pays in (rows[to] for to in reach[key]) if pays}
            if any(rows[to][2] and rows[to][0] == 0 for to in reach[key]) or len(gains) == 2:
                return None
            known[key] = (inf if True in gains else -inf) if gains else Fraction(0)
        for key in rows:
            ends = {known[to] for to in reach[key] if to in known and abs(known[to]) == inf}
            if len(ends) == 2:
                return None
            if ends:
                known[key] = ends.pop()
    unknown = [key for key in rows if key not in known]
    matrix = []
    for key in unknown:
        gain, ahead, _ = rows[key]
        row = [Fraction(int(key == other)) - ahead.get(other, 0) for other in unknown]
        matrix.append([*row, gain + sum(p * known[to] for to, p in ahead.items() if to in known)])
    return known | dict(zip(unknown, solve_linear(matrix), strict=True))


def solve_linear(matrix):
    """Gauss and Jordan."""
    n = len(matrix)
    for c in range(n):
        pivot = next(r for r in range(c, n) if matrix[r][c] != 0)
        matrix[c], matrix[pivot] = matrix[pivot], matrix[c]
        matrix[c] = [x / matrix[c][c] for x in matrix[c]]
        for r in range(n):
            if r != c and matrix[r][c] != 0:
                matrix[r] = [x - matrix[r][c] * y for x, y in zip(matrix[r], matrix[c], strict=True)]
    return [row[n] for row in matrix]


def _places(net):
    """The decisions of the player who maximises at side 0, and those of the other one."""
    sides = (0, 1) if (net.sign < 0).any() else (0,)
    both = [(i, side) for side in sides for i in np.flatnonzero(net.decides).tolist()]
    mine = [(i, side) for i, side in both if (net.kind[i] == MAX) == (side == 0)]
    return mine, [place for place in both if place not in mine]


def policies(net):
    """Number of pairs of policies."""
    return prod(len(net.edges(i)) for places in _places(net) for i, _ in places)


def _choices(net, places):
    for edges in itertools.product(*(net.edges(i) for i, _ in places)):
        yield dict(zip(places, edges, strict=True))


def _row(net, values):
    return [values[i, 0] for i in range(net.n_nodes)]


def best_value(net):
    """Value of every node by trying all pairs of policies; None if some pair has no total."""
    mine, other = _places(net)
    unused = {(i, side): net.edges(i)[0] for side in (0, 1) for i in np.flatnonzero(net.decides).tolist()}
    best = None
    for policy in _choices(net, mine):
        worst = None
        for reply in _choices(net, other):
            found = chain_value(net, unused | policy | reply)
            if found is None:
                return None
            worst = _row(net, found) if worst is None else list(map(min, worst, _row(net, found)))
        best = worst if best is None else list(map(max, best, worst))
    return best


def guaranteed(net, policy):
    """What a policy is worth to either player against every reply of the other one; no None must occur."""
    mine, other = _places(net)
    fixed = {(i, side): int(policy[i]) for side in (0, 1) for i in np.flatnonzero(net.decides).tolist()}
    low = [_row(net, chain_value(net, fixed | reply)) for reply in _choices(net, other)]
    high = [_row(net, chain_value(net, fixed | reply)) for reply in _choices(net, mine)]
    return [min(column) for column in zip(*low, strict=True)], [max(column) for column in zip(*high, strict=True)]


def ties(net, values):
    """Which edges of decisions are worth exactly what their node is."""
    found = np.zeros(net.n_edges, dtype=bool)
    for e in range(net.n_edges):
        i = int(net.source[e])
        if net.decides[i]:
            ahead = int(net.sign[e]) * values[int(net.dst[e])] * (net.discount if net.step[e] else 1)
            found[e] = net.exact_reward(e) + ahead == values[i]
    return found


def haddad_monmege(n):
    """The chain of Haddad and Monmege with ``n`` steps to either side; the value of the start is 7/10.

    Every node goes one step on or back to the start, with equal chances.
    """
    rows = [[(1, 0, 0.7), (2, 0, 0.3)], *([(0, 0, 0.5), (i + 2, 0, 0.5)] for i in range(1, 2 * n - 1))]
    # The weights as whole numbers, since no float is 7/10.
    numerator = [[7, 3], *([1, 1] for _ in rows[1:])]
    return network([*((CHANCE, row) for row in rows), (END, 1), (END, 0)], numerator=np.array(numerator).ravel())


def collecting(n):
    """Decisions 0..n-1: end for 0.5, or go on for 1; the last one ends for 1 or 2."""
    nodes = [(MAX, [(n, 0.5), (i + 1, 1)]) for i in range(n - 1)]
    return network([*nodes, (MAX, [(n, 1), (n, 2)]), (END, 0)])


def transition(problem, policy):
    """Discounted transition matrix and mean gain of a policy, by plain loops."""
    n = problem.n_nodes
    P, r = np.zeros((n, n)), np.zeros(n)
    for i in range(n):
        if problem.kind[i] == END:
            r[i] = problem.payoff[i]
        edges = [policy[i]] if problem.decides[i] else problem.edges(i)
        for e in edges:
            g = float(problem.discount) if problem.step[e] else 1.0
            P[i, problem.dst[e]] += problem.weight[e] * g
            r[i] += problem.weight[e] * problem.reward[e]
    return P, r
