"""Threshold policies: values, searches, and the gap of monotone vectors."""

import functools
from fractions import Fraction

import numpy as np
import pytest

from mdpdice import Policy, evaluate, explore, outcomes, simulate, solve
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.games.farkle import Bank, Choose, KcdFarkle, Keep, Ready
from mdpdice.games.farkle.thresholds import Found, ThresholdTurn, gap, refine, search
from mdpdice.looks import look_of

CAP = 1000
# "Roll d dice while the points are at most" 250, 200, 400, ...: the published rule, one step of 50 higher.
KCD = (300, 250, 450, 1050, 3400, 12950)
PATCH = (300, 250, 400, 950, 2800, 16800)
VECTORS = [
    (0, 0, 0, 0, 0, 0),
    (200, 200, 200, 200, 200, 200),
    (100, 150, 200, 250, 300, 350),
    (900, 700, 500, 300, 200, 100),
    (5000, 5000, 5000, 5000, 5000, 5000),
    (333, 1, 277, 1050, 20, 960),
    KCD,
]


@functools.cache
def rolls_of(oracle, rules):
    """Per number of dice the (weight, best points, ways to roll on) of all rolls."""
    return {
        dice: [(weight, *oracle.menu(rules, (roll,), (6,))) for roll, weight in oracle.rolls((1,) * 6, dice).items()]
        for dice in range(1, 7)
    }


def reference(oracle, rules, vector, cap, clip=False, hot_dice=True):
    """Exact expected score by thresholds, from a list of rolls that shares no code with the library."""
    table = rolls_of(oracle, rules)

    @functools.cache
    def rolling(dice, points):
        total = Fraction(0)
        for weight, best, keeps in table[dice]:
            if not best:
                continue
            options = []
            ways = [(gain, left[0]) for gain, left in keeps if hot_dice or left[0] < dice]
            banks = not ways
            for gain, left in ways:
                after = points + gain
                if after >= vector[left - 1] or after >= cap:
                    banks = True
                else:
                    options.append(rolling(left, after))
            if banks:
                options.append(Fraction(min(points + best, cap) if clip else points + best))
            total += weight * max(options)
        return total / 6**dice

    return rolling


@pytest.mark.parametrize("vector", VECTORS)
@pytest.mark.parametrize("rules", ["kcd", "patch"])
def test_values_against_an_independent_recursion(rules, vector, oracle):
    expected = reference(oracle, rules, vector, CAP)
    turn = ThresholdTurn(KcdFarkle(rules=rules, cap=CAP))
    assert turn.value(vector) == pytest.approx(float(expected(6, 0)), rel=1e-12)
    table = turn.table(vector)
    assert list(table) == [1, 2, 3, 4, 5, 6]
    for dice, values in table.items():
        assert len(values) == CAP // 50
        for at, value in enumerate(values):
            points = 50 * at
            banked = points >= vector[dice - 1]
            assert value == (points if banked else pytest.approx(float(expected(dice, points)), rel=1e-12))


@pytest.mark.parametrize("options", [{"at_cap": "clip"}, {"hot_dice": False}, {"cap": 130}])
def test_values_with_other_parameters(options, oracle):
    cap = options.get("cap", 500)
    game = KcdFarkle(**{"cap": cap} | options)
    for vector in VECTORS:
        expected = reference(oracle, "kcd", vector, cap, "at_cap" in options, options.get("hot_dice", True))
        turn = ThresholdTurn(game)
        assert turn.value(vector) == pytest.approx(float(expected(6, 0)), rel=1e-12)
        assert evaluate(game, turn.policy(vector)).value() == pytest.approx(turn.value(vector), rel=1e-12)


