"""Scores against a predicate that tries all choices of dice, over all 7776 rolls."""

import itertools

import pytest

from mdpdice.errors import GameError
from mdpdice.games.school import COMBINATIONS, Rules
from mdpdice.games.school.rules import combination_named, combinations_named
from mdpdice.games.school.turn import HELD, ROLLS, Reroll, multiplier, rerolls, rolled, tables

VARIANTS = [
    {},
    {"little": 20, "big": 30, "grades": "positive"},
    {"two_pairs": "four-or-five", "full": "strict"},
    {"two_pairs": "strict"},
]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("combination", COMBINATIONS)
def test_scores_of_all_rolls(combination, variant, oracle):
    rules = Rules(**variant)
    known = {roll: oracle.score(combination, roll, **variant) for roll in ROLLS}
    for roll in itertools.product(range(1, 7), repeat=5):
        assert rules.score(combination, roll) == known[tuple(sorted(roll))], roll


def test_examples_of_the_public_program():
    rules = Rules()
    # Its rules: what is written in the examples of school-rules.md.
    assert rules.score("grade-6", (1, 2, 6, 6, 6)) == -12
    assert rules.score("grade-1", (2, 3, 4, 5, 5)) == -5
    assert rules.score("pair", (6,) * 5) == 12
    assert rules.score("care", (6,) * 5) == 24
    assert rules.score("little-straight", (5, 4, 3, 2, 1)) == 15
    assert rules.score("big-straight", (2, 3, 4, 5, 6)) == 20
    # Its program: four equal dice are two pairs, five are not, and five are a full.
    assert rules.score("two-pairs", (3, 6, 6, 6, 6)) == 24
    assert rules.score("two-pairs", (6,) * 5) is None
    assert rules.score("full", (6,) * 5) == 30
    # Rolls that fit several combinations.
    assert rules.score("two-pairs", (4, 3, 3, 3, 4)) == 14
    assert rules.score("full", (4, 3, 3, 3, 4)) == 17
    assert rules.score("set", (4, 3, 3, 3, 4)) == 9
    assert rules.score("pair", (4, 3, 3, 3, 4)) == 8


def test_first_roll_counts_double_except_for_grades():
    for name in COMBINATIONS:
        assert [multiplier(name, left) for left in (0, 1)] == [1, 1]
        assert multiplier(name, 2) == (1 if name.startswith("grade") else 2)


def test_names():
    assert [combination_named(name.upper().replace("-", " ")) for name in COMBINATIONS] == list(COMBINATIONS)
    assert combination_named("Two_Pairs") == "two-pairs"
    assert combinations_named(["trash", "Grade2"]) == ("grade-2", "trash")
    with pytest.raises(GameError, match="not a combination; choose one of grade-1"):
        combination_named("yahtzee")
    with pytest.raises(GameError, match="pair is named twice"):
        combinations_named(["pair", "Pair"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"little": 1.5}, "whole number"),
        ({"big": "many"}, "whole number"),
        ({"two_pairs": "never"}, "exactly-four, four-or-five, strict"),
        ({"full": ""}, "with-five, strict"),
        ({"grades": "zero"}, "negative, positive"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(GameError, match=message):
        Rules(**parameters)


@pytest.mark.parametrize("roll", [(1, 2, 3, 4), (1, 2, 3, 4, 7), (0, 1, 1, 1, 1)])
def test_wrong_rolls(roll):
    with pytest.raises(GameError, match="5 dice that show 1 to 6"):
        Rules().score("pair", roll)


# --- rerolls ------------------------------------------------------------------------------------


def test_every_choice_of_dice_is_a_reroll_once():
    assert len(ROLLS) == 252
    assert len(HELD) == 210
    for roll in ROLLS:
        expected = {tuple(roll[i] for i in at) for n in range(1, 6) for at in itertools.combinations(range(5), n)}
        found = rerolls(roll)
        assert {again.dice for again, _ in found} == expected
        assert len(found) == len(expected)
        for again, held in found:
            assert tuple(sorted(again.dice + held)) == roll
    # In the order in which the public program goes through them.
    assert [again for again, _ in rerolls((1, 1, 1, 1, 2))[:4]] == [
        Reroll((1,)),
        Reroll((2,)),
        Reroll((1, 1)),
        Reroll((1, 2)),
    ]


def test_rolls_of_the_other_dice():
    for held in HELD:
        counted = {}
        for fresh in itertools.product(range(1, 7), repeat=5 - len(held)):
            roll = tuple(sorted(held + fresh))
            counted[roll] = counted.get(roll, 0) + 1
        dist = rolled(held)
        assert {roll: dist.prob(roll) for roll in counted} == {
            roll: pytest.approx(number / 6 ** (5 - len(held)), rel=1e-15) for roll, number in counted.items()
        }
        assert len(dist) == len(counted)


def test_tables_say_the_same():
    table = tables()
    assert (table.becomes.sum(axis=1) == table.total).all()
    assert table.first.sum() == table.total == 6**5
    for at in (0, 17, 130, 251):
        options = rerolls(ROLLS[at])
        assert [HELD[held] for held in table.holds[table.row[at] : table.row[at + 1]]] == [held for _, held in options]
    for at in (0, 3, 60, 209):
        dist = rolled(HELD[at])
        assert all(table.becomes[at, to] == table.total * dist.prob(roll) for to, roll in enumerate(ROLLS))
