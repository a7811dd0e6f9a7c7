"""Expressions mean what Python's own operators mean, at one point and on whole arrays."""

from __future__ import annotations

import functools
import math
import operator
import pickle
from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice import Counter, Expr, Flags, Game, end, least, most, table
from mdpdice.errors import GameError
from mdpdice.modelling.expressions import as_expr, constant


@attrs.frozen
class Holder(Game[str, str]):
    """A game that lends its counters."""

    x = Counter(range(-50, 51))
    y = Counter(range(-50, 51))
    i = Counter(range(8))
    boxes = Flags(8)

    def start(self):
        return "s"

    def node(self, state):
        return end()


G = Holder()
NAMES = {"x": G.x, "y": G.y, "i": G.i, "boxes": G.boxes, "least": least, "most": most, "table": table}
NAMES["Fraction"] = Fraction
COMPARISONS = [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne]

# --- random expressions, each with the function that it means --------------------------------------
#
# A term is an expression and a function from the counters to a value, built side by side: the first with
# the operators of Expr, the second with Python's on numbers.


def _counter(name):
    return getattr(G, name), lambda p: p[name]


def _fixed(value):
    return as_expr(value), lambda p: value


NUMBERS = st.one_of(
    st.integers(-20, 20),
    st.fractions(min_value=-3, max_value=3, max_denominator=7),
    st.sampled_from([0.5, 0.1, -2.75, 3.0]),
)


def _binary(function):
    def build(pair):
        (a, f), (b, g) = pair
        return function(a, b), lambda p: function(f(p), g(p))

    return build


def _choice(ours, theirs):
    def build(terms):
        return ours(*(a for a, _ in terms)), lambda p: theirs([f(p) for _, f in terms])

    return build


def _table(pair):
    entries, (index, f) = pair
    n = len(entries)
    # Python's modulus is never negative, so every index is an entry.
    return table(entries, index % n), lambda p: entries[f(p) % n]


def _divided(op):
    return lambda pair: (op(pair[0][0], pair[1]), lambda p: op(pair[0][1](p), pair[1]))


INTEGERS = st.recursive(
    st.one_of(
        st.sampled_from(["x", "y", "i"]).map(_counter),
        st.integers(-20, 20).map(_fixed),
        st.sets(st.integers(0, 7)).map(
            lambda among: (G.boxes.count(among), lambda p: sum(p["boxes"] >> box & 1 for box in among))
        ),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(_binary(operator.add)),
        st.tuples(inner, inner).map(_binary(operator.sub)),
        st.tuples(inner, inner).map(_binary(operator.mul)),
        st.tuples(inner, st.integers(1, 9)).map(_divided(operator.floordiv)),
        st.tuples(inner, st.integers(1, 9)).map(_divided(operator.mod)),
        st.lists(inner, min_size=1, max_size=3).map(_choice(least, min)),
        st.lists(inner, min_size=1, max_size=3).map(_choice(most, max)),
        st.tuples(st.lists(st.integers(-9, 9), min_size=1, max_size=5), inner).map(_table),
        inner.map(lambda term: (-term[0], lambda p: -term[1](p))),
    ),
    max_leaves=6,
)
RATIONALS = st.recursive(
    st.one_of(INTEGERS, NUMBERS.filter(lambda n: not isinstance(n, float)).map(_fixed)),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(_binary(operator.add)),
        st.tuples(inner, inner).map(_binary(operator.sub)),
        st.tuples(inner, inner).map(_binary(operator.mul)),
        st.lists(inner, min_size=1, max_size=3).map(_choice(least, min)),
        st.lists(inner, min_size=1, max_size=3).map(_choice(most, max)),
    ),
    max_leaves=3,
)
REALS = st.one_of(
    RATIONALS,
    st.tuples(RATIONALS, st.sampled_from([0.5, 0.1, -2.75]).map(_fixed)).map(_binary(operator.add)),
    st.tuples(RATIONALS, st.sampled_from([0.5, 0.1, -2.75]).map(_fixed)).map(_binary(operator.mul)),
)
CONDITIONS = st.recursive(
    st.one_of(
        st.tuples(REALS, REALS, st.sampled_from(COMPARISONS)).map(lambda t: _binary(t[2])(t[:2])),
        st.integers(0, 7).map(lambda box: (G.boxes[box], lambda p: bool(p["boxes"] >> box & 1))),
        st.sets(st.integers(0, 7), min_size=1).map(
            lambda among: (G.boxes.has(*among), lambda p: all(p["boxes"] >> box & 1 for box in among))
        ),
        st.sets(st.integers(0, 7), min_size=1).map(
            lambda among: (G.boxes.any(*among), lambda p: any(p["boxes"] >> box & 1 for box in among))
        ),
        st.booleans().map(_fixed),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(_binary(operator.and_)),
        st.tuples(inner, inner).map(_binary(operator.or_)),
        # ~True is -2 in Python, so the meaning is written with not.
        inner.map(lambda term: (~term[0], lambda p: not term[1](p))),
    ),
    max_leaves=4,
)
POINTS = st.fixed_dictionaries(
    {"x": st.integers(-50, 50), "y": st.integers(-50, 50), "i": st.integers(0, 7), "boxes": st.integers(0, 255)}
)
GRID = [
    {"x": x, "y": y, "i": i, "boxes": boxes}
    for x, i, boxes in ((-50, 0, 255), (-1, 7, 0), (0, 3, 5), (3, 1, 128), (50, 7, 90))
    for y in (-7, 0, 50)
]
ARRAYS = {name: np.array([point[name] for point in GRID]) for name in ("x", "y", "i", "boxes")}


