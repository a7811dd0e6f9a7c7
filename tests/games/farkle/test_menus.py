"""Menus against an enumeration of the single dice."""

import copy
import itertools
from collections import Counter
from fractions import Fraction
from math import prod

import pytest

from mdpdice.errors import UnknownStateError
from mdpdice.games.farkle.dice_table import ORDINARY, Die, find_die
from mdpdice.games.farkle.menus import Keep, Menu, MenuBook, menu_book
from mdpdice.games.farkle.rules import JOKER, KCD, MAX_DICE, PATCH, RULES

DEVIL = find_die("Devil's head die")
SIX = tuple(
    find_die(name)
    for name in ("Odd die", "Heavenly Kingdom die", "Lucky die", "Strip die", "Even die", "Shrinking die")
)


def plain(book, menu):
    """A menu in the form of the oracle."""
    return menu.best, frozenset((keep.points, book.counts(keep.dice)) for keep in menu.keeps)


@pytest.mark.parametrize("rules", RULES.values(), ids=lambda rules: rules.name)
def test_menus_of_all_rolls_of_fair_dice(rules, oracle):
    book = menu_book(rules, (ORDINARY,), (6,))
    for number in range(1, MAX_DICE + 1):
        expected = Counter()
        for roll, weight in oracle.rolls((1,) * 6, number).items():
            offer = oracle.menu(rules.name, (roll,), (6,))
            expected[offer] += weight
            assert plain(book, book.menu((roll,))) == offer, roll
        assert sum(expected.values()) == 6**number
        menus = book.rolls(number).menus
        found = {plain(book, menu): menus.prob(menu) for menu in menus}
        assert found == {offer: Fraction(weight, 6**number) for offer, weight in expected.items()}


def test_all_46656_rolls_have_the_menus_of_their_dice_in_order(oracle):
    # The multisets of the test above stand for all rolls only if their weights count the rolls.
    counted = Counter(tuple(sorted(roll)) for roll in itertools.product(range(1, 7), repeat=6))
    assert counted == oracle.rolls((1,) * 6, 6)


@pytest.mark.parametrize("jokers", [1, 2])
def test_menus_of_all_rolls_with_jokers(jokers, oracle):
    full = (MAX_DICE - jokers, jokers)
    book = menu_book(KCD, (ORDINARY, DEVIL), full)
    for counts in itertools.product(range(full[0] + 1), range(full[1] + 1)):
        if not any(counts):
            continue
        expected = Counter()
        for (fair, w), (devil, v) in itertools.product(
            oracle.rolls((1,) * 6, counts[0]).items(), oracle.rolls((1,) * 6, counts[1]).items()
        ):
            roll = (fair, tuple(sorted(JOKER if face == 1 else face for face in devil)))
            expected[oracle.menu("kcd", roll, full)] += w * v
        menus = book.rolls(counts).menus
        total = 6 ** sum(counts)
        assert {plain(book, menu): menus.prob(menu) for menu in menus} == {
            offer: Fraction(weight, total) for offer, weight in expected.items()
        }


@pytest.mark.parametrize("rules", [KCD, PATCH], ids=lambda rules: rules.name)
def test_menus_of_weighted_dice(rules, oracle):
    kinds = (find_die("Pie die"), find_die("Lucky die"), DEVIL)
    full = (1, 2, 1)
    book = menu_book(rules, kinds, full)
    faces = [kind for kind, number in zip(kinds, full, strict=True) for _ in range(number)]
    expected = Counter()
    for shown in itertools.product(range(1, 7), repeat=4):
        weight = prod(die.weights[face - 1] for die, face in zip(faces, shown, strict=True))
        if weight:
            first, *pair, last = [die.symbol(face) for die, face in zip(faces, shown, strict=True)]
            roll = ((first,), tuple(sorted(pair)), (last,))
            expected[oracle.menu(rules.name, roll, full)] += weight
    menus = book.rolls(full).menus
    total = sum(expected.values())
    assert {plain(book, menu): menus.prob(menu) for menu in menus} == {
        offer: Fraction(weight, total) for offer, weight in expected.items()
    }


