"""The turn as a game: parameters, nodes, the banking bound, states as text."""

from fractions import Fraction

import attrs
import pytest

from mdpdice import At, explore
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.farkle import JOKER, PATCH, Bank, Choose, Die, KcdFarkle, Keep, Ready, UnknownDieError
from mdpdice.games.farkle.menus import Menu
from mdpdice.looks import look_of

SAINT = "kcd2/A/Saint Antiochus' die"


def options(game, state):
    # Unrolled: what the node means at the state's points.
    node = game.unrolled().node(state)
    found = zip(node.actions, node.options, strict=True)
    return {action: repr(option) for action, option in found if option is not None}


# --- parameters ---------------------------------------------------------------


def test_parameters_as_text():
    assert KcdFarkle() == KcdFarkle(rules="kcd", dice="6", cap="6000", at_cap="stop", hot_dice="true", defects="none")
    assert hash(KcdFarkle()) == hash(KcdFarkle(dice=6))
    assert KcdFarkle(cap="none").cap is None
    assert KcdFarkle(hot_dice="false").hot_dice is False
    assert KcdFarkle(rules="patch").rules is PATCH


def test_every_parameter_is_explained():
    for field in attrs.fields(KcdFarkle):
        assert field.metadata["help"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rules": "chess"}, "kcd, patch"),
        ({"dice": 0}, "1 to 6 dice"),
        ({"dice": 7}, "1 to 6 dice"),
        ({"dice": 10**12}, "1 to 6 dice"),
        ({"dice": []}, "1 to 6 dice"),
        ({"dice": [Die("mine", (1,) * 6), Die("mine", (1, 2, 1, 1, 1, 1))]}, "two different dice"),
        ({"cap": 0}, "cap=0: .* from 1 to"),
        ({"cap": "lots"}, "whole number"),
        ({"at_cap": "explode"}, "stop, clip"),
        ({"hot_dice": "maybe"}, "true nor false"),
        ({"defects": "many"}, "none, public-solver"),
        ({"defects": "public-solver", "cap": None}, "below a cap"),
        ({"defects": "public-solver", "at_cap": "clip"}, "below a cap"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(GameError, match=message):
        KcdFarkle(**parameters)


def test_unknown_die():
    with pytest.raises(UnknownDieError, match="Odd die"):
        KcdFarkle(dice="Ode die")


def test_dice_by_name():
    game = KcdFarkle(dice="Odd die, kcd1/A/Lu die,Odd die,mine=1:1:1:1:1:5")
    assert [die.short_name for die in game.kinds] == ["Odd die", "Lu die", "mine"]
    assert game.start() == Ready((2, 1, 1))
    assert look_of(game).notes() == ["sets of dice are counted in this order: 2 x Odd die, 1 x Lu die, 1 x mine"]
    assert KcdFarkle(dice=Die("mine", (1,) * 6)).start() == Ready(1)


# --- nodes ----------------------------------------------------------------------


def test_choices():
    game = KcdFarkle()
    menu = look_of(game).read_state("roll=1,5,2 points=0").state.menu
    assert menu == Menu.of(150, [(150, 1), (100, 2), (50, 2)])
    assert options(game, At(Choose(menu), points=300)) == {
        Bank(150): "end(450)",
        Keep(150, 1): "go(At(Ready(dice=1), points=450))",
        Keep(100, 2): "go(At(Ready(dice=2), points=400))",
        Keep(50, 2): "go(At(Ready(dice=2), points=350))",
    }


def test_cap():
    menu = look_of(KcdFarkle()).read_state("roll=1,5").state.menu
    assert options(KcdFarkle(), At(Choose(menu), points=5900)) == {
        Bank(150): "end(6050)",
        Keep(50, 1): "go(At(Ready(dice=1), points=5950))",
    }
    assert options(KcdFarkle(at_cap="clip"), At(Choose(menu), points=5950)) == {Bank(150): "end(6000)"}


def test_hot_dice():
    hot, cold = KcdFarkle(), KcdFarkle(hot_dice=False)
    assert options(hot, look_of(hot).read_state("roll=1")) == {
        Bank(100): "end(100)",
        Keep(100, 6): "go(At(Ready(dice=6), points=100))",
    }
    assert options(cold, look_of(cold).read_state("roll=1")) == {Bank(100): "end(100)"}


def test_a_roll_is_merged_into_menus_and_a_bust_ends_the_turn():
    node = KcdFarkle().unrolled().node(At(Ready(1), points=250))
    assert dict(zip(map(repr, node.edges), node.dist.items(), strict=True)) == {
        "go(At(Choose(menu=Menu.of(100, [(100, 6)])), points=250))": (Menu.of(100, [(100, 6)]), 1),
        "end(0)": (Menu.of(0, []), 4),
        "go(At(Choose(menu=Menu.of(50, [(50, 6)])), points=250))": (Menu.of(50, [(50, 6)]), 1),
    }


def test_banking_the_best_score_is_all_the_banking_there_is():
    # Banking less is never better: the menu's best is at least every selection's score.
    network = explore(KcdFarkle(dice=3, cap=1000))
    for state in network.states:
        if isinstance(state.state, Choose):
            menu = state.state.menu
            assert all(keep.points <= menu.best for keep in menu.keeps)


# --- the banking bound ------------------------------------------------------------


def test_bound_of_six_fair_dice():
    game = KcdFarkle(cap=None)
    assert game.banking_bound.points == Fraction(51725, 4)
    assert game.banking_bound.dice == 6
    assert game.limit == 12932
    assert look_of(game).infinite_reason() is None
    (note,) = look_of(game).notes()
    assert "12931.25 points" in note
    assert look_of(KcdFarkle()).notes() == []


def test_bound_is_that_of_the_worst_set():
    game = KcdFarkle(cap=None, rules="patch")
    ratios = {d: game.book.rolls(d).mean_best / game.book.rolls(d).bust for d in range(1, 7)}
    assert game.banking_bound.points == max(ratios.values()) == ratios[6]


@pytest.mark.parametrize("number", [3, 4, 5, 6])
def test_dice_that_never_bust_are_worth_infinitely_much(number):
    game = KcdFarkle(dice=[SAINT] * number, cap=None)
    reason = look_of(game).infinite_reason()
    assert reason is not None
    assert f"{number} x Saint Antiochus' die" in reason
    first, disputed = look_of(game).notes()
    assert first == reason
    assert disputed == (
        "sources disagree on kcd2/A/Saint Antiochus' die, 0-0-1-0-0-0 here: kcd2/B/Saint Antiochus' die is 3-1-5-1-2-3"
    )
    with pytest.raises(GameError, match="give a cap"):
        explore(game)
    assert look_of(KcdFarkle(dice=[SAINT] * number)).infinite_reason() is None
    assert look_of(KcdFarkle(dice=[SAINT] * number, cap=None, hot_dice=False)).infinite_reason() is None


def test_dice_that_cannot_bust_and_are_rolled_once():
    game = KcdFarkle(dice=[SAINT] * 3, cap=None, hot_dice=False)
    assert game.banking_bound.points == 0
    assert explore(game).n_states == 2  # the roll, and three threes to bank


def test_dice_that_always_bust():
    game = KcdFarkle(dice=[SAINT] * 2, cap=None)
    assert game.banking_bound.points == 0
    assert explore(game).n_states == 1


def test_a_set_that_never_busts_need_not_be_worth_infinitely_much():
    # Three dice that always show a three score for ever only as long as the other three are left.
    game = KcdFarkle(dice=[SAINT] * 3 + ["Ordinary die"] * 3, cap=None)
    assert look_of(game).infinite_reason() is None
    assert len(game.banking_bound.sure) == 4
    assert "only sets of dice that never bust are rolled, 4 of them" in look_of(game).notes()[1]
    # The first points on the grid that are not below the bound.
    top = -(-game.limit // 50) * 50
    dice = [f"3@{SAINT}"] * 3 + ["1@Ordinary die", "2@Ordinary die", "2@Ordinary die"]
    over = options(game, look_of(game).read_state(f"roll={','.join(dice)} points={top}"))
    # Rolling the saints again is free, so what goes over the limit is paid at once.
    assert over[Keep(100, (3, 2))] == f"go(At(Ready(dice=(3, 2)), points={top}), reward=100)"
    assert Keep(300, (0, 3)) not in over


# --- text -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "game",
    [
        KcdFarkle(dice=3, cap=500),
        KcdFarkle(dice=3, cap=500, rules="patch"),
        KcdFarkle(dice="Odd die,Devil's head die,Odd die", cap=500),
        KcdFarkle(dice="kcd2/A/Odd die,kcd1/A/Odd die", cap=500),
        KcdFarkle(dice=["Devil's head die"] * 4, cap=500),
        KcdFarkle(dice=3, cap=500, defects="public-solver"),
    ],
)
def test_text_of_every_state_is_read_back(game):
    for state in explore(game).states:
        read = look_of(game).read_state(look_of(game).show_state(state))
        assert read == state
        assert type(read) is type(state)


def test_texts():
    game = KcdFarkle(dice="Odd die,Lucky die,Devil's head die")
    assert look_of(game).show_state(At(Ready((1, 0, 1)), points=250)) == "dice=Odd die,Devil's head die points=250"
    state = look_of(game).read_state("roll=1@devil's  head die,3@Odd die,3@kcd2/A/Lucky die points=250")
    assert state == At(Choose(game.book.menu(((3,), (3,), (JOKER,)))), points=250)
    assert state == look_of(game).read_state("points=250 roll=J@Devil's head die,3@Odd die,3@Lucky die")
    assert state.state.menu.best == 300
    assert look_of(KcdFarkle()).read_state("roll = 1 1 5") == look_of(KcdFarkle()).read_state("roll=1,1,5 points=0")
    assert look_of(KcdFarkle()).read_state("dice=3 points=300") == At(Ready(3), points=300)
    assert look_of(KcdFarkle()).read_state("dice=Ordinary die,Ordinary die") == At(Ready(2), points=0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "write roll="),
        ("1,1,5", "write roll="),
        ("roll=1 dice=2", "write roll="),
        ("roll=1 roll=5", "write roll="),
        ("points=300", "write roll="),
        ("roll=1 points=-50", "whole number"),
        ("roll=1 points=many", "whole number"),
        ("roll=2,3", "scores nothing"),
        ("roll=7", "does not show '7'; it shows 1, 2, 3, 4, 5, 6"),
        ("roll=", "no dice"),
        ("roll=1,,5", "does not show ''"),
        ("roll=J", "does not show 'J'"),
        ("roll=1@Odd die", "not a die of this game: Ordinary die"),
        ("roll=1,1,1,1,1,1,1", "there are 7 of Ordinary die; the game has 6"),
        ("dice=7", "there are 7"),
        ("dice=0", "no dice"),
    ],
)
def test_wrong_texts(text, message):
    with pytest.raises(UnknownStateError, match=message):
        look_of(KcdFarkle()).read_state(text)


def test_wrong_texts_with_several_kinds():
    game = KcdFarkle(dice="Pie die,Lucky die,kcd2/A/Lu die,kcd2/B/Lu die")
    with pytest.raises(UnknownStateError, match="say which die shows it, as in 1@Pie die"):
        look_of(game).read_state("roll=1,5")
    with pytest.raises(UnknownStateError, match="shows 1, 2, 3, 4"):
        look_of(game).read_state("roll=5@Pie die")
    with pytest.raises(UnknownStateError, match="more than one die of this game"):
        look_of(game).read_state("roll=1@Lu die")
    with pytest.raises(UnknownStateError, match="2 of Pie die"):
        look_of(game).read_state("roll=1@Pie die,1@Pie die")
