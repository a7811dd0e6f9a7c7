"""What is refused of games with counters, played with the counters inside their states."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from helpers.counter_games import Race, make

from mdpdice import At, Counter, Game, d6, decide, end, explore, go, pass_to, roll, table, when
from mdpdice.errors import CounterRangeError, GameError, MdpDiceError, StateCollisionError


def refused(game):
    with pytest.raises(MdpDiceError) as caught:
        explore(game.unrolled())
    return caught.value


def test_leaving_the_range_names_state_action_and_value():
    game = make(
        lambda g, core: decide({"wait": end(), "roll": roll(d6, lambda k: go("s", g.n.add(k)))}), n=Counter(range(11))
    )
    error = refused(game)
    assert type(error) is CounterRangeError
    assert (error.state, error.action, error.value) == (At("s", n=5), "roll", 11)
    assert error.limit == range(11)
    assert "widen them, or declare outside='clip'" in str(error)
    assert "[state At('s', n=5), action 'roll']" in str(error)


def test_only_what_is_reached_is_an_error():
    def node(game, core):
        return decide({"on": when(game.n < 8, go("s", game.n.add(2))), "stop": end(table([1] * 9, game.n))})

    assert explore(make(node, n=Counter(range(9))).unrolled()).n_states == 5
    error = refused(make(node, n=Counter(range(9), start=1)))
    assert (error.state, error.value) == (At("s", n=7), 9)


def test_between_two_values_is_an_error_whatever_lies_outside():
    for outside in ("error", "clip", "forbid"):
        game = make(
            lambda g, core: decide({"on": go("s", g.n.add(25)), "stop": end()}),
            n=Counter(range(0, 200, 50), outside=outside),
        )
        error = refused(game)
        assert (type(error), error.value) == (CounterRangeError, 25)
        assert "change the step" in str(error)


@pytest.mark.parametrize("inside", [lambda edge: roll(d6, lambda _: edge), lambda edge: edge])
def test_forbidden_inside_chance_is_an_error(inside):
    game = make(lambda g, core: inside(go("s", g.n.add(1))), n=Counter(range(3), outside="forbid"))
    error = refused(game)
    assert (type(error), error.state, error.value) == (CounterRangeError, At("s", n=2), 3)
    assert "not an option of a decision" in str(error)


def test_a_counter_of_another_game():
    other = Race()
    error = refused(make(lambda g, core: go("s", other.mine.add(1)), n=Counter(range(3))))
    assert (type(error), error.state) == (GameError, At("s", n=0))
    assert "no counter 'mine'; its counters are: n" in str(error)
    error = refused(make(lambda g, core: when(other.mine > 1, end(), end()), n=Counter(range(3))))
    assert "counter 'mine' has no value" in str(error)


def test_a_guard_outside_a_decision():
    one = Counter(range(3))
    error = refused(make(lambda g, core: when(g.n > 1, end()), n=one))
    assert "node() returned when(cond, edge)" in str(error)
    assert "third argument" in str(error)
    error = refused(make(lambda g, core: roll(d6, lambda k: when(g.n < k, end())), n=one))
    assert "inside chance" in str(error)
    error = refused(make(lambda g, core: decide({"a": roll(d6, lambda k: when(g.n < k, end()))}), n=one))
    assert "inside chance" in str(error)
    assert error.action == "a"


def test_a_decision_where_an_edge_belongs():
    one = Counter(range(3))
    inner = decide({"x": end()})
    error = refused(make(lambda g, core: decide({"a": when(g.n == 0, inner, end())}), n=one))
    assert (error.action, error.state) == ("a", At("s", n=0))
    assert "give it a state of its own" in str(error)
    error = refused(make(lambda g, core: roll(d6, lambda k: when(g.n == 0, inner, end())), n=one))
    assert "give it a state of its own" in str(error)


def test_an_expression_inside_a_state_or_as_a_bool():
    error = refused(make(lambda g, core: go(("s", g.n)), n=Counter(range(3))))
    assert type(error) is GameError
    assert "cannot be part of a state" in str(error)
    error = refused(make(lambda g, core: end() if g.n > 2 else go("s"), n=Counter(range(3))))
    assert "write when(n > 2, then, otherwise)" in str(error)
    assert error.state == At("s", n=0)


def test_core_states_that_python_calls_equal():
    class Day(NamedTuple):
        left: int

    class Night(NamedTuple):
        left: int

    def node(game, core):
        return when(game.n == 0, go(Night(1), game.n.add(1)), end(1 if type(core) is Night else 2))

    assert type(refused(make(node, start=Day(1), n=Counter(range(3))))) is StateCollisionError


def test_conditions_and_updates_in_a_game_without_counters():
    other = Race()
    for node in (
        when(other.mine > 1, end(1), end()),
        decide({"a": when(other.mine > 1, end())}),
        go("t", other.mine.add(1)),
        pass_to("t", other.mine.add(1)),
        decide({"a": go("t", other.mine.add(1))}),
        decide({"a": pass_to("t", other.mine.add(1))}),
        roll(d6, lambda k: go("t", other.mine.add(k))),
        roll(d6, lambda k: pass_to("t", other.mine.add(k))),
        roll(d6, lambda k: go("t", other.mine.add(k), reward=k)),
        decide({"a": roll(d6, lambda k: when(other.mine > k, end(), end(1)))}),
    ):
        game = Game.of(start="s", node=lambda s, node=node: node if s == "s" else end())
        with pytest.raises(GameError, match="the game has none") as caught:
            explore(game)
        assert caught.value.state == "s"
