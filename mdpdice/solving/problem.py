"""A network, its canonical problem, and the way back from an answer to the user's question."""

from __future__ import annotations

import functools
import time
from collections.abc import Hashable
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

import attrs
import numpy as np

from mdpdice.answers.answer import Provenance, Status
from mdpdice.answers.node_values import NodeValues
from mdpdice.answers.solution import Solution
from mdpdice.backend import Candidate, Feature, Run, Solver, needed_features
from mdpdice.certification.verdict import Verdict, check_infinities, enclose_exactly
from mdpdice.errors import GameError, HorizonRangeError
from mdpdice.exploration.to_network import explore
from mdpdice.lattices.lattice import Lattice
from mdpdice.memory import available_bytes
from mdpdice.modelling.game import Game
from mdpdice.modelling.sense import Sense
from mdpdice.networks.network import Bools, Floats, Ints, Network
from mdpdice.numerics.graph import find_cycle, is_acyclic
from mdpdice.objectives.objective import AverageReward, Horizon, Objective, OfPayoff, asked
from mdpdice.objectives.oversights import noted
from mdpdice.objectives.reductions import Lowering

STAGE_BYTES = 80
"""Memory of a node at one stage of a horizon: value, policy, both bounds, and those of all that work on them."""
ASKED_BYTES = 1 << 28
"""Memory that is taken without asking whether it is there."""
S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)


@attrs.frozen(eq=False)
class Problem:
    """A network with the discount and horizon of its objective, and the steps from there to its canonical problem."""

    network: Network
    lowerings: tuple[Lowering, ...]
    sense: Sense
    objective: str = "total"
    averaged: bool = False  # whether it asks for the average per step, not for a total

    @property
    def canonical(self) -> Network:
        """What a solver solves."""
        return self.lowerings[-1].network if self.lowerings else self.network

    def lifted(self, value: Floats, lower: Floats, upper: Floats, policy: Ints) -> tuple[Floats, Floats, Floats, Ints]:
        """Carry values, intervals and a policy of the canonical problem back to the network."""
        for lowering in reversed(self.lowerings):
            value, (lower, upper) = lowering.value(value), lowering.bounds(lower, upper)
            policy = lowering.policy(policy)
        return value, lower, upper, policy

    def needs(self) -> frozenset[Feature]:
        """Features that a solver must have."""
        return self._needs

    @functools.cached_property
    def _needs(self) -> frozenset[Feature]:
        problem = self.canonical
        # A cycle that collects or pays without end was left out as infinite, but it is there.
        endless = any(
            low.infinite is not None and low.because in ("collects", "postpones", "pays", "won")
            for low in self.lowerings
        )
        acyclic = is_acyclic(problem.indptr, problem.dst, _lasting(problem))
        return needed_features(problem, cyclic=endless or not acyclic)

    def cycle(self) -> tuple[Network, list[int]]:
        """Where a solver without the feature CYCLIC cannot go: a network, and nodes of a cycle in it."""
        networks = (self.canonical, self.network)
        found = (find_cycle(each.indptr, each.dst, _lasting(each)) for each in networks)
        return next((net, nodes) for net, nodes in zip(networks, found, strict=True) if nodes)


def _lasting(network: Network) -> Bools | None:
    """Edges that a cycle may be made of, None for all: with a horizon a play comes back to a stage by chance alone."""
    return None if network.horizon is None else ~network.decides[network.source]


def prepare(
    game: Game[S, A] | Network,
    objective: Objective | None = None,
    *,
    horizon: int | None = None,
    run: Run | None = None,
    max_states: int = 10_000_000,
    lattice: Lattice | None = None,
) -> Problem:
    """Explore a game and lower its objective, until `run` stops it; see `solve` and `mdpdice.explore`."""
    __tracebackhide__ = True
    run = Run() if run is None else run
    chosen = asked(game, objective)
    network = game if isinstance(game, Network) else explored(game, chosen, max_states, run, lattice)
    if horizon is not None:
        if isinstance(chosen, Horizon):
            raise GameError("the horizon is given twice: in the objective and as horizon=", value=horizon)
        network = Horizon(horizon).apply(network)
    applied = noted(chosen.apply(network), chosen)
    _refuse_vast(applied)
    text = "total" if isinstance(chosen, Horizon) else str(chosen)
    lowerings, averaged = tuple(chosen.lower(applied, run.check)), isinstance(chosen, AverageReward)
    return Problem(applied, lowerings, chosen.wanted(network), text, averaged)


