"""Shut the box, from "Counters": flags are the boxes, the state is what was thrown."""

from itertools import combinations

import attrs

from mdpdice import Flags, Game, Node, d6, decide, end, go, product, roll, when


@attrs.frozen
class ShutTheBox(Game[int, tuple[int, ...]]):
    """Throw two dice and close boxes that add up to their sum; what stays open is lost.

    The state is the sum that was thrown, 0 before the throw.  The value is minus the points of the open boxes.
    """

    boxes: int = 9
    closed = Flags(lambda game: game.boxes)

    def start(self) -> int:
        return 0

    def node(self, thrown: int) -> Node[int, tuple[int, ...]]:
        if thrown == 0:
            return when(self.closed.count() == self.boxes, end(), roll(product(d6, d6).map(sum), go))
        numbers = range(1, self.boxes + 1)
        sets = [some for n in numbers for some in combinations(numbers, n) if sum(some) == thrown]
        open_points = sum(k * ~self.closed[k - 1] for k in numbers)
        return decide(
            [
                ((), end(-open_points)),
                *(
                    (
                        some,
                        when(~self.closed.any(*(k - 1 for k in some)), go(0, self.closed.add(*(k - 1 for k in some)))),
                    )
                    for some in sets
                ),
            ]
        )
