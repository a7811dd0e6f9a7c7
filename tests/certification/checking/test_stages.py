"""Large problems with a horizon: the compiled checks and bounds, stage by stage, against
`mdpdice.certification.checking.inequalities`."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from mdpdice import Network, Total, solve
from mdpdice.certification import residual_bounds
from mdpdice.certification.checking import inequalities
from mdpdice.certification.checking.inequalities import Witness
from mdpdice.certification.checking.large import verify_large
from mdpdice.certification.verdict import certify
from mdpdice.networks.network import Kind
from mdpdice.solving.problem import prepare

MODELS = ["max", "min", "two players", "pass_to", "discounted", "two players, pass_to, discounted"]


def random_network(rng: np.random.Generator, model: str, horizon: int, n: int = 14) -> Network:
    """Decisions that lead anywhere, and chance nodes that lead to decisions, ends and later chance nodes."""
    players = [Kind.MAX, Kind.MIN] if "two players" in model else [Kind.MIN if model == "min" else Kind.MAX]
    kind = np.array([players[0], Kind.END, *rng.choice([Kind.END, *players, Kind.CHANCE, Kind.CHANCE], n - 2)])
    degree = np.where(kind == Kind.END, 0, rng.integers(1, 4, n))
    source = np.repeat(np.arange(n), degree)
    dst = rng.integers(0, n, len(source))
    chance = kind[source] == Kind.CHANCE
    # Chains of chance only go on to later nodes.
    back = chance & (kind[dst] == Kind.CHANCE) & (dst <= source)
    dst[back] = 1
    weight = np.where(chance, rng.integers(1, 9, len(source)), 1).astype(float)
    weight /= np.where(chance, np.bincount(source, weight, minlength=n)[source], 1.0)
    size = len(source)
    return Network(
        kind=kind.astype(np.uint8),
        indptr=np.concatenate(([0], np.cumsum(degree))),
        dst=dst,
        weight=weight,
        reward=np.where(rng.random(size) < 0.5, 0.0, np.round(rng.normal(size=size), 2)),
        sign=np.where(("pass_to" in model) & (rng.random(size) < 0.3), -1, 1),
        step=~chance if "discounted" not in model else np.ones(size, dtype=bool),
        payoff=np.where(kind == Kind.END, np.round(rng.normal(size=n), 2), 0.0),
        start=0,
        discount="9/10" if "discounted" in model else 1,
        horizon=horizon,
    )


def plain(rank: np.ndarray) -> Witness:
    return Witness(np.full(len(rank), -1), rank, np.zeros(len(rank), dtype=np.int64))


def raised(replies: inequalities.Replies, here: np.ndarray, before: np.ndarray, room: float) -> np.ndarray:
    """One backup, and a little more."""
    worth = replies.reward + replies.factor * np.where(
        replies.chance[replies.source], here[replies.dst], before[replies.dst]
    )
    best = np.where(replies.end, replies.payoff, -np.inf)
    np.maximum.at(best, replies.source, worth)
    mean = np.bincount(replies.source, replies.weight * worth, minlength=len(here))
    best = np.where(replies.chance, mean, best)
    return np.maximum(here, best + room * (1 + np.abs(best)))


@pytest.mark.parametrize("model", MODELS)
def test_the_compiled_checks_are_those_in_numpy(model: str) -> None:
    rng = np.random.default_rng(7)
    said: dict[str, int] = {}
    for _ in range(60):
        net = random_network(rng, model, int(rng.integers(0, 4)))
        n = net.n_nodes
        shape = (net.horizon + 1, 2 * n)
        policy = np.tile(np.where(net.decides, net.indptr[:-1], -1), (shape[0], 1))
        stages = [inequalities.best_replies(net, row, last=k == 0) for k, row in enumerate(policy)]
        # Bounds that hold with room, that just hold, and that do not hold.
        bounds = rng.normal(size=shape) * rng.choice([0.0, 1.0, 1e-15]) + rng.choice([-2.0, 0.5, 20.0])
        room = rng.choice([1e-16, 1e-14, 1e-14, 1e-14])
        for k, replies in enumerate(stages):
            for _ in range(12 - 11 * (rng.random() < 0.1)):
                bounds[k] = raised(replies, bounds[k], bounds[max(k - 1, 0)], room)
        ranks = -np.arange(n) if rng.random() < 0.5 else rng.integers(0, 4, n)
        witness = plain(np.tile(ranks, 2))
        found = verify_large(net, policy, bounds, witness)
        contained = ends = True
        for k, replies in enumerate(stages):
            contained &= inequalities._above(replies, bounds[k], bounds[max(k - 1, 0)], witness.group)
            # Plays that may not end and lose then have witnesses that only the checks in numpy know.
            unpaid = attrs.evolve(replies, reward=np.zeros_like(replies.reward))
            ends &= net.discount < 1 or inequalities.endless_plays_lose(unpaid, replies.chance, bounds[k], witness)
        assert (found == "") == (contained and ends)
        assert found or inequalities.verify(net, policy, bounds, witness) == ""
        said[found] = said.get(found, 0) + 1
    assert len(said) == (2 if "discounted" in model else 3)
    assert min(said.values()) >= 4


@pytest.mark.parametrize("model", MODELS)
def test_bounds_hold_at_every_stage_and_are_as_narrow_as_the_others(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(13)
    for _ in range(12):
        net = random_network(rng, model, int(rng.integers(0, 6)))
        problem = prepare(net, Total()).canonical
        solution = solve(problem, solver="exact")
        value, policy, n = solution.nodes.values, solution.nodes.choice, problem.n_nodes
        bounds, witness = residual_bounds.find_stages(problem, value, policy, lambda: None)
        assert inequalities.verify(problem, policy, bounds, witness) == ""
        assert verify_large(problem, policy, bounds, witness) == ""
        for row, exact in zip(bounds, solution.nodes.exact, strict=True):
            assert all(-row[i] <= number <= row[n + i] for i, number in enumerate(exact))
        narrow = certify(problem, value, policy, 1e-9)
        monkeypatch.setattr(residual_bounds, "RESIDUALS_FROM_EDGES", 0)
        verdict = certify(problem, value, policy, 1e-9)
        monkeypatch.undo()
        assert verdict.certified
        assert narrow.certified
        assert verdict.width <= 2 * narrow.width + 1e-15 < 1e-12
        np.testing.assert_array_equal(verdict.lower, 0.0 - bounds[:, :n])
        np.testing.assert_array_equal(verdict.upper, bounds[:, n:])


GAME = Network(
    # A decision to stop or to go on, a chance node that leads to another one, and back; a minimiser on the way.
    kind=[1, 3, 3, 2, 0, 0], indptr=[0, 2, 4, 6, 8, 8, 8], dst=[1, 4, 2, 3, 0, 5, 0, 4],
    weight=[1, 1, 0.75, 0.25, 0.5, 0.5, 1, 1], reward=[0.25, 0, 0, 0, 2.75, 0, -1, 0], sign=[1] * 8,
    step=[0, 0, 0, 0, 1, 0, 1, 0], payoff=[0, 0, 0, 0, 1.5, 0.0], start=0, horizon=4,
)  # fmt: skip


@pytest.mark.parametrize(
    "lie", ["none", "value", "less", "policy", "nan", "infinite", "swapped", "last", "another node's edge"]
)
@pytest.mark.parametrize("large", [0, 10**9])
def test_lies_are_found(lie: str, large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residual_bounds, "RESIDUALS_FROM_EDGES", large)
    solution = solve(GAME)
    value, policy = solution.nodes.values.copy(), solution.nodes.choice.copy()
    assert (np.abs(np.diff(value[:, 0])) > 1e-3).all()
    if lie == "value":
        value[2, 0] += 1e-3
    elif lie == "less":
        value[4, 1] -= 1e-3
    elif lie == "policy":
        policy[3, 0] = 1 - policy[3, 0]
    elif lie == "nan":
        value[3, 2] = np.nan
    elif lie == "infinite":
        value[1, 0] = np.inf
    elif lie == "swapped":
        value[[2, 3]] = value[[3, 2]]
    elif lie == "last":
        value[0, 0] = 1.5
    elif lie == "another node's edge":
        policy[2, 0] = GAME.indptr[3]
    with np.errstate(all="ignore"):
        if lie == "another node's edge":
            assert residual_bounds.find_stages(GAME, value, policy, lambda: None) is None
            bounds, witness = residual_bounds.find_stages(GAME, value, solution.nodes.choice, lambda: None)
            assert verify_large(GAME, policy, bounds, witness)
            return
        verdict = certify(GAME, value, policy, 1e-6)
    assert verdict.certified is (lie == "none")


@pytest.mark.parametrize("stage", range(5))
def test_bounds_that_are_too_low_at_one_stage_are_refused(stage: int) -> None:
    solution = solve(GAME)
    bounds, witness = residual_bounds.find_stages(GAME, solution.nodes.values, solution.nodes.choice, lambda: None)
    assert verify_large(GAME, solution.nodes.choice, bounds, witness) == ""
    for at in range(2 * GAME.n_nodes):
        lower = bounds.copy()
        lower[stage, at] -= 1e-6
        assert verify_large(GAME, solution.nodes.choice, lower, witness)
    for k in {stage, 4 - stage} - {2}:
        swapped = bounds.copy()
        swapped[[k, 4 - k]] = swapped[[4 - k, k]]
        assert verify_large(GAME, solution.nodes.choice, swapped, witness)


def test_what_does_not_fit_is_refused() -> None:
    solution = solve(GAME)
    policy = solution.nodes.choice
    bounds, witness = residual_bounds.find_stages(GAME, solution.nodes.values, policy, lambda: None)
    group = attrs.evolve(witness, group=np.zeros(12, dtype=np.int64))
    infinite, flat = bounds.copy(), attrs.evolve(GAME, horizon=None)
    infinite[2, 7] = np.inf
    for net, choice, claimed, proof in (
        (GAME, policy[:-1], bounds, witness),
        (GAME, policy, bounds[:-1], witness),
        (GAME, policy, bounds[:, :-1], witness),
        (GAME, policy[0], bounds[0], witness),
        (GAME, policy, infinite, witness),
        (GAME, policy, bounds, group),
        (flat, policy, bounds, witness),
    ):
        assert verify_large(net, choice, claimed, proof)


def test_chance_that_goes_round_is_left_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Network(
        kind=[1, 3, 3, 0], indptr=[0, 2, 4, 6, 6], dst=[1, 3, 2, 0, 1, 3], weight=[1, 1, 0.5, 0.5, 0.5, 0.5],
        reward=[0, 0, 0, 1, 0, 0], sign=[1] * 6, step=[0, 0, 0, 1, 0, 0], payoff=[0, 0, 0, 1], start=0, horizon=3,
    )  # fmt: skip
    monkeypatch.setattr(residual_bounds, "RESIDUALS_FROM_EDGES", 0)
    solution = solve(net, solver="value-iteration")
    assert residual_bounds.find_stages(net, solution.nodes.values, solution.nodes.choice, lambda: None) is None
    assert solution.proved


def test_a_payoff_that_is_no_float_has_room(monkeypatch: pytest.MonkeyPatch) -> None:
    from fractions import Fraction

    monkeypatch.setattr(residual_bounds, "RESIDUALS_FROM_EDGES", 0)
    third = Fraction(1, 3)
    net = attrs.evolve(GAME, payoff=[0, 0, 0, 0, 1 / 3, 0], exact_payoffs={4: third})
    solution = solve(net)
    assert solution.proved
    assert all(
        low <= third <= high for low, high in zip(solution.nodes.lowers[:, 4], solution.nodes.uppers[:, 4], strict=True)
    )
    assert (solution.nodes.lowers[:, 4] < solution.nodes.uppers[:, 4]).all()


def test_a_search_for_bounds_can_be_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residual_bounds, "STAGE_EDGES", 0)
    solution = solve(GAME)
    asked = []

    def check() -> None:
        asked.append(len(asked))
        if len(asked) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        residual_bounds.find_stages(GAME, solution.nodes.values, solution.nodes.choice, check)
    assert asked == [0, 1, 2]
