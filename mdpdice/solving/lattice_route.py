"""Which games are solved on their lattice, and how.

A game with counters can be solved in two ways.  Written out as a flat network it can be given to any
back-end and has all that a `Solution` offers, but every pair of core state and grid point takes
memory, and every edge some more.  On the lattice only a few values per point are kept, and edges never.
Both ways give the same values and are certified.

`mdpdice.solve` writes out what is small, or what the lattice cannot do (a horizon, a discount, objectives other
than the total and `PayoffAtLeast`), or cannot prove: the intervals of a network are narrower.  To choose by oneself:
``solve(explore(game))`` and ``solve(compile_lattice(game))``.
"""

from __future__ import annotations

import time
from typing import Any, cast

import numpy as np

from mdpdice.backend import Feature, Run, Solver, available_solvers, load_solver
from mdpdice.errors import PluginError, UnsupportedError
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.reachable_layers import Layers, find_large_layers, find_layers
from mdpdice.modelling.counters import axes
from mdpdice.modelling.game import Game
from mdpdice.objectives.objective import Objective, PayoffAtLeast, Total
from mdpdice.objectives.on_lattices import lower_lattice
from mdpdice.solving.lattice_solution import LatticeSolution, certify_lattice

__all__ = ["FALL_BACK_UP_TO_EDGES", "FLAT_UP_TO_EDGES", "fits_lattices", "large_layers", "solve_on_lattice"]

FLAT_UP_TO_EDGES = 3_000_000
"""Edges up to which a game with counters is solved as a network, although its lattice would do."""
FALL_BACK_UP_TO_EDGES = 16_000_000
"""Edges up to which a game with counters becomes a network where one is needed, or where the lattice gave no proof."""


def fits_lattices(game: Game[Any, Any], objective: Objective | None, solver: str | Solver) -> bool:
    """Whether a game has a lattice on which the solver can find the objective."""
    if not axes(game) or game.discount != 1 or not isinstance(objective, Total | PayoffAtLeast | None):
        return False
    if solver == "auto":
        return True
    chosen = load_solver(solver) if isinstance(solver, str) else type(solver)
    return Feature.LATTICE in chosen.features


def large_layers(
    lattice: Lattice, objective: Objective | None, run: Run, *, edges: int | None = None
) -> Layers | None:
    """The layers of a lattice on which its objective is to be solved, None where it is to be written out.

    It is written out if it has at most so many edges, by default `FLAT_UP_TO_EDGES`.

    Raises
    ------
    UnsupportedError
        The lattice is large, and `PayoffAtLeast` is not defined on it.
    """
    edges = FLAT_UP_TO_EDGES if edges is None else edges
    if lattice.n_edges * lattice.size <= edges:
        return None
    # What a lattice cannot do of these, a network cannot either, and that is told before it is written out.
    objective = Total() if objective is None else objective
    layers = find_large_layers(lower_lattice(lattice, objective), run)
    if layers is None or _endless_play_counts(layers, objective):
        return None
    return layers if layers.edges > edges else None


def _endless_play_counts(layers: Layers, objective: Objective) -> bool:
    """Whether a play without end would have reached the payoff: it has payoff 0."""
    return isinstance(objective, PayoffAtLeast) and layers.cyclic and bool(objective.threshold <= 0)


def solve_on_lattice(
    problem: Lattice | Layers,
    objective: Objective | None,
    *,
    solver: str | Solver,
    run: Run,
    epsilon: float,
    version: str,
) -> LatticeSolution:
    """Solve a lattice and certify the answer.

    Parameters
    ----------
    problem : Lattice or Layers
        A lattice, or the layers of what `mdpdice.objectives.on_lattices.lower_lattice` made of one.
    objective : Objective, optional
        By default `Total`.

    Raises
    ------
    UnsupportedError
        The lattice is discounted, or cannot do the objective, or the solver cannot do lattices.
    """
    started = time.perf_counter()
    objective = Total() if objective is None else objective
    layers = find_layers(lower_lattice(problem, objective), run) if isinstance(problem, Lattice) else problem
    if _endless_play_counts(layers, objective):
        msg = f"on a lattice with cycles {objective!r} is not solved; use solve(explore(game), ...)"
        raise UnsupportedError(msg, value=objective)
    backend = _chosen(layers, solver)
    values, sweeps = cast("Any", backend).solve_lattice(layers, run)
    if (
        not isinstance(values, np.ndarray)
        or values.shape != layers.reached.shape
        or values.dtype != np.float64
    ):
        msg = f"{backend.name} gave no float64 array of shape {layers.reached.shape}"
        raise PluginError(msg, name=backend.name, phase="solve")
    return certify_lattice(
        layers,
        np.where(layers.reached, values, np.nan),
        solver=backend.name,
        run=run,
        epsilon=epsilon,
        started=started,
        iterations=int(sweeps),
        sense=objective.sense,
        objective=str(objective),
        version=version,
    )


def _chosen(layers: Layers, solver: str | Solver) -> Solver:
    if not isinstance(solver, str):
        chosen: Solver = solver
    elif solver == "auto":
        chosen = load_solver("value-iteration" if layers.cyclic else "backward-induction")()
    else:
        chosen = load_solver(solver)()
    if Feature.LATTICE not in chosen.features or not hasattr(chosen, "solve_lattice"):
        able = [name for name, cls in available_solvers().items() if Feature.LATTICE in cls.features]
        msg = (
            f"solver {chosen.name!r} cannot do lattices; use {' or '.join(able)}, "
            "or the flat network: solve(explore(game), ...)"
        )
        raise UnsupportedError(msg, value=chosen.name)
    return chosen
