"""The secretary: candidates come one by one in random order, and only the best of all is good enough."""

import attrs

from mdpdice import Dist, Game, Node, decide, end, go, roll, solve


@attrs.frozen
class Seen:
    """So many candidates have come, and the last of them is the best so far, or not."""

    count: int
    best: bool


@attrs.frozen
class Secretary(Game[Seen, str]):
    """The secretary problem; the value is the chance to take the best of all candidates."""

    candidates: int = 100

    def start(self) -> Seen:
        return Seen(1, best=True)

    def node(self, state: Seen) -> Node[Seen, str]:
        n = state.count
        if n == self.candidates:
            return end(int(state.best))
        # Candidate n + 1 is the best so far with probability 1 / (n + 1), whatever came before.
        wait = roll(Dist({True: 1, False: n}), lambda best: go(Seen(n + 1, best)))
        # The best of n candidates is the best of all with probability n / candidates.
        take = roll(Dist({1: n, 0: self.candidates - n}), end) if state.best else None
        return decide({"take": take, "wait": wait})


if __name__ == "__main__":
    solution = solve(Secretary(), solver="exact")
    first = next(n for n in range(1, 100) if solution.action(Seen(n, best=True)) == "take")
    print(f"The secretary: look at {first - 1} of 100 candidates, then take the next who is better than all before;")
    print(f"that is the best of all with probability {solution.value():.12f}")
