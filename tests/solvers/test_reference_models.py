"""External models: every property, every state, every float solver, against exact reference values."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from pathlib import Path

import attrs
import pytest
from helpers import reference_models

from mdpdice import Candidate, Game, Network, Policy, Run, Status, Total, end, evaluate, explore, load_solver, solve
from mdpdice.errors import NotConvergedError, UnsupportedError
from mdpdice.solving.pipeline import choose, solve_problem
from mdpdice.solving.problem import prepare

REFUSALS = tomllib.loads((Path(__file__).parent.parent / "data" / "expected_refusals.toml").read_text(encoding="utf-8"))
FLOAT_SOLVERS = ["backward-induction", "linear-programming", "policy-iteration", "value-iteration"]
EPSILON = 1e-6


def solve_case(case: reference_models.Case, solver: str):
    problem = prepare(case.network, case.objective)
    backend = choose(problem, solver)
    if problem.needs() - backend.features:
        raise UnsupportedError("lacks a feature")
    return solve_problem(problem, backend, Run(tolerance=EPSILON / 100), EPSILON)


def wrong_states(case: reference_models.Case, lower, upper) -> list[int]:
    """States whose exact value is not in its interval; floats are compared as the rationals that they are."""
    bad = []
    for state, exact in enumerate(case.exact):
        low, high = float(lower[state]), float(upper[state])
        if isinstance(exact, float):
            inside = low == high == exact
        else:
            inside = (low == float("-inf") or Fraction(low) <= exact) and (
                high == float("inf") or exact <= Fraction(high)
            )
        if not inside:
            bad.append(state)
    return bad


def test_the_collection_is_whole() -> None:
    cases = [reference_models.load(name) for name in reference_models.names()]
    assert len({case.name.split("/")[0] for case in cases}) == 17
    assert len(cases) == 37
    by_model = {case.name.split("/")[0]: len(case.exact) for case in cases}
    assert sum(by_model.values()) >= 5564


@pytest.mark.parametrize("name", reference_models.names())
def test_interval_contains_the_exact_value(name: str) -> None:
    case = reference_models.load(name)
    certified = 0
    for solver in FLOAT_SOLVERS:
        expected = REFUSALS.get(name, {}).get(solver)
        try:
            solution = solve_case(case, solver)
        except UnsupportedError:
            continue
        except NotConvergedError:
            assert expected is not None, f"{solver} did not converge"
            continue
        lower, upper = case.row(solution.nodes.lowers), case.row(solution.nodes.uppers)
        assert wrong_states(case, lower, upper) == []
        if solution.status is Status.CERTIFIED:
            certified += 1
        else:
            assert expected is not None, f"{solver}: {solution.reason}"
    assert certified > 0 or name in REFUSALS


@pytest.mark.parametrize("name", reference_models.names())
def test_exact_answer_equals_the_reference(name: str) -> None:
    case = reference_models.load(name, exact=True)
    solution = solve_case(case, "exact")
    assert solution.status is Status.EXACT
    row = solution.nodes.exact[-1]
    assert [row[node] for node in case.network.state_node.tolist()] == case.exact
    assert wrong_states(case, case.row(solution.nodes.lowers), case.row(solution.nodes.uppers)) == []


class ExactLiar:
    """Claims exact values that satisfy Bellman's equation everywhere but at one node."""

    name = "exact-liar"
    features = load_solver("exact").features
    off: Fraction = Fraction(1, 10**30)
    wrong_policy = False

    @classmethod
    def available(cls) -> bool:
        return True

    def solve(self, problem: Network, run: Run) -> Candidate:
        answer = load_solver("exact")().solve(problem, run)
        exact = list(answer.details["exact"])
        exact[problem.start] += self.off
        policy = answer.policy.copy()
        if self.wrong_policy:
            policy[problem.decides] = problem.indptr[1:][problem.decides] - 1
        return attrs.evolve(answer, policy=policy, details={**answer.details, "exact": exact})


