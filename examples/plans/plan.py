"""What two-player School and Yahtzee would take: small sheets solved, the whole ones counted.

    python examples/plans/plan.py [BOXES]

The first table is measured, for sheets of 2 to BOXES boxes (by default 6, and 5 of Yahtzee).  A point is a set of
boxes that are filled for each player, and a lead; the states of a turn come with each point.

The second counts the points of the whole games from the sheets that a player can have after n turns; both have n, or
the player to move has one fewer.  All differences between the fewest and the most points of two sheets count as leads,
so these numbers are bounds from above.  A point is taken to cost what each costs by which the largest small sheet
exceeds the one before it.
"""

import sys
import time
from itertools import combinations, pairwise

from two_sheets import SCHOOL, YAHTZEE, TwoSheets

from mdpdice import solve
from mdpdice.answers.grid_values import GridValues
from mdpdice.games.school.rules import COMBINATIONS, GRADES
from mdpdice.games.yahtzee.game import BOXES
from mdpdice.games.yahtzee.sheet import UPPER

Sheets = list[tuple[int, int]]
"""By the number of filled boxes: how many sheets there are, and the sum of the widths of their ranges of points."""


def sheets(kind: str, boxes: tuple[str, ...]) -> Sheets:
    """Count sheets; the whole ones of School have three grades first, those of Yahtzee upper points and a 50."""
    width = [high - low for low, high in TwoSheets(kind, boxes).ranges()]
    found = []
    for n in range(len(boxes) + 1):
        count = total = 0
        for some in combinations(range(len(boxes)), n):
            names = [boxes[at] for at in some]
            grades = sum(name in GRADES for name in names)
            if boxes == COMBINATIONS and len(names) > grades and grades < 3:
                continue
            ways = 1
            if boxes == BOXES:
                ways = upper_totals([name for name in names if name in UPPER]) * (2 if "yahtzee" in names else 1)
            count += ways
            total += ways * (sum(width[at] for at in some) + 35 * (boxes == BOXES))
        found.append((count, total))
    return found


def upper_totals(names: list[str]) -> int:
    """Count the upper totals, of 63 at most, that some upper boxes can come to."""
    reached = {0}
    for name in names:
        face = UPPER.index(name) + 1
        reached = {min(63, total + face * count) for total in reached for count in range(6)}
    return len(reached)


def layers(found: Sheets) -> list[int]:
    """Count the points of every layer: both players have n boxes, or the other one has n + 1."""
    pairs = [(found[n], found[m]) for n in range(len(found)) for m in (n, n + 1) if m < len(found)]
    return [a * b_width + b * a_width + a * b for (a, a_width), (b, b_width) in pairs]


def measured(kind: str, boxes: tuple[str, ...]) -> tuple[int, float]:
    """Solve a small sheet for two, print its line, and return points and CPU seconds."""
    began = time.process_time()
    solution = solve(TwoSheets(kind, boxes))
    took = time.process_time() - began
    assert isinstance(solution.table, GridValues)
    reached = [len(layer.points) for layer in solution.table.layers.layers]
    counted, each = sum(layers(sheets(kind, boxes))), 1e6 * took / sum(reached)
    print(
        f"{kind:<9}{len(boxes):>6}{solution.value():>12.8f}{sum(reached):>10,}{counted:>10,}{solution.n_states:>14,}"
        f"{took:>8.1f}{each:>10.1f}{1e9 * took / solution.n_states:>10.1f}",
        flush=True,
    )
    return sum(reached), took


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    print("sheet     boxes       value    points   counted        states   CPU s  us/point  ns/state")
    cost = {}
    for kind, boxes in (("school", SCHOOL), ("yahtzee", YAHTZEE)):
        before = measured(kind, boxes[:2])
        for n in range(3, min(most, len(boxes)) + 1):
            points, took = measured(kind, boxes[:n])
            cost[kind] = (took - before[1]) / (points - before[0])
            before = points, took
    print()
    print("whole     sheets     pairs    points   largest layer, GB   core hours")
    for kind, whole in (("school", COMBINATIONS), ("yahtzee", BOXES)):
        found = sheets(kind, whole)
        counts = layers(found)
        sizes = [count for count, _ in found]
        pairs = sum(a * a for a in sizes) + sum(a * b for a, b in pairwise(sizes))
        hours = sum(counts) * cost[kind] / 3600
        print(
            f"{kind:<9}{sum(a for a, _ in found):>7,}{pairs:>10.2e}{sum(counts):>10.2e}{8e-9 * max(counts):>20,.0f}"
            f"{hours:>13,.0f}"
        )


if __name__ == "__main__":
    main()
