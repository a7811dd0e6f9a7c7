"""How the bounds of an iteration close in on the value.

What a solver says about its own progress is not what was proved, so nothing is recorded inside of it: the
solver is run again and again with a growing limit of its iterations, and every answer that it returns is certified
like any other.  The limits double, so all runs together cost about twice the longest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Unpack

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from mdpdice.answers.solution import Solution
from mdpdice.backend import load_solver
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.exploration.to_network import explore
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Network
from mdpdice.objectives.objective import Objective
from mdpdice.plots.canvas import INK, PALETTE, Frame, finish, new_axes, unit_of
from mdpdice.solving.pipeline import solve

LIMITS = {"value-iteration": "max_sweeps", "policy-iteration": "max_iterations"}
"""What limits the iterations of a solver."""
DOUBLING = tuple(2**k for k in range(18))
"""Limits for `capped_solutions`."""


def capped_solutions(
    game: Game[Any, Any] | Network,
    objective: Objective | None = None,
    *,
    solver: str = "value-iteration",
    limits: Iterable[int] = DOUBLING,
    horizon: int | None = None,
    epsilon: float = 1e-9,
) -> list[Solution]:
    """Answers of an iterative solver, stopped after each of some numbers of iterations and each certified by itself.

    Parameters
    ----------
    game, objective, horizon
        As for `mdpdice.solve`; a game is explored once.
    solver : {"value-iteration", "policy-iteration"}
        The solver; of others no limit of iterations is known here, which is an `UnsupportedError`.
    limits : iterable of int
        Largest numbers of iterations, in increasing order.
    epsilon : float
        No further run is made once all intervals are as narrow as this, relative to ``max(1, |value|)``.

    Returns
    -------
    list of Solution
        For `bound_chart`.
    """
    if solver not in LIMITS:
        msg = f"solver {solver!r} does not iterate, or its limit is not known; use {' or '.join(LIMITS)}"
        raise UnsupportedError(msg, value=solver)
    network = explore(game) if isinstance(game, Game) else game
    make: Any = load_solver(solver)
    found: list[Solution] = []
    for limit in limits:
        backend = make(**{LIMITS[solver]: limit})
        one = solve(network, objective, solver=backend, horizon=horizon, epsilon=epsilon, on_limit="partial")
        if found and one.iterations == found[-1].iterations:
            break
        found.append(one)
        if one.proved:
            break
    return found


def bound_chart(
    solutions: Sequence[Solution], *, width: bool = False, unit: str | None = None, **frame: Unpack[Frame]
) -> Axes:
    """Draw the bounds of the value at the start over the iterations, or how far they are apart.

    Parameters
    ----------
    solutions : sequence of Solution
        Of one problem (else a `GameError`), after more and more iterations; see `capped_solutions`.
    width : bool
        Draw the distance of the bounds on a logarithmic scale instead of the bounds.
    unit, **frame
        See `mdpdice.plots`.

    Returns
    -------
    Axes
        Its lines are upper bound, lower bound and value, or the distance; bounds that are not finite are left out.
    """
    if (problems := len({one.digest for one in solutions})) != 1:
        raise GameError(f"{len(solutions)} solutions of {problems} problems; draw solutions of one problem")
    ax = new_axes(frame)
    rows = np.array([(one.iterations, one.lower(), one.estimate(), one.upper()) for one in solutions])
    rows = rows[np.isfinite(rows).all(axis=1) & (rows[:, 0] > 0)]
    ylabel = "upper bound - lower bound" if width else "value at the start"
    ylabel += f" ({unit or unit_of(solutions[0].network)})"
    if width:
        apart = np.maximum(rows[:, 3] - rows[:, 1], np.finfo(float).tiny)
        ax.semilogy(rows[:, 0], apart, "o-", color=PALETTE[0], markersize=4)
    else:
        ax.fill_between(rows[:, 0], rows[:, 1], rows[:, 3], color=PALETTE[0], alpha=0.15, lw=0)
        ax.plot(rows[:, 0], rows[:, 3], "v-", color=PALETTE[5], markersize=5, label="upper bound")
        ax.plot(rows[:, 0], rows[:, 1], "^-", color=PALETTE[0], markersize=5, label="lower bound")
        ax.plot(rows[:, 0], rows[:, 2], ":", color=INK, label="value of the solver")
        ax.legend(frameon=False)
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    return finish(ax, frame, f"iterations of {solutions[0].solver} (logarithmic)", ylabel)
