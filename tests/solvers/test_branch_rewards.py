"""Discounted networks with rewards on the branches of chance nodes and on options: every solver is certified."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from mdpdice import Network, Status, load_solver, solve
from mdpdice.backend import available_solvers
from mdpdice.solving.problem import prepare


def random_choices(rng: np.random.Generator, *, reward_per: str, states: int) -> Network:
    """A few states with up to three choices of up to three branches each."""
    choice_ptr = np.concatenate(([0], np.cumsum(rng.integers(1, 4, states))))
    branch_ptr = np.concatenate(([0], np.cumsum(rng.integers(1, 4, choice_ptr[-1]))))
    parts = rng.integers(1, 5, branch_ptr[-1])
    total = np.repeat(np.add.reduceat(parts, branch_ptr[:-1]), np.diff(branch_ptr))
    return Network.from_choices(
        choice_ptr,
        branch_ptr,
        rng.integers(0, states, branch_ptr[-1]),
        [Fraction(int(part), int(whole)) for part, whole in zip(parts, total, strict=True)],
        rng.integers(-5, 6, branch_ptr[-1] if reward_per == "branch" else choice_ptr[-1]),
        discount="9/10",
        reward_per=reward_per,
    )


@pytest.mark.parametrize("reward_per", ["branch", "choice"])
def test_every_backend_is_certified(reward_per: str) -> None:
    rng = np.random.default_rng(6)
    names = [
        name
        for name in available_solvers()
        if prepare(random_choices(rng, reward_per=reward_per, states=2)).needs() <= load_solver(name).features
    ]
    assert {"exact", "linear-programming", "policy-iteration", "value-iteration"} <= set(names)
    for states in (1, 2, 2, 3, 3, 4, 5, 6):
        network = random_choices(rng, reward_per=reward_per, states=states)
        exact = solve(network, solver="exact")
        assert exact.status is Status.EXACT
        for name in names:
            found = solve(network, solver=name)
            assert found.proved, f"{name}: {found.reason}"
            for value, low, high in zip(exact.nodes.exact[0], found.nodes.lowers, found.nodes.uppers, strict=True):
                assert Fraction(float(low)) <= value <= Fraction(float(high)), name


@pytest.mark.parametrize("reward_per", ["branch", "choice"])
def test_equal_moves_of_all_states_reach_the_chance_nodes_too(reward_per: str) -> None:
    """Both states are worth 2 and all that follows after one move, so the first backup settles the values."""
    network = Network.from_choices(
        [0, 2, 3], [0, 2, 3, 4], [0, 1, 0, 0], ["1/2", "1/2", 1, 1],
        [4, 0, 0, 2] if reward_per == "branch" else [2, 0, 2], discount="9/10", reward_per=reward_per,
    )  # fmt: skip
    solution = solve(network, solver="value-iteration")
    # The chance node leads to the states, after a step, and its branches pay 2 in the mean or nothing.
    chance = 20.0 if reward_per == "branch" else 18.0
    assert solution.nodes.values == pytest.approx([20.0, 20.0, chance])
    assert solution.proved


def test_a_chance_node_that_no_option_leads_to_has_its_value() -> None:
    network = Network(
        kind=[3, 1, 1], indptr=[0, 2, 3, 4], dst=[1, 2, 2, 1], weight=[0.5, 0.5, 1, 1], reward=[3.0, 5.0, 1.0, 2.0],
        sign=[1] * 4, step=[True] * 4, payoff=[0.0] * 3, start=0, discount="1/2",
    )  # fmt: skip
    solution = solve(network, solver="value-iteration")
    # V(1) = 1 + V(2) / 2, V(2) = 2 + V(1) / 2
    assert solution.nodes.values == pytest.approx([4 + (8 / 3 + 10 / 3) / 4, 8 / 3, 10 / 3])
    assert solution.proved
