"""One turn of Pig: declare it, solve it, ask for advice, and have three solvers agree.

Roll a die as often as you like and add up the points; a 1 loses them all and ends the turn.  To win
as many points as possible, hold at 20 or more: T. W. Neller and C. G. M. Presser, "Optimal play of
the dice game Pig", The UMAP Journal 25 (2004), 25-47.
"""

import attrs

from mdpdice import Game, Node, cross_check, d6, decide, end, go, roll, solve


@attrs.frozen
class PigTurn(Game[int, str]):
    """One turn of Pig: the state is the points at risk."""

    cap: int = 100

    def start(self) -> int:
        return 0

    def node(self, points: int) -> Node[int, str]:
        if points >= self.cap:
            return end(points)
        return decide({"hold": end(points), "roll": roll(d6, lambda k: end() if k == 1 else go(points + k))})


def main() -> None:
    game = PigTurn()
    solution = solve(game)
    print(solution)
    print(f"a turn is worth {solution.value():.12f} points")
    hold_at = min(points for points in range(2, game.cap) if solution.action(points) == "hold")
    print(f"hold from {hold_at} points on")
    print()
    print("points   hold      roll")
    for points in (18, 19, 20, 21):
        values = solution.q(points)
        print(f"{points:>6}  {values['hold']:>5.2f}  {values['roll']:>8.4f}   {solution.action(points)}")
    print(f"at 20 both are as good: {solution.ties(20)}")
    print()
    print("at most n decisions:", end=" ")
    stages = solve(game, horizon=6)
    print(", ".join(f"{n}: {stages.value(steps_left=n):.4f}" for n in range(1, 7)))
    print()
    print(cross_check(game))


if __name__ == "__main__":
    main()
