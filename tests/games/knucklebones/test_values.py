"""Values of boards that can be solved: known fractions, all solvers, and looking ahead."""

from __future__ import annotations

import functools
import itertools
import random
from fractions import Fraction

import numpy as np
import pytest
from helpers.knucklebones_arrays import network

from mdpdice import Policy, Status, cross_check, evaluate, explore, solve
from mdpdice.games.knucklebones import Facing, Knucklebones, Rolled
from mdpdice.solvers.lookahead import Lookahead


@pytest.mark.parametrize(
    ("columns", "rows", "value"), [(1, 1, Fraction(1)), (1, 2, Fraction(15, 28)), (2, 1, Fraction(125, 252))]
)
def test_exact_values(columns, rows, value):
    game = Knucklebones(columns=columns, rows=rows)
    solution = solve(game, solver="exact")
    assert solution.status is Status.EXACT
    assert solution.exact() == value
    assert solve(network(game)).value() == pytest.approx(float(value), abs=1e-9)


@pytest.mark.parametrize(("columns", "rows"), [(1, 2), (2, 1)])
def test_all_back_ends_agree(columns, rows):
    report = cross_check(Knucklebones(columns=columns, rows=rows))
    assert report.ok, report
    assert report.independent >= 4


def iterated(rules, columns, rows, scoring="matching"):
    """Value of the start by plain iteration over grids, square by square; nothing of the library is used."""

    @functools.cache
    def follow(die, mine, theirs):
        found = []
        for _, new, left in rules.moves(die, mine, theirs):
            if rules.full(new):
                lead = rules.points(new, scoring) - rules.points(left, scoring)
                found.append(float((lead > 0) - (lead < 0)))
            else:
                found.append((tuple(map(tuple, left)), tuple(map(tuple, new))))
        return found

    empty = ((0,) * columns,) * rows
    seen, queue = {(empty, empty)}, [(empty, empty)]
    for mine, theirs in queue:
        for die in range(1, 7):
            for target in follow(die, mine, theirs):
                if isinstance(target, tuple) and target not in seen:
                    seen.add(target)
                    queue.append(target)
    value = dict.fromkeys(queue, 0.0)
    for _ in range(400):
        change = 0.0
        for position in reversed(queue):
            new = (
                sum(
                    max(-value[to] if isinstance(to, tuple) else to for to in follow(die, *position))
                    for die in range(1, 7)
                )
                / 6
            )
            change = max(change, abs(new - value[position]))
            value[position] = new
        if change < 1e-13:
            break
    return value


@pytest.mark.parametrize(
    ("columns", "rows", "scoring"),
    [(1, 2, "matching"), (2, 1, "matching"), (1, 2, "whole-column"), (2, 1, "plain"), (1, 3, "matching")],
)
def test_every_position_against_a_second_program(rules, columns, rows, scoring):
    expected = iterated(rules, columns, rows, scoring)
    game = Knucklebones(columns=columns, rows=rows, scoring=scoring)
    solution = solve(network(game), epsilon=1e-9)
    compared = set()
    for (mine, theirs), value in expected.items():
        state = game.canonical(Facing(rules.columns(mine), rules.columns(theirs)))
        assert solution.estimate(state) == pytest.approx(value, abs=1e-8)
        compared.add(state)
    assert len(compared) == sum(isinstance(state, Facing) for state in solution.network.states)


def test_two_by_two():
    solution = solve(network(Knucklebones(columns=2, rows=2)))
    assert solution.status is Status.CERTIFIED, solution.reason
    assert solution.network.n_states == 230_461
    assert solution.value() == pytest.approx(0.143495296, abs=1e-8)


@pytest.mark.slow
def test_two_by_two_explored_and_by_another_back_end():
    game = Knucklebones(columns=2, rows=2)
    one, two = solve(explore(game)), solve(network(game), solver="policy-iteration")
    assert one.proved
    assert two.proved
    assert one.value() == pytest.approx(two.value(), abs=1e-6)


