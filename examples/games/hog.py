"""Hog, a race to 100 in which a player says how many dice to throw, once a turn.

Throw 1 to 10 dice: any 1 makes the turn worth 1, else it is worth the sum.  Throw none: the turn is worth 1 more than
the larger digit of the opponent's score ("free bacon").  The project of CS 61A, a course of the University of
California, Berkeley, has made this game known; only its rules are used here.
"""

from mdpdice import Counter, Dist, Game, Node, d6, decide, end, pool, race, roll, solve, table


def sum_of(dice: int) -> Dist[int]:
    """What so many dice are worth: 1 with a 1 among them, and the sum otherwise."""
    return pool([d6] * dice).map(lambda counts: 1 if counts[0] else sum(k * n for k, n in enumerate(counts, start=1)))


class Turn(Game[str, int]):
    """One turn of Hog; `theirs` is the score of the opponent."""

    theirs = Counter(range(100))

    def start(self) -> str:
        return "turn"

    def node(self, state: str) -> Node[str, int]:
        bacon = table([1 + max(divmod(score, 10)) for score in range(100)], self.theirs)
        return decide([(0, end(bacon)), *((n, roll(sum_of(n), end)) for n in range(1, 11))])


hog = race(Turn(), 100)

if __name__ == "__main__":
    print(f"Hog to 100: whoever begins wins with probability {solve(hog).value():.10f}")
