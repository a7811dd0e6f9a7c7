"""The block programs of the linear programming solver: elimination, decomposition, occupation measure, size."""

from __future__ import annotations

import itertools
import threading
from fractions import Fraction

import numpy as np
import pytest
from helpers.policy_enumeration import CHANCE, END, MAX, collecting, network, transition

from mdpdice.backend import Run
from mdpdice.errors import SolveInterrupted
from mdpdice.networks.network import Network
from mdpdice.solvers.linear_programming import LinearProgramming, blocks
from mdpdice.solvers.linear_programming.solver import INTERIOR_POINT_FROM_VARIABLES

FORMS = ["primal", "dual"]


def solve(problem, **parameters):
    return LinearProgramming(**parameters).solve(problem, Run())


def check(problem, answer, expected=None, rtol=1e-12):
    """The value is that of the policy, and no option is better."""
    P, r = transition(problem, answer.policy)
    np.testing.assert_allclose(answer.value, np.linalg.solve(np.eye(len(P)) - P, r), rtol=rtol, atol=rtol)
    factor = np.where(problem.step, float(problem.discount), 1.0)
    worth = problem.reward + factor * answer.value[problem.dst]
    decision = problem.decides[problem.source]
    scale = np.abs(answer.value).max()
    assert (worth - answer.value[problem.source])[decision].max() <= rtol * scale
    if expected is not None:
        np.testing.assert_allclose(answer.value, expected, rtol=rtol, atol=rtol)


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
        [
            [(int(rng.integers(1, 12)), int(rng.integers(sizes))) for _ in range(rng.integers(1, 6))]
            for _ in range(menus)
        ]
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
        for problem in (collecting(30), random_discounted(40), farkle_like(8, menus=5, sizes=3)):
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
        problem = network([*nodes, shared, inline, (END, 0)])
        block = blocks.reduce_block(blocks.View.of(problem), np.arange(many + 2))
        assert block.variables.tolist() == list(range(many + 1))
        assert block.chance.tolist() == [many]
        assert block.rest.tolist() == [many + 1]
        # Rows v_i >= ...: to the inline node (two variables), the shared one (two), the end (one), node 0 (two);
        # the equality of the shared node; and, since nobody has to pay here, "stay" at every decision.
        assert block.matrix.nnz == (2 + 2 + 1) + (many - 1) * (2 + 2 + 1) + (1 + many) + many
        value = solve(problem).value
        np.testing.assert_allclose(value[: many + 2], [3] * (many + 1) + [2.25], rtol=1e-13)

    def test_nested_and_circular_chance_nodes(self):
        deep = blocks.NESTING + 5
        first, second, end = deep + 1, deep + 2, deep + 3
        nodes = [(MAX, [(1, -1), (end, -9)])]
        nodes += [(CHANCE, [(i + 1, 0, 0.5), (0, 0, 0.5)]) for i in range(1, deep + 1)]
        nodes += [(CHANCE, [(second, 0, 0.5), (0, 0, 0.5)]), (CHANCE, [(first, 1, 0.5), (end, 0, 0.5)]), (END, 3)]
        problem = network(nodes)
        block = blocks.reduce_block(blocks.View.of(problem), np.arange(end))
        # The circle of two is kept, and what leads to it.
        assert set(block.chance.tolist()) >= {first, second}
        answer = solve(problem)
        check(problem, answer)
        assert answer.value[0] == -6  # the way through all of them takes about 2**deep attempts

    def test_chance_nodes_in_a_row_are_eliminated_level_by_level(self):
        deep = 20
        nodes = [(MAX, [(1, 1), (deep + 1, 0)])]
        nodes += [(CHANCE, [(i + 1, 0, 0.75), (0, 0, 0.25)]) for i in range(1, deep)]
        problem = network([*nodes, (CHANCE, [(deep + 1, 0, 0.5), (0, 0, 0.5)]), (END, 3)])
        block = blocks.reduce_block(blocks.View.of(problem), np.arange(deep + 1))
        assert block.variables.tolist() == [0]
        answer = solve(problem)
        check(problem, answer)
        # One attempt succeeds with probability (3/4)**19 / 2, and pays 1 in any case.
        assert answer.value[0] == pytest.approx(3 + 2 * (4 / 3) ** 19, rel=1e-12)
        assert answer.details["occupation"][0] == pytest.approx(2 * (4 / 3) ** 19, rel=1e-12)

    def test_dominated_options_are_dropped(self):
        problem = network(
            [(MAX, [(1, 1), (2, 5), (1, 7), (2,), (3, 0), (1, 7)]), (MAX, [(3,), (0, -9)]), (END, 2), (END, 1)]
        )
        view = blocks.View.of(problem)
        block = blocks.reduce_block(view, np.array([0, 1]))
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


def walk(n):
    """A walk on 1..n-1 until it leaves; a fair step pays 1, one that leans to the left 1.01."""
    nodes = [(END, 0), (END, 0)]
    for k in range(1, n):
        here = 3 * k - 1
        down = 0 if k == 1 else here - 3
        up = 1 if k == n - 1 else here + 3
        nodes += [
            (MAX, [(here + 1, 1), (here + 2, 1.01)]),
            (CHANCE, [(down, 0, 0.5), (up, 0, 0.5)]),
            (CHANCE, [(down, 0, 0.6), (up, 0, 0.4)]),
        ]
    return network(nodes, start=2)


@pytest.mark.parametrize("form", FORMS)
class TestLargeComponents:
    """From `INTERIOR_POINT_FROM_VARIABLES` variables on, HiGHS gets to try its interior point method."""

    def test_a_random_process(self, form):
        problem = random_discounted(INTERIOR_POINT_FROM_VARIABLES + 100)
        answer = solve(problem, form=form)
        assert answer.iterations < 100, "the simplex method takes more"
        check(problem, answer, rtol=1e-13)

    def test_a_walk_that_mixes_slowly(self, form):
        problem = walk(INTERIOR_POINT_FROM_VARIABLES + 100)
        answer = solve(problem, form=form)
        check(problem, answer, rtol=1e-10)
        assert answer.value.max() > 90_000

    def test_cancelled_inside_the_solver(self, form):
        class Later(threading.Event):
            asked = 0

            def is_set(self):
                self.asked += 1
                return self.asked > 5

        run = Run(cancel=Later())
        with pytest.raises(SolveInterrupted, match="cancelled"):
            LinearProgramming(form=form).solve(walk(INTERIOR_POINT_FROM_VARIABLES + 100), run)
        # Asked once before the block, then by HiGHS, then once more for the error.
        assert run.cancel.asked == 7
