"""Distributions: exact values, algebraic laws, and every refusal with its remedy."""

from __future__ import annotations

import copy
import math
import pickle
import sys
from collections import Counter, UserDict
from decimal import Decimal
from fractions import Fraction

import icepool
import numpy as np
import pytest
from helpers.small_games import Day, Night
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice.errors import GameError, ProbabilitySumError
from mdpdice.modelling.distribution import Dist, as_dist, certainly, product, uniform

EPS = 2.0**-53
REMEDY = "int weights are relative, float weights are probabilities"


int_weights = st.dictionaries(st.integers(-9, 9), st.integers(0, 10**20), min_size=1, max_size=8).filter(
    lambda weights: any(weights.values())
)
dists = int_weights.map(Dist)


def as_dict(dist):
    """The distribution as a plain dictionary of exact probabilities."""
    return {outcome: Fraction(weight, dist.total) for outcome, weight in dist.items()}


# --- Values -----------------------------------------------------------------------------------------


def test_int_weights_are_relative_and_reduced():
    dist = Dist({"b": 2, "a": 6})
    assert dist.outcomes == ("b", "a")
    assert dist.weights == (1, 3)
    assert dist.total == 4
    assert dist.defect == 0
    assert dist.items() == (("b", 1), ("a", 3))
    assert dist.prob("b") == Fraction(1, 4)
    assert dist.prob("c") == 0
    assert list(dist) == ["b", "a"]
    assert len(dist) == 2
    assert "a" in dist
    assert "c" not in dist


@pytest.mark.parametrize(
    "weights",
    [
        {"a": 1, "b": 3},
        {"a": 0.25, "b": 0.75},
        {"a": 0.25, "b": Fraction(3, 4)},
        {"a": Decimal("0.25"), "b": Decimal("0.75")},
        {"a": np.int64(5), "b": np.int8(15)},
        {"a": np.float32(0.25), "b": np.float64(0.75)},
        {"a": np.longdouble(0.25), "b": 0.75},
        {"a": Fraction(np.int64(1), np.int64(4)), "b": Fraction(3, 4)},
        [("a", 1), ("b", 1), ("b", 2)],
        (pair for pair in [("a", 1), ("b", 3)]),
        [("a", 0.125), ("b", 0.75), ("a", 0.125)],
        zip("ab", np.array([1, 3]), strict=True),
        {"a": 1, "b": 3}.items(),
        UserDict({"a": 1, "b": 3}),
        Dist({"a": 1, "b": 3}),
    ],
)
def test_all_spellings_of_one_distribution(weights):
    dist = Dist(weights)
    assert dist.items() == (("a", 1), ("b", 3))
    assert all(type(weight) is int for weight in dist.weights)


def test_zero_weights_are_dropped():
    assert Dist({"a": 0, "b": 1}).items() == (("b", 1),)
    assert Dist({"a": 0.0, "b": 1.0, "c": -0.0}).items() == (("b", 1),)
    # An outcome that cannot happen collides with nothing.
    assert Dist([(1, 1), (True, 0)]).outcomes == (1,)


def test_outcomes_keep_the_order_of_first_appearance():
    assert Dist([(3, 1), (1, 1), (3, 1), (2, 1)]).outcomes == (3, 1, 2)
    assert Dist([(3, 0), (1, 1), (3, 1)]).outcomes == (1, 3)


def test_floats_are_kept_as_the_rationals_they_are():
    dist = Dist({"a": 0.1, "b": 1 - Fraction(0.1)})
    assert dist.prob("a") == Fraction(0.1)
    assert dist.prob("a") != Fraction(1, 10)
    tiny = Dist({"a": 5e-324, "b": 1 - Fraction(5e-324)})
    assert tiny.prob("a") == Fraction(1, 2**1074)


def test_uniform_and_certainly():
    assert uniform("abca").items() == (("a", 2), ("b", 1), ("c", 1))
    assert uniform([7, 7]).items() == ((7, 1),)
    assert uniform(range(1, 4)).mean() == 2
    assert certainly((1, 2)).items() == (((1, 2), 1),)


def test_map_merges_images():
    faces = uniform(range(1, 7))
    assert faces.map(lambda k: k % 3 == 0).items() == ((False, 2), (True, 1))
    assert faces.map(lambda _: "x") == certainly("x")


def test_bind_draws_twice():
    # First a face of a three-sided die, then a die with that many faces.
    dist = uniform([1, 2, 3]).bind(lambda n: uniform(range(1, n + 1)))
    assert dist.items() == ((1, 11), (2, 5), (3, 2))
    assert dist.total == 18
    # Any distribution will do for the second draw.
    assert uniform([1, 2]).bind(lambda n: {n: 1, 0: 1}).items() == ((1, 1), (0, 2), (2, 1))


