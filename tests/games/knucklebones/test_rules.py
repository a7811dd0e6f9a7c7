"""Placing, removing, scoring and the end of the game against a second statement of the rules."""

import itertools
import random

import pytest
from helpers.knucklebones_arrays import all_columns

from mdpdice import explore
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.knucklebones import Facing, Knucklebones, Rolled
from mdpdice.games.knucklebones.rules import column_score, score
from mdpdice.looks import look_of
from mdpdice.modelling.game import Chance, Decide, End, Go, PassTo

SCORINGS = ("matching", "whole-column", "plain")


def random_grid(rng, columns, rows, fill):
    return [[rng.randint(1, 6) if rng.random() < fill else 0 for _ in range(columns)] for _ in range(rows)]


def all_grids(columns, rows):
    for squares in itertools.product(range(7), repeat=columns * rows):
        yield [list(squares[row * columns : (row + 1) * columns]) for row in range(rows)]


def compare(game, rules, die, mine, theirs):
    """Every placement of the game is one of the rules', and the other way round."""
    state = Rolled(die, rules.columns(mine), rules.columns(theirs))
    node = game.node(state)
    assert isinstance(node, Decide)
    found = {}
    for action, option in zip(node.actions, node.options, strict=True):
        found[action] = option.payoff if isinstance(option, End) else option.state
        assert isinstance(option, End | PassTo)
    expected = {}
    for column, new, left in rules.moves(die, mine, theirs):
        lead = rules.points(new, game.scoring) - rules.points(left, game.scoring)
        over = rules.full(new) or rules.full(left)
        worth = lead if game.payoff == "points" else (lead > 0) - (lead < 0)
        result = worth if over else Facing(rules.columns(left), rules.columns(new))
        assert expected.setdefault(column, result) == result  # the row does not matter
    assert found == expected


@pytest.mark.parametrize(("columns", "rows"), [(1, 2), (2, 1)])
def test_every_placement_on_small_boards(rules, columns, rows):
    game = Knucklebones(columns=columns, rows=rows)
    grids = [grid for grid in all_grids(columns, rows) if not rules.full(grid)]
    for die, mine, theirs in itertools.product(range(1, 7), grids, grids):
        compare(game, rules, die, mine, theirs)


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("payoff", ["win", "points"])
@pytest.mark.parametrize(("columns", "rows"), [(2, 2), (3, 2), (2, 3), (3, 3)])
def test_placements_on_larger_boards(rules, columns, rows, scoring, payoff):
    rng = random.Random(f"{columns} {rows} {scoring} {payoff}")
    game = Knucklebones(columns=columns, rows=rows, scoring=scoring, payoff=payoff)
    ended = 0
    for _ in range(400):
        mine, theirs = (random_grid(rng, columns, rows, rng.choice((0.5, 0.9))) for _ in range(2))
        for grid in (mine, theirs):
            if rules.full(grid) or (grid is mine and rng.random() < 0.5):
                # One square is left, so that many of these moves end the game.
                for row, column in itertools.product(range(rows), range(columns)):
                    grid[row][column] = grid[row][column] or rng.randint(1, 6)
                grid[rng.randrange(rows)][rng.randrange(columns)] = 0
        for die in range(1, 7):
            compare(game, rules, die, mine, theirs)
            ended += any(rules.full(new) for _, new, _ in rules.moves(die, mine, theirs))
    assert ended > 400


def test_the_last_die_removes_too(rules):
    # Two 6s face the last square: without the removal the mover would lose by 24 to 11.
    game = Knucklebones(columns=1, rows=3, payoff="points")
    node = game.node(Rolled(6, ((2, 3),), ((6, 6),)))
    assert isinstance(node, Decide)
    assert [option.payoff for option in node.options] == [2 + 3 + 6]


def test_a_die_is_rolled_before_it_is_placed():
    game = Knucklebones(columns=2, rows=2)
    node = game.node(game.start())
    assert isinstance(node, Chance)
    assert [edge.state.die for edge in node.edges] == [1, 2, 3, 4, 5, 6]
    assert node.dist.weights == (1,) * 6
    assert all(isinstance(edge, Go) for edge in node.edges)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_scores_of_all_columns(rules, scoring):
    for column in all_columns(3):
        grid = [[die] for die in (*column, 0, 0, 0)[:3]]
        assert column_score(column, scoring) == rules.points(grid, scoring)


