"""Solvers with one fault each: the check that is meant for it finds it, on the model that shows it."""

from __future__ import annotations

import contextlib
from typing import ClassVar

import attrs
import numpy as np
import pytest
from helpers.faulty_solvers import ChangesProblem, Crashes, Honest, NotANumber, ReturnsNone, WrongShape, losses, truth

from mdpdice import Candidate, Feature, Kind, Network, Run
from mdpdice.backend import traced
from mdpdice.errors import ConformanceError, MdpDiceError, SolveInterrupted
from mdpdice.solvers.lookahead import Lookahead
from mdpdice.testing import SOLVER_CHECKS, check_solver


@attrs.frozen
class Right(Honest):
    """Not wrong at all; the others change one thing."""

    name: ClassVar[str] = "right"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.CYCLIC, Feature.TWO_PLAYER, Feature.DISCOUNT, Feature.HORIZON}
    )


class Float32(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        return attrs.evolve(answer, value=answer.value.astype(np.float32))


class EdgesOfNoNode(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        return attrs.evolve(answer, policy=np.where(answer.policy >= 0, problem.n_edges, -1))


class ChoosesForChance(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        first = np.where(problem.kind == Kind.CHANCE, problem.indptr[:-1], answer.policy)
        return attrs.evolve(answer, policy=first)


class ForgetsEnds(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        return attrs.evolve(answer, value=np.where(problem.kind == Kind.END, 0.0, answer.value))


class Recursive(Right):
    """Backward induction as one would write it first."""

    features: ClassVar[frozenset[Feature]] = frozenset()

    def solve(self, problem: Network, run: Run) -> Candidate:
        run.check()
        value, policy = problem.payoff.copy(), np.full(problem.n_nodes, -1)
        done: set[int] = set()

        def visit(node: int) -> float:
            if node not in done and len(problem.edges(node)):
                done.add(node)
                worth = [problem.reward[e] + visit(int(problem.dst[e])) for e in problem.edges(node)]
                if problem.decides[node]:
                    sign = -1 if problem.kind[node] == Kind.MIN else 1
                    best = int(np.argmax(sign * np.array(worth)))
                    policy[node] = problem.indptr[node] + best
                    value[node] = worth[best]
                else:
                    value[node] = np.dot(problem.weight[problem.edges(node)], worth)
            return float(value[node])

        for node in range(problem.n_nodes):
            visit(node)
        return Candidate(value, policy)


class WritesIntoTheProblem(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        value = problem.payoff
        value[problem.start] = 0.0
        return truth(problem, run)


class ChangesRewards(ChangesProblem):
    features: ClassVar[frozenset[Feature]] = Right.features


class MakesArraysWriteable(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        problem.reward.flags.writeable = True
        return truth(problem, run)


class OffByAThousandth(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        return attrs.evolve(answer, value=answer.value + 1e-3 * (problem.kind != Kind.END))


class StopsEarly(Right):
    """Sweeps until the largest change is small, which says nothing about how far the values are off."""

    features: ClassVar[frozenset[Feature]] = frozenset({Feature.CYCLIC, Feature.DISCOUNT})

    def solve(self, problem: Network, run: Run) -> Candidate:
        value, change = problem.payoff.copy(), np.inf
        factor = np.where(problem.step, float(problem.discount), 1.0)
        chance = problem.kind == Kind.CHANCE
        while change > 1e-8:
            run.check()
            worth = np.append(problem.weight * (problem.reward + factor * value[problem.dst]), 0.0)
            first = np.minimum(problem.indptr[:-1], len(worth) - 1)
            top = np.append(worth[:-1], -np.inf)
            new = np.where(chance, np.add.reduceat(worth, first), np.maximum.reduceat(top, first))
            new = np.where(problem.kind == Kind.END, problem.payoff, new)
            change, value = float(np.abs(new - value).max()), new
        return attrs.evolve(truth(problem, run), value=value)


class ForgetsTheDiscount(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        return truth(attrs.evolve(problem, discount=1), run)


class BothPlayersMaximise(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        kind = problem.kind
        if problem.two_player:
            kind = np.where(kind == Kind.MIN, np.uint8(Kind.MAX), kind)
        return truth(attrs.evolve(problem, kind=kind), run)


class WorstPolicy(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        policy = answer.policy.copy()
        for edge in np.argsort(losses(problem, answer.value)) if problem.horizon is None else ():
            if problem.decides[problem.source[edge]]:
                policy[problem.source[edge]] = edge
        return attrs.evolve(answer, policy=policy)


class SlightlyWrongPolicy(Right):
    """Wrong in one place, the one where it costs least, and that is a thousandth."""

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        loss = losses(problem, answer.value) if problem.horizon is None else np.zeros(0)
        edges = np.flatnonzero((loss > 0) & (loss < 0.01))
        policy = answer.policy.copy()
        policy[problem.source[edges]] = edges
        return attrs.evolve(answer, policy=policy)


class ForgetsTheStages(Right):
    """Plays with few decisions left as with many."""

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        policy = answer.policy.copy()
        if problem.horizon is not None:
            policy[1:] = policy[-1]
        return attrs.evolve(answer, policy=policy)


class NotAccurate(Right):
    """Within what is asked of a value, but its values do not fit together."""

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        noise = 4e-7 * (problem.kind != Kind.END) * np.maximum(1.0, np.abs(answer.value))
        return attrs.evolve(answer, value=answer.value + noise)


class Restless(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        noise = 1e-13 * np.random.default_rng().random(answer.value.shape) * (problem.kind != Kind.END)
        return attrs.evolve(answer, value=answer.value + noise)


class Remembers(Right):
    calls: ClassVar[list[int]] = []

    def solve(self, problem: Network, run: Run) -> Candidate:
        self.calls.append(problem.n_nodes)
        answer = truth(problem, run)
        return attrs.evolve(answer, value=answer.value + 1e-14 * len(self.calls) * (problem.kind != Kind.END))


class Deaf(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        return truth(problem, Run())


class Stubborn(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        with contextlib.suppress(SolveInterrupted):
            run.check()
        return truth(problem, Run())


class LateToListen(Right):
    """Looks, and does not act on the last look."""

    def solve(self, problem: Network, run: Run) -> Candidate:
        run.check()
        answer = truth(problem, Run())
        run.cancel.is_set()
        return answer


class HalfAnAnswer(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        run.check(Candidate(np.zeros(1), np.zeros(1, dtype=np.int64)))
        return truth(problem, run)


class HasNoClock(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        if run.cancel.is_set():
            raise SolveInterrupted("cancelled")
        return truth(problem, Run())


class SwallowsCtrlC(Right):
    def solve(self, problem: Network, run: Run) -> Candidate:
        with contextlib.suppress(KeyboardInterrupt):
            run.check()
        return truth(problem, Run())


class TakesAName(Right):
    """Registered, and a cross-check would not know that it was asked."""

    name: ClassVar[str] = "value-iteration"


class ClaimsToBeExact(Right):
    features: ClassVar[frozenset[Feature]] = Right.features | {Feature.EXACT}


class ExactlyWrong(ClaimsToBeExact):
    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        exact = [float(value).as_integer_ratio() for value in answer.value.ravel()]
        return attrs.evolve(answer, details={"exact": [numerator for numerator, _ in exact]})


class ResumesSomethingElse(Right):
    features: ClassVar[frozenset[Feature]] = Right.features | {Feature.CHECKPOINT}

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, Run())
        state = {"value": np.zeros_like(answer.value)}
        if run.resume(state):
            return attrs.evolve(answer, value=state["value"])
        run.check()
        run.save(state, 1, now=True)
        run.check()
        return answer


@attrs.frozen
class LiesAboutBounds(Lookahead):
    """Says that it knows the value when it has looked one decision ahead."""

    name: ClassVar[str] = "liar"
    depth: int = 1

    def search(self, game, run):
        found = super().search(game, run)
        return attrs.evolve(found, lower=found.candidate.value, upper=found.candidate.value)


class NoName(Right):
    name: ClassVar[str] = ""


class FeaturesByName(Right):
    features: ClassVar[frozenset[Feature]] = frozenset({"cyclic networks"})


class NotHere(Right):
    @classmethod
    def available(cls) -> bool:
        return False


PLANTED = [
    (NoName, "protocol", None, "name is ''"),
    (FeaturesByName, "protocol", None, "frozenset of mdpdice.Feature"),
    (NotHere, "protocol", None, "nothing can be checked"),
    (Crashes, "answer", "end", "IndexError"),
    (ReturnsNone, "answer", "end", "returned None"),
    (NotANumber, "answer", "end", "nan"),
    (WrongShape, "answer", "end", r"shape \(1,\)"),
    (Float32, "answer", "end", "float64"),
    (ForgetsEnds, "answer", "end", "payoffs"),
    (EdgesOfNoNode, "answer", "choice", "no edge of the decision"),
    (ChoosesForChance, "answer", "chance alone", "without a decision"),
    (Recursive, "answer", "deep", "RecursionError"),
    (ChangesRewards, "inputs", "chance alone", "changed the problem"),
    (WritesIntoTheProblem, "inputs", "end", "read-only"),
    (MakesArraysWriteable, "inputs", "end", "writeable"),
    (OffByAThousandth, "values", "chance alone", "4 and not 4.001"),
    (StopsEarly, "values", "slow", "1/2 and not 0.49"),
    (ForgetsTheDiscount, "values", "patience", "21/4 and not 7"),
    (BothPlayersMaximise, "values", "matching", "2 and not 5"),
    (WorstPolicy, "policy", "choice", "1/3 can be had"),
    (SlightlyWrongPolicy, "policy", "close", "0.999 where 1 can be had"),
    (ForgetsTheStages, "policy", "last chances", "with 1 decisions left"),
    (NotAccurate, "certificate", "ladder", "could not be certified"),
    (LiesAboutBounds, "bounds", "rewards", "and it is 3"),
    (Restless, "determinism", "in turns", "another answer"),
    (Remembers, "determinism", "in turns", "another answer"),
    (Deaf, "cancel", "deep", "never looked"),
    (Stubborn, "cancel", "deep", "went on"),
    (LateToListen, "cancel", "deep", "look 2 of 2.*went on"),
    (HalfAnAnswer, "cancel", "deep", "not a Candidate of all nodes"),
    (HasNoClock, "deadline", "deep", "went on"),
    (SwallowsCtrlC, "interrupt", "deep", "went on"),
    (TakesAName, "traced", None, "traced"),
    (ClaimsToBeExact, "exact", "end", "not exact"),
    (ExactlyWrong, "exact", "end", "not exact"),
    (ResumesSomethingElse, "checkpoint", "end", "another answer"),
]


@pytest.mark.parametrize(
    ("solver", "check", "model", "says"), PLANTED, ids=lambda part: getattr(part, "__name__", None)
)
def test_a_planted_fault_is_found_by_its_check(solver, check, model, says):
    with pytest.raises(ConformanceError, match=says) as caught:
        check_solver(solver())
    assert (caught.value.check, caught.value.model) == (check, model)
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, MdpDiceError)


def test_at_least_ten_faults_and_all_checks():
    """Features apart, which are no checks of their own but for three."""
    features = {feature.name.lower() for feature in Feature}
    assert {check for _, check, _, _ in PLANTED} == set(SOLVER_CHECKS) - features | {"exact", "checkpoint"}


def test_without_the_fault_it_passes():
    report = check_solver(Right, require=["cyclic", "two_player", "discount", "horizon"])
    assert set(report.passed) | set(report.skipped) == set(SOLVER_CHECKS)
    assert report.skipped.keys() == {"traced", "bounds", "exact", "checkpoint"}
    assert report.passed["horizon"] == 3


def test_what_it_lacks_is_listed_and_not_passed():
    """The stages of a horizon are written side by side for it; everything else is left out."""

    @attrs.frozen
    class Plain(Honest):
        name: ClassVar[str] = "plain"
        features: ClassVar[frozenset[Feature]] = frozenset()

        @traced
        def solve(self, problem: Network, run: Run) -> Candidate:
            return truth(problem, run)

    report = check_solver(Plain())
    assert "traced" in report.passed
    assert report.skipped["cyclic"] == "not declared; 10 models were left out"
    assert report.skipped["two_player"] == "not declared; 5 models were left out"
    assert "side by side" in report.skipped["horizon"]
    with pytest.raises(ConformanceError, match="required.*not declared") as caught:
        check_solver(Plain(), require=["two_player"])
    assert caught.value.check == "two_player"


def test_what_is_no_solver():
    for thing, says in ((42, "lacks"), ("nobody", "no solver is called"), (NotImplemented, "lacks")):
        with pytest.raises(ConformanceError, match=says) as caught:
            check_solver(thing)
        assert caught.value.check == "protocol"
