"""Large networks are made and checked in compiled passes: the same networks, and the same refusals, as small ones."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from mdpdice import Kind, Network
from mdpdice.errors import MdpDiceError
from mdpdice.networks import arrays as network_arrays
from mdpdice.networks import choices
from mdpdice.networks import kernels as network_kernels


@pytest.fixture
def routes(monkeypatch):
    """Run something by whole arrays, and in compiled passes, also of two threads; what each gave or refused."""

    def both(work):
        found = []
        for least, shared in ((1 << 60, 1 << 60), (0, 1 << 60), (0, 0)):
            monkeypatch.setattr(network_arrays, "TWO_THREADS_FROM_EDGES", shared)
            monkeypatch.setattr(network_arrays, "COMPILE_FROM_EDGES", least)
            monkeypatch.setattr(network_arrays, "IMPORT_NUMBA_FROM_EDGES", least)
            try:
                found.append(fields(work()))
            except MdpDiceError as error:
                found.append([type(error), str(error), error.state, error.action, repr(error.value)])
        assert found[1] == found[2]
        return found[:2]

    return both


def fields(network):
    """Everything that a network holds, with the types of its arrays."""
    found = {field.name: getattr(network, field.name) for field in attrs.fields(Network)}
    return {
        name: (value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else value
        for name, value in found.items()
    }


def arrays(seed, *, per_branch=False, named=False, spread=5):
    """A model of some states, whose choices have one branch or several; some states end, with choices or without."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 12))
    choices = rng.integers(1, 4, n)
    choices[-1] = 0
    choice_ptr = np.concatenate(([0], np.cumsum(choices)))
    width = rng.integers(1, spread, choice_ptr[-1])
    branch_ptr = np.concatenate(([0], np.cumsum(width)))
    rows = [row / row.sum() for row in (rng.exponential(size=k) for k in width)]
    m, b = int(choice_ptr[-1]), int(branch_ptr[-1])
    return {
        "choice_ptr": choice_ptr,
        "branch_ptr": branch_ptr,
        "target": rng.integers(0, n, b),
        "probability": np.concatenate(rows),
        "reward": rng.choice([0.0, -0.0, 1.5, -2.0], b if per_branch else m),
        "reward_per": "branch" if per_branch else "choice",
        "terminal": {n - 1: 2.5, 0: 1} if seed % 3 == 0 else {n - 1: -1.0},
        "owner": rng.integers(0, 2, n) if seed % 2 else None,
        "discount": "9/10" if seed % 2 else 1,
        "actions": [f"{k}" for k in range(m)] if named else None,
    }


def made(given, **changes):
    return Network.from_choices(**{**given, **changes})


@pytest.mark.parametrize("per_branch", [False, True])
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("seed", range(8))
def test_both_ways_make_the_same_network(routes, seed, named, per_branch):
    by_arrays, compiled = routes(lambda: made(arrays(seed, named=named, per_branch=per_branch)))
    assert isinstance(compiled, dict)
    assert compiled == by_arrays


@pytest.mark.parametrize(
    "row",
    [
        [1 / 3, 1 / 3, 1 / 3],
        [0.1] * 10,
        [0.5, 0.5, 0.0],
        [0.0, 1.0],
        [1 - 1e-13, 1e-13],
        [1 - 2.0**-40, 2.0**-40 + 2.0**-93],
        [1.0, 3e-30],
        [1 + 2.0**-52],
        [0.5, 0.5 + 1e-11],
        [0.5, 0.5 + 1e-8],
        [0.5, float("nan")],
        [0.5, float("inf")],
        [-0.5, 1.5],
        [1 + 1e-9, 0.0],
    ],
)
def test_rows_are_judged_alike(routes, row):
    def work():
        given = arrays(1)
        width = len(row) - given["branch_ptr"][1]
        pointer = np.concatenate(([0], given["branch_ptr"][1:] + width))
        target = np.concatenate((np.arange(len(row)) % 3, given["target"][given["branch_ptr"][1] :]))
        weight = np.concatenate((row, given["probability"][given["branch_ptr"][1] :]))
        return made(given, branch_ptr=pointer, target=target, probability=weight)

    by_arrays, compiled = routes(work)
    assert compiled == by_arrays


