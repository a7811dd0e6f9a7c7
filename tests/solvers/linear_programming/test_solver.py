"""The linear programming solver against hand-made values, policy enumeration and plain linear algebra."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers.policy_enumeration import CHANCE, END, MAX, MIN, collecting, network, transition
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice.backend import Feature, Run, Solver
from mdpdice.errors import (
    GameError,
    LPInfeasibleError,
    LPUnboundedError,
    NotConvergedError,
    PluginError,
    SolveInterrupted,
    UnsupportedError,
)
from mdpdice.solvers.linear_programming import LinearProgramming, blocks, pulp_adapter

FORMS = ["primal", "dual"]


def solve(problem, **parameters):
    return LinearProgramming(**parameters).solve(problem, Run())


def policy_value(problem, policy):
    """Value of a policy; nodes that the play never leaves and that never pay are worth 0."""
    P, r = transition(problem, policy)
    if problem.discount < 1:
        return np.linalg.solve(np.eye(len(P)) - P, r)
    reach = np.linalg.matrix_power((P > 0) + np.eye(len(P)), len(P)) > 0
    lasting = (reach <= reach.T).all(axis=1) & (problem.kind != END)
    assert not r[lasting].any()
    P[lasting] = 0
    return np.linalg.solve(np.eye(len(P)) - P, r)


def enumerate_value(problem):
    """Best value of every node over all policies."""
    best = np.max if not (problem.kind == MIN).any() else np.min
    options = [problem.edges(i) if problem.decides[i] else [-1] for i in range(problem.n_nodes)]
    return best([policy_value(problem, policy) for policy in itertools.product(*options)], axis=0)


def check(problem, answer, expected=None, tolerance=1e-9):
    """The value, the policy and the occupation measure of an answer fit each other, and the expected value."""
    scale = max(1.0, float(np.abs(answer.value).max()))
    assert answer.value.shape == answer.policy.shape == (problem.n_nodes,)
    assert np.isfinite(answer.value).all()
    source = problem.source[answer.policy[problem.decides]]
    assert (source == np.flatnonzero(problem.decides)).all()
    assert (answer.policy[~problem.decides] == -1).all()
    np.testing.assert_allclose(policy_value(problem, answer.policy), answer.value, rtol=0, atol=tolerance * scale)
    if expected is not None:
        np.testing.assert_allclose(answer.value, expected, rtol=0, atol=tolerance * scale)
    occupation = answer.details["occupation"]
    assert occupation.shape == (problem.n_edges,)
    factor = np.where(problem.step, float(problem.discount), 1.0)
    earned = occupation @ (problem.reward + factor * problem.payoff[problem.dst])
    if problem.kind[problem.start] != END:
        assert earned == pytest.approx(answer.value[problem.start], abs=tolerance * scale)


STOP_OR_GO = network([(MAX, [(2,), (1,)]), (CHANCE, [(3, 0, 0.5), (4, 0, 0.5)]), (END, 2), (END, 6), (END, 0)])


def discounted(kind=MAX, sense=1):
    """The two-state example of many textbooks: A stays for 0 or goes for 1, B goes back for 2."""
    return network(
        [
            (kind, [(2, sense * 1), (0, 0, 1.0, 1, True)]),
            (kind, [(0, sense * 2, 1.0, 1, True)]),
            (CHANCE, [(0, 0, 0.5, 1, True), (1, 0, 0.5, 1, True)]),
        ],
        discount=Fraction(9, 10),
    )


@pytest.mark.parametrize("form", FORMS)
class TestExactAnswers:
    def test_stop_or_go(self, form):
        answer = solve(STOP_OR_GO, form=form)
        check(STOP_OR_GO, answer, [3, 3, 2, 6, 0])
        assert answer.policy.tolist() == [1, -1, -1, -1, -1]
        assert answer.details["occupation"].tolist() == [0, 1, 0.5, 0.5]

    def test_discounted_cycle(self, form):
        answer = solve(discounted(), form=form)
        check(discounted(), answer, [380 / 29, 400 / 29, 380 / 29 - 1], tolerance=1e-14)
        assert answer.policy.tolist() == [0, 2, -1]
        # From A: visits a = 1 + 0.45 a + 0.9 b, b = 0.45 a.
        a = 1 / (1 - 0.45 - 0.9 * 0.45)
        np.testing.assert_allclose(answer.details["occupation"], [a, 0, 0.45 * a, a / 2, a / 2], rtol=1e-13)

    def test_minimiser(self, form):
        answer = solve(discounted(MIN, -1), form=form)
        check(discounted(MIN, -1), answer, [-380 / 29, -400 / 29, 1 - 380 / 29], tolerance=1e-14)
        assert answer.policy.tolist() == [0, 2, -1]

    def test_every_node_is_exact_also_off_the_optimal_path(self, form):
        problem = network(
            [
                (MAX, [(4,), (1,)]),
                (MAX, [(2, -1), (5,)]),
                (MAX, [(3,), (6,)]),
                (END, 7.5),
                (END, 100),
                (END, 1),
                (END, 8),
            ]
        )
        check(problem, solve(problem, form=form), [100, 7, 8, 7.5, 100, 1, 8], tolerance=1e-14)

    def test_gamblers_ruin_mixes_slowly(self, form):
        """A fair walk on 0..200 that pays 1 at 200; it may also stop at once for k / 250."""
        n = 200
        nodes = [(END, 0), (END, 1)]
        for k in range(1, n):
            down = 0 if k == 1 else 2 * k - 2
            up = 1 if k == n - 1 else 2 * k + 2
            nodes += [(MAX, [(2 * k + 1,), (0, k / 250)]), (CHANCE, [(down, 0, 0.5), (up, 0, 0.5)])]
        problem = network(nodes, start=2)
        answer = solve(problem, form=form)
        exact = np.array([0, 1, *np.repeat(np.arange(1, n), 2) / n])
        check(problem, answer, exact, tolerance=1e-13)

    def test_an_end_at_the_start(self, form):
        answer = solve(network([(END, 2.5)]), form=form)
        assert answer.value.tolist() == [2.5]
        assert answer.policy.tolist() == [-1]
        assert answer.iterations == 0

    def test_chance_alone_with_a_cycle(self, form):
        problem = network([(CHANCE, [(1, 1, 0.5), (0, 1, 0.5)]), (CHANCE, [(0, 0, 0.25), (2, 0, 0.75)]), (END, 3)])
        # a = 1 + a/2 + b/2, b = a/4 + 9/4
        check(problem, solve(problem, form=form), [17 / 3, 11 / 3, 3], tolerance=1e-14)

    @pytest.mark.parametrize("small", [1e-12, -1e-12])
    def test_differences_below_the_solvers_tolerance(self, form, small):
        problem = network([(MAX, [(1,), (2,)]), (END, 1), (END, 1 + small)])
        answer = solve(problem, form=form)
        assert answer.value[0] == max(1, 1 + small)
        assert answer.policy[0] == (small > 0)

    def test_rewards_of_very_different_size(self, form):
        problem = network(
            [
                (MAX, [(1,), (2, -1e9)]),
                (MAX, [(3, 3e-6), (4, 2e-6)]),
                (MAX, [(3, 3e9), (5,)]),
                (END, 0),
                (END, 1.5e-6),
                (END, -1e9),
            ]
        )
        answer = solve(problem, form=form, block=100)
        assert answer.value.tolist() == [2e9, 3.5e-6, 3e9, 0, 1.5e-6, -1e9]

    def test_ties_go_to_an_option_that_ends(self, form):
        """Going round in a circle is as good as leaving, but it must not be the policy."""
        problem = network([(MAX, [(1, 1), (2,)]), (MAX, [(0, -1), (2, -1)]), (END, 5)])
        answer = solve(problem, form=form)
        check(problem, answer, [5, 4, 5])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sense", [1, -1])
class TestEndlessPlay:
    """A play that never ends is worth what it collected: staying for nothing is worth 0."""

    def kind(self, sense):
        return MAX if sense == 1 else MIN

    def test_staying_beats_a_bad_end(self, form, sense):
        problem = network([(self.kind(sense), [(1, -sense), (0,)]), (END, 0)])
        answer = solve(problem, form=form)
        check(problem, answer, [0, 0])
        assert answer.policy[0] == 1

    def test_a_good_end_beats_staying(self, form, sense):
        k = self.kind(sense)
        problem = network([(k, [(1,), (2, -sense)]), (k, [(0,), (2,)]), (END, 3 * sense)])
        answer = solve(problem, form=form)
        check(problem, answer, [3 * sense, 3 * sense, 3 * sense])
        assert answer.policy.tolist() == [0, 3, -1]

    def test_staying_together_with_chance(self, form, sense):
        k = self.kind(sense)
        problem = network(
            [
                (k, [(4, -4 * sense), (1,)]),
                (CHANCE, [(2, 0, 0.5), (3, 0, 0.5)]),
                (k, [(4, -sense), (0,)]),
                (k, [(0,), (4, -2 * sense)]),
                (END, 0),
            ]
        )
        answer = solve(problem, form=form)
        check(problem, answer, np.zeros(5))
        assert answer.policy.tolist() == [1, -1, 5, 6, -1]

    def test_a_paying_chance_node_is_no_place_to_stay(self, form, sense):
        problem = network(
            [(self.kind(sense), [(1,), (2, -7 * sense)]), (CHANCE, [(0, -sense, 0.5), (0, -2 * sense, 0.5)]), (END, 0)]
        )
        answer = solve(problem, form=form)
        assert answer.value.tolist() == [-7 * sense, -8.5 * sense, 0]
        assert answer.policy[0] == 1

    def test_chance_nodes_that_nobody_can_leave(self, form, sense):
        problem = network(
            [(self.kind(sense), [(1, sense), (3, 0)]), (CHANCE, [(2,)]), (CHANCE, [(1, 0, 0.5), (2, 0, 0.5)]), (END, 0)]
        )
        check(problem, solve(problem, form=form), [sense, 0, 0, 0])

    def test_collecting_without_bound(self, form, sense):
        k = self.kind(sense)
        problem = network([(k, [(1,), (3, 50 * sense)]), (k, [(2, sense), (3,)]), (k, [(1, -sense / 2)]), (END, 0)])
        with pytest.raises(LPUnboundedError, match="without bound") as caught:
            solve(problem, form=form)
        assert (caught.value.state, caught.value.action) == (1, 0)
        assert caught.value.code == "LPUnbounded"

    def test_collecting_from_chance_alone(self, form, sense):
        problem = network([(self.kind(sense), [(1,)]), (CHANCE, [(1, sense)])])
        with pytest.raises(LPUnboundedError) as caught:
            solve(problem, form=form)
        assert (caught.value.state, caught.value.action) == (1, None)

    def test_paying_for_ever(self, form, sense):
        k = self.kind(sense)
        problem = network([(k, [(1,), (3, -50 * sense)]), (k, [(2, -sense)]), (k, [(1, sense / 2)]), (END, 0)])
        with pytest.raises(LPInfeasibleError, match="no play ends") as caught:
            solve(problem, form=form)
        assert caught.value.state in {1, 2}
        assert caught.value.code == "LPInfeasible"


class TestUnsupported:
    def test_horizon(self):
        with pytest.raises(UnsupportedError, match="a horizon.*backward-induction"):
            solve(network([(MAX, [(1,)]), (END, 1)], horizon=3))

    def test_unknown_solver(self):
        with pytest.raises(UnsupportedError, match="'Simplex2000' is not a solver of PuLP.*HiGHS"):
            solve(STOP_OR_GO, solver="Simplex2000")

    def test_solver_that_is_not_installed(self):
        with pytest.raises(UnsupportedError, match="'MOSEK' is known to PuLP but cannot run here.*HiGHS"):
            solve(STOP_OR_GO, solver="MOSEK")

    def test_component_above_the_limit(self):
        problem = discounted()
        with pytest.raises(UnsupportedError, match=r"max_size=1\b.*value-iteration") as caught:
            solve(problem, max_size=1)
        assert (caught.value.value, caught.value.limit) == (2, 1)
        # The limit is on components, not on networks.
        assert solve(STOP_OR_GO, max_size=1).value[0] == 3

    def test_parameters_are_checked(self):
        for wrong in ({"form": "both"}, {"block": 0}, {"time_limit": 0}, {"max_size": 0}, {"solver": 3}):
            with pytest.raises(GameError, match="it is "):
                LinearProgramming(**wrong)


class TestProtocol:
    def test_is_a_solver(self):
        assert isinstance(LinearProgramming(), Solver)
        assert LinearProgramming.available()
        assert LinearProgramming.name == "linear-programming"
        assert LinearProgramming.features == {Feature.CYCLIC, Feature.DISCOUNT, Feature.TWO_PLAYER}
        assert LinearProgramming() == LinearProgramming()

    def test_details(self):
        details = solve(discounted()).details
        assert details["form"] == "primal"
        assert "HiGHS" in details["solver"]
        assert "PuLP" in details["solver"]
        assert details["programs"] == 1
        assert (details["variables"], details["constraints"], details["nonzeros"]) == (2, 3, 5)
        assert details["violation"] == 0

    def test_progress(self):
        told = []
        run = Run(progress=lambda phase, numbers: told.append((phase, dict(numbers))))
        LinearProgramming(block=1).solve(collecting(5), run)
        assert told[-1] == ("solve", {"done": 5, "total": 5})
        assert len(told) == 5

    def test_cancelled_between_blocks(self):
        run = Run(progress=lambda phase, numbers: run.cancel.set())
        with pytest.raises(SolveInterrupted):
            LinearProgramming(block=1).solve(collecting(5), run)

    def test_deadline(self):
        with pytest.raises(SolveInterrupted, match="deadline"):
            LinearProgramming().solve(collecting(5), Run(deadline=time.monotonic() - 1))

    @pytest.mark.parametrize("solver", pulp_adapter.available_solvers())
    def test_time_limit(self, solver):
        with pytest.raises(NotConvergedError, match="time_limit=1e-09") as caught:
            solve(discounted(), time_limit=1e-9, solver=solver)
        assert caught.value.limit == 1e-9


@st.composite
def problems(draw):
    """Small networks in which every policy stops, or is discounted, or may stay for nothing."""
    discount = draw(st.sampled_from([Fraction(1), Fraction(1), Fraction(9, 10), Fraction(1, 2)]))
    decider = draw(st.sampled_from([MAX, MIN]))
    n = draw(st.integers(1, 6))
    free = draw(st.booleans())
    number = st.sampled_from([0, 0, 1, -1, 0.5, -2.25, 3])
    nodes = []
    choices = 1
    for i in range(n):
        kind = draw(st.sampled_from([decider, decider, CHANCE]))
        count = draw(st.integers(1, 3))
        if kind != CHANCE and choices * count > 48:
            kind = CHANCE
        if kind != CHANCE:
            choices *= count
        weights = [1.0] * count
        if kind == CHANCE:
            parts = draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
            weights = [part / sum(parts) for part in parts]
        edges = []
        for k in range(count):
            if discount < 1 or free:
                target = draw(st.integers(0, n + 1))
            elif kind == CHANCE and k == 0:
                target = n + draw(st.integers(0, 1))  # a way out of every chance node ...
            elif kind == CHANCE:
                target = draw(st.integers(0, n + 1))
            else:
                target = draw(st.integers(i + 1, n + 1))  # ... and circles through chance nodes only
            reward = 0 if free and discount == 1 and target < n else draw(number)
            edges.append((target, reward, weights[k], 1, True))
        nodes.append((kind, edges))
    ends = [(END, draw(number)), (END, draw(number))]
    return network([*nodes, *ends], start=draw(st.integers(0, n - 1)), discount=discount)


@settings(max_examples=75, deadline=None, derandomize=True)
@given(problem=problems(), form=st.sampled_from(FORMS), block=st.sampled_from([1, 3, 1000]))
def test_agrees_with_policy_enumeration(problem, form, block):
    check(problem, solve(problem, form=form, block=block), enumerate_value(problem))


class TestThroughPulp:
    """How the solver uses the adapter; the adapter itself: test_pulp.py."""

    @pytest.mark.parametrize("solver", pulp_adapter.available_solvers())
    @pytest.mark.parametrize("form", FORMS)
    def test_every_solver_that_can_run(self, solver, form):
        answer = solve(discounted(), solver=solver, form=form)
        check(discounted(), answer, [380 / 29, 400 / 29, 380 / 29 - 1], tolerance=1e-12)
        assert solver in answer.details["solver"]

    @pytest.mark.parametrize("dual", [None, 0.0])
    def test_a_solver_without_duals(self, monkeypatch, dual):
        """Some command-line solvers give none, or wrong ones; the policy then comes from the tight rows."""
        real = pulp_adapter.solve

        def without(program, *args, **kwargs):
            answer = real(program, *args, **kwargs)
            return attrs.evolve(answer, dual=None if dual is None else dual * answer.dual)

        problem = network(
            [(MAX, [(1, 1), (2,)]), (MAX, [(0, -1), (3, 0)]), (CHANCE, [(0, 0, 0.5), (3, 0, 0.5)]), (END, 5)]
        )
        monkeypatch.setattr(pulp_adapter, "solve", without)
        answer = solve(problem)
        check(problem, answer, [6, 5, 5.5, 5])
        assert answer.details["refined"] == 0

    def test_duals_of_the_other_sign(self, monkeypatch):
        real = pulp_adapter.solve

        def negated(program, *args, **kwargs):
            answer = real(program, *args, **kwargs)
            return attrs.evolve(answer, dual=-answer.dual)

        monkeypatch.setattr(pulp_adapter, "solve", negated)
        answer = solve(discounted())
        check(discounted(), answer, [380 / 29, 400 / 29, 380 / 29 - 1])
        assert answer.details["refined"] == 0

    def test_a_solver_that_gives_up(self, monkeypatch):
        nothing = pulp_adapter.Answer(pulp_adapter.Outcome.UNCLEAR, np.full(2, np.nan), None)
        monkeypatch.setattr(pulp_adapter, "solve", lambda *args, **kwargs: nothing)
        with pytest.raises(NotConvergedError, match="no optimal basis"):
            solve(discounted())

    def test_a_solver_that_crashes(self, monkeypatch):
        import pulp

        def crash(self, *args, **kwargs):
            raise pulp.PulpSolverError("no licence")

        monkeypatch.setattr(pulp.HiGHS, "callSolver", crash)
        with pytest.raises(PluginError, match="'HiGHS' failed: no licence"):
            solve(discounted())

    def test_a_mixture_of_optimal_policies_is_no_circle(self):
        """Largest flows in a circle, small ones that leave it: the choice is to leave."""
        problem = network([(MAX, [(1,), (2,)]), (MAX, [(0,), (2,)]), (END, 5)])
        block = blocks.reduce_block(blocks.View.of(problem), np.array([0, 1]))
        flow = np.where(np.isin(block.edge, [0, 2]), 100.0, np.where(block.edge >= 0, 1.0, 0.0))
        row = blocks.choose(block, flow, cyclic=True)
        assert block.edge[row].tolist() == [1, 3]

    def test_nothing_is_printed(self):
        """HiGHS greets on standard output, where a caller may be writing JSON."""
        code = (
            "import numpy as np\n"
            "from mdpdice.backend import Run\n"
            "from mdpdice.networks.network import Network\n"
            "from mdpdice.solvers.linear_programming import LinearProgramming\n"
            "net = Network(kind=[1, 0, 0], indptr=[0, 2, 2, 2], dst=[1, 2], weight=[1, 1], reward=[0, 0],\n"
            "              sign=[1, 1], step=[0, 0], payoff=[0, 2, 3], start=0)\n"
            "print(LinearProgramming().solve(net, Run()).value[0])\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "3.0\n"
        assert done.stderr == ""
