"""What the first public solver of KCD Farkle printed, and what it should have printed.

The solver prints three numbers for a turn with six fair dice: 399, 517.9492 and 517.9492 points for
at most one, two and three rolls, and concludes that looking two rolls ahead is enough.  The first is
right up to rounding; the others are not.  This script shows where they come from:

* the right values, solved and certified;
* the solver's recursion, declared as a game of its own (``defects="public-solver"``) and solved by the
  same solvers, in 64-bit floats;
* the same recursion as a plain loop over all rolls and summed in 32-bit floats, as the solver
  does: this gives the printed 517.9492188 to the last digit.

Its defects: the decoder takes every face f for min(6, f + 1) when it looks for dice to keep (but not
when it scores a roll); a roll is never tested for a bust when it is kept; keeping all dice is not
offered, so all dice are never rolled again; and the second number is printed again as the third.
"""

import functools
import itertools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from mdpdice import solve
from mdpdice.games.farkle import KCD, KcdFarkle
from mdpdice.looks import look_of

PRINTED = {1: "399", 2: "517.9492", 3: "517.9492"}
CAP, GRID = 6000, 50
POINTS = np.arange(0, CAP, GRID)

Floats = npt.NDArray[np.float32]


def misread(faces: Iterable[int]) -> tuple[int, ...]:
    """Return the faces that the solver's decoder makes of a roll."""
    return tuple(min(6, face + 1) for face in faces)


selections = functools.cache(KCD.selections)


def best(roll: tuple[int, ...]) -> int:
    """Return the most points that a roll can be banked for."""
    return max(selections(roll).values(), default=0)


def hold(roll: tuple[int, ...], gain: dict[int, Floats]) -> Floats:
    """Return the best gain of keeping some dice of a roll, but not all, for every number of points."""
    found = np.zeros(len(POINTS), dtype=np.float32)
    first = True
    for kept, score in selections(roll).items():
        left = len(roll) - sum(kept)
        if left:
            row = np.minimum((POINTS + score) // GRID, len(POINTS) - 1)  # the index is clamped
            value = np.float32(score) + gain[left][row]
            found = value if first else np.maximum(found, value)
            first = False
    return found


def replay(rolls_ahead: int) -> list[float]:
    """Run the solver's recursion in 32-bit floats, in its order of summation.

    Parameters
    ----------
    rolls_ahead : int
        Largest number of rolls.

    Returns
    -------
    list of float
        Optimal_1, Optimal_2, ... for six dice and no points at risk.
    """
    points = POINTS.astype(np.float32)
    gain: dict[int, Floats] = {}
    answers = []
    for ahead in range(1, rolls_ahead + 1):
        shorter, gain = gain, {}
        for dice in range(1, 7):
            chance = np.float32(1)
            for _ in range(dice):
                chance *= np.float32(1) / np.float32(6)
            terms: dict[tuple[int, ...], Floats] = {}  # the terms of the sum do not depend on the order of the dice
            total = np.zeros(len(POINTS), dtype=np.float32)
            for roll in itertools.product(range(1, 7), repeat=dice):
                dice_in_order = tuple(sorted(roll))
                if dice_in_order not in terms:
                    score = best(dice_in_order)
                    value = np.full(len(POINTS), score, dtype=np.float32)
                    if ahead > 1:
                        value = np.maximum(value, hold(misread(dice_in_order), shorter))
                    # A bust costs the points at risk.
                    terms[dice_in_order] = chance * (value if score else value - points)
                total += terms[dice_in_order]  # one 32-bit rounding per roll
            gain[dice] = total
        answers.append(float(gain[6][0]))
    return answers


def main() -> None:
    right = solve(KcdFarkle(), horizon=3)
    unbounded = solve(KcdFarkle(cap=None))
    defective = solve(KcdFarkle(defects="public-solver"), horizon=4)
    rounded = replay(3)

    print("Expected points of a turn with six fair dice, at most n rolls")
    print(f"{'n':>9}  {'printed':>9}  {'32-bit replay':>14}  {'defects, 64-bit':>16}  {'right':>14}")
    for n in (1, 2, 3):
        print(
            f"{n:>9}  {PRINTED[n]:>9}  {rounded[n - 1]:>14.7f}"
            f"  {defective.value(steps_left=n):>16.7f}  {right.value(steps_left=n):>14.10f}"
        )
    print(f"{4:>9}  {'':>9}  {'':>14}  {defective.value(steps_left=4):>16.7f}")
    print(f"{'any, no cap':>9}  {'':>7}  {'':>14}  {'':>16}  {unbounded.value():>14.10f}")
    print()
    print(f"right: {right}")
    print(f"no cap: {unbounded}")
    for note in look_of(KcdFarkle(cap=None)).notes():
        print(f"  {note}")
    print(f"defects: {defective}")


if __name__ == "__main__":
    main()
