"""Ends that a lattice did not have: a state where a condition over the counters holds ends the play."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np

from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.expressions import Expr, as_expr
from mdpdice.networks.network import Kind

Endings: TypeAlias = Mapping[int, Sequence[tuple[Expr, Expr]]]
"""By the number of a state: conditions that exclude each other, and the payoff where each of them holds."""


def end_where(lattice: Lattice, endings: Endings) -> Lattice:
    """Return the lattice whose plays end in some states where a condition holds.

    In front of each of these states comes a switch, which has its name: it leads to an end or to what was there.
    """
    numbers = list(lattice.rewards)
    guards = list(lattice.guards)
    known: dict[Hashable, int] = {guard.key: at for at, guard in enumerate(guards)}
    n = lattice.n_nodes
    ends: dict[Hashable, int] = {}
    payoffs: list[int] = []
    # By the number of a state: guards, and nodes that they lead to.
    rows: dict[int, list[tuple[int, int]]] = {}
    for state, cases in endings.items():
        row = rows[state] = []
        rest = as_expr(value=True)
        for condition, payoff in cases:
            if condition.value is False:
                continue
            end = ends.setdefault(payoff.key, n + len(ends))
            if end == n + len(payoffs):
                payoffs.append(len(numbers))
                numbers.append(payoff)
            row.append((_guard(guards, known, condition), end))
            rest = rest & (as_expr(value=False) if condition.value else ~condition)
        if rest.value is not False:
            row.append((_guard(guards, known, rest), int(lattice.state_node[state])))
    first = n + len(ends)
    switches = {int(lattice.state_node[state]): first + at for at, state in enumerate(rows)}
    moved = np.arange(n)
    moved[list(switches)] = list(switches.values())
    edges = [edge for row in rows.values() for edge in row]
    size, new = len(rows) + len(ends), len(edges)
    state_node, node_state = lattice.state_node.copy(), np.append(lattice.node_state, np.full(size, -1))
    for at, state in enumerate(rows):
        node_state[state_node[state]] = -1
        node_state[first + at] = state
        state_node[state] = first + at
    degree = [0] * len(ends) + [len(row) for row in rows.values()]
    added = np.array([Kind.END] * len(ends) + [Kind.CHANCE] * len(rows), dtype=np.uint8)

    def longer(array: Any, more: Any) -> Any:
        return np.concatenate((array, np.asarray(more, dtype=array.dtype)))

    return attrs.evolve(
        lattice,
        kind=longer(lattice.kind, added),
        switch=longer(lattice.switch, added == Kind.CHANCE),
        indptr=longer(lattice.indptr, lattice.n_edges + np.cumsum(degree)),
        dst=longer(moved[lattice.dst], [to for _, to in edges]),
        weight=longer(lattice.weight, [1.0] * new),
        numerator=longer(lattice.numerator, [1] * new),
        sign=longer(lattice.sign, [1] * new),
        guard=longer(lattice.guard, [guard for guard, _ in edges]),
        update=longer(lattice.update, [-1] * new),
        reward=longer(lattice.reward, [-1] * new),
        payoff=longer(lattice.payoff, payoffs + [-1] * len(rows)),
        guards=tuple(guards),
        rewards=tuple(numbers),
        start=int(moved[lattice.start]),
        state_node=state_node,
        node_state=node_state,
    )


def _guard(guards: list[Expr], known: dict[Hashable, int], condition: Expr) -> int:
    """Return the number of a guard, -1 for one that always holds; a new one is added, and to those that are known."""
    if condition.value is True:
        return -1
    if condition.key not in known:
        known[condition.key] = len(guards)
        guards.append(condition)
    return known[condition.key]