@pytest.mark.parametrize("vector", VECTORS)
def test_the_policy_on_the_network_has_the_same_value(vector):
    game = KcdFarkle(cap=CAP)
    network = explore(game)
    turn = ThresholdTurn(game)
    policy = turn.policy(vector, network)
    found = evaluate(network, policy)
    assert found.value() == pytest.approx(turn.value(vector), rel=1e-12)
    table = turn.table(vector)
    for state in network.states:
        core, points = state.state, state.counters["points"]
        if isinstance(core, Ready) and points < vector[core.dice - 1]:
            assert found.value(state) == pytest.approx(table[core.dice][points // 50], rel=1e-12)
        elif isinstance(core, Choose):
            # It banks only where some selection reaches its threshold, and never rolls above one.
            action = policy.action(state)
            reached = [points + keep.points >= min(vector[keep.dice - 1], CAP) for keep in core.menu.keeps]
            if isinstance(action, Keep):
                assert not reached[core.menu.keeps.index(action)]
            else:
                assert isinstance(action, Bank)
                assert any(reached)


@pytest.mark.parametrize(
    ("rules", "cap", "vector", "value"),
    [("kcd", 6000, KCD, 564.4328467759), ("kcd", None, KCD, 564.437620413850), ("patch", None, PATCH, 542.06324400)],
)
def test_the_thresholds_of_the_optimum_give_its_value(rules, cap, vector, value):
    game = KcdFarkle(rules=rules, cap=cap)
    turn = ThresholdTurn(game)
    assert turn.value(vector) == pytest.approx(value, rel=1e-10)
    assert turn.optimal() == tuple(min(one, game.limit) if cap else one for one in vector)


def test_simulated_by_thresholds():
    game = KcdFarkle()
    network = explore(game)
    turn = ThresholdTurn(game)
    vector = (250, 250, 300, 500, 1000, 3000)
    policy = turn.policy(vector, network)
    found = simulate(network, policy, 50_000, seed=11)
    assert abs(found.mean - turn.value(vector)) < 4 * found.standard_error
    spread = outcomes(network, policy)
    assert spread.mean == pytest.approx(turn.value(vector), rel=1e-12)
    assert isinstance(policy, Policy)


def test_thresholds_off_the_grid_mean_the_next_number_on_it():
    turn = ThresholdTurn(KcdFarkle(cap=CAP))
    assert turn.value((201, 249, 250, 1, 0, 301)) == turn.value((250, 250, 250, 50, 0, 350))


def test_many_vectors_at_once():
    turn = ThresholdTurn(KcdFarkle(cap=CAP))
    values = turn.values(VECTORS)
    assert values.tolist() == [turn.value(vector) for vector in VECTORS]
    assert turn.values(np.zeros((0, 6))).shape == (0,)


def test_random_search_is_reproducible_and_refined():
    turn = ThresholdTurn(KcdFarkle(cap=CAP))
    first = search(turn, 50, seed=3, refined=False)
    assert first == search(turn, 50, seed=3, refined=False)
    assert first.tried == 50
    assert list(first.vector) == sorted(first.vector)
    assert first.value == turn.value(first.vector)
    better = search(turn, 50, seed=3)
    assert better.value > first.value
    assert list(better.vector) == sorted(better.vector)
    assert better.value == pytest.approx(turn.value(better.vector), rel=1e-12)
    with pytest.raises(GameError):
        search(turn, 0)


def test_without_the_order_the_search_finds_the_optimum():
    game = KcdFarkle(cap=CAP)
    found = search(ThresholdTurn(game), 50, seed=1, monotone=False)
    assert found.value == pytest.approx(solve(game).value(), rel=1e-12)


@pytest.mark.parametrize("rules", ["kcd", "patch"])
def test_no_monotone_vector_reaches_a_small_game(rules, oracle):
    # With two dice every monotone vector can be tried.
    game = KcdFarkle(rules=rules, dice=2, cap=600)
    turn = ThresholdTurn(game)
    everything = [(a, b) for a in range(0, 650, 50) for b in range(a, 650, 50)]
    best = max(turn.value(vector) for vector in everything)
    found = gap(game, 20, seed=0)
    assert found.monotone.value == pytest.approx(best, rel=1e-13)
    assert found.optimal == pytest.approx(solve(game).value())
    assert found.loss >= -1e-9
    assert found.proved
    assert turn.upper_bound(1) >= best - 1e-12


def test_the_gap_of_monotone_vectors_with_a_low_cap():
    found = gap(KcdFarkle(cap=CAP), 100, seed=0)
    assert found.vector[:2] == (300, 250)
    assert found.proved
    assert found.loss == pytest.approx(0.0143490500484, abs=1e-9)
    # The bound is one: what the best vector has for two neighbours in order cannot exceed it.
    turn = ThresholdTurn(KcdFarkle(cap=CAP))
    assert found.bound == pytest.approx(turn.upper_bound(1), rel=1e-15)
    for vector in VECTORS:
        for place in range(1, 6):
            if vector[place - 1] <= vector[place]:
                assert turn.value(vector) <= turn.upper_bound(place) + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rules", "optimal", "loss"), [("kcd", 564.437620413850, 0.020656621543), ("patch", 542.06324400, 0.018734279601)]
)
def test_the_gap_of_monotone_vectors(rules, optimal, loss):
    found = gap(KcdFarkle(rules=rules, cap=None))
    assert found.optimal == pytest.approx(optimal, rel=1e-10)
    assert found.proved
    assert found.loss == pytest.approx(loss, abs=1e-9)
    assert found.monotone.vector[1:] == ((250, 450, 1050, 3400, 12950) if rules == "kcd" else PATCH[1:])


def test_refinement_stops_at_the_optimum():
    game = KcdFarkle(cap=CAP)
    turn = ThresholdTurn(game)
    best = Found(turn.optimal(), turn.value(turn.optimal()), 1)
    assert refine(turn, best, monotone=False).vector == best.vector


def test_thresholds_that_are_none():
    turn = ThresholdTurn(KcdFarkle(cap=CAP))
    for vector in ((1, 2, 3), (1, 2, 3, 4, 5, -6), (1, 2, 3, 4, 5, 6.5), (1, 2, 3, 4, 5, 6, 7)):
        with pytest.raises(GameError, match="6 numbers"):
            turn.value(vector)
    for game in (KcdFarkle(dice="Odd die,Lucky die", cap=CAP), KcdFarkle(defects="public-solver")):
        with pytest.raises(UnsupportedError):
            ThresholdTurn(game)


def test_weighted_dice_of_one_kind():
    game = KcdFarkle(dice="Lucky die,Lucky die,Lucky die", cap=CAP)
    turn = ThresholdTurn(game)
    assert turn.value(turn.optimal()) == pytest.approx(solve(game).value(), rel=1e-10)


def test_thresholds_by_name():
    game = KcdFarkle(dice=3, cap=1000)
    network = explore(game)
    named = Policy.of(network, look_of(game).policy("threshold:250,200,400"))
    assert np.array_equal(named.choice, ThresholdTurn(game).policy((250, 200, 400), network).choice)
    assert [known.form for known in look_of(game).policies()] == ["threshold:T1,T2,T3"]
    assert look_of(game).policy("hold-at:20") is None
    for wrong in ("threshold", "threshold:a,b,c"):
        with pytest.raises(GameError, match="threshold:250,200"):
            look_of(game).policy(wrong)
    with pytest.raises(GameError, match="write 3 numbers"):
        look_of(game).policy("threshold:250,200")
    assert not look_of(KcdFarkle(dice="Odd die, Lucky die", cap=100)).policies()


def test_thresholds_for_the_command_line():
    game = KcdFarkle(dice=2, cap=500)
    (optimal,) = look_of(game).thresholds()
    assert optimal.vector == ThresholdTurn(game).optimal()
    assert optimal.value == pytest.approx(solve(game).value(), rel=1e-12)
    assert optimal.policy == f"threshold:{','.join(map(str, optimal.vector))}"
    told = []
    _, free = look_of(game).thresholds(
        search=250, seed=1, progress=lambda phase, numbers: told.append((phase, numbers))
    )
    searched = [numbers for phase, numbers in told if phase == "search"]
    assert searched == [{"vectors": done, "of": 250} for done in (100, 200, 250)]
    refined = [numbers["points"] for phase, numbers in told if phase == "refine"]
    assert refined == sorted(refined)
    assert refined[-1] == free.value
    assert free.rule == "best found"
    assert free.value == pytest.approx(optimal.value, rel=1e-12)
    assert free.tried >= 250
    _, ordered = look_of(game).thresholds(monotone=True, search=50, seed=1)
    assert list(ordered.vector) == sorted(ordered.vector)
    assert ordered.value <= ordered.bound
    assert not look_of(KcdFarkle(dice="Odd die, Lucky die", cap=100)).thresholds(search=10)
