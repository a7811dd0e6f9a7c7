"""Can't Stop, alone and with the columns 6, 7 and 8 only: how many turns does it take to fill them?

Throw four dice and make two pairs; each whose sum is a column moves up there.  Then throw again, or stop and keep what
was won.  A throw that moves nothing loses what the turn has won.
"""

from collections.abc import Iterable

import attrs

from mdpdice import Game, Node, d6, decide, end, go, product, roll, solve

Board = tuple[int, ...]
COLUMNS = (6, 7, 8)
PAIRINGS = product(d6, d6, d6, d6).map(
    lambda dice: frozenset(tuple(sorted((dice[0] + dice[k], sum(dice) - dice[0] - dice[k]))) for k in (1, 2, 3))
)


@attrs.frozen
class Turn:
    """What is kept, and where this turn stands; after a throw, the places that may be moved to."""

    kept: Board
    now: Board
    places: tuple[Board, ...] = ()


@attrs.frozen
class CantStop(Game[Turn, Board | str]):
    """Can't Stop with three columns; what counts is the number of turns."""

    sense = "min"
    lengths: Board = (3, 4, 3)

    def start(self) -> Turn:
        return Turn((0, 0, 0), (0, 0, 0))

    def places(self, now: Board, sums: Iterable[Board]) -> tuple[Board, ...]:
        """Where the pairs may move to."""
        columns = list(zip(now, COLUMNS, self.lengths, strict=True))
        return tuple(sorted({tuple(min(n + two.count(c), m) for n, c, m in columns) for two in sums} - {now}))

    def node(self, state: Turn) -> Node[Turn, Board | str]:
        kept, now = state.kept, state.now
        if state.places:
            return decide((place, go(Turn(kept, place))) for place in state.places)
        if now == self.lengths:
            return end(1)
        lost = go(Turn(kept, kept), reward=1)
        thrown = PAIRINGS.map(lambda sums: self.places(now, sums))
        again = roll(thrown, lambda places: go(Turn(kept, now, places)) if places else lost)
        return again if now == kept else decide([("throw", again), ("stop", go(Turn(now, now), reward=1))])


if __name__ == "__main__":
    solution = solve(CantStop())
    print(f"Can't Stop with three columns: {solution.value():.10f} turns on average")
