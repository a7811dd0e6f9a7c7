"""Threes: five dice, of which at least one is kept after every throw; threes count 0, other faces their pips."""

from itertools import combinations

import attrs

from mdpdice import Game, Node, d6, decide, end, go, pool, roll, solve

Dice = tuple[int, ...]


def shown(counts: tuple[int, ...]) -> Dice:
    """The faces of some dice, sorted."""
    return tuple(face for face, n in enumerate(counts, start=1) for _ in range(n))


@attrs.frozen
class Threes(Game[int | Dice, Dice]):
    """Threes: a state is the number of dice to throw, or what they show; few points are good."""

    sense = "min"
    dice: int = 5

    def start(self) -> int:
        return self.dice

    def node(self, state: int | Dice) -> Node[int | Dice, Dice]:
        if state == 0:
            return end()
        if isinstance(state, int):
            return roll(pool([d6] * state, faces=range(1, 7)).map(shown), go)
        kept = sorted({some for n in range(1, len(state) + 1) for some in combinations(state, n)})
        points = {some: sum(face for face in some if face != 3) for some in kept}
        return decide((some, go(len(state) - len(some), reward=points[some])) for some in kept)


if __name__ == "__main__":
    solution = solve(Threes(), solver="exact")
    print(f"Threes: {solution.value():.14f} points on average, exactly {solution.exact()}")
