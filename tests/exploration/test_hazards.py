"""The hazards of `tests/data/hazards.json` that belong to the modelling language, the network and the total reward.

Every case is built in two ways, as three-level arrays and as a process in textbook form, and must give the value, or
the error with its place and number, that the file asks for.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest
from helpers.random_games import best_of_all_policies, value

from mdpdice import ClassicMDP, Dist, Game, Network, Status, decide, explore, go, solve
from mdpdice.backend import Run
from mdpdice.errors import CycleError, GameError, MdpDiceError, StateLimitError, TotalRewardUndefinedError
from mdpdice.solvers.backward_induction import BackwardInduction

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent.parent / "data" / "hazards.json").read_text("utf-8"))["cases"]
}

#: Hazards of reachability objectives: tests/objectives/test_hazards_reach.py has them.
REACHING = {
    "zero_reward_ec_min",
    "zero_reward_ec_maxprob",
    "long_chain_1e6",
    "haddad_monmege_mdp_20",
    "haddad_monmege_mdp_60",
}
#: Their model is described in words: tests of their own, below.
GENERATED = {"state_explosion", "successor_raises"}
#: These ask for more than a value or an error of the model.
SPECIAL = {"negative_cycle_total", "bi_cycle", "inf_positive_selfloop", "horizon_50"}


def of_kind(*kinds):
    return {name for name, case in CASES.items() if case["objective"]["kind"] in kinds}


def expecting(what):
    return sorted(
        name for name in CASES if what in CASES[name]["expect"] and name not in REACHING | GENERATED | SPECIAL
    )


def test_every_case_is_tested_here_or_named():
    assert len(CASES) == 23
    assert of_kind("reach_prob", "reach_reward") == REACHING
    tested = {*expecting("value"), *expecting("error")}
    assert tested | REACHING | GENERATED | SPECIAL == set(CASES)
    assert len(tested) == 12
    assert len(expecting("value")) == 3


# --- the two ways to build a case ----------------------------------------------------------------


def states_of(case):
    found = list(case["states"] or [])
    for state, _, branches, _ in case["transitions"]:
        for name in (state, *(target for target, _ in branches)):
            if name not in found and case["states"] is None:
                found.append(name)
    return found


def number(text):
    """A number as a person would type it into Python: a float for nan and inf, else a fraction."""
    return float(text) if text in ("nan", "inf") else Fraction(text)


def as_arrays(case, **fields):
    states = states_of(case)
    choice_ptr, branch_ptr, target, probability, reward, actions = [0], [0], [], [], [], []
    for state in states:
        for source, action, branches, pay in case["transitions"]:
            if source == state:
                actions.append(action)
                reward.append(pay)
                for name, p in branches:
                    target.append(states.index(name) if name in states else len(states))
                    probability.append(p)
                branch_ptr.append(len(target))
        choice_ptr.append(len(actions))
    return Network.from_choices(
        choice_ptr, branch_ptr, target, probability, reward, states=states, actions=actions, **fields
    )


class Process(ClassicMDP[str, str]):
    """A case in textbook form; an action that is listed twice is told apart by its number."""

    def __init__(self, case, discount=1):
        self.case = case
        self.discount = discount
        self.rows = {}
        for state, action, branches, pay in case["transitions"]:
            self.rows.setdefault(state, []).append((action, branches, pay))

    def initial(self):
        return states_of(self.case)[0]

    def actions(self, state):
        return [action for action, _, _ in self.rows.get(state, ())]

    def row(self, state, action):
        return next(row for row in self.rows[state] if row[0] == action)

    def transition(self, state, action):
        return Dist([(target, number(p)) for target, p in self.row(state, action)[1]])

    def reward(self, state, action, target):
        return number(self.row(state, action)[2])


def as_game(case, discount=1):
    return explore(Process(case, number(discount)))


def built(case, way):
    gamma = case["objective"].get("gamma", "1")
    return as_arrays(case, discount=gamma) if way == "arrays" else as_game(case, gamma)


both = pytest.mark.parametrize("way", ["arrays", "game"])


# --- errors of the model -------------------------------------------------------------------------


@both
@pytest.mark.parametrize("name", expecting("error"))
def test_the_model_is_refused(name, way):
    case = CASES[name]
    expect = case["expect"]
    if name == "unknown_next_state" and way == "game":
        # A game declares no states: a state that is not known is a state that has no action.
        expect = {"error": "DeadEnd", "state": "Z"}
    with pytest.raises(MdpDiceError) as caught:
        built(case, way)
    error = caught.value
    assert error.code == expect["error"]
    assert error.state == expect.get("state")
    assert error.action == expect.get("action")
    for name_ in ("state", "action"):
        if name_ in expect:
            assert repr(expect[name_]) in str(error)
    wanted = expect.get("number")
    if wanted == "Z":
        # In arrays a state that is not declared is a number out of range.
        assert error.value == len(states_of(case))
    elif wanted == "nan":
        assert math.isnan(error.value)
    elif wanted is not None:
        assert float(error.value) == pytest.approx(float(wanted), abs=1e-15)


# --- values --------------------------------------------------------------------------------------


def exact_values(case):
    """Values by trying every policy, in fractions: the file's numbers are checked too."""
    actions = {s: [] for s in states_of(case)}
    for state, _, branches, pay in case["transitions"]:
        row = {}
        for target, p in branches:
            row[target] = row.get(target, Fraction(0)) + Fraction(p)
        actions[state].append((Fraction(pay), row))
    return best_of_all_policies(actions, Fraction(case["objective"]["gamma"]), case["objective"]["sense"])