class ExactValueWrongPolicy(ExactLiar):
    name = "exact-value-wrong-policy"
    off = Fraction(0)
    wrong_policy = True


@pytest.mark.parametrize("name", ["gym_frozenlake4x4/2", "game_pig6/0", "qvbs_consensus.2_K2/3", "gym_taxi/0"])
def test_false_exact_claims_are_not_exact(name: str) -> None:
    case = reference_models.load(name, exact=True)
    problem = prepare(case.network, case.objective)
    # 1e-30 more is invisible to floats, so the answer is certified; it must not be called exact.
    assert solve_problem(problem, ExactLiar(), Run(), EPSILON).status is Status.CERTIFIED
    assert solve_problem(problem, ExactValueWrongPolicy(), Run(), EPSILON).status is Status.UNCERTIFIED


def test_refusals_are_few_and_of_the_hard_models_only() -> None:
    pairs = [(name, solver) for name, solvers in REFUSALS.items() for solver in solvers]
    others = [pair for pair in pairs if not pair[0].startswith("qvbs_haddad-monmege")]
    assert others == [("game_ec_bloated/0", "linear-programming")]
    assert len(pairs) <= 0.1 * len(reference_models.names()) * len(FLOAT_SOLVERS)


def test_an_interval_that_misses_is_noticed() -> None:
    case = reference_models.load("gym_frozenlake4x4/2")
    solution = solve_case(case, "value-iteration")
    shifted = case.row(solution.nodes.lowers) + 1e-3, case.row(solution.nodes.uppers) + 1e-3
    assert len(wrong_states(case, *shifted)) > 10


def test_the_liars_of_haddad_and_monmege_are_not_believed() -> None:
    """Plain value iteration and an LP answer far from 7/10 there, with a tiny residual; neither may pass."""
    case = reference_models.load("qvbs_haddad-monmege_N100/0")
    problem = prepare(case.network, case.objective)

    class Plain:
        name = "plain"
        features = load_solver("value-iteration").features

        @classmethod
        def available(cls) -> bool:
            return True

        def solve(self, problem: Network, run: Run) -> Candidate:
            import numpy as np

            value = np.where(problem.kind == 0, problem.payoff, 0.0)
            starts = problem.indptr[:-1]
            for _ in range(200):
                edges = problem.reward + value[problem.dst]
                mean = np.add.reduceat(np.append(edges * problem.weight, 0.0), starts)
                best = np.maximum.reduceat(np.append(edges, -np.inf), starts)
                value = np.where(problem.kind == 3, mean, np.where(problem.kind == 1, best, problem.payoff))
            first = np.where(problem.decides, starts, -1)
            return Candidate(value, first)

    solution = solve_problem(problem, Plain(), Run(), EPSILON)
    assert solution.status is Status.UNCERTIFIED
    assert abs(case.row(solution.nodes.values)[0] - 0.5) > 0.4 or not solution.proved


@pytest.mark.parametrize("payoff", [Fraction(1, 3), Fraction(2, 3), Fraction(-1, 7), Fraction(10**17 + 1, 3)])
@pytest.mark.parametrize("sense", ["max", "min"])
def test_a_payoff_that_no_float_is_lies_in_its_interval(payoff: Fraction, sense: str) -> None:
    """Even where a play ends at once, and nothing is added up that would need room."""
    game = Game.of(start="over", node=lambda state: end(payoff))
    for objective, horizon in ((Total(sense=sense), None), (Total(sense=sense), 2)):
        found = solve(game, objective, horizon=horizon)
        assert found.status is Status.CERTIFIED
        assert Fraction(found.lower()) <= payoff <= Fraction(found.upper())
    value = evaluate(game, Policy.uniform(explore(game)))
    assert value.proved
    assert Fraction(value.lower()) <= payoff <= Fraction(value.upper())
