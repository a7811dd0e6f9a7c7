"""Small networks that a search for wrong answers found: each was answered wrongly, or not at all, once."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from helpers.policy_enumeration import CHANCE, END, MAX, MIN, network

from mdpdice import Game, PayoffAtLeast, Reach, Solution, Status, Total, UntilReward, decide, end, solve
from mdpdice.errors import NotConvergedError, UnsupportedError

SOLVERS = ["value-iteration", "policy-iteration", "linear-programming", "exact"]


def _holds(found, values) -> bool:
    """Whether proved intervals hold the exact values of one stage or of all."""
    return found.proved and all(
        Fraction(float(low)) <= value <= Fraction(float(high))
        for value, low, high in zip(values, found.nodes.lowers.ravel(), found.nodes.uppers.ravel(), strict=True)
    )


@pytest.mark.parametrize("solver", [*SOLVERS, "backward-induction"])
def test_a_share_of_the_total_that_no_float_equals(solver: str) -> None:
    """Values near 0 are differences of 1/6, and the next float there is nearer than 1/6 was rounded."""
    net = network(
        [
            (MAX, [(2,), (1,)]),
            (CHANCE, [(4, 0, 0.6), (3, 0, 0.4)]),
            (CHANCE, [(4, -1, 0.2), (3, 0, 0.8)]),
            (CHANCE, [(5, 0, 2 / 3, -1), (5, 0, 1 / 3)]),
            (END, 0),
            (END, 1),
        ],
        total=Fraction(1, 3),
        numerator=[1, 1, 3, 2, 1, 4, 2, 1],
    )
    third = Fraction(2, 3) * (Fraction(1, 3) - 1) + Fraction(1, 3)
    second, first = Fraction(4, 5) * third - Fraction(1, 5), Fraction(2, 5) * third
    values = [max(first, second), first, second, third, Fraction(0), Fraction(1)]
    found = solve(net, solver=solver)
    assert _holds(found, values)
    assert found.nodes.values.tolist() == pytest.approx([float(value) for value in values])
    if solver == "exact":
        assert found.nodes.exact == [values]
        assert found.nodes.values.tolist() == [float(value) for value in values]


@pytest.mark.parametrize("solver", [*SOLVERS, "backward-induction"])
def test_with_a_horizon_chance_may_idle_for_ever(solver: str) -> None:
    net = network(
        [(MAX, [(1, 1), (3, 2)]), (CHANCE, [(2, 0, 0.5), (0, 0, 0.5)]), (CHANCE, [(2, 0, 1.0)]), (END, -2)], horizon=3
    )
    # One more decision is worth 1, and half of what one decision less is worth.
    values = [0, 0, 0, -2, 1, Fraction(1, 2), 0, -2, Fraction(3, 2), Fraction(3, 4), 0, -2]
    values += [Fraction(7, 4), Fraction(7, 8), 0, -2]
    found = solve(net, solver=solver)
    assert found.nodes.values.ravel().tolist() == pytest.approx([float(value) for value in values])
    assert _holds(found, values)


def test_minimised_values_of_zero_have_no_sign() -> None:
    net = network([(MAX, [(1,), (2,)]), (END, 1), (END, 0)])
    found = solve(net, Reach([1], sense="min"))
    assert [str(value) for value in found.nodes.values.tolist()] == ["0.0", "1.0", "0.0"]


def test_the_total_plays_no_part_in_a_payoff() -> None:
    """An endless play has payoff 0, whatever the two sides of a game share."""
    net = network([(MAX, [(0,), (1,)]), (END, 1)], total=1)
    found = solve(net, PayoffAtLeast(1, sense="min"))
    assert found.status is Status.CERTIFIED
    assert found.nodes.values.tolist() == [0, 1]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("net", "values"),
    [
        # A loop that pays, and a way round that gains until chance ends it.
        (
            network([(MAX, [(1,), (0, -1)]), (CHANCE, [(2, 0, 0.5), (3, 0, 0.5)]), (MAX, [(0, 1)]), (END, 0)]),
            [1, 1, 2, 0],
        ),
        # The same with a place to idle, where chance may send him back.
        (
            network(
                [
                    (MAX, [(1,), (0, 0), (0, -1)]),
                    (CHANCE, [(2, 0, 0.25), (0, 0, 0.25), (3, 0, 0.25), (2, 0, 0.25)]),
                    (MAX, [(0, 1)]),
                    (END, 0),
                ]
            ),
            [2, 2, 3, 0],
        ),
        # Loops that pay within loops that chance leaves.
        (
            network(
                [
                    (MAX, [(1, -1), (3, 0), (3, -2)]),
                    (CHANCE, [(3, 1, 0.25), (2, 0, 0.25), (0, 0, 0.25), (4, -1, 0.25)]),
                    (CHANCE, [(3, 1, 1.0)]),
                    (MAX, [(1, 0), (0, 0)]),
                    (END, 0),
                ]
            ),
            [1, 1, 2, 1, 0],
        ),
    ],
)
def test_gains_in_loops_that_may_also_pay(solver: str, net, values: list[int]) -> None:
    found = solve(net, solver=solver)
    assert _holds(found, values), found.reason


@pytest.mark.parametrize("solver", SOLVERS)
def test_rounds_before_the_target(solver: str) -> None:
    """Each round takes 1 off what is paid until the target; to go round for ever would be worth +inf."""
    net = network([(MAX, [(0, -1), (1, 3)]), (END, 0), (MAX, [(0, 2), (1, 2)])])
    found = solve(net, UntilReward([1], sense="min"), solver=solver)
    assert found.proved
    assert found.nodes.values.tolist() == [-math.inf, 0, -math.inf]
    assert found.reason.endswith("no single policy attains it")
    most = solve(net, UntilReward([1]), solver=solver)
    assert most.proved
    assert most.nodes.values.tolist() == [math.inf, 0, math.inf]


@pytest.mark.parametrize("threshold", [Fraction(1, 3), 1 / 3])
def test_a_payoff_that_no_float_equals_is_at_least_itself(threshold) -> None:
    """The nearest float of 1/3 is less than that."""
    net = network([(MAX, [(1,), (2,)]), (END, 1 / 3), (END, 0)], exact_payoffs={1: Fraction(1, 3)})
    assert solve(net, PayoffAtLeast(threshold)).nodes.values.tolist() == [1, 1, 0]
    assert solve(net, PayoffAtLeast(Fraction(1, 3) + Fraction(1, 10**20))).nodes.values.tolist() == [0, 0, 0]


@pytest.mark.parametrize("sense", ["max", "min"])
def test_a_solution_with_a_horizon_is_read_again(sense, tmp_path) -> None:
    """Reductions may leave its stages in columns."""
    net = network([(MAX, [(1, 1), (3, 2)]), (CHANCE, [(2, 0, 0.5), (0, 0, 0.5)]), (CHANCE, [(2, 0, 1.0)]), (END, -2)])
    found = solve(net, Total(sense), horizon=3)
    found.save(tmp_path / "a")
    read = Solution.load(tmp_path / "a", net, Total(sense), horizon=3)
    assert read.status is Status.CERTIFIED
    assert read.nodes.values.tolist() == found.nodes.values.tolist()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("net", "values"),
    [
        (network([(MAX, [(0, -1), (0, 0, 1.0, -1)]), (END, 0)]), [0, 0]),
        (network([(MAX, [(1, 0), (1, -2)]), (MIN, [(0, 0), (0, 3), (2, 5)]), (END, 1)]), [0, 0, 1]),
    ],
)
def test_where_two_players_idle_they_may_also_pay(solver: str, net, values: list[int]) -> None:
    if solver == "linear-programming" and len(values) == 2:
        with pytest.raises(UnsupportedError, match="whose plays stop"):
            solve(net, solver=solver)
        return
    found = solve(net, solver=solver)
    assert _holds(found, values), found.reason


def test_a_probability_next_to_one_is_not_called_endless() -> None:
    """The float of 1 - 1e-17 is 1; the value is 1 all the same."""
    net = network([(CHANCE, [(0, 0, 1.0), (1, 1, 1e-17)]), (END, 0)], numerator=[10**17 - 1, 1])
    with pytest.raises(NotConvergedError, match="so near 1"):
        solve(net, solver="linear-programming")
    assert solve(net, solver="exact").nodes.exact == [[1, 0]]
    assert not solve(net, solver="policy-iteration").proved


def test_an_exact_solution_is_read_to_the_last_digit(tmp_path) -> None:
    net = network(
        [(MAX, [(1, 0, 1.0, -1), (2,)]), (CHANCE, [(2, 0, 0.4), (0, 0, 0.6)]), (END, 1 / 7)],
        total=Fraction(1, 3),
        exact_payoffs={2: Fraction(1, 7)},
        numerator=[1, 1, 2, 3],
    )
    found = solve(net, solver="exact")
    found.save(tmp_path / "a")
    assert Solution.load(tmp_path / "a", net).nodes.values.tolist() == found.nodes.values.tolist()


def test_a_value_near_the_largest_float_is_found_without_a_word_of_numpy():
    solution = solve(Game.of(start=0, node=lambda s: decide({"a": end(1e308)})))
    assert solution.status is Status.EXACT
    assert solution.value() == 1e308
