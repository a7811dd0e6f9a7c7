"""Two games with counters: a race, whose layers lead to themselves, and a sheet with boxes, whose layers do not."""

from __future__ import annotations

import attrs

from mdpdice import Counter, Flags, Game, d6, decide, end, go, pass_to, roll, when


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
        fill = [
            (at, when(~self.boxes[at], go(0, self.boxes.add(at), reward=min(face, at + 3))))
            for at in range(4)
        ]
        return decide([*fill, (9, go(0, self.penalty.add(1)))])
