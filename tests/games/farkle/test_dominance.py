"""Prunings of selections: proved, or refuted by a position that anybody can check."""

from fractions import Fraction

import pytest

from mdpdice import At, Game, explore, solve
from mdpdice.errors import GameError, UnsupportedError
from mdpdice.games.farkle import Choose, KcdFarkle, Keep, Ready
from mdpdice.games.farkle.dominance import PRUNINGS, check_pruning


@pytest.mark.parametrize("rules", ["kcd", "patch"])
@pytest.mark.parametrize("pruning", ["same-dice", "points-and-dice"])
def test_dominance_preserves_the_value_at_the_full_cap(rules, pruning):
    found = check_pruning(KcdFarkle(rules=rules), pruning)
    assert found.holds
    assert found.failures == 0
    assert found.counterexample is None
    assert found.pruned == found.value
    assert found.kept < found.selections
    assert float(found.value) == pytest.approx(solve(KcdFarkle(rules=rules)).value(), rel=1e-12)


@pytest.mark.parametrize("rules", ["kcd", "patch"])
@pytest.mark.parametrize("pruning", ["points", "dice"])
def test_greedy_prunings_are_refuted(rules, pruning):
    game = KcdFarkle(rules=rules, cap=1000)
    found = check_pruning(game, pruning)
    assert not found.holds
    assert found.pruned < found.value
    confirm(game, found)


def test_a_low_cap_refutes_even_the_tamest_pruning():
    # Just below the cap the points of a turn are paid in full beyond it, so it can pay to take fewer
    # points and roll five dice again rather than to pass the cap with more.
    game = KcdFarkle(cap=1000)
    found = check_pruning(game, "same-dice")
    assert not found.holds
    worst = found.counterexample
    assert worst.points == 900
    assert worst.selection == Keep(50, 5)
    assert worst.instead is None
    assert worst.loss == worst.value - worst.instead_value > 60
    confirm(game, found)
    assert "roll 1,2,2,3,3,5 with 900 points at risk" in str(worst)


def confirm(game, found):
    """Check a counterexample with the solver, on a turn that starts in its position."""
    worst = found.counterexample
    menu = game.book.menu((worst.roll,))
    start = At(Choose(menu), points=worst.points)
    turn = Game.of(start=start, node=game.unrolled().node)
    solution = solve(turn)
    values = solution.q()
    assert values[worst.selection] == pytest.approx(float(worst.value), rel=1e-12)
    assert max(values.values()) == pytest.approx(float(worst.value), rel=1e-12)
    instead = max(
        value for action, value in values.items() if not isinstance(action, Keep) or action == worst.instead
    )
    assert instead == pytest.approx(float(worst.instead_value), rel=1e-12)
    # The selections that are left are worse, whichever of them is taken.
    assert worst.value > worst.instead_value


def test_the_value_of_the_pruned_turn_is_that_of_a_game_with_fewer_options():
    game = KcdFarkle(cap=1000)
    found = check_pruning(game, "points")

    class Pruned(KcdFarkle):
        def node(self, state):
            if isinstance(state, Ready):
                return super().node(state)
            # The selections of most points, the first of equals.
            menu = state.menu
            return super().node(Choose(type(menu).of(menu.best, menu.keeps[:1])))

    assert solve(Pruned(cap=1000)).value() == pytest.approx(float(found.pruned), rel=1e-12)
    assert solve(game).value() == pytest.approx(float(found.value), rel=1e-12)


def test_a_rule_of_ones_own():
    game = KcdFarkle(cap=500)
    nothing = check_pruning(game, lambda one, other: False)
    assert nothing.holds
    assert nothing.kept == nothing.selections
    everything = check_pruning(game, lambda one, other: True)
    # Of selections that dominate each other the first one stays.
    menus = {menu for dice in range(1, 7) for menu in game.book.rolls(dice).menus if menu.keeps}
    assert everything.kept == len(menus)
    assert not everything.holds


def test_the_positions_are_all_there_are():
    game = KcdFarkle(dice=2, cap=300)
    found = check_pruning(game)
    menus = {menu for dice in (1, 2) for menu in game.book.rolls(dice).menus}
    assert found.positions == 6 * len(menus)
    assert isinstance(found.value, Fraction)
    assert explore(game).n_states > 0


def test_clipped_turns_and_turns_without_hot_dice():
    for options in ({"at_cap": "clip"}, {"hot_dice": False}):
        game = KcdFarkle(cap=500, **options)
        found = check_pruning(game, "same-dice")
        assert float(found.value) == pytest.approx(solve(game).value(), rel=1e-12)


def test_checks_that_cannot_be_made():
    with pytest.raises(GameError, match="same-dice"):
        check_pruning(KcdFarkle(cap=200), "nonsense")
    for game in (KcdFarkle(dice="Odd die,Lucky die", cap=200), KcdFarkle(defects="public-solver")):
        with pytest.raises(UnsupportedError):
            check_pruning(game)
    assert set(PRUNINGS) == {"same-dice", "points-and-dice", "points", "dice"}
