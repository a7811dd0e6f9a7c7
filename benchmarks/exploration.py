"""How fast games are explored: edges per CPU second of both routes, and what plain Python costs beside it.

The plain route asks the game for every state.  Its model is the fair-dice turn of KCD
Farkle with the points inside its states; each run explores it afresh, and the median of the runs is
printed with the ratio of exploring to calling ``node`` alone for the same states,
which does not depend on the machine.

The textbook form is a `ClassicMDP`, asked choice by choice, in CPU microseconds each, and in batches: 400 states with
2,000 actions each.

The vectorised route compiles the core of a game with counters and replicates it over the
grid.  Its model is the turn with six different weighted dice, 12 million edges; printed
are the menus, the core, and edges per second of replicating it into a network, by CPU
time and by the clock: the arrays are written by two threads.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np

from mdpdice import ClassicMDP, Dist, Game, Network, Node, decide, end, explore, go, roll
from mdpdice.exploration.expansion import replicate
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.games.farkle import Bank, Choose, KcdFarkle, Keep, Ready
from mdpdice.games.farkle.menus import MenuBook

RUNS = 7
PLAIN_GOAL = 600_000
CHOICE_GOAL = 15
BATCH_GOAL = 5
VECTORISED_GOAL = 20_000_000
SIX = "Odd die,Heavenly Kingdom die,Lucky die,Strip die,Even die,Shrinking die"


@attrs.frozen
class PlainTurn(Game[tuple[Ready | Choose, int], Bank | Keep]):
    """The turn of `KcdFarkle`, with the points at risk inside its states."""

    book: MenuBook
    cap: int = 6000

    def start(self) -> tuple[Ready | Choose, int]:
        return Ready(6), 0

    def node(self, state: tuple[Ready | Choose, int]) -> Node[tuple[Ready | Choose, int], Bank | Keep]:
        core, points = state
        if isinstance(core, Ready):
            menus = self.book.rolls(core.dice).menus
            return roll(menus, lambda menu: go((Choose(menu), points)) if menu.best else end())
        menu = core.menu
        ways = [
            (keep, go((Ready(keep.dice), points + keep.points)))
            for keep in menu.keeps
            if points + keep.points < self.cap
        ]
        return decide([(Bank(menu.best), end(points + menu.best)), *ways])


def plain() -> bool:
    """Print the speed of the plain route; return whether the goal was met."""
    game = PlainTurn(KcdFarkle().book)
    network = explore(game)
    rates, ratios = [], []
    for _ in range(RUNS):
        started = time.process_time()
        explore(game)
        exploring = time.process_time() - started
        started = time.process_time()
        for state in network.states:
            game.node(state)
        declaring = time.process_time() - started
        rates.append(network.n_edges / exploring)
        ratios.append(exploring / declaring)
    rate, ratio = statistics.median(rates), statistics.median(ratios)
    print(f"plain: {network!r}")
    print(f"  {rate:,.0f} edges per CPU second (goal {PLAIN_GOAL:,}; from {min(rates):,.0f} to {max(rates):,.0f})")
    print(f"  exploring costs {ratio:.2f} times what the game's own node() costs")
    return rate >= PLAIN_GOAL


class Circle(ClassicMDP[int, int]):
    """Places on a circle; an action leads to one of three, with a reward that depends on where."""

    discount = 0.9

    def __init__(self, places: int, moves: int) -> None:
        self.places, self.moves = places, moves

    def initial(self) -> int:
        return 0

    def actions(self, place: int) -> range:
        return range(self.moves)

    def transition(self, place: int, move: int) -> Dist[int]:
        return Dist([((place + 7 * move + far * far + 1) % self.places, far + 1) for far in range(3)])

    def reward(self, place: int, move: int, to: int) -> float:
        return 0.5 * to - move


class BatchedCircle(Circle):
    """The same, all places at a time."""

    def transitions(self, states: Sequence[int], move: int) -> tuple[Any, Any, Any]:
        to = (np.array(states)[:, None] + 7 * move + np.arange(3) ** 2 + 1) % self.places
        return to, np.array([1, 2, 3]) / 6, 0.5 * to - move


def textbook() -> bool:
    """Print the speed of a `ClassicMDP`; return whether the goals were met."""
    game, taken = Circle(200, 50), []
    for _ in range(RUNS):
        started = time.process_time()
        explore(game)
        taken.append((time.process_time() - started) / (game.places * game.moves) * 1e6)
    choice = statistics.median(taken)
    print(f"textbook form: {choice:.1f} CPU microseconds a choice (goal {CHOICE_GOAL}; best run {min(taken):.1f})")
    started = time.process_time()
    network = explore(BatchedCircle(400, 2000))
    batches = time.process_time() - started
    print(f"in batches: {network!r} in {batches:.1f} CPU seconds (goal {BATCH_GOAL})")
    return choice <= CHOICE_GOAL and batches <= BATCH_GOAL


def vectorised() -> bool:
    """Print the speed of the vectorised route; return whether the goal was met."""
    explore(KcdFarkle(dice=1, cap=100))  # loads the kernels
    game = KcdFarkle(dice=SIX)
    started = time.process_time()
    menus = sum(len(game.book.rolls(dice).menus) for dice in game.book.subsets())
    print(f"menus: {menus:,} in {time.process_time() - started:.2f} CPU seconds")
    started = time.process_time()
    lattice = compile_lattice(game)
    print(f"core: {lattice!r} in {time.process_time() - started:.2f} CPU seconds")
    clocks, processors = [], []
    network: Network | None = None
    for _ in range(RUNS):
        network = None  # the memory of one is enough
        clock, processor = time.perf_counter(), time.process_time()
        network = replicate(lattice)
        clocks.append(time.perf_counter() - clock)
        processors.append(time.process_time() - processor)
    assert network is not None
    rate = network.n_edges / statistics.median(clocks)
    best = network.n_edges / min(clocks)
    print(f"vectorised: {network!r}")
    print(f"  {rate:,.0f} edges per second (goal {VECTORISED_GOAL:,}; best run {best:,.0f})")
    print(f"  {network.n_edges / statistics.median(processors):,.0f} edges per CPU second")
    return rate >= VECTORISED_GOAL


def main() -> int:
    """Print all; the exit status says whether the goals were met."""
    met = [plain(), textbook(), vectorised()]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
