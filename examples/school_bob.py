"""Bob the Dice Master against the best play of School: what he loses, in which turns, and why.

School is a dice game with 15 combinations, and Bob the rule of thumb by which a public program plays
it (github.com/egeorg/BobTheDiceMaster).  Both are shipped; `mdpdice.games.school` has the rules.
"""

from collections.abc import Iterable
from typing import TypeAlias

from mdpdice import solve
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.games.school import BobGame, School, averages
from mdpdice.games.school.losses import KINDS, bob_losses
from mdpdice.solving.lattice_solution import LatticeSolution

Open: TypeAlias = tuple[str, ...]

FREE = ("grade-4", "grade-5", "grade-6")  # three grades are played, and nothing else


def values_of_sets(game: School, best: LatticeSolution, sets: Iterable[Open]) -> dict[Open, float]:
    """What sets of open combinations are worth before a turn, in the order of the flags."""
    # The values before a turn are what is stored for every set, that is for every point of the grid.
    (stored,) = best.stored
    boxes = {name: 1 << box for box, name in enumerate(game.open)}
    return {names: float(stored[sum(boxes.values()) - sum(map(boxes.__getitem__, names))]) for names in sets}


def main() -> None:
    game, bob = School(), BobGame()
    best, plays = solve(compile_lattice(game)), solve(bob)
    print(f"the best play {best.value():.9f}, Bob {plays.value():.9f}")
    values = values_of_sets(game, best, bob.turns.place)

    losses = bob_losses(bob, values)
    print(f"he loses {losses.total:.9f} points a game")
    for turn, lost in enumerate(losses.by_turn, start=1):
        print(f"  turn {turn:>2}  {lost:.4f}")
    print(f"wrong decisions in a game: {losses.number.sum():.2f}")
    print("  Bob        best       number  points")
    for his, row in enumerate(KINDS):
        for right, column in enumerate(KINDS):
            print(
                f"  {row:<9}  {column:<9}  {losses.number[his, right]:6.3f}  {losses.by_kind[his, right]:.4f}"
            )

    names = tuple(name for name in game.open if name in FREE or not name.startswith("grade"))
    print("prices of combinations, with three grades played and nothing else")
    print("                     Bob's    true  difference")
    for name, average in averages(game).items():
        if name in names:
            left = tuple(other for other in names if other != name)
            price = values[names] - values[left]
            print(f"  {name:<15}  {float(average):9.4f} {price:8.4f} {price - float(average):8.4f}")


if __name__ == "__main__":
    main()
