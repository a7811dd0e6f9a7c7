"""Policy iteration where decisions and chance take turns in one large component, without a discount."""

from __future__ import annotations

import threading
from fractions import Fraction

import attrs
import numpy as np
import pytest

from mdpdice import Network, solve
from mdpdice.backend import Run
from mdpdice.errors import NotConvergedError, SolveInterrupted
from mdpdice.networks.network import Kind
from mdpdice.numerics.operator import unsigned
from mdpdice.solvers.policy_iteration import krylov


@pytest.fixture(autouse=True)
def small_networks_too(monkeypatch):
    monkeypatch.setattr(krylov, "FAST_PATH_FROM_EDGES", 0)
    monkeypatch.setattr(krylov, "KRYLOV_FROM_SHARE", 0.0)


def random_choices(rng, states=8, *, leave=0.1, reward=True):
    """States with one to three choices, some with a single branch; the last two states are ends."""
    ends = [states, states + 1]
    width = rng.integers(1, 4, 3 * states)
    choices = rng.integers(1, 4, states)
    rows, chances = [], []
    for branches in width[: choices.sum()]:
        target = rng.integers(0, states, branches)
        parts = [Fraction(int(part)) for part in rng.integers(1, 9, branches)]
        inner = 1 - Fraction(leave)
        rows.append([*target, *ends])
        chances.append([part / sum(parts) * inner for part in parts] + [(1 - inner) / 4, 3 * (1 - inner) / 4])
        if rng.random() < 0.2:
            rows[-1], chances[-1] = [ends[0]], [Fraction(1)]
    return Network.from_choices(
        np.concatenate(([0], np.cumsum([*choices, 0, 0]))),
        np.concatenate(([0], np.cumsum([len(row) for row in rows]))),
        np.concatenate(rows).astype(np.int64),
        [chance for row in chances for chance in row],
        rng.integers(-3, 4, len(rows)) if reward else [0] * len(rows),
        terminal={ends[0]: 1, ends[1]: 0},
    )


@pytest.mark.parametrize("reward", [True, False])
@pytest.mark.parametrize("leave", [0.25, 2.0**-20])
def test_values_and_policies_are_optimal_and_certified(reward, leave):
    rng = np.random.default_rng(1)
    for states in (1, 2, 5, 8, 12):
        net = random_choices(rng, states, reward=reward, leave=leave)
        candidate = krylov.propose(net, Run(), 1000)
        assert candidate is not None
        exact = solve(net, solver="exact")
        truth = np.array([float(value) for value in exact.nodes.exact[0]])
        assert candidate.value == pytest.approx(truth, rel=1e-8, abs=1e-8 / leave)
        solution = solve(net, solver="policy-iteration", epsilon=1e-6)
        assert solution.proved, solution.reason
        for value, low, high in zip(exact.nodes.exact[0], solution.nodes.lowers, solution.nodes.uppers, strict=True):
            assert Fraction(float(low)) <= value <= Fraction(float(high))


def test_lengths_fall_along_the_policy():
    net = random_choices(np.random.default_rng(2), 20, leave=1e-3)
    candidate = krylov.propose(net, Run(), 1000)
    w = candidate.details["lengths"]
    taken = ~net.decides[net.source]
    taken[candidate.policy[net.decides]] = True
    ahead = np.bincount(net.source[taken], (net.weight * w[net.dst])[taken], minlength=net.n_nodes)
    moves = net.kind != Kind.END
    assert (w - ahead)[moves].min() >= 0.5
    assert (w[~moves] == 0).all()
    # A play takes about a thousand choices.
    assert 300 < w[0] < 5000


def test_what_is_not_of_this_kind_is_left_to_others():
    net = random_choices(np.random.default_rng(3))
    assert krylov.propose(net, Run(), 1000) is not None
    kind = net.kind.copy()
    kind[0] = Kind.MIN
    for other in (
        attrs.evolve(net, discount=Fraction(1, 2)),
        attrs.evolve(net, horizon=3),
        attrs.evolve(net, kind=kind),
        # Play may stay for ever.
        Network.from_choices([0, 2, 2], [0, 1, 2], [0, 1], [1, 1], [0, 0], terminal={1: 1}),
    ):
        assert krylov.propose(other, Run(), 1000) is None


def test_a_limit_leaves_what_there_is():
    net = random_choices(np.random.default_rng(4), 12)
    with pytest.raises(NotConvergedError, match="max_iterations=1;") as caught:
        krylov.propose(net, Run(), 1)
    assert caught.value.iterations == 2
    assert np.isfinite(caught.value.partial.value).all()


def test_cancelling_leaves_what_there_is():
    net = random_choices(np.random.default_rng(4), 12)
    cancel = threading.Event()
    run = Run(cancel=cancel, progress=lambda phase, numbers: cancel.set())
    with pytest.raises(SolveInterrupted, match="cancelled") as caught:
        krylov.propose(net, run, 1000)
    assert caught.value.partial.iterations >= 1
    assert (caught.value.partial.policy[net.decides] >= 0).all()


def test_a_row_that_stays_is_scaled():
    """The diagonal is taken out: a loop of a million moves is no longer than a single one."""
    from mdpdice.numerics.kernels import policy as policy_kernels

    net = Network.from_choices(
        [0, 1, 2, 2], [0, 2, 4], [0, 1, 1, 2], [1 - 2.0**-20, 2.0**-20, 0.5, 0.5], [1, 0], terminal={2: 0}
    )
    rows = net.kind, unsigned(net.indptr), unsigned(net.dst), net.weight, net.reward
    decisions = np.flatnonzero(net.decides)
    ptr, to, share = np.zeros(3, dtype=np.int64), np.zeros(4, dtype=np.uint32), np.zeros(4)
    gain, scale = np.zeros(2), np.zeros(2)
    policy_kernels.gather_rows(
        *rows, unsigned(decisions), net.indptr[:-1].copy(), np.arange(net.n_nodes, dtype=np.uint32),
        np.zeros(net.n_nodes), ptr, to, share, gain, scale,
    )  # fmt: skip
    assert ptr.tolist() == [0, 2, 3]
    assert to[:3].tolist() == [0, 1, 1]
    assert gain.tolist() == [1, 0]
    assert scale.tolist() == [2.0**20, 2.0]
    assert krylov.propose(net, Run(), 10).value[0] == pytest.approx(2.0**20, rel=1e-9)


def test_a_solve_with_a_checkpoint_has_the_same_bits(tmp_path):
    net = random_choices(np.random.default_rng(5))
    plain, kept = (solve(net, solver="policy-iteration", checkpoint=path) for path in (None, tmp_path / "c"))
    assert krylov.propose(net, Run(), 1000) is not None
    assert plain.nodes.values.tobytes() == kept.nodes.values.tobytes()
    assert (plain.lower(), plain.upper(), plain.iterations) == (kept.lower(), kept.upper(), kept.iterations)