@both
@pytest.mark.parametrize("name", expecting("value"))
def test_the_value_is_found_and_certified(name, way):
    case = CASES[name]
    wanted = {state: Fraction(x) for state, x in case["expect"]["value"].items()}
    assert exact_values(case) == wanted
    answer = solve(built(case, way))
    assert answer.status is Status.CERTIFIED
    for state, exact in wanted.items():
        assert Fraction(answer.lower(state)) <= exact <= Fraction(answer.upper(state))
        assert answer.value(state) == pytest.approx(float(exact), rel=1e-9, abs=1e-9)


@both
def test_an_action_that_is_a_little_worse_is_no_tie(way):
    answer = solve(built(CASES["tie_exact"], way))
    assert answer.ties("A") == ["x", "y"]
    assert answer.action("A") in ("x", "y")
    assert answer.q("A")["z"] < answer.q("A")["x"]


# --- the special ones ----------------------------------------------------------------------------


@both
def test_fifty_decisions(way):
    case = CASES["horizon_50"]
    wanted = {state: Fraction(x) for state, x in case["expect"]["value"].items()}
    assert value(Process(case), 50) == wanted["A"]
    answer = solve(built(case, way), horizon=case["objective"]["k"])
    assert answer.status is Status.CERTIFIED
    for state, exact in wanted.items():
        assert Fraction(answer.lower(state)) <= exact <= Fraction(answer.upper(state))
        assert answer.value(state) == pytest.approx(float(exact), rel=1e-13)
    # One decision more or less is another number.
    assert abs(answer.value("A") - answer.value("A", steps_left=49)) > 0.5


@both
def test_collecting_for_ever_is_infinite(way):
    answer = solve(built(CASES["inf_positive_selfloop"], way))
    assert answer.value("A") == math.inf
    assert answer.status is Status.CERTIFIED
    assert "infinite" in answer.reason


@both
def test_a_sum_without_a_limit_is_no_number(way):
    for solver in ("auto", "value-iteration", "backward-induction"):
        with pytest.raises(TotalRewardUndefinedError) as caught:
            solve(built(CASES["negative_cycle_total"], way), solver=solver)
        assert caught.value.code == CASES["negative_cycle_total"]["expect"]["error"]
        assert caught.value.state == "A"


@both
def test_backward_induction_names_the_cycle(way):
    expect = CASES["bi_cycle"]["expect"]
    with pytest.raises(CycleError) as caught:
        BackwardInduction().solve(built(CASES["bi_cycle"], way), Run())
    assert caught.value.code == expect["error"]
    assert caught.value.cycle == expect["cycle"]
    assert "'A' -> 'B' -> 'A'" in str(caught.value)
    assert "horizon" in str(caught.value)


def test_an_explosion_of_states():
    expect = CASES["state_explosion"]["expect"]
    game = Game.of(
        start=(False,) * 40,
        node=lambda s: decide([(i, go((*s[:i], not s[i], *s[i + 1 :]))) for i in range(40)]),
        discount=Fraction(9, 10),
    )
    with pytest.raises(StateLimitError, match="max_states=100,000") as caught:
        solve(game, max_states=expect["limit"])
    assert caught.value.code == expect["error"]
    assert caught.value.limit == expect["limit"]
    assert caught.value.explored <= expect["limit"] + 40


class Stairs(ClassicMDP[str, str]):
    """s0, s1, ...: the transition of s3 raises KeyError."""

    discount = Fraction(9, 10)

    def initial(self):
        return "s0"

    def actions(self, state):
        return ["a"]

    def transition(self, state, action):
        return Dist({{"s0": "s1", "s1": "s2", "s2": "s3"}[state]: 1})


def test_a_function_that_raises():
    expect = CASES["successor_raises"]["expect"]
    with pytest.raises(GameError) as caught:
        solve(Stairs())
    error = caught.value
    assert error.code == expect["error"]
    assert (error.state, error.action) == (expect["state"], expect["action"])
    assert isinstance(error.__cause__, KeyError)
    assert error.__cause__.args == ("s3",)
    assert "KeyError" in str(error)
