"""Dice and pools, against enumeration, closed forms and icepool."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import icepool
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice.errors import EmptySupportError, GameError, StateCollisionError
from mdpdice.modelling.dice import d6, die, pool
from mdpdice.modelling.distribution import Dist, certainly, product, uniform

LOADED = Dist({1: 6, 2: 1, 3: 2, 5: 1, 6: 3})


def enumerated(dice, faces):
    """Weights of the count vectors by going through every single roll."""
    weights = Counter()
    for roll in itertools.product(*(one.items() for one in dice)):
        shown = Counter(face for face, _ in roll)
        weights[tuple(shown[face] for face in faces)] += math.prod(weight for _, weight in roll)
    return Dist(weights)


# --- die --------------------------------------------------------------------------------------------


def test_die():
    assert d6 == die(6)
    assert d6.items() == tuple((k, 1) for k in range(1, 7))
    assert die(1) == certainly(1)
    assert die(20).mean() == Fraction(21, 2)
    assert die(np.int64(6)) == d6
    assert all(type(face) is int for face in die(np.int64(6)))


@pytest.mark.parametrize("faces", [0, -1, 2.0, "6", None, True, [1, 2]])
def test_die_needs_a_number_of_faces(faces):
    with pytest.raises(GameError, match=r"die\(\) needs a whole number of faces of at least 1") as caught:
        die(faces)
    assert caught.value.value is faces
    assert caught.value.limit == 1
    assert "uniform([...])" in str(caught.value)


# --- pool: values -----------------------------------------------------------------------------------


def test_six_ordinary_dice():
    six = pool([d6] * 6)
    assert len(six) == math.comb(11, 5) == 462
    assert six.total == 6**6
    assert six.outcomes[0] == (6, 0, 0, 0, 0, 0)
    assert six.outcomes[-1] == (0, 0, 0, 0, 0, 6)
    assert six.prob((1, 1, 1, 1, 1, 1)) == Fraction(math.factorial(6), 6**6)
    assert six.prob((2, 2, 2, 0, 0, 0)) == Fraction(90, 6**6)


def test_yahtzee_in_one_throw():
    five = pool([d6] * 5)
    assert len(five) == 252
    assert five.map(max).prob(5) == Fraction(6, 6**5)


@pytest.mark.parametrize("n", range(1, 9))
def test_identical_dice_have_multinomial_weights(n):
    faces = LOADED.outcomes
    for counts, weight in pool([LOADED] * n).items():
        ways = math.factorial(n) // math.prod(map(math.factorial, counts))
        assert weight == ways * math.prod(LOADED.weights[k] ** c for k, c in enumerate(counts))
    assert len(pool([LOADED] * n)) == math.comb(n + len(faces) - 1, n)


def test_count_vectors_fall_lexicographically_whatever_the_order_of_the_dice():
    dice = [die(4), LOADED, d6, die(4)]
    expected = pool(dice)
    assert list(expected.outcomes) == sorted(expected.outcomes, reverse=True)
    for order in itertools.permutations(dice):
        assert pool(order).items() == expected.items()


def test_no_dice_and_one_die():
    assert pool([]) == certainly(())
    assert pool([], faces=range(1, 7)) == certainly((0,) * 6)
    assert pool([LOADED]).weights == LOADED.weights
    assert pool([LOADED]).outcomes[1] == (0, 1, 0, 0, 0)


def test_faces_fix_the_length_and_the_order():
    assert pool([die(2)], faces=[3, 2, 1]).items() == (((0, 1, 0), 1), ((0, 0, 1), 1))
    assert pool([die(2)], faces=iter([1, 2])) == pool([die(2)])
    symbols = uniform(["skull", 1, None])
    assert pool([symbols] * 2, faces=["skull", 1, None]).prob((1, 1, 0)) == Fraction(2, 9)


def test_any_iterable_of_anything_like_a_die():
    assert pool(die(k) for k in (4, 6)) == pool([icepool.d4, dict.fromkeys(range(1, 7), 1)])


def test_kinds_kept_apart_are_a_product_of_pools():
    white, red = [d6, d6], [LOADED]
    apart = product(pool(white), pool(red, faces=range(1, 7)))
    together = apart.map(lambda pair: tuple(w + r for w, r in zip(*pair, strict=True)))
    assert together == pool([*white, *red])


def test_defect_is_passed_on():
    rounded = Dist({1: 0.5, 2: 0.5 + 2e-10})
    assert pool([d6, rounded]).defect == rounded.defect != 0


def test_a_large_pool():
    many = pool([die(2)] * 300)
    assert len(many) == 301
    assert many.total == 2**300
    assert many.prob((150, 150)) == Fraction(math.comb(300, 150), 2**300)
    assert math.isclose(math.fsum(many.probabilities()), 1.0, rel_tol=1e-15)


# --- pool: against enumeration and icepool ----------------------------------------------------------

some_die = st.dictionaries(st.integers(1, 5), st.integers(1, 50), min_size=1, max_size=4).map(Dist)


@settings(deadline=None)
@given(st.lists(some_die, min_size=1, max_size=5))
def test_mixed_weighted_dice_against_enumeration(dice):
    result = pool(dice)
    faces = sorted({face for one in dice for face in one})
    assert result == enumerated(dice, faces)
    assert math.gcd(*result.weights) == 1
    assert result.total == sum(result.weights) == math.prod(one.total for one in dice)
    assert pool(dice, faces=range(6)) == enumerated(dice, range(6))


@settings(deadline=None)
@given(st.lists(some_die, min_size=1, max_size=4))
def test_mean_count_of_a_face_is_the_sum_of_its_probabilities(dice):
    faces = sorted({face for one in dice for face in one})
    result = pool(dice)
    for k, face in enumerate(faces):
        assert result.mean(lambda counts, k=k: counts[k]) == sum(one.prob(face) for one in dice)
    assert all(sum(counts) == len(dice) for counts in result)


@pytest.mark.parametrize(
    "dice",
    [
        [d6] * 6,
        [LOADED] * 6,
        [LOADED, LOADED, d6, die(4), die(8), Dist({2: 5, 3: 1})],
        [Dist({k: k + i for k in range(1, 7)}) for i in range(6)],
    ],
)
def test_against_icepool(dice):
    foreign = icepool.Pool([icepool.Die(dict(one.items())) for one in dice])
    faces = sorted({face for one in dice for face in one})
    theirs = Dist([(tuple(map(tuple(roll).count, faces)), weight) for roll, weight in foreign.expand().items()])
    assert pool(dice) == theirs


def test_a_hand_worked_farkle_roll_against_icepool():
    # A throw of three dice scores unless it has no 1, no 5 and no triple.
    def scores(counts):
        return bool(counts[0] or counts[4] or max(counts) >= 3)

    ours = pool([d6] * 3).map(scores).prob(True)
    theirs = icepool.d6.pool(3).expand().map(lambda roll: 1 in roll or 5 in roll or len(set(roll)) == 1, star=False)
    assert ours == theirs.probability(True) == Fraction(13, 18)


# --- pool: refusals ---------------------------------------------------------------------------------


def test_pool_of_one_die_or_of_no_list():
    with pytest.raises(GameError, match=r"needs a list of dice, not one die; write pool\(\[d6\] \* 6\)"):
        pool(d6)
    with pytest.raises(GameError, match=r"needs a list of dice, not 6; write pool\(\[d6\] \* 6\)"):
        pool(6)


def test_pool_of_things_that_are_no_dice():
    with pytest.raises(GameError, match="expected a distribution, got 6"):
        pool([6, 6])


def test_an_empty_die_is_refused():
    with pytest.raises(EmptySupportError):
        pool([d6, {}])


def test_faces_that_cannot_be_sorted():
    with pytest.raises(GameError, match=r"the faces cannot be sorted .*pool\(dice, faces=\[...\]\)"):
        pool([uniform(["skull", 1])])


def test_faces_that_lack_one_or_name_one_twice():
    with pytest.raises(GameError, match="a die shows the face 6, which faces does not name; name all") as caught:
        pool([d6], faces=range(1, 6))
    assert caught.value.value == 6
    with pytest.raises(GameError, match="the face 2 is named twice in faces; name each face once") as caught:
        pool([d6], faces=[1, 2, 2])
    assert caught.value.value == 2


def test_faces_of_different_types_that_are_equal():
    with pytest.raises(StateCollisionError, match="equal in Python but of different types"):
        pool([d6, Dist({1.0: 1})])
    with pytest.raises(StateCollisionError, match="equal in Python but of different types"):
        pool([die(1)], faces=[True])
