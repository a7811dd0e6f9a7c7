"""What the tests of formats share: solving both sides of a round trip."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from mdpdice import Network, solve

ROBOT = Path(__file__).parent.parent / "data" / "formats"


def exact_values(network: Network, objective=None) -> list:
    """Exact value of every node, with all decisions left."""
    solution = solve(network, objective, solver="exact")
    assert solution.nodes.exact is not None, solution.reason
    return list(solution.nodes.exact[-1])


def float_values(network: Network, **question) -> np.ndarray:
    """Value of every node as a float, certified at every state, and near enough to compare to nine decimals."""
    solution = solve(network, epsilon=1e-11, **question)
    assert solution.proved, solution.reason
    return solution.nodes.values if solution.nodes.values.ndim == 1 else solution.nodes.values[-1]


@pytest.fixture
def robot() -> Path:
    """Folder of model files: the robot, and what Storm wrote."""
    return ROBOT


@pytest.fixture(scope="session")
def tools():
    """The functions of this module, for test files, which cannot import it."""
    return sys.modules[__name__]


def same_at_every_node(network: Network, found, back: Network) -> None:
    """The exact value of every node is that of its state in what was read back."""
    mine, other = exact_values(network), exact_values(back)
    assert len(found.node) == network.n_nodes
    assert [Fraction(x) for x in mine] == [
        Fraction(other[back.node_of(state)]) + found.shift for state in found.node.tolist()
    ]
