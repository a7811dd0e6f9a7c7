"""Hog, from "Games for two players": turns are passed, and the points are counters."""

import attrs

from mdpdice import Counter, Game, Node, d6, decide, end, pass_to, product, roll, when


@attrs.frozen
class Hog(Game[str, int]):
    """Choose how many dice to throw; their sum is yours, or one point if a 1 is among them.  First to the goal wins.

    The value is the chance to win of the player who starts.
    """

    goal: int = 20
    most: int = 3
    total = 1
    mine = Counter(lambda game: range(game.goal))
    theirs = Counter(lambda game: range(game.goal))

    def start(self) -> str:
        return "turn"

    def node(self, state: str) -> Node[str, int]:
        def scored(points: int):
            return when(
                self.mine + points >= self.goal,
                end(1),
                pass_to(state, self.mine.set(self.theirs), self.theirs.set(self.mine + points)),
            )

        def throw(n: int):
            return roll(product(*[d6] * n).map(lambda faces: 1 if 1 in faces else sum(faces)), scored)

        return decide((n, throw(n)) for n in range(1, self.most + 1))
