"""Where floats prove nothing, "auto" goes on in exact arithmetic; and no message leads in a circle."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mdpdice import Discounted, Dist, Game, Status, Total, decide, end, go, roll, solve
from mdpdice.errors import NotConvergedError
from mdpdice.solvers.value_iteration import ValueIteration
from mdpdice.solving import pipeline


def haddad_monmege(n: int) -> Game[int, str]:
    """From 0 to either side, and at every step half a chance to fall back to 0; n steps lead to an end."""

    def node(at):
        if abs(at) == n:
            return end(1 if at > 0 else 0)
        if at == 0:
            return roll(Dist({-1: 1, 1: 1}), go)
        return roll(Dist({at + (1 if at > 0 else -1): 1, 0: 1}), go)

    return Game.of(start=0, node=node)


def rare(chance: Fraction) -> Game[int, str]:
    """Pay 1 for every try; one in many succeeds, and there is no other way."""
    outcomes = Dist({"out": chance, "again": 1 - chance})

    def node(at):
        attempt = roll(outcomes, lambda found: end(1) if found == "out" else go(1 - at, reward=-1))
        return decide({"try": attempt, "wait": go(1 - at, reward=-1)})

    return Game.of(start=0, node=node)


def round_of_seven() -> Game[int, str]:
    return Game.of(start=0, node=lambda at: decide({"on": go((at + 1) % 7, reward=at), "wait": go(at)}))


NEARLY_ONE = 1 - Fraction(1, 10**11)


@pytest.mark.parametrize(
    ("game", "objective", "value"),
    [
        (haddad_monmege(30), None, Fraction(1, 2)),
        (haddad_monmege(60), Total("min"), Fraction(1, 2)),
        (haddad_monmege(100), None, Fraction(1, 2)),
        (haddad_monmege(300), None, Fraction(1, 2)),
        (rare(Fraction(1, 10**17)), None, 2 - 10**17),
        (rare(Fraction(1, 10**300)), None, 2 - 10**300),
        # To go round collects 0, 1, ..., 6 in turns.
        (round_of_seven(), Discounted(NEARLY_ONE), sum(k * NEARLY_ONE**k for k in range(7)) / (1 - NEARLY_ONE**7)),
    ],
)
def test_what_floats_do_not_prove_is_solved_exactly(game, objective, value):
    found = solve(game, objective)
    assert found.status is Status.EXACT
    assert found.exact() == value
    (note,) = found.warnings
    assert note.startswith("value-iteration gave no proof (")
    assert note.endswith("); the answer was found in exact arithmetic")


def test_a_proof_in_floats_is_enough():
    found = solve(haddad_monmege(5))
    assert (found.status, found.solver) == (Status.CERTIFIED, "value-iteration")
    assert found.warnings == ()


def test_an_answer_of_one_solver_says_what_would_settle_it():
    found = solve(haddad_monmege(60), solver="value-iteration")
    assert found.status is Status.UNCERTIFIED
    assert found.reason.endswith("; solver='exact' would settle it")
    with pytest.raises(NotConvergedError, match="or use solver='exact'"):
        solve(rare(Fraction(1, 10**17)), solver="value-iteration")


def test_a_limit_leads_to_the_solver_that_has_none():
    with pytest.raises(NotConvergedError, match="or use solver='exact'"):
        solve(rare(Fraction(1, 1000)), solver=ValueIteration(max_sweeps=1))


def test_exact_arithmetic_is_given_up_in_time(monkeypatch):
    monkeypatch.setattr(pipeline, "EXACT_SECONDS", 0.0)
    found = solve(haddad_monmege(60))
    assert (found.status, found.solver) == (Status.UNCERTIFIED, "value-iteration")
    assert found.reason.endswith("had no answer within 0 s; give it more with solver='exact'")
    with pytest.raises(NotConvergedError, match="had no answer within 0 s; give it more with solver='exact'"):
        solve(rare(Fraction(1, 10**17)))


def test_large_networks_are_left_to_floats(monkeypatch):
    monkeypatch.setattr(pipeline, "EXACT_UP_TO_NODES", 10)
    found = solve(haddad_monmege(60))
    assert found.solver == "value-iteration"
    assert found.reason.endswith("; solver='exact' would settle it")
