"""Mistakes of a first day: each error says what to write instead, and where."""

from __future__ import annotations

import subprocess
import sys
import traceback
from dataclasses import dataclass

import attrs
import numpy as np
import pytest

from mdpdice import ClassicMDP, Counter, Dist, Game, d6, decide, end, explore, go, product, roll, solve, when
from mdpdice.errors import ConformanceError, GameError, ProbabilityRangeError, UnknownStateError, UnsupportedError
from mdpdice.policies.playthrough import play
from mdpdice.spelling import did_you_mean
from mdpdice.testing import check_game


def refusal(game, kind=GameError):
    """The error of exploring a game."""
    with pytest.raises(kind) as caught:
        explore(game)
    return caught.value


# --- assignments ----------------------------------------------------------------------------------


@attrs.frozen
class Counting(Game[str, str]):
    cap: int = 9
    points = Counter(range(20))

    def start(self):
        return "turn"

    def node(self, state):
        self.change()
        return when(self.points >= self.cap, end(self.points), decide({"on": go(state, self.points.add(1))}))

    def change(self):
        """What somebody wrote who thinks of variables."""


class Adding(Counting):
    def change(self):
        self.points += 1


class Subtracting(Counting):
    def change(self):
        self.points -= 2


class Setting(Counting):
    def change(self):
        self.points = 7


class Doubling(Counting):
    def change(self):
        self.points = 2 * self.points


class Parameter(Counting):
    def change(self):
        self.cap += 1


@pytest.mark.parametrize(
    ("game", "remedy"),
    [
        (Adding, "write go(state, self.points.add(1))"),
        (Subtracting, "write go(state, self.points.add(-2))"),
        (Setting, "write go(state, self.points.set(7))"),
        (Doubling, "write go(state, self.points.set(2 * points))"),
        (Parameter, "self.cap, and a game stays as it was made"),
    ],
)
def test_an_assignment_in_node_says_what_to_write(game, remedy):
    error = refusal(game())
    assert remedy in error.message
    assert error.state == "turn"
    assert isinstance(error.__cause__, attrs.exceptions.FrozenInstanceError)


def test_an_assignment_to_a_counter_of_a_class_without_attrs():
    class Plain(Game[str, str]):
        points = Counter(range(9))

        def start(self):
            return "turn"

        def node(self, state):
            self.points += 1

    error = refusal(Plain())
    assert "write go(state, self.points.add(1))" in error.message
    assert error.state == "turn"


@attrs.frozen
class Score:
    points: int


@dataclass(frozen=True)
class Tally:
    points: int


@pytest.mark.parametrize("kind", [Score, Tally])
def test_an_assignment_to_a_field_of_a_state(kind):
    def node(state):
        state.points += 1

    error = refusal(Game.of(start=kind(0), node=node))
    assert f"assigns to 'points' of {kind(0)!r}" in error.message
    assert "go(attrs.evolve(state, points=...))" in error.message


def test_an_error_that_only_looks_like_an_assignment_is_told_as_it_is():
    def node(state):
        raise attrs.exceptions.FrozenInstanceError

    assert "node() raised FrozenInstanceError" in refusal(Game.of(start=0, node=node)).message


def test_a_counter_inside_a_state_says_what_to_write():
    class Inside(Counting):
        def node(self, state):
            return go((state, self.points))

    message = refusal(Inside()).message
    assert "change counters with go(state, self.name.set(...))" in message
    assert ".key" not in message


# --- states that cannot be hashed -----------------------------------------------------------------


@attrs.define
class Loose:
    points: int


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ([1, 2], "write tuple(...) instead of [1, 2]"),
        (("turn", [1, 2]), "write tuple(...) instead of [1, 2]"),
        (Score([3]), "write tuple(...) instead of [3]"),
        ({"points": 3}, "a frozen attrs class, or tuple(sorted(d.items())), instead of {'points': 3}"),
        ((0, {4}), "write frozenset(...) instead of {4}"),
        ((0, np.array([4])), "write tuple(array.tolist()) instead of array([4])"),
        (Loose(0), "decorate Loose with @attrs.frozen"),
        ((1, Loose(0)), "decorate Loose with @attrs.frozen"),
    ],
)
class TestUnhashable:
    def test_start(self, wrong, remedy):
        error = refusal(Game.of(start=wrong, node=lambda _: end()))
        assert error.message.startswith(f"start(): the state {wrong!r} cannot be hashed")
        assert remedy in error.message

    def test_option_and_roll(self, wrong, remedy):
        for way in (go(wrong), roll(d6, lambda k: go(wrong) if k > 3 else end())):
            error = refusal(Game.of(start=0, node=lambda _, way=way: decide({"fine": end(1), "b": way})))
            assert f"the state {wrong!r} cannot be hashed" in error.message
            assert remedy in error.message
            assert error.state == 0
            assert error.action == "b"

    def test_core_of_a_game_with_counters(self, wrong, remedy):
        class Moving(Counting):
            def node(self, state):
                return when(self.points > 3, end(1), decide({"b": go(wrong, self.points.add(1))}))

        error = refusal(Moving())
        assert remedy in error.message
        assert (error.state, error.action) == ("turn", "b")


