"""Zombie Dice for two: draw three dice, eat brains, mind the shotguns; whoever banks 13 brains first has won.

Feet stay in the hand and are thrown again, with new dice for the others; a third shotgun ends the turn with nothing.
Dice with brains, which still count, go back into a cup that has too few.  There is no last round, unlike in print.
"""

from collections import Counter
from functools import cache

import attrs

from mdpdice import Dist, Game, Node, decide, end, go, product, race, roll, solve

DICE = "ggggggrrryyyy"  # green, red, yellow
FACES = {"g": "BBBFFS", "y": "BBFFSS", "r": "BFFSSS"}  # brains, feet, shotguns
# The colours of the dice that show each of them, and the brains whose dice went back into the cup.
Table = tuple[str, str, str, int]


def ordered(dice: str) -> str:
    return "".join(sorted(dice))


@cache
def thrown(hand: str, cup: str = "", new: int = 0) -> Dist[tuple[str, ...]]:
    """Which dice show brains, feet and shotguns, when so many from the cup have come into the hand."""
    if new:
        return Dist(Counter(cup)).bind(lambda d: thrown(hand + d, cup.replace(d, "", 1) if new > 1 else "", new - 1))
    shown = product(*(Dist(Counter(face + d for face in FACES[d])) for d in hand))
    return shown.map(lambda dice: tuple(ordered("".join(d[1] for d in dice if d[0] == face)) for face in "BFS"))


@attrs.frozen
class Turn(Game[Table, str]):
    target: int = 13

    def start(self) -> Table:
        return "", "", "", 0

    def node(self, state: Table) -> Node[Table, str]:
        brains, feet, shots, eaten = state
        cup = "".join((Counter(DICE) - Counter(brains + feet + shots)).elements())
        if len(cup) < 3 - len(feet):
            cup, brains, eaten = cup + brains, "", eaten + len(brains)

        def after(dice: tuple[str, ...]) -> Table | int:
            at = ordered(brains + dice[0]), dice[1], ordered(shots + dice[2]), eaten
            return 0 if len(at[2]) > 2 else at if eaten + len(at[0]) < self.target else self.target

        dice = thrown(feet, ordered(cup), 3 - len(feet)).map(after)
        rolled = roll(dice, lambda at: end(at) if isinstance(at, int) else go(at))
        return rolled if state == ("", "", "", 0) else decide({"stop": end(eaten + len(brains)), "roll": rolled})


zombie_dice = race(Turn(), 13)
if __name__ == "__main__":
    chance = solve(race(Turn(3), 3)).value()
    print(f"Zombie Dice to 3 brains: whoever begins wins with probability {chance:.8f}")
