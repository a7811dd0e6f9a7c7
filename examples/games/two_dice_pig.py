"""Two-dice Pig, a race to 50: one 1 loses the turn, two 1s lose all points, whoever banks 50 first has won."""

import attrs

from mdpdice import Counter, Edge, Game, Node, d6, decide, end, go, race, roll, solve


@attrs.frozen
class Turn(Game[str, str]):
    """One turn of two-dice Pig; `mine` is the score before it."""

    target: int = 50
    mine = Counter(lambda game: range(game.target))
    points = Counter(lambda game: range(game.target + 12))

    def start(self) -> str:
        return "turn"

    def node(self, state: str) -> Node[str, str]:
        def rolled(a: int, b: int) -> Edge[str]:
            if 1 not in (a, b):
                return go("turn", self.points.add(a + b))
            return end(-self.mine if a == b else 0)

        return decide({"hold": end(self.points), "roll": roll(d6, d6, rolled)})


two_dice_pig = race(Turn(), 50)
two_dice_pig_100 = race(Turn(100), 100)

if __name__ == "__main__":
    print(f"Two-dice Pig to 50: whoever begins wins with probability {solve(two_dice_pig).value():.10f}")
