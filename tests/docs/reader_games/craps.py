"""The pass line of craps, from the tutorial: no decisions, and play may cycle."""

import attrs

from mdpdice import Game, Node, d6, end, go, product, roll


@attrs.frozen
class PassLine(Game[int, str]):
    """7 and 11 win at once, 2, 3 and 12 lose; anything else is the point, which must come again before a 7.

    The state is the point, 0 before the first throw; the value is the chance to win.
    """

    def start(self) -> int:
        return 0

    def node(self, point: int) -> Node[int, str]:
        pair = product(d6, d6).map(sum)
        if point == 0:
            return roll(pair, lambda s: end(1) if s in (7, 11) else end(0) if s in (2, 3, 12) else go(s))
        return roll(pair, lambda s: end(1) if s == point else end(0) if s == 7 else go(point))
