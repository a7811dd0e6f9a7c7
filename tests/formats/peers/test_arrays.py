"""QuantEcon, pymdptoolbox and mdpsolver answer for the arrays that they are given, at every state."""

from __future__ import annotations

import mdpsolver
import mdptoolbox.example
import mdptoolbox.mdp
import numpy as np
import pytest
from quantecon.markov import DiscreteDP

from mdpdice import explore, solve
from mdpdice.formats import from_pymdptoolbox, from_quantecon, to_mdpsolver, to_pymdptoolbox, to_quantecon
from mdpdice.games.pig import PigTurn

# What pymdptoolbox does with sparse matrices itself.
pytestmark = pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")

DISCOUNTED = ["gym_frozenlake4x4/0", "gym_cliffwalking/0", "gym_taxi/0", "pig", "walk"]


@pytest.mark.parametrize("layout", ["pairs", "product"])
@pytest.mark.parametrize("name", DISCOUNTED)
def test_quantecon_has_the_values(name: str, layout: str, networks) -> None:
    network = networks["discounted"][name]
    arrays = to_quantecon(network, layout=layout)
    answer = DiscreteDP(*arrays.arguments()).solve(method="policy_iteration")
    assert arrays.table.values(answer.v) == pytest.approx(networks["values"](network), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", DISCOUNTED)
def test_pymdptoolbox_has_the_values(name: str, networks) -> None:
    network = networks["discounted"][name]
    arrays = to_pymdptoolbox(network)
    solver = mdptoolbox.mdp.PolicyIteration(arrays.P, arrays.R, arrays.discount)
    solver.run()
    assert arrays.table.values(solver.V) == pytest.approx(networks["values"](network), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", DISCOUNTED)
def test_mdpsolver_has_the_values(name: str, networks) -> None:
    network = networks["discounted"][name]
    arrays = to_mdpsolver(network)
    model = mdpsolver.model()
    model.mdp(**arrays.arguments())
    model.solve(tolerance=1e-8)
    assert arrays.table.values(model.getValueVector()) == pytest.approx(networks["values"](network), rel=1e-6, abs=1e-6)


def test_stages_of_pymdptoolbox_are_the_horizon(networks) -> None:
    import attrs

    network = attrs.evolve(explore(PigTurn(cap=30)), horizon=4)
    arrays = to_pymdptoolbox(network)
    solver = mdptoolbox.mdp.FiniteHorizon(arrays.P, arrays.R, arrays.discount, 4)
    solver.run()
    assert arrays.table.values(solver.V[:, 0]) == pytest.approx(networks["values"](network), abs=1e-9)


def test_the_examples_of_pymdptoolbox_are_read() -> None:
    for P, R in (mdptoolbox.example.forest(S=7), mdptoolbox.example.forest(S=5, is_sparse=True)):
        solver = mdptoolbox.mdp.PolicyIteration(P, R, 0.9)
        solver.run()
        solution = solve(from_pymdptoolbox(P, R, 0.9))
        assert solution.nodes.values[: len(solver.V)] == pytest.approx(solver.V, abs=1e-9)


def test_the_example_of_quantecon_is_read() -> None:
    R, Q = [[5.0, 10.0], [-1.0, -np.inf]], [[(0.5, 0.5), (0, 1)], [(0, 1), (0.5, 0.5)]]
    answer = DiscreteDP(np.array(R), np.array(Q, dtype=float), 0.95).solve(method="policy_iteration")
    assert solve(from_quantecon(R, Q, 0.95)).nodes.values[:2] == pytest.approx(answer.v, abs=1e-9)
