"""Objectives on a lattice: the lattice whose total reward is what is wanted, for the player to move."""

from __future__ import annotations

from fractions import Fraction

import attrs
import numpy as np

from mdpdice.errors import UnsupportedError
from mdpdice.lattices.lattice import Lattice
from mdpdice.modelling.expressions import as_expr
from mdpdice.networks.network import Kind
from mdpdice.objectives.objective import Objective, PayoffAtLeast, Sense, Total

__all__ = ["lower_lattice"]


def lower_lattice(lattice: Lattice, objective: Objective) -> Lattice:
    """The lattice whose total reward is the objective, for the player to move.

    Raises
    ------
    UnsupportedError
        The lattice is discounted, or cannot do the objective.
    """
    if not isinstance(objective, Total | PayoffAtLeast) or lattice.discount != 1:
        supported = isinstance(objective, Total | PayoffAtLeast)
        what = "a discount" if supported else f"the objective {objective!r}"
        msg = (
            "lattices are solved for the undiscounted total and for PayoffAtLeast, not for "
            f"{what}; use solve(explore(game), ...)"
        )
        raise UnsupportedError(msg, value=objective)
    if isinstance(objective, PayoffAtLeast):
        lattice = _reaching(lattice, objective)
    return _for_sense(lattice, objective.sense)


def _reaching(lattice: Lattice, objective: PayoffAtLeast) -> Lattice:
    """The lattice whose ends pay 1 where the payoff is large enough, else 0."""
    if (lattice.sign < 0).any() or (lattice.reward >= 0).any():
        what = "changes sides" if (lattice.sign < 0).any() else "pays on the way"
        msg = (
            f"PayoffAtLeast needs the whole payoff at the end, for one player, but this lattice {what}; keep the "
            "points in a counter and pay them with end(...)"
        )
        raise UnsupportedError(msg, value=objective)
    ends = lattice.kind == Kind.END
    # Payoff 0 has no expression of its own.
    payoffs = [*lattice.rewards, as_expr(0)]
    reached = [as_expr(payoff >= objective.threshold) for payoff in payoffs]
    number = np.where(lattice.payoff < 0, len(lattice.rewards), lattice.payoff)
    return attrs.evolve(
        lattice,
        rewards=tuple(reached),
        payoff=np.where(ends, number, -1).astype(lattice.payoff.dtype),
        total=Fraction(0),
        averaged=False,
    )


def _for_sense(lattice: Lattice, sense: Sense) -> Lattice:
    """The lattice in which the player to move wants what `sense` says."""
    if sense == "max":
        return lattice
    kind = lattice.kind.copy()
    kind[lattice.kind == Kind.MAX], kind[lattice.kind == Kind.MIN] = Kind.MIN, Kind.MAX
    return attrs.evolve(lattice, kind=kind)
