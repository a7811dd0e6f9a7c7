"""The gambler's problem, with the value of every capital in exact numbers.

Stake any part of your money on a coin that shows heads with probability 0.4, until you have 100 or nothing.  The
reward is 1 for 100, so a value is the chance to get there.

R. S. Sutton and A. G. Barto, *Reinforcement Learning*, 2nd ed., MIT Press 2018, example 4.3; the curve of figure 4.3
is what is printed here.  Bold play, staking as much as can help, is optimal (L. E. Dubins and L. J. Savage,
*How to Gamble If You Must*, McGraw-Hill 1965), so 25, 50 and 75 are worth 0.4^2, 0.4 and 0.4 + 0.6 * 0.4.  The many
ties are why every program draws another picture of "the" optimal policy.
"""

from fractions import Fraction

import attrs

from mdpdice import Dist, Edge, Game, Node, cross_check, decide, end, go, roll, solve


@attrs.frozen
class Gambler(Game[int, int]):
    """The gambler's problem: the state is the money, the action the stake."""

    heads: Fraction = Fraction(4, 10)
    goal: int = 100

    def start(self) -> int:
        return self.goal // 2

    def node(self, money: int) -> Node[int, int]:
        if money in {0, self.goal}:
            return end(int(money == self.goal))
        coin = Dist({1: self.heads, -1: 1 - self.heads})

        def bet(stake: int) -> Edge[int]:
            return roll(coin, lambda side: go(money + side * stake))

        return decide((stake, bet(stake)) for stake in range(1, min(money, self.goal - money) + 1))


def main() -> None:
    solution = solve(Gambler(), solver="exact")
    print("money  chance to reach 100, and the stakes that are best")
    for money in (1, 10, 25, 49, 50, 51, 75, 90, 99):
        stakes = ", ".join(map(str, solution.ties(money)))
        print(f"{money:>5}  {solution.value(money):.10f}  {stakes}")
    print(f"as fractions: {', '.join(f'{money}: {solution.exact(money)}' for money in (25, 50, 75))}")
    print(cross_check(Gambler()))


if __name__ == "__main__":
    main()
