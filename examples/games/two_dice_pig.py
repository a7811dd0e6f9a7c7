"""Two-dice Pig, a race to 50: one 1 loses the turn, two 1s lose all points, whoever banks 50 first has won."""

import attrs

from mdpdice import Counter, Edge, Game, Node, d6, decide, end, go, pass_to, roll, solve, when
from mdpdice.modelling.expressions import Expr


@attrs.frozen
class TwoDicePig(Game[str, str]):
    """The race of two-dice Pig; the value is the chance of who starts."""

    goal: int = 50
    total = 1
    mine = Counter(lambda game: range(game.goal))
    theirs = Counter(lambda game: range(game.goal))
    turn = Counter(lambda game: range(game.goal + 12))

    def start(self) -> str:
        return "turn"

    def node(self, state: str) -> Node[str, str]:
        def passed(points: Expr | int) -> Edge[str]:
            return pass_to("turn", self.mine.set(self.theirs), self.theirs.set(points), self.turn.set(0))

        def rolled(a: int, b: int) -> Edge[str]:
            if 1 not in (a, b):
                return go("turn", self.turn.add(a + b))
            return passed(0 if a == b else self.mine)

        banked = self.mine + self.turn
        return when(banked >= self.goal, end(1), decide({"hold": passed(banked), "roll": roll(d6, d6, rolled)}))


if __name__ == "__main__":
    print(f"Two-dice Pig to 50: whoever begins wins with probability {solve(TwoDicePig()).value():.10f}")