def _means(term, kind):
    """The expression gives what Python gives: at single points, and on arrays."""
    expr, function = term
    expected = [function(point) for point in GRID]
    assert [expr.evaluate(point) for point in GRID] == expected
    found = expr.evaluate(ARRAYS)
    assert found.dtype == kind
    assert found.shape == (len(GRID),)
    # A Fraction rounds to the nearest float once; everything else is equal as it is.
    assert found.tolist() == [float(value) if kind is np.float64 else value for value in expected]


@settings(max_examples=50, deadline=None)
@given(INTEGERS)
def test_whole_numbers(term):
    assert term[0].integral
    _means(term, np.int64)


@settings(max_examples=50, deadline=None)
@given(REALS)
def test_numbers(term):
    expected = np.int64 if term[0].integral else np.float64
    _means(term, expected)


@settings(max_examples=50, deadline=None)
@given(CONDITIONS)
def test_conditions(term):
    assert term[0].boolean
    _means(term, np.bool_)


@settings(max_examples=50, deadline=None)
@given(st.one_of(REALS, CONDITIONS))
def test_the_text_is_what_one_would_write(term):
    again = eval(repr(term[0]), {}, NAMES)
    assert as_expr(again).key == term[0].key


@settings(max_examples=50, deadline=None)
@given(st.one_of(REALS, CONDITIONS), st.one_of(REALS, CONDITIONS))
def test_equal_keys_mean_equal_values(one, other):
    assert hash(one[0].key) == hash(one[0].key)
    if one[0].key == other[0].key:
        assert repr(one[0]) == repr(other[0])
        assert all(one[1](point) == other[1](point) for point in GRID)


@settings(max_examples=50, deadline=None)
@given(CONDITIONS)
def test_names_are_those_that_matter(term):
    expr, _ = term
    for point in GRID[:7]:
        known = {name: value for name, value in point.items() if name in expr.names}
        assert expr.evaluate(known) == expr.evaluate(point)


# --- particular cases ----------------------------------------------------------------------------


def test_keys_tell_types_apart():
    assert len({constant(one).key for one in (1, 1.0, True, Fraction(1))}) == 4
    assert table([1, 2], G.i).key != table([1.0, 2.0], G.i).key
    assert (G.x + 1).key == (Holder().x + 1).key


def test_zero_has_no_sign():
    zeros = constant(-0.0), -constant(0.0), constant(0) * -2.75, constant(-0.0) + -0.0, table([-0.0, 1.0], 0)
    assert {repr(zero) for zero in zeros} == {"0.0"}
    assert table([-0.0, 1.0], G.i).args[0] == table([0.0, 1.0], G.i).args[0]
    assert repr(table([-0.0, 1.0], G.i)) == repr(table([0.0, 1.0], G.i))


def test_constants_fold():
    assert (constant(2) * 3 + 4).value == 10
    assert (G.x + 0).key == G.x.key
    assert (1 * G.x).key == G.x.key
    assert (G.x + 3 + 4).key == (G.x + 7).key
    assert sum([G.x, G.y]).key == (G.x + G.y).key
    assert ((G.x > 1) & True).key == (G.x > 1).key
    assert ((G.x > 1) | True).value is True
    assert (~~(G.x > 1)).key == (G.x > 1).key
    assert table((5, 6, 7), 1).value == 6
    assert (G.x < Fraction(5, 2)).key == (G.x <= 2).key
    assert (G.x == 0.5).value is False


