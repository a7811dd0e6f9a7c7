"""Bob's rule: decisions that the public program's tests name, a second statement of it, and its value."""

import functools
import itertools
import random
from fractions import Fraction

import pytest
from helpers.examples import example

from mdpdice import At, explore, solve
from mdpdice.errors import GameError
from mdpdice.games.school import COMBINATIONS, BobGame, CrossOut, Held, Reroll, Rules, School, Score, averages, bob
from mdpdice.games.school.bob import TIE, available
from mdpdice.games.school.bob_game import reachable
from mdpdice.games.school.rules import GRADES
from mdpdice.games.school.turn import ROLLS, tables

bob_losses = example("school_bob")["bob_losses"]

SMALL = tuple(name for name in COMBINATIONS if name not in GRADES[3:])
LARGE = tuple(name for name in COMBINATIONS if name not in GRADES[:3])


def but(names, *others):
    return tuple(name for name in names if name not in others)


# Positions with the decision that the public program's tests expect (BobTheDiceMaster.Test/TestBobBase.cs).
TESTED = [
    *((but(SMALL, "poker", "care", "full"), (f,) * 5, 0, Score(f"grade-{f}")) for f in (1, 2, 3)),
    *((but(LARGE, "poker", "care", "full"), (f,) * 5, 0, Score(f"grade-{f}")) for f in (4, 5, 6)),
    *((GRADES, (f,) * 5, left, Score(f"grade-{f}")) for f in range(1, 7) for left in (0, 2)),
    (SMALL, (1, 5, 5, 6, 6), 0, Score("two-pairs")),
    (SMALL, (1, 2, 6, 6, 6), 0, Score("set")),
    (SMALL, (5, 5, 6, 6, 6), 0, Score("full")),
    (SMALL, (5, 6, 6, 6, 6), 0, Score("care")),
    (SMALL, (1, 2, 3, 4, 5), 0, Score("little-straight")),
    (SMALL, (2, 3, 4, 5, 6), 0, Score("big-straight")),
    (SMALL, (6, 6, 6, 6, 6), 0, Score("poker")),
    (but(SMALL, "two-pairs", "set", "care"), (1, 2, 3, 6, 6), 2, Score("pair")),
    (SMALL, (1, 5, 5, 6, 6), 2, Score("two-pairs")),
    (SMALL, (1, 2, 6, 6, 6), 2, Score("set")),
    (SMALL, (5, 5, 6, 6, 6), 2, Score("full")),
    (SMALL, (5, 6, 6, 6, 6), 2, Score("care")),
    (SMALL, (1, 2, 3, 4, 5), 2, Score("little-straight")),
    (SMALL, (6, 6, 6, 6, 6), 2, Score("poker")),
    (("trash",), (3, 4, 5, 6, 6), 2, Score("trash")),
    (SMALL, (1, 2, 3, 6, 6), 0, CrossOut("poker")),
    *((GRADES, (2, 2, 6, 6, 6), left, Reroll((2, 2))) for left in (1, 2)),
    (GRADES, (1, 6, 6, 6, 6), 2, Reroll((1,))),
    *(
        (("big-straight",), dice, 2, Reroll((die,)))
        for dice, die in [
            ((1, 2, 4, 5, 6), 1),
            ((2, 2, 4, 5, 6), 2),
            ((2, 3, 3, 5, 6), 3),
            ((2, 3, 4, 4, 6), 4),
            ((2, 3, 4, 5, 5), 5),
        ]
    ),
    *(
        (("little-straight",), dice, 2, Reroll((die,)))
        for dice, die in [((1, 1, 3, 4, 5), 1), ((1, 2, 3, 3, 5), 3), ((1, 2, 3, 4, 6), 6)]
    ),
    (("grade-6",), (1, 2, 3, 4, 5), 2, Reroll((1, 2, 3, 4, 5))),
]


@pytest.mark.parametrize(("names", "dice", "left", "action"), TESTED)
def test_decisions_that_the_public_program_tests(names, dice, left, action):
    assert bob(Rules(), names, dice, left).action == action


# --- against a second statement, over ordered rolls and in fractions --------------------------------