def test_mix_follows_the_weight_rule():
    a, b = uniform([1, 2]), certainly(2)
    assert Dist.mix([(a, 1), (b, 3)]).items() == ((1, 1), (2, 7))
    assert Dist.mix({a: 0.25, b: 0.75}) == Dist.mix([(a, 1), (b, 3)])
    assert Dist.mix(Dist({a: 1, b: 3})) == Dist.mix([(a, 1), (b, 3)])
    assert Dist.mix([(a, 0), ({5: 2}, 1)]) == certainly(5)


def test_mean():
    faces = uniform(range(1, 7))
    assert faces.mean() == Fraction(7, 2)
    assert faces.mean(lambda k: k * k) == Fraction(91, 6)
    assert faces.mean(lambda k: k >= 5) == Fraction(1, 3)
    assert faces.mean(lambda k: np.bool_(k >= 5)) == Fraction(1, 3)
    assert uniform([0.5, Fraction(1, 3), Decimal("0.25")]).mean() == Fraction(13, 36)
    assert isinstance(faces.mean(), Fraction)


def test_mean_does_not_overflow_on_numpy_ints():
    assert uniform([np.int64(2**62), np.int64(2**62 + 1)]).mean(lambda x: x) == 2**62 + Fraction(1, 2)


def test_product_keeps_order_and_reduces():
    dist = product(Dist({"a": 1, "b": 2}), uniform([0, 1]))
    assert dist.items() == ((("a", 0), 1), (("a", 1), 1), (("b", 0), 2), (("b", 1), 2))
    assert product() == certainly(())
    assert product({1: 1}, certainly("x"), certainly(None)) == certainly((1, "x", None))


# --- Probabilities in float64 -----------------------------------------------------------------------


def test_probabilities_of_huge_integers():
    dist = Dist({"a": 10**400, "b": 2 * 10**400 + 1})
    assert dist.probabilities().tolist() == [1 / 3, 2 / 3]
    lopsided = Dist({"a": 1, "b": 2**1074 - 1, "c": 2**2000})
    assert lopsided.probabilities()[0] == 0.0
    assert Dist({"a": 1, "b": 2**1074 - 1}).probabilities()[0] == 5e-324


def test_probabilities_are_a_read_only_float64_array():
    dist = uniform("ab")
    array = dist.probabilities()
    assert array.dtype == np.float64
    assert array.shape == (2,)
    assert dist.probabilities() is array
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


@settings(deadline=None)
@given(dists)
def test_each_probability_is_the_nearest_float(dist):
    for weight, p in zip(dist.weights, dist.probabilities().tolist(), strict=True):
        exact = Fraction(weight, dist.total)
        assert abs(Fraction(p) - exact) <= abs(Fraction(math.nextafter(p, 2)) - exact)
        assert abs(Fraction(p) - exact) <= abs(Fraction(math.nextafter(p, -1)) - exact)


# --- Laws -------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(int_weights)
def test_normal_form(weights):
    dist = Dist(weights)
    total = sum(weights.values())
    assert as_dict(dist) == {x: Fraction(w, total) for x, w in weights.items() if w}
    assert sum(dist.weights) == dist.total
    assert math.gcd(*dist.weights) == 1
    assert min(dist.weights) > 0
    assert dist.outcomes == tuple(x for x, w in weights.items() if w)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=6))
def test_float_and_fraction_probabilities_agree_with_int_weights(floats):
    rest = 1 - sum(map(Fraction, floats))
    if rest < 0:  # shrink the row until it fits
        floats = [x / 2 ** math.ceil(math.log2(len(floats))) for x in floats]
        rest = 1 - sum(map(Fraction, floats))
    pairs = [*enumerate(floats), ("rest", rest)]
    scale = 2**200
    assert Dist(pairs) == Dist([(x, int(Fraction(p) * scale)) for x, p in pairs])
    assert Dist(pairs).defect == 0


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1).filter(lambda x: any(w for _, w in x)))
def test_duplicates_are_summed(pairs):
    sums = Counter()
    for outcome, weight in pairs:
        sums[outcome] += weight
    assert Dist(pairs) == Dist(sums)


@settings(deadline=None)
@given(dists, st.integers(1, 4))
def test_map_is_the_image_measure(dist, divisor):
    image = dist.map(lambda x: x % divisor)
    for y in range(divisor):
        assert image.prob(y) == sum(dist.prob(x) for x in dist if x % divisor == y)
    assert image.mean() == dist.mean(lambda x: x % divisor)