def test_adding_floats_is_not_rearranged():
    expr = G.x * 0.1 + 1 + 2
    assert expr.evaluate({"x": 1}) == 0.1 + 1 + 2


def test_numpy_numbers_on_the_left():
    assert (np.int64(3) + G.x).key == (3 + G.x).key
    assert (np.float64(0.5) * G.x).key == (0.5 * G.x).key
    assert (np.bool_(True) & (G.x > 1)).key == (G.x > 1).key
    assert (Fraction(1, 2) * G.x).key == (G.x.__rmul__(Fraction(1, 2))).key


def test_an_array_stays_exact_beyond_the_floats():
    large = 2**60
    values = {"x": np.array([large, large + 1])}
    assert (G.x + 1).evaluate(values).tolist() == [large + 1, large + 2]
    assert (G.x * Fraction(1, 3) < Fraction(large + 1, 3)).evaluate(values).tolist() == [True, False]
    assert (G.x < float(large)).evaluate(values).tolist() == [False, False]
    assert (G.x <= float(large)).evaluate(values).tolist() == [True, False]
    # A float that varies, compared with whole numbers that are no floats.
    assert (table([float(large)] * 2, G.i) < G.x).evaluate({**values, "i": 1}).tolist() == [False, True]


def test_an_array_that_leaves_int64_is_an_error():
    values = {"x": np.array([2**40]), "y": np.array([2**40])}
    with pytest.raises(GameError, match=r"x \* y takes values beyond 2\*\*63"):
        (G.x * G.y).evaluate(values)
    assert (G.x * G.y).evaluate({"x": 2**40, "y": 2**40}) == 2**80
    with pytest.raises(GameError, match="beyond"):
        (G.x + 2**63).evaluate(values)
    with pytest.raises(GameError, match="beyond"):
        table([1, 2**63], G.i).evaluate({"i": np.array([0])})


def test_shapes():
    found = (G.x + G.y).evaluate({"x": np.arange(3)[:, None], "y": np.arange(2)})
    assert found.tolist() == [[0, 1], [1, 2], [2, 3]]
    assert constant(3).evaluate({"x": np.arange(4)}).tolist() == [3, 3, 3, 3]
    assert (G.x + 1).evaluate({"x": np.arange(0)}).tolist() == []
    assert (G.x + 1).evaluate({"x": np.int64(3)}) == 4


def test_a_table_without_an_entry():
    expr = table([10, 20, 30], G.i)
    with pytest.raises(GameError, match=r"has entries 0 to 2, and none for i = 5") as caught:
        expr.evaluate({"i": 5})
    assert (caught.value.value, caught.value.limit) == (5, 3)
    with pytest.raises(GameError, match="none for i = 7"):
        expr.evaluate({"i": np.array([0, 7, 9])})
    with pytest.raises(GameError, match="none for i - 1 = -1"):
        table([1, 2], G.i - 1).evaluate({"i": 0})
    found, defined = expr.evaluate_where_defined({"i": np.array([0, 2, 3])})
    assert defined.tolist() == [True, True, False]
    assert found[:2].tolist() == [10, 30]


def test_conditions_are_read_from_left_to_right():
    guarded = (G.i < 3) & (table([10, 20, 30], G.i) > 10)
    assert not guarded.evaluate({"i": 7})
    assert guarded.evaluate({"i": np.arange(5)}).tolist() == [False, True, True, False, False]
    either = (G.i >= 3) | (table([10, 20, 30], G.i) > 10)
    assert either.evaluate({"i": np.arange(5)}).tolist() == [False, True, True, True, True]
    with pytest.raises(GameError, match="none for i = 3"):
        ((table([10, 20, 30], G.i) > 10) & (G.i < 3)).evaluate({"i": np.arange(5)})


def test_long_sums_are_flat_and_deep_nests_are_refused():
    total = as_expr(0)
    for _ in range(5000):
        total = total + G.x
    assert total.evaluate({"x": 2}) == 10_000
    assert len(total.key) == 5001

    def nested(n):
        return functools.reduce(lambda inner, _: least(inner, G.y) - 1, range(n), G.x)

    assert nested(90).evaluate({"x": 0, "y": 5}) == -90
    with pytest.raises(GameError, match="nested more than 200 deep"):
        nested(5000)


