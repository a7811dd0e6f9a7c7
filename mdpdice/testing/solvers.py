"""`check_solver`: a battery of small models with exact answers, and what the protocol of a solver asks for.

Every model is solved twice, from the first to the last and then backwards, each time from a new copy.  The first
answer is compared with the known values, its policy is evaluated by itself, and it is certified; the second must be
the same to the last bit.  Whether a solver can be stopped is checked without a clock: the cancel
event that it looks at changes its mind after a number of looks.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from mdpdice.answers.policy import Policy
from mdpdice.answers.solution import Solution, Status
from mdpdice.backend import Candidate, Feature, Run, Searched, Solver, calls_recorded, load_solver, solver_names
from mdpdice.errors import CycleError, MdpDiceError, SolveInterrupted, UnsupportedError
from mdpdice.networks.network import Kind, Network
from mdpdice.objectives.reductions import unroll
from mdpdice.policies.evaluation import evaluate
from mdpdice.solving.pipeline import solve_problem
from mdpdice.solving.problem import Problem
from mdpdice.solving.proposal import check_candidate
from mdpdice.testing.interrupted_solvers import check_checkpoint, check_stops, out_of_time, same_answer
from mdpdice.testing.known_models import LONGEST, MODELS, Model
from mdpdice.testing.reports import Conformance, Ledger

FEATURES = tuple(feature.name.lower() for feature in Feature)

SOLVER_CHECKS = (
    "protocol", "answer", "inputs", "values", "policy", "certificate", "bounds", "determinism", "cancel",
    "deadline", "interrupt", "traced", *FEATURES,
)  # fmt: skip
"""Names of the checks of a solver."""


def check_solver(
    solver: str | Solver | type[Solver], *, require: Sequence[str] = (), epsilon: float = 1e-6, patience: float = 10.0
) -> Conformance:
    """Put a solver through the battery, as far as its features go.

    `SOLVER_CHECKS` names the checks, and the reference says what each of them demands.

    Parameters
    ----------
    solver : str, Solver or class
        A name, a solver with its parameters, or a class whose parameters all have defaults.
    require : sequence of str
        Checks that must not be skipped, such as ``"two_player"`` or ``"traced"``.
    epsilon : float
        Accuracy to demand, relative to ``max(1, |value|)``.
    patience : float
        Longest time between two looks at ``run.check()``, in seconds.
    """
    ledger = Ledger(_subject(solver), SOLVER_CHECKS, require)
    backend = _check_protocol(ledger, solver)
    if hasattr(backend, "search"):
        _check_searches(ledger, backend)
        for feature in Feature:
            ledger.skipped(feature.name.lower(), "it searches games; its answers are estimates")
        return ledger.report()
    kit = _Battery(ledger, backend, epsilon)
    kit.run()
    check_stops(ledger, backend, patience)
    kit.check_traced()
    kit.check_features()
    if Feature.CHECKPOINT in backend.features:
        check_checkpoint(ledger, backend)
    return ledger.report()


def _subject(solver: Any) -> str:
    if isinstance(solver, str):
        return f"solver {solver!r}"
    return f"solver {getattr(solver, 'name', None) or getattr(solver, '__name__', type(solver).__name__)!r}"


def _check_protocol(ledger: Ledger, solver: Any) -> Solver:
    try:
        cls = load_solver(solver) if isinstance(solver, str) else solver
        backend: Any = cls() if inspect.isclass(cls) else cls
    except MdpDiceError as error:
        ledger.fail("protocol", error.message, cause=error)
    except Exception as error:  # noqa: BLE001 - the code of a plug-in
        ledger.fail("protocol", f"it cannot be made without parameters, {error}; give each a default", cause=error)
    if missing := [part for part in ("name", "features", "available", "solve") if not hasattr(backend, part)]:
        ledger.fail("protocol", f"it lacks {', '.join(missing)}; see mdpdice.Solver")
    if not isinstance(backend.name, str) or not backend.name:
        ledger.fail("protocol", f"its name is {backend.name!r}; it is what reports call it, a string")
    features = backend.features
    if not isinstance(features, frozenset) or not all(isinstance(feature, Feature) for feature in features):
        msg = f"its features are {features!r}; declare a frozenset of mdpdice.Feature, empty for none"
        ledger.fail("protocol", msg)
    there = ledger.ask("protocol", "available()", backend.available, hint="; let it give False")
    if there is not True:
        ledger.fail("protocol", f"available() gives {there!r}, so nothing can be checked here")
    ledger.passed("protocol", 1)
    found: Solver = backend
    return found


class _Battery:
    """All models that a solver has the features for."""

    def __init__(self, ledger: Ledger, solver: Solver, epsilon: float) -> None:
        self.ledger = ledger
        self.solver = solver
        self.epsilon = epsilon
        self.needs: dict[str, frozenset[Feature]] = {}
        self.left_out: dict[str, frozenset[Feature]] = {}
        self.called: set[str] = set()
        self.exact = 0

    def run(self) -> None:
        """Solve, compare, certify; then everything once more, backwards."""
        ledger = self.ledger
        answers: list[tuple[Model, Candidate]] = []
        values = 0
        for model in MODELS:
            ledger.model = model.name
            problem = model.problem()
            need = problem.needs()
            if lacking := need - self.solver.features - {Feature.HORIZON}:
                self.left_out[model.name] = lacking
                continue
            self.needs[model.name] = need
            answer = self._ask(model, problem)
            answers.append((model, answer))
            values += self._judge(model, problem, answer)
        for model, answer in reversed(answers):
            ledger.model = model.name
            if not same_answer(self._ask(model, model.problem()), answer):
                how = "let it depend on the problem and its parameters alone; the seed of random numbers is one"
                ledger.fail("determinism", f"asked again, after other problems, it gives another answer; {how}")
        ledger.model = None
        ledger.passed("answer", 2 * len(answers), "answers")
        ledger.passed("inputs", 2 * len(answers), "problems")
        ledger.passed("values", values, "values")
        ledger.passed("policy", len(answers), "policies")
        ledger.passed("certificate", len(answers), "answers")
        ledger.passed("determinism", len(answers), "answers compared")
        ledger.skipped("bounds", "it takes networks; its answers are certified")

    # --- one answer -----------------------------------------------------------------------------

    def _ask(self, model: Model, problem: Problem) -> Candidate:
        """Return an answer that keeps the contract."""
        network = self._network(problem)
        digest = network.digest
        remedy = "work on copies: value = problem.payoff.copy()"
        try:
            with calls_recorded() as called:
                answer = self.solver.solve(network, Run(tolerance=min(1e-9, self.epsilon / 4)))
        except Exception as error:  # noqa: BLE001 - whatever the code of a solver raises
            text = f"it raised {type(error).__name__}: {error}"
            if isinstance(error, ValueError) and "read-only" in str(error):
                self.ledger.fail("inputs", f"it tried to write into the problem ({error}); {remedy}", cause=error)
            self.ledger.fail("answer", f"{text} ({model.hazard})", cause=error)
        self.called |= called
        network.__dict__.pop("digest", None)
        if network.digest != digest:
            self.ledger.fail("inputs", f"it changed the problem that it was given; {remedy}")
        arrays = (network.kind, network.indptr, network.dst, network.weight, network.reward, network.payoff)
        if any(array.flags.writeable for array in arrays):
            self.ledger.fail("inputs", f"it made an array of the problem writeable; {remedy}")
        self._check_contract(model, network, answer)
        return answer

    def _network(self, problem: Problem) -> Network:
        """Return what the solver gets: the stages side by side, if it knows no horizons."""
        if (canonical := problem.canonical).horizon is None or Feature.HORIZON in self.solver.features:
            return canonical
        stages = unroll(canonical)
        return canonical if stages is None else stages.network

    def _check_contract(self, model: Model, network: Network, answer: Any) -> None:
        if not isinstance(answer, Candidate):
            self.ledger.fail("answer", f"it returned {answer!r} instead of a Candidate")
        with self.ledger.failing("answer"):
            check_candidate(network, answer.value, answer.policy, self.solver.name)
        rows = answer.policy if network.horizon is None else answer.policy[1:]
        idle = network.horizon is None or (answer.policy[0] == -1).all()
        if not idle or (rows[..., ~network.decides] != -1).any():
            self.ledger.fail("answer", "its policy takes an edge without a decision; it is -1 there")
        if not isinstance(answer.details, Mapping) or isinstance(answer.iterations, bool):
            self.ledger.fail("answer", "details is a mapping, and iterations a number")
        ends = network.kind == Kind.END
        # No stage is left out: an end pays with no decision left too.
        if (answer.value[..., ends] != network.payoff[ends]).any():
            self.ledger.fail("answer", "the values of ends are not their payoffs")

    def _judge(self, model: Model, problem: Problem, answer: Candidate) -> int:
        """Compare an answer with the known values; how many there were."""
        # State, place in the arrays of an answer, decisions left in words, and value.
        known: list[tuple[Any, tuple[int, ...], str, Any]] = []
        for steps, state, node, truth in model.rows(problem.network):
            left = "" if steps is None else f" with {steps} decisions left"
            known.append((state, (node,) if steps is None else (steps, node), left, truth))
        # Returns the known answer, to be certified and translated.
        replay: Any = SimpleNamespace(name=self.solver.name, features=self.solver.features, solve=lambda *_: answer)
        with self.ledger.failing("answer"):
            solution = solve_problem(problem, replay, Run(tolerance=self.epsilon), self.epsilon)
        self._compare_values(model, known, solution)
        self._compare_policy(model, known, solution)
        if not solution.proved:
            self.ledger.fail("certificate", f"the answer could not be certified: {solution.reason}")
        lowers, uppers = solution.nodes.lowers, solution.nodes.uppers
        for state, at, _, truth in known:
            if not lowers[at] <= truth <= uppers[at]:  # pragma: no cover - a fault of mdpdice
                msg = f"the certified interval does not hold {truth}: a fault of mdpdice, please report it"
                self.ledger.fail("certificate", msg, state=state)
        if Feature.EXACT in self.solver.features and Feature.HORIZON not in problem.needs():
            self._compare_exact(model, known, solution)
        return len(known)

    def _compare_values(self, model: Model, known: Any, solution: Solution) -> None:
        for state, at, left, truth in known:
            value = float(solution.nodes.values[at])
            # Written so that NaN fails.
            if not abs(value - truth) <= self.epsilon * max(1, abs(truth)):
                msg = f"the value{left} is {truth} and not {value!r} ({model.hazard})"
                self.ledger.fail("values", msg, state=state, value=value, limit=truth)

    def _compare_policy(self, model: Model, known: Any, solution: Solution) -> None:
        policy = Policy.from_solution(solution)
        if not (found := evaluate(solution.network, policy)).proved:
            found = evaluate(solution.network, policy, exact=True)
        for state, at, left, truth in known:
            room = self.epsilon * max(1, abs(truth))
            if not (found.nodes.lowers[at] - room <= truth <= found.nodes.uppers[at] + room):
                worth = float(found.nodes.values[at])
                msg = f"the policy{left} is worth {worth!r} where {truth} can be had ({model.hazard})"
                self.ledger.fail("policy", msg, state=state, limit=truth)

    def _compare_exact(self, model: Model, known: Any, solution: Solution) -> None:
        if solution.status is not Status.EXACT or solution.nodes.exact is None:
            self.ledger.fail("exact", "it declares Feature.EXACT, but details['exact'] is not exact")
        for state, at, _, truth in known:
            if solution.nodes.exact[0][at[-1]] != truth:
                self.ledger.fail("exact", f"the value is {truth}, not {solution.nodes.exact[0][at[-1]]}", state=state)
        self.exact += 1

    # --- all answers ----------------------------------------------------------------------------

    def check_traced(self) -> None:
        """Check that the solver is traced: a cross-check has to know which ones were asked."""
        if (name := self.solver.name) in self.called:
            self.ledger.passed("traced", len(self.needs))
        elif name in solver_names():
            why = "a cross-check could not tell when one solver answers by asking another"
            self.ledger.fail("traced", f"it is registered, but its solve lacks @mdpdice.backend.traced; {why}")
        else:
            why = "solve is not decorated with mdpdice.backend.traced, as one that is registered has to be"
            self.ledger.skipped("traced", why)

    def check_features(self) -> None:
        """List what it can do, and what it was not asked."""
        for feature in Feature:
            name = feature.name.lower()
            need = sum(feature in needs for needs in self.needs.values())
            missing = sum(feature in lacking for lacking in self.left_out.values())
            if feature is Feature.CHECKPOINT and feature in self.solver.features:
                continue
            if feature is Feature.EXACT and feature in self.solver.features:
                self.ledger.passed(name, self.exact, "models with exact answers")
            elif feature in self.solver.features:
                self.ledger.passed(name, need, "models")
            else:
                more = f"; {missing} models were left out" if missing else ""
                if feature is Feature.HORIZON:
                    more = f"; the stages of {need} models were written side by side"
                self.ledger.skipped(name, f"not declared{more}")


# --- solvers that search a game: all that they claim are bounds ------------------------------------


def _check_searches(ledger: Ledger, solver: Any) -> None:
    """Run the checks of a `GameSolver`."""
    asked = [model for model in MODELS if model.horizon is None]
    answers, refused = [], []
    for model in asked:
        if (found := _search(ledger, solver, model)) is None:
            refused.append(model.name)
            continue
        _check_bounds(ledger, model, found)
        answers.append((model, found))
    for model, found in reversed(answers):
        again = _search(ledger, solver, model)
        if again is None or not same_answer(again.candidate, found.candidate):
            ledger.fail("determinism", "asked a second time, after other games, it gives another answer")
    ledger.model = None
    if not answers:
        ledger.fail("answer", "it refused every model")
    ledger.passed("answer", len(answers), f"answers; it refused {', '.join(refused)}" if refused else "answers")
    for check in ("inputs", "values", "policy", "certificate"):
        ledger.skipped(check, "it searches games; its answers are estimates")
    ledger.passed("bounds", len(answers), "intervals that hold the value")
    ledger.passed("determinism", len(answers), "answers compared")
    _check_stops(ledger, solver)
    ledger.skipped("interrupt", "it takes games; whether it lets Ctrl-C through was not tried")
    ledger.skipped("traced", "no cross-check asks it")


def _search(ledger: Ledger, solver: Any, model: Model) -> Searched | None:
    """Return what was found; None if the solver says that it cannot do this."""
    ledger.model = model.name
    try:
        found = solver.search(model.game(), Run())
    except (UnsupportedError, CycleError):
        return None
    except Exception as error:  # noqa: BLE001 - whatever the code of a solver raises
        ledger.fail("answer", f"it raised {type(error).__name__}: {error} ({model.hazard})", cause=error)
    if not isinstance(found, Searched):
        ledger.fail("answer", f"it returned {found!r} instead of a Searched")
    with ledger.failing("answer"):
        check_candidate(found.network, found.candidate.value, found.candidate.policy, solver.name)
    shape = (found.network.n_nodes,)
    if np.shape(found.lower) != shape or np.shape(found.upper) != shape:
        ledger.fail("answer", f"its bounds are not arrays of shape {shape}")
    return found


def _check_bounds(ledger: Ledger, model: Model, found: Searched) -> None:
    truth = model.values()[model.make().start()]
    start = found.network.start
    low, high = float(found.lower[start]), float(found.upper[start])
    room = 1e-9 * max(1, abs(truth))
    # Written so that NaN fails.
    if not low - room <= truth <= high + room:
        msg = f"it claims that the value lies in [{low:.12g}, {high:.12g}], and it is {truth} ({model.hazard})"
        ledger.fail("bounds", msg, value=(low, high), limit=truth)


def _check_stops(ledger: Ledger, solver: Any) -> None:
    ledger.model = "deep"
    cancelled = threading.Event()
    cancelled.set()
    for check, run in (("cancel", Run(cancel=cancelled)), ("deadline", out_of_time())):
        try:
            solver.search(LONGEST.make(), run)
        except SolveInterrupted:
            ledger.passed(check, 1)
        except Exception as error:  # noqa: BLE001 - whatever the code of a solver raises
            ledger.fail(check, f"it raised {type(error).__name__}: {error}", cause=error)
        else:
            ledger.fail(check, "it went on; call run.check() now and then")
