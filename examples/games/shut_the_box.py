"""Shut the Box: nine tiles, two dice, and one die if you like once 7, 8 and 9 are down; few points are good."""

from itertools import combinations

import attrs

from mdpdice import Game, Node, d6, decide, end, go, roll, solve

Tiles = tuple[int, ...]


@attrs.frozen
class Throw:
    """These tiles are up, and the dice are to be thrown."""

    tiles: Tiles


@attrs.frozen
class Down:
    """These tiles are up, and the dice show a total."""

    tiles: Tiles
    total: int


@attrs.frozen
class ShutTheBox(Game[Throw | Down, Tiles | str]):
    """Shut the Box; what counts is the sum of the tiles that stay up."""

    sense = "min"
    tiles: int = 9

    def start(self) -> Throw:
        return Throw(tuple(range(1, self.tiles + 1)))

    def node(self, state: Throw | Down) -> Node[Throw | Down, Tiles | str]:
        match state:
            case Throw(()):
                return end(0)
            case Throw(tiles):
                two = roll(d6 + d6, lambda total: go(Down(tiles, total)))
                if tiles[-1] >= 7:
                    return two
                return decide({"one die": roll(d6, lambda face: go(Down(tiles, face))), "two dice": two})
            case Down(tiles, total):
                sets = [some for n in range(1, len(tiles) + 1) for some in combinations(tiles, n) if sum(some) == total]
                if not sets:
                    return end(sum(tiles))
                return decide((some, go(Throw(tuple(t for t in tiles if t not in some)))) for some in sets)


if __name__ == "__main__":
    solution = solve(ShutTheBox(), solver="exact")
    print(f"Shut the Box: {solution.value():.13f} points stay up on average, exactly {solution.exact()}")
