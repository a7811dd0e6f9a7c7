"""Where the states of a lattice are, which of their edges are there, and what a switch leads to."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from mdpdice.errors import UnknownStateError
from mdpdice.lattices.grid_tables import Tables
from mdpdice.lattices.lattice import FORBIDDEN, Lattice
from mdpdice.modelling.counters import At, full_state
from mdpdice.modelling.equality import same_kind
from mdpdice.networks.network import Bools, Ints

__all__ = ["open_edges", "place_of", "resolved"]


def place_of(lattice: Lattice, numbers: Mapping[Hashable, int], state: Hashable) -> tuple[int, int]:
    """Core node and point of a state, given the numbers of the core states."""
    full = state if isinstance(state, At) else full_state(state, lattice.axes)
    index = numbers.get(full.state)
    if index is None or not same_kind(lattice.states[index], full.state):
        first = list(lattice.states[:3])
        msg = f"state {full.state!r} is not in the core of this game; its first states are {first!r}"
        raise UnknownStateError(msg, value=state)
    return int(lattice.state_node[index]), full.point(lattice.axes)


def open_edges(lattice: Lattice, edges: Ints, columns: Any, tables: Tables) -> Bools:
    """Whether edges are there, each at its columns of the tables; the two broadcast."""
    guard = lattice.guard[edges]
    # What leaves the grid where it may not is an error, and not for `forbid` to take away.
    there: Bools = tables.targets[lattice.update[edges], columns] != FORBIDDEN
    return there & ((guard < 0) | tables.guards[guard, columns]) if len(tables.guards) else there


def resolved(lattice: Lattice, node: int, tables: Tables, columns: Ints) -> Iterator[tuple[int, Ints]]:
    """The nodes that a node stands for, and at which of some points: others than itself if it is a switch."""
    todo = [(node, columns)]
    while todo:
        at, where = todo.pop()
        if not len(where):
            continue
        if not lattice.switch[at]:
            yield at, where
            continue
        for edge in range(int(lattice.indptr[at]), int(lattice.indptr[at + 1])):
            guard = int(lattice.guard[edge])
            live = where if guard < 0 else where[tables.guards[guard][where]]
            if lattice.update[edge] < 0 and lattice.node_state[lattice.dst[edge]] < 0:
                todo.append((int(lattice.dst[edge]), live))
            elif len(live):
                yield at, live
