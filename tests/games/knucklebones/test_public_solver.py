"""The public program's own numbers, by its heuristic, its depth and the rules of its time.

From github.com/CodingMentalModels/knucklebones-solver: its tests, and the tree that it once printed
(output/knucklebones_output.txt).  Its boards are those of players 1 and 2, and its evaluations those of
player 1.  It looks ahead for the difference of the scores, and counts decisions as we do.
"""

from __future__ import annotations

import pytest

from mdpdice import solve
from mdpdice.games.knucklebones import Knucklebones, Rolled
from mdpdice.looks import look_of
from mdpdice.policies.game_tree import tree
from mdpdice.solvers.lookahead import Lookahead

EMPTY = ((),) * 3


def look(game, text, depth):
    state = look_of(game).read_state(text)
    return solve(game.at(state), solver=Lookahead(depth=depth)).q(state)


def program(**changes):
    return Knucklebones(payoff="points", heuristic="public-solver", **changes)


def test_its_heuristic():
    # test_difference_heuristic, with 3.5 points for an empty square.
    game = program()
    ones, twos = ((1, 1, 1), (1, 1, 1), (1, 1)), ((2, 2, 2), (2, 2, 2), (2, 2))
    nearly = program(scoring="plain")  # 8 and 16 points; theirs counted 22 and 44 with other rules
    assert nearly.lead(Rolled(1, ones, twos)) == 8 - 16 + 3.5
    assert nearly.lead(Rolled(2, twos, ones)) == 16 - 8 + 3.5
    assert game.lead(Rolled(6, EMPTY, EMPTY)) == 3.5
    first = ((), (), (1,))
    assert game.lead(Rolled(6, EMPTY, first)) == -1.0
    assert game.lead(Rolled(1, first, ((6,), (), ()))) == -5 + 3.5


def test_one_decision_from_empty_boards():
    assert set(look(program(), "6 ___/___/___ ___/___/___", 1).values()) == {6.0}


def test_its_printed_tree_from_empty_boards():
    # "Evaluation: 3.51", four decisions after a 6, when pairs still doubled their whole column.
    game = program(scoring="whole-column")
    state = Rolled(6, EMPTY, EMPTY)
    found = solve(game.at(state), solver=Lookahead(depth=4))
    assert found.estimate() == pytest.approx(253 / 72, abs=1e-12)
    assert f"{found.estimate():.2f}" == "3.51"
    # The first leaf that it prints: 6 (0, 0), 1 (0, 0), 1 (0, 1), 1 (0, 1) gives 4; the next, 1 (0, 2), 8.5.
    leaf = tree(game, state, depth=4)
    for label in (1, 1, 1, 1, 2, 1):
        leaf = next(child for child in leaf.children if child.label == label)
    assert [(child.label, child.value) for child in leaf.children] == [(1, 6.5), (2, 4), (3, 8.5)]


def test_an_endgame_by_its_early_rules():
    # Player 2 rolled a 6: the best is (2, 2), and player 1 then wins with four rolls of six and loses with one.
    text = "6 256/1_2/62_ 651/142/62_"
    values = look(Knucklebones(scoring="whole-column"), text, 8)
    assert max(values, key=values.get) == 3
    assert values[3] == pytest.approx(-(4 - 1) / 6)
    values = look(program(scoring="whole-column"), text, 5)
    assert values[3] == pytest.approx(-(1 + 7 - 1 + 0 + 1 + 28) / 6)
    assert values[2] < values[3]


def test_the_same_endgame_by_its_late_rules():
    values = look(program(), "6 256/1_2/62_ 661/142/62_", 5)
    assert values[3] == pytest.approx(-(1 + 6 + 1 + 2 + 3 + 28) / 6)


def test_a_move_that_ends_the_game():
    # The only empty square of player 1.
    values = look(Knucklebones(), "6 255/1_2/352 15_/333/12_", 4)
    assert values == {2: 1.0}


def test_what_it_could_not_do():
    # "Any more moves then this and it stack overflows": deeper searches need no more stack here.
    game = Knucklebones(columns=1, rows=2)
    found = solve(game, solver=Lookahead(depth=200))
    assert found.lower() <= 15 / 28 <= found.upper()
    assert found.upper() - found.lower() < 1e-9
