"""Four games that the library does not ship, written from its pages alone: nobody wrote a look for them.

Shut the Box and Threes are pub games; two-dice Pig is a classroom variant of Pig; Hog is a project of the course CS 61A
at Berkeley.  They are the small forms of the games with which newcomers tried the library.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import attrs

from mdpdice import Counter, Dist, Game, d6, decide, end, go, pass_to, pool, product, roll, table, when

TWO = product(d6, d6).map(lambda dice: 0 if dice == (1, 1) else 1 if 1 in dice else sum(dice))
"""0 for two ones, 1 for one of them, else the sum."""


@attrs.frozen
class Throw:
    """These tiles are up, and the dice are to be thrown."""

    tiles: tuple[int, ...]


@attrs.frozen
class Down:
    """These tiles are up, and the dice show a total."""

    tiles: tuple[int, ...]
    total: int


@attrs.frozen
class ShutTheBox(Game[Throw | Down, tuple[int, ...] | str]):
    """The payoff is the sum of the tiles that stay up; the player wants it small."""

    tiles: int = 9
    sense = "min"

    def start(self):
        return Throw(tuple(range(1, self.tiles + 1)))

    def node(self, state):
        if state == Throw(()):
            return end(0)
        if isinstance(state, Throw):
            tiles = state.tiles
            two = roll(product(d6, d6).map(sum), lambda total: go(Down(tiles, total)))
            if tiles[-1] >= 7:
                return two
            return decide({"one die": roll(d6, lambda k: go(Down(tiles, k))), "two dice": two})
        sets = [
            chosen
            for n in range(1, len(state.tiles) + 1)
            for chosen in combinations(state.tiles, n)
            if sum(chosen) == state.total
        ]
        if not sets:
            return end(sum(state.tiles))
        return decide((chosen, go(Throw(tuple(t for t in state.tiles if t not in chosen)))) for chosen in sets)


@attrs.frozen
class Threes(Game[int | tuple[int, ...], tuple[int, ...]]):
    """After every throw at least one die is kept; threes count nothing, other faces their pips; few are good."""

    dice: int = 3
    sense = "min"
    points = Counter(lambda game: range(6 * game.dice + 1))

    def start(self):
        return self.dice

    def node(self, state):
        if state == 0:
            return end(self.points)
        if isinstance(state, int):
            return roll(
                pool([d6] * state).map(
                    lambda counts: tuple(face for face, n in enumerate(counts, start=1) for _ in range(n))
                ),
                go,
            )
        kept = sorted({some for n in range(1, len(state) + 1) for some in combinations(state, n)})
        return decide(
            (some, go(len(state) - len(some), self.points.add(sum(face for face in some if face != 3))))
            for some in kept
        )


@attrs.frozen
class TwoDicePig(Game[str, str]):
    """One 1 loses the turn, two 1s lose all points, and the first to bank the goal wins."""

    goal: int = 12
    total = 1
    mine = Counter(lambda game: range(game.goal))
    theirs = Counter(lambda game: range(game.goal))
    turn = Counter(lambda game: range(game.goal + 12))

    def start(self):
        return "turn"

    def node(self, state):
        def passed(points):
            return pass_to("turn", self.mine.set(self.theirs), self.theirs.set(points), self.turn.set(0))

        def rolled(k):
            return passed(0) if k == 0 else passed(self.mine) if k == 1 else go("turn", self.turn.add(k))

        banked = self.mine + self.turn
        return when(banked >= self.goal, end(1), decide({"hold": passed(banked), "roll": roll(TWO, rolled)}))


@cache
def turn_of_hog(dice: int) -> Dist[int]:
    """What a turn of Hog with so many dice is worth."""
    total = Dist({0: 1})
    for _ in range(dice):  # None: a 1 was thrown
        total = total.bind(lambda s: d6.map(lambda k: None if s is None or k == 1 else s + k))
    return total.map(lambda s: 1 if s is None else s)


@attrs.frozen
class Hog(Game[str, int]):
    """Throw as many dice as you say: any 1 makes the turn worth 1, and no dice at all bring a point or more."""

    goal: int = 12
    most: int = 3
    total = 1
    mine = Counter(lambda game: range(game.goal))
    theirs = Counter(lambda game: range(game.goal))

    def start(self):
        return "turn"

    def node(self, state):
        def scored(points):
            passed = pass_to("turn", self.mine.set(self.theirs), self.theirs.set(self.mine + points))
            return when(self.mine + points >= self.goal, end(1), passed)

        bacon = table([1 + max(divmod(score, 10)) for score in range(self.goal)], self.theirs)
        return decide([(0, scored(bacon)), *((n, roll(turn_of_hog(n), scored)) for n in range(1, self.most + 1))])
