"""How fast plain Python games are explored: edges per CPU second, and beside it what the game itself costs.

The model is the fair-dice turn of KCD Farkle.  Each run explores it afresh; the
median of the runs is printed with the ratio of exploring to calling ``node`` alone
for the same states, which does not depend on the machine.
"""

from __future__ import annotations

import statistics
import sys
import time

from mdpdice import explore
from mdpdice.games.farkle import KcdFarkle

RUNS = 7
GOAL = 500_000


def main() -> int:
    """Print the table; the exit status says whether the goal was met."""
    game = KcdFarkle()
    network = explore(game)
    rates, ratios = [], []
    for _ in range(RUNS):
        started = time.process_time()
        explore(game)
        exploring = time.process_time() - started
        started = time.process_time()
        for state in network.states:
            game.node(state)
        declaring = time.process_time() - started
        rates.append(network.n_edges / exploring)
        ratios.append(exploring / declaring)
    rate, ratio = statistics.median(rates), statistics.median(ratios)
    print(f"{network!r}")
    print(
        f"explored  {rate:,.0f} edges per CPU second (goal {GOAL:,}; from {min(rates):,.0f} to {max(rates):,.0f})"
    )
    print(f"exploring costs {ratio:.2f} times what the game's own node() costs")
    return 0 if rate >= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
