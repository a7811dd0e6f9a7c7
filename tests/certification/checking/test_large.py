"""Large problems: the compiled checks say what `mdpdice.certification.checking.inequalities` says, and the
bounds found for them hold."""

from __future__ import annotations

import attrs
import numpy as np
import pytest

from mdpdice import Network, Total, explore, solve
from mdpdice.backend import Run
from mdpdice.certification import residual_bounds
from mdpdice.certification.checking import inequalities
from mdpdice.certification.checking.inequalities import Witness
from mdpdice.certification.checking.large import verify_large
from mdpdice.certification.verdict import certify
from mdpdice.errors import PluginError
from mdpdice.games.farkle import KcdFarkle
from mdpdice.networks.network import Kind
from mdpdice.solving.problem import prepare
from mdpdice.solving.proposal import propose


def random_network(rng: np.random.Generator, *, discount="9/10", players=1, signs=False, n=12) -> Network:
    """Decisions, chance nodes and ends in any order, every chance node with some way to an end."""
    kinds = [Kind.END, Kind.MAX, Kind.CHANCE] + ([Kind.MIN] if players == 2 else [])
    kind = np.array([Kind.MAX, Kind.END, *rng.choice(kinds, n - 2)], dtype=np.uint8)
    degree = np.where(kind == Kind.END, 0, rng.integers(1, 4, n))
    degree[kind == Kind.CHANCE] += 1
    source = np.repeat(np.arange(n), degree)
    dst = rng.integers(0, n, len(source))
    ptr = np.concatenate(([0], np.cumsum(degree)))
    chance = kind[source] == Kind.CHANCE
    dst[ptr[:-1][kind == Kind.CHANCE]] = 1
    weight = np.where(chance, rng.integers(1, 9, len(source)), 1).astype(float)
    total = np.bincount(source, weight, minlength=n)
    weight = np.where(chance, weight / total[source], 1.0)
    return Network(
        kind=kind,
        indptr=ptr,
        dst=dst,
        weight=weight,
        reward=np.where(rng.random(len(source)) < 0.5, 0.0, np.round(rng.normal(size=len(source)), 2)),
        sign=np.where(signs & (rng.random(len(source)) < 0.3), -1, 1),
        # A discount needs a step on every cycle.
        step=~chance if discount == 1 else np.ones(len(source), dtype=bool),
        payoff=np.where(kind == Kind.END, np.round(rng.normal(size=n), 2), 0.0),
        start=0,
        discount=discount,
    )


def plain(size: int, rank=None) -> Witness:
    zeros = np.zeros(size, dtype=np.int64)
    return Witness(np.full(size, -1), zeros if rank is None else rank, zeros)


@pytest.mark.parametrize("kind", ["one player", "two players", "pass_to", "undiscounted"])
def test_the_compiled_checks_are_those_in_numpy(kind: str) -> None:
    rng = np.random.default_rng(5)
    said = set()
    for _ in range(150):
        net = random_network(
            rng,
            discount=1 if kind == "undiscounted" else "9/10",
            players=2 if kind == "two players" else 1,
            signs=kind == "pass_to",
        )
        n = net.n_nodes
        policy = np.where(net.decides, net.indptr[:-1], -1)
        # Bounds that hold with room, that just hold, and that do not hold.
        bounds = rng.normal(size=2 * n) * rng.choice([0.0, 1.0, 1e-15]) + rng.choice([0.5, 5.0, 20.0])
        for _ in range(rng.integers(0, 40)):
            replies = inequalities.best_replies(net, policy)
            bounds = _raised(replies, bounds, rng.choice([0.0, 1e-16, 1e-14]))
        witness = plain(2 * n, np.tile(rng.integers(0, 4, n), 2) if rng.random() < 0.5 else _ranks(net))
        found = verify_large(net, policy, bounds, witness)
        replies = inequalities.best_replies(net, policy)
        # Plays that may not end and lose then have witnesses that only the checks in numpy know.
        unpaid = attrs.evolve(replies, reward=np.zeros_like(replies.reward))
        ends = net.discount < 1 or inequalities.endless_plays_lose(unpaid, ~replies.end, bounds, witness)
        contained = inequalities._above(replies, bounds, bounds, witness.group)
        assert (found == "") == (contained and ends)
        assert found or inequalities.verify(net, policy, bounds, witness) == ""
        said.add(found)
    assert len(said) == (3 if kind == "undiscounted" else 2)