def test_a_payoff_with_counters_beside_a_state_that_cannot_be_hashed():
    class Beside(Counting):
        def node(self, state):
            return when(self.points > 3, end(self.points), roll(d6, lambda k: go([k])))

    assert refusal(Beside()).message.startswith("the state [1] cannot be hashed")


def test_a_counter_in_the_place_of_an_edge():
    class Inside(Counting):
        def node(self, state):
            return decide({"a": self.points})

    assert refusal(Inside()).message.startswith("points is not an edge; use go(...)")


def test_a_payoff_that_cannot_be_hashed():
    error = refusal(Game.of(start=0, node=lambda _: decide({"a": end([1])})))
    assert error.message.startswith("the payoff [1] cannot be hashed")
    assert (error.state, error.action) == (0, "a")


def test_canonical_that_gives_what_cannot_be_hashed():
    class Mirrored(Counting):
        points = None

        def node(self, state):
            return go("other")

        def canonical(self, state):
            return state if state == "turn" else [state]

    assert "canonical() must give a state" in refusal(Mirrored()).message


# --- dice and weights -----------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [lambda: 2 * d6, lambda: d6 * 2, lambda: d6 * d6, lambda: d6 @ 2])
def test_arithmetic_with_dice_that_has_two_meanings_names_both(wrong):
    with pytest.raises(GameError, match=r"d6 \+ d6 or 2 @ d6, .* d6\.map\(lambda k: 2 \* k\)"):
        wrong()


def test_several_dice_in_a_roll_need_a_function_of_all():
    with pytest.raises(GameError, match=r"`then` of roll\(\) gets 2 outcomes, here \(1, 1\) .*write lambda a, b: go"):
        roll(d6, d6, lambda a: go(a))  # noqa: PLW0108 - two dice
    with pytest.raises(GameError, match=r"roll\(\) takes a function"):
        roll(d6, d6, d6)
    with pytest.raises(GameError, match=r"roll\(\) takes a function"):
        roll(d6, d6)
    with pytest.raises(GameError, match="expected a distribution, got <function"):
        roll(d6, lambda k: go(k), d6)  # noqa: PLW0108 - a function in the place of a die


def test_a_function_of_two_outcomes_is_told_that_it_gets_one():
    error = refusal(Game.of(start=0, node=lambda _: roll(product(d6, d6), lambda a, b: go(a + b))))
    assert "`then` of roll() gets one outcome, here the tuple (1, 1)" in error.message
    assert "lambda dice: go(sum(dice))" in error.message
    assert error.state == 0
    with pytest.raises(GameError, match=r"gets one outcome, here 1 .*write lambda k: go\(k\)"):
        roll(d6, lambda: go(0))


def test_a_type_error_inside_of_the_function_stays_what_it_is():
    with pytest.raises(TypeError, match="unsupported operand"):
        roll(d6, lambda k: go(k + "1"))


@pytest.mark.parametrize("weight", [-1, -0.5, float("nan"), float("inf")])
def test_a_weight_out_of_range_names_its_outcome(weight):
    with pytest.raises(ProbabilityRangeError, match="of the outcome 'tails' is negative or not finite"):
        Dist({"heads": 2, "tails": weight})
    with pytest.raises(ProbabilityRangeError, match=r"of the outcome Dist\("):
        Dist.mix([(d6, weight)])


def test_a_weight_that_is_no_number_names_its_outcome():
    with pytest.raises(GameError, match="the weight True of the outcome 'tails' is not a number"):
        Dist({"heads": 2, "tails": True})


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "question"),
    [
        (lambda _: decide({"hold": 1}), "1 is not an edge; did you mean go(1)? use"),
        (lambda _: roll(d6, lambda k: (k, 0)), "(1, 0) is not an edge; did you mean go((1, 0))?"),
        (lambda _: decide({"hold": d6}), "did you mean roll(dist, go)?"),
        (lambda _: 21, "node() returned 21; did you mean go(21) or end(21)? return"),
        (lambda _: "won", "node() returned 'won'; did you mean go('won')?"),
    ],
)
def test_a_state_in_the_place_of_an_edge(node, question):
    error = refusal(Game.of(start=0, node=node))
    assert question in error.message
    assert error.state == 0


