"""The exact solver against trying all policies, against known values, and its parts against plain elimination."""

from __future__ import annotations

import random
import threading
import time
from fractions import Fraction

import attrs
import numpy as np
import pytest
from helpers import reference_models
from helpers.policy_enumeration import (
    CHANCE,
    END,
    MAX,
    MIN,
    best_value,
    guaranteed,
    haddad_monmege,
    network,
    networks,
    policies,
    solve_linear,
    ties,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mdpdice import Status, Total, solve
from mdpdice.backend import Feature, Run, Solver, calls_recorded
from mdpdice.errors import SolveInterrupted, TotalRewardUndefinedError, UnsupportedError
from mdpdice.games.farkle import KcdFarkle
from mdpdice.objectives.reductions import unroll
from mdpdice.solvers.exact import Exact, parts, rational
from mdpdice.solvers.policy_iteration import blocks
from mdpdice.solving.problem import prepare

HALF = Fraction(1, 2)
KINDS = {
    "one player, ends may pay": {"rewards": (0, 0, -1)},
    "one player, no rewards": {},
    "minimiser": {"kinds": (MIN,), "rewards": (0, 0, 1)},
    "discounted": {"discount": Fraction(2, 3), "rewards": (0, 1, -2)},
    "stopping, two players": {"kinds": (MAX, MIN), "rewards": (0, 1, -2), "stopping": True},
    "endless, two players": {"kinds": (MAX, MIN)},
    "paying, two players": {"kinds": (MAX, MIN), "rewards": (0, 0, 1, -1)},
    "discounted, two players": {"kinds": (MAX, MIN), "discount": HALF, "rewards": (0, 1, -1)},
    "pass_to": {"signs": True},
    "pass_to, paying": {"signs": True, "rewards": (0, 0, 1, -1)},
    "pass_to, discounted": {"signs": True, "discount": Fraction(3, 4), "rewards": (0, 2, -1)},
}
MOST = 150
"""Pairs of policies to try."""


def exact(net, **fields):
    return Exact().solve(net, Run(**fields))


@pytest.mark.parametrize("kind", KINDS)
def test_values_policies_and_ties_by_trying_all_policies(kind):
    compared = 0

    @given(networks(**KINDS[kind]))
    @settings(max_examples=25, deadline=None)
    def compare(net):
        nonlocal compared
        assume(policies(net) <= MOST)
        best = best_value(net)
        assume(best is not None)
        if any(abs(x) == float("inf") for x in best):
            with pytest.raises(UnsupportedError, match="inf"):
                exact(net)
            return
        found = exact(net)
        assert found.details["exact"] == best
        assert found.value.tolist() == [float(x) for x in best]
        assert guaranteed(net, found.policy) == (best, best)
        assert (found.details["ties"] == ties(net, best)).all()
        compared += 1

    compare()
    assert compared >= 6


@given(networks(kinds=(MAX, MIN), signs=True, rewards=(0, 1, -2), discount=HALF), st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_every_stage_of_a_horizon_equals_the_unrolled_network(net, horizon):
    for discount in (net.discount, 1):
        staged = attrs.evolve(net, discount=discount, horizon=horizon)
        flat = unroll(staged)
        try:
            expected = exact(flat.network)
        except (TotalRewardUndefinedError, UnsupportedError):  # a circle of chance nodes that pay
            with pytest.raises((TotalRewardUndefinedError, UnsupportedError)):
                exact(staged)
            continue
        found = exact(staged)
        n = net.n_nodes
        rows = [expected.details["exact"][k * n : (k + 1) * n] for k in range(horizon + 1)]
        assert found.details["exact"] == rows
        assert found.value.shape == found.policy.shape == (horizon + 1, n)
        assert (found.policy[0] == -1).all()
        assert (flat.policy(expected.policy) == found.policy).all()
        assert found.details["ties"].shape == (horizon + 1, net.n_edges)
        assert not found.details["ties"][0].any()


@pytest.mark.parametrize("name", reference_models.names())
def test_reference_models_at_every_state(name):
    case = reference_models.load(name, exact=True)
    solution = solve(case.network, case.objective, solver="exact")
    assert solution.status is Status.EXACT
    rows = solution.nodes.exact[-1]
    assert [rows[node] for node in case.network.state_node.tolist()] == case.exact


@pytest.mark.parametrize("n", [20, 60, 300])
def test_haddad_monmege(n):
    net = haddad_monmege(n)
    solution = solve(net, solver="exact")
    assert solution.status is Status.EXACT
    assert solution.exact(0) == Fraction(7, 10)
    # From the first node of the good side: go on, or start again.
    values = solution.nodes.exact[0]
    assert values[1] == HALF * Fraction(7, 10) + HALF * values[3]
    assert values[0].denominator == 10
    assert max(x.denominator.bit_length() for x in values) >= n


def test_farkle_with_its_full_range():
    answer = exact(prepare(KcdFarkle(cap=6000), Total()).canonical)
    values = answer.details["exact"]
    # The value of the turn that the library's other solvers give.
    assert float(values[0]) == pytest.approx(564.4328467759443, rel=1e-12)
    assert max(x.denominator.bit_length() for x in values) > 200
    assert answer.details["systems"] == 0


def test_a_race_in_both_forms():
    # The first to toss heads wins; the mover may also pass.  P(win) of the mover is 2/3.
    net = network([(MAX, [(1,), (0, 0, 1.0, -1)]), (CHANCE, [(2, 0, 0.5), (0, 0, 0.5, -1)]), (END, HALF)])
    assert exact(net).details["exact"] == [Fraction(1, 6), Fraction(1, 6), HALF]
    assert exact(net).policy.tolist() == [0, -1, -1]


def test_to_stay_is_better_than_to_pay():
    net = network([(MAX, [(1, -5), (0,)]), (END, 0)])
    answer = exact(net)
    assert answer.details["exact"] == [0, 0]
    assert answer.policy.tolist() == [1, -1]


def test_ties_that_lead_around_are_told_and_not_played():
    # Going to and fro is worth as much as leaving, as long as one leaves in the end.
    net = network([(MAX, [(1,), (2,)]), (MAX, [(0,), (2,)]), (END, 3)])
    answer = exact(net)
    assert answer.details["exact"] == [3, 3, 3]
    assert answer.details["ties"].all()
    assert answer.policy[0] == 1 or answer.policy[1] == 3


def test_a_trap_of_equally_good_options():
    # The maximiser quits for -5, or goes where the minimiser quits for 3 or comes back: for ever, 0.
    net = network([(MAX, [(2,), (1,)]), (MIN, [(0,), (3,)]), (END, -5), (END, 3)])
    assert exact(net).details["exact"] == [0, 0, -5, 3]
    assert exact(net).policy.tolist() == [1, 2, -1, -1]
    # The same for the minimiser: he lets the other one go round for 0 instead of giving 5.
    net = network([(MIN, [(2,), (1,)]), (MAX, [(0,), (3,)]), (END, 5), (END, -3)])
    assert exact(net).details["exact"] == [0, 0, 5, -3]


def test_differences_that_floats_do_not_see():
    tiny = Fraction(1, 10**40)
    rewards = [(1, 0), (1, float(tiny)), (1, -float(tiny))]
    net = network([(MAX, rewards), (END, 1)], exact_rewards={1: tiny, 2: -tiny})
    answer = exact(net)
    assert answer.details["exact"] == [1 + tiny, 1]
    assert answer.details["ties"].tolist() == [False, True, False]
    # Rewards of 1e16 + 1 and of 1, where floats add to the same number.
    net = network([(MAX, [(1, 1e16), (2, 1.0)]), (END, 1), (END, 1e16)])
    assert exact(net).details["ties"].tolist() == [True, True]
    assert exact(net).details["exact"][0] == 10**16 + 1


def test_improper_start_policies_are_replaced():
    # From floats or not: every first policy leads to the value, also the ones that never end.
    nodes = [(MAX, [(1, -1), (0, -1)]), (CHANCE, [(0, 0, 0.5), (2, 0, 0.5)]), (MAX, [(2, -1), (3,)]), (END, 4)]
    part_net = network(nodes)
    for first in (0, 1):
        for third in (0, 1):
            solver = _started(part_net, {0: first, 2: third})
            assert solver.details["exact"] == [2, 3, 4, 4]


def _started(net, edges):
    """The answer when the floats propose these options, by number."""
    chosen = np.full(net.n_nodes, -1)
    for node, option in edges.items():
        chosen[node] = net.indptr[node] + option
    real = blocks.propose
    blocks.propose = lambda problem, run: attrs.evolve(real(problem, run), policy=chosen)
    try:
        return exact(net)
    finally:
        blocks.propose = real


def test_every_start_gives_the_same_answer():
    rng = random.Random(1)
    nodes = [
        (CHANCE, [(rng.randrange(12), 0, 0.5), (rng.randrange(13), -1, 0.5)])
        if i % 3 == 2
        else (MAX if i % 3 else MIN, [(rng.randrange(12), 0), (i + 1, 0), (12, rng.randrange(-3, 4))])
        for i in range(12)
    ]
    net = network([*nodes, (END, 0)], discount=1)
    expected = exact(net)
    assert expected.details["systems"] >= 1
    for _ in range(20):
        start = {i: rng.randrange(3) for i in range(12) if i % 3 != 2}
        found = _started(net, start)
        assert found.details["exact"] == expected.details["exact"]
        assert (found.details["ties"] == expected.details["ties"]).all()


@given(networks(signs=True), st.randoms())
@settings(max_examples=40, deadline=None)
def test_every_start_gives_the_same_answer_with_pass_to(net, rng):
    expected = exact(net)
    start = {i: rng.randrange(len(net.edges(i))) for i in np.flatnonzero(net.decides).tolist()}
    found = _started(net, start)
    assert found.details["exact"] == expected.details["exact"]
    assert (found.details["ties"] == expected.details["ties"]).all()


def test_infinite_and_undefined_values_raise():
    for reward, sign in ((1, r"\+inf"), (-1, "-inf")):
        with pytest.raises(UnsupportedError, match=sign) as caught:
            exact(network([(CHANCE, [(1, reward, 1.0)]), (CHANCE, [(0, 0, 1.0)]), (END, 0)]))
        assert caught.value.state in (0, 1)
    with pytest.raises(TotalRewardUndefinedError, match="in turns"):
        exact(network([(CHANCE, [(1, 1, 1.0)]), (CHANCE, [(0, -1, 1.0)]), (END, 0)]))
    # Both collect 1 in turns: the sum goes to and fro, and is not 1/2.
    with pytest.raises(TotalRewardUndefinedError, match="in turns"):
        exact(network([(MAX, [(0, 1, 1.0, -1), (0, 0)]), (END, 0)]))
    with pytest.raises(UnsupportedError, match="too large for a float"):
        exact(network([(MAX, [(1, 1e308)]), (END, 1.7e308)]))


def test_floats_mean_the_rationals_that_they_are():
    net = network([(CHANCE, [(0, 0, 0.1), (1, 0.1, 0.9)]), (END, 0.3)])
    p = Fraction(0.1) / (Fraction(0.1) + Fraction(0.9))
    expected = (1 - p) * (Fraction(0.1) + Fraction(0.3)) / (1 - p)
    assert exact(net).details["exact"] == [expected, Fraction(0.3)]


def test_progress_cancel_and_deadline():
    net = network([(MAX, [(1,), (2,)]), (CHANCE, [(0, 0, 0.5), (2, 0, 0.5)]), (END, 1)])
    told = []
    exact(net, progress=lambda phase, numbers: told.append(phase))
    assert told
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(SolveInterrupted):
        exact(net, cancel=cancel)
    with pytest.raises(SolveInterrupted):
        exact(net, deadline=time.monotonic() - 1)


def test_a_long_solve_stops_soon():
    rng = random.Random(3)
    n = 800
    rows = [[1 + rng.random() for _ in range(12)] for _ in range(n)]
    nodes = [(CHANCE, [(rng.randrange(n + 2), 0, w / sum(row)) for w in row]) for row in rows]
    net = network([*nodes, (END, 1), (END, 0)])
    began = time.process_time()  # time of this process alone, however busy the machine is
    with pytest.raises(SolveInterrupted):
        exact(net, deadline=time.monotonic() + 0.5)
    assert time.process_time() - began < 8


def test_protocol():
    assert isinstance(Exact(), Solver)
    assert Exact.available()
    assert {Feature.EXACT, Feature.CYCLIC, Feature.TWO_PLAYER, Feature.HORIZON} <= Exact.features
    with calls_recorded() as calls:
        exact(network([(MAX, [(1,)]), (END, 1)]))
    assert calls == {"exact"}


# --- linear systems ----------------------------------------------------------------------------------


def system(rng, n, width, largest):
    rows = []
    for _ in range(n):
        entries: dict[int, int] = {}
        for _ in range(width):
            j = rng.randrange(n)
            entries[j] = entries.get(j, 0) + rng.randint(1, largest) * rng.choice([1, 1, -1])
        den = sum(map(abs, entries.values())) + rng.randint(1, 3)
        rows.append((den, entries, rational.reduced(rng.randint(-9, 9), rng.choice([1, 2, 3, 10**20 + 39]))))
    return rows


def plainly(rows):
    n = len(rows)
    matrix = []
    for i, (den, entries, (c, d)) in enumerate(rows):
        matrix.append([Fraction(int(i == j)) - Fraction(entries.get(j, 0), den) for j in range(n)] + [Fraction(c, d)])
    return solve_linear(matrix)


@pytest.mark.parametrize("largest", [6, 2**40, 2**70])
def test_both_ways_solve_the_system(largest):
    rng = random.Random(largest)
    for n, width in ((1, 1), (2, 2), (5, 2), (12, 4), (25, 3)):
        rows = system(rng, n, width, largest)
        plan = rational._Plan.of(rows)
        directly = rational._direct(rows, plan, lambda: None, [])
        assert [Fraction(*pair) for pair in directly] == plainly(rows)
        assert rational._modular(rows, plan, lambda: None) == directly


def test_systems_that_fill_in_are_solved_modulo_a_prime():
    rng = random.Random(5)
    n = 150
    rows = [(60, {rng.randrange(n): rng.randint(1, 6) for _ in range(8)}, (i % 3, 7)) for i in range(n)]
    plan = rational._Plan.of(rows)
    assert plan.work > 40 * n
    called = []
    values = rational.solve(rows, lambda: called.append(1))
    assert called
    for i, (den, entries, (c, d)) in enumerate(rows):
        ahead = sum(Fraction(a, den) * Fraction(*values[j]) for j, a in entries.items())
        assert Fraction(*values[i]) == Fraction(c, d) + ahead


def test_closed_classes():
    # Two states that go to and fro: nothing gained, something gained, something lost.
    for gain, sign in ((0, 0), (2, 1), (-2, -1)):
        rows = [(1, {1: 1}, (gain, 3)), (1, {0: 1}, (0, 1)), (2, {0: 1}, (1, 2))]
        closed: list[int] = []
        if sign == 0:
            assert rational.solve(rows, closed=closed) == [(0, 1), (0, 1), (1, 2)]
            assert len(closed) == 1
            continue
        with pytest.raises(rational.EndlessGainError) as caught:
            rational.solve(rows)
        assert np.sign(caught.value.gain) == sign
        assert caught.value.row in (0, 1)


def test_a_system_that_is_singular_modulo_the_prime_only():
    from mdpdice.numerics.modular import PRIME

    rows = [(PRIME, {}, (1, 3))]
    plan = rational._Plan.of(rows)
    assert rational._modular(rows, plan, lambda: None) is None
    assert rational.solve(rows) == [(1, 3)]


@given(st.integers(-(10**30), 10**30), st.integers(1, 10**30))
@settings(max_examples=100, deadline=None)
def test_rationals_come_back_from_their_residues(numerator, denominator):
    from mdpdice.numerics.modular import PRIME

    modulus = PRIME**6
    n, d = rational.reduced(numerator, denominator)
    residue = n * pow(d, -1, modulus) % modulus
    assert rational._rational(residue, modulus) == (n, d)


@given(st.integers(0, 2**50 - 28), st.integers(0, 2**50 - 28))
@settings(max_examples=100, deadline=None)
def test_products_and_inverses_modulo_the_prime(a, b):
    from mdpdice.numerics import modular

    assert modular.product(a, b) == a * b % modular.PRIME
    if a:
        assert modular.product(a, modular.inverse(a)) == 1


def test_the_prime_is_one():
    from mdpdice.numerics.modular import PRIME

    # Fermat's test to some bases, and no small divisor.
    assert all(pow(base, PRIME - 1, PRIME) == 1 for base in (2, 3, 5, 7, 11, 13, 17))
    assert all(PRIME % q for q in range(2, 100_000))


# --- comparisons ---------------------------------------------------------------------------------------


def test_floats_never_decide_what_they_cannot():
    move = parts.Move
    values = [(10**16 + 1, 1), (10**16, 1), (3, 10**400), (1, 10**400), (10**400, 1), (10**400 + 1, 1)]
    floats = [parts.quotient(pair) for pair in values]
    assert floats[4] == float("inf")
    for worse, better in ((1, 0), (3, 2), (4, 5)):
        moves = [move(0, worse, (1, 1), (0, 1), False), move(1, better, (1, 1), (0, 1), False)]
        assert parts.best(moves, values, floats, minimise=False) == [1]
        assert parts.best(moves, values, floats, minimise=True) == [0]
    # A reward that cancels the value: only the exact sum tells which is larger.
    moves = [move(0, 1, (1, 1), (-(10**16), 1), True), move(1, 0, (1, 1), (-(10**16), 1), True)]
    assert parts.best(moves, values, floats, minimise=False) == [1]


def test_networks_of_one_node_and_of_none_that_decide():
    assert exact(network([(END, Fraction(1, 4))])).details["exact"] == [Fraction(1, 4)]
    assert isinstance(exact(network([(END, 2)])).details["exact"][0], Fraction)
