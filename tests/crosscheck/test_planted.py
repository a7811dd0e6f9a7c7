"""Planted wrong solvers: each must be rejected, on every kind of network, and the honest one must pass."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from helpers.faulty_solvers import (
    REJECTED_AS_ANSWER,
    REJECTED_BY_CERTIFICATE,
    Asks,
    ChangesProblem,
    Honest,
    NotANumber,
    OffAtStart,
    WrongPolicy,
    Zeros,
)
from helpers.small_games import PlainRace

from mdpdice import Game, Network, Status, cross_check, d6, decide, end, explore, go, roll, solve
from mdpdice.errors import NotCertifiedError, PluginError
from mdpdice.games.farkle import KcdFarkle


def pig_turn() -> Network:
    return explore(
        Game.of(
            start=0,
            node=lambda points: (
                decide({"hold": end(points), "roll": roll(d6, lambda k: end() if k == 1 else go(min(points + k, 60)))})
                if points < 60
                else end(points)
            ),
        )
    )


def farkle() -> Network:
    return explore(KcdFarkle(cap=500))


def cyclic() -> Network:
    """Roll until you hold; a one is a free roll, so plays go round."""
    return explore(
        Game.of(
            start=1,
            node=lambda face: decide(
                {"hold": end(face), "roll": roll(d6, lambda k: end(-1) if k == 6 else go(k), reward=-0.25)}
            ),
        )
    )


def discounted() -> Network:
    return explore(
        Game.of(
            start=0,
            node=lambda s: decide(
                [(a, roll(d6, lambda k, a=a: go((s * a + k) % 7), reward=(s - a) ** 2)) for a in (1, 2, 3)]
            ),
            discount=0.9,
        )
    )


NETWORKS: dict[str, Callable[[], Network]] = {
    "pig": pig_turn,
    "farkle": farkle,
    "cyclic": cyclic,
    "discounted": discounted,
    "race": lambda: explore(PlainRace(8)),
}


@pytest.fixture(scope="module", params=NETWORKS)
def network(request: pytest.FixtureRequest) -> Network:
    return NETWORKS[request.param]()


def test_honest_answer_is_certified(network: Network) -> None:
    solution = solve(network, solver=Honest(), epsilon=1e-9)
    assert solution.status is Status.CERTIFIED
    assert solution.lower() <= solution.value() <= solution.upper()


@pytest.mark.parametrize("planted", REJECTED_BY_CERTIFICATE)
def test_wrong_answer_is_not_certified(network: Network, planted: type[Honest]) -> None:
    solution = solve(network, solver=planted())
    assert solution.status is Status.UNCERTIFIED
    assert solution.reason
    with pytest.raises(NotCertifiedError, match=planted.name):
        solution.value()
    report = cross_check(network, solvers=["value-iteration", planted()])
    assert not report.ok
    assert any(planted.name in problem for problem in report.problems)
    # It is wrong, so there is nothing to settle.
    assert "would settle" not in report.to_json()


@pytest.mark.parametrize("planted", REJECTED_AS_ANSWER)
def test_non_answer_raises(network: Network, planted: type[Honest]) -> None:
    with pytest.raises(PluginError, match=planted.name):
        solve(network, solver=planted())
    report = cross_check(network, solvers=["value-iteration", planted(), Honest()])
    assert not report.ok
    assert [entry.outcome for entry in report.entries] == ["ran", "failed", "ran"]


def test_nan_names_the_state() -> None:
    with pytest.raises(PluginError, match=r"value of 0 is nan"):
        solve(pig_turn(), solver=NotANumber())


def test_changed_problem_is_noticed() -> None:
    with pytest.raises(PluginError, match="changed the problem"):
        solve(pig_turn(), solver=ChangesProblem())


def test_an_echo_counts_once() -> None:
    alone = cross_check(pig_turn(), solvers=["backward-induction", Asks()])
    assert alone.independent == 1
    assert not alone.ok
    assert any("agreement needs two" in problem for problem in alone.problems)
    # The same holds when the one that was asked did not run by itself.
    assert cross_check(pig_turn(), solvers=[Asks()]).independent == 1
    with_another = cross_check(pig_turn(), solvers=["backward-induction", Asks(), "value-iteration"])
    assert with_another.independent == 2
    assert with_another.ok


def test_two_wrong_answers_that_agree_do_not_pass() -> None:
    class AlsoZeros(Zeros):
        name = "also-zeros"

    report = cross_check(pig_turn(), solvers=[Zeros(), AlsoZeros()])
    assert not report.ok
    assert sum("uncertified" in problem for problem in report.problems) == 2


def test_wrong_policy_is_named_with_state_and_action() -> None:
    report = cross_check(pig_turn(), solvers=["value-iteration", "backward-induction", WrongPolicy()])
    assert any("wrong-policy is uncertified" in problem for problem in report.problems)


def test_estimate_still_answers_for_an_uncertified_solution() -> None:
    right = solve(pig_turn()).value()
    wrong = solve(pig_turn(), solver=OffAtStart())
    assert wrong.estimate() == pytest.approx(right + 1e-3, abs=1e-9)
    assert not wrong.proved
