"""Threes, from "Declare a game": two kinds of states, and a total that is to be small."""

from itertools import combinations

import attrs

from mdpdice import Game, Node, d6, decide, end, go, product, roll


@attrs.frozen
class Throw:
    """So many dice are to be thrown."""

    dice: int


@attrs.frozen
class Look:
    """They lie on the table, sorted, threes as 0."""

    faces: tuple[int, ...]


@attrs.frozen
class Threes(Game[Throw | Look, tuple[int, ...]]):
    """Keep at least one die of every throw; a three counts nothing, and the total should be small."""

    dice: int = 5

    def start(self) -> Throw:
        return Throw(self.dice)

    def node(self, state: Throw | Look) -> Node[Throw | Look, tuple[int, ...]]:
        match state:
            case Throw(0):
                return end()
            case Throw(dice):
                faces = product(*[d6] * dice).map(lambda each: tuple(sorted(0 if k == 3 else k for k in each)))
                return roll(faces, lambda faces: go(Look(faces)))
            case Look(faces):
                keeps = sorted({kept for n in range(1, len(faces) + 1) for kept in combinations(faces, n)})
                return decide((kept, go(Throw(len(faces) - len(kept)), reward=sum(kept))) for kept in keeps)
