"""Other people's solvers answer for exported models; `make test-slow` runs this in an environment of its own.

The ordinary suite leaves this folder out: it is collected only where MDPDICE_PEERS is set.  Then a solver that
cannot be imported is an error and not a skip; the extra ``peers`` installs them all.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest

from mdpdice import Game, Network, d6, decide, end, explore, go, roll, solve
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.pig import PigTurn

if not os.environ.get("MDPDICE_PEERS"):
    collect_ignore_glob = ["test_*.py"]

# pytest's own setting gives this only at the root.
sys.path.insert(0, str(Path(__file__).parents[2]))

from helpers import reference_models


def _walk(s: int):
    return decide({"stop": end(s), "go": roll(d6, lambda k: end() if k == 1 else go(min(s + k, 12), reward=1))})


def undiscounted() -> dict[str, Network]:
    """Networks whose plays end, with ends that pay and rewards on the way."""
    names = ("gym_frozenlake4x4/2", "qvbs_ij.3/0", "qvbs_cdrive.2/0", "qvbs_blocksworld.5/0")
    found = {
        "pig": explore(PigTurn(cap=30)),
        "farkle": explore(KcdFarkle(cap=1500)),
        "walk": explore(Game.of(start=0, node=_walk)),
    }
    cases = {name: reference_models.load(name, exact=True) for name in names}
    return found | {
        name: case.objective.apply(case.network) for name, case in cases.items() if case.objective.sense == "max"
    }


def discounted() -> dict[str, Network]:
    """The same with a discount."""
    found = {
        name: reference_models.load(name).network
        for name in ("gym_frozenlake4x4/0", "gym_cliffwalking/0", "gym_taxi/0")
    }
    found |= {name: attrs.evolve(undiscounted()[name], discount="4/5") for name in ("pig", "walk")}
    return found


def values(network: Network) -> np.ndarray:
    """Certified values of all nodes."""
    solution = solve(network)
    assert solution.proved, solution.reason
    return solution.nodes.values if solution.nodes.values.ndim == 1 else solution.nodes.values[-1]


@pytest.fixture(scope="session")
def networks():
    return {"undiscounted": undiscounted(), "discounted": discounted(), "values": values}
