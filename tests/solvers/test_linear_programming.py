"""The linear programming back-end against hand-made values, policy enumeration and plain linear algebra."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mdpdice.backend import Feature, Run, Solver
from mdpdice.errors import (
    LPInfeasibleError,
    LPUnboundedError,
    NotConvergedError,
    PluginError,
    SolveInterrupted,
    UnsupportedError,
)
from mdpdice.network import Kind, Network
from mdpdice.solvers import _blocks, _pulp
from mdpdice.solvers.linear_programming import LinearProgramming

END, MAX, MIN, CHANCE = Kind.END, Kind.MAX, Kind.MIN, Kind.CHANCE
FORMS = ["primal", "dual"]


def network(nodes, *, start=0, discount=1, horizon=None, total=0):
    """Network from (END, payoff) and (kind, [edge, ...]); an edge is (target, reward, weight, step, sign)."""
    indptr, edges, payoff = [0], [], []
    for kind, rest in nodes:
        if kind == END:
            payoff.append(rest)
        else:
            payoff.append(0)
            for edge in rest:
                full = tuple(edge) + (0, 1.0, False, 1)[len(edge) - 1 :]
                edges.append(full)
        indptr.append(len(edges))
    dst, reward, weight, step, sign = (list(column) for column in zip(*edges, strict=True)) if edges else ([],) * 5
    return Network(
        kind=[kind for kind, _ in nodes],
        indptr=indptr,
        dst=dst,
        weight=weight,
        reward=reward,
        sign=sign,
        step=step,
        payoff=payoff,
        start=start,
        discount=discount,
        horizon=horizon,
        total=total,
    )


def solve(problem, **parameters):
    return LinearProgramming(**parameters).solve(problem, Run())


def transition(problem, policy):
    """Discounted transition matrix and mean gain of a policy, by plain loops."""
    n = problem.n_nodes
    P, r = np.zeros((n, n)), np.zeros(n)
    for i in range(n):
        if problem.kind[i] == END:
            r[i] = problem.payoff[i]
        edges = [policy[i]] if problem.decides[i] else problem.edges(i)
        for e in edges:
            g = float(problem.discount) if problem.step[e] else 1.0
            P[i, problem.dst[e]] += problem.weight[e] * g
            r[i] += problem.weight[e] * problem.reward[e]
    return P, r


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
            (kind, [(2, sense * 1), (0, 0, 1.0, True)]),
            (kind, [(0, sense * 2, 1.0, True)]),
            (CHANCE, [(0, 0, 0.5, True), (1, 0, 0.5, True)]),
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
            [(MAX, [(4,), (1,)]), (MAX, [(2, -1), (5,)]), (MAX, [(3,), (6,)]), (END, 7.5), (END, 100), (END, 1), (END, 8)]
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

    def test_probability_zero_is_no_way_out(self, form):
        problem = network([(MAX, [(1, -1), (2,)]), (CHANCE, [(0, 0, 1.0), (3, 0, 0.0)]), (END, -5), (END, 100)])
        answer = solve(problem, form=form)
        assert answer.value[[0, 1]].tolist() == [-5, -5]
        assert answer.policy[0] == 1

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
    def test_two_players(self):
        both = network([(MAX, [(1,), (2,)]), (MIN, [(2,)]), (END, 1)])
        passing = network([(MAX, [(1, 0, 1.0, False, -1)]), (END, 1)])
        for problem in (both, passing):
            with pytest.raises(UnsupportedError, match="two players.*value-iteration") as caught:
                solve(problem)
            assert caught.value.value is Feature.TWO_PLAYER

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
            with pytest.raises((ValueError, TypeError)):
                LinearProgramming(**wrong)


class TestProtocol:
    def test_is_a_solver(self):
        assert isinstance(LinearProgramming(), Solver)
        assert LinearProgramming.available()
        assert LinearProgramming.name == "linear-programming"
        assert LinearProgramming.features == {Feature.CYCLIC, Feature.DISCOUNT}
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
        LinearProgramming(block=1).solve(chain(5), run)
        assert told[-1] == ("solve", {"done": 5, "total": 5})
        assert len(told) == 5

    def test_cancelled_between_blocks(self):
        run = Run(progress=lambda phase, numbers: run.cancel.set())
        with pytest.raises(SolveInterrupted):
            LinearProgramming(block=1).solve(chain(5), run)

    def test_deadline(self):
        with pytest.raises(SolveInterrupted, match="deadline"):
            LinearProgramming().solve(chain(5), Run(deadline=time.monotonic() - 1))

    @pytest.mark.parametrize("solver", _pulp._available())
    def test_time_limit(self, solver):
        with pytest.raises(NotConvergedError, match="time_limit=1e-09") as caught:
            solve(random_discounted(50), time_limit=1e-9, solver=solver)
        assert caught.value.limit == 1e-9


def chain(n):
    """Decisions 0..n-1: end for 0.5, or go on for 1; the last one ends for 1 or 2."""
    nodes = [(MAX, [(n, 0.5), (i + 1, 1)]) for i in range(n - 1)]
    return network([*nodes, (MAX, [(n, 1), (n, 2)]), (END, 0)])


def random_discounted(n, seed=0, actions=3, branches=3, discount=Fraction(95, 100)):
    """Strongly connected discounted process, every choice an inline chance node."""
    rng = np.random.default_rng(seed)
    m = n * actions
    target = rng.integers(0, n, (m, branches))
    target[::actions, 0] = (np.arange(n) + 1) % n
    weight = rng.dirichlet(np.ones(branches), m)
    kind = np.concatenate((np.full(n, MAX), np.full(m, CHANCE)))
    indptr = np.concatenate((np.arange(n) * actions, m + np.arange(m + 1) * branches))
    reward = np.concatenate((rng.normal(size=m), np.zeros(m * branches)))
    return Network(
        kind=kind,
        indptr=indptr,
        dst=np.concatenate((n + np.arange(m), target.ravel())),
        weight=np.concatenate((np.ones(m), weight.ravel())),
        reward=reward,
        sign=np.ones(m + m * branches),
        step=np.arange(m + m * branches) >= m,
        payoff=np.zeros(n + m),
        start=0,
        discount=discount,
    )


def farkle_like(levels, menus=40, sizes=6, seed=0):
    """A turn of a push-your-luck game: chance nodes (dice, points) shared by all menus of all levels.

    A chance node leads to an end (bust) or to one of its menus; a menu has some (gain, dice left), each of
    which can be banked or kept.
    """
    rng = np.random.default_rng(seed)
    offers = [
        [[(int(rng.integers(1, 12)), int(rng.integers(sizes))) for _ in range(rng.integers(1, 6))] for _ in range(menus)]
        for _ in range(sizes)
    ]
    odds = [rng.dirichlet(np.ones(menus + 1)) for _ in range(sizes)]
    per_level = sizes * (1 + menus)
    end = levels * per_level

    def roll(points, dice):
        return points * per_level + dice * (1 + menus)

    nodes = []
    for points, dice in itertools.product(range(levels), range(sizes)):
        here = roll(points, dice)
        fates = [(end, 0, odds[dice][0])]
        nodes.append((CHANCE, fates + [(here + 1 + k, 0, odds[dice][k + 1]) for k in range(menus)]))
        for menu in offers[dice]:
            bank = [(end, points + gain) for gain, _ in menu]
            keep = [(roll(points + gain, left),) for gain, left in menu if points + gain < levels]
            nodes.append((MAX, bank + keep))
    return network([*nodes, (END, 0)], start=roll(0, sizes - 1))


def sweep(problem, order):
    """Value of an acyclic problem by one plain sweep."""
    value = problem.payoff.copy()
    for i in order:
        if problem.kind[i] == END:
            continue
        edges = slice(problem.indptr[i], problem.indptr[i + 1])
        worth = problem.reward[edges] + value[problem.dst[edges]]
        value[i] = problem.weight[edges] @ worth if problem.kind[i] == CHANCE else worth.max()
    return value


class TestBlocks:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("block", [1, 7, 100, 10**6])
    def test_the_block_size_changes_nothing(self, form, block):
        for problem in (chain(30), random_discounted(40), farkle_like(8, menus=5, sizes=3)):
            answer = solve(problem, form=form, block=block)
            reference = solve(problem)
            np.testing.assert_allclose(answer.value, reference.value, rtol=1e-13, atol=1e-13)
            np.testing.assert_allclose(
                answer.details["occupation"], reference.details["occupation"], rtol=1e-11, atol=1e-12
            )

    def test_a_shared_chance_node_is_kept_and_an_inline_one_is_not(self):
        many = 20
        nodes = [(MAX, [(0, -1), (many,), (many + 2, -i)]) for i in range(many)]
        shared = (CHANCE, [(i, 0, 1 / many) for i in range(many)])
        inline = (CHANCE, [(0, 0, 0.5), (1, 0, 0.25), (many + 2, 0, 0.25)])
        nodes[0] = (MAX, [(many + 1,), (many,), (many + 2, 3)])
        problem = network([*nodes, shared, inline, (END, 0)], discount=1)
        block = _blocks.reduce_block(_blocks.View.of(problem), np.arange(many + 2))
        assert block.variables.tolist() == list(range(many + 1))
        assert block.chance.tolist() == [many]
        assert block.rest.tolist() == [many + 1]
        # Rows v_i >= ...: to the inline node (two variables), the shared one (two), the end (one), node 0 (two);
        # the equality of the shared node; and, since nobody has to pay here, "stay" at every decision.
        assert block.matrix.nnz == (2 + 2 + 1) + (many - 1) * (2 + 2 + 1) + (1 + many) + many
        check(problem, solve(problem))

    def test_nested_and_circular_chance_nodes(self):
        deep = _blocks.NESTING + 5
        nodes = [(MAX, [(1, 1), (deep + 3, 0)])]
        nodes += [(CHANCE, [(i + 2, 0, 0.5), (0, 0, 0.5)]) for i in range(deep)]
        nodes += [(CHANCE, [(deep + 2, 0, 0.5), (0, 0, 0.5)]), (CHANCE, [(deep + 1, 1, 0.5), (deep + 3, 0, 0.5)])]
        problem = network([*nodes, (END, 3)], discount=1)
        problem = network([(MAX, [(1, -1), (deep + 3, 0)]), *nodes[1:], (END, 3)])
        check(problem, solve(problem), None)
        assert solve(problem).value[0] == 3

    def test_dominated_options_are_dropped(self):
        problem = network([(MAX, [(1, 1), (2, 5), (1, 7), (2,), (3, 0), (1, 7)]), (MAX, [(3,), (0, -9)]), (END, 2), (END, 1)])
        view = _blocks.View.of(problem)
        block = _blocks.reduce_block(view, np.array([0, 1]))
        # To node 1 the first of the two best, and of the ends the better one.
        assert sorted(block.edge[block.owner == 0].tolist()) == [1, 2]
        answer = solve(problem)
        check(problem, answer, [8, 1, 2, 1])
        assert answer.policy[0] == 2

    def test_occupation_by_plain_linear_algebra(self):
        for problem in (random_discounted(30, seed=4), farkle_like(10, menus=4, sizes=2, seed=5)):
            answer = solve(problem)
            P, _ = transition(problem, answer.policy)
            visits = np.linalg.solve(np.eye(len(P)) - P.T, np.eye(len(P))[problem.start])
            taken = ~problem.decides[problem.source]
            taken[answer.policy[problem.decides]] = True
            expected = np.where(taken, problem.weight * visits[problem.source], 0)
            np.testing.assert_allclose(answer.details["occupation"], expected, rtol=1e-10, atol=1e-12)
            check(problem, answer)

    def test_occupation_of_a_discounted_process_sums_to_the_horizon(self):
        """All decisions together are visited 1 / (1 - discount) times."""
        answer = solve(random_discounted(30, seed=6), form="dual")
        assert answer.details["occupation"][:90].sum() == pytest.approx(20, rel=1e-12)

    def test_a_push_your_luck_game_of_real_size(self):
        problem = farkle_like(120)
        assert (problem.kind == MAX).sum() == 28_800
        # From the last level to the first; menus lead to later levels, chance nodes to menus of their level.
        level = np.arange(problem.n_nodes) // (6 * 41)
        expected = sweep(problem, np.lexsort((problem.kind == CHANCE, -level)))
        answer = solve(problem)
        np.testing.assert_allclose(answer.value, expected, rtol=1e-13)
        assert answer.details["programs"] > 10
        assert answer.details["violation"] == 0


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
            edges.append((target, reward, weights[k], True))
        nodes.append((kind, edges))
    ends = [(END, draw(number)), (END, draw(number))]
    return network([*nodes, *ends], start=draw(st.integers(0, n - 1)), discount=discount)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(problem=problems(), form=st.sampled_from(FORMS), block=st.sampled_from([1, 3, 1000]))
def test_agrees_with_policy_enumeration(problem, form, block):
    check(problem, solve(problem, form=form, block=block), enumerate_value(problem))


class TestPulp:
    """The adapter: the same under both majors of PuLP."""

    #   min x + y,  x + y >= 2,  x - y = 1/2;  x = 5/4, y = 3/4, duals 1 and 0
    PROGRAM = _pulp.Program(
        maximise=False,
        cost=np.array([1.0, 1.0]),
        nonnegative=np.array([False, True]),
        matrix=csr_array(np.array([[1.0, 1.0], [1.0, -1.0]])),
        rhs=np.array([2.0, 0.5]),
        equal=np.array([False, True]),
    )

    @pytest.mark.parametrize("solver", _pulp._available())
    def test_optimal(self, solver):
        answer = _pulp.solve(self.PROGRAM, solver)
        assert answer.outcome is _pulp.Outcome.OPTIMAL
        np.testing.assert_allclose(answer.x, [1.25, 0.75], rtol=1e-12)
        np.testing.assert_allclose(answer.dual, [1, 0], atol=1e-12)

    @pytest.mark.parametrize("solver", _pulp._available())
    @pytest.mark.parametrize("form", FORMS)
    def test_every_solver_that_can_run(self, solver, form):
        problem = random_discounted(30)
        answer = solve(problem, solver=solver, form=form)
        check(problem, answer, solve(problem).value, tolerance=1e-12)
        assert solver in answer.details["solver"]

    @pytest.mark.parametrize("solver", _pulp._available())
    def test_infeasible_and_unbounded(self, solver):
        def change(**fields):
            program = self.PROGRAM
            names = ("maximise", "cost", "nonnegative", "matrix", "rhs", "equal")
            return _pulp.Program(**{name: fields.get(name, getattr(program, name)) for name in names})

        impossible = change(matrix=csr_array(np.array([[1.0, 1.0], [-1.0, -1.0]])), equal=np.zeros(2, dtype=bool))
        endless = change(maximise=True)
        unsolved = {_pulp.Outcome.INFEASIBLE, _pulp.Outcome.UNBOUNDED, _pulp.Outcome.UNCLEAR}
        assert _pulp.solve(impossible, solver).outcome in unsolved - {_pulp.Outcome.UNBOUNDED}
        assert _pulp.solve(endless, solver).outcome in unsolved - {_pulp.Outcome.INFEASIBLE}

    def big(self):
        rng = np.random.default_rng(1)
        n = 60
        return _pulp.Program(
            maximise=False,
            cost=np.ones(n),
            nonnegative=np.ones(n, dtype=bool),
            matrix=csr_array(rng.random((n, n))),
            rhs=rng.random(n),
            equal=np.zeros(n, dtype=bool),
        )

    def test_stopped_from_outside(self):
        asked = []
        answer = _pulp.solve(self.big(), stop=lambda: len(asked) > 3 or bool(asked.append(0)))
        assert answer.outcome is _pulp.Outcome.STOPPED
        assert answer.iterations < _pulp.solve(self.big()).iterations

    def test_ctrl_c_inside_the_solver(self):
        def interrupt():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            _pulp.solve(self.big(), stop=interrupt)

    def test_time_limit_is_not_optimal(self):
        """PuLP 3.3 calls a HiGHS run that hit its time limit optimal."""
        assert _pulp.solve(self.big(), time_limit=1e-9).outcome is _pulp.Outcome.STOPPED

    def test_cancelled_inside_the_solver(self):
        run = Run()
        threading.Timer(0.2, run.cancel.set).start()
        problem = random_discounted(2500, actions=6, branches=8, discount=Fraction(999, 1000))
        before = time.monotonic()
        with pytest.raises(SolveInterrupted):
            LinearProgramming().solve(problem, run)
        assert time.monotonic() - before < 20

    def test_a_solver_without_duals(self, monkeypatch):
        """Some command-line solvers give none; the policy then comes from the tight rows."""
        real = _pulp.solve

        def without(program, *args, **kwargs):
            answer = real(program, *args, **kwargs)
            return _pulp.Answer(answer.outcome, answer.x, None, answer.iterations)

        problem = network(
            [(MAX, [(1, 1), (2,)]), (MAX, [(0, -1), (3, 0)]), (CHANCE, [(0, 0, 0.5), (3, 0, 0.5)]), (END, 5)]
        )
        monkeypatch.setattr(_pulp, "solve", without)
        check(problem, solve(problem), [6, 5, 5.5, 5])

    def test_duals_of_the_other_sign(self, monkeypatch):
        real = _pulp.solve

        def negated(program, *args, **kwargs):
            answer = real(program, *args, **kwargs)
            return _pulp.Answer(answer.outcome, answer.x, -answer.dual, answer.iterations)

        monkeypatch.setattr(_pulp, "solve", negated)
        check(discounted(), solve(discounted()), [380 / 29, 400 / 29, 380 / 29 - 1])

    def test_a_solver_that_gives_up(self, monkeypatch):
        nothing = _pulp.Answer(_pulp.Outcome.UNCLEAR, np.full(2, np.nan), None)
        monkeypatch.setattr(_pulp, "solve", lambda *args, **kwargs: nothing)
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
        block = _blocks.reduce_block(_blocks.View.of(problem), np.array([0, 1]))
        flow = np.where(np.isin(block.edge, [0, 2]), 100.0, np.where(block.edge >= 0, 1.0, 0.0))
        row = _blocks.choose(block, flow, cyclic=True)
        assert block.edge[row].tolist() == [1, 3]

    def test_nothing_is_printed(self):
        """HiGHS greets on standard output, where a caller may be writing JSON."""
        code = (
            "import numpy as np\n"
            "from mdpdice.backend import Run\n"
            "from mdpdice.network import Network\n"
            "from mdpdice.solvers.linear_programming import LinearProgramming\n"
            "net = Network(kind=[1, 0, 0], indptr=[0, 2, 2, 2], dst=[1, 2], weight=[1, 1], reward=[0, 0], sign=[1, 1],\n"
            "              step=[0, 0], payoff=[0, 2, 3], start=0)\n"
            "print(LinearProgramming().solve(net, Run()).value[0])\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout == "3.0\n"
        assert done.stderr == ""
