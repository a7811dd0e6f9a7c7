"""`solve`: explore, lower the objective, let a back-end propose, certify, and say what was proved."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Hashable, Mapping
from typing import Any, TypeVar, overload

import attrs
import numpy as np

from mdpdice.answers.solution import Solution
from mdpdice.backend import (
    Candidate,
    Feature,
    Progress,
    Run,
    Solver,
    available_solvers,
    load_solver,
)
from mdpdice.certification.residual_bounds import is_large
from mdpdice.certification.verdict import Verdict, certify, certify_exact
from mdpdice.errors import (
    NotConvergedError,
    PluginError,
    SolveInterrupted,
    UnsupportedError,
)
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.lattices.lattice import Lattice
from mdpdice.lattices.reachable_layers import Layers
from mdpdice.modelling.game import Game
from mdpdice.modelling.number import size
from mdpdice.networks.cycles import cycle_error
from mdpdice.networks.network import Floats, Ints, Network
from mdpdice.numerics.regions import largest_component
from mdpdice.objectives.objective import Objective
from mdpdice.objectives.oversights import noted
from mdpdice.objectives.reductions import Lowering, unroll
from mdpdice.solving.checkpoints import Checkpoint
from mdpdice.solving.estimate import game_solver, search_game
from mdpdice.solving.interruption import Interrupts
from mdpdice.solving.lattice_route import MOST_EDGES, fits_lattices, large_layers, solve_on_lattice
from mdpdice.solving.lattice_solution import LatticeSolution
from mdpdice.solving.problem import Problem, library_version, lift, prepare
from mdpdice.solving.proposal import check_candidate, propose

__all__ = ["choose", "solve", "solve_problem", "unsupported"]

S = TypeVar("S", bound=Hashable)
A = TypeVar("A", bound=Hashable)

PARTIAL_SECONDS = 0.4
"""Time that is taken to find bounds for what a stopped solver leaves behind."""
PARTIAL_EDGES = 3_000_000
"""Edges of the largest problem for which bounds can be found in about that time."""
LARGE, LARGE_COMPONENT = 20_000, 5_000
"""Edges of a network, and nodes of a component, from which policies are iterated where plays may be long."""


@overload
def solve(
    game: Network,
    objective: Objective | None = None,
    *,
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
) -> Solution: ...
@overload
def solve(
    game: Lattice,
    objective: Objective | None = None,
    *,
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
) -> LatticeSolution: ...
@overload
def solve(
    game: Game[S, A],
    objective: Objective | None = None,
    *,
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
) -> Solution | LatticeSolution: ...
def solve(
    game: Game[S, A] | Network | Lattice,
    objective: Objective | None = None,
    *,
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
) -> Solution | LatticeSolution:
    """Solve a game and prove how far the answer can be off.

    Parameters
    ----------
    game : Game, Network or Lattice
        What to solve.  A game with counters is written out as a network if that is not too large, and
        solved on its lattice otherwise (`mdpdice.solving.lattice_route`); ``explore(game)`` and
        ``compile_lattice(game)`` choose.
    objective : Objective, optional
        By default `Total`, with the discount of the game.
    solver : str or Solver
        Name of a back-end, a back-end with its parameters, or ``"auto"``, which never picks one that
        takes the game itself and gives an estimate (``"lookahead"``).
    horizon : int, optional
        Largest number of decisions in a play; then every stage is solved.
    epsilon : float
        The status is CERTIFIED if every interval has at most the width
        ``epsilon * max(1, |value|)``.  Iterations go on to about nine digits in a network of less than
        20,000 edges, and stop at a sixteenth of `epsilon` in a larger one.
    progress : callable, optional
        See `mdpdice.backend.Progress`.
    time_limit : float, optional
        Seconds after which the solver is asked to stop.
    cancel : threading.Event, optional
        Set it to stop the solve.  Ctrl-C sets it too, if Python's own handler is in place
        and the solve runs in the main thread; a second Ctrl-C is an ordinary `KeyboardInterrupt`.
    on_limit : {"raise", "partial"}
        What to do when an iteration limit comes before convergence.
    max_states : int
        Limit of the exploration.
    checkpoint : path, optional
        File that the state of a long solve is written to, every `checkpoint_seconds` and when the solve is
        interrupted.  If it is there already the solve goes on from it, to the same result; a file with
        wrong numbers costs time, no more.  It is deleted when the solve is over.
    checkpoint_seconds : float
        Seconds between two writes.

    Returns
    -------
    Solution or LatticeSolution
        Its `status` says what was proved.  A game whose flat network has at most
        `mdpdice.solving.lattice_route.FLAT_EDGES` edges, and any game without counters, gives a `Solution`.

    Raises
    ------
    UnsupportedError
        The solver lacks a feature that the problem needs; the message says who has it.
    PluginError
        The solver crashed or broke its contract.
    NotConvergedError, SolveInterrupted
        A limit, or Ctrl-C, came first.  `partial` is a `Solution` with what there is, or None:
        its interval holds the optimal value, wide as it may be.
    CheckpointLockedError, CheckpointMismatchError, CorruptFileError
        The checkpoint is used by another solve, belongs to another one, or is damaged.
    """
    epsilon, every = size(epsilon, "epsilon"), size(checkpoint_seconds, "checkpoint_seconds")
    seconds = None if time_limit is None else size(time_limit, "time_limit")
    event = threading.Event() if cancel is None else cancel

    def watched(phase: str, numbers: Mapping[str, float]) -> None:
        if event.is_set():
            msg = "the solve was cancelled before a solver was at work"
            raise SolveInterrupted(msg)
        if progress is not None:
            progress(phase, numbers)

    with Interrupts(event) as interrupts, contextlib.ExitStack() as stack:
        file = None
        if checkpoint is not None:
            file = stack.enter_context(Checkpoint(checkpoint, every))
        searcher = game_solver(solver)
        problem = None
        lattice: Lattice | Layers | None = noted(game, objective) if isinstance(game, Lattice) else None
        compiled = None
        ordinary = searcher is None and horizon is None and checkpoint is None
        if isinstance(game, Game) and ordinary and fits_lattices(game, objective, solver):
            compiled = noted(compile_lattice(game, max_states=max_states, progress=watched), objective)
            lattice = large_layers(compiled, objective, Run(progress=watched, cancel=event))
        if lattice is not None:
            if horizon is not None or checkpoint is not None:
                what = "a horizon" if horizon is not None else "checkpoints"
                msg = f"lattices are solved without {what}; use the flat network: solve(explore(game), ...)"
                raise UnsupportedError(msg, value=horizon)
        elif searcher is None:
            assert not isinstance(game, Lattice)
            problem = prepare(
                game, objective, horizon=horizon, progress=watched, max_states=max_states, lattice=compiled
            )
        run = Run(
            tolerance=_tolerance(problem, epsilon),
            progress=progress,
            deadline=None if seconds is None else time.monotonic() + seconds,
            cancel=event,
            on_limit=on_limit,
            checkpoint=file,
        )
        if lattice is not None:
            writable = isinstance(lattice, Layers) and lattice.edges <= MOST_EDGES
            try:
                with interrupts.patience():
                    answer = solve_on_lattice(
                        lattice, objective, solver=solver, run=run, epsilon=epsilon, version=library_version()
                    )
                if answer.proved or not writable:
                    return answer
            except NotConvergedError:
                if not writable:
                    raise
            assert not isinstance(game, Lattice)
            problem = prepare(game, objective, progress=watched, max_states=max_states, lattice=compiled)
        assert not isinstance(game, Lattice)
        if problem is None:
            assert searcher is not None
            return search_game(game, objective, horizon, searcher, run, interrupts, library_version())
        backend = choose(problem, solver, _extra(run))
        if file is None:
            return solve_problem(problem, backend, run, epsilon, interrupts)
        key = {
            "problem": problem.canonical.digest,
            "solver": backend.name,
            "parameters": repr(backend) if attrs.has(type(backend)) else type(backend).__qualname__,
            "tolerance": repr(run.tolerance),
        }
        file.open(key, {"objective": repr(objective), "mdpdice": library_version()})
        return _checkpointed(problem, backend, run, epsilon, interrupts, file)


def _tolerance(problem: Problem | None, epsilon: float) -> float:
    """How close the bounds of a back-end have to come.

    Digits beyond those that were asked for are welcome where they cost nothing, so not in a large network: there the
    margin is for bounds of the certificate that are wider than those of the back-end.
    """
    if problem is not None and is_large(problem.canonical):
        return epsilon / 16
    return min(1e-9, epsilon / 4)


def _extra(run: Run) -> frozenset[Feature]:
    return frozenset() if run.checkpoint is None else frozenset({Feature.CHECKPOINT})


def _checkpointed(
    problem: Problem, solver: Solver, run: Run, epsilon: float, interrupts: Interrupts, file: Checkpoint
) -> Solution:
    """Solve, and solve anew if that went wrong after a start from a checkpoint."""
    while True:
        solution, stop = None, None
        try:
            solution = solve_problem(problem, solver, run, epsilon, interrupts)
        except (NotConvergedError, PluginError, UnsupportedError) as error:
            stop = error
        except SolveInterrupted as error:
            error.checkpoint = str(file.path) if file.path.exists() else None
            raise
        # Numbers that were not true may have led astray.
        suspect = file.resumed and (solution is None or not solution.proved)
        file.forget()
        if not suspect:
            if solution is None:
                assert stop is not None
                raise stop
            return solution


def choose(problem: Problem, solver: str | Solver, extra: frozenset[Feature] = frozenset()) -> Solver:
    """Back-end to use: the one that is named, or the most direct one that has the features, and the `extra` ones."""
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
    """The back-ends for cycles, the faster one first.

    Sweeps are faster, unless one large component takes them without a discount, where plays may be long.
    """
    hard = Feature.CYCLIC in need and need.isdisjoint({Feature.DISCOUNT, Feature.HORIZON, Feature.TWO_PLAYER})
    if hard and network.n_edges >= LARGE and largest_component(network) >= LARGE_COMPONENT:
        return "policy-iteration", "value-iteration"
    return ("value-iteration",)


def unsupported(name: str, need: frozenset[Feature], have: frozenset[Feature]) -> UnsupportedError:
    """The error for a solver that lacks features, which names those that have them."""
    lacks = ", ".join(sorted(feature.value for feature in need - have))
    able = [other for other, cls in available_solvers().items() if need <= cls.features]
    who = f"use {' or '.join(able)}" if able else "no installed solver has them all"
    msg = f"solver {name!r} cannot do: {lacks}; {who}"
    return UnsupportedError(msg, value=name)


def solve_problem(
    problem: Problem, solver: Solver, run: Run, epsilon: float, interrupts: Interrupts | None = None
) -> Solution:
    """Let one back-end propose an answer to a prepared problem, and certify it."""
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
            candidate = answer = propose(network, solver, run)
        # Lets go of the back-end's own arrays, which with a horizon are large.
        run.offer(lambda: answer)
        if watch.arrived:
            run.check(candidate)
        value, policy = _on_stages(unrolled, candidate)
        check_candidate(canonical, value, policy, solver.name)
        claimed = candidate.details.get("exact")
        if claimed is not None and unrolled is None:
            verdict = certify_exact(canonical, claimed, value, policy)
            if verdict.certified:
                return lift(problem, solver, candidate, value, policy, verdict, started, exact=claimed)
        run.tell("certify", nodes=canonical.n_nodes, edges=canonical.n_edges)
        details = candidate.details
        candidate = attrs.evolve(candidate, details={k: v for k, v in details.items() if k != "lengths"})
        verdict = certify(canonical, value, policy, epsilon, details=details if unrolled is None else {})
        return lift(problem, solver, candidate, value, policy, verdict, started)
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
    """What a stopped solver has found so far, with the bounds that can be had at once."""
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
        found = attrs.evolve(
            found,
            value=np.where(np.isfinite(found.value), found.value, 0.0),
            policy=chosen,
            details={**found.details, "stopped": True},
        )
        value, policy = _on_stages(unrolled, found)
        check_candidate(canonical, value, policy, solver.name)
    except Exception:  # noqa: BLE001 - a plug-in that was stopped may hand over anything
        return None
    verdict = _quick_verdict(canonical, solver, found, value, policy)
    return lift(
        problem, solver, found, value, policy, attrs.evolve(verdict, certified=False, reason=reason), started
    )


def _quick_verdict(
    canonical: Network, solver: Solver, candidate: Candidate, value: Floats, policy: Ints
) -> Verdict:
    bounds: list[Any] = [candidate.details.get(end) for end in ("lower", "upper")]
    own = type(solver).__module__.startswith("mdpdice.")
    if own and all(isinstance(bound, np.ndarray) and bound.shape == value.shape for bound in bounds):
        lower, upper = bounds
        width = float(np.max((upper - lower) / np.maximum(1.0, np.abs(value)), initial=0.0))
        return Verdict(certified=False, lower=lower, upper=upper, width=width)
    limit = time.monotonic() + PARTIAL_SECONDS

    def check() -> None:
        if time.monotonic() > limit:
            raise TimeoutError

    if canonical.n_edges * (1 if canonical.horizon is None else canonical.horizon + 1) <= PARTIAL_EDGES:
        try:
            return certify(canonical, value, policy, 0.0, check)
        except TimeoutError:
            pass
    nothing = np.full(value.shape, np.inf)
    return Verdict(certified=False, lower=-nothing, upper=nothing, width=np.inf)
