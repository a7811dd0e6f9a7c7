"""Rewards, payoffs, probabilities and discounts that floats cannot hold: answered truly, or not proved."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from helpers.raw_networks import network

from mdpdice import (
    Candidate,
    Counter,
    Discounted,
    Dist,
    Feature,
    Game,
    Horizon,
    Kind,
    Network,
    Policy,
    compile_lattice,
    decide,
    end,
    evaluate,
    explore,
    go,
    roll,
    solve,
    when,
)
from mdpdice.certification import residual_bounds
from mdpdice.certification.checking.exact import verify_exact
from mdpdice.certification.checking.inequalities import Witness
from mdpdice.certification.checking.lattice import Claim, verify_lattice
from mdpdice.errors import NotConvergedError
from mdpdice.lattices.reachable_layers import find_layers
from mdpdice.modelling.nearest import nearest

INF = float("inf")
TINY = Fraction(1, 10**400)
SMALLEST = 5e-324
END, MAX = Kind.END, Kind.MAX


@pytest.fixture(params=["small", "large"])
def either(request, monkeypatch):
    """Problems go to the checker for small ones or to that for large ones."""
    if request.param == "large":
        monkeypatch.setattr(residual_bounds, "RESIDUALS_FROM_EDGES", 0)


def lottery(weights: dict[str, Any], pays: dict[str, Any]) -> Game:
    return Game.of(start=0, node=lambda _: roll(Dist(weights), lambda key: end(pays.get(key, 0))))


def loop(reward: Fraction, out: int) -> Game:
    return Game.of(start=0, node=lambda _: decide({"stay": go(0, reward=reward), "out": end(out)}))


def long_wait() -> Game:
    """A play pays 2e-162 with probability 1e-162 again and again, and ends with 5e-324."""

    def to(key: str) -> Any:
        return end(0) if key == "exit" else go(0, reward=2e-162 if key == "pay" else 0)

    return Game.of(start=0, node=lambda _: roll(Dist({"exit": 5e-324, "pay": 1e-162, "stay": 1 - 1e-162}), to))


def stepping(payoff: Any) -> Game:
    return Game.of(start=0, node=lambda s: end(payoff) if s == 2 else decide({"on": go(s + 1)}))


SEVEN = Fraction(7, 3 * 10**312)
CASES: dict[str, tuple[Callable[[], Game], Any, Any]] = {
    "mean of a denormal": (lambda: lottery({"a": 1, "b": 1}, {"a": 5e-324}), None, Fraction(5e-324) / 2),
    "cost of a denormal": (lambda: lottery({"a": 1, "b": 1}, {"a": -5e-324}), None, -Fraction(5e-324) / 2),
    "payoff below floats": (lambda: lottery({"a": 1, "b": 2}, {"a": TINY}), None, TINY / 3),
    "probability that is a denormal": (
        lambda: lottery({"a": SEVEN, "b": 1 - SEVEN}, {"a": 1e308}),
        None,
        Fraction(1e308) * SEVEN,
    ),
    "probability below floats": (
        lambda: lottery({"a": 1, "b": 10**400}, {"a": 1e300}),
        None,
        Fraction(1e300) / (10**400 + 1),
    ),
    "products below floats": (long_wait, None, Fraction(1e-162) * Fraction(2e-162) / Fraction(5e-324)),
    "costs below floats": (lambda: loop(-TINY, -1), None, Fraction(-1)),
    "gains below floats": (lambda: loop(TINY, 1), None, INF),
    "gains below floats, and the better end": (lambda: loop(TINY, 1), Horizon(3), 1 + 2 * TINY),
    "discounted below floats": (lambda: stepping(5e-324), Discounted(Fraction(2, 5)), None),
    "discount below floats": (lambda: stepping(1e306), Discounted(TINY), None),
    "discount that is nearly 1": (lambda: loop(Fraction(0), -1), Discounted(1 - Fraction(1, 10**17)), Fraction(0)),
    "discount that is nearly 1, with gains": (
        lambda: loop(Fraction(1), 0),
        Discounted(1 - Fraction(1, 10**17)),
        Fraction(10**17),
    ),
}


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("solver", ["value-iteration", "policy-iteration", "exact"])
@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_the_truth(name: str, solver: str) -> None:
    make, objective, truth = CASES[name]
    if truth is None:
        # One step, whose factor a horizon does not change.
        assert isinstance(objective, Discounted)
        payoff = Fraction(explore(make()).payoff.max())
        truth = payoff * objective.discount
    try:
        found = solve(make(), objective, solver=solver)
    except NotConvergedError as stop:
        assert solver != "exact"
        found = stop.partial
        if found is None:
            return
    assert found.lower() <= truth <= found.upper()
    if solver == "exact":
        assert found.proved
        assert found.estimate() == pytest.approx(float(truth), rel=1e-12, abs=0)


@pytest.mark.parametrize("sign", [1, -1])
def test_what_is_not_0_never_becomes_it(sign: int) -> None:
    assert nearest(sign * TINY) == sign * SMALLEST
    assert nearest(sign * Fraction(1, 3)) == sign / 3
    assert (nearest(0), nearest(Fraction(0)), nearest(sign * 2.5)) == (0, 0, sign * 2.5)

    @attrs.frozen
    class Steps(Game[str, str]):
        x = Counter(range(3))

        def start(self) -> str:
            return "a"

        def node(self, state: str) -> Any:
            return when(self.x == 2, end(sign * TINY), go(state, self.x.add(1), reward=sign * TINY))

    games = Steps(), Steps().unrolled(), stepping(sign * TINY), loop(sign * TINY, 0)
    for each in map(explore, games):
        for floats, exact in ((each.reward, each.exact_rewards), (each.payoff, each.exact_payoffs)):
            assert {at: floats[at] for at in exact} == dict.fromkeys(exact, sign * SMALLEST)
    made = Network.from_choices([0, 1, 1], [0, 1], [1], [1], [sign * TINY], terminal={1: sign * TINY})
    assert (made.reward[0], made.payoff[1]) == (sign * SMALLEST, sign * SMALLEST)


def test_values_are_told_apart_from_0_that_floats_do_not() -> None:
    """Play may stay for 0, and claims less than that: the exact certificate is no place for floats."""
    net = attrs.evolve(network([(MAX, [(0,), (1,)]), (END, [])], payoff=[0, -SMALLEST]), exact_payoffs={1: -TINY})
    witness = Witness(np.array([-1, -1, 0, -1]), np.array([1, 0, 1, 0]), np.zeros(4, dtype=np.int64))
    assert verify_exact(net, [[-TINY, -TINY]], np.array([[1, -1]]), witness) == "some play may never end"
    assert solve(net, solver="exact").exact() == 0


def test_a_policy_that_hardly_ever_leaves() -> None:
    net = explore(loop(Fraction(1), 0))
    slow = Policy.of(net, lambda _: Dist({"stay": 10**400, "out": 1}))
    found = evaluate(net, slow)
    assert found.lower() <= 10**400 <= found.upper()
    assert not found.proved


class Halving(Game[str, str]):
    """Half of the smallest number, by a coin."""

    x = Counter(range(2))

    def start(self) -> str:
        return "a"

    def node(self, state: str) -> Any:
        coin = roll(Dist({"h": 1, "t": 1}), lambda key: go(state, self.x.set(1)) if key == "h" else end(0))
        return when(self.x == 1, end(5e-324), coin)


def test_a_lattice_has_room_for_underflow() -> None:
    layers = find_layers(compile_lattice(Halving()))
    solution = solve(layers.lattice)
    truth = Fraction(5e-324) / 2
    assert Fraction(solution.lower()) <= truth <= Fraction(solution.upper())
    # As exact as if nothing had been rounded.
    claim = Claim(layers.program.entries, solution.table.stored, layers.ranks.layer, layers.ranks.inner)
    widths = verify_lattice(layers.lattice, claim)
    assert (widths.optimal > 0).any()
    assert widths.optimal.max() < 1e-320
    # Both sides share a number that no float holds.
    assert "below the range" in verify_lattice(attrs.evolve(layers.lattice, total=TINY), claim).reason


def test_bounds_of_a_back_end_are_verified_whatever_it_is_called() -> None:
    def stopped(problem: Network, run: Any) -> Candidate:
        wrong = np.full(problem.n_nodes, 7.0)
        policy = np.where(problem.decides, problem.indptr[:-1], -1)
        found = Candidate(wrong, policy, details={"lower": wrong.copy(), "upper": wrong.copy()})
        msg = "no more time"
        raise NotConvergedError(msg, iterations=1, width=0.0, partial=found)

    members = {
        "__module__": "mdpdice.solvers.mine",
        "name": "mine",
        "features": frozenset({Feature.DISCOUNT, Feature.CYCLIC}),
        "available": classmethod(lambda cls: True),
        "solve": staticmethod(stopped),
    }
    mine = type("Mine", (), members)()
    with pytest.raises(NotConvergedError) as caught:
        solve(lottery({"a": 1, "b": 1}, {"a": 1}), solver=mine)
    assert caught.value.partial.lower() <= 0.5 <= caught.value.partial.upper()


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("faces", [2, 6, 20])
def test_denormals_on_many_edges_are_certified(faces: int) -> None:
    found = solve(lottery(dict.fromkeys(range(faces), 1), {0: 5e-324, 1: 1e-310}), solver="value-iteration")
    assert found.proved
    assert found.lower() <= (Fraction(5e-324) + Fraction(1e-310)) / faces <= found.upper()
