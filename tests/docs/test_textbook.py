"""The textbook examples against routes that share nothing with the library: every state, not only what is printed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from helpers.examples import example

from mdpdice import Discounted, solve

Floats = npt.NDArray[np.float64]


def bold_play(money: int, heads: Fraction) -> Fraction:
    """Return the chance to come from `money` to 100 by bold play, which doubles the money or what is missing."""
    path: list[int] = []
    while money and money not in path:
        path.append(money)
        money = 2 * money % 100

    def back(states: list[int], ahead: Fraction) -> Fraction:
        for one in reversed(states):
            ahead = heads * ahead if one < 50 else heads + (1 - heads) * ahead
        return ahead

    if not money:
        return back(path, Fraction(0))
    cycle = path.index(money)
    # The value where the cycle begins is base + slope * itself.
    base = back(path[cycle:], Fraction(0))
    slope = back(path[cycle:], Fraction(1)) - base
    return back(path[:cycle], base / (1 - slope))


def test_gambler_has_the_value_of_bold_play_at_every_capital() -> None:
    """R. S. Sutton and A. G. Barto, example 4.3; bold play is optimal (Dubins and Savage 1965)."""
    solution = solve(example("gambler")["Gambler"](), solver="exact")
    for money in range(1, 100):
        assert solution.exact(money) == bold_play(money, Fraction(2, 5))
        # Staking all, or what is missing, is bold play, and always among the best.
        assert min(money, 100 - money) in solution.ties(money)


def slide(cell: int, move: int) -> int:
    row, column = divmod(cell, 4)
    match move:
        case 0:
            column = max(column - 1, 0)
        case 1:
            row = min(row + 1, 3)
        case 2:
            column = min(column + 1, 3)
        case _:
            row = max(row - 1, 0)
    return 4 * row + column


@pytest.mark.parametrize(("discount", "known"), [(1, 14 / 17), (0.99, 0.5420259320)])
def test_frozen_lake_agrees_with_plain_sweeps_over_numbered_cells(discount: float, known: float) -> None:
    holes, goal = {5, 7, 11, 12}, 15
    value = [0.0] * 16
    for _ in range(2000):
        for cell in range(16):
            if cell not in holes and cell != goal:
                value[cell] = max(
                    sum(
                        1.0 if (to := slide(cell, (move + slip) % 4)) == goal else discount * value[to]
                        for slip in (-1, 0, 1)
                    )
                    / 3
                    for move in range(4)
                )
    solution = solve(example("frozen_lake")["FrozenLake"](), Discounted(discount))
    assert value[0] == pytest.approx(known, abs=1e-10)
    for cell in range(16):
        if cell not in holes and cell != goal:
            assert solution.value(divmod(cell, 4)) == pytest.approx(value[cell], abs=1e-9)


def test_inventory_agrees_with_a_recursion_over_months() -> None:
    """M. L. Puterman, sections 3.2.2 and 4.6.1: values and orders of three months."""
    chances = {0: Fraction(1, 4), 1: Fraction(1, 2), 2: Fraction(1, 4)}
    value = [Fraction(0)] * 4
    inventory = example("inventory")["Inventory"]
    for months in range(1, 6):
        value = [
            max(
                sum(
                    chance * (8 * min(asked, stock + order) + value[max(stock + order - asked, 0)])
                    for asked, chance in chances.items()
                )
                - (4 + 2 * order if order else 0)
                - (stock + order)
                for order in range(4 - stock)
            )
            for stock in range(4)
        ]
        solved = [solve(inventory(months=months, stock=stock), solver="exact") for stock in range(4)]
        assert [solution.exact() for solution in solved] == value
        if months == 3:
            assert value == [Fraction(n, 16) for n in (67, 129, 194, 227)]
            assert [solution.action() for solution in solved] == [3, 0, 0, 0]


def test_machine_is_the_best_of_all_policies() -> None:
    """F. S. Hillier and G. J. Lieberman, chapter on Markov decision processes; the discount there is 0.9."""
    leave = {0: (0, 14, 1, 1), 1: (0, 6, 1, 1), 2: (0, 0, 1, 1)}
    options: dict[int, list[tuple[str, int, tuple[int, ...]]]] = {
        0: [("leave", 0, leave[0])],
        1: [("leave", 1000, leave[1]), ("replace", 6000, (1, 0, 0, 0))],
        2: [("leave", 3000, leave[2]), ("overhaul", 4000, (0, 1, 0, 0)), ("replace", 6000, (1, 0, 0, 0))],
        3: [("replace", 6000, (1, 0, 0, 0))],
    }
    found = []
    for policy in itertools.product(*options.values()):
        rows = np.array([np.array(weights) / sum(weights) for _, _, weights in policy])
        costs = np.array([cost for _, cost, _ in policy])
        found.append((np.linalg.solve(np.eye(4) - 0.9 * rows, costs), [name for name, _, _ in policy]))
    best, names = min(found, key=lambda pair: float(pair[0].sum()))
    assert names == ["leave", "leave", "overhaul", "replace"]
    assert np.abs(best - (14949, 16262, 18636, 19454)).max() < 1  # as the book rounds them
    costs = Discounted(Fraction(9, 10), sense="min")
    solution = solve(example("machine_replacement")["Machine"](), costs, solver="exact")
    for condition in range(4):
        assert solution.value(condition) == pytest.approx(best[condition], rel=1e-12)
        assert solution.action(condition) == names[condition]


def lot(requests: float, returns: float) -> tuple[Floats, Floats]:
    """Return the matrix from morning to evening of one lot, and its mean earnings, outcome by outcome."""
    moves, earned = np.zeros((21, 21)), np.zeros(21)
    chances = [[math.exp(-mean) * mean**k / math.factorial(k) for k in range(60)] for mean in (requests, returns)]
    for cars in range(21):
        for asked, back in itertools.product(range(60), repeat=2):
            chance = chances[0][asked] * chances[1][back]
            let = min(asked, cars)
            earned[cars] += chance * 10 * let
            moves[cars, min(cars - let + back, 20)] += chance
    return moves, earned


def test_car_rental_agrees_with_policy_iteration_on_dense_matrices() -> None:
    """R. S. Sutton and A. G. Barto, example 4.2, on the joint distribution of both lots."""
    (first, earned_first), (second, earned_second) = lot(3, 3), lot(4, 2)
    day = np.kron(first, second)  # state 21 * i + j
    earned = (earned_first[:, None] + earned_second[None, :]).ravel()
    moves = np.full((21, 21), 0)
    while True:
        morning = np.array([21 * (i - moves[i, j]) + j + moves[i, j] for i in range(21) for j in range(21)])
        reward = earned[morning] - 2.0 * np.abs(moves).ravel()
        value = np.linalg.solve(np.eye(441) - 0.9 * day[morning], reward)
        ahead = earned + 0.9 * day @ value
        better = moves.copy()
        for i, j in itertools.product(range(21), repeat=2):
            worth = {
                move: ahead[21 * (i - move) + j + move] - 2 * abs(move)
                for move in range(-5, 6)
                if 0 <= i - move <= 20 and 0 <= j + move <= 20
            }
            best = max(worth, key=worth.__getitem__)
            if worth[best] > worth[moves[i, j]] + 1e-9:
                better[i, j] = best
        if np.array_equal(better, moves):
            break
        moves = better
    assert moves.min() == -4  # as in figure 4.2 of the book
    assert moves.max() == 5
    solution = solve(example("car_rental")["CarRental"](), epsilon=1e-10)
    for i, j in itertools.product(range(21), repeat=2):
        state = ("evening", i, j)
        assert solution.value(state) == pytest.approx(value[21 * i + j], rel=1e-10)
        assert solution.ties(state) == [moves[i, j]]