def profit_by_hand(names, roll, left, oracle):
    """All profits of a roll, by the text of school-bob-algorithm.md, without arrays or held dice."""
    average = averages(Rules())

    def stops(dice, left):
        found = {}
        for name in names:
            points = oracle.score(name, dice)
            if points is None:
                found[CrossOut(name)] = -average[name]
            else:
                twice = left == 2 and name not in GRADES
                found[Score(name)] = (2 if twice else 1) * points - average[name]
        return found

    @functools.cache
    def profits(dice, left):
        found = stops(dice, left)
        if left:
            for number in range(1, 6):
                for chosen in itertools.combinations(range(5), number):
                    again = Reroll(tuple(dice[at] for at in chosen))
                    if again not in found:
                        kept = tuple(dice[at] for at in range(5) if at not in chosen)
                        found[again] = expected(kept, left - 1)
        return found

    @functools.cache
    def expected(kept, left):
        free = 5 - len(kept)
        fresh = itertools.product(range(1, 7), repeat=free)
        sums = sum(max(profits(tuple(sorted(kept + dice)), left).values()) for dice in fresh)
        return Fraction(sums) / 6**free

    return profits(roll, left)


@pytest.mark.parametrize(
    ("names", "dice", "left"),
    [
        (("grade-6", "full", "poker"), (2, 2, 6, 6, 6), 1),
        (("care", "trash"), (1, 1, 1, 4, 6), 1),
        (("pair", "two-pairs", "big-straight"), (2, 3, 4, 4, 6), 0),
    ],
)
def test_profits(names, dice, left, oracle):
    advice = bob(Rules(), names, dice, left)
    assert advice.profits == profit_by_hand(names, dice, left, oracle)
    ordered = list(advice.profits.values())
    assert ordered == sorted(ordered, reverse=True)
    assert advice.profits[advice.action] == ordered[0]


@pytest.mark.slow
def test_profits_of_a_first_roll(oracle):
    names = ("grade-2", "two-pairs", "poker", "trash")
    assert bob(Rules(), names, (1, 2, 2, 3, 5), 2).profits == profit_by_hand(names, (1, 2, 2, 3, 5), 2, oracle)


def test_the_scale_of_the_grades_does_not_matter():
    names = ("grade-1", "grade-6", "pair")
    for left in range(3):
        negative, positive = (
            bob(Rules(grades=grades), names, (1, 1, 4, 6, 6), left) for grades in ("negative", "positive")
        )
        assert negative == positive


def test_at_first_only_grades_count():
    assert available(COMBINATIONS) == GRADES
    assert available(but(COMBINATIONS, *GRADES[:2])) == GRADES[2:]
    assert available(LARGE) == LARGE
    assert bob(Rules(), COMBINATIONS, (6,) * 5, 2) == bob(Rules(), GRADES, (6,) * 5, 2)


@pytest.mark.parametrize(
    ("names", "dice", "left", "message"),
    [
        ((), (1, 2, 3, 4, 5), 0, "no combination is open"),
        (("chance",), (1, 2, 3, 4, 5), 0, "not a combination"),
        (("pair",), (1, 2, 3, 4), 0, "5 dice"),
        (("pair",), (1, 2, 3, 4, 5), 3, "0 to 2"),
    ],
)
def test_wrong_questions(names, dice, left, message):
    with pytest.raises(GameError, match=message):
        bob(Rules(), names, dice, left)


# --- the whole game -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def game():
    return BobGame()


def test_sets_that_can_be_open():
    sets = reachable(COMBINATIONS)
    # All nine others while grades are open that make up the first three turns, then any of 42 * 512.
    assert len(sets) == len(set(sets)) == 1 + 6 + 15 + 42 * 512 - 1
    assert all(len(available(names)) == min(len(names), len(available(names))) > 0 for names in sets)


def test_choices_are_the_exact_ones(game):
    draw = random.Random(7)
    for names in draw.sample(list(game.turns.place), 12):
        for left, dice in itertools.product(range(3), draw.sample(ROLLS, 12)):
            assert game.action(names, dice, left) == bob(game, names, dice, left).action


