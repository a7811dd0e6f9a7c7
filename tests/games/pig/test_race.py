"""The race of Pig and Piglet against arrays swept by numpy."""

import functools
import itertools
from fractions import Fraction

import attrs
import numpy as np
import pytest

from mdpdice import Policy, Solution, Status, compile_lattice, cross_check, evaluate, explore, solve
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.pig import Piglet, PigRace, hold_table, position
from mdpdice.looks import look_of

STARTER = 0.530592725273747


def points(state):
    return tuple(state.counters[name] for name in ("mine", "theirs", "turn"))


@pytest.fixture(scope="module", params=[30, 40])
def solved(request):
    game = PigRace(goal=request.param)
    return game, _solve(game)


@functools.cache
def _solve(game):
    return solve(game, epsilon=1e-9)


def test_every_position(solved, oracle):
    game, solution = solved
    assert solution.status is Status.CERTIFIED
    assert solution.width < 1e-9
    expected = oracle.race(game.goal)
    states = solution.network.states
    assert len(states) == {30: 11_832, 40: 28_977}[game.goal]
    found = np.array([solution.estimate(state) for state in states])
    at = tuple(np.array([points(state) for state in states]).T)
    np.testing.assert_allclose(found, expected[at], rtol=0, atol=1e-11)


def test_value_at_a_small_goal(solved):
    game, solution = solved
    assert solution.value() == pytest.approx({30: 0.567914744493, 40: 0.544694393482}[game.goal], abs=1e-12)


def test_holding_at_nothing_is_never_best(solved):
    _, solution = solved
    for state in solution.network.states:
        if not state.counters["turn"]:
            worth = solution.q(state)
            assert worth["roll"] > worth["hold"]


@pytest.mark.slow
def test_race_to_100():
    solution = solve(explore(PigRace()), epsilon=1e-9)
    assert solution.network.n_states == 480_447
    assert solution.status is Status.CERTIFIED, solution.reason
    assert solution.value() == pytest.approx(STARTER, abs=1e-11)
    rows = {row[:2]: row[2:] for row in reversed(hold_table(solution))}
    assert rows[0, 0][0] == 21
    # Near the goal the best play tries to win in one turn.
    held = [scores for scores, turns in rows.items() if turns[0] is not None]
    assert max(mine for mine, _ in held) == 77
    assert max(theirs for _, theirs in held) == 83


def test_piglet():
    network = explore(Piglet())
    solution = solve(network)
    assert solution.value() == pytest.approx(4 / 7, abs=1e-12)
    assert evaluate(network, Policy.from_solution(solution), exact=True).exact() == Fraction(4, 7)


@pytest.mark.parametrize("goal", range(1, 11))
def test_piglet_to_other_goals(goal, oracle):
    solution = solve(Piglet(goal=goal))
    expected = oracle.race(goal, faces=(1,), chance=1 / 2)
    for state in solution.network.states:
        assert solution.value(state) == pytest.approx(expected[points(state)], abs=1e-11)


def test_piglet_in_closed_form():
    # To one point the first heads wins; to two points both toss until they win.
    assert solve(Piglet(goal=1)).value() == pytest.approx(2 / 3, abs=1e-12)
    assert solve(PigRace(goal=1)).value() == pytest.approx(6 / 7, abs=1e-12)


# --- rules ------------------------------------------------------------------------


def test_options(oracle):
    goal = 12
    game = PigRace(goal=goal).unrolled()
    for mine, theirs in itertools.product(range(goal), repeat=2):
        for turn in range(goal - mine):
            node = game.node(position(mine, theirs, turn))
            assert node.actions == ["hold", "roll"]
            hold, rolled = node.options
            assert hold.state == position(theirs, mine + turn, 0)
            reached = dict(zip(rolled.dist.outcomes, rolled.edges, strict=True))
            assert rolled.dist.weights == (1,) * 6
            assert reached.pop(0).state == position(theirs, mine, 0)
            assert set(reached) == {2, 3, 4, 5, 6}
            for face, edge in reached.items():
                if mine + turn + face >= goal:
                    assert repr(edge) == "end(1)"
                else:
                    assert repr(edge) == f"go({position(mine, theirs, turn + face)!r})"


