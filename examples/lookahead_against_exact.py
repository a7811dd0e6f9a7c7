"""How often does looking ahead find the best move? Knucklebones on boards that can be solved.

For every position where the choice matters (a sample of them on larger boards) the move of `lookahead` is
compared with the optimal ones. The loss is what its move gives away in the mean, of P(win) - P(loss).
"""

import random
import sys

from mdpdice import solve
from mdpdice.games.knucklebones import Knucklebones, Rolled
from mdpdice.solvers.lookahead import Lookahead

SAMPLE = int(sys.argv[1]) if len(sys.argv) > 1 else 40
SIZES = ((2, 1), (3, 1), (2, 2))

print(f"{'board':>8} {'positions':>9}" + "".join(f"{f'depth {d}':>18}" for d in (2, 4, 6)))
for columns, rows in SIZES:
    solution = solve(Knucklebones(columns=columns, rows=rows))
    states = [state for state in solution.network.states if isinstance(state, Rolled)]
    values = {}
    for state in random.Random(1).sample(states, len(states)):
        q = solution.q(state)
        if max(q.values()) - min(q.values()) > 1e-9:
            values[state] = q
        if len(values) == SAMPLE:
            break
    states = list(values)
    game = Knucklebones(columns=columns, rows=rows)
    cells = []
    for depth in (2, 4, 6):
        right, lost = 0, 0.0
        for state, options in zip(states, Lookahead(depth=depth).options(game, states), strict=True):
            gap = max(values[state].values()) - values[state][max(options, key=options.__getitem__)]
            right += gap < 1e-9
            lost += gap
        cells.append(f"{right / len(states):8.1%} ({lost / len(states):.4f})")
    print(f"{f'{columns} x {rows}':>8} {len(states):>9}" + "".join(f"{cell:>18}" for cell in cells))
