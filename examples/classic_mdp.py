"""A textbook model in the textbook form: actions, transitions, rewards; and the same as arrays.

*The toymaker* (R. A. Howard, *Dynamic Programming and Markov Processes*, MIT Press 1960): a toy is in
favour or not; the maker may advertise, or do research for a new toy.  Howard's table 3.1 lists what
n weeks are worth, 6 and -3 for one week up to 12.222 and 2.223 for four; with a discount of 0.9 per
week the toymaker should advertise and do research, and the values are 22.2 and 12.3.
"""

from collections.abc import Iterable
from fractions import Fraction

import attrs

from mdpdice import ClassicMDP, Discounted, Dist, Network, cross_check, solve


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


if __name__ == "__main__":
    main()