def test_sizes():
    assert len(menu_book(KCD, (ORDINARY,), (6,)).rolls(6).menus) == 120
    book = MenuBook(KCD, SIX, (1,) * 6)
    subsets = [counts for counts in itertools.product((0, 1), repeat=6) if any(counts)]
    assert len(subsets) == 63
    menus = [menu for counts in subsets for menu in book.rolls(counts).menus]
    assert len(menus) == 11_040
    assert sum(len(menu.keeps) for menu in menus) == 90_510


def test_bust_chances_and_best_points():
    book = menu_book(KCD, (ORDINARY,), (6,))
    busts = [(4, 6), (16, 36), (60, 216), (204, 1296), (600, 7776), (1440, 46656)]
    best = [25, 50, 86.8055555556, 143.5185185185, 241.9945987654, 399.1126543210]
    for number, (bust, points) in enumerate(zip(busts, best, strict=True), start=1):
        assert book.rolls(number).bust == Fraction(*bust)
        assert float(book.rolls(number).mean_best) == pytest.approx(points, abs=1e-10)
    assert book.rolls(6).mean_best == Fraction(258625, 648)


def test_without_hot_dice_all_dice_can_be_banked_but_not_kept():
    book = menu_book(KCD, (ORDINARY,), (6,), keep_all=False)
    assert book.menu(((1, 1),)) == Menu.of(200, [(100, 1)])
    assert book.menu(((1, 2, 3, 4, 5, 6),)).best == 1500


def test_a_misread_roll_is_banked_as_it_is_and_kept_as_it_is_read():
    book = menu_book(KCD, (ORDINARY,), (6,), keep_all=False, misread=(2, 3, 4, 5, 6, 6, JOKER))
    assert book.menu(((1, 2),)) == Menu.of(100, [])
    assert book.menu(((4, 4),)) == Menu.of(0, [(50, 1)])


def test_menus_are_interned():
    menu = Menu.of(100, [(100, 6), (50, 1)])
    assert menu is Menu.of(100, [(50, 1), (100, 6)])
    assert menu.keeps == (Keep(100, 6), Keep(50, 1))
    assert menu != Menu.of(100, [(50, 1)])
    assert menu != (100, ((100, 6), (50, 1)))
    assert copy.deepcopy(menu) is menu
    assert repr(menu) == "Menu.of(100, [(100, 6), (50, 1)])"
    with pytest.raises(AttributeError, match="immutable"):
        menu.best = 200


def test_every_menu_has_an_example():
    for book in (menu_book(KCD, (ORDINARY,), (6,)), menu_book(PATCH, (ORDINARY, DEVIL), (2, 1))):
        for counts in itertools.product(*(range(number + 1) for number in book.full)):
            if any(counts):
                for menu in book.rolls(book.left(counts)).menus:
                    assert book.menu(book.example(menu)) is menu
    with pytest.raises(UnknownStateError):
        book.example(Menu.of(123, []))


def test_dice_of_equal_chances_but_different_names_are_kinds_of_their_own():
    kinds = (ORDINARY, Die("other", (1,) * 6))
    book = menu_book(KCD, kinds, (1, 1))
    assert book.menu(((1,), (1,))) == Menu.of(200, [(200, (1, 1)), (100, (1, 0)), (100, (0, 1))])


def test_sets_of_dice_and_their_counts_are_a_bijection():
    one = menu_book(KCD, (ORDINARY,), (6,))
    assert [one.counts(one.left((number,))) for number in range(7)] == [(number,) for number in range(7)]
    two = menu_book(KCD, (ORDINARY, DEVIL), (4, 2))
    sets = list(itertools.product(range(5), range(3)))
    assert [two.counts(two.left(counts)) for counts in sets] == sets
    assert len({two.left(counts) for counts in sets}) == 15