def test_nothing_is_asked_where_nothing_can_be_meant():
    for node in (lambda _: decide({"a": [1]}), lambda _: decide({"a": len}), lambda _: None):
        assert "did you mean" not in refusal(Game.of(start=0, node=node)).message


def test_parameters_without_attrs():
    class Forgotten(Game[int, str]):
        cap: int = 3

        def start(self):
            return 0

        def node(self, state):
            return end(self.cap)

    for give in (lambda: Forgotten(cap=4), lambda: Forgotten(4)):
        with pytest.raises(GameError, match="Forgotten has no parameters; decorate the class .* and cap"):
            give()
    assert solve(Forgotten()).value() == 3


def test_arguments_for_a_game_that_declares_none():
    class Bare(Game[int, str]):
        start = node = None

    with pytest.raises(GameError, match="Bare has no parameters$"):
        Bare(3)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("vi", "value-iteration"),
        ("value_iteration", "value-iteration"),
        ("Value Iteration", "value-iteration"),
        ("PI", "policy-iteration"),
        ("exakt", "exact"),
    ],
)
def test_solvers_that_are_nearly_called_so(written, meant):
    with pytest.raises(UnsupportedError, match=f"did you mean '{meant}'\\? installed are"):
        solve(Counting(), solver=written)


def test_nothing_is_guessed_from_nothing():
    assert did_you_mean("", ["exact"]) == did_you_mean("zzz", ["exact"]) == did_you_mean(3, ["exact"]) == ""
    assert did_you_mean("hold", [1, ("hold",)]) == ""


def test_actions_that_are_nearly_called_so():
    turn = Game.of(start=0, node=lambda n: end(n) if n > 9 else decide({"hold": end(n), "roll": go(n + 1)}))
    network = explore(turn)
    with pytest.raises(UnknownStateError, match="no action 'holt' here; did you mean 'hold'"):
        network.edge_of(network.start, "holt")
    with pytest.raises(UnknownStateError, match="no action 'Roll' here; did you mean 'roll'"):
        list(play(turn, [lambda turn: "Roll"], 1))


def test_a_game_of_a_function_is_called_a_game():
    endless = Game.of(start=0, node=lambda s: decide({"roll": roll(d6, lambda k: go((s + k) % 10))}))
    with pytest.raises(ConformanceError, match="the game fails the check 'termination'"):
        check_game(endless)


# --- tracebacks -----------------------------------------------------------------------------------


def divide(_):
    return 1 // 0


class Batches(ClassicMDP):
    def initial(self):
        return 0

    def actions(self, state):
        return ["go"]

    def transition(self, state, action):
        return divide(state)

    def transitions(self, states, action):
        return divide(states[0])


TRACED = {
    "batches": (explore, Batches()),
    "explore": (explore, Game.of(start=0, node=divide)),
    "solve": (solve, Game.of(start=0, node=divide)),
    "roll": (solve, Game.of(start=0, node=lambda _: roll(d6, divide))),
    "counters": (solve, type("Dividing", (Counting,), {"node": lambda self, state: divide(state)})()),
    "edge": (explore, Game.of(start=0, node=lambda _: decide({"a": 3}))),
}


@pytest.mark.parametrize("name", TRACED)
def test_frames_of_the_library_between_a_call_and_an_error_are_hidden(name):
    """IPython and pytest leave out frames with this local, but never the last one."""
    call, game = TRACED[name]
    with pytest.raises(GameError) as caught:
        call(game)
    for error in filter(None, (caught.value, caught.value.__cause__)):
        *before, _ = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
        shown = {frame.f_code.co_filename for frame in before if not frame.f_locals.get("__tracebackhide__")}
        assert shown <= {__file__}


def test_pytest_shows_the_function_of_the_user_and_not_the_library(tmp_path):
    path = tmp_path / "test_mine.py"
    path.write_text(
        "from mdpdice import Game, solve\n"
        "def node(state):\n"
        "    return 1 // 0\n"
        "def test_it():\n"
        "    solve(Game.of(start=0, node=node))\n"
    )
    told = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", tmp_path, path],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    ).stdout
    assert "test_mine.py:3: ZeroDivisionError" in told
    assert "pipeline.py" not in told
    assert told.count("traversal.py") <= 2
