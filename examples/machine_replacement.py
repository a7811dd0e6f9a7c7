"""Machine replacement: the prototype example of the chapter on Markov decision processes in Hillier and Lieberman.

A machine is good as new (0), a little worse (1), much worse (2) or broken (3).  Every week one leaves it alone,
which costs 0, 1000 or 3000 for faulty products, has it overhauled from 2 to 1 (4000 with the lost production), or
replaces it (6000).  A broken machine has to be replaced.  All numbers are costs, so less is better.

F. S. Hillier and G. J. Lieberman, *Introduction to Operations Research*, McGraw-Hill, chapter "Markov decision
processes".  Leaving 0 and 1 alone, overhauling 2 and replacing 3 is best, both for the long-run average, which is
5000/3 = 1667 a week, and with a discount of 0.9.  The discounted costs are there 14,949, 16,262, 18,636 and 19,454;
the third is rounded up, since all four are computed from numbers that were rounded before.
"""

from collections.abc import Iterable
from fractions import Fraction

import attrs

from mdpdice import ClassicMDP, Discounted, Dist, certainly, cross_check, solve


@attrs.frozen
class Machine(ClassicMDP[int, str]):
    """A machine that gets worse; the state is its condition."""

    condition: int = 0

    def initial(self) -> int:
        return self.condition

    def actions(self, condition: int) -> Iterable[str]:
        if condition < 3:
            yield "leave"
        if condition == 2:
            yield "overhaul"
        if condition > 0:
            yield "replace"

    def transition(self, condition: int, action: str) -> Dist[int]:
        if action == "overhaul":
            return certainly(1)
        if action == "replace":
            return certainly(0)
        return {0: Dist({1: 14, 2: 1, 3: 1}), 1: Dist({1: 6, 2: 1, 3: 1}), 2: Dist({2: 1, 3: 1})}[condition]

    def reward(self, condition: int, action: str, target: int) -> int:
        return {"leave": (0, 1000, 3000, 0)[condition], "overhaul": 4000, "replace": 6000}[action]


def main() -> None:
    costs = Discounted(Fraction(9, 10), sense="min")
    solution = solve(Machine(), costs, solver="exact")
    print("condition  discounted cost")
    for condition in range(4):
        cost, action = solution.exact(condition), solution.action(condition)
        print(f"{condition:>9}  {float(cost):>15.2f}  {action:<8}  {cost}")
    # The average of a long run: (1 - g) times the discounted cost comes as close to it as one likes.
    patient = Fraction(999_999, 1_000_000)
    cost = solve(Machine(), Discounted(patient, sense="min"), solver="exact").exact()
    print(f"average cost of a week: {float((1 - patient) * cost):.1f}")
    print(cross_check(Machine(), costs))


if __name__ == "__main__":
    main()
