"""The long-run average, against every policy followed in fractions."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from helpers.random_networks import solve_dense

from mdpdice import AverageReward, Network, Status, solve

SOLVERS = ("auto", "value-iteration", "policy-iteration", "linear-programming", "exact")


# --- every policy ---------------------------------------------------------------


def some_model(seed):
    """Some states with some choices; few moves lead to many states, so that there are several classes and periods."""
    rng = random.Random(seed)
    n = rng.randint(1, 5)
    choices = []
    for state in range(n):
        rows = []
        for _ in range(rng.randint(1, 3)):
            targets = rng.sample(range(n), min(n, rng.choice([1, 1, 1, 2, 3])))
            parts = [rng.randint(1, 4) for _ in targets]
            if rng.random() < 0.15:
                targets, parts = [state], [1]
            reward = Fraction(rng.randint(-6, 6), rng.choice([1, 1, 2, 3]))
            rows.append((reward, {t: Fraction(p, sum(parts)) for t, p in zip(targets, parts, strict=True)}))
        choices.append(rows)
    ends = [state for state in range(1, n) if rng.random() < 0.1]
    return choices, ends


def network_of(choices, ends, **more):
    flat = [row for rows in choices for row in rows]
    choice_ptr = [0, *itertools.accumulate(len(rows) for rows in choices)]
    branch_ptr = [0, *itertools.accumulate(len(move) for _, move in flat)]
    moves = [branch for _, move in flat for branch in move.items()]
    return Network.from_choices(
        choice_ptr,
        branch_ptr,
        [target for target, _ in moves],
        [chance for _, chance in moves],
        [reward for reward, _ in flat],
        terminal=dict.fromkeys(ends, 7),
        **more,
    )


def classes(rows):
    """Sets of states that a chain stays in."""
    n = len(rows)
    reach = [{i} for i in range(n)]
    for _ in range(n):
        reach = [set().union(*(reach[j] for j in rows[i][1]), reach[i]) for i in range(n)]
    return {frozenset(reach[i]) for i in range(n) if all(i in reach[j] for j in reach[i])}


def averages(rows, counted):
    """Average of a chain from every state, per visit of a counted one; None where none is visited for ever."""
    n = len(rows)
    gain = [None] * n
    for stay in classes(rows):
        inside = sorted(stay)
        # Flow out of each state is the flow into it; all of it is 1.
        matrix = [[Fraction(i == j) - rows[i][1].get(j, 0) for i in inside] for j in inside[1:]]
        share = solve_dense([*matrix, [1] * len(inside)], [0] * (len(inside) - 1) + [1])
        visits = sum(x for x, i in zip(share, inside, strict=True) if i in counted)
        if not visits:
            return None
        for i in inside:
            gain[i] = sum(x * rows[j][0] for x, j in zip(share, inside, strict=True)) / visits
    open_ = [i for i in range(n) if gain[i] is None]
    matrix = [[Fraction(i == j) - rows[i][1].get(j, 0) for j in open_] for i in open_]
    right = [sum(p * gain[j] for j, p in rows[i][1].items() if gain[j] is not None) for i in open_]
    for i, value in zip(open_, solve_dense(matrix, right) if open_ else [], strict=True):
        gain[i] = value
    return gain


def best_averages(choices, ends, counted, best=max):
    """The best of all policies, state by state; None if one of them comes to no counted state."""
    found = [None] * len(choices)
    stop = [[(Fraction(0), {i: Fraction(1)})] if i in ends else rows for i, rows in enumerate(choices)]
    for rows in itertools.product(*stop):
        gain = averages(rows, counted | set(ends))
        if gain is None:
            return None
        found = [x if y is None else best(x, y) for x, y in zip(gain, found, strict=True)]
    return found


def compare(seed, solver):
    """Compare all states of a random model; whether every policy is counted again and again."""
    choices, ends = some_model(seed)
    rng = random.Random(seed)
    n, sense = len(choices), rng.choice(["max", "min"])
    counted = set(range(n)) if rng.random() < 0.6 else {i for i in range(n) if rng.random() < 0.7}
    right = best_averages(choices, ends, counted, max if sense == "max" else min)
    if right is None:
        return False
    per = None if counted == set(range(n)) else sorted(counted)
    found = solve(network_of(choices, ends), AverageReward(sense, per), solver=solver)
    assert found.status is (Status.EXACT if solver == "exact" else Status.CERTIFIED), (seed, found.reason)
    for i in range(n):
        assert found.value(i) == pytest.approx(float(right[i]), abs=1e-8), seed
        assert found.lower(i) <= right[i] <= found.upper(i), seed
        if solver == "exact":
            assert found.exact(i) == right[i], seed
    # The policy itself has these averages.
    kept = [[rows[found.action(i)]] if i not in ends else rows for i, rows in enumerate(choices)]
    for i, own in enumerate(best_averages(kept, ends, counted)):
        assert own == pytest.approx(float(right[i]), abs=1e-8), seed
    return True


@pytest.mark.parametrize("solver", SOLVERS)
def test_small_models_against_all_policies(solver):
    assert sum(compare(seed, solver) for seed in range(100)) > 60


@pytest.mark.slow
def test_more_small_models_against_all_policies():
    assert sum(compare(seed, SOLVERS[seed % 5]) for seed in range(200, 3200)) > 2000