def test_parameters():
    for field in [*attrs.fields(PigRace), *attrs.fields(Piglet)]:
        assert field.metadata["help"]
    assert PigRace(goal="40") == PigRace(goal=40)
    assert PigRace().goal == 100
    assert Piglet().goal == 2
    with pytest.raises(GameError, match="from 1 to"):
        PigRace(goal=0)


# --- tables and text --------------------------------------------------------------


def test_hold_table(solved):
    game, solution = solved
    rows = hold_table(solution)
    held = {
        (row.mine, row.theirs, turn)
        for row in rows
        if row.hold_from is not None
        for turn in range(row.hold_from, row.hold_to + 1)
    }
    for state in solution.network.states:
        assert (points(state) in held) == (solution.action(state) == "hold")
    # To 30 points it is best to try to win in every turn.
    assert bool(held) == (game.goal > 30)


def test_rolling_again_with_more_points():
    # To 40 points, holding is best at some starting scores only.
    solution = _solve(PigRace(goal=40))
    assert [row for row in hold_table(solution) if row.hold_from is not None] == [
        (0, 0, 18, 28),
        (0, 2, 19, 25),
        (0, 3, 19, 23),
        (2, 0, 18, 23),
    ]
    assert solution.action(position(0, 0, 29)) == "roll"


def test_summary(solved):
    game, solution = solved
    lines = look_of(game).summary(solution)
    assert lines[1].split()[-10:] == [str(score) for score in range(0, game.goal, game.goal // 10)]
    assert lines[2].split()[1] == {30: "-", 40: "18"}[game.goal]


@pytest.mark.parametrize("game", [Piglet(goal=5), PigRace(goal=11)])
def test_text_of_every_position_is_read_back(game):
    states = explore(game).states
    texts = [look_of(game).show_state(state) for state in states]
    assert len(set(texts)) == len(states)
    for state, text in zip(states, texts, strict=True):
        assert look_of(game).read_state(text) == state


def test_texts():
    game = PigRace()
    assert look_of(game).show_state(position(40, 52, 12)) == "mine=40 theirs=52 turn=12"
    assert look_of(game).read_state("theirs = 52 turn=7") == position(0, 52, 7)
    for text in ("mine=1 mine=2", "mine=1.5", "mine=-1", "yours=1", "theirs=100"):
        with pytest.raises(UnknownStateError, match="written like mine=0 theirs=0 turn=0"):
            look_of(game).read_state(text)
    with pytest.raises(UnknownStateError, match="yours is unknown"):
        look_of(game).read_state("yours=1")
    network = explore(PigRace(goal=11))
    for text in ("4 5 1", "mine=6 turn=5"):  # nothing to read wrong, but no position
        with pytest.raises(UnknownStateError):
            network.node_of(look_of(PigRace(goal=11)).read_state(text))


def test_back_ends_agree():
    report = cross_check(PigRace(goal=12))
    assert report.ok, report.table()


def test_what_is_said_of_a_lattice():
    game = PigRace(goal=12)
    flat, lattice = solve(explore(game)), solve(compile_lattice(game))
    assert look_of(game).summary(lattice) == look_of(game).summary(flat)
    states = set(flat.network.states)
    everything = [position(i, j, k) for i in range(12) for j in range(12) for k in range(12)]
    assert {state for state in everything if lattice.reaches(state)} == states


def test_a_race_is_written_out_where_the_lattice_does_not_prove_enough(monkeypatch):
    monkeypatch.setattr("mdpdice.solving.lattice_route.FLAT_UP_TO_EDGES", 100)
    game = PigRace(goal=12)
    assert solve(game).lattice is not None
    assert isinstance(solve(game, epsilon=1e-12), Solution)
    monkeypatch.setattr("mdpdice.solving.pipeline.FALL_BACK_UP_TO_EDGES", 100)
    assert not solve(game, epsilon=1e-12).proved
