"""The pass line of craps: nobody decides, and a play can go on for long."""

import attrs

from mdpdice import Edge, Game, Node, d6, end, go, roll, solve


@attrs.frozen
class PassLine(Game[int, str]):
    """The pass line; a state is the point, 0 before the first throw, and the value is the chance to win."""

    def start(self) -> int:
        return 0

    def node(self, state: int) -> Node[int, str]:
        def first(total: int) -> Edge[int]:
            return end(1) if total in (7, 11) else end(0) if total in (2, 3, 12) else go(total)

        def later(total: int) -> Edge[int]:
            return end(1) if total == state else end(0) if total == 7 else go(state)

        return roll(d6 + d6, later if state else first)


if __name__ == "__main__":
    solution = solve(PassLine(), solver="exact")
    print(f"Craps: the pass line wins with probability {solution.exact()} = {solution.value():.12f}")
