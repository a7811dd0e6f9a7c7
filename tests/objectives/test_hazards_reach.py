"""The hazards of tests/data/hazards.json that are about reaching states; the others are in tests/exploration."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from mdpdice import Network, Reach, Status, UntilReward, solve
from mdpdice.errors import CycleError, NotConvergedError

CASES = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent.parent / "data" / "hazards.json").read_text("utf-8"))["cases"]
}
SOLVERS = ["exact", "linear-programming", "policy-iteration", "value-iteration"]


def network(transitions) -> Network:
    """A network of (state, action, [(target, probability)], reward)."""
    states = list(dict.fromkeys(state for state, *_ in transitions))
    choice_ptr, branch_ptr, target, probability, reward, actions = [0], [0], [], [], [], []
    for state in states:
        for source, action, branches, pay in transitions:
            if source == state:
                actions.append(action)
                reward.append(pay)
                target += [states.index(name) for name, _ in branches]
                probability += [p for _, p in branches]
                branch_ptr.append(len(target))
        choice_ptr.append(len(actions))
    return Network.from_choices(choice_ptr, branch_ptr, target, probability, reward, states=states, actions=actions)


def haddad_monmege(n: int) -> Network:
    """The generator that the file describes in words."""
    rows = []
    for i in range(2 * n + 1):
        if i == n:
            rows.append((i, "a", [(n - 1, "7/10"), (n + 1, "3/10")], 0))
            rows.append((i, "b", [(n - 1, "6/10"), (n + 1, "4/10")], 0))
        elif i in (0, 2 * n):
            rows.append((i, "stay", [(i, 1)], 0))
        else:
            rows.append((i, "on", [(i - 1 if i < n else i + 1, "1/2"), (n, "1/2")], 0))
    return network(rows)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["zero_reward_ec_min", "zero_reward_ec_maxprob"])
def test_idle_end_components(name: str, solver: str) -> None:
    case = CASES[name]
    aim, sense = case["objective"]["target"], case["objective"]["sense"]
    objective = (Reach if case["objective"]["kind"] == "reach_prob" else UntilReward)(aim, sense=sense)
    solution = solve(network([tuple(row) for row in case["transitions"]]), objective, solver=solver)
    assert solution.status is (Status.EXACT if solver == "exact" else Status.CERTIFIED)
    for state, value in case["expect"]["value"].items():
        assert Fraction(solution.lower(state)) <= Fraction(value) <= Fraction(solution.upper(state))
        assert solution.upper(state) - solution.lower(state) <= 1e-6
        if solver == "exact":
            assert solution.exact(state) == Fraction(value)


@pytest.mark.parametrize("n", [20, 60, 300])
def test_haddad_monmege_exactly(n: int) -> None:
    solution = solve(haddad_monmege(n), Reach([0]), solver="exact")
    assert solution.status is Status.EXACT
    assert solution.exact(n) == Fraction(7, 10)
    assert solution.action(n) == "a"


@pytest.mark.parametrize("solver", ["linear-programming", "policy-iteration", "value-iteration"])
@pytest.mark.parametrize("n", [20, 60])
def test_haddad_monmege_in_floats_is_never_certified_wrongly(n: int, solver: str) -> None:
    try:
        solution = solve(haddad_monmege(n), Reach([0]), solver=solver)
    except NotConvergedError:
        return
    assert Fraction(solution.lower(n)) <= Fraction(7, 10) if np.isfinite(solution.lower(n)) else True
    assert Fraction(solution.upper(n)) >= Fraction(7, 10) if np.isfinite(solution.upper(n)) else True
    if solution.proved:
        assert abs(solution.value(n) - 0.7) < 1e-6
    if n == 60:
        assert solution.status is Status.UNCERTIFIED


@pytest.mark.parametrize("solver", ["value-iteration", "auto"])
def test_chain_of_a_million_states(solver: str) -> None:
    n = int(CASES["long_chain_1e6"]["expect"]["value"]["s0"])
    target = np.minimum(np.arange(1, n + 2), n)
    reward = np.ones(n + 1)
    reward[n] = 0.0
    chain = Network.from_choices(np.arange(n + 2), np.arange(n + 2), target, np.ones(n + 1), reward)
    solution = solve(chain, UntilReward([n], sense="min"), solver=solver)
    assert solution.status is Status.CERTIFIED
    assert solution.lower(0) <= n <= solution.upper(0)


def test_backward_induction_names_the_cycle_of_a_reachability_problem() -> None:
    with pytest.raises(CycleError) as caught:
        solve(haddad_monmege(3), Reach([0]), solver="backward-induction")
    assert 3 in caught.value.cycle
