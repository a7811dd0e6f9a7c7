"""What a cross-check compares and counts, floors that it can be asked for, and answers that deceived a certificate."""

from __future__ import annotations

import json
import math

import attrs
import numpy as np
import pytest
from helpers.changed_solutions import changed
from helpers.policy_enumeration import CHANCE, END, MAX, MIN, network, networks
from hypothesis import HealthCheck, given, settings

from mdpdice import (
    Discounted,
    Game,
    PayoffAtLeast,
    Reach,
    Status,
    Total,
    UntilReward,
    Utility,
    cross_check,
    d6,
    decide,
    end,
    explore,
    go,
    pass_to,
    roll,
    solve,
)
from mdpdice.backend import Feature, Run, traced
from mdpdice.crosscheck.comparison import compare_actions, compare_policies, compare_values, optimal_edges
from mdpdice.crosscheck.report import COUNTERS
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.solvers.value_iteration import ValueIteration
from mdpdice.solving.problem import prepare

BOTH = ["value-iteration", "exact"]

# Two equal options, one worse; a way to an endless gain; an idle loop.
RICH = network([
    (MAX, [(1,), (2,), (3,)]),
    (END, 4),
    (END, 4),
    (MAX, [(4,), (3, 0)]),
    (CHANCE, [(1, 0, 0.5), (5, 0, 0.5)]),
    (END, 1),
    (MAX, [(6, 1), (5,)]),
])  # fmt: skip


def test_counters_and_json():
    report = cross_check(RICH, solvers=BOTH)
    assert report.ok
    counted = {name: getattr(report, name) for name in COUNTERS}
    assert counted == {
        "independent": 2,
        "states": 7,
        "infinities": 1,
        "decisions": 3,
        "ties": 2,
        "actions": 6,
        "policies": 1,
    }
    data = json.loads(report.to_json())
    assert {name: data["values" if name == "states" else name] for name in COUNTERS} == counted
    assert data["at_least"] == {"independent": 2}
    assert [entry["asked"] for entry in data["solvers"]] == [[], []]
    assert "checked 6 actions and 1 policy" in report.table()


@pytest.mark.parametrize("name", COUNTERS)
def test_floors(name):
    reached = getattr(cross_check(RICH, solvers=BOTH), name)
    good = cross_check(RICH, solvers=BOTH, at_least={name: reached})
    assert good.ok
    assert good.at_least == {"independent": 2, name: reached}
    short = cross_check(RICH, solvers=BOTH, at_least={name: reached + 1})
    assert not short.ok
    assert any("fewer than" in problem for problem in short.problems)
    assert "NOT OK" in short.table()
    assert json.loads(short.to_json())["at_least"][name] == reached + 1


def test_one_back_end_is_never_enough():
    assert not cross_check(RICH, solvers=["exact"], at_least={"independent": 0}).ok


def test_floors_of_nothing():
    with pytest.raises(GameError, match=r"at_least\['models'\] is not counted; what is: independent, states"):
        cross_check(RICH, at_least={"models": 3})


@attrs.frozen
class Asks:
    """A solver that asks another one."""

    name = "asks"
    features = frozenset(Feature)

    @classmethod
    def available(cls):
        return True

    @traced
    def solve(self, problem, run: Run):
        return ValueIteration().solve(problem, run)


def test_who_asked_whom():
    report = cross_check(RICH, solvers=["value-iteration", Asks()])
    assert [entry.asked for entry in report.entries] == [(), ("value-iteration",)]
    assert report.independent == 1
    assert json.loads(report.to_json())["solvers"][1]["asked"] == ["value-iteration"]


# --- answers that a certificate let pass, as if it had been deceived ------------------------------


def solved(net=RICH, **changes):
    return attrs.evolve(solve(net, solver="exact"), **changes)


def test_a_value_elsewhere_than_at_the_start():
    good = solved()
    values = good.nodes.values.copy()
    values[4] += 1e-3
    forged = changed(good, values=values, lowers=values - 1e-9, uppers=values + 1e-9, solver="forged")
    (problem,) = compare_values(good, forged)
    assert "disagree on 5 values" not in problem
    assert "on 7 values" not in problem
    assert "first on 4" in problem


@pytest.mark.parametrize("wrong", [9.0, -math.inf, math.nan])
def test_infinities_are_compared_as_sets(wrong):
    good = solved()
    values = good.nodes.values.copy()
    assert values[6] == math.inf
    values[6] = wrong
    for first, second in ((good, changed(good, values=values)), (changed(good, values=values), good)):
        assert compare_values(first, second)


def test_a_chosen_action_that_is_worse():
    good = solved()
    policy = good.nodes.choice.copy()
    policy[0] = 2
    forged = changed(good, choice=policy, solver="forged")
    possible, only = optimal_edges(good)
    judged, problems = compare_actions(forged, only, good, possible)
    assert judged == 3
    assert problems == ["forged chooses 2 in 0, which is not optimal by the bounds of exact (1 such decisions)"]


