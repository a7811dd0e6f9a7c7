"""Components that plays come back to through one node, by Newton's method."""

from __future__ import annotations

import threading
from fractions import Fraction

import attrs
import numpy as np
import pytest

from mdpdice import Kind, Network, solve
from mdpdice.backend import Run
from mdpdice.errors import NotConvergedError, SolveInterrupted
from mdpdice.solvers.value_iteration import ValueIteration, newton


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Small networks are solved in this way too."""
    monkeypatch.setattr(newton, "FAST_PATH_FROM_EDGES", 0)


def race(seed, *, players=1, components=6, size=7, back=1):
    """Components one after the other: a play comes to the first node of each, and may come back to the first `back`.

    Decisions lead to later nodes of their component, or to the next component; chance also leads back.
    """
    rng = np.random.default_rng(seed)
    kind, rows = [], []
    for c in range(components):
        begin, after = c * size, (c + 1) * size
        for at in range(begin, after):
            later = [*range(at + 1, after), after]
            chance = rng.random() < 0.5
            ahead = rng.choice(later, int(rng.integers(1, 4))).tolist()
            if chance:
                ahead += rng.choice(range(begin, begin + back), int(rng.integers(0, 2 + back))).tolist()
            kind.append(Kind.CHANCE if chance else rng.choice([Kind.MAX, Kind.MIN][:players]))
            rows.append(ahead)
    kind.append(Kind.END)
    rows.append([])
    width = [len(row) for row in rows]
    m = sum(width)
    chance = np.repeat(np.array(kind) == Kind.CHANCE, width)
    parts = [row / row.sum() for row in (rng.exponential(size=k) + 0.1 for k in width) if len(row)]
    return Network(
        kind=kind,
        indptr=np.concatenate(([0], np.cumsum(width))),
        dst=np.concatenate([np.array(row, dtype=np.int64) for row in rows]),
        weight=np.where(chance, np.concatenate(parts), 1.0),
        reward=np.round(rng.normal(size=m), 2),
        sign=rng.choice([-1, 1], m) if players == 2 else np.ones(m),
        step=np.ones(m),
        payoff=np.where(np.array(kind) == Kind.END, 1.5, 0.0),
        start=0,
    )


def by_sweeps(network, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(newton, "FAST_PATH_FROM_EDGES", 1 << 60)
        return ValueIteration().solve(network, Run(tolerance=1e-12))


@pytest.mark.parametrize("players", [1, 2])
@pytest.mark.parametrize("seed", range(12))
def test_the_answer_is_that_of_sweeps(monkeypatch, seed, players):
    network = race(seed, players=players)
    found = newton.propose(network, Run())
    assert found is not None
    candidate, width = found
    lower, upper = candidate.details["lower"], candidate.details["upper"]
    sweeps = by_sweeps(network, monkeypatch)
    assert 0 < width < 1e-9
    assert (lower <= candidate.value).all()
    assert (candidate.value <= upper).all()
    assert (lower <= sweeps.details["upper"]).all()
    assert (upper >= sweeps.details["lower"]).all()
    assert np.abs(candidate.value - sweeps.value).max() < 1e-10
    # It is certified as it stands, and by another route for the policy.
    assert solve(network, solver="value-iteration").proved
    ahead = network.reward + network.sign * candidate.value[network.dst]
    decides = network.decides
    taken = ahead[candidate.policy[decides]]
    assert np.abs(taken - candidate.value[decides]).max() < 1e-12
    assert (candidate.policy[~decides] == -1).all()


def test_lengths_are_those_of_the_longest_play():
    # A round of two nodes that is left with probability 1/4: 4 rounds.
    network = Network(
        kind=[Kind.MAX, Kind.CHANCE, Kind.END], indptr=[0, 1, 3, 3], dst=[1, 0, 2], weight=[1, 0.75, 0.25],
        reward=[1, 0, 0], sign=[1] * 3, step=[1] * 3, payoff=[0, 0, 0], start=0,
    )  # fmt: skip
    candidate, _ = newton.propose(network, Run())
    assert candidate.value.tolist() == pytest.approx([4, 3, 0], abs=1e-12)
    assert candidate.details["lengths"].tolist() == pytest.approx([8, 7, 0], abs=1e-6)
    assert candidate.iterations == 2


def test_a_tie_goes_to_the_first_option():
    network = Network(
        kind=[Kind.MAX, Kind.CHANCE, Kind.END], indptr=[0, 3, 5, 5], dst=[2, 1, 1, 0, 2], weight=[1, 1, 1, 0.5, 0.5],
        reward=[0, 0.5, 0.5, 0, 0], sign=[1] * 5, step=[1] * 5, payoff=[0, 0, 0], start=0,
    )  # fmt: skip
    candidate, _ = newton.propose(network, Run())
    assert candidate.policy.tolist() == [1, -1, -1]


def test_payoffs_that_are_rounded_widen_the_bounds():
    network = attrs.evolve(race(1), exact_payoffs={42: Fraction(3, 2) + Fraction(1, 10**20)})
    plain, _ = newton.propose(race(1), Run())
    rounded, _ = newton.propose(network, Run())
    wider = [c.details["upper"] - c.details["lower"] for c in (plain, rounded)]
    assert (wider[1] >= wider[0]).all()
    assert wider[0][42] == 0 < wider[1][42]


def test_other_networks_are_left_to_sweeps(monkeypatch):
    many = [race(seed, back=4) for seed in range(12)]
    found = [newton.propose(network, Run()) for network in many]
    assert sum(each is None for each in found) > 6
    network = many[[each is None for each in found].index(True)]
    assert solve(network, solver="value-iteration").proved
    assert newton.propose(attrs.evolve(race(0), discount=Fraction(9, 10)), Run()) is None
    assert newton.propose(attrs.evolve(race(0), horizon=3), Run()) is None
    monkeypatch.setattr(newton, "SEARCH_ORDER_UP_TO_NODES", 3)
    assert newton.propose(race(0), Run()) is None


def test_a_place_where_play_can_stay_is_left_to_sweeps():
    network = Network(
        kind=[Kind.MAX, Kind.END], indptr=[0, 2, 2], dst=[0, 1], weight=[1, 1], reward=[0, 0], sign=[1, 1],
        step=[1, 1], payoff=[0, 1], start=0,
    )  # fmt: skip
    assert newton.propose(network, Run()) is None


def test_it_can_be_stopped(monkeypatch):
    monkeypatch.setattr(newton, "BUDGET", 1)
    event, seen = threading.Event(), []

    def progress(phase, numbers):
        seen.append((phase, numbers))
        if len(seen) == 4:
            event.set()

    network = race(3)
    with pytest.raises(SolveInterrupted) as caught:
        newton.propose(network, Run(progress=progress, cancel=event))
    assert [numbers["components"] for _, numbers in seen] == [1, 2, 3, 4]
    assert caught.value.partial.value.shape == (network.n_nodes,)
    assert solve(network, solver="value-iteration").proved


def test_a_limit_of_sweeps_is_kept():
    assert ValueIteration(max_sweeps=100).solve(race(5), Run()).iterations > 1
    with pytest.raises(NotConvergedError):
        ValueIteration(max_sweeps=1).solve(race(5), Run())


def test_numbers_that_overflow_are_left_to_others():
    # A play of two nodes that pays 2e308, and one that pays that and loses it again.
    network = Network(
        kind=[Kind.MAX, Kind.MAX, Kind.MAX, Kind.END], indptr=[0, 1, 2, 3, 3], dst=[1, 2, 3], weight=[1] * 3,
        reward=[-1e308, 1e308, 1e308], sign=[1] * 3, step=[1] * 3, payoff=[0] * 4, start=0,
    )  # fmt: skip
    assert newton.propose(network, Run()) is None


@pytest.mark.parametrize("seed", range(3))
def test_a_solve_with_a_checkpoint_has_the_same_bits(seed, tmp_path):
    network = race(seed)
    plain, kept = (solve(network, solver="value-iteration", checkpoint=path) for path in (None, tmp_path / "c"))
    assert newton.propose(network, Run()) is not None
    assert plain.nodes.values.tobytes() == kept.nodes.values.tobytes()
    assert (plain.lower(), plain.upper(), plain.iterations) == (kept.lower(), kept.upper(), kept.iterations)
