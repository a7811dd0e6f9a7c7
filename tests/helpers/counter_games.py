"""Games with counters: made of a function, a race, whose layers lead to themselves, a sheet with boxes, whose layers
do not, and the shipped ones, small."""

from __future__ import annotations

import attrs

from mdpdice import At, Counter, Flags, Game, d6, decide, end, go, pass_to, roll, when
from mdpdice.games.farkle import FarkleRace, KcdFarkle
from mdpdice.games.konijnenhokken import KonijnenhokkenRace
from mdpdice.games.pig import Piglet, PigRace
from mdpdice.games.school import School
from mdpdice.games.yahtzee import Yahtzee
from mdpdice.games.yatzy import Yatzy


def make(node, start="s", **members):
    """A game with the counters `members`, and the nodes of a function of (game, core)."""
    body = {"start": lambda self: start, "node": node, **members}
    return type("Made", (Game,), body)()


class Jar(Game):
    """Four dice; each may be put into the jar or left; a full jar is worth nothing."""

    jar = Counter(range(25))
    left = Counter(range(5), start=4)

    def start(self):
        return "s"

    def node(self, state):
        thrown = roll(d6, lambda k: go("s", self.jar.add(k), self.left.add(-1)))
        return when(
            self.left == 0, end(self.jar), when(self.jar > 12, end(0), decide({"stop": end(self.jar), "throw": thrown}))
        )


@attrs.frozen
class Race(Game[str, str]):
    """Pig for two."""

    goal: int = 10
    mine = Counter(lambda game: range(game.goal))
    theirs = Counter(lambda game: range(game.goal))
    turn = Counter(lambda game: range(game.goal + 6))
    total = 1

    def start(self):
        return "turn"

    def node(self, state):
        swap = (self.mine.set(self.theirs), self.turn.set(0))
        bust = pass_to(state, *swap, self.theirs.set(self.mine))
        return when(
            self.mine + self.turn >= self.goal,
            end(1),
            decide(
                {
                    "hold": pass_to(state, *swap, self.theirs.set(self.mine + self.turn)),
                    "roll": roll(d6, lambda k: bust if k == 1 else go(state, self.turn.add(k))),
                }
            ),
        )


@attrs.frozen
class Sheet(Game[int, int]):
    """Every box takes one roll, box `i` at most `i + 3` points of it; passing it on costs a point."""

    boxes = Flags(4)
    penalty = Counter(range(3), outside="forbid")

    def start(self):
        return 0

    def node(self, face):
        if face == 0:
            over = self.boxes.count() == 4
            return when(over, end(-2 * self.penalty), roll(d6, go))
        fill = [(at, when(~self.boxes[at], go(0, self.boxes.add(at), reward=min(face, at + 3)))) for at in range(4)]
        return decide([*fill, (9, go(0, self.penalty.add(1)))])


SHIPPED = {
    "farkle": KcdFarkle(dice=2, cap=400),
    "farkle, clipped": KcdFarkle(dice=1, cap=300, at_cap="clip"),
    "farkle race": FarkleRace(dice=1, target=100),
    "konijnenhokken race": KonijnenhokkenRace(dice=2, target=3),
    "pig race": PigRace(goal=6),
    "piglet": Piglet(goal=3),
    "school": School(open="care"),
}
"""Shipped games with counters, so small that every value is computed exactly in a moment."""

LAST_TURN = {
    "yahtzee": (Yahtzee(), At("turn", boxes=(1 << 13) - 1 - (1 << 11), upper=60, fifty=0)),
    "yatzy": (Yatzy(), At("turn", boxes=(1 << 15) - 1 - (1 << 13), upper=60)),
}
"""Those without a small form, and a state in which one box, "chance", is open."""