@pytest.mark.parametrize(
    ("misuse", "remedy"),
    [
        (lambda: bool(G.x > 3), "write when(x > 3, then, otherwise) for `if`"),
        (lambda: 1 if G.x else 2, "when(x != 0, then, otherwise) for `if`, x == 0 for `not`"),
        (lambda: (G.x > 3) and (G.y > 3), "& and | for `and` and `or`"),
        (lambda: not (G.x > 3), "~(x > 3) for `not`"),
        (lambda: not G.boxes[0], "when(boxes[0], then, otherwise) for `if`, ~boxes[0] for `not`"),
        (lambda: not ~G.boxes[0], "~boxes[0] is neither true nor false"),
        (lambda: not ~G.boxes[0], " boxes[0] for `not`"),
        (lambda: not G.boxes.any(0, 2), "~boxes.any(0, 2) for `not`"),
        (lambda: not G.boxes, "when(boxes.any(), then, otherwise) for `if`, ~boxes.any() for `not`"),
        (lambda: 1 < G.x < 3, "(a < b) & (b < c)"),
        (lambda: min(G.x, G.y), "least and most for min and max"),
        (lambda: max(3, G.y), "least and most"),
        (lambda: sorted([G.x, G.y]), "least and most"),
        (lambda: {G.x: 1}, "go(state, self.name.set(...))"),
        (lambda: {G.x, G.y}, "cannot be part of a state or action"),
        (lambda: hash((1, G.x)), "table(sequence, index)"),
        (lambda: list(G.x), "least, most, table"),
        (lambda: [*G.boxes], "flags[i]"),
        (lambda: G.x[1], "table(list, index)"),
        (lambda: [1, 2, 3][G.x], "table(list, index) instead of list[index]"),
        (lambda: range(G.x), "is not a number while a game is declared"),
        (lambda: int(G.x), "is not a number"),
        (lambda: float(G.x), "is not a number"),
        (lambda: math.sqrt(G.x), "is not a number"),
        (lambda: 3 in G.boxes, "write boxes[3]"),
        (lambda: G.boxes[G.i], "a box is named by a number"),
        (lambda: G.boxes[8], "its boxes are 0 to 7"),
        (lambda: G.boxes[-1], "no box -1"),
        (lambda: G.boxes.has("a"), "no box 'a'"),
        (lambda: G.boxes.count(3), "not a collection of boxes"),
        (lambda: G.x / 2, "Fraction(1, n)"),
        (lambda: G.x // 0, "a positive int only"),
        (lambda: G.x // G.y, "a positive int only"),
        (lambda: G.x % -3, "a positive int only"),
        (lambda: (G.x * 0.5) // 2, "a whole number is divided"),
        (lambda: G.x + "a", "'a' is not a number"),
        (lambda: G.x == None, "None is not a number"),  # noqa: E711
        (lambda: G.x + math.nan, "numbers are finite"),
        (lambda: G.x < math.inf, "numbers are finite"),
        (lambda: G.x & 1, "joins conditions, and x is a number"),
        (lambda: ~G.x, "joins conditions"),
        (lambda: (G.x > 1) | 5, "5 is a number"),
        (least, "at least one number"),
        (lambda: most([G.x, G.y]), "write most(*values)"),
        (lambda: table([], G.x), "empty sequence"),
        (lambda: table(G.x, 3), "takes a list or tuple"),
        (lambda: table(["a"], G.x), "'a' is not a number"),
        (lambda: table([1, 2], G.x * 0.5), "is not a whole number"),
        (lambda: (G.x + G.y).evaluate({"x": 1}), "counter 'y' has no value"),
        (lambda: (G.x + G.y).evaluate({"x": np.arange(3)}), "counter 'y' has no value"),
    ],
)
def test_misuse_names_the_remedy(misuse, remedy):
    with pytest.raises(GameError) as caught:
        misuse()
    assert remedy in str(caught.value), caught.value


def test_expressions_are_not_pickled():
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(G.x + 1)
    assert isinstance(G.x + 1, Expr)


def test_long_tables_are_shortened_in_text():
    assert repr(table(range(1000), G.i)).endswith("... 1000 entries], i)")
