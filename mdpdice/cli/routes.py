"""Which games are solved as a network, and which stay on their lattice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import mdpdice
from mdpdice.cli.case import Case
from mdpdice.cli.limits import most_states

if TYPE_CHECKING:
    from mdpdice.lattices.reachable_layers import Layers


def compiled(
    case: Case, objective: mdpdice.Objective | None, lattice: mdpdice.Lattice | None = None, *, flat: bool = True
) -> tuple[mdpdice.Lattice | None, Layers | None]:
    """Return the lattice of a game, if it can be solved on one, and its layers, if it is too large for a network.

    `lattice` is that of the game, if it was compiled already.  Where a network is needed (`flat`), it may be
    larger than `solve` would make it.
    """
    from mdpdice.solving import lattice_route

    if case.horizon is not None or not lattice_route.fits_lattices(case.game, objective):
        return lattice, None
    if lattice is None:
        lattice = mdpdice.compile_lattice(case.game, progress=case.progress, max_states=most_states())
    edges = lattice_route.FALL_BACK_UP_TO_EDGES if flat else lattice_route.FLAT_UP_TO_EDGES
    return lattice, lattice_route.large_layers(lattice, objective, mdpdice.Run(progress=case.progress), edges=edges)


def large(case: Case, lattice: mdpdice.Lattice | None = None, *, needs_network: bool = True) -> Layers | None:
    """Return the lattice of a game that is too large for a network, where it can be used instead; else None.

    `lattice` is that of the game, if it was compiled already.
    """
    _, layers = compiled(case, None, lattice, flat=needs_network)
    if layers is not None and case.objective is not None:
        how = "'mdpdice solve' and 'mdpdice advise' take --objective there"
        msg = f"{case.name} has {layers.states:,} states, too many for a policy under an objective; {how}"
        raise click.UsageError(msg)
    return layers