@pytest.mark.slow
def test_two_by_three():
    flat = network(Knucklebones(columns=2, rows=3))
    assert (flat.n_states, flat.n_edges) == (14_149_233, 27_370_854)
    solution = solve(flat)
    assert solution.status is Status.CERTIFIED, solution.reason
    assert solution.value() == pytest.approx(0.05497153787, abs=1e-8)
    # The same by an iteration of one's own over the arrays: a mean over dice of the best placement.
    n = flat.n_states // 7
    value = np.zeros(flat.n_nodes)
    value[-3:] = flat.payoff[-3:]
    moves = slice(int(flat.indptr[n]), None)
    first = flat.indptr[n : 7 * n] - flat.indptr[n]
    sign = np.where(flat.sign[moves] < 0, -1.0, 1.0)
    for _ in range(400):
        best = np.maximum.reduceat(sign * value[flat.dst[moves]], first)
        new = best.reshape(-1, 6).mean(axis=1)
        change = np.abs(new - value[:n]).max()
        value[:n] = new
        if change < 1e-12:
            break
    assert solution.value() == pytest.approx(value[0], abs=1e-6)


@pytest.mark.parametrize(("columns", "rows"), [(1, 2), (2, 1)])
def test_full_depth_gives_the_exact_boards(columns, rows):
    game = Knucklebones(columns=columns, rows=rows)
    exact = solve(game, solver="exact")
    found = solve(game, solver=Lookahead(depth=150))
    assert found.upper() - found.lower() < 1e-6
    assert Fraction(found.lower()) <= exact.exact() <= Fraction(found.upper())
    decisions = [state for state in exact.network.states if isinstance(state, Rolled)]
    looked = Lookahead(depth=60).options(game, decisions)
    for state, options in zip(decisions, looked, strict=True):
        assert options == pytest.approx(exact.q(state), abs=1e-5)


def test_intervals_and_moves_on_a_larger_board():
    game = Knucklebones(columns=3, rows=1)
    exact = solve(network(game))
    decisions = [state for state in exact.network.states if isinstance(state, Rolled)]
    for state in random.Random(4).sample(decisions, 40):
        found = solve(game.at(state), solver=Lookahead(depth=3))
        assert found.lower() <= exact.value(state) + 1e-9
        assert exact.value(state) <= found.upper() + 1e-9
    right = {}
    some = random.Random(4).sample(decisions, 300)
    for depth in (1, 2, 4):
        looked = Lookahead(depth=depth).options(game, some)
        gaps = [
            max(exact.q(state).values()) - exact.q(state)[max(options, key=options.get)]
            for state, options in zip(some, looked, strict=True)
        ]
        right[depth] = sum(gap < 1e-9 for gap in gaps)
    assert right[1] <= right[2] <= right[4]
    assert right[4] >= 295


def test_the_best_play_wins_as_often_as_its_value_says():
    flat = explore(Knucklebones(columns=2, rows=1))
    solution = solve(flat)
    found = evaluate(flat, Policy.from_solution(solution))
    assert found.value() == pytest.approx(125 / 252, abs=1e-9)


@pytest.mark.parametrize("payoff", ["win", "points"])
@pytest.mark.parametrize("scoring", ["matching", "whole-column", "plain"])
@pytest.mark.parametrize("heuristic", ["moves-left", "public-solver"])
def test_estimates_lie_in_the_range_and_are_fair(payoff, scoring, heuristic):
    rng = random.Random(f"{payoff} {scoring}")
    game = Knucklebones(payoff=payoff, scoring=scoring, heuristic=heuristic)
    low, high = game.payoff_range
    assert low == -high
    for _ in range(200):
        boards = [
            tuple(tuple(sorted(rng.randint(1, 6) for _ in range(rng.randint(0, 3 - (at == 0))))) for at in range(3))
            for _ in range(2)
        ]
        state = Facing(*boards)
        assert low <= game.estimate(state) <= high
        assert game.estimate(game.canonical(state)) == game.estimate(state)
        assert game.estimate(Rolled(3, *boards)) == game.estimate(state)
    full = ((6, 6, 6),) * 3
    worth = game.node(Rolled(6, (*full[:2], (6, 6)), ((),) * 3)).options[0].payoff
    assert worth == high


def test_more_points_are_better():
    game = Knucklebones()
    empty = ((),) * 3
    values = [game.estimate(Facing(((die,), (), ()), empty)) for die in range(1, 7)]
    assert all(one < two for one, two in itertools.pairwise(values))
    assert game.estimate(Facing(empty, ((6,), (), ()))) < 0
