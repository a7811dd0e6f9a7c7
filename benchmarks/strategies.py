"""How fast plays are simulated, and how long it takes to evaluate two policies against each other.

Simulated: the optimal policy of a turn of Farkle, and a player who holds at 20 in the race of Pig
against one who holds at 25.  A node step is one edge taken by one play.  The same
mean is computed exactly beside it.
"""

from __future__ import annotations

import sys
import time

from mdpdice import Policy, evaluate, explore, simulate, solve
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigRace, hold_at

PLAYS = 300_000
GOAL = 1_000_000


def main() -> int:
    """Print the table; the exit status says whether the goal was met."""
    solution = solve(KcdFarkle())
    race = explore(PigRace(goal=100))
    players = [Policy.of(race, hold_at(points)) for points in (20, 25)]
    slowest = float("inf")
    for name, network, policies in (
        ("farkle, optimal", solution.network, [Policy.from_solution(solution)]),
        ("pig-race, hold at 20 against 25", race, players),
    ):
        simulate(network, policies, 1000, seed=0)  # compiles, and fills numba's cache
        begun = time.process_time()
        found = simulate(network, policies, PLAYS, seed=1)
        rate = found.moves / (time.process_time() - begun)
        slowest = min(slowest, rate)
        begun = time.process_time()
        exact = evaluate(network, policies)
        taken = time.process_time() - begun
        away = (found.mean - exact.value()) / found.standard_error
        print(f"{name}: {rate / 1e6:.1f} million node steps per CPU second (goal {GOAL / 1e6:.0f})")
        print(f"  mean {found.mean:.6f}, {away:+.2f} standard errors from {exact.value():.9f}")
        print(f"  evaluated exactly in {taken:.1f} CPU seconds: {exact.chain.network.n_nodes:,} nodes")
    return 0 if slowest >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
