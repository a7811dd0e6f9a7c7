"""A gridworld: the frozen lake of Gymnasium, 4 x 4, with and without a discount.

One walks from the corner S to the goal G and slips: each of the direction that was chosen and the two at right
angles to it comes with probability 1/3, and a wall keeps one where one is.  Holes H end the walk, G pays 1.

Without a discount the value is the chance to reach the goal, 14/17.  With a discount of 0.99 per move it is
0.5420259320, to which value iteration on the environment's own table `P` converges
(`gymnasium.make("FrozenLake-v1", map_name="4x4")`; the map and the rules are from there).
"""

import attrs

from mdpdice import Discounted, Edge, Game, Node, cross_check, decide, end, go, roll, solve, uniform

Cell = tuple[int, int]

MAP = ("SFFF", "FHFH", "FFFH", "HFFG")
DIRECTIONS = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}


@attrs.frozen
class FrozenLake(Game[Cell, str]):
    """A walk over slippery ice: the state is the cell, the action the direction."""

    rows: tuple[str, ...] = MAP
    slippery: bool = True

    def start(self) -> Cell:
        return (0, 0)

    def node(self, cell: Cell) -> Node[Cell, str]:
        row, column = cell
        match self.rows[row][column]:
            case "H":
                return end(0)
            case "G":
                return end(1)

        def step(towards: str) -> Edge[Cell]:
            down, right = DIRECTIONS[towards]
            last_row, last_column = len(self.rows) - 1, len(self.rows[0]) - 1
            return go((min(max(row + down, 0), last_row), min(max(column + right, 0), last_column)))

        def slips(towards: str) -> list[str]:
            order = list(DIRECTIONS)
            turn = order.index(towards)
            return [order[turn - 1], towards, order[(turn + 1) % 4]] if self.slippery else [towards]

        return decide((towards, roll(uniform(slips(towards)), step)) for towards in DIRECTIONS)


def main() -> None:
    lake = FrozenLake()
    sure = solve(lake, solver="exact")
    print(f"chance to reach the goal: {sure.exact()}")
    hurried = solve(lake, Discounted(0.99))
    print(f"with a discount of 0.99:  {hurried.value():.10f}")
    print("the best directions then:")
    for row, cells in enumerate(lake.rows):
        print(
            "  ".join(
                f"{kind:<5}" if kind in "HG" else f"{hurried.action((row, column)):<5}"
                for column, kind in enumerate(cells)
            )
        )
    print(f"on ice that is not slippery: {solve(FrozenLake(slippery=False)).value():g}")
    for objective in (None, Discounted(0.99)):
        print(cross_check(lake, objective))


if __name__ == "__main__":
    main()