@settings(deadline=None)
@given(dists, st.tuples(dists, dists, dists))
def test_bind_is_map_then_flatten(dist, targets):
    def follow(x):
        return targets[x % 3]

    assert dist.bind(follow) == Dist.mix(dist.map(follow))
    assert dist.bind(follow) == Dist.mix([(follow(x), w) for x, w in dist.items()])
    assert dist.bind(follow).mean() == dist.mean(lambda x: follow(x).mean())


@settings(deadline=None)
@given(dists)
def test_bind_laws(dist):
    def step(x):
        return Dist({x: 2, x + 1: 1})

    def double(x):
        return Dist({2 * x: 1, 0: 5})

    assert dist.bind(certainly) == dist
    assert certainly(3).bind(step) == step(3)
    assert dist.bind(step).bind(double) == dist.bind(lambda x: step(x).bind(double))


@settings(deadline=None)
@given(st.lists(st.tuples(dists, st.integers(1, 10**12)), min_size=1, max_size=5))
def test_mixture(parts):
    mixture = Dist.mix(parts)
    total = sum(weight for _, weight in parts)
    assert mixture.mean() == sum(Fraction(weight, total) * dist.mean() for dist, weight in parts)
    for outcome in mixture:
        assert mixture.prob(outcome) == sum(Fraction(w, total) * dist.prob(outcome) for dist, w in parts)
    assert math.gcd(*mixture.weights) == 1


@settings(deadline=None)
@given(dists, dists)
def test_product_is_independent(a, b):
    joint = product(a, b)
    for (x, y), weight in joint.items():
        assert Fraction(weight, joint.total) == a.prob(x) * b.prob(y)
    assert joint.map(lambda xy: xy[0]) == a
    assert joint.map(sum).mean() == a.mean() + b.mean()
    assert math.gcd(*joint.weights) == 1
    assert joint == a.bind(lambda x: b.map(lambda y: (x, y)))


@settings(deadline=None)
@given(dists, st.randoms())
def test_equality_and_hash_ignore_the_order(dist, random):
    pairs = list(dist.items())
    random.shuffle(pairs)
    other = Dist(pairs)
    assert other == dist
    assert hash(other) == hash(dist)
    assert hash(dist) == hash(dist)


# --- Equality, immutability, text -------------------------------------------------------------------


def test_equality_compares_types():
    assert Dist({1: 1}) == Dist({1: 5})
    assert Dist({1: 1}) != Dist({True: 1})
    assert Dist({(Day(1, 2), 0): 1}) != Dist({(Night(1, 2), 0): 1})
    assert Dist({1: 1, 2: 1}) != Dist({1: 1, 3: 1})
    assert Dist({1: 1}) != Dist({1: 1, 2: 1})
    assert Dist({1: 1, 2: 2}) != Dist({1: 2, 2: 1})
    assert Dist({1: 1, 2: 2}) != Dist({1: 1, 2: 1, 3: 1})
    assert Dist({1: 1}) != {1: 1}
    itself = uniform([1, 2])
    assert itself == itself  # noqa: PLR0124
    # So a cache keyed by distributions keeps them apart as well.
    assert len({Dist({Day(1, 2): 1}), Dist({Night(1, 2): 1})}) == 2


def test_immutable():
    dist = uniform("ab")
    with pytest.raises(AttributeError, match="a Dist is immutable; make a new one instead of setting 'total'"):
        dist.total = 3
    with pytest.raises(AttributeError, match=r"immutable.*deleting 'total'"):
        del dist.total
    assert not hasattr(dist, "__dict__")


def test_copies_and_pickles():
    dist = Dist({"a": 0.5, "b": 0.5 + 2e-10})
    for twin in (copy.copy(dist), copy.deepcopy(dist), pickle.loads(pickle.dumps(dist))):
        assert twin == dist
        assert twin.outcomes == dist.outcomes
        assert twin.total == dist.total
        assert twin.defect == dist.defect != 0


def test_repr():
    dist = Dist({"a": 1, (2, 3): 2})
    assert repr(dist) == "Dist({'a': 1, (2, 3): 2})"
    assert eval(repr(dist)) == dist
    assert repr(uniform(range(20))).endswith("11: 1, ... 20 outcomes, total 20})")


# --- Sums of probabilities --------------------------------------------------------------------------