def _raised(replies: inequalities.Replies, bounds: np.ndarray, room: float) -> np.ndarray:
    """One backup, and a little more."""
    worth = replies.reward + replies.factor * bounds[replies.dst]
    raised = np.where(replies.end, replies.payoff, -np.inf)
    np.maximum.at(raised, replies.source, worth)
    mean = np.bincount(replies.source, replies.weight * worth, minlength=len(bounds))
    raised = np.where(replies.chance, mean, raised)
    return np.maximum(bounds, raised + room * (1 + np.abs(raised)))


def _ranks(net: Network) -> np.ndarray:
    rank = np.where(net.kind == Kind.END, 0, 50)
    for _ in range(50):
        ahead = rank[net.dst]
        for node in np.flatnonzero(net.kind != Kind.END).tolist():
            row = ahead[net.indptr[node] : net.indptr[node + 1]]
            rank[node] = min(50, 1 + (row.min() if net.kind[node] == Kind.CHANCE else row.max()))
    return np.tile(rank, 2)


@pytest.mark.parametrize("spoil", ["value", "policy", "rank", "nan", "shape", "group"])
def test_planted_faults_are_found(spoil: str) -> None:
    net = Network(
        kind=[1, 3, 0, 0], indptr=[0, 2, 4, 4, 4], dst=[1, 2, 0, 3], weight=[1, 1, 0.5, 0.5],
        reward=[-1, 0, 0, 0], sign=[1] * 4, step=[1] * 4, payoff=[0, 0, 2, 5], start=0,
    )  # fmt: skip
    value, policy = np.array([3.0, 4.0, 2.0, 5.0]), np.array([0, -1, -1, -1])
    room = 1e-9 * np.array([3.0, 2.0, 0.0, 0.0])
    bounds = np.concatenate((room - value, value + room))
    witness = plain(8, np.array([2, 1, 0, 0] * 2))
    assert verify_large(net, policy, bounds, witness) == inequalities.verify(net, policy, bounds, witness) == ""
    if spoil == "value":
        bounds[4] -= 1e-6
    elif spoil == "policy":
        policy = np.array([1, -1, -1, -1])
    elif spoil == "rank":
        witness = plain(8, np.array([1, 1, 0, 0] * 2))
    elif spoil == "nan":
        bounds[1] = np.nan
    elif spoil == "shape":
        bounds = bounds[:-1]
    else:
        witness = attrs.evolve(witness, group=np.zeros(8, dtype=np.int64))
    assert verify_large(net, policy, bounds, witness)


def test_a_policy_of_other_nodes_is_refused() -> None:
    net = random_network(np.random.default_rng(1))
    policy = np.where(net.decides, net.indptr[1:], -1)
    assert verify_large(net, policy, np.full(2 * net.n_nodes, 1e9), plain(2 * net.n_nodes))


@pytest.mark.parametrize("kind", ["one player", "two players", "pass_to", "undiscounted"])
def test_bounds_hold_and_pass_both_checks(kind: str) -> None:
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(60):
        net = random_network(
            rng,
            discount=1 if kind == "undiscounted" else "9/10",
            players=2 if kind == "two players" else 1,
            signs=kind == "pass_to",
        )
        if kind == "undiscounted":
            net = attrs.evolve(net, reward=np.abs(net.reward))
        problem = prepare(net, Total()).canonical
        solution = solve(problem, solver="exact")
        bounds = residual_bounds.find_bounds(problem, solution.nodes.values, solution.nodes.choice, 1e-9, lambda: None)
        if bounds is None:
            # Plays that may not end have other witnesses.
            assert kind == "undiscounted"
            continue
        found += 1
        n = problem.n_nodes
        assert inequalities.verify(problem, solution.nodes.choice, *bounds) == ""
        assert verify_large(problem, solution.nodes.choice, *bounds) == ""
        for node, exact in enumerate(solution.nodes.exact[0]):
            assert -bounds[0][node] <= exact <= bounds[0][n + node]
    assert found >= 10