@pytest.mark.parametrize("kept", [0, 1, 100])
@pytest.mark.parametrize("seed", range(4))
def test_the_row_that_is_off_most_is_named_alike(routes, monkeypatch, seed, kept):
    monkeypatch.setattr(choices, "RECHECK_UP_TO_ROWS", kept)
    rng = np.random.default_rng(seed)
    # Halves, whose smallest parts are below what whole multiples of 2^-94 can tell.
    small = rng.choice([0.25, 2.0**-60, 2.0**-95, 2.0**-97, 3 * 2.0**-96], size=(40, 1))
    probability = np.hstack((np.full((40, 1), 0.5), 0.5 - small, small))
    given = {
        "choice_ptr": np.arange(41),
        "branch_ptr": np.arange(0, 121, 3),
        "target": np.arange(120) % 40,
        "probability": probability.ravel(),
        "reward": np.zeros(40),
    }
    by_arrays, compiled = routes(lambda: made(given))
    assert "rows of probabilities do not sum to 1" in compiled["warnings"][0]
    assert compiled == by_arrays


@pytest.mark.parametrize(
    ("name", "at", "number"),
    [
        ("target", 3, -1),
        ("target", 2, 99),
        ("probability", 1, 0.9),
        ("probability", 0, -1e-12),
        ("probability", 0, np.nan),
        ("reward", 1, np.inf),
        ("reward", 0, np.nan),
        ("branch_ptr", 1, 0),
        ("branch_ptr", 1, 50),
        ("choice_ptr", 1, 0),
        ("choice_ptr", 0, 1),
    ],
)
def test_choices_that_are_refused_are_refused_alike(routes, name, at, number):
    given = arrays(1)
    given[name] = given[name].copy()
    given[name][at] = number
    by_arrays, compiled = routes(lambda: made(given))
    assert isinstance(compiled, list)
    assert compiled == by_arrays


@pytest.mark.parametrize("shape", [(-1, 1), (1, -1), ()])
@pytest.mark.parametrize("name", ["probability", "reward", "dst", "kind"])
def test_numbers_that_are_no_flat_list_are_refused(routes, name, shape):
    given = arrays(1)
    of_choices = name in given
    if not of_choices:
        network = made(given)
        given = {field.name: getattr(network, field.name) for field in attrs.fields(Network)}
    given[name] = given[name].reshape(shape) if shape else np.array(given[name][0])
    found = routes(lambda: made(given) if of_choices else Network(**given))
    assert all(isinstance(refusal, list) for refusal in found)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("name", "at", "number"),
    [
        ("kind", 0, 7),
        ("kind", 0, Kind.END),
        ("kind", 1, Kind.CHANCE),
        ("indptr", 0, 1),
        ("indptr", 1, 5),
        ("indptr", 2, 1000),
        ("indptr", 3, -1),
        ("dst", 0, -1),
        ("dst", -1, 1000),
        ("weight", 0, 0.5),
        ("weight", -1, 2.0),
        ("weight", -1, np.nan),
        ("weight", -1, -0.25),
        ("reward", 2, np.inf),
        ("payoff", 0, np.nan),
        ("sign", 1, 0),
        ("sign", 1, -128),
        ("state_node", 0, -1),
        ("state_node", 1, 1000),
        ("node_state", 0, -2),
        ("node_state", 0, 1000),
        ("actions", slice(0, 1), []),
        ("step", slice(None), False),
    ],
)
@pytest.mark.parametrize("seed", [2, 5])
def test_networks_that_are_refused_are_refused_alike(routes, seed, name, at, number):
    network = made(arrays(seed))
    damaged = getattr(network, name).copy()
    damaged[at] = number
    by_arrays, compiled = routes(lambda: attrs.evolve(network, **{name: damaged}))
    assert isinstance(compiled, list) or name == "step"
    assert compiled == by_arrays


def test_waiting_twice_in_a_row_is_noticed():
    pointer, target = np.array([0, 2, 3, 3]), np.array([1, 2, 2])
    for steps, twice in ([0, 0, 1], False), ([0, 1, 0], True), ([1, 1, 0], False), ([1, 0, 0], False):
        assert network_kernels.waits_twice(pointer, target, np.array(steps, dtype=bool)) is twice
