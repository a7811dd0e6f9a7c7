"""Counters as they are declared, what they refuse, and the full states that they make."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdpdice import At, Counter, Flags, Game, d6, decide, end, go, pass_to, roll, when
from mdpdice.errors import CounterRangeError, GameError, UnknownStateError
from mdpdice.modelling.counters import (
    Axis,
    CounterValue,
    FlagsValue,
    Update,
    axes,
    forbidden_error,
    range_error,
    unknown_counter_error,
)
from mdpdice.modelling.game import Conditional, Unavailable


class Plain(Game[str, str]):
    def start(self):
        return "s"

    def node(self, state):
        return end()


@attrs.frozen
class Base(Plain):
    cap: int = 300
    points = Counter(lambda game: range(0, game.cap, 50))
    used = Flags(lambda game: game.cap // 100)


@attrs.frozen(slots=False)
class Loose(Plain):
    cap: int = 300
    points = Counter(lambda game: range(0, game.cap, 50))
    used = Flags(lambda game: game.cap // 100)


@attrs.frozen
class Derived(Base):
    extra: int = 4
    turns = Counter(range(10, 0, -3), start=7, outside="clip")
    points = Counter(lambda game: range(-game.extra, game.extra + 1), start=0, outside="forbid")


# --- declarations --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Base, Loose])
def test_axes_depend_on_the_fields_of_the_game(kind):
    assert axes(kind()) == (
        Axis("points", range(0, 300, 50), 0, "error"),
        Axis("used", range(8), 0, boxes=("0", "1", "2")),
    )
    assert axes(kind(cap=200))[1].values == range(4)


def test_a_subclass_inherits_counters_and_may_replace_one():
    assert axes(Derived()) == (
        Axis("points", range(-4, 5), 0, "forbid"),
        Axis("used", range(8), 0, boxes=("0", "1", "2")),
        Axis("turns", range(10, 0, -3), 7, "clip"),
    )
    assert axes(Base())[0].values == range(0, 300, 50)


def test_a_subclass_may_take_a_counter_away():
    class Fewer(Base):
        used = None

    assert [axis.name for axis in axes(Fewer())] == ["points"]


def test_a_class_without_attrs_may_have_counters():
    class Bare(Plain):
        points = Counter(range(5), start=lambda game: game.first)
        first = 3

    assert axes(Bare()) == (Axis("points", range(5), 3),)
    assert isinstance(Bare().points, CounterValue)


def test_a_class_variable_may_be_annotated_as_one():
    @attrs.frozen
    class Annotated(Plain):
        points: ClassVar[Counter] = Counter(range(5))

    assert axes(Annotated()) == (Axis("points", range(5), 0),)


def test_a_plain_game_has_no_axes():
    assert axes(Plain()) == ()


def test_on_the_class_it_is_the_declaration():
    assert isinstance(Base.points, Counter)
    assert isinstance(Base.used, Flags)
    assert isinstance(Base().used, FlagsValue)
    assert repr(Base.points) == "<Counter points>"


def declared(make, **parameters):
    """A game with one counter that is declared by a function."""

    class Declared(Plain):
        points = make()

    return axes(Declared())


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Counter(5), "a range, or a function of the game"),
        (lambda: Counter([1, 2]), "a range, or a function of the game"),
        (lambda: Counter(lambda game: [1, 2]), "must be a range"),
        (lambda: Counter(lambda game: game.missing), "values of counter 'points' raised AttributeError"),
        (lambda: Counter(range(0)), "has no values"),
        (lambda: Counter(lambda game: range(5, 5)), "has no values"),
        (lambda: Counter(range(5), start=5), "starts at 5, outside its values range(0, 5)"),
        (lambda: Counter(range(0, 100, 50), start=25), "starts at 25, outside"),
        (lambda: Counter(range(5), start="a"), "not a whole number"),
        (lambda: Counter(range(5), start=lambda game: 1 / 0), "start of counter 'points' raised ZeroDivisionError"),
        (lambda: Counter(range(2**63)), "beyond 2**62"),
        (lambda: Counter(range(5), outside="ignore"), "choose 'error', 'clip' or 'forbid'"),
        (lambda: Flags(0), "may have 1 to 62"),
        (lambda: Flags(63), "may have 1 to 62"),
        (lambda: Flags("a"), "may have 1 to 62"),
        (lambda: Flags(True), "may have 1 to 62"),
        (lambda: Flags(lambda game: game.missing), "raised AttributeError"),
    ],
)
def test_a_wrong_declaration_says_so(make, words):
    with pytest.raises(GameError) as caught:
        declared(make)
    assert words in str(caught.value)


def test_an_annotated_counter_is_told_from_a_field():
    @attrs.frozen
    class Wrong(Plain):
        points: Counter = Counter(range(5))  # noqa: RUF009 - that is the mistake

    with pytest.raises(GameError, match="without one"):
        axes(Wrong())
    with pytest.raises(GameError, match="without annotation, points = Counter"):
        Wrong().points + 1


def test_one_counter_with_two_names():
    class Twice(Plain):
        mine = theirs = Counter(range(5))

    with pytest.raises(GameError, match="two names, 'mine' and 'theirs'"):
        axes(Twice())


@pytest.mark.parametrize(
    "misuse",
    [
        lambda: Base.points + 1,
        lambda: 1 - Base.points,
        lambda: Base.points < 3,
        lambda: Base.points.add(3),
        lambda: Base.points.set(3),
        lambda: bool(Base.points),
        lambda: Base.used[1],
        lambda: Base.used.has(1),
        lambda: Base.used.count(among=[1]),
        lambda: list(Base.used),
        lambda: ~Base.used,
    ],
)
def test_a_counter_used_on_the_class(misuse):
    with pytest.raises(GameError, match=r"self\.(points|used) inside node\(\)"):
        misuse()


def test_a_counter_is_not_assigned():
    with pytest.raises(GameError, match=r"self\.points\.set"):
        Plain.__setattr__(Base(), "points", 3)


# --- updates -------------------------------------------------------------------------------------


def test_updates():
    game = Base()
    assert game.points.add(50) == Update("points", game.points + 50)
    assert game.points.add(50) != game.points.add(100)
    assert len({game.points.add(50), Base().points.add(50)}) == 1
    assert repr(game.points.add(50)) == "points.set(points + 50)"
    assert game.points.set(7).value.value == 7
    assert game.points.set(True).value.value == 1
    assert game.points.set(game.used[0]).value.evaluate({"used": 1}) == 1


def test_updates_of_flags():
    game = Base()
    now = {"used": 0b001}
    assert game.used.add(1, 2).value.evaluate(now) == 0b111
    assert game.used.add().value.evaluate(now) == 0b001
    assert game.used.remove(0, 1).value.evaluate(now) == 0
    assert game.used.set([0, 2]).value.evaluate(now) == 0b101
    assert game.used.set(game.used).value.evaluate(now) == 0b001
    values = np.arange(8)
    assert game.used.add(1).value.evaluate({"used": values}).tolist() == (values | 2).tolist()
    assert game.used.remove(1).value.evaluate({"used": values}).tolist() == (values & ~2).tolist()
    assert game.used.count().evaluate({"used": values}).tolist() == [0, 1, 1, 2, 1, 2, 2, 3]
    assert game.used.any().evaluate({"used": values}).tolist() == [False] + [True] * 7
    assert game.used.any(0, 2).evaluate({"used": 0b010}) is False
    assert game.used.has(0, 2).evaluate({"used": 0b111}) is True


@pytest.mark.parametrize(
    ("misuse", "words"),
    [
        (lambda game: game.points.add(0.5), "counters are whole numbers"),
        (lambda game: game.points.set("a"), "is not a number"),
        (lambda game: game.used.add(3), "its boxes are 0 to 2"),
        (lambda game: game.used.set([5]), "no box 5"),
        (lambda game: game.used.set(3), "not a collection of boxes"),
        (lambda game: go("s", game.points.add(50), game.points.add(50)), "'points' is updated twice"),
        (lambda game: pass_to("s", game.used.add(0), game.used.remove(0)), "'used' is updated twice"),
        (lambda game: go("s", (game.points.add(50), game.used.add(1))), "go(state, *updates)"),
        (lambda game: go("s", 5), "take updates such as self.points.add(5)"),
        (lambda game: go("s", game.points + 5), "take updates such as"),
    ],
)
def test_a_wrong_update_says_so(misuse, words):
    with pytest.raises(GameError) as caught:
        misuse(Base())
    assert words in str(caught.value)


# --- conditions ----------------------------------------------------------------------------------


def test_when_with_an_expression():
    game = Base()
    node = when(game.points < 100, end(1), end(2))
    assert type(node) is Conditional
    assert repr(node) == "when(points < 100, end(1), end(2))"
    assert when(game.points < 100, end(1)).otherwise is None


def test_when_with_a_constant_chooses_at_once():
    game = Base()
    always = (game.points < 100) | True
    first, second = end(1), end(2)
    assert when(always, first, second) is first
    assert when(~always, first, second) is second
    assert type(when(~always, first)) is Unavailable
    assert when(True, first, second) is first


@pytest.mark.parametrize(
    ("misuse", "words"),
    [
        (lambda game: when(game.points, end()), "when(points > 0, ...)"),
        (lambda game: when(game.points > 1, decide({"a": end()})), "give it a third argument"),
        (lambda game: when(game.points > 1, when(game.points > 2, end())), "when(a & b, edge)"),
        (lambda game: when(game.points > 1, end(), when(game.points > 2, end())), "third argument"),
        (lambda game: when(game.points > 1, when(False, end()), end()), "third argument"),
        (lambda game: when(game.points > 1, 5), "not 5"),
        (lambda game: when(game.points > 1, end(), None), "not None"),
        (lambda game: when("a", end()), "the condition of when()"),
    ],
)
def test_a_wrong_condition_says_so(misuse, words):
    with pytest.raises(GameError) as caught:
        misuse(Base())
    assert words in str(caught.value)


def test_text_of_edges():
    game = Base()
    assert repr(go("s", game.points.add(50), reward=game.points)) == "go('s', points.set(points + 50), reward=points)"
    assert repr(pass_to("s", reward=2)) == "pass_to('s', reward=2)"
    assert repr(end(game.points)) == "end(points)"
    assert repr(roll(d6, go, reward=game.points)).startswith("roll(")


# --- axes and points -----------------------------------------------------------------------------

RANGES = st.builds(range, st.integers(-20, 20), st.integers(-20, 20), st.integers(-7, 7).filter(bool)).filter(len)


@settings(max_examples=100, deadline=None)
@given(RANGES, st.sampled_from(["error", "clip", "forbid"]))
def test_new_values_by_a_list_of_the_values(values, outside):
    axis = Axis("n", values, values[0], outside)
    members = list(values)
    low, high = min(members), max(members)
    wanted = np.arange(-45, 46)
    found = axis.positions(wanted).tolist()
    for number, position in zip(wanted.tolist(), found, strict=True):
        if number in members:
            assert position == members.index(number)
            assert axis.place(number) == number
        elif low < number < high or outside == "error":
            assert position == -2
            with pytest.raises(CounterRangeError) as caught:
                axis.place(number)
            assert (caught.value.value, caught.value.limit) == (number, values)
        elif outside == "forbid":
            assert position == -1
            assert axis.place(number) is None
        else:
            nearest = low if number < low else high
            assert position == members.index(nearest)
            assert axis.place(number) == nearest


def test_range_errors_say_what_to_do():
    axis = Axis("points", range(0, 300, 50), 0)
    error = range_error(axis, 300).at(At("s", points=250), "roll")
    assert str(error) == (
        "counter 'points' would become 300, outside its values, range(0, 300, 50); widen them, or declare "
        "outside='clip' or outside='forbid' [state At('s', points=250), action 'roll']"
    )
    assert error.code == "CounterRange"
    assert "change the step or the update" in str(range_error(axis, 25))
    assert "flags of as many boxes" in str(range_error(Axis("used", range(8), 0, boxes=("0", "1", "2")), 8))
    assert "when(condition, edge, edge)" in str(forbidden_error(axis, 300))
    assert "its counters are: points" in str(unknown_counter_error("other", [axis]))


# --- full states ---------------------------------------------------------------------------------


def test_full_states_are_values():
    state = At("play", points=350, turn=2)
    assert state == At("play", turn=2, points=350)
    assert hash(state) == hash(At("play", turn=2, points=350))
    assert state != At("play", points=350, turn=3)
    assert state != At("stay", points=350, turn=2)
    assert (state.state, state.counters) == ("play", {"points": 350, "turn": 2})
    assert repr(state) == "At('play', points=350, turn=2)"
    assert repr(At("play")) == "At('play')"
    assert At("play", state=3).counters == {"state": 3}
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        state.state = "other"
    with pytest.raises(TypeError):
        state.counters["points"] = 3
    with pytest.raises(TypeError):
        At("play", points=0.5)


def test_points_are_numbered_in_c_order():
    grid = axes(Derived(cap=200))
    shape = tuple(len(axis.values) for axis in grid)
    seen = []
    for points in grid[0].values:
        for used in grid[1].values:
            for turns in grid[2].values:
                at = At("s", points=points, used=used, turns=turns).point(grid)
                places = (grid[0].values.index(points), used, grid[2].values.index(turns))
                assert at == np.ravel_multi_index(places, shape)
                seen.append(at)
    assert seen == list(range(np.prod(shape)))


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (At("s", points=0), "At(core, points=..., used=...)"),
        (At("s", points=0, used=0, more=1), "there is no counter 'more'"),
        (At("s", points=25, used=0), "points has the values range(0, 300, 50)"),
        (At("s", points=0, used=8), "used has the values range(0, 8)"),
    ],
)
def test_a_full_state_off_the_grid(state, words):
    with pytest.raises(UnknownStateError) as caught:
        state.point(axes(Base()))
    assert words in str(caught.value)
    assert caught.value.value is state