def test_bounds_follow_longer_plays_where_options_are_equal() -> None:
    """Two ways to the same end: that of the policy takes a move, the other one a hundred in the mean."""
    net = Network(
        kind=[1, 3, 3, 0], indptr=[0, 2, 3, 5, 5], dst=[1, 2, 3, 2, 3], weight=[1, 1, 1, 0.99, 0.01],
        reward=[0.0] * 5, sign=[1] * 5, step=[0] * 5, payoff=[0, 0, 0, 1], start=0,
    )  # fmt: skip
    bounds, witness = residual_bounds.find_bounds(net, np.ones(4), np.array([0, -1, -1, -1]), 1e-6, lambda: None)
    assert inequalities.verify(net, np.array([0, -1, -1, -1]), bounds, witness) == ""
    assert bounds[4] - 1 >= bounds[6] - 1 > 20 * (bounds[5] - 1)


def test_bounds_of_acyclic_networks_are_as_narrow_as_those_of_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    net = explore(KcdFarkle(cap=1000))
    solution = solve(net)
    narrow = certify(net, solution.nodes.values, solution.nodes.choice, 1e-6).width
    monkeypatch.setattr(residual_bounds, "RESIDUALS_FROM_EDGES", 0)
    verdict = certify(net, solution.nodes.values, solution.nodes.choice, 1e-6)
    assert verdict.certified
    assert verdict.width <= 2 * narrow < 4e-12
    start = net.start
    assert verdict.lower[start] <= solution.nodes.values[start] <= verdict.upper[start]


def test_a_wrong_policy_gets_no_narrow_bounds() -> None:
    net = random_network(np.random.default_rng(3), n=40)
    solution = solve(net, solver="exact")
    worse = next(
        edge
        for node in np.flatnonzero(net.decides).tolist()
        for edge in net.edges(node)
        if net.reward[edge] + 0.9 * solution.nodes.values[net.dst[edge]] < solution.nodes.values[node] - 1e-3
    )
    policy = solution.nodes.choice.copy()
    policy[net.source[worse]] = worse
    assert residual_bounds.find_bounds(net, solution.nodes.values, policy, 1e-6, lambda: None) is None
    assert (
        residual_bounds.find_bounds(net, solution.nodes.values, solution.nodes.choice, 1e-6, lambda: None) is not None
    )


@pytest.mark.parametrize("field", ["reward", "weight", "dst", "payoff"])
def test_a_solver_that_changes_a_large_problem_is_found(field: str) -> None:
    n = 15_000
    net = Network.from_choices(
        np.arange(n + 1), np.arange(0, 2 * n + 1, 2), np.stack((np.arange(n), np.roll(np.arange(n), 1)), 1).ravel(),
        np.full(2 * n, 0.5), np.arange(n) * 1.0, discount="9/10",
    )  # fmt: skip

    class Vandal:
        name = "vandal"

        def solve(self, problem: Network, run: Run):
            array = getattr(problem, field)
            array.flags.writeable = True
            # What a sum without places would not see.
            array[[7, 1] if field != "payoff" else [0]] = array[[1, 7]] if field != "payoff" else 1.0
            if field == "weight":
                array[-1] = 0.25

    with pytest.raises(PluginError):
        propose(attrs.evolve(net, **{field: np.array(getattr(net, field))}), Vandal(), Run())


@pytest.mark.parametrize("what", ["right", "zero", "negative", "nan", "shape", "text", "short", "huge"])
def test_lengths_of_plays_that_a_solver_claims_prove_nothing_by_themselves(what: str) -> None:
    """They are tried; what they lead to is verified, and where it is no proof the lengths are found anew."""
    net = Network(
        kind=[1, 3, 3, 0], indptr=[0, 2, 3, 5, 5], dst=[1, 2, 3, 2, 3], weight=[1, 1, 1, 0.99, 0.01],
        reward=[0.0] * 5, sign=[1] * 5, step=[0] * 5, payoff=[0, 0, 0, 1], start=0,
    )  # fmt: skip
    policy = np.array([0, -1, -1, -1])
    right = np.array([2.0, 1.0, 100.0, 0.0])
    lengths = {
        "right": right, "zero": np.zeros(4), "negative": -right, "nan": np.full(4, np.nan), "shape": np.ones(3),
        "text": "long", "short": np.array([1.0, 1.0, 1.0, 1.0]), "huge": np.full(4, 1e300) * right,
    }[what]  # fmt: skip
    for value in (np.ones(4), np.array([1.0, 1.0, 1.0 - 1e-3, 1.0])):
        claimed = residual_bounds.find_bounds(net, value, policy, 1e-6, lambda: None, lengths)
        plain_bounds = residual_bounds.find_bounds(net, value, policy, 1e-6, lambda: None)
        assert (claimed is None) == (plain_bounds is None) == (value[2] != 1)
        if claimed is not None:
            assert verify_large(net, policy, *claimed) == ""
            assert inequalities.verify(net, policy, *claimed) == ""
            assert (-claimed[0][:4] <= 1).all()
            assert (claimed[0][4:] >= 1).all()


