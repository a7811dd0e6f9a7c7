"""A turn of Pig with a choice of dice, from "Weighted dice"."""

from fractions import Fraction

import attrs

from mdpdice import Dist, Game, Node, d6, decide, end, go, roll

LOADED = Dist({1: Fraction("0.05"), 2: Fraction("0.35"), 3: Fraction("0.3"), 4: Fraction("0.2"), 5: Fraction("0.1")})


@attrs.frozen
class TwoDice(Game[int, str]):
    """Before every throw choose the fair die or the loaded one, or hold; a 1 loses the points of the turn."""

    loaded: Dist[int] = LOADED
    cap: int = 60

    def start(self) -> int:
        return 0

    def node(self, points: int) -> Node[int, str]:
        if points >= self.cap:
            return end(points)
        dice = {"fair": d6, "loaded": self.loaded}
        return decide(
            [
                ("hold", end(points)),
                *((name, roll(die, lambda k: end() if k == 1 else go(points + k))) for name, die in dice.items()),
            ]
        )
