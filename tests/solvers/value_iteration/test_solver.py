"""Value iteration against enumeration of policies, exact chains and known hard cases."""

import itertools
import threading
import time
from fractions import Fraction

import numpy as np
import pytest
from helpers.policy_enumeration import CHANCE, END, MAX, MIN, haddad_monmege, network
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice.backend import Run, Solver
from mdpdice.errors import GameError, NotConvergedError, SolveInterrupted
from mdpdice.networks.network import Kind, Network
from mdpdice.solvers.backward_induction import BackwardInduction
from mdpdice.solvers.value_iteration import ValueIteration
from mdpdice.solvers.value_iteration import solver as value_iteration

# --- References --------------------------------------------------------------------------------------


def chain(net, policy):
    """Matrix, rewards and payoffs of the chain that a policy leaves, in fractions; signs included."""
    n = net.n_nodes
    matrix = [[Fraction(0)] * n for _ in range(n)]
    gain = [net.exact_payoff(i) if net.kind[i] == END else Fraction(0) for i in range(n)]
    for i in range(n):
        edges = [policy[i]] if net.decides[i] else list(net.edges(i))
        row = [Fraction(1)] if net.decides[i] else net.row(i)
        for e, p in zip(edges, row, strict=True):
            gain[i] += p * net.exact_reward(e)
            factor = (net.discount if net.step[e] else 1) * int(net.sign[e])
            matrix[i][net.dst[e]] += p * factor
    return matrix, gain


