"""Values of turns: the right one, that of the public program, and those of an independent recursion."""

import itertools
from fractions import Fraction

import pytest

from mdpdice import cross_check, solve
from mdpdice.games.konijnenhokken import Field, Konijnenhokken, stopping_bound
from mdpdice.games.konijnenhokken.stopping import StoppingBound, one_more_run

VALUE = 12.7261195896884
PUBLIC = 11.594163962495646


def close(value):
    return pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("defects", ["none", "public-solver"])
def test_every_position(defects, solution, defective, oracle):
    found = solution if defects == "none" else defective
    value, playing = oracle.turn(defective=defects != "none")
    assert found.value() == close(value) == close(VALUE if defects == "none" else PUBLIC)
    if defects != "none":
        # The oracle adds up in the order of that program, in the same floats: the same last digit.
        assert value == PUBLIC
    rolling = {
        state: found.q(state)["roll"] if any(state[:3]) or state.t else found.value(state)
        for state in found.network.states
        if isinstance(state, Field) and (any(state[:3]) or state.t < 101)
    }
    # The positions that a play can reach are the same, and so is rolling on in each of them.
    expected = {Field(r1, r2, c, t): worth for (t, r1, r2, c), worth in playing.items()}
    assert rolling.keys() == expected.keys()
    assert all(worth == close(expected[state]) for state, worth in rolling.items())


def test_what_the_defect_costs(solution, defective):
    assert solution.value() - defective.value() == pytest.approx(1.131955627, abs=1e-9)


@pytest.mark.parametrize("dice", range(1, 6))
@pytest.mark.parametrize("defects", ["none", "public-solver"])
def test_fewer_dice(dice, defects, oracle):
    game = Konijnenhokken(dice=dice, defects=defects)
    expected, _ = oracle.turn(dice, game.limit, defective=game.defective)
    assert solve(game).value() == close(expected)


def test_one_die_by_hand():
    # A 1 gives one point and a 2 two; both are worth stopping for.
    assert solve(Konijnenhokken(dice=1)).value() == close(0.5)


@pytest.mark.parametrize("dice", [3, 5])
def test_back_ends_agree(dice):
    report = cross_check(Konijnenhokken(dice=dice))
    assert report.ok, report.table()
    assert report.independent >= 3


@pytest.mark.slow
@pytest.mark.parametrize("defects", ["none", "public-solver"])
def test_all_back_ends_agree_on_seven_dice(defects):
    report = cross_check(Konijnenhokken(defects=defects))
    assert report.ok, report.table()
    assert report.independent >= 3


# --- where a turn stops -----------------------------------------------------------------------


def test_101_is_exactly_enough():
    bound = stopping_bound(7)
    assert bound.total == 101
    assert bound.gain_before == one_more_run(100, 7) - 100 == Fraction(15927, 279936)
    assert bound.gain == one_more_run(101, 7) - 101 == Fraction(-457, 279936)
    assert round(float(bound.gain_before), 4) == 0.0569
    assert round(float(bound.gain), 5) == -0.00163
    assert bound.slope == 1 - Fraction(2, 3) ** 7
    assert "from 101 banked points on stopping is proved optimal" in bound.note()


@pytest.mark.parametrize("dice", range(1, 8))
def test_bound_of_other_dice(dice, oracle):
    bound = stopping_bound(dice)
    assert bound.total == [1, 3, 6, 12, 25, 51, 101][dice - 1]
    assert oracle.exact_run(bound.total, dice) - bound.total == bound.gain <= 0
    assert oracle.exact_run(bound.total - 1, dice) - bound.total + 1 == bound.gain_before > 0


@pytest.mark.parametrize("dice", [2, 4, 7])
def test_the_slope_that_the_proof_uses(dice):
    bound = stopping_bound(dice)
    runs = [one_more_run(total, dice) for total in range(bound.total - 1, bound.total + 12)]
    steps = [after - before for before, after in itertools.pairwise(runs)]
    assert all(0 <= step <= bound.slope < 1 for step in steps)
    assert all(worth <= total for total, worth in enumerate(runs[1:], start=bound.total))


def test_a_bound_that_proves_nothing_is_refused():
    with pytest.raises(AssertionError):
        StoppingBound(total=50, gain_before=Fraction(1), gain=Fraction(1, 2), slope=Fraction(1, 2))


def test_a_higher_limit_changes_nothing_and_a_lower_one_costs_something():
    exact, higher, lower = (solve(Konijnenhokken(dice=5, t_max=t_max)) for t_max in (None, 40, 24))
    assert higher.value() == close(exact.value())
    # From 25 points on the player stops of his own accord.
    assert [higher.action(Field(0, 0, 0, t)) for t in range(24, 40)] == ["roll"] + ["stop"] * 15
    assert lower.upper() < exact.lower()


@pytest.mark.slow
def test_the_same_with_seven_dice(solution):
    higher, lower = (solve(Konijnenhokken(t_max=t_max)) for t_max in (130, 100))
    assert higher.value() == close(solution.value())
    assert [higher.action(Field(0, 0, 0, t)) for t in range(100, 130)] == ["roll"] + ["stop"] * 29
    assert solution.value() - lower.value() == pytest.approx(5.99e-9, rel=1e-3)
    assert lower.upper() < solution.lower()


def test_size(solution, defective):
    assert (solution.network.n_states, solution.network.n_edges) == (101_397, 712_023)
    assert defective.network.n_states == 89_047
