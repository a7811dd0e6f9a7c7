"""Games in which few points are good: Shut the Box and Threes, two old dice games, in a few lines each."""

from __future__ import annotations

from itertools import combinations

import attrs

from mdpdice import Counter, Game, d6, decide, end, go, pass_to, pool, product, roll, when


@attrs.frozen
class ShutTheBox(Game):
    """Tiles up, and a total to take down or None: the payoff is the sum of the tiles that stay up."""

    tiles: int = 9
    sense = "min"

    def start(self):
        return tuple(range(1, self.tiles + 1)), None

    def node(self, state):
        tiles, total = state
        if not tiles:
            return end(0)
        if total is None:
            two = roll(product(d6, d6).map(sum), lambda total: go((tiles, total)))
            if tiles[-1] >= 7:
                return two
            return decide({"one die": roll(d6, lambda k: go((tiles, k))), "two dice": two})
        sets = [some for n in range(1, len(tiles) + 1) for some in combinations(tiles, n) if sum(some) == total]
        if not sets:
            return end(sum(tiles))
        return decide((some, go((tuple(t for t in tiles if t not in some), None))) for some in sets)


@attrs.frozen
class Threes(Game):
    """Dice left, or dice thrown of which some are to be kept; threes count nothing, others their pips."""

    dice: int = 5
    points = Counter(lambda game: range(6 * game.dice + 1))
    sense = "min"

    def start(self):
        return self.dice

    def node(self, state):
        if state == 0:
            return end(self.points)
        if isinstance(state, int):
            return roll(pool([d6] * state).map(_faces), go)
        return decide(
            (kept, go(len(state) - len(kept), self.points.add(sum(face for face in kept if face != 3))))
            for kept in sorted({some for n in range(1, len(state) + 1) for some in combinations(state, n)})
        )


def _faces(counts):
    return tuple(face for face, n in zip(range(1, 7), counts, strict=True) for _ in range(n))


class Duel(Game):
    """Two players take turns to add a pip or a throw to their lead, of which they want little."""

    sense = "min"
    turns = Counter(range(4))
    lead = Counter(range(-12, 13), start=0)

    def start(self):
        return "turn"

    def node(self, state):
        def after(pips):
            return pass_to(state, self.turns.add(1), self.lead.set(-self.lead - pips))

        return when(self.turns == 3, end(self.lead), decide({"pip": after(1), "throw": roll(d6, after)}))
