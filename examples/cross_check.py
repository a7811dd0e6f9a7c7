"""What a cross-check reports: agreement, an echo, and answers that are wrong in different ways.

Three solvers agree on one turn of Pig.  Then come three that should not be believed:

* *echo* returns what backward induction said: the answer is right, but no second opinion;
* *off* is right about the policy, and wrong about the value by a thousandth of a point;
* *timid* is right about the value, but its policy holds at once, which wins nothing.

Each of them would pass a check of something: the first a comparison with the truth, the second a test
of the policy, the third a comparison of values.
"""

from typing import ClassVar

import attrs
import numpy as np

from mdpdice import Candidate, Feature, Game, Network, Run, cross_check, d6, decide, end, go, roll
from mdpdice.solvers.backward_induction import BackwardInduction

PIG = Game.of(
    start=0,
    node=lambda points: (
        decide({"hold": end(points), "roll": roll(d6, lambda k: end() if k == 1 else go(points + k))})
        if points < 100
        else end(points)
    ),
)


@attrs.frozen
class Echo:
    """Asks another solver."""

    name: ClassVar[str] = "echo"
    features: ClassVar[frozenset[Feature]] = BackwardInduction.features

    @classmethod
    def available(cls) -> bool:
        return True

    def solve(self, problem: Network, run: Run) -> Candidate:
        return BackwardInduction().solve(problem, run)


@attrs.frozen
class Off(Echo):
    """The right policy, and a value that is off."""

    name: ClassVar[str] = "off"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = super().solve(problem, run)
        value = answer.value.copy()
        value[problem.start] += 1e-3
        return attrs.evolve(answer, value=value)


@attrs.frozen
class Timid(Echo):
    """The right values, and the first option everywhere."""

    name: ClassVar[str] = "timid"

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = super().solve(problem, run)
        return attrs.evolve(answer, policy=np.where(problem.decides, problem.indptr[:-1], -1))


def main() -> None:
    print("All installed solvers:")
    print(cross_check(PIG))
    print()
    print("An echo is no second opinion:")
    print(cross_check(PIG, solvers=["backward-induction", Echo()]))
    print()
    print("Wrong answers:")
    report = cross_check(PIG, solvers=["value-iteration", Off(), Timid()])
    print(report)
    assert not report.ok


if __name__ == "__main__":
    main()
