"""The compiled core of a game with counters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from helpers.counter_games import make
from helpers.random_counter_games import counter_games
from hypothesis import HealthCheck, given, settings

from mdpdice import Counter, Dist, Flags, Game, Kind, d6, decide, end, explore, go, pass_to, roll, table, uniform, when
from mdpdice.errors import (
    CounterRangeError,
    DeadEndError,
    GameError,
    MdpDiceError,
    RewardNotFiniteError,
    StateCollisionError,
    StateLimitError,
)
from mdpdice.exploration.expansion import replicate
from mdpdice.exploration.to_lattice import compile_lattice
from mdpdice.lattices.lattice import FORBIDDEN, OUTSIDE


def test_a_small_core_edge_by_edge():
    def node(game, core):
        thrown = roll(d6, lambda k: end() if k == 1 else go("s", game.n.add(k)))
        return when(game.n >= 9, end(game.n), decide({"hold": end(game.n), "roll": thrown}))

    lattice = compile_lattice(make(node, n=Counter(range(15))))
    # The switch of the state, the decision and its roll inside it, and the two ends.
    assert lattice.kind.tolist() == [Kind.CHANCE, Kind.MAX, Kind.CHANCE, Kind.END, Kind.END]
    assert lattice.switch.tolist() == [True, False, False, False, False]
    assert lattice.node_state.tolist() == [0, -1, -1, -1, -1]
    assert lattice.indptr.tolist() == [0, 2, 4, 10, 10, 10]
    assert lattice.dst.tolist() == [3, 1, 3, 2, 4, 0, 0, 0, 0, 0]
    assert list(map(repr, lattice.guards)) == ["n >= 9", "~(n >= 9)"]
    assert lattice.guard.tolist() == [0, 1] + [-1] * 8
    assert [[repr(one) for one in updates] for updates in lattice.updates] == [[f"n.set(n + {k})"] for k in range(2, 7)]
    assert lattice.update.tolist() == [-1] * 5 + [0, 1, 2, 3, 4]
    assert list(map(repr, lattice.rewards)) == ["n"]
    assert lattice.payoff.tolist() == [-1, -1, -1, 0, -1]
    assert lattice.weight.tolist() == [1] * 4 + [1 / 6] * 6
    assert lattice.numerator.tolist() == [1] * 10
    assert list(lattice.actions) == ["hold", "roll"]
    assert (lattice.start, lattice.start_point, lattice.size) == (0, 0, 15)


def test_node_is_asked_once_per_core_state():
    asked = []

    def node(game, core):
        asked.append(core)
        options = {k: when(game.n < 50, go((core + k) % 3, game.n.add(k))) for k in (1, 2)}
        return decide(options | {"stop": end(game.n)})

    lattice = compile_lattice(make(node, start=0, n=Counter(range(60))))
    assert asked == [0, 1, 2]
    assert replicate(lattice).n_states == 52
    assert asked == [0, 1, 2]


def test_numbers_of_the_grid():
    game = make(
        lambda game, core: end(), a=Counter(range(10, 0, -3), start=4), b=Flags(2), c=Counter(range(-2, 3), start=0)
    )
    lattice = compile_lattice(game)
    assert lattice.shape == (4, 4, 5)
    assert lattice.strides == (20, 5, 1)
    assert lattice.counters(lattice.start_point) == {"a": 4, "b": 0, "c": 0}
    points = np.arange(lattice.size)
    values = lattice.values(points)
    assert [lattice.counters(at) for at in points.tolist()] == [
        {name: int(column[at]) for name, column in values.items()} for at in points.tolist()
    ]
    assert values["a"][[0, 20, 40, 60]].tolist() == [10, 7, 4, 1]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(counter_games())
def test_whole_arrays_say_what_single_points_say(game):
    lattice = compile_lattice(game)
    points = np.arange(lattice.size)
    axes = {axis.name: axis for axis in lattice.axes}
    for at, updates in enumerate(lattice.updates):
        for point, found in zip(points.tolist(), lattice.targets(at, points).tolist(), strict=True):
            values = lattice.counters(point)
            after, expected = dict(values), None
            try:
                for one in updates:
                    after[one.name] = axes[one.name].place(one.value.evaluate(values))
                    if after[one.name] is None:
                        expected = FORBIDDEN
                        break
            except (CounterRangeError, GameError):
                expected = OUTSIDE
            assert found == expected if expected is not None else lattice.counters(found) == after
    for at, guard in enumerate(lattice.guards):
        holds, defined = lattice.guard_at(at, points), lattice.guard_defined_at(at, points)
        for point in points.tolist():
            try:
                assert guard.evaluate(lattice.counters(point)) == holds[point]
                assert defined[point]
            except GameError:
                assert not defined[point]
                assert not holds[point]
    for at in range(len(lattice.rewards)):
        found = lattice.reward_at(at, points)
        for point in points.tolist():
            try:
                assert float(lattice.exact_reward_at(at, point)) == found[point]
            except GameError:
                assert np.isnan(found[point])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(counter_games())
def test_weights_of_chance_sum_to_one_at_every_point(game):
    lattice = compile_lattice(game)
    points = np.arange(lattice.size)
    for node in np.flatnonzero(lattice.kind == Kind.CHANCE).tolist():
        edges = range(int(lattice.indptr[node]), int(lattice.indptr[node + 1]))
        told = np.all([lattice.guard_defined_at(lattice.guard[e], points) for e in edges], axis=0)
        total = sum(lattice.weight[e] * lattice.guard_at(lattice.guard[e], points) for e in edges)
        assert total[told] == pytest.approx(1, abs=1e-14)
        if lattice.switch[node]:
            assert set(lattice.weight[list(edges)]) == {1.0}


# --- merging ---------------------------------------------------------------------------------------


def test_parallel_edges_that_agree_are_merged_with_the_mean_reward():
    def node(game, core):
        def then(k):
            if k < 3:
                return go("s", game.n.add(1), reward=k)
            if k == 3:
                return go("s", game.n.add(2))
            return when(game.n < 5, go("s", game.n.add(1)), go("s", game.n.add(1), reward=game.n))

        return roll(Dist({0: 1, 1: 1, 2: 2, 3: 3, 4: 3}), then)

    game = make(node, n=Counter(range(9), outside="clip"))
    lattice = compile_lattice(game)
    assert lattice.averaged
    # One edge for 0, 1 and 2, one for 3, and both sides of the condition.
    assert lattice.numerator.tolist() == [4, 3, 3, 3]
    assert lattice.weight.tolist() == [0.4, 0.3, 0.3, 0.3]
    assert list(map(repr, lattice.rewards)) == ["Fraction(5, 4)", "n"] or lattice.exact_reward_at(
        int(lattice.reward[0]), 0
    ) == Fraction(5, 4)
    apart = compile_lattice(game, merge=False)
    assert apart.n_edges == 6
    assert not apart.averaged


def test_expressions_are_kept_once():
    def node(game, core):
        return decide((k, when(game.n + k % 2 < 5, go("s", game.n.add(k % 3), reward=game.n * 2))) for k in range(12))

    lattice = compile_lattice(make(node, n=Counter(range(9))))
    assert (len(lattice.guards), len(lattice.updates), len(lattice.rewards)) == (2, 3, 1)


def test_an_option_made_once_is_read_once_and_means_the_same():
    def node(game, core):
        game.way = getattr(game, "way", None) or when(game.n < 4, go("s", game.n.add(1)))
        again = when(game.n < 4, go("s", game.n.add(1)))
        return decide({"a": game.way, "b": again, "c": game.way, "stop": end()})

    lattice = compile_lattice(make(node, n=Counter(range(9))))
    assert lattice.dst[:3].tolist() == [0, 0, 0]
    assert lattice.guard[:3].tolist() == lattice.update[:3].tolist() == [0, 0, 0]
    assert list(lattice.actions) == ["a", "b", "c", "stop"]


def test_an_option_with_two_cases_has_its_action_twice():
    def node(game, core):
        return decide({"a": when(game.n < 3, go("s", game.n.add(1)), end(game.n)), "b": end()})

    lattice = compile_lattice(make(node, n=Counter(range(9))))
    assert list(lattice.actions) == ["a", "a", "b"]
    network = explore(make(node, n=Counter(range(9))))
    assert list(network.actions) == ["a", "b"] * 4


def test_progress_as_a_game_says_it():
    plain = make(lambda game, core: end(), n=Counter(range(3)), m=Counter(range(3)))
    assert compile_lattice(plain).progress is None
    one = make(lambda game, core: end(), n=Counter(range(3)), progress=lambda game: game.n + 1)
    assert list(map(repr, compile_lattice(one).progress)) == ["n + 1"]
    two = make(
        lambda game, core: end(), n=Counter(range(3)), m=Counter(range(3)), progress=lambda game: (game.m, game.n)
    )
    assert list(map(repr, compile_lattice(two).progress)) == ["m", "n"]


def test_it_says_how_large_it_is():
    game = make(lambda game, core: end(), n=Counter(range(2000)), m=Flags(2))
    assert repr(compile_lattice(game)) == ("<Lattice: 1 core states, 1 nodes, 0 edges; n 2,000 x m 4 = 8,000 points>")


# --- errors ----------------------------------------------------------------------------------------


def refused(node, error, match, **members):
    with pytest.raises(error, match=match) as caught:
        compile_lattice(make(node, n=Counter(range(9)), **members))
    return caught.value


def test_a_game_without_counters():
    with pytest.raises(GameError, match="no counters"):
        compile_lattice(Game.of(start=0, node=lambda core: end()))


@pytest.mark.parametrize(
    ("node", "error", "match"),
    [
        (lambda game, core: None, GameError, "missing return"),
        (lambda game, core: when(game.n < 3, end()), GameError, "third argument"),
        (lambda game, core: decide({}), DeadEndError, "without an available option"),
        (lambda game, core: decide({"a": None}), DeadEndError, "without an available option"),
        (lambda game, core: roll(d6, lambda k: when(game.n < k, end())), GameError, "cannot be left out"),
        (lambda game, core: roll(d6, lambda k: decide({"a": end()})), GameError, "state of its own"),
        (lambda game, core: go("s", reward=float("inf")), RewardNotFiniteError, "inf"),
        (lambda game, core: end(float("nan")), RewardNotFiniteError, "nan"),
        (lambda game, core: decide({"a": go([1])}), GameError, "unhashable"),
        (lambda game, core: 1 // 0, GameError, "raised ZeroDivisionError"),
        (lambda game, core: decide({"a": go("s", Made.m.add(1))}), GameError, "no counter 'm'"),
    ],
)
def test_what_a_game_must_not_hand_over(node, error, match):
    assert refused(node, error, match).state == "s"


class _Made(Game):
    m = Counter(range(3))

    def start(self):
        return 0

    def node(self, state):
        return end()


Made = _Made()


def test_states_that_python_calls_equal():
    def node(game, core):
        return decide({"a": go(1, game.n.add(1)), "b": go(True)}) if core == "s" else end()

    assert refused(node, StateCollisionError, "equal in Python").action == "b"


def test_both_ways_to_tell_players_apart():
    def node(game, core):
        return decide({"a": pass_to("s", game.n.add(1))}, player=1)

    with pytest.raises(GameError, match="not both"):
        compile_lattice(make(node, n=Counter(range(3))))


def test_core_states_are_limited_too():
    def node(game, core):
        return decide({"on": go(core + 1, game.n.add(0)), "stop": end()})

    with pytest.raises(StateLimitError, match="max_states=50"):
        compile_lattice(make(node, start=0, n=Counter(range(3))), max_states=50)


def test_symmetry_is_one_of_the_core():
    def node(game, core):
        return roll(uniform([-1, 1]), lambda k: go(core + k, game.n.add(1))) if abs(core) < 2 else end(game.n)

    game = make(node, start=0, n=Counter(range(9), outside="clip"), canonical=lambda game, core: abs(core))
    lattice = compile_lattice(game)
    assert list(lattice.states) == [0, 1, 2]
    assert set(explore(game).states) == set(explore(game.unrolled()).states)


def test_conditions_of_a_table_are_read_from_left_to_right():
    def node(game, core):
        known = table([5, 6], game.n)
        return when(game.n < 2, when(known > 5, end(known), go("s", game.n.add(1))), end())

    network = explore(make(node, n=Counter(range(9))))
    assert network.n_states == 2
    assert sorted(network.payoff[network.kind == Kind.END].tolist()) == [6]


def test_errors_keep_their_place_in_nested_conditions():
    def node(game, core):
        return when(game.n < 2, when(game.n < 1, decide({"a": end(), "b": 3}), end()), end())

    with pytest.raises(MdpDiceError, match="not an edge") as caught:
        compile_lattice(make(node, n=Counter(range(9))))
    assert (caught.value.state, caught.value.action) == ("s", "b")