def test_scores_known_by_hand():
    # From the tests of the public program: "5__/5_2/1__" and "412/542/162".
    assert score(((1, 5, 5), (), (2,)), "matching") == 23
    assert score(((1, 4, 5), (1, 4, 6), (2, 2, 2)), "matching") == 39
    # An early version multiplied the whole column.
    assert score(((1, 5, 5), (), (2,)), "whole-column") == 24


def test_numbers_of_columns():
    columns = all_columns(3)
    facing = [(a, b) for a in columns for b in columns if not set(a) & set(b)]
    assert (len(columns), len(facing)) == (84, 3067)
    n = len(facing)
    assert n * (n + 1) * (n + 2) // 6 == 4_812_987_894


def test_facing_columns_never_share_a_value():
    network = explore(Knucklebones(columns=1, rows=3))
    for state in network.states:
        assert not set(state.mine[0]) & set(state.theirs[0])


@pytest.mark.parametrize(("columns", "rows"), [(2, 2), (3, 3)])
def test_order_of_columns_does_not_matter(columns, rows):
    rng = random.Random(5)
    game = Knucklebones(columns=columns, rows=rows)
    pool = all_columns(rows)
    for _ in range(300):
        mine, theirs = (tuple(rng.choice(pool) for _ in range(columns)) for _ in range(2))
        order = rng.sample(range(columns), columns)
        other = [tuple(board[at] for at in order) for board in (mine, theirs)]
        for one, two in ((Facing(mine, theirs), Facing(*other)), (Rolled(3, mine, theirs), Rolled(3, *other))):
            assert game.canonical(one) == game.canonical(two)
            assert game.canonical(game.canonical(one)) == game.canonical(one)
            assert type(game.canonical(one)) is type(one)
    # And positions that differ in more are kept apart.
    a, b, empty = (1,), (2,), ()
    rest = (empty,) * (columns - 2)
    assert game.canonical(Facing((a, empty, *rest), (b, empty, *rest))) != game.canonical(
        Facing((a, empty, *rest), (empty, b, *rest))
    )


@pytest.mark.parametrize(("columns", "rows"), [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1)])
def test_text_of_every_state(columns, rows):
    game = Knucklebones(columns=columns, rows=rows)
    for state in explore(game).states:
        assert look_of(game).read_state(look_of(game).show_state(state)) == state


@pytest.mark.parametrize(("columns", "rows"), [(2, 2), (3, 3), (2, 5)])
def test_text_of_larger_boards(columns, rows):
    rng = random.Random(7)
    game = Knucklebones(columns=columns, rows=rows)
    for _ in range(300):
        boards = [
            tuple(
                tuple(sorted(rng.randint(1, 6) for _ in range(rng.randint(0, rows - (at == 0)))))
                for at in range(columns)
            )
            for _ in range(2)
        ]
        for state in (Facing(*boards), Rolled(rng.randint(1, 6), *boards)):
            assert look_of(game).read_state(look_of(game).show_state(state)) == state


@pytest.mark.parametrize(
    "text",
    [
        '5 "___\n_2_\n___"\n\n"__3\n___\n__3"',  # as an early version of the public program takes it
        '"___\n_2_\n___"\n\n"__3\n___\n__3"\n\n5',  # and as the last one does
        "5 ___/_2_/___ __3/__3/___",
        "5 _2_ ___ ___ __3 ___ __3",
    ],
)
def test_positions_as_the_public_program_takes_them(text):
    assert look_of(Knucklebones()).read_state(text) == Rolled(5, ((), (2,), ()), ((), (), (3, 3)))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "two boards of 3 rows and 3 columns"),
        ("5 ___/___/___", "two boards"),
        ("___/___/___ ___/___/__", "two boards"),
        ("7 ___/___/___ ___/___/___", "'7' is no die"),
        ("_ ___/___/___ ___/___/___", "'_' is no die"),
        ("___/___/___ ___/_0_/___", "'_0_' is not a row"),
        ("111/111/111 ___/___/___", "the game is over"),
        ("___/___/___ 111/111/111", "the game is over"),
    ],
)
def test_texts_that_are_no_positions(text, what):
    with pytest.raises(UnknownStateError, match=what):
        look_of(Knucklebones()).read_state(text)


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ({"columns": 0}, "columns=0: write a number of columns from 1 to 8"),
        ({"rows": -1}, "rows=-1: write a number of rows from 1 to 8"),
        ({"scoring": "double"}, "choose one of matching, whole-column, plain"),
        ({"payoff": "money"}, "choose one of win, points"),
        ({"heuristic": "none"}, "choose one of moves-left, public-solver"),
    ],
)
def test_parameters_out_of_range(wrong, what):
    with pytest.raises(GameError, match=what):
        Knucklebones(**wrong)
