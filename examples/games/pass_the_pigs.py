"""A turn of Pass the Pigs: two pigs are thrown, and a pig on either side loses the turn.

The six ways in which a pig falls have the frequencies of 11,954 throws, in thousandths (J. C. Kern, Pig Data and
Bayesian Inference on Multinomial Probabilities, Journal of Statistics Education 14(3), 2006).  Pigs that touch are left
out.
"""

import attrs

from mdpdice import Dist, Edge, Game, Node, decide, end, go, roll, solve

PIG = Dist({"plain side": 349, "dot side": 302, "razorback": 224, "trotter": 88, "snouter": 30, "leaning jowler": 6})
POINTS = {"plain side": 0, "dot side": 0, "razorback": 5, "trotter": 5, "snouter": 10, "leaning jowler": 15}


def worth(a: str, b: str) -> int:
    """Points of two pigs; 0 where they lie on different sides, which loses the turn."""
    if a == b:
        return 4 * POINTS[a] or 1
    return POINTS[a] + POINTS[b]


@attrs.frozen
class PassThePigs(Game[int, str]):
    """A turn of Pass the Pigs; a state is the points at risk, and the value the points that it wins."""

    cap: int = 100

    def start(self) -> int:
        return 0

    def node(self, state: int) -> Node[int, str]:
        def fallen(a: str, b: str) -> Edge[int]:
            points = worth(a, b)
            return go(state + points) if points else end(0)

        if state >= self.cap:
            return end(state)
        return decide({"pass": end(state), "throw": roll(PIG, PIG, fallen)})


if __name__ == "__main__":
    solution = solve(PassThePigs())
    enough = min(points for points in range(1, 100) if solution.action(points) == "pass")
    print(f"Pass the Pigs: a turn is worth {solution.value():.10f} points; pass the pigs on from {enough} points on")
