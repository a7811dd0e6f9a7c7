"""The turn as a game: parameters, nodes, states as text."""

import attrs
import pytest

from mdpdice import explore
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.konijnenhokken import Field, Konijnenhokken, Rolled, Take
from mdpdice.looks import look_of


def options(game, state):
    node = game.node(state)
    return dict(zip(node.actions, map(repr, node.options), strict=True))


def test_parameters_as_text():
    assert Konijnenhokken() == Konijnenhokken(dice="7", t_max="none", defects="none")
    assert Konijnenhokken(t_max="50").t_max == 50


def test_every_parameter_is_explained():
    for field in attrs.fields(Konijnenhokken):
        assert field.metadata["help"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"dice": 0}, "dice from 1 to 7"),
        ({"dice": 8}, "dice from 1 to 7"),
        ({"t_max": 0}, "t_max=0: .* from 1 to 1,000"),
        ({"t_max": "lots"}, "whole number"),
        ({"defects": "many"}, "none, public-solver"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(GameError, match=message):
        Konijnenhokken(**parameters)


def test_notes():
    (note,) = look_of(Konijnenhokken()).notes()
    assert "gains +0.0568951 points at 100 and -0.00163252 at 101" in note
    assert "defective program" in look_of(Konijnenhokken(defects="public-solver")).notes()[0]
    assert "too small" in look_of(Konijnenhokken(t_max=100)).notes()[1]
    assert len(look_of(Konijnenhokken(t_max=101)).notes()) == 1


# --- nodes ----------------------------------------------------------------------


def test_a_turn_begins_with_a_roll(game):
    node = game.node(game.start())
    rolled = dict(zip(map(repr, node.edges), node.dist.items(), strict=True))
    assert len(rolled) == 79
    assert rolled["end(0)"][0] is None
    assert node.dist.prob(None) == pytest.approx((2 / 3) ** 7)


def test_stop_or_roll(game):
    assert options(game, Field(1, 2, 1, 20))["stop"] == "end(30)"
    assert list(options(game, Field(1, 2, 1, 20))) == ["stop", "roll"]
    assert options(game, Field(0, 0, 0, 20))["stop"] == "end(20)"
    assert repr(game.node(Field(0, 0, 0, 101))) == "end(101)"


def test_what_to_take(game):
    state = look_of(game).read_state("r1=2 r2=1 c=1 t=20 roll=1,2,3")
    assert state == Rolled(2, 1, 1, 20, 1, 1, 1)
    assert options(game, state) == {
        Take(0, 1, 0): "go(Field(r1=2, r2=2, c=1, t=20))",
        Take(0, 1, 1): "go(Field(r1=2, r2=2, c=2, t=20))",
        Take(1, 0, 0): "go(Field(r1=3, r2=1, c=1, t=20))",
        Take(1, 0, 1): "go(Field(r1=3, r2=1, c=2, t=20))",
        Take(1, 1, 0): "go(Field(r1=3, r2=2, c=1, t=20))",
        # The last die ends the run: (3 + 2 * 2) * 3 points are banked.
        Take(1, 1, 1): "go(Field(r1=0, r2=0, c=0, t=41))",
    }


def test_the_banked_points_never_fall():
    # So no play comes back, and the network has no cycle.
    game = Konijnenhokken(dice=5)
    for state in explore(game).states:
        if isinstance(state, Rolled):
            for option in game.node(state).options:
                ahead = option.state
                assert ahead.t > state.t or sum(ahead[:3]) > sum(state[:3])


# --- text -------------------------------------------------------------------------


@pytest.mark.parametrize("defects", ["none", "public-solver"])
@pytest.mark.parametrize("dice", [1, 4, 7])
def test_text_of_every_state_is_read_back(dice, defects):
    game = Konijnenhokken(dice=dice, defects=defects, t_max=15)
    network = explore(game)
    texts = {look_of(game).show_state(state) for state in network.states}
    assert len(texts) == network.n_states
    for state in network.states:
        read = look_of(game).read_state(look_of(game).show_state(state))
        assert read == state
        assert type(read) is type(state)


def test_texts(game):
    assert look_of(game).show_state(Field(1, 2, 1, 20)) == "r1=1 r2=2 c=1 t=20"
    state = look_of(game).read_state("r1=1 r2=2 c=1 t=20 roll=1,3,6")
    assert state == Rolled(1, 2, 1, 20, 1, 0, 1)
    assert look_of(game).show_state(state) == "r1=1 r2=2 c=1 t=20 roll=1,3,6"
    assert look_of(game).read_state("t=20") == Field(0, 0, 0, 20)
    assert look_of(game).read_state("roll = 6 2 1 4 4 3 1  t = 20") == Rolled(0, 0, 0, 20, 2, 1, 3)
    defective = Konijnenhokken(defects="public-solver")
    assert look_of(defective).read_state("r1=1 r2=2 c=1 roll=1,3,6") == Rolled(1, 2, 1, 0, 1, 0, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "write r1="),
        ("1,1,5", "write r1="),
        ("t=1 t=2", "write r1="),
        ("r3=1", "write r1="),
        ("t=-1", "write r1="),
        ("t=", "whole number"),
        ("c=5 r1=1", "there are 4 cages"),
        ("c=1", "no cage is taken without a rabbit"),
        ("r1=4 r2=4", "8 dice are taken; a run has 7"),
        ("r1=3 c=4 t=5", "that run is complete; write t=20"),
        ("roll=7", "dice show 1 to 6"),
        ("roll=1,1", "the roll has 2 dice; there are 7 left"),
        ("r1=1 r2=2 c=1 roll=3,4,5", "the turn is lost"),
    ],
)
def test_wrong_texts(text, message, game):
    with pytest.raises(UnknownStateError, match=message):
        look_of(game).read_state(text)