def test_how_turns_end(game):
    turns = game.turns
    assert (turns.weight >= 0).all()
    assert (turns.weight.sum(axis=1) == tables().total ** 3).all()
    for names, at in itertools.islice(turns.place.items(), 0, None, 997):
        ended = {COMBINATIONS[index] for index in turns.weight[at].nonzero()[0]}
        assert ended <= set(available(names))
    # With one combination left there is one way to end, and Bob plays it the best way.
    for name in COMBINATIONS:
        (row,) = (turns.points[turns.place[name,]],)
        assert Fraction(int(row.sum()), tables().total ** 3) == averages(Rules())[name]


def test_value(game):
    solution = solve(game)
    # The optimum is 132.339610477114: Bob loses 4.605990195.
    assert solution.value() == pytest.approx(127.733620281895, abs=1e-11)
    assert solution.lower() <= 127.733620281895 <= solution.upper()
    assert solution.network.n_states == 2 * 19_441 + 1


def test_value_of_positive_grades():
    # The score of a grade shifts by five times its number, and nothing else.
    names = ("grade-2", "grade-6", "pair", "care", "trash")
    negative, positive = (solve(BobGame(grades=grades, open=names)) for grades in ("negative", "positive"))
    assert positive.value() == pytest.approx(negative.value() + 10 + 30, abs=1e-10)


@pytest.mark.slow
def test_all_back_ends_agree(game):
    from mdpdice import cross_check

    report = cross_check(game)
    assert report.ok, report.table()
    assert report.independent == 5
    exact = next(entry.solution for entry in report.entries if entry.solver == "exact")
    assert float(exact.exact()) == pytest.approx(127.733620281895, abs=1e-12)


@pytest.mark.slow
def test_no_profits_are_nearly_equal(game):
    """Floats find equal what is equal, and nothing else: the next smaller difference is far larger."""
    import numpy as np

    from mdpdice.games.school.averages import scores
    from mdpdice.games.school.turn import multiplier

    table = tables()
    average = {name: float(value) for name, value in averages(Rules()).items()}
    points = {name: scores(Rules(), name)[0] for name in COMBINATIONS}
    source = np.repeat(np.arange(len(ROLLS)), np.diff(table.row))
    smallest, largest = np.inf, 0.0

    def look(differences):
        nonlocal smallest, largest
        apart = np.abs(differences)
        smallest = min(smallest, apart[apart > TIE].min(initial=np.inf))
        largest = max(largest, apart[apart <= TIE].max(initial=0.0))

    for names in game.turns.place:
        usable = available(names)
        best = None
        for left in range(3):
            stops = np.array([points[n] * multiplier(n, left) - average[n] for n in usable])
            stop = stops.max(axis=0)
            look(stops - stop)
            if best is None:
                best = stop
                continue
            ahead = (table.becomes @ best / table.total)[table.holds]
            again = table.best(ahead)
            look(ahead - again[source])
            look(again - stop)
            best = np.maximum(stop, again)
    assert largest < 1e-13
    assert smallest > 1e-7


# --- what he loses --------------------------------------------------------------------------------


def test_losses_of_single_decisions_add_up():
    names = ("grade-6", "set", "two-pairs")
    whole = School(open=names)
    solution = solve(explore(whole))
    values = {
        state: solution.value(
            At(Held((), 2), used=sum(1 << box for box, name in enumerate(names) if name not in state))
        )
        for state in reachable(names)
    }
    bob_plays = BobGame(open=names)
    losses = bob_losses(bob_plays, values)
    assert losses.total == pytest.approx(solution.value() - solve(bob_plays).value(), abs=1e-12)
    assert losses.total > 0.01
    assert losses.by_turn.sum() == pytest.approx(losses.total, abs=1e-12)
    # The last turn is for one combination, and Bob plays that the best way.
    assert losses.by_turn[-1] == 0
    assert (losses.number[losses.by_kind == 0] == 0).all()


def test_bob_would_lose_nothing_if_the_averages_were_the_prices():
    """He plays every turn the best way for a game that is worth the sum of the averages of what is open."""
    names = ("grade-2", "pair", "care", "trash")
    average = {name: float(value) for name, value in averages(Rules()).items()}
    added = {state: sum(average[name] for name in state) for state in reachable(names)}
    game = BobGame(open=names)
    assert bob_losses(game, added).total == pytest.approx(0, abs=1e-12)
    assert bob_losses(game, added | {("care",): 40.0}).total > 1
