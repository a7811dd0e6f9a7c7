"""`solve`: explore, lower the objective, let a solver propose, certify, and say what was proved."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import attrs
import numpy as np

from mdpdice.answers.solution import Solution
from mdpdice.backend import Alone, Candidate, Feature, Progress, Run, Solver, available_solvers, load_solver
from mdpdice.certification.residual_bounds import is_large
from mdpdice.certification.verdict import Verdict, certify, certify_exact
from mdpdice.compilation import Loop
from mdpdice.errors import NotConvergedError, PluginError, SolveInterrupted, StateLimitError, UnsupportedError
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.reachable_layers import Layers, find_layers
from mdpdice.modelling.counters import axes
from mdpdice.modelling.game import Game
from mdpdice.modelling.number import size
from mdpdice.modelling.ranges import number_text
from mdpdice.modelling.sense import Sense
from mdpdice.networks.cycles import cycle_error
from mdpdice.networks.network import Floats, Ints, Network
from mdpdice.numerics.regions import FAST_PATH_FROM_EDGES, largest_component
from mdpdice.objectives.objective import AverageReward, Objective, Total, asked
from mdpdice.objectives.oversights import noted
from mdpdice.objectives.reductions import Lowering, unroll
from mdpdice.objectives.risk import Searched
from mdpdice.solving.average import PlanOfAverage
from mdpdice.solving.checkpoints import Checkpoint
from mdpdice.solving.estimate import SearchPlan, game_solver
from mdpdice.solving.interruption import Interrupts
from mdpdice.solving.lattice_route import (
    FALL_BACK_UP_TO_EDGES,
    compile_for,
    fits_lattices,
    large_layers,
    layers_of,
    solve_on_lattice,
)
from mdpdice.solving.problem import Problem, library_version, lift, prepare
from mdpdice.solving.proposal import check_candidate, propose
from mdpdice.solving.stages import solve_stages
from mdpdice.solving.team import Team
from mdpdice.solving.threshold_search import SearchOfThresholds
from mdpdice.solving.unfinished_lattice import unfinished

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)

EXACT_UP_TO_NODES = 20_000
"""Nodes, of all stages together, up to which `auto` solves exactly what floats do not prove."""
EXACT_SECONDS = 30.0
"""Seconds that it takes for that at most."""
PARTIAL_SECONDS = 0.4
"""Time that is taken to find bounds for what a stopped solver leaves behind."""
NOT_SHARED = "each process solved it alone: only what is solved on a lattice is shared"
"""A note of an answer that several processes found on a network."""
SETTLES = "; solver='exact' would settle it"
"""The end of the reason of an answer in floats that is not proved."""
PARTIAL_UP_TO_EDGES = 3_000_000
"""Edges up to which bounds are sought for what a stopped solver leaves behind; larger problems get none."""
POLICIES_FROM_NODES = 5_000
"""Nodes of a component from which `auto` iterates policies instead of values where plays may be long."""


def solve(
    game: Game[S, A] | Network | Lattice,
    objective: Objective | None = None,
    *,
    sense: Sense | None = None,
    solver: str | Solver = "auto",
    horizon: int | None = None,
    epsilon: float = 1e-6,
    progress: Progress | None = None,
    time_limit: float | None = None,
    cancel: threading.Event | None = None,
    on_limit: str = "raise",
    max_states: int = 10_000_000,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 60.0,
    comm: Any = None,
) -> Solution:
    """Solve a game and prove how far the answer can be off.

    Parameters
    ----------
    game : Game, Network or Lattice
        What to solve.  A game with counters is expanded into a network if that is not too large, and solved on its
        lattice otherwise (`mdpdice.solving.lattice_route`); ``explore(game)`` and ``compile_lattice(game)`` choose.
    objective : Objective, optional
        By default `Total`, with the discount of the game.
    sense : {"max", "min"}, optional
        Whether the player to move maximises or minimises it, if the objective does not say; by default as the
        game says (`Game.sense`), and "max" for a chance.
    solver : str or Solver
        Name of a solver, a solver with its parameters, or ``"auto"``, which never picks one that
        takes the game itself and gives an estimate (``"lookahead"``).  Where floats prove nothing in a network of
        at most `EXACT_UP_TO_NODES` nodes, it goes on with ``"exact"``, for at most half of `time_limit` or
        `EXACT_SECONDS`, and says so in its `warnings`.
    horizon : int, optional
        Largest number of decisions in a play; then every stage is solved.  Of very many small ones, of a million
        nodes together, some are kept, and the others are found again when they are asked for.
    epsilon : float
        The status is CERTIFIED if every interval has at most the width
        ``epsilon * max(1, |value|)``.  Iterations go on to about nine digits in a network of less than
        20,000 edges, and stop at a sixteenth of `epsilon` in a larger one.
    progress : callable, optional
        See `mdpdice.backend.Progress`.
    time_limit : float, optional
        Seconds from the call on, after which exploring, reducing, solving and certifying stop.
    cancel : threading.Event, optional
        Set it to stop the solve.  Ctrl-C sets it too, if Python's own handler is in place
        and the solve runs in the main thread; a second Ctrl-C is an ordinary `KeyboardInterrupt`.
    on_limit : {"raise", "partial"}
        What to do when an iteration limit comes before convergence.
    max_states : int
        Limit of the exploration.
    checkpoint : path or str, optional
        Folder where a long solve keeps what it has done, or a URL that fsspec knows (``mdpdice[remote]``): every
        layer, stage or component, or the state of an iteration every `checkpoint_seconds` and when it is
        interrupted.  If it already exists, the solve continues from it, to the same bits; a folder with wrong
        numbers costs time, no more.  It stays until you delete it.
    checkpoint_seconds : float
        Largest number of seconds between two writes of a state.
    comm : mpi4py.MPI.Comm, optional
        The processes that share the layers of a lattice, as ``MPI.COMM_WORLD`` (``mdpdice[mpi]``); all of them make
        the same call and get the same answer, to the bit that of one process.  A network every process solves alone.

    Returns
    -------
    Solution
        Its `status` says what was proved.

    Raises
    ------
    UnsupportedError
        The solver lacks a feature that the problem needs; the message says who has it.
    PluginError
        The solver crashed or broke its contract.
    NotConvergedError, SolveInterrupted
        A limit, or Ctrl-C, came first.  `partial` is a `Solution` with what is known, or None:
        its interval holds the optimal value, wide as it may be.
    CheckpointLockedError, CheckpointMismatchError, CorruptFileError
        The checkpoint is used by another solve, belongs to another one, or is damaged.
    """
    __tracebackhide__ = True
    Loop.route = Loop.route or ("solve" if comm is None else "")
    epsilon, every = size(epsilon, "epsilon"), size(checkpoint_seconds, "checkpoint_seconds")
    seconds = None if time_limit is None else size(time_limit, "time_limit")
    event = threading.Event() if cancel is None else cancel
    deadline = None if seconds is None else time.monotonic() + seconds
    team = Alone() if comm is None else Team(comm, None if checkpoint is None else os.fspath(checkpoint))
    # Who writes and who tells is one process.
    file = Checkpoint(checkpoint, every) if checkpoint is not None and team.rank == 0 else None
    told = progress if team.rank == 0 else None
    run = Run(min(1e-9, epsilon / 4), told, deadline, event, on_limit, file, team)
    way = None
    try:
        with team, file or contextlib.nullcontext(), Interrupts(event, quiet=comm is not None) as interrupts:
            way = plan(game, objective, sense=sense, solver=solver, horizon=horizon, max_states=max_states, run=run)
            found = way.solve(run, epsilon, interrupts)
    except SolveInterrupted as error:
        error.checkpoint = file.path if file is not None and file.kept else None
        error.partial = error.partial if isinstance(error.partial, Solution) else None
        if isinstance(way, LatticePlan) and error.partial is None:
            error.partial = unfinished(way.layers, way.objective, run, error.message)
        if error.partial is not None:
            error.message += f"; the value lies in [{error.partial.lower():.6g}, {error.partial.upper():.6g}]"
        if error.checkpoint is not None:
            error.message += f"; {error.checkpoint} holds what was done, and the same call goes on from there"
        raise
    made, details = found.provenance, {}
    if file is not None:
        # Layers, stages or components that were not solved again, 1 for a state.
        details["resumed_layers"] = sum(file.resumed.get(series, 0) for series in ("steps", "state"))
    if comm is not None:
        details["ranks"] = team.size if isinstance(way, LatticePlan) and found.lattice is not None else 1
        made = attrs.evolve(made, notes=(*made.notes, *[NOT_SHARED] * (details["ranks"] < team.size)))
    found = attrs.evolve(found, provenance=attrs.evolve(made, details={**made.details, **details}))
    return attrs.evolve(found, game=game) if isinstance(game, Game) else found


def plan(
    game: Game[S, A] | Network | Lattice,
    objective: Objective | None = None,
    *,
    sense: Sense | None = None,
    solver: str | Solver = "auto",
    horizon: int | None = None,
    max_states: int = 10_000_000,
    run: Run | None = None,
) -> FlatPlan | LatticePlan | SearchPlan | SearchOfThresholds | PlanOfAverage:
    """Choose how a question is answered: on a network, on a lattice, or by a search of the game."""
    __tracebackhide__ = True
    run = Run() if run is None else run
    chosen, searcher = asked(game, objective, sense), game_solver(solver)
    if searcher is not None:
        return SearchPlan(game, chosen, horizon, searcher)
    if run.checkpoint is not None and (getattr(chosen, "searched", False) or isinstance(chosen, AverageReward)):
        msg = f"{chosen} solves many problems, and a checkpoint is of one; leave it out"
        raise UnsupportedError(msg, value=chosen)
    if isinstance(chosen, Searched) and chosen.searched:
        one = functools.partial(plan, solver=solver, horizon=horizon, max_states=max_states, run=run)
        return SearchOfThresholds(game, chosen, max_states, one, EXACT_UP_TO_NODES * (solver == "auto"), EXACT_SECONDS)
    if isinstance(game, Lattice):
        if horizon is not None or solver != "auto":
            what = f"solver={solver!r}" if horizon is None else "a horizon"
            msg = f"lattices are solved by sweeps of their layers, without {what}; use solve(explore(game), ...)"
            raise UnsupportedError(msg, value=horizon)
        return LatticePlan(layers_of(noted(game, chosen), chosen, run), chosen)
    lattice = refused = None
    if isinstance(game, Game) and solver == "auto" and horizon is None and fits_lattices(game, chosen):
        lattice = noted(compile_for(game, chosen, max_states=max_states, progress=run.watch), chosen)
        layers = None
        try:
            layers = large_layers(lattice, chosen, run)
        except UnsupportedError as error:
            refused = error
            if (lattice.sign < 0).any():
                # A network cannot do it either; raise before it is made.
                raise
        if layers is not None:
            written_out = functools.partial(_flat_plan, game, chosen, solver, None, max_states, run, lattice)
            return LatticePlan(layers, chosen, written_out if layers.edges <= FALL_BACK_UP_TO_EDGES else None)
    try:
        return _flat_plan(game, chosen, solver, horizon, max_states, run, lattice)
    except StateLimitError as error:
        if refused is None and isinstance(game, Game) and axes(game):
            refused = _refused_by_lattices(game, objective, horizon)
        if refused is None:
            raise
        raise refused from error


def _refused_by_lattices(
    game: Game[Any, Any], objective: Objective | None, horizon: int | None
) -> UnsupportedError | None:
    """Return the error for a question that only a network can answer, of a game that is too large for one."""
    if fits_lattices(game, objective) and horizon is None:
        return None
    what = "the total" if isinstance(objective, Total | None) else str(objective)
    what += "" if horizon is None else f" with a horizon of {horizon}"
    what += "" if game.discount == 1 else f" with the discount {number_text(game.discount)}"
    msg = (
        f"{what} is solved on the network of a game alone, and this game is too large for one. On the lattice of its "
        "counters solve() knows Total, PayoffAtLeast, PayoffAtMost and Utility without a discount, Reach and Win"
    )
    return UnsupportedError(msg, value=objective)


def _flat_plan(
    game: Game[S, A] | Network,
    objective: Objective,
    solver: str | Solver,
    horizon: int | None,
    max_states: int,
    run: Run,
    lattice: Lattice | None,
) -> FlatPlan | PlanOfAverage:
    __tracebackhide__ = True
    problem = prepare(game, objective, horizon=horizon, run=run, max_states=max_states, lattice=lattice)
    return plan_of(problem, solver, *_extra(run))


def plan_of(problem: Problem, solver: str | Solver = "auto", *extra: Feature) -> FlatPlan | PlanOfAverage:
    """Choose how a prepared problem is solved, by a solver that has the `extra` features too."""
    surely = solver == "auto"
    if not problem.averaged:
        return FlatPlan(problem, choose(problem, solver, frozenset(extra)), surely)
    first = choose(problem, "value-iteration" if surely else solver)
    return PlanOfAverage(problem, first, lambda one: FlatPlan(one, choose(one, solver), surely), surely)


@attrs.frozen
class FlatPlan:
    """A solver solves a network.

    With `surely` it goes on in exact arithmetic where floats prove nothing.
    """

    problem: Problem
    solver: Solver
    surely: bool = False

    def solve(self, run: Run, epsilon: float, interrupts: Interrupts | None = None) -> Solution:
        """Run the solver and certify its answer."""
        if is_large(self.problem.canonical):
            # Digits beyond those that were asked for are welcome where they cost nothing, so not here: the
            # margin is for bounds of the certificate that are wider than those of the solver.
            run = attrs.evolve(run, tolerance=epsilon / 16)
        return (_solve_surely if self.surely else _solve_kept)(self.problem, self.solver, run, epsilon, interrupts)


@attrs.frozen
class LatticePlan:
    """Sweeps solve the layers of a lattice.

    `written_out` makes the plan for the flat network, for an answer that the lattice does not prove.
    """

    layers: Layers
    objective: Objective
    written_out: Callable[[], FlatPlan | PlanOfAverage] | None = None

    def solve(self, run: Run, epsilon: float, interrupts: Interrupts) -> Solution:
        """Sweep the layers and certify the answer."""
        layers, file = self.layers, run.checkpoint
        while True:
            found: Solution | Exception
            try:
                with interrupts.patience():
                    found = solve_on_lattice(layers, self.objective, run, epsilon)
                if found.proved:
                    return found
            except NotConvergedError as error:
                found = error
            resumed = run.team.handed(lambda: None if file is None or not file.resumed else {})
            if resumed is None:
                break
            # Numbers that were not true may have led astray.
            if file is not None:
                file.forget()
            layers = find_layers(layers.lattice, run)
        return _given(found) if self.written_out is None else self.written_out().solve(run, epsilon, interrupts)


def _extra(run: Run) -> frozenset[Feature]:
    return frozenset() if run.checkpoint is None else frozenset({Feature.CHECKPOINT})


def _solve_surely(problem: Problem, backend: Solver, run: Run, epsilon: float, watch: Interrupts | None) -> Solution:
    """Solve in floats, and exactly if that proves nothing and the network is small enough."""
    left = None if run.deadline is None else run.deadline - time.monotonic()
    found: Solution | NotConvergedError
    try:
        found = _solve_kept(problem, backend, run, epsilon, watch)
        if found.proved:
            return found
    except NotConvergedError as error:
        found = error
    network, exact = problem.canonical, load_solver("exact")
    stages = 1 if network.horizon is None else network.horizon + 1
    seconds = EXACT_SECONDS if left is None else left / 2
    if (
        network.n_nodes * stages <= EXACT_UP_TO_NODES
        and problem.needs() <= exact.features
        and backend.name != exact.name
    ):
        deadline = time.monotonic() + seconds
        deadline = deadline if run.deadline is None else min(deadline, run.deadline)
        run = attrs.evolve(run, deadline=deadline)
        try:
            proved = _solve_kept(problem, exact(), run, epsilon, watch)
        except SolveInterrupted:
            if run.cancel.is_set():
                raise
            late = f"exact arithmetic had no answer within {seconds:.3g} s; give it more with solver='exact'"
            if isinstance(found, Solution):
                found = attrs.evolve(found, reason=f"{found.reason.removesuffix(SETTLES)}; {late}")
            else:
                found.message += f"; {late}"
        except (UnsupportedError, PluginError):  # numbers beyond floats, say: the first answer stays
            pass
        else:
            if proved.proved:
                why = found.reason.removesuffix(SETTLES) if isinstance(found, Solution) else found.message
                note = f"{backend.name} gave no proof ({why}); the answer was found in exact arithmetic"
                made = attrs.evolve(proved.provenance, notes=(*proved.provenance.notes, note))
                return attrs.evolve(proved, provenance=made)
    return _given(found)


def _given(found: Solution | Exception) -> Solution:
    if isinstance(found, Exception):
        raise found
    return found


def _solve_kept(problem: Problem, solver: Solver, run: Run, epsilon: float, interrupts: Interrupts | None) -> Solution:
    """Solve; if there is a checkpoint continue from it, and solve again if that went wrong."""
    file = run.checkpoint
    if file is None:
        return solve_problem(problem, solver, run, epsilon, interrupts)
    key = {
        "problem": problem.canonical.digest,
        "solver": solver.name,
        "parameters": repr(solver) if attrs.has(type(solver)) else type(solver).__qualname__,
        "tolerance": repr(run.tolerance),
        "mdpdice": library_version(),
    }
    file.open(key, {"objective": problem.objective})
    while True:
        found: Solution | Exception
        try:
            found = solve_problem(problem, solver, run, epsilon, interrupts)
        except (NotConvergedError, PluginError, UnsupportedError) as error:
            found = error
        # Numbers that were not true may have led astray.
        if not file.resumed or (isinstance(found, Solution) and found.proved):
            return _given(found)
        file.forget()


def choose(problem: Problem, solver: str | Solver, extra: frozenset[Feature] = frozenset()) -> Solver:
    """Solver to use: the one that is named, or the most direct one that has the features, and the `extra` ones."""
    if not isinstance(solver, str):
        return solver
    if solver != "auto":
        return load_solver(solver)()
    need = problem.needs() | extra
    # The most direct first; a plug-in is loaded only when the built-in ones cannot do it.
    for name in ("backward-induction", *_iterations(problem.canonical, need)):
        if need <= (cls := load_solver(name)).features:
            return cls()
    for cls in available_solvers().values():
        if need <= cls.features:
            return cls()
    raise unsupported("auto", need, frozenset())


def _iterations(network: Network, need: frozenset[Feature]) -> tuple[str, ...]:
    """Return the solvers for cycles, the faster one first.

    Sweeps are faster, unless one large component takes them without a discount, where plays may be long.
    """
    hard = Feature.CYCLIC in need and need.isdisjoint({Feature.DISCOUNT, Feature.HORIZON, Feature.TWO_PLAYER})
    if hard and network.n_edges >= FAST_PATH_FROM_EDGES and largest_component(network) >= POLICIES_FROM_NODES:
        return "policy-iteration", "value-iteration"
    return ("value-iteration",)


def unsupported(name: str, need: frozenset[Feature], have: frozenset[Feature]) -> UnsupportedError:
    """Return the error for a solver that lacks features, which names those that have them."""
    lacks = ", ".join(sorted(feature.value for feature in need - have))
    able = [other for other, cls in available_solvers().items() if need <= cls.features]
    who = f"use {' or '.join(able)}" if able else "no installed solver has them all"
    msg = f"solver {name!r} cannot do: {lacks}; {who}"
    return UnsupportedError(msg, value=name)


def solve_problem(
    problem: Problem, solver: Solver, run: Run, epsilon: float, interrupts: Interrupts | None = None
) -> Solution:
    """Let one solver propose an answer to a prepared problem, and certify it."""
    started = time.perf_counter()
    canonical = problem.canonical
    unrolled = None
    need = problem.needs() | _extra(run)
    if Feature.HORIZON in need and Feature.HORIZON not in solver.features:
        unrolled = unroll(canonical)
        need = need - {Feature.HORIZON}
    lacking = need - solver.features
    if lacking == {Feature.CYCLIC}:
        raise cycle_error(solver.name.replace("-", " "), *problem.cycle())
    if lacking:
        raise unsupported(solver.name, need, solver.features)
    network = canonical if unrolled is None else unrolled.network
    watch = Interrupts(run.cancel) if interrupts is None else interrupts
    candidate = None
    stop: SolveInterrupted | NotConvergedError
    try:
        with watch.patience():
            if run.checkpoint is None and type(solver) is load_solver("backward-induction"):
                found = solve_stages(problem, solver, run, epsilon, started)
                if found is not None:
                    return found
            candidate = answer = propose(network, solver, run)
        # Lets go of the solver's own arrays, which with a horizon are large.
        run.offer(lambda: answer)
        if run.checkpoint is not None:
            run.checkpoint.flush()
        if watch.arrived:
            run.check(candidate)
        value, policy = _on_stages(unrolled, candidate)
        check_candidate(canonical, value, policy, solver.name)
        claimed = candidate.details.get("exact")
        if claimed is not None and unrolled is None:
            verdict = certify_exact(canonical, claimed, value, policy, run.check)
            if verdict.certified:
                return lift(problem, solver, candidate, value, policy, verdict, started, exact=claimed)
        run.tell("certify", nodes=canonical.n_nodes, edges=canonical.n_edges)
        details = candidate.details
        candidate = attrs.evolve(candidate, details={k: v for k, v in details.items() if k != "lengths"})
        details = details if unrolled is None else {}
        verdict = certify(canonical, value, policy, epsilon, run.check, details)
        solution = lift(problem, solver, candidate, value, policy, verdict, started)
        if not solution.proved and solver.name != "exact":
            solution = attrs.evolve(solution, reason=solution.reason + SETTLES)
        return solution
    except (SolveInterrupted, NotConvergedError) as error:
        stop = error
    except (KeyboardInterrupt, PluginError) as error:
        # Code that is just being compiled swallows a KeyboardInterrupt, and raises something else later.
        if not watch.taken():
            raise
        stop = SolveInterrupted("the solve was interrupted")
        stop.__cause__ = error
    if isinstance(stop.partial, Candidate):
        candidate = stop.partial
    stop.partial = _partial(problem, unrolled, solver, candidate, run, stop.message, started)
    raise stop


def _on_stages(unrolled: Lowering | None, candidate: Candidate) -> tuple[Floats, Ints]:
    if unrolled is None:
        return candidate.value, candidate.policy
    return unrolled.value(candidate.value), unrolled.policy(candidate.policy)


def _partial(
    problem: Problem,
    unrolled: Lowering | None,
    solver: Solver,
    candidate: Candidate | None,
    run: Run,
    reason: str,
    started: float,
) -> Solution | None:
    """Return what a stopped solver has found so far, with the bounds that can be had at once."""
    canonical = problem.canonical
    try:
        found = run.offered() if candidate is None else candidate
        if found is None:
            return None
        network = canonical if unrolled is None else unrolled.network
        # What is not known yet is filled in with anything: no bound rests on it.
        chosen = np.where(network.decides & (found.policy < 0), network.indptr[:-1], found.policy)
        if network.horizon is not None:
            chosen[0] = -1
        known, details = (np.where(np.isfinite(found.value), found.value, 0.0), {**found.details, "stopped": True})
        found = attrs.evolve(found, value=known, policy=chosen, details=details)
        value, policy = _on_stages(unrolled, found)
        check_candidate(canonical, value, policy, solver.name)
    except Exception:  # noqa: BLE001 - a plug-in that was stopped may return anything
        return None
    quick = _quick_verdict(canonical, found, value, policy)
    verdict = attrs.evolve(quick, certified=False, reason=reason)
    return lift(problem, solver, found, value, policy, verdict, started)


def _quick_verdict(canonical: Network, candidate: Candidate, value: Floats, policy: Ints) -> Verdict:
    """Return bounds of a partial answer: those that the solver claims, if they hold, or what is found in a moment."""
    edges = canonical.n_edges * (1 if canonical.horizon is None else canonical.horizon + 1)
    limit = time.monotonic() + (PARTIAL_SECONDS if edges <= PARTIAL_UP_TO_EDGES else 0.0)

    def check() -> None:
        if time.monotonic() > limit:
            raise TimeoutError

    try:
        return certify(canonical, value, policy, np.inf, check, candidate.details)
    except TimeoutError:
        nothing = np.full(value.shape, np.inf)
        return Verdict(certified=False, lower=-nothing, upper=nothing, width=np.inf)