def _refuse_vast(network: Network) -> None:
    """Reject a horizon whose stages cannot fit in memory, before memory is allocated for them."""
    if network.horizon is None:
        return
    size = (network.horizon + 1) * network.n_nodes * STAGE_BYTES
    # Finding out how much there is takes longer than a small solve.
    if size > ASKED_BYTES and size > (room := available_bytes()):
        fits = max(0, room // (network.n_nodes * STAGE_BYTES) - 1)
        msg = (
            f"a horizon of {network.horizon:,} decisions has {network.n_nodes:,} nodes at each stage, some "
            f"{size / 2**30:,.3g} GiB, more than the {room / 2**30:,.3g} GiB free; horizons up to {fits:,} fit, "
            "and a discount below 1 needs no stages"
        )
        raise HorizonRangeError(msg, value=network.horizon, limit=fits)


def explored(game: Game[Any, Any], objective: Objective, max_states: int, run: Run, lattice: Lattice | None) -> Network:
    """Return the network of a game, with its rewards kept apart where their sum counts."""
    __tracebackhide__ = True
    network = explore(game, max_states=max_states, progress=run.watch, lattice=lattice)
    if network.averaged and isinstance(objective, OfPayoff):
        # The sum of the rewards counts, so those that differ are kept apart.
        return explore(game, merge=False, max_states=max_states, progress=run.watch)
    return network


def lift(
    problem: Problem,
    solver: Solver,
    candidate: Candidate,
    value: Any,
    policy: Any,
    verdict: Verdict,
    started: float,
    exact: Any = None,
) -> Solution:
    """Carry an answer to the canonical problem, and what was proved of it, back to the user's network.

    Value and policy go by the stages of the canonical problem; `started` is a time of `time.perf_counter`.
    """
    if exact is not None and problem.canonical.horizon is None:
        exact = [exact]
    for lowering in reversed(problem.lowerings):
        exact = None if exact is None else lowering.exact(exact)
    value, lower, upper, policy = problem.lifted(value, verdict.lower, verdict.upper, policy)
    if exact is not None and any(lowering.shift for lowering in problem.lowerings):
        value, lower, upper = _rounded(exact, value.shape)
    certified, reason = verdict.certified, verdict.reason
    infinite = np.isinf(value)
    if certified and infinite.any():
        certified = check_infinities(problem.network, problem.lowerings)
        why = dict.fromkeys(each.because for each in problem.lowerings if each.infinite is not None)
        reason = "; ".join(map(_INFINITE.__getitem__, why))
        if not certified:
            reason = "the infinite values were not confirmed"
    if certified:
        status = Status.CERTIFIED if exact is None else Status.EXACT
    else:
        status = Status.PARTIAL if candidate.details.get("stopped") else Status.UNCERTIFIED
    seconds, details = time.perf_counter() - started, candidate.details
    who = solver.name, problem.objective, problem.sense, candidate.iterations
    made = Provenance(*who, seconds, library_version(), details)
    table = NodeValues(problem.network, value, lower, upper, policy, exact if certified else None)
    return Solution(table, status, made, verdict.width, reason)


def _rounded(exact: list[list[Any]], shape: tuple[int, ...]) -> tuple[Floats, Floats, Floats]:
    """Return the floats of exact values and those next to them, since a shift of floats rounds."""
    value = np.array([[float(number) for number in row] for row in exact])
    lower, upper = value.copy(), value.copy()
    for row, low, high in zip(exact, lower, upper, strict=True):
        finite = [at for at, number in enumerate(row) if isinstance(number, Fraction)]
        ends = low[finite], high[finite]
        enclose_exactly([row[at] for at in finite], *ends)
        low[finite], high[finite] = ends
    return value.reshape(shape), lower.reshape(shape), upper.reshape(shape)


_INFINITE = {
    "collects": "the value is infinite where a play can come to collect without end",
    "postpones": (
        "the value is infinite where a round that lowers the reward can be repeated before a target is reached; "
        "no single policy attains it"
    ),
    "pays": "the value is infinite where every policy lets a play lose without end with positive probability",
    "won": "the value is infinite where a player can come to collect without end, whatever the other one does",
    "missed by all": "the value is infinite where no policy reaches a target with probability one",
    "missed by some": "the value is infinite where some policy misses the targets with positive probability",
}


@functools.cache
def library_version() -> str:
    """Version of mdpdice, for answers and files."""
    try:
        return version("mdpdice")
    except PackageNotFoundError:  # a checkout that is not installed
        return "unknown"
