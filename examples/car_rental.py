"""Jack's car rental: 441 states, and the policy that every book about reinforcement learning shows.

Jack has two lots for at most 20 cars each.  During a day cars are asked for and brought back; how many has a
Poisson distribution with mean 3 and 4 for requests and 3 and 2 for returns.  A car that is let earns 10, if there
is one.  Overnight up to 5 cars are moved, for 2 each.  A day later counts 0.9 times.

R. S. Sutton and A. G. Barto, *Reinforcement Learning*, 2nd ed., MIT Press 2018, example 4.2: the policy is that
of figure 4.2, from 5 cars towards the second lot to 4 cars towards the first.

Declared word for word, 441 evenings with up to 11 moves each and thousands of outcomes of a day are millions of edges.
Two things make it small.  All moves that lead to the same morning share one state, an *afterstate*, and what is
earned on average from there is one number on the way into it.  And the two lots do not know of each other during a
day, so the first one's evening is drawn before the second one's: 21 outcomes twice, and not 441.
"""

import math
from fractions import Fraction
from functools import cache
from typing import TypeAlias

import attrs

from mdpdice import Dist, Game, Node, cross_check, decide, explore, go, roll, solve

Cars: TypeAlias = tuple[str, int, int]  # "evening", "morning" or "noon", and the cars in the two lots

REQUESTS, RETURNS = (3, 4), (3, 2)


def poisson(mean: float, most: int) -> list[float]:
    """Return the probabilities of 0, ..., most, the last one of `most` or more."""
    start = [math.exp(-mean) * mean**k / math.factorial(k) for k in range(most)]
    return [*start, max(0.0, 1 - math.fsum(start))]  # a tail below 1e-16 may be rounded to either side


@cache
def day(lot: int, cars: int, room: int) -> tuple[float, Dist[int]]:
    """Return how many cars of a lot are let on average, and how many it has in the evening."""
    mean, evening = 0.0, dict.fromkeys(range(room + 1), 0.0)
    for let, chance in enumerate(poisson(REQUESTS[lot], cars)):
        mean += let * chance
        left = cars - let
        for back, weight in enumerate(poisson(RETURNS[lot], room - left)):
            evening[left + back] += chance * weight
    return mean, Dist(evening)


@attrs.frozen
class CarRental(Game[Cars, int]):
    """Jack's car rental; the action is the number of cars to move from the first lot to the second."""

    room: int = 20
    moves: int = 5
    discount: Fraction = Fraction(9, 10)

    def start(self) -> Cars:
        return ("evening", self.room // 2, self.room // 2)

    def node(self, state: Cars) -> Node[Cars, int]:
        time, first, second = state
        if time == "evening":
            return decide(
                (move, go(("morning", first - move, second + move), reward=-2 * abs(move)))
                for move in sorted(range(-self.moves, self.moves + 1), key=abs)
                if 0 <= first - move <= self.room and 0 <= second + move <= self.room
            )
        if time == "morning":
            let, evening = day(0, first, self.room)
            return roll(evening, lambda cars: go(("noon", cars, second)), reward=10 * let)
        let, evening = day(1, second, self.room)
        return roll(evening, lambda cars: go(("evening", first, cars)), reward=10 * let)


def main() -> None:
    game = CarRental()
    print(explore(game))
    solution = solve(game, solver="policy-iteration")
    print("cars to move to the second lot; cars in the first lot down, in the second across")
    for first in range(game.room, -1, -1):
        row = [solution.action(("evening", first, second)) for second in range(game.room + 1)]
        print(f"{first:>2} ", "".join(f"{move:>3}" for move in row))
    for cars in ((0, 0), (10, 10), (20, 20)):
        print(f"{cars} is worth {solution.value(('evening', *cars)):.4f}")
    print(cross_check(game, solvers=["linear-programming", "policy-iteration", "value-iteration"]))


if __name__ == "__main__":
    main()
