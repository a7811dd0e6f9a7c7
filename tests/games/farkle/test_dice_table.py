"""The table of weighted dice and the names of dice."""

import csv
from fractions import Fraction
from pathlib import Path

import pytest

import mdpdice.games.farkle
from mdpdice.errors import GameError, UnknownStateError
from mdpdice.games.farkle.dice_table import (
    ORDINARY,
    Die,
    UnknownDieError,
    find_die,
    list_dice,
    load_dice,
    other_editions,
    read_die,
    source,
)
from mdpdice.games.farkle.rules import JOKER

TABLE = Path(mdpdice.games.farkle.__file__).parent / "kcd_dice.csv"


def test_every_row_is_a_die():
    with TABLE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 58
    for row in rows:
        die = find_die(f"{row['game']}/{row['edition']}/{row['die']}")
        assert die.weights == tuple(int(row[f"w{face}"]) for face in range(1, 7))
        assert die.joker == (row["joker"] == "1")
        assert die.short_name == row["die"]


def test_short_names():
    assert find_die("Odd die") == Die("kcd2/A/Odd die", (8, 2, 8, 2, 8, 2))
    assert find_die("odd  DIE") == find_die("kcd2/Odd die") == find_die("Odd die")
    assert find_die("kcd1/Odd die") == Die("kcd1/A/Odd die", (4, 1, 4, 1, 4, 1))
    assert find_die("King\N{RIGHT SINGLE QUOTATION MARK}s die") == find_die("King's die")
    assert find_die("Alfonse's die").name == "kcd1/A/Alfonse's die"


def test_short_name_of_different_dice_is_refused():
    for name in ("Lu die", "kcd2/Lu die"):
        with pytest.raises(UnknownDieError, match="kcd2/A/Lu die, kcd2/B/Lu die") as caught:
            find_die(name)
        assert caught.value.value == name
    assert find_die("kcd1/Lu die").weights == (3, 3, 3, 3, 3, 8)
    assert find_die("kcd2/B/Lu die").weights == (3, 3, 3, 3, 3, 6)


def test_edition_b_has_the_other_dice_of_a():
    assert find_die("kcd2/B/Odd die") == find_die("kcd2/A/Odd die")
    with pytest.raises(UnknownDieError):
        find_die("kcd1/B/Odd die")


def test_unknown_name_lists_the_nearest():
    with pytest.raises(UnknownDieError, match="kcd2/A/Heavenly Kingdom die"):
        find_die("Heavenly die")
    with pytest.raises(UnknownStateError, match="kcd1/A/Ambrose's die"):
        find_die("kcd1/A/Ambros die")
    with pytest.raises(UnknownDieError, match=r"there are kcd2/A/Ordinary die, .*Alfonse's devil die"):
        find_die("xyz")


def test_fair_dice_by_other_names():
    names = ["Hugo's die", "Molar die", "Premolar die", "Wisdom tooth die", "St. Stephen's die"]
    fair = [find_die(name) for name in names]
    assert len({die.name for die in [*fair, ORDINARY]}) == 6
    assert {die.weights for die in [*fair, ORDINARY]} == {(1,) * 6}
    assert find_die("Painter's red die").weights == find_die("Unlucky die").weights


def test_names_are_unique_and_every_short_name_of_one_meaning_works():
    dice = load_dice()
    assert len({name.casefold() for name in dice}) == len(dice)
    refused = set()
    for die in dice.values():
        try:
            assert find_die(die.short_name).symbols() == die.symbols()
        except UnknownDieError:
            refused.add(die.short_name)
    assert refused == {
        "Lu die",
        "Ci die",
        "Fer die",
        "Holy Trinity die",
        "Saint Antiochus' die",
        "Three die",
        "Painted die",
    }


def test_symbols():
    pie = find_die("Pie die").symbols()
    assert pie.prob(1) == Fraction(6, 13)
    assert pie.prob(5) == 0
    devil = find_die("Devil's head die").symbols()
    assert devil.prob(JOKER) == Fraction(1, 6)
    assert devil.prob(1) == 0


def test_dice_of_ones_own():
    assert read_die(" mine = 1:1:1:1:1:5 ") == Die("mine", (1, 1, 1, 1, 1, 5))
    assert read_die("Odd die") == find_die("Odd die")
    for wrong in ("mine=1:2:3", "mine=", "mine=1:1:1:1:1:-5", "mine=a:b:c:d:e:f"):
        with pytest.raises(GameError, match="six whole numbers"):
            read_die(wrong)


@pytest.mark.parametrize("weights", [(1, 1, 1), (0,) * 6, (1, 1, 1, 1, 1, -1)])
def test_wrong_weights(weights):
    with pytest.raises(GameError, match="six weights"):
        Die("wrong", weights)


def test_beginnings_of_names():
    assert find_die("Lucky") == find_die("lucky DIE") == Die("kcd2/A/Lucky die", (6, 1, 2, 3, 4, 6))
    assert find_die("Heavenly").short_name == "Heavenly Kingdom die"
    assert find_die("kcd2/B/Antio").weights == (3, 1, 5, 1, 2, 3)  # the beginning of a word
    assert find_die("kcd1/Least").name == "kcd1/A/Least common die"
    with pytest.raises(UnknownDieError, match="kcd2/A/Saint Antiochus' die, kcd2/B/.* give game and edition too"):
        find_die("Antiochus")
    with pytest.raises(UnknownDieError, match="'S' may be any of kcd2/A/Sad Greaser's die, .* write more of its name"):
        find_die("S")
    with pytest.raises(UnknownDieError, match="the nearest are kcd2/A/Lucky die"):
        find_die("Luky die")
    for name in ("", "kcd2/A/", "kcd3/Lucky"):
        with pytest.raises(UnknownDieError):
            find_die(name)


def test_counted_dice():
    lucky, fair = find_die("Lucky die"), ORDINARY
    assert list_dice("2 x Lucky, 4x Ordinary die") == [lucky] * 2 + [fair] * 4
    assert list_dice("2*Lucky, Ordinary") == [lucky, lucky, fair]
    assert list_dice("2 \N{MULTIPLICATION SIGN} Lucky,Ordinary") == [lucky, lucky, fair]
    assert list_dice(["3 x mine=1:1:1:1:1:5", lucky]) == [Die("mine", (1, 1, 1, 1, 1, 5))] * 3 + [lucky]
    assert list_dice("0 x Lucky, Ordinary") == [fair]
    with pytest.raises(UnknownDieError):
        list_dice("2 x")


def test_dice_whose_sources_disagree():
    names = {die.name for die in load_dice().values() if other_editions(die)}
    disputed = ("Lu", "Ci", "Fer", "Holy Trinity", "Saint Antiochus'", "Three", "Painted")
    assert names == {f"kcd2/{edition}/{name} die" for name in disputed for edition in "AB"}
    (other,) = other_editions(find_die("kcd2/A/Lu"))
    assert other == find_die("kcd2/B/Lu")
    assert not other_editions(Die("Lu die", (1, 1, 1, 1, 1, 1)))


def test_every_die_has_a_source():
    assert {source(die) for die in load_dice().values()} == {
        *("lowentropy/kcd2-dice", "ShaneeexD/KCD-2-Dice-Calc", "phlip9/kcddice")
    }
    readme = TABLE.with_name("kcd_dice.README.md").read_text(encoding="utf-8")
    assert all(f"github.com/{source(die)}" in readme for die in load_dice().values())