def test_lengths_of_plays_come_from_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residual_bounds, "RESIDUALS_FROM_EDGES", 0)
    monkeypatch.setattr(residual_bounds, "claimed_bounds", lambda *args: None)
    monkeypatch.setattr(residual_bounds, "_lengths", lambda problem, follow: pytest.fail("not needed"))
    net = Network(
        kind=[1, 3, 0, 0], indptr=[0, 2, 4, 4, 4], dst=[1, 2, 0, 3], weight=[1, 1, 0.5, 0.5],
        reward=[-1, 0, 0, 0], sign=[1] * 4, step=[1] * 4, payoff=[0, 0, 2, 5], start=0,
    )  # fmt: skip
    solution = solve(net, solver="value-iteration")
    assert solution.proved
    assert "lengths" not in solution.details


@pytest.mark.parametrize("discount", ["1", "9/10"])
@pytest.mark.parametrize(
    "what", ["right", "narrow", "beside", "crossed", "wide", "nan", "infinite", "shape", "dtype", "text", "none"]
)
def test_bounds_that_a_solver_claims_prove_nothing_by_themselves(
    what: str, discount: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are tried; where they are no proof others are found."""
    net = Network(
        kind=[1, 3, 0, 0], indptr=[0, 2, 4, 4, 4], dst=[1, 2, 0, 3], weight=[1, 1, 0.5, 0.5],
        reward=[-1, 0, 0, 0], sign=[1] * 4, step=[0, 0, 1, 1], payoff=[0, 0, 2, 5], start=0, discount=discount,
    )  # fmt: skip
    monkeypatch.setattr(residual_bounds, "RESIDUALS_FROM_EDGES", 0)
    exact = solve(net, solver="exact")
    value, policy = exact.nodes.values + (1e-8 if what == "narrow" else 0.0) * net.decides, exact.nodes.choice
    # Wider at the decision by more than the chance node hands on.
    room = 1e-7 * np.array([1.0, 0.9, 0.0, 0.0])
    moved = {"narrow": 0 * room, "wide": 1e6 * room, "nan": np.nan, "infinite": np.inf}.get(what, room)
    lower, upper = value - moved, value + moved
    claims: tuple[object, object] = {
        "beside": (lower + 1e-3, upper + 1e-3),
        "crossed": (upper, lower),
        "shape": (lower[1:], upper[1:]),
        "dtype": (lower.astype(np.float32), upper.astype(np.float32)),
        "text": ("low", "high"),
        "none": (None, None),
    }.get(what, (lower, upper))
    claimed = residual_bounds.claimed_bounds(net, value, *claims, 1e-6)
    assert (claimed is not None) == (what in ("right", "narrow"))
    if claimed is not None:
        assert (verify_large(net, policy, *claimed) == "") == (what == "right")
    verdict = certify(net, value, policy, 1e-6, details={"lower": claims[0], "upper": claims[1]})
    assert verdict.certified
    truth = [exact.nodes.exact[0][node] for node in range(4)]
    assert all(low <= at <= high for low, at, high in zip(verdict.lower, truth, verdict.upper, strict=True))
    if what == "right":
        assert (verdict.lower == lower).all()
        assert (verdict.upper == upper).all()


@pytest.mark.parametrize("discount", ["1", "99/100"])
def test_bounds_of_value_iteration_are_a_certificate(discount: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residual_bounds, "RESIDUALS_FROM_EDGES", 0)
    monkeypatch.setattr(residual_bounds, "find_bounds", lambda *args: pytest.fail("not needed"))
    rng = np.random.default_rng(5)
    n, ends = 200, {} if discount != "1" else {0: 1.0, 1: 0.0}
    count = 3 * (n - len(ends))
    net = Network.from_choices(
        np.append(np.zeros(len(ends), dtype=np.int64), np.arange(0, count + 1, 3)), np.arange(0, 4 * count + 1, 4),
        rng.integers(0, n, 4 * count), np.full(4 * count, 0.25), rng.random(count) * (discount != "1"),
        terminal=ends, discount=discount,
    )  # fmt: skip
    assert solve(net, solver="value-iteration").proved
