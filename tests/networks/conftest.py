"""What the tests of files share."""

from __future__ import annotations

import pytest
from helpers.mixed_game import Mixed

from mdpdice import explore


@pytest.fixture(scope="module")
def mixed():
    network = explore(Mixed())
    assert network.numerator.dtype == object
    assert network.exact_rewards
    assert network.exact_payoffs
    return network


@pytest.fixture
def path(tmp_path):
    return tmp_path / "network.npz"
