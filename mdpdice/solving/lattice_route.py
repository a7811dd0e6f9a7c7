"""Which games are solved on their lattice, and how.

A game with counters can be solved in two ways.  Expanded into a network it can be given to any solver and has
all that a network offers, but every pair of core state and grid point takes memory, and every edge some more.  On the
lattice only a few values per point are kept, and edges never.  Both ways give the same values and are certified.

`mdpdice.solve` expands what is small, or what the lattice cannot do (a horizon, a discount, `UntilReward`, targets
that are not comparisons), or cannot prove: the intervals of a network are narrower.  To choose yourself:
``solve(explore(game))`` and ``solve(compile_lattice(game))``.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from mdpdice.answers.answer import Provenance, Status
from mdpdice.answers.grid_values import GridValues
from mdpdice.answers.solution import Solution
from mdpdice.backend import Progress, Run
from mdpdice.errors import StateLimitError, UnsupportedError
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.lattices.digest import digest
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.layer_solver import solve_layers
from mdpdice.lattices.reachable_layers import Layers, find_large_layers, find_layers
from mdpdice.modelling.counters import axes, full_state
from mdpdice.modelling.game import Game
from mdpdice.networks.network import Floats
from mdpdice.objectives.collected import COLLECTED
from mdpdice.objectives.objective import Objective, OfPayoff, Reach, Total, Win
from mdpdice.objectives.on_lattices import lower_lattice
from mdpdice.solving.checkpoints import Arrays, values_digest
from mdpdice.solving.problem import library_version

if TYPE_CHECKING:
    from mdpdice.certification.checking.lattice import Found, Share

FLAT_UP_TO_EDGES = 3_000_000
"""Edges up to which a game with counters is solved as a network, although its lattice would do."""
FALL_BACK_UP_TO_EDGES = 16_000_000
"""Edges up to which a game with counters becomes a network where one is needed, or where the lattice gave no proof."""
MAX_SWEEPS = 100_000
"""Largest number of sweeps over one part of a layer that leads to itself."""
LAYER_SWEEPS = "layer-sweeps"
"""Name of the engine that solves lattices."""


def fits_lattices(game: Game[Any, Any], objective: Objective | None) -> bool:
    """Whether a game has a lattice on which such an objective can be found."""
    discounted = game.discount != 1 and not isinstance(objective, Reach | Win)
    return bool(axes(game)) and not discounted and isinstance(objective, Total | Reach | Win | OfPayoff | None)


def compile_for(
    game: Game[Any, Any], objective: Objective | None, *, max_states: int = 10_000_000, progress: Progress | None = None
) -> Lattice:
    """Return the lattice of a game, with its rewards kept apart where their sum counts."""
    __tracebackhide__ = True
    lattice = compile_lattice(game, max_states=max_states, progress=progress)
    if lattice.averaged and isinstance(objective, OfPayoff):
        return compile_lattice(game, merge=False, max_states=max_states, progress=progress)
    return lattice


def compile_from(
    game: Game[Any, Any], objective: Objective | None, position: Hashable, *, progress: Progress | None = None
) -> Lattice:
    """Return the lattice of a game that begins in a position, which gives every counter a value of its range."""
    found = axes(game)
    there = full_state(position, found)
    point = there.point(found)
    moved = copy.copy(game)
    # Frozen attrs classes refuse an ordinary assignment.
    object.__setattr__(moved, "start", lambda: there.state)
    return attrs.evolve(compile_for(moved, objective, progress=progress), start_point=point)


def large_layers(lattice: Lattice, objective: Objective | None, run: Run, *, edges: int | None = None) -> Layers | None:
    """Return the layers of a lattice on which its objective is to be solved, None where it is to be expanded.

    It is expanded if it has at most `edges` edges, by default `FLAT_UP_TO_EDGES`.
    """
    edges = FLAT_UP_TO_EDGES if edges is None else edges
    paid = isinstance(objective, Win) or (isinstance(objective, OfPayoff) and bool((lattice.reward >= 0).any()))
    if not paid and lattice.n_edges * lattice.size <= edges:
        return None
    lowered, endless = lower_lattice(
        lattice, Total() if objective is None else objective, attrs.evolve(run, checkpoint=None)
    )
    if lowered.n_edges * lowered.size <= edges:
        return None
    # With the sums beside its states a network has edges for every sum, however thin the layers are.
    layers = _layers(find_layers if paid else find_large_layers, lowered, objective, run)
    if layers is None or (endless and layers.cyclic):
        return None
    return layers if layers.edges > edges else None


def _layers(
    find: Callable[[Lattice, Run], Layers | None], lowered: Lattice, objective: Objective | None, run: Run
) -> Layers | None:
    if run.checkpoint is not None:
        key = {"problem": digest(lowered), "solver": LAYER_SWEEPS, "mdpdice": library_version()}
        run.checkpoint.open(key, {"objective": str(objective)})
    try:
        return find(lowered, run)
    except StateLimitError as error:
        if lowered.axes[-1].name != COLLECTED:
            raise
        raise UnsupportedError(f"{objective}: {error.message}", value=objective) from error


def layers_of(lattice: Lattice, objective: Objective, run: Run) -> Layers:
    """Return the layers on which an objective is solved, or an error if the lattice cannot do it."""
    lowered, endless = lower_lattice(lattice, objective, attrs.evolve(run, checkpoint=None))
    layers = _layers(find_layers, lowered, objective, run)
    assert layers is not None
    if endless and layers.cyclic:
        msg = f"on a lattice with cycles {objective!r} is not solved; use solve(explore(game), ...)"
        raise UnsupportedError(msg, value=objective)
    return layers


def solve_on_lattice(layers: Layers, objective: Objective, run: Run, epsilon: float) -> Solution:
    """Sweep the layers of a lattice and certify the answer."""
    started = time.perf_counter()
    values, sweeps = solve_layers(layers, run, max_sweeps=MAX_SWEEPS)
    # The sense is settled: that of the lattice that was solved is another one.
    sense = objective.wanted(layers.lattice)
    made = Provenance(LAYER_SWEEPS, str(objective), sense, sweeps, version=library_version())
    return certified(layers, values, made, run, epsilon, started)


def certified(layers: Layers, values: Floats, made: Provenance, run: Run, epsilon: float, started: float) -> Solution:
    """Verify values of the layers and return the solution they make; the seconds of `made` are filled in.

    Values have the shape (entries, points of the grid), and are NaN where play cannot come.
    """
    from mdpdice.certification.lattice_verdict import certify_lattice  # numba: kept answers do without

    verdict = certify_lattice(layers, values, epsilon, *_verified(layers, values, run))
    status = Status.UNCERTIFIED if verdict.reason else Status.CERTIFIED
    made = attrs.evolve(made, seconds=time.perf_counter() - started)
    table = GridValues(layers, values, verdict.widths, made.sense)
    return Solution(table, status, made, verdict.width, verdict.reason)


def _verified(layers: Layers, stored: Floats, run: Run) -> tuple[Callable[[], None], Found | None, Share | None]:
    """How to keep what is verified meanwhile, what an earlier solve has verified of the same values, and who does."""
    from mdpdice.certification.checking.lattice import Found, Share

    file, team = run.checkpoint, run.team
    own = np.zeros(0, dtype=np.uint8)
    # A row for every process, with what it found; those of other machines stay empty, and then nothing is kept.
    rows = team.marks((team.size, 6, 8 * layers.ranks.count)).view(np.float64)
    found = Found(rows[team.rank, :4], rows[team.rank, 4])
    found.longest[:] = 1.0
    if file is not None:
        file.flush()
        own = np.frombuffer(bytes.fromhex(values_digest(stored)), dtype=np.uint8)

    def earlier() -> Arrays | None:
        state = None if file is None else file.state("verified")
        return state if state is not None and np.array_equal(state.get("values", own[:0]), own) else None

    state = team.handed(earlier)
    if state is not None:
        with team.together(), nullcontext() if file is None else file.last("verified").part("verified"):
            found.off[:], found.longest[:], found.done = state["off"], state["longest"], int(state["done"][0])

    def check() -> None:
        run.check()
        rows[team.rank, 5, 0] = found.done
        if file is not None and (done := int(rows[:, 5, 0].min())) and file.due(1.0):
            told = {"off": rows[:, :4].max(axis=0), "longest": rows[:, 4].max(axis=0), "done": np.array([done])}
            file.put("verified", {"values": own, **told})

    return check, found, Share(team.takes, team.joined)