def test_rounding_is_normalised_silently():
    thirds = Dist({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    assert sum(Fraction(1, 3) - Fraction(1 / 3) for _ in range(3)) != 0
    assert thirds == uniform("abc")
    assert thirds.defect == 0
    tenths = Dist(dict.fromkeys(range(10), 0.1))
    assert tenths == uniform(range(10))
    assert tenths.defect == 0


def test_boundary_between_rounding_and_defect():
    # Two weights: 16 * 2^-53 is rounding, the next float above one half plus that is not.
    at = 0.5 + 16 * EPS
    assert Dist({"a": 0.5, "b": at}).defect == 0
    assert Dist({"a": 0.5, "b": at}).prob("b") == Fraction(at) / (Fraction(at) + Fraction(1, 2))
    above = Dist({"a": 0.5, "b": at + EPS})
    assert above.defect == Fraction(17, 2**53)
    below = Dist({"a": 0.5, "b": 0.5 - 17 * EPS})
    assert below.defect == -Fraction(17, 2**53)


def test_defect_up_to_1e_9_is_normalised_and_remembered():
    dist = Dist({"a": Fraction(1, 2), "b": Fraction(1, 2) - Fraction(1, 10**9)})
    assert dist.defect == -Fraction(1, 10**9)
    assert dist.prob("a") == Fraction(1, 2) / (1 - Fraction(1, 10**9))
    assert sum(as_dict(dist).values()) == 1
    with pytest.raises(ProbabilitySumError):
        Dist({"a": Fraction(1, 2), "b": Fraction(1, 2) - Fraction(1, 10**9) - Fraction(1, 10**30)})


def test_defect_goes_with_what_is_made_of_it():
    bad = Dist({0: 0.5, 1: 0.5 + 2e-10})
    worse = Dist({0: 0.5, 1: 0.5 - 4e-10})
    good = uniform([0, 1])
    assert bad.map(lambda x: x + 1).defect == bad.defect
    assert good.bind(lambda x: (bad, worse)[x]).defect == worse.defect
    assert bad.bind(lambda _: good).defect == bad.defect
    assert Dist.mix([(good, 1), (bad, 1)]).defect == bad.defect
    assert Dist.mix([(good, 0.5), (good, 0.5 + 2e-10)]).defect == bad.defect
    assert product(good, bad, worse).defect == worse.defect
    assert Dist({1: 1}).defect == 0


@pytest.mark.parametrize(
    ("weights", "total"),
    [
        ({"a": 0.4, "b": 0.5}, 0.9),
        ({"a": 1.0, "b": 3.0}, 4.0),
        ({"a": 1, "b": 1, "c": 0.5}, 2.5),
        ({"a": Fraction(1, 3), "b": Fraction(1, 3)}, 2 / 3),
        ({"a": 1e308, "b": 1e308, "c": 1e308}, math.inf),
        ({"a": 5e-324}, 5e-324),
    ],
)
def test_wrong_sum(weights, total):
    with pytest.raises(ProbabilitySumError, match=REMEDY) as caught:
        Dist(weights)
    assert caught.value.value == total
    assert caught.value.limit == 1e-9
    assert "write ints for odds like 1 : 3, or divide by the sum" in str(caught.value)


# --- Foreign dice -----------------------------------------------------------------------------------


def test_as_dist_returns_a_dist_as_it_is():
    dist = uniform("ab")
    assert as_dist(dist) is dist
    assert as_dist({"a": 3, "b": 3}) == dist
    assert as_dist({"a": 0.5, "b": 0.5}) == dist


def test_as_dist_takes_icepool_dice():
    assert as_dist(icepool.d6) == uniform(range(1, 7))
    assert as_dist(icepool.Die({1: 2, 5: 4})) == Dist({1: 1, 5: 2})
    two = as_dist(icepool.d6 + icepool.d6)
    assert two == product(icepool.d6, icepool.d6).map(sum)
    assert two.mean() == icepool.d6.mean() * 2
    assert uniform([4, 6]).bind(icepool.d).mean() == Fraction(3)


def test_as_dist_takes_a_mapping_that_is_no_dict():
    class Histogram:
        """What dyce.H looks like from here."""

        def items(self):
            return iter([(1, 2), (2, 6), (3, 0)])

    assert as_dist(Histogram()) == Dist({1: 1, 2: 3})


@pytest.mark.parametrize("junk", [6, None, "ab", [1, 2], Dist, dict])
def test_as_dist_refuses_the_rest(junk):
    with pytest.raises(GameError, match=r"expected a distribution, got .*write Dist\(.*icepool or dyce") as caught:
        as_dist(junk)
    assert caught.value.value is junk
    with pytest.raises(GameError, match="expected a distribution"):
        certainly(0).bind(lambda _: junk)
    with pytest.raises(GameError, match="expected a distribution"):
        Dist.mix([(junk, 1)])


def test_icepool_is_not_imported_by_the_library():
    assert "icepool" not in sys.modules["mdpdice.modelling.distribution"].__dict__
