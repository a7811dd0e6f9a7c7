"""Solvers that are wrong on purpose, each in one way."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from mdpdice import Candidate, Feature, Kind, Network, Run
from mdpdice.solvers.backward_induction import BackwardInduction
from mdpdice.solvers.value_iteration import ValueIteration

EVERYTHING = frozenset(Feature)


def truth(problem: Network, run: Run) -> Candidate:
    """A right answer to spoil, from code that does not tell the tracer."""
    return getattr(ValueIteration.solve, "__wrapped__", ValueIteration.solve)(ValueIteration(), problem, run)


def losses(problem: Network, value: np.ndarray) -> np.ndarray:
    """What each edge of a decision loses against the best one, with right values; -1 on chance edges."""
    q = problem.reward + np.where(problem.step, float(problem.discount), 1.0) * problem.sign * value[problem.dst]
    flip = np.where(problem.kind == Kind.MIN, -1, 1)[problem.source]
    return np.where(problem.decides[problem.source], flip * (value[problem.source] - q), -1.0)


@attrs.frozen
class Honest:
    """Not wrong at all: the harness must let it pass."""

    name: ClassVar[str] = "honest"
    features: ClassVar[frozenset[Feature]] = EVERYTHING

    @classmethod
    def available(cls) -> bool:
        return True

    def solve(self, problem: Network, run: Run) -> Candidate:
        return truth(problem, run)


@attrs.frozen
class WrongPolicy(Honest):
    """The right values, and a policy that does not reach them."""

    name: ClassVar[str] = "wrong-policy"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        policy = answer.policy.copy()
        # By rising loss, so that the worst edge of every decision is written last.
        for edge in np.argsort(losses(problem, answer.value)):
            if problem.decides[problem.source[edge]]:
                policy[problem.source[edge]] = edge
        return attrs.evolve(answer, policy=policy)


@attrs.frozen
class OneWrongAction(Honest):
    """The right values, and a policy that is wrong at one decision only, the one where it costs least."""

    name: ClassVar[str] = "one-wrong-action"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        loss = losses(problem, answer.value)
        loss[loss < 1e-4] = np.inf
        edge = int(np.argmin(loss))
        policy = answer.policy.copy()
        policy[problem.source[edge]] = edge
        return attrs.evolve(answer, policy=policy)


@attrs.frozen
class OffAtStart(Honest):
    """The right policy, and a value that is off by 1e-3 at the start."""

    name: ClassVar[str] = "off-at-start"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        value = answer.value.copy()
        value[..., problem.start] += 1e-3
        return attrs.evolve(answer, value=value)


@attrs.frozen
class OffEverywhere(Honest):
    """The right policy, and values that are off by 1e-3 everywhere, so that differences look right."""

    name: ClassVar[str] = "off-everywhere"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        return attrs.evolve(answer, value=answer.value + 1e-3)


@attrs.frozen
class OffExceptEnds(Honest):
    """The same, with the payoffs of ends left as they are."""

    name: ClassVar[str] = "off-except-ends"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        return attrs.evolve(answer, value=answer.value + 1e-3 * (np.diff(problem.indptr) > 0))


@attrs.frozen
class NotANumber(Honest):
    """NaN at one node."""

    name: ClassVar[str] = "nan"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        value = answer.value.copy()
        value[..., problem.start] = np.nan
        return attrs.evolve(answer, value=value)


@attrs.frozen
class Zeros(Honest):
    """Zero everywhere, and the first option."""

    name: ClassVar[str] = "zeros"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        first = np.where(problem.decides, problem.indptr[:-1], -1)
        return Candidate(np.zeros_like(answer.value), np.broadcast_to(first, answer.policy.shape).copy())


@attrs.frozen
class Asks(Honest):
    """Hands out what another solver says."""

    name: ClassVar[str] = "asks"

    def solve(self, problem: Network, run: Run) -> Candidate:
        return BackwardInduction().solve(problem, run)


@attrs.frozen
class Crashes(Honest):
    """Raises."""

    name: ClassVar[str] = "crashes"

    def solve(self, problem: Network, run: Run) -> Candidate:
        return problem.kind[10**9]


@attrs.frozen
class ReturnsNone(Honest):
    """Returns nothing."""

    name: ClassVar[str] = "returns-none"

    def solve(self, problem: Network, run: Run) -> Candidate:
        return None


@attrs.frozen
class WrongShape(Honest):
    """Leaves out the last node."""

    name: ClassVar[str] = "wrong-shape"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        return attrs.evolve(answer, value=answer.value[..., :-1].copy())


@attrs.frozen
class ForeignEdges(Honest):
    """Chooses edges of other nodes."""

    name: ClassVar[str] = "foreign-edges"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        policy = answer.policy.copy()
        policy[problem.decides] = 0
        return attrs.evolve(answer, policy=policy)


@attrs.frozen
class ChangesProblem(Honest):
    """Writes to the problem that it was given, past the read-only flag."""

    name: ClassVar[str] = "changes-problem"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = truth(problem, run)
        reward = problem.reward
        while isinstance(reward.base, np.ndarray):
            reward = reward.base
        reward.flags.writeable = True
        reward += 1.0
        return answer


REJECTED_BY_CERTIFICATE = [WrongPolicy, OneWrongAction, OffAtStart, OffEverywhere, OffExceptEnds, Zeros]
REJECTED_AS_ANSWER = [NotANumber, Crashes, ReturnsNone, WrongShape, ForeignEdges]
