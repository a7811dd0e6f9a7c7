"""A battle of Risk: up to three dice attack up to two, the highest meet, and ties go to the defender."""

import attrs

from mdpdice import Edge, Game, Node, d6, decide, end, go, product, roll, solve


def lost(faces: tuple[int, ...], attackers: int) -> int:
    """Armies that the attacker loses: pairs of the highest dice in which the defender's is as high or higher."""
    attack, defence = (sorted(side, reverse=True) for side in (faces[:attackers], faces[attackers:]))
    return sum(b >= a for a, b in zip(attack, defence, strict=False))


@attrs.frozen
class Armies:
    """Armies of both sides, and the dice that the attacker has chosen; 0 where that is still to come."""

    attack: int
    defence: int
    dice: int = 0


@attrs.frozen
class Risk(Game[Armies, int]):
    """A battle to the end; each side says how many dice to throw, and the value is the attacker's chance to win.

    One of the attacker's armies stays behind and does not count.
    """

    attack: int = 10
    defence: int = 10

    def start(self) -> Armies:
        return Armies(self.attack, self.defence)

    def node(self, state: Armies) -> Node[Armies, int]:
        a, b, m = state.attack, state.defence, state.dice
        if not (a and b):
            return end(int(a > 0))
        if not m:
            return decide((k, go(Armies(a, b, k))) for k in range(1, min(a, 3) + 1))

        def battle(n: int) -> Edge[Armies]:
            losses = product(*[d6] * (m + n)).map(lambda faces: lost(faces, m))
            return roll(losses, lambda k: go(Armies(a - k, b - min(m, n) + k)))

        return decide(((n, battle(n)) for n in range(1, min(b, 2) + 1)), player=1)


if __name__ == "__main__":
    solution = solve(Risk())
    print(f"Risk: 10 armies beat 10 with probability {solution.value():.10f}, and 5 beat 5", end=" ")
    print(f"with probability {solution.value(Armies(5, 5)):.10f}")
