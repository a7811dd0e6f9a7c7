"""The whole game: what is legal, small games by every solver, Bob on them, states as text."""

import itertools
import random

import attrs
import pytest

from mdpdice import At, Policy, cross_check, evaluate, explore, solve
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.school import COMBINATIONS, CrossOut, Held, Reroll, Rolled, Rules, School, Score, averages
from mdpdice.games.school.rules import GRADES
from mdpdice.games.school.turn import ROLLS
from mdpdice.looks import look_of


def legal(used, dice, left, oracle):
    """Everything that the rules allow, with its points: a second statement of them."""
    found = {}
    graduated = len(used & set(GRADES)) >= 3
    for name in COMBINATIONS:
        grade = name in GRADES
        if name in used or not (grade or graduated):
            continue
        points = oracle.score(name, dice)
        if points is not None:
            found[Score(name)] = points if grade or left < 2 else 2 * points
        if not grade:
            found[CrossOut(name)] = 0
    if left:
        for number in range(1, 6):
            for chosen in itertools.combinations(dice, number):
                found[Reroll(chosen)] = 0
    return found


def test_moves_are_those_that_the_rules_allow(oracle):
    game = School().unrolled()
    draw = random.Random(3)
    for _ in range(400):
        used = set(draw.sample(COMBINATIONS, draw.randrange(15)))
        dice, left = draw.choice(ROLLS), draw.randrange(3)
        mask = sum(1 << COMBINATIONS.index(name) for name in used)
        node = game.node(At(Rolled(dice, left), used=mask))
        found = dict(zip(node.actions, node.options, strict=True))
        # An option is None where it is not available.
        there = {action: edge for action, edge in found.items() if type(edge).__name__ == "Go"}
        assert {action: edge.reward for action, edge in there.items()} == legal(used, dice, left, oracle)
        for action, edge in there.items():
            if isinstance(action, Reroll):
                assert edge.state.counters["used"] == mask
                assert sorted([*action.dice, *edge.state.state.dice]) == list(dice)
                assert edge.state.state.rerolls == left - 1
            else:
                assert edge.state.counters["used"] == mask | 1 << COMBINATIONS.index(action.combination)
                assert edge.state.state == Held((), 2)


def test_the_game_ends_when_all_are_used():
    game = School(open="pair").unrolled()
    assert repr(game.node(At(Held((), 2), used=1))) == "end(0)"
    assert repr(game.node(At(Held((), 2), used=0))).startswith("roll")


@pytest.mark.parametrize("name", ["grade-5", "two-pairs", "trash"])
def test_one_open_combination_is_worth_its_average(name):
    assert solve(School(open=(name,))).value() == pytest.approx(float(averages(Rules())[name]), rel=1e-12)


SMALL = ("grade-6", "care", "poker")


def test_small_game_by_every_back_end():
    report = cross_check(School(open=SMALL[1:]))
    assert report.ok, report.table()
    assert report.independent == 5


@pytest.mark.slow
def test_somewhat_larger_game_by_every_back_end():
    report = cross_check(School(open=("grade-6", "pair", "full", "trash")))
    assert report.ok, report.table()
    assert report.independent >= 4


def test_both_ways_to_explore():
    game = School(open=SMALL[:2])
    fast, plain = explore(game), explore(game.unrolled())
    assert (fast.n_states, fast.n_edges) == (plain.n_states, plain.n_edges)
    values = [solve(network) for network in (fast, plain)]
    for state in random.Random(5).sample(list(plain.states), 300):
        assert values[0].value(state) == pytest.approx(values[1].value(state), rel=1e-12, abs=1e-12)


def test_grades_come_first():
    # With four grades open, one of them is played before anything else.
    game = School(open=("grade-1", "grade-2", "grade-3", "grade-4", "poker"))
    for used, others in ((0, set()), (0b100, {"poker"})):
        ended = {
            action.combination
            for action, option in game_options(game, At(Rolled((1, 2, 3, 4, 5), 1), used=used))
            if not isinstance(action, Reroll)
        }
        assert ended == {name for box, name in enumerate(GRADES[:4]) if not used >> box & 1} | others


def game_options(game, state):
    node = game.unrolled().node(state)
    return [pair for pair in zip(node.actions, node.options, strict=True) if type(pair[1]).__name__ == "Go"]


# --- Bob ------------------------------------------------------------------------------------------


def test_bob_on_the_network_and_as_a_chain():
    game = School(open=SMALL)
    network = explore(game)
    bob = evaluate(network, Policy.of(network, look_of(game).policy("bob")))
    chain = look_of(game).policy_value("bob")
    assert bob.value() == pytest.approx(chain.value, rel=1e-12)
    assert chain.lower <= bob.upper()
    assert bob.lower() <= chain.upper
    assert chain.upper < solve(network).lower()
    assert [known.form for known in look_of(game).policies()] == ["bob"]
    assert look_of(game).policy("alice") is None
    assert look_of(game).policy_value("alice") is None


# --- parameters and text --------------------------------------------------------------------------


def test_parameters():
    assert School().open == School(open="all").open == COMBINATIONS
    assert School(open=("all",)).open == COMBINATIONS  # as the command line splits it
    assert School(open="Trash, Grade 1").open == ("grade-1", "trash")
    with pytest.raises(GameError, match="not a combination"):
        School(open=(1, 2))
    for wrong in ("", "-", ()):
        with pytest.raises(GameError, match="one turn at least"):
            School(open=wrong)
    for field in attrs.fields(School):
        assert field.metadata["help"]


def test_text_of_every_state_is_read_back():
    game = School(open=("grade-6", "poker"))
    network = explore(game.unrolled())
    texts = set()
    for state in network.states:
        text = look_of(game).show_state(state)
        texts.add(text)
        assert look_of(game).read_state(text) == state
    assert len(texts) == network.n_states


def test_texts():
    game = School()
    state = look_of(game).read_state("open=pair, Trash, grade-6 dice=6,1,2,3,6 rerolls=2")
    assert state.state == Rolled((1, 2, 3, 6, 6), 2)
    assert game.open_at(state) == ("grade-6", "pair", "trash")
    assert look_of(game).show_state(state) == "open=grade-6,pair,trash dice=1,2,3,6,6 rerolls=2"
    assert look_of(game).read_state("open=all hold=- rerolls=2") == At(Held((), 2), used=0)
    assert look_of(game).show_state(At(Held((), 2), used=2**15 - 1)) == "open=- hold=- rerolls=2"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dice=1,2,3,6,6 rerolls=2", "write open="),
        ("open=pair open=set dice=1,2,3,6,6 rerolls=2", "write open="),
        ("open=pairs dice=1,2,3,6,6 rerolls=2", "not a combination; choose"),
        ("open=pair,pair dice=1,2,3,6,6 rerolls=2", "named twice"),
        ("open=set dice=1,2,3,6,6 rerolls=2", "set is not open in this game"),
        ("open=pair dice=1,2,3,6 rerolls=2", "4 dice"),
        ("open=pair", "write dice="),
    ],
)
def test_wrong_texts(text, message):
    with pytest.raises(UnknownStateError, match=message):
        look_of(School(open=("pair", "trash"))).read_state(text)
