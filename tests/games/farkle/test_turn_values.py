"""Values of many sets of dice at once, against the certified value of every single one."""

import itertools

import pytest

from mdpdice import solve
from mdpdice.games.farkle import KcdFarkle
from mdpdice.games.farkle.dice_table import list_dice
from mdpdice.games.farkle.rules import RULES
from mdpdice.games.farkle.turn_values import ERROR, turn_values

SETS = [
    "6 x Ordinary",
    "6 x Lucky",
    "6 x Devil's",
    "kcd2/A/Saint Antiochus, 5 x Ordinary",
    "Ordinary, Devil's, 2 x Odd, Devil's, Lucky",
    "Devil's, x=0:3:1:1:1:1, 2 x Even, Strip, King",
    "Lucky, Odd die, Heavenly, Strip, Grimy, Aranka",
]


@pytest.mark.parametrize(("rules", "cap"), [("kcd", 1000), ("zilch", 370), ("patch", 1)])
def test_values_of_sets_of_all_kinds(rules, cap):
    sets = [tuple(list_dice(dice)) for dice in SETS]
    for dice, value in zip(sets, turn_values(RULES[rules], cap, sets), strict=True):
        solution = solve(KcdFarkle(rules, dice, cap))
        assert value == pytest.approx(solution.value(), rel=1e-12)
        assert solution.lower() * (1 - ERROR) <= value <= solution.upper() * (1 + ERROR)


def test_a_set_has_one_value_in_any_order_and_company():
    dice = tuple(list_dice("Devil's, Ordinary, Odd die, Lucky, Ordinary, Strip"))
    orders = list(itertools.permutations(dice))[::97]
    alone = [turn_values(RULES["kcd"], 500, [order])[0] for order in orders]
    assert alone == pytest.approx([alone[0]] * len(orders), rel=1e-13)
    assert turn_values(RULES["kcd"], 500, orders) == alone


@pytest.mark.slow
@pytest.mark.parametrize("dice", SETS)
@pytest.mark.parametrize("rules", RULES)
def test_values_up_to_the_usual_cap(rules, dice):
    six = tuple(list_dice(dice))
    (value,) = turn_values(RULES[rules], 6000, [six])
    assert value == pytest.approx(solve(KcdFarkle(rules, six)).value(), rel=1e-12)
