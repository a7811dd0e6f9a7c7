"""How large the network of a lattice would be, before it is made."""

from __future__ import annotations

from collections.abc import Mapping

from mdpdice.backend import Progress, Run
from mdpdice.errors import GameError, StateLimitError
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.reachable_layers import find_large_layers

COUNT_FROM_STATES = 1 << 20
"""States from which they are counted before a network is made: making fewer takes as long as counting."""


def network_bytes(states: int, nodes: int, edges: int) -> int:
    """Memory that is taken while a network is made."""
    return 56 * states + 32 * nodes + 48 * edges


def size_bound(lattice: Lattice) -> tuple[int, int, int]:
    """Nodes, edges and bytes that the whole grid would have; play may reach only a small part of it.

    The bytes are those that are taken while the network is made.
    """
    size = lattice.size
    nodes, edges = len(lattice.kind) * size, len(lattice.dst) * size
    return nodes, edges, network_bytes(len(lattice.states) * size, nodes, edges)


def count_first(lattice: Lattice, max_states: int, max_bytes: int, progress: Progress | None) -> None:
    """Reject a network that cannot fit before it is made; counting takes a small part of the time, and no edges.

    Nothing is counted that can only be small, or where the layers are so small that counting is no faster.

    Parameters
    ----------
    lattice : Lattice
        What is to be expanded.
    max_states, max_bytes, progress
        As for `mdpdice.explore`.

    Raises
    ------
    StateLimitError
        Play can come to more states.
    """
    states = len(lattice.states) * lattice.size
    too_large = states > max_states or size_bound(lattice)[2] > max_bytes
    if not too_large or min(states, max_states) <= COUNT_FROM_STATES:
        return
    refusal = None

    def told(_: str, numbers: Mapping[str, float]) -> None:
        nonlocal refusal
        found, edges = int(numbers["states"]), int(numbers["edges"])
        size = network_bytes(found, found, edges)
        many = found > max_states
        if many or size > max_bytes:
            name, limit = ("max_states", max_states) if many else ("max_bytes", max_bytes)
            msg = (
                f"this game has at least {found:,} states and {edges:,} edges ({size:,} bytes), more than {name}="
                f"{limit:,}, so it was not explored. Let counters take fewer values, or merge equal futures; its "
                "undiscounted total, PayoffAtLeast and the like need no network: solve(compile_lattice(game))"
            )
            refusal = StateLimitError(msg, explored=0, frontier=[], value=found, limit=limit)
            raise refusal
        if progress is not None:
            progress("explore", {"states": found, "explored": 0, "edges": edges})

    try:
        find_large_layers(lattice, Run(progress=told), max_bytes=max_bytes)
    except (StateLimitError, GameError) as error:
        # Where there is no room for the marks, play may still come to few points of the grid; a progress that decreases
        # is no matter here, and other faults are found again where they are explored.
        if error is refusal:
            raise
