"""Modified policy iteration with MacQueen's bounds: limits, cancelling, threads, and what is left to others."""

from __future__ import annotations

import threading
from fractions import Fraction

import numpy as np
import pytest

from mdpdice import Network, solve
from mdpdice.backend import Run
from mdpdice.errors import NotConvergedError, SolveInterrupted
from mdpdice.solvers.value_iteration import ValueIteration, modified_policy_iteration


def random_choices(states=30, *, discount="99/100", seed=0):
    """Three choices of three branches each, with rewards on the branches."""
    rng = np.random.default_rng(seed)
    parts = rng.integers(1, 9, (3 * states, 3))
    return Network.from_choices(
        np.arange(0, 3 * states + 1, 3),
        np.arange(0, 9 * states + 1, 3),
        rng.integers(0, states, 9 * states),
        [Fraction(int(part), int(sum(row))) for row in parts for part in row],
        rng.integers(-9, 10, 9 * states),
        discount=discount,
        reward_per="branch",
    )


NETWORK = random_choices()


@pytest.fixture(scope="module")
def truth():
    return np.array([float(value) for value in solve(NETWORK, solver="exact").nodes.exact[0]])


def contains(candidate, truth):
    return bool((candidate.details["lower"] <= truth).all() and (truth <= candidate.details["upper"]).all())


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_a_limit_of_sweeps_raises_or_gives_bounds_that_hold(limit, truth):
    with pytest.raises(NotConvergedError, match="raise max_sweeps") as caught:
        ValueIteration(max_sweeps=limit).solve(NETWORK, Run())
    partial = ValueIteration(max_sweeps=limit).solve(NETWORK, Run(on_limit="partial"))
    for candidate in (caught.value.partial, partial):
        assert candidate.iterations == limit
        assert contains(candidate, truth)
    width = partial.details["upper"] - partial.details["lower"]
    assert caught.value.width == width.max() > 1e-6
    full = ValueIteration().solve(NETWORK, Run())
    assert full.iterations > limit
    assert (full.details["upper"] - full.details["lower"]).max() < 1e-6


@pytest.mark.parametrize("sweeps", [1, 4])
def test_cancelling_leaves_bounds_that_hold(sweeps, truth):
    cancel = threading.Event()

    def tell(phase, numbers):
        if numbers["sweeps"] >= sweeps:
            cancel.set()

    run = Run(cancel=cancel, progress=tell)
    with pytest.raises(SolveInterrupted, match="cancelled") as caught:
        ValueIteration().solve(NETWORK, run)
    assert contains(caught.value.partial, truth)
    assert contains(run.offered(), truth)
    assert (caught.value.partial.policy[NETWORK.decides] >= 0).all()


def test_a_sweep_looks_at_the_clock_between_its_parts(monkeypatch):
    checks = []
    monkeypatch.setattr(Run, "check", lambda self, partial=None: checks.append(self))
    modified_policy_iteration.propose(NETWORK, Run(), 2)
    whole = len(checks)
    monkeypatch.setattr(modified_policy_iteration, "AT_ONCE", 10)
    checks.clear()
    modified_policy_iteration.propose(NETWORK, Run(), 2)
    assert len(checks) >= NETWORK.n_edges / 10 > 10 * whole


def test_threads_find_the_same_numbers(monkeypatch, truth):
    alone, _ = modified_policy_iteration.propose(NETWORK, Run(), 1000)
    monkeypatch.setattr(modified_policy_iteration, "TWO_THREADS_FROM_EDGES", 0)
    monkeypatch.setattr(modified_policy_iteration, "threads", lambda: 2)
    monkeypatch.setattr(modified_policy_iteration, "AT_ONCE", 40)
    together, done = modified_policy_iteration.propose(NETWORK, Run(), 1000)
    assert done
    assert together.value.tolist() == alone.value.tolist()
    assert together.policy.tolist() == alone.policy.tolist()
    assert contains(together, truth)
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(SolveInterrupted):
        modified_policy_iteration.propose(NETWORK, Run(cancel=cancel), 1000)


def uneven_choices(states=700, seed=1):
    """One to three choices of one to six branches each, most of them to states nearby."""
    rng = np.random.default_rng(seed)
    choice_ptr = np.concatenate(([0], np.cumsum(rng.integers(1, 4, states))))
    width = rng.integers(1, 7, choice_ptr[-1])
    rows = [row / row.sum() for row in (rng.exponential(size=k) for k in width)]
    owner = np.repeat(np.repeat(np.arange(states), np.diff(choice_ptr)), width)
    target = (owner + rng.integers(-9, 10, width.sum())) % states
    reward = rng.random(choice_ptr[-1])
    ptr = np.concatenate(([0], np.cumsum(width)))
    return Network.from_choices(choice_ptr, ptr, target, np.concatenate(rows), reward, discount="9/10")


@pytest.mark.parametrize("threads", [1, 2])
def test_reading_ahead_changes_no_bit(monkeypatch, threads):
    network = uneven_choices()
    plainly, done = modified_policy_iteration.propose(network, Run(), 1000)
    assert done
    monkeypatch.setattr(modified_policy_iteration, "READ_AHEAD_FROM_DECISIONS", 0)
    monkeypatch.setattr(modified_policy_iteration, "TWO_THREADS_FROM_EDGES", 0)
    monkeypatch.setattr(modified_policy_iteration, "threads", lambda: threads)
    ahead, _ = modified_policy_iteration.propose(network, Run(), 1000)
    assert ahead.iterations == plainly.iterations
    for one, other in ((ahead.value, plainly.value), (ahead.policy, plainly.policy)):
        assert one.tobytes() == other.tobytes()
    for side in ("lower", "upper"):
        assert ahead.details[side].tobytes() == plainly.details[side].tobytes()


def test_a_chain_that_goes_in_circles_is_left_to_others():
    """Moves of a circle never come closer together, whatever the policy."""
    n = 5
    net = Network.from_choices(
        np.arange(n + 1), np.arange(n + 1), (np.arange(n) + 1) % n, np.ones(n), [100, 0, 0, 0, 0], discount="99/100"
    )  # fmt: skip
    _, done = modified_policy_iteration.propose(net, Run(), 1000)
    assert not done
    solution = solve(net, solver="value-iteration")
    assert solution.proved
    assert solution.value() == pytest.approx(100 / (1 - 0.99**5), rel=1e-9)
    # What was done before counts.
    with pytest.raises(NotConvergedError) as caught:
        ValueIteration(max_sweeps=12).solve(net, Run())
    assert caught.value.iterations >= 12


CIRCLE = Network.from_choices(
    np.arange(6), np.arange(6), (np.arange(5) + 1) % 5, np.ones(5), [100, 0, 0, 0, 0], discount="99/100"
)


@pytest.mark.parametrize("net", [NETWORK, CIRCLE], ids=["quick", "given up"])
def test_a_solve_with_a_checkpoint_has_the_same_bits(net, tmp_path):
    folder = tmp_path / "c"
    # The last one goes on from what the one before has kept.
    plain, kept, again = (solve(net, solver="value-iteration", checkpoint=path) for path in (None, folder, folder))
    for other in (kept, again):
        assert plain.nodes.values.tobytes() == other.nodes.values.tobytes()
        assert (plain.lower(), plain.upper(), plain.iterations) == (other.lower(), other.upper(), other.iterations)
