"""Two textbook models in the textbook form: actions, transitions, rewards.

*The toymaker* (R. A. Howard, *Dynamic Programming and Markov Processes*, MIT Press 1960): a toy is in
favour or not; the maker may advertise, or do research for a new toy.  Howard's table 3.1 lists what
n weeks are worth, 6 and -3 for one week up to 12.222 and 2.223 for four; with a discount of 0.9 per
week the toymaker should advertise and do research, and the values are 22.2 and 12.3.

*The gambler* (R. S. Sutton and A. G. Barto, *Reinforcement Learning*, 2nd ed., MIT Press 2018, example
4.3): stake any part of your money on a coin that shows heads with probability 0.4, until you have 100
or nothing.  Bold play is optimal (L. E. Dubins and L. J. Savage, *How to Gamble If You Must*, McGraw-Hill
1965), so 25, 50 and 75 are worth 0.4^2, 0.4 and 0.4 + 0.6 * 0.4.
"""

from collections.abc import Iterable
from fractions import Fraction

import attrs

from mdpdice import (
    ClassicMDP,
    Discounted,
    Dist,
    Edge,
    Game,
    Network,
    Node,
    cross_check,
    decide,
    end,
    go,
    roll,
    solve,
)


@attrs.frozen
class Toymaker(ClassicMDP[str, str]):
    """Howard's toymaker: the states say whether the toy is in favour."""

    def initial(self) -> str:
        return "in favour"

    def actions(self, state: str) -> Iterable[str]:
        return ["save", "spend"]  # on advertising, or on research

    def transition(self, state: str, action: str) -> Dist[str]:
        liked = {("in favour", "save"): 5, ("in favour", "spend"): 8}
        liked |= {("out of favour", "save"): 4, ("out of favour", "spend"): 7}
        tenths = liked[state, action]
        return Dist({"in favour": tenths, "out of favour": 10 - tenths})

    def reward(self, state: str, action: str, target: str) -> int:
        rewards = {
            ("in favour", "save"): (9, 3),
            ("in favour", "spend"): (4, 4),
            ("out of favour", "save"): (3, -7),
            ("out of favour", "spend"): (1, -19),
        }
        return rewards[state, action][target == "out of favour"]


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


def arrays() -> Network:
    """Return the toymaker as three-level arrays, the form in which many tools hold a model."""
    return Network.from_choices(
        choice_ptr=[0, 2, 4],
        branch_ptr=[0, 2, 4, 6, 8],
        target=[0, 1] * 4,
        probability=["1/2", "1/2", "4/5", "1/5", "2/5", "3/5", "7/10", "3/10"],
        reward=[9, 3, 4, 4, 3, -7, 1, -19],
        reward_per="branch",
        states=["in favour", "out of favour"],
        actions=["save", "spend"] * 2,
    )


def main() -> None:
    toymaker = Toymaker()
    print("The toymaker: value and action with n weeks left")
    stages = solve(toymaker, horizon=4)
    for n in range(1, 5):
        row = [
            f"{stages.value(state, steps_left=n):>8.3f} {stages.action(state, steps_left=n)}"
            for state in ("in favour", "out of favour")
        ]
        print(f"{n:>3}  {'  '.join(row)}")
    discounted = solve(toymaker, Discounted(Fraction(9, 10)))
    print("with a discount of 0.9 for ever:")
    for state in ("in favour", "out of favour"):
        print(f"     {state:<13}  {discounted.value(state):.6f}  {discounted.action(state)}")
    same = solve(arrays(), Discounted(Fraction(9, 10)))
    print(f"the same from arrays: {same.value():.6f}")
    print(cross_check(toymaker, Discounted(Fraction(9, 10))))
    print()
    print("The gambler: chance to reach the goal")
    gambler = solve(Gambler())
    for money, known in ((25, "0.16"), (50, "0.40"), (75, "0.64")):
        print(f"{money:>3}  {gambler.value(money):.9f} (bold play: {known}), stakes {gambler.ties(money)}")
    print(cross_check(Gambler()))


if __name__ == "__main__":
    main()
