"""The defective recursion of the first public solver, as a declared game and as its own loop."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from mdpdice import At, explore, solve
from mdpdice.games.farkle import Bank, Choose, KcdFarkle, Keep, Ready
from mdpdice.games.farkle.menus import Menu
from mdpdice.looks import look_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "kcd_public_solver.py"
DEFECTIVE = {1: 399.1126543210, 2: 518.0762299, 3: 536.6985048, 4: 538.6540900}
ROUNDED = [399.0399780, 517.9492188, 536.5876465]


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("kcd_public_solver", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("solver", ["backward-induction", "value-iteration", "linear-programming"])
def test_declared_variant(solver):
    solution = solve(KcdFarkle(defects="public-solver"), horizon=4, solver=solver)
    for n, value in DEFECTIVE.items():
        assert solution.value(steps_left=n) == pytest.approx(value, abs=5e-8)


def test_it_says_that_it_is_defective():
    assert "defective program" in look_of(KcdFarkle(defects="public-solver")).notes()[0]


def test_a_roll_costs_the_risk_and_cannot_bust():
    game = KcdFarkle(defects="public-solver")
    node = game.unrolled().node(At(Ready(1), points=300))
    assert node.reward == -200
    # True faces are banked, misread ones are kept; one die left is all of them, so it is not kept.
    assert set(map(repr, node.edges)) == {
        f"go(At(Choose(menu=Menu.of({best}, [])), points=300))" for best in (0, 50, 100)
    }
    menu = look_of(game).read_state("roll=4,4").state.menu
    assert menu == Menu.of(0, [(50, 1)])
    node = game.unrolled().node(At(Choose(menu), points=5950))
    assert node.actions == [Bank(0), Keep(50, 1)]
    # The index of the solver's table ends at 5950.
    assert repr(node.options[1]) == "go(At(Ready(dice=1), points=5950), reward=50)"


def test_replay_in_32_bit_floats(example):
    assert [f"{value:.7f}" for value in example.replay(3)] == [f"{value:.7f}" for value in ROUNDED]


def test_replay_in_64_bit_floats_is_the_declared_variant(example, monkeypatch):
    monkeypatch.setattr(np, "float32", np.float64)
    assert example.replay(3) == pytest.approx([DEFECTIVE[n] for n in (1, 2, 3)], abs=5e-8)


def test_example_prints_all_three(example, capsys):
    example.main()
    printed = capsys.readouterr().out
    for number in ("517.9492188", "518.0762299", "505.5102004466", "564.4376204139"):
        assert number in printed


def test_the_variant_is_small():
    assert explore(KcdFarkle(defects="public-solver")).n_states < 1000
