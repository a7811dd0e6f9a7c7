"""Why agreement and small residuals prove nothing: the chain of Haddad and Monmege.

From the centre a play goes up with probability 7/10, down with 3/10.  It then climbs (or descends) N
rungs; at each it falls back to the centre with probability 1/2.  The top pays 1, the bottom 0, so the
value is exactly 7/10 for every N, but a play takes about 2^(N+1) moves.

S. Haddad and B. Monmege, "Interval iteration algorithm for MDPs and IMDPs", Theoretical Computer
Science 735 (2018), 111-131; the model is in the Quantitative Verification Benchmark Set too.

In the second part the player may take a sure 0.6 at the centre instead.  That is a mistake.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog

from mdpdice import Dist, Edge, Game, Node, Report, cross_check, decide, end, go, roll, solve

Way = tuple[str, int]
Floats = npt.NDArray[np.float64]

CLIMB = Dist({"up": 7, "down": 3})
HALF = Dist({True: 1, False: 1})


def game(rungs: int, offer: float | None = None) -> Game[str | Way, str]:
    """Return the chain, with the choice of a sure payoff at the centre unless `offer` is None."""

    def node(state: str | Way) -> Node[str | Way, str]:
        if isinstance(state, str):
            draw: Edge[str | Way] = roll(CLIMB, lambda way: go((way, 1)))
            return draw if offer is None else decide({"play": draw, "stop": end(offer)})
        way, rung = state
        after: Edge[str | Way] = end(int(way == "up")) if rung == rungs else go((way, rung + 1))
        return roll(HALF, lambda on: after if on else go("centre"))

    return Game.of(start="centre", node=node)


def exact(rungs: int) -> Fraction:
    """Return the value at the centre, by elimination in rationals."""
    at_centre = Fraction(1)
    constant = Fraction(0)
    for chances, payoff in ((Fraction(7, 10), 1), (Fraction(3, 10), 0)):
        # The value of a rung is a + b * (value at the centre), from the last rung inwards.
        a, b = Fraction(payoff), Fraction(0)
        for _ in range(rungs):
            a, b = a / 2, b / 2 + Fraction(1, 2)
        constant += chances * a
        at_centre -= chances * b
    return constant / at_centre


def equations(rungs: int) -> tuple[Floats, Floats]:
    """Return the matrix P and the vector r of the equations ``v = r + P v``; state 0 is the centre."""
    moves, paid = np.zeros((2 * rungs + 1, 2 * rungs + 1)), np.zeros(2 * rungs + 1)
    for first, chances in ((1, 0.7), (rungs + 1, 0.3)):
        moves[0, first] = chances
        for state in range(first, first + rungs):
            moves[state, 0] = 0.5
            if state + 1 < first + rungs:
                moves[state, state + 1] = 0.5
    paid[rungs] = 0.5
    return moves, paid


def textbook(rungs: int) -> list[tuple[str, float, float]]:
    """Return the answers of three usual methods, each with its residual ``max |r + P v - v|``."""
    moves, paid = equations(rungs)
    value = np.zeros(len(paid))
    while np.abs(paid + moves @ value - value).max() > 1e-6:
        value = paid + moves @ value
    rows = np.eye(len(paid)) - moves
    program = linprog(np.ones(len(paid)), A_ub=-rows, b_ub=-paid, bounds=(0, 1), method="highs")
    answers = [
        ("value iteration until the change is below 1e-6", value),
        (f"HiGHS, which says {'optimal' if program.status == 0 else program.message}", np.array(program.x)),
        ("LU decomposition (depends on the machine)", np.linalg.solve(rows, paid)),
    ]
    return [(name, float(v[0]) + 0.0, float(np.abs(paid + moves @ v - v).max())) for name, v in answers]


def tempted(rungs: int) -> Report:
    """Let two solvers decide between the chain and a sure 0.6."""
    return cross_check(game(rungs, offer=0.6), solvers=["value-iteration", "linear-programming"])


def main() -> None:
    for rungs in (20, 60):
        print(f"{rungs} rungs: exactly {exact(rungs)}")
        for name, value, residual in textbook(rungs):
            print(f"  {value:8.4f}  residual {residual:.0e}  {name}")
    print()
    print("mdpdice, which certifies what it can:")
    for rungs in (10, 20, 30, 60):
        solution = solve(game(rungs), solver="value-iteration", on_limit="partial")
        proved = f"in [{solution.lower():.6f}, {solution.upper():.6f}]"
        print(f"  {rungs} rungs: about {solution.estimate():.6f}, {solution.status.value}, {proved}")
    print()
    print("60 rungs or a sure 0.6: the best is to play, for 0.7")
    report = tempted(60)
    for solution in report.solutions:
        print(f"  {solution.estimate():.4f}, {solution.action()!r}: {solution.status.value}, {solution.solver}")
    print("the cross-check passes" if report.ok else "the cross-check does not pass:")
    for problem in report.problems:
        print(f"  {problem}")
    sure = solve(game(60, offer=0.6), solver="exact")
    print(f"in rational numbers: {sure.value():.4f}, {sure.action()!r}: {sure.status.value}")


if __name__ == "__main__":
    main()
