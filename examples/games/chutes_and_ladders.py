"""Chutes and Ladders: nobody decides anything, so all there is to ask is how long it takes."""

import attrs

from mdpdice import Edge, Game, Node, d6, end, go, roll, solve

LADDERS = {1: 38, 4: 14, 9: 31, 21: 42, 28: 84, 36: 44, 51: 67, 71: 91, 80: 100}
CHUTES = {16: 6, 47: 26, 49: 11, 56: 53, 62: 19, 64: 60, 87: 24, 93: 73, 95: 75, 98: 78}
JUMPS = LADDERS | CHUTES


@attrs.frozen
class ChutesAndLadders(Game[int, str]):
    """The board of 100 squares, begun beside it; what counts is the number of spins, and 100 must be hit exactly."""

    def start(self) -> int:
        return 0

    def node(self, state: int) -> Node[int, str]:
        def moved(face: int) -> Edge[int]:
            square = state + face
            return go(state) if square > 100 else go(JUMPS.get(square, square))

        return end() if state == 100 else roll(d6, moved, reward=1)


if __name__ == "__main__":
    spins = solve(ChutesAndLadders(), solver="exact")
    print(f"Chutes and Ladders: {spins.value():.12f} spins on average")
