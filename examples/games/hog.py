"""Hog, a race to 100 in which a player says how many dice to throw, once a turn.

Throw 1 to 10 dice: any 1 makes the turn worth 1, else it is worth the sum.  Throw none: the turn is worth 1 more than
the larger digit of the opponent's score ("free bacon").  The project of CS 61A, a course of the University of
California, Berkeley, has made this game known; only its rules are used here.
"""

import attrs

from mdpdice import Counter, Dist, Edge, Game, Node, d6, decide, end, pass_to, pool, roll, solve, table, when
from mdpdice.modelling.expressions import Expr


def turn(dice: int) -> Dist[int]:
    """What a turn with so many dice is worth: 1 with a 1 among them, and the sum otherwise."""
    return pool([d6] * dice).map(lambda counts: 1 if counts[0] else sum(k * n for k, n in enumerate(counts, start=1)))


@attrs.frozen
class Hog(Game[str, int]):
    """The race of Hog; the value is the chance of who starts."""

    goal: int = 100
    most: int = 10
    total = 1
    mine = Counter(lambda game: range(game.goal))
    theirs = Counter(lambda game: range(game.goal))

    def start(self) -> str:
        return "turn"

    def node(self, state: str) -> Node[str, int]:
        def scored(points: Expr | int) -> Edge[str]:
            return when(
                self.mine + points >= self.goal,
                end(1),
                pass_to("turn", self.mine.set(self.theirs), self.theirs.set(self.mine + points)),
            )

        digits = [divmod(score, 10) for score in range(self.goal)]
        bacon = table([1 + max(pair) for pair in digits], self.theirs)
        return decide([(0, scored(bacon)), *((n, roll(turn(n), scored)) for n in range(1, self.most + 1))])


if __name__ == "__main__":
    print(f"Hog to 100: whoever begins wins with probability {solve(Hog()).value():.10f}")
