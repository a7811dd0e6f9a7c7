"""The value of a chain in rational numbers: elimination component by component.

The solver `exact` has an elimination of its own, made for large systems.  What a policy is worth is found here
without it, so that one can be held against the other.
"""

from __future__ import annotations

from fractions import Fraction

from mdpdice.networks.network import Kind, Network
from mdpdice.numerics import graph


def solve_exactly(chain: Network) -> list[Fraction]:
    """Return the exact value of every node of a chain of `total` 0 whose plays all stop or are discounted."""
    value = [Fraction(0)] * chain.n_nodes
    label, order, ptr = graph.ordered_components(chain.indptr, chain.dst)
    cyclic = graph.cyclic_components(chain.indptr, chain.dst, label)
    nodes, starts = order.tolist(), ptr.tolist()
    for component, loops in enumerate(cyclic.tolist()):
        block = nodes[starts[component] : starts[component + 1]]
        if not loops:
            node = block[0]
            if chain.kind[node] == Kind.END:
                value[node] = chain.exact_payoff(node)
            else:
                value[node], _ = _equation(chain, node, value, frozenset())
            continue
        inside = frozenset(block)
        for node, number in _eliminate({at: _equation(chain, at, value, inside) for at in block}).items():
            value[node] = number
    return value


def _equation(
    chain: Network, node: int, value: list[Fraction], inside: frozenset[int]
) -> tuple[Fraction, dict[int, Fraction]]:
    """``V(node) = constant + sum of coefficients times V`` of the nodes inside."""
    constant = Fraction(0)
    row: dict[int, Fraction] = {}
    for edge, weight in zip(chain.edges(node), chain.row(node), strict=True):
        to = int(chain.dst[edge])
        coef = weight * int(chain.sign[edge]) * (chain.discount if chain.step[edge] else 1)
        constant += weight * chain.exact_reward(edge)
        if to in inside:
            row[to] = row.get(to, Fraction(0)) + coef
        else:
            constant += coef * value[to]
    return constant, row


def _eliminate(rows: dict[int, tuple[Fraction, dict[int, Fraction]]]) -> dict[int, Fraction]:
    """Solve the equations of one component, the sparsest rows first."""
    enters: dict[int, set[int]] = {node: set() for node in rows}
    for node, (_, row) in rows.items():
        for to in row:
            enters[to].add(node)
    done: list[int] = []
    waiting = set(rows)
    while waiting:
        # Markowitz's rule: the elimination that fills in least.
        node = min(waiting, key=lambda i: (len(rows[i][1]) * len(enters[i] & waiting), i))
        constant, row = rows[node]
        own = 1 - row.pop(node, Fraction(0))
        constant, row = constant / own, {to: coef / own for to, coef in row.items()}
        rows[node] = constant, row
        waiting.remove(node)
        done.append(node)
        for other in enters[node] & waiting:
            before, theirs = rows[other]
            factor = theirs.pop(node)
            for to, coef in row.items():
                theirs[to] = theirs.get(to, Fraction(0)) + factor * coef
                enters[to].add(other)
            rows[other] = before + factor * constant, theirs
    value: dict[int, Fraction] = {}
    for node in reversed(done):
        constant, row = rows[node]
        value[node] = sum((coef * value[to] for to, coef in row.items()), constant)
    return value