def exact_value(net, policy):
    """Value of a policy under which every play stops, by elimination in fractions."""
    matrix, gain = chain(net, policy)
    n = net.n_nodes
    rows = [[(i == j) - matrix[i][j] for j in range(n)] + [gain[i]] for i in range(n)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(n):
            if i != k and rows[i][k]:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return [row[n] for row in rows]


def unfolded(net):
    """The same game without signs: node i for the player to move, node n + i for the other one.

    What the other one gets is the negative, his largest is a smallest: every sign has become a MIN node.
    """
    flip = {END: END, CHANCE: CHANCE, MAX: MIN, MIN: MAX}
    n = net.n_nodes
    nodes = []
    for side in (1, -1):
        for i in range(n):
            kind = Kind(net.kind[i])
            if kind == END:
                nodes.append((END, side * net.payoff[i]))
                continue
            edges = []
            for e in net.edges(i):
                there = side * net.sign[e]
                to = net.dst[e] + (0 if there == 1 else n)
                edges.append((to, side * net.reward[e], net.weight[e], 1, net.step[e]))
            nodes.append((kind if side == 1 else flip[kind], edges))
    return network(nodes, discount=net.discount)


def enumerated(net):
    """Value by trying every pure policy of both players, in floats."""
    game = unfolded(net) if (net.sign < 0).any() else net
    mine = [i for i in range(game.n_nodes) if game.kind[i] == MAX]
    other = [i for i in range(game.n_nodes) if game.kind[i] == MIN]
    best = np.full(game.n_nodes, -np.inf)
    for ours in itertools.product(*(game.edges(i) for i in mine)):
        worst = np.full(game.n_nodes, np.inf)
        for theirs in itertools.product(*(game.edges(i) for i in other)):
            policy = dict(zip(mine + other, ours + theirs, strict=True))
            matrix, gain = (np.array(x, dtype=float) for x in chain(game, policy))
            worst = np.minimum(worst, np.linalg.solve(np.eye(game.n_nodes) - matrix, gain))
        best = np.maximum(best, worst)
    return best[: net.n_nodes]


# --- Random networks ---------------------------------------------------------------------------------


@st.composite
def stopping_networks(draw, signs=(1, 1, -1)):
    """Cyclic networks in which every play stops or is discounted.

    Undiscounted, each decision leads to chance nodes and ends, and each chance node ends with
    probability 1/4 at least.  Discounted, anything goes, with a step on every edge of a decision.
    """
    discount = draw(st.sampled_from([1, 1, Fraction(1, 2), Fraction(9, 10)]))
    decisions = draw(st.integers(1, 3))
    chances = draw(st.integers(1, 2))
    end = decisions + chances
    nodes = []
    for _ in range(decisions):
        lowest = 0 if discount < 1 else decisions
        edge = st.tuples(
            st.integers(lowest, end + 1),
            st.integers(-3, 3),
            st.just(1.0),
            st.sampled_from(signs),
            st.just(discount < 1),
        )
        nodes.append((draw(st.sampled_from([MAX, MIN])), draw(st.lists(edge, min_size=1, max_size=2))))
    for c in range(chances):
        # With a discount, a cycle of chance nodes alone is not allowed.
        lowest = decisions + c + 1 if discount < 1 else 0
        others = st.one_of(st.integers(0, decisions - 1), st.integers(lowest, end + 1))
        edge = st.tuples(others, st.integers(-2, 2), st.just(0.25), st.sampled_from(signs), st.just(False))
        nodes.append((CHANCE, [*draw(st.lists(edge, min_size=3, max_size=3)), (end, 1, 0.25)]))
    nodes += [(END, draw(st.integers(-5, 5))), (END, 7)]
    return network(nodes, discount=discount)


@given(stopping_networks())
@settings(max_examples=60, deadline=None)
def test_values_bounds_and_policy_of_stopping_networks(net):
    answer = ValueIteration().solve(net, Run())
    want = enumerated(net)
    assert answer.value == pytest.approx(want, rel=1e-9, abs=1e-9)
    lower, upper = answer.details["lower"], answer.details["upper"]
    assert (upper - lower <= 1e-9 * np.maximum(1, np.abs(want))).all()
    # The value of an optimal policy, in fractions, lies between the bounds, to the last digit.
    exact = exact_value(net, answer.policy)
    assert [float(x) for x in exact] == pytest.approx(want, rel=1e-9, abs=1e-9)
    assert all(Fraction(a) <= x <= Fraction(b) for a, x, b in zip(lower, exact, upper, strict=True))
    assert ((answer.policy >= 0) == net.decides).all()
    assert (net.source[answer.policy[net.decides]] == np.flatnonzero(net.decides)).all()


@given(stopping_networks(), st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_a_coarse_tolerance_gives_coarse_bounds_that_hold(net, digits):
    answer = ValueIteration().solve(net, Run(tolerance=10.0**-digits))
    want = enumerated(net)
    lower, upper = answer.details["lower"], answer.details["upper"]
    assert (lower <= want + 1e-12 * (1 + abs(want))).all()
    assert (upper >= want - 1e-12 * (1 + abs(want))).all()
    assert (upper - lower <= 10.0**-digits * np.maximum(1, np.abs(answer.value))).all()


@st.composite
def staged_networks(draw):
    """Networks with a horizon: decisions lead anywhere, chance nodes onwards."""
    n = draw(st.integers(2, 7))
    nodes = []
    for i in range(n - 1):
        kind = draw(st.sampled_from([MAX, MIN, CHANCE, CHANCE]))
        count = draw(st.sampled_from([1, 2, 4]))
        edge = st.tuples(
            st.integers(i + 1 if kind == CHANCE else 0, n - 1),
            st.integers(-3, 3),
            st.just(1 / count if kind == CHANCE else 1.0),
            st.sampled_from([1, 1, -1]),
            st.booleans(),
        )
        nodes.append((kind, draw(st.lists(edge, min_size=count, max_size=count))))
    nodes.append((END, draw(st.integers(-4, 4))))
    return network(nodes, horizon=draw(st.integers(0, 5)))


@given(staged_networks())
@settings(max_examples=60, deadline=None)
def test_stages_of_a_horizon_are_those_of_backward_induction(net):
    # Two implementations of one sweep; backward induction is tested against fractions.
    want = BackwardInduction().solve(net, Run())
    answer = ValueIteration().solve(net, Run())
    assert answer.value.tolist() == want.value.tolist()
    assert answer.policy.tolist() == want.policy.tolist()
    assert (answer.details["lower"] <= want.value).all()
    assert (answer.details["upper"] >= want.value).all()
    assert np.max(answer.details["upper"] - answer.details["lower"]) < 1e-11


def test_within_a_stage_cycles_of_chance_nodes_are_iterated():
    # A decision takes 1 and goes to a coin that is tossed until it shows heads, for 3 a toss.
    net = network([(MAX, [(1, 1)]), (CHANCE, [(2, 3, 0.5), (0, 3, 0.5)]), (CHANCE, [(1,)])], horizon=2)
    answer = ValueIteration().solve(net, Run())
    # v_k(1) = 3 + v_k(1)/2 + v_k(0)/2 = 6 + v_k(0), v_k(0) = 1 + v_{k-1}(1).
    exact = np.array([[0, 6, 6], [7, 13, 13], [14, 20, 20]])
    assert answer.value == pytest.approx(exact, abs=1e-8)
    assert (answer.details["lower"] <= exact).all()
    assert (answer.details["upper"] >= exact).all()
    assert (answer.details["upper"] - answer.details["lower"] <= 1e-9 * np.maximum(1, exact)).all()


@pytest.mark.parametrize("tolerance", [1, 1e-2, 1e-4])
@pytest.mark.parametrize("seed", [0, 1])
def test_bounds_of_a_stage_carry_the_error_of_the_stages_before(seed, tolerance):
    # Six chance nodes lead to each other, and with 1/16 back to the decision: errors add up over 40 stages.
    inside = np.random.default_rng(seed).dirichlet(np.full(6, 0.4), size=6) * 0.9375
    rows = [[(j + 1, i, inside[i, j]) for j in range(6)] + [(0, 0, 0.0625)] for i in range(6)]
    net = network([(MAX, [(1, 1)]), *((CHANCE, row) for row in rows)], horizon=40)
    answer = ValueIteration().solve(net, Run(tolerance=tolerance))
    exact = np.zeros((41, 7))
    for k in range(41):
        exact[k, 0] = 1 + exact[k - 1, 1] if k else 0
        gain = inside.sum(axis=1) * np.arange(6) + 0.0625 * exact[k, 0]
        exact[k, 1:] = np.linalg.solve(np.eye(6) - inside, gain)
    error = np.abs(answer.value - exact).max(axis=1)
    assert error[-1] > 10 * error[0], "this case is meant to let errors add up"
    lower, upper = answer.details["lower"], answer.details["upper"]
    assert (lower <= exact + 1e-9).all()
    assert (upper >= exact - 1e-9).all()
    assert (upper - lower <= tolerance * np.maximum(1, exact)).all()


def test_a_closed_class_of_chance_nodes_in_a_stage_has_no_bounds():
    net = network([(MAX, [(1,), (2,)]), (CHANCE, [(1,)]), (END, -1)], horizon=1)
    answer = ValueIteration().solve(net, Run())
    assert answer.value.tolist() == [[0, 0, -1], [0, 0, -1]]
    assert "upper" not in answer.details


# --- Plays that never end ----------------------------------------------------------------------------


def test_a_greedy_tie_does_not_lead_around_in_a_circle():
    # Both options of 0 and of 1 are worth 5 in the end, but two of them only pass the play to and fro.
    net = network([(MAX, [(1,), (2,)]), (MAX, [(0,), (2,)]), (CHANCE, [(3, 0, 0.5), (2, 0, 0.5)]), (END, 5)])
    answer = ValueIteration().solve(net, Run())
    assert answer.value == pytest.approx(np.full(4, 5.0))
    edges = set(answer.policy[:2].tolist())
    assert edges & {1, 3}
    assert edges != {0, 2}
    assert "lower" not in answer.details
    assert "upper" not in answer.details


@st.composite
def endless_networks(draw):
    """One player, payoffs >= 0 at the ends, no rewards: the value is the largest expected payoff."""
    n = draw(st.integers(2, 6))
    nodes = []
    for _ in range(n):
        kind = draw(st.sampled_from([MAX, MAX, CHANCE]))
        count = 2 if kind == CHANCE else draw(st.integers(1, 3))
        edge = st.tuples(st.integers(0, n + 1), st.just(0), st.just(0.5 if kind == CHANCE else 1.0))
        nodes.append((kind, draw(st.lists(edge, min_size=count, max_size=count))))
    nodes += [(END, draw(st.integers(0, 3))), (END, 1)]
    return network(nodes)


def expected_payoff(net, policy):
    """Expected payoff when a play that never ends gets nothing."""
    matrix, gain = (np.array(x, dtype=float) for x in chain(net, policy))
    reaches = net.kind == END
    for _ in range(net.n_nodes):
        reaches = reaches | (matrix[:, reaches].sum(axis=1) > 0)
    matrix[~reaches] = 0
    return np.linalg.solve(np.eye(net.n_nodes) - matrix, gain)


def best_expected_payoff(net):
    """The best of all policies, by trying them."""
    decisions = np.flatnonzero(net.decides).tolist()
    best = np.zeros(net.n_nodes)
    for choice in itertools.product(*(net.edges(i) for i in decisions)):
        best = np.maximum(best, expected_payoff(net, dict(zip(decisions, choice, strict=True))))
    return best


@given(endless_networks())
@settings(max_examples=100, deadline=None)
def test_the_smallest_fixed_point_and_a_policy_that_is_worth_it(net):
    best = best_expected_payoff(net)
    answer = ValueIteration().solve(net, Run())
    assert answer.value == pytest.approx(best, abs=1e-9)
    assert expected_payoff(net, answer.policy) == pytest.approx(best, abs=1e-9)
    if "lower" in answer.details:
        assert (answer.details["lower"] <= best + 1e-12).all()
        assert (answer.details["upper"] >= best - 1e-12).all()


@pytest.mark.parametrize("seed", range(100))
def test_nothing_is_added_to_sweeps_where_a_play_may_stay(seed):
    # A jump beyond the smallest fixed point would not be taken back: the larger ones are fixed points too.
    rng = np.random.default_rng(seed)
    n = 5
    nodes = []
    for _ in range(n):
        if rng.random() < 0.5:
            nodes.append((MAX, [(int(j),) for j in rng.integers(0, n + 2, 2)]))
        else:
            weight = (1 + rng.multinomial(5, np.full(3, 1 / 3))) / 8
            nodes.append((CHANCE, list(zip(rng.integers(0, n + 2, 3), [0] * 3, weight, strict=True))))
    net = network([*nodes, (END, 0), (END, 1)])
    best = best_expected_payoff(net)
    answer = ValueIteration().solve(net, Run())
    assert answer.value == pytest.approx(best, abs=1e-9)
    assert expected_payoff(net, answer.policy) == pytest.approx(best, abs=1e-9)


def test_values_that_grow_for_ever_end_with_an_error():
    net = network([(MAX, [(0, 1), (1,)]), (END, 0)])
    with pytest.raises(NotConvergedError, match="raise max_sweeps") as caught:
        ValueIteration(max_sweeps=1000).solve(net, Run())
    assert caught.value.width == np.inf
    assert caught.value.iterations == 1000
    assert caught.value.partial.value[0] == 1000


# --- Hard and known cases ----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 10, 15])
def test_haddad_monmege(n):
    answer = ValueIteration().solve(haddad_monmege(n), Run())
    assert answer.value[0] == pytest.approx(0.7, abs=1e-9)
    assert answer.details["lower"][0] <= 0.7 <= answer.details["upper"][0]
    assert answer.details["upper"][0] - answer.details["lower"][0] <= 1e-9


@pytest.mark.parametrize("n", [25, 40, 60])
def test_haddad_monmege_beyond_floats_is_not_claimed(n):
    # Plain value iteration calls 0.0 converged for n = 60.
    answer = ValueIteration(max_sweeps=20_000).solve(haddad_monmege(n), Run(on_limit="partial"))
    if "lower" in answer.details:
        assert answer.details["lower"][0] <= 0.7 <= answer.details["upper"][0]
        assert answer.details["upper"][0] - answer.details["lower"][0] > 1e-9


def test_two_states_with_known_fractions():
    # A: go (1, to A or B with 1/2 each) or stay (0); B: back to A (2); discount 9/10.
    net = Network.from_choices([0, 2, 3], [0, 2, 3, 4], [0, 1, 0, 0], ["1/2", "1/2", 1, 1], [1, 0, 2], discount="9/10")
    answer = ValueIteration().solve(net, Run())
    assert answer.value[:2] == pytest.approx([380 / 29, 400 / 29], rel=1e-9)
    assert Fraction(answer.details["lower"][0]) <= Fraction(380, 29) <= Fraction(answer.details["upper"][0])


def test_a_payoff_that_no_float_equals_lies_within_the_bounds():
    net = Network.from_choices([0, 1, 1], [0, 2], [0, 1], ["1/3", "2/3"], [0], terminal={1: "1/3"})
    answer = ValueIteration().solve(net, Run())
    for node in (net.node_of(0), net.node_of(1)):
        low, high = Fraction(answer.details["lower"][node]), Fraction(answer.details["upper"][node])
        assert low <= Fraction(1, 3) <= high


def ring(n, leave, discount=1):
    """n chance nodes in a ring, each ending with probability `leave`; 1 for each move."""
    row = np.arange(n)
    dst = np.stack([(row + 1) % n, np.full(n, n)], axis=1).ravel()
    weight = np.tile([1 - leave, leave], n)
    return Network(
        kind=np.append(np.full(n, CHANCE), END),
        indptr=np.append(np.arange(n + 1) * 2, 2 * n),
        dst=dst,
        weight=weight,
        reward=np.ones(2 * n),
        sign=np.ones(2 * n),
        step=np.ones(2 * n),
        payoff=np.zeros(n + 1),
        start=0,
        discount=discount,
    )


def test_slow_components_are_shortened():
    # Two nodes that see each other 10,000 times: sweeps alone would need about 200,000.
    row = [(0, 1, 0.5 - 0.00005), (1, 1, 0.5 - 0.00005), (2, 1, 0.0001)]
    answer = ValueIteration().solve(network([(CHANCE, row), (CHANCE, row), (END, 0)]), Run())
    assert answer.value[0] == pytest.approx(10_000, rel=1e-9)
    assert answer.iterations < 500
    # And discounted: a state that may wander among three, 1 per step, worth 1 / (1 - 0.999).
    net = Network.from_choices(
        [0, 1, 2, 3], [0, 2, 4, 6], [0, 1, 1, 2, 2, 0], ["1/3", "2/3"] * 3, [1, 1, 1], discount="999/1000"
    )
    answer = ValueIteration().solve(net, Run())
    assert answer.value[:3] == pytest.approx(np.full(3, 1000.0), rel=1e-9)
    assert answer.iterations < 500


def test_a_million_nodes_in_a_chain_and_in_a_ring():
    n = 10**6
    line = Network(
        kind=np.append(np.ones(n - 1), 0),
        indptr=np.minimum(np.arange(n + 1), n - 1),
        dst=np.arange(1, n),
        weight=np.ones(n - 1),
        reward=np.ones(n - 1),
        sign=np.ones(n - 1),
        step=np.ones(n - 1),
        payoff=np.zeros(n),
        start=0,
    )
    answer = ValueIteration().solve(line, Run())
    assert (answer.value == np.arange(n - 1, -1, -1)).all()
    assert (answer.details["lower"] <= answer.value).all()
    answer = ValueIteration().solve(ring(n, 0.125), Run())
    assert np.abs(answer.value[:-1] - 8).max() < 1e-8


# --- Limits, progress, cancellation ------------------------------------------------------------------


def test_a_limit_of_sweeps_raises_or_gives_bounds_that_hold():
    # 32 sweeps bring the values of this ring of slow nodes nowhere near.
    row = [[(i, 0.6), ((i + 1) % 3, 0.35), (3, 0.05)] for i in range(3)]
    net = network([*((CHANCE, [(j, i + 1, p) for j, p in r]) for i, r in enumerate(row)), (END, 0)])
    exact = [float(x) for x in exact_value(net, {})]
    with pytest.raises(NotConvergedError, match="tolerance") as caught:
        ValueIteration(max_sweeps=8).solve(net, Run())
    error = caught.value
    partial = ValueIteration(max_sweeps=8).solve(net, Run(on_limit="partial"))
    for candidate in (error.partial, partial):
        assert (candidate.details["lower"] <= exact).all()
        assert (candidate.details["upper"] >= exact).all()
    assert error.width == np.max(error.partial.details["upper"] - error.partial.details["lower"])
    assert error.width > 1e-9
    assert error.iterations == error.partial.iterations >= 8
    assert ValueIteration().solve(net, Run()).value == pytest.approx(exact)


def test_a_limit_that_comes_before_any_bound():
    with pytest.raises(NotConvergedError) as caught:
        ValueIteration(max_sweeps=1).solve(haddad_monmege(15), Run())
    assert caught.value.width == np.inf
    assert caught.value.partial.details == {}


def test_sweeps_are_a_whole_number_above_zero():
    with pytest.raises(GameError, match="max_sweeps=0: it is a number of at least 1"):
        ValueIteration(max_sweeps=0)


def test_cancelling_stops_a_long_solve_with_what_it_has():
    # Never done: the values grow for ever.
    net = network([(MAX, [(0, 1), (1,)]), (END, 0)])
    ValueIteration(max_sweeps=10).solve(net, Run(on_limit="partial"))  # compile outside the clock
    cancel = threading.Event()
    told = []
    timer = threading.Timer(2, cancel.set)
    timer.start()
    began = time.perf_counter()
    run = Run(cancel=cancel, progress=lambda phase, numbers: told.append((phase, time.perf_counter())))
    with pytest.raises(SolveInterrupted, match="cancelled") as caught:
        ValueIteration(max_sweeps=2**62).solve(net, run)
    assert time.perf_counter() - began < 10
    # About five times a second, with allowance for a busy machine.
    assert len(told) >= 5
    assert {phase for phase, _ in told} == {"solve"}
    partial = caught.value.partial
    assert partial.value[0] > 1000
    assert partial.policy.tolist() == [0, -1]


def test_an_interrupted_solve_hands_over_bounds_that_hold(monkeypatch):
    net = ring(50, 1e-3)
    monkeypatch.setattr(value_iteration, "BUDGET", 100)
    looks = itertools.count(1)
    ValueIteration().solve(net, Run(progress=lambda phase, numbers: next(looks)))
    total = next(looks) - 1
    assert total >= 5
    with_bounds = 0
    # The last message says how wide the bounds are; with the one before, all is settled.
    for last in range(1, total - 1):
        looks, cancel = itertools.count(1), threading.Event()

        def stop_in_time(phase, numbers, looks=looks, cancel=cancel, last=last):
            if next(looks) == last:
                cancel.set()

        with pytest.raises(SolveInterrupted) as caught:
            ValueIteration().solve(net, Run(cancel=cancel, progress=stop_in_time))
        candidate = caught.value.partial
        assert candidate.value.shape == (51,)
        if candidate.details:
            with_bounds += 1
            assert candidate.details["lower"][0] <= 1000 <= candidate.details["upper"][0]
    assert with_bounds >= 1


def test_a_deadline_stops_a_solve_with_a_horizon():
    net = network([(MAX, [(0, 1), (1,)]), (END, 0)], horizon=50)
    with pytest.raises(SolveInterrupted, match="deadline") as caught:
        ValueIteration().solve(net, Run(deadline=time.monotonic() - 1))
    assert np.isnan(caught.value.partial.value).sum() == 0
    assert (caught.value.partial.policy[:, 0] == -1).all()


def test_protocol():
    assert isinstance(ValueIteration(), Solver)
    assert ValueIteration.available()
    assert ValueIteration(max_sweeps=7) == ValueIteration(max_sweeps=7)


def test_a_coarse_tolerance_does_not_stop_sweeps_without_bounds():
    """Waiting pays nothing and never ends, so no move tells how far the values still have to go."""
    net = Network(
        kind=[1, 3, 0], indptr=[0, 2, 4, 4], dst=[0, 1, 0, 2], weight=[1, 1, 0.999, 0.001], reward=[0] * 4,
        sign=[1] * 4, step=[1] * 4, payoff=[0, 0, 5], start=0,
    )  # fmt: skip
    value = ValueIteration().solve(net, Run(tolerance=1e-3)).value[0]
    assert 5 - 1e-8 < value <= 5