def test_may_and_must():
    may, must = optimal_edges(solved())
    assert may[:3].tolist() == [True, True, False]
    assert must[:3].tolist() == [False, False, False]
    # Waiting in 3 is as good as going on, as long as he goes on in the end; in 6 he collects for ever.
    assert may[3:5].tolist() == [True, True]
    assert must[7:9].tolist() == [True, False]
    assert not must[~RICH.decides[RICH.source]].any()


def test_what_one_proves_the_only_choice_the_other_may_not_rule_out():
    good = solved()
    possible, only = optimal_edges(good)
    _, problems = compare_actions(good, only, good, possible & ~only)
    assert any("is the only choice in 6" in problem for problem in problems)


def test_a_policy_that_is_not_worth_what_is_claimed():
    problem = prepare(RICH)
    good = solved()
    assert compare_policies(problem, [good, good]) == (1, [])
    policy = good.nodes.choice.copy()
    policy[0] = 2
    count, problems = compare_policies(problem, [good, changed(good, choice=policy, solver="forged")])
    assert count == 2
    (text,) = problems
    assert text.startswith("the policy of forged is worth 2.5 in 0, which is outside [4")


def test_a_policy_that_waits_for_ever():
    """The Bellman residual of its values is 0, yet it never collects them."""
    net = network([(MAX, [(0,), (1,)]), (END, 3)])
    good = solve(net, solver="exact")
    forged = changed(good, choice=np.array([0, -1]), solver="forged")
    (text,) = compare_policies(prepare(net), [good, forged])[1]
    assert "is worth 0 in 0" in text


# --- no false alarms ------------------------------------------------------------------------------


PIG = Game.of(start=0, node=lambda n: end(n) if n >= 20 else decide({
    "hold": end(n), "roll": roll(d6, lambda k: end() if k == 1 else go(n + k)),
}))  # fmt: skip
WALK = network([(MAX, [(1, -1), (2, -2)]), (CHANCE, [(0, 0, 0.5), (3, 0, 0.5)]), (CHANCE, [(3,)]), (END, 0)])
STANDOFF = Game.of(start=0, node=lambda n: decide({"wait": go(1 - n), "yield": end(-1 if n == 0 else 1)}, player=n))


def race(goal=6):
    def node(state):
        mine, theirs = state
        if mine >= goal:
            return end(1)
        return decide({
            "one": roll(d6, lambda k: pass_to((theirs, mine)) if k == 1 else pass_to((theirs, min(goal, mine + 1)))),
            "two": roll(d6, lambda k: pass_to((theirs, mine)) if k <= 3 else pass_to((theirs, min(goal, mine + 2)))),
        })  # fmt: skip

    return Game.of(start=(0, 0), node=lambda s: end(0) if s[1] >= goal else node(s), total=1)


@pytest.mark.parametrize(
    ("game", "objective", "horizon"),
    [
        (PIG, None, None),
        (PIG, Total(sense="min"), None),
        (PIG, PayoffAtLeast(15), None),
        (PIG, Utility(lambda x: 2 - x), None),
        (PIG, Utility(lambda x: 1 + x * x, sense="min"), 3),
        (PIG, None, 2),
        (explore(PIG), Reach([0]), None),
        (WALK, UntilReward([3], sense="min"), None),
        (network([*((MAX, [(1,), (2,)]),), (END, 0), (MAX, [(2, 1)])]), UntilReward([1]), None),
        (PIG, Discounted("9/10"), None),
        (race(), None, None),
        (race(), Total(sense="min"), None),
        (STANDOFF, None, None),
        (network([(MAX, [(1,), (3,)]), (MIN, [(0,), (2,)]), (END, -4), (END, -5)]), None, None),
    ],
)
def test_no_false_alarms(game, objective, horizon):
    report = cross_check(game, objective, solvers=["value-iteration", "policy-iteration", "exact"], horizon=horizon)
    assert report.ok, report
    assert report.policies >= 1
    assert report.actions >= 2


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(networks((MAX, MIN), rewards=(-1, 0, 2), stopping=True))
def test_no_false_alarms_on_random_networks(net):
    report = cross_check(net, solvers=["value-iteration", "exact"])
    assert report.ok, report
    assert all(found.status in (Status.EXACT, Status.CERTIFIED) for found in report.solutions)


def test_what_is_no_back_end_and_no_objective_is_an_error():
    with pytest.raises(
        UnsupportedError, match=r"no solver is called 'exakt'; did you mean 'exact'\? installed are: backward-induction"
    ):
        cross_check(RICH, solvers=["value-iteration", "exakt"])
    with pytest.raises(GameError, match="'min' is not an objective"):
        cross_check(RICH, "min")
    for make in (Total, lambda sense: Discounted(0.5, sense)):
        with pytest.raises(GameError, match="sense 'least' is neither 'max' nor 'min'"):
            make("least")


def test_an_infinite_value_says_why():
    endless = network([(MAX, [(0, 1), (1,)]), (END, 0)])
    report = cross_check(endless, solvers=BOTH)
    assert report.ok
    assert "can come to collect without end; a discount or a horizon limits it" in report.table()
    assert "collect" not in cross_check(endless, Total("min"), solvers=BOTH).table()
